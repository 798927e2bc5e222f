"""AgenticRL: every documented call, on the object and on the class."""

import asyncio
import json
import subprocess
import sys

import pytest

from agentic_rl_tui.core import AgenticRL
from agentic_rl_tui.core.models import errors
from agentic_rl_tui.core.sdk import (
    AgenticRLFunctionComponent,
    DataSourceType,
    FunctionComponentModel,
    FunctionComponentRuntime,
    FunctionType,
    JobSubmitted,
    RolloutFunctionComponent,
    StepFinished,
    StepStarted,
    TrainingDataset,
    ValidationDataset,
)
from agentic_rl_tui.core.settings import load

KEY = "sk-0123456789abcdef"


async def test_run_from_a_job_file_in_the_guides_order(service, client, workspace):
    told = []
    job = await client.init(workspace / "job.yaml", job_name="custom_job").run(on_event=told.append)
    paths = [seen.path.removeprefix("/api/v1") for seen in service.seen]
    assert paths[-1] == "/fine-tunes"
    assert paths.index("/files") > max(place for place, path in enumerate(paths) if "/create/" in path)
    body = service.seen[-1].json
    assert body["job_name"].startswith("custom_job-")
    assert len(body["job_name"]) == len("custom_job-") + 8
    assert body["hyper_parameters"]["learning_rate"] == 2e-6
    assert body["training_datasets"][0]["file_name"] == "./data/train.jsonl"
    assert [entry["name"] for entry in body["rewards"]] == ["answer", "group"]
    assert body["rewards"][0]["reward_metric_weight"] == {"exact": 0.5}
    assert body["rewards"][0]["env"] == {"TRACE": "true", "LEVEL": 3}
    assert body["rollout"]["timeout"] == 600
    assert body["resource_config"]["mtu_capacity"] == 24
    assert "env" not in body["rollout"]
    assert job.job_name == body["job_name"]
    assert isinstance(told[-1], JobSubmitted)
    started = {event.step for event in told if isinstance(event, StepStarted)}
    assert started == {event.step for event in told if isinstance(event, StepFinished)}


async def test_run_from_code_as_the_guide_shows_it(service, make_client, workspace):
    runtime = {"cpu": 2, "memory_size": 4, "disk_size": 20960, "concurrency": 2, "env": {}, "capacity": 5}
    client = make_client(settings=load(workspace=workspace, base_url=service.url))
    job = await client.run(
        model="qwen3.5-9b",
        training_datasets=[TrainingDataset(data_source_type=DataSourceType.FILE_ID, file_name="./data/train.jsonl")],
        validation_datasets=[
            ValidationDataset(data_source_type=DataSourceType.FILE_ID, file_name="./data/valid.jsonl")
        ],
        functions=[
            RolloutFunctionComponent(
                type=FunctionType.ROLLOUT,
                name="rollout-1",
                fcmodel=FunctionComponentModel(classpath="functions.rollout.agent.Thing"),
                runtime=FunctionComponentRuntime(**runtime),
            ),
            AgenticRLFunctionComponent(
                type=FunctionType.REWARD,
                name="reward-1",
                weight=1.0,
                fcmodel=FunctionComponentModel(classpath="functions.reward.answer.Thing"),
                runtime=FunctionComponentRuntime(**runtime),
            ),
        ],
        hyper_parameters={"batch_size": "128"},
    )
    body = service.seen[-1].json
    assert job.job_id == "ft-1"
    assert body["hyper_parameters"] == {"batch_size": 128}
    assert body["rollout"]["memory_size"] == 4
    assert body["training_type"] == "reinforcement"


async def test_distillation_with_a_teacher_given_in_code(service, client, workspace):
    file = workspace / "job.yaml"
    file.write_text(file.read_text().replace("linear", "cosine"))
    await client.init(file, teacher_model="qwen3.5-27b").run()
    body = service.seen[-1].json
    assert (body["training_type"], body["teacher_model"]) == ("pg_opd", "qwen3.5-27b")


async def test_one_step_after_another(service, client, workspace):
    client.init(workspace / "job.yaml")
    await client.register_functions()
    await client.upload_datasets()
    before = len(service.seen)
    job = await client.submit_job(model="qwen3.5-4b", hyper_parameters={"n_epochs": 2}, job_name="by-hand")
    assert len(service.seen) == before + 1
    body = service.seen[-1].json
    assert body["model"] == "qwen3.5-4b"
    assert body["hyper_parameters"]["n_epochs"] == 2
    assert body["hyper_parameters"]["batch_size"] == 16
    assert body["rollout"]["rollout_id"] in service.entities
    assert body["rollout"]["layer_code"] == "layer-1"
    assert body["training_datasets"][0]["file_id"] == "file-1"
    assert job.job_name.startswith("by-hand-")


async def test_submit_of_what_is_on_the_service_already(service, client):
    await client.submit_job(
        model="m",
        datasets=[TrainingDataset(file_id="file-9")],
        functions=[
            RolloutFunctionComponent(entity_id="ro-9"),
            AgenticRLFunctionComponent(type=FunctionType.REWARD, entity_id="rw-9", weight=0.5),
        ],
    )
    body = service.seen[-1].json
    assert body["rollout"]["rollout_id"] == "ro-9"
    assert body["rewards"][0] | {"name": ""} == {"reward_id": "rw-9", "name": "", "weight": 0.5}
    assert [seen.method for seen in service.seen] == ["POST"]


async def test_submit_refuses_what_was_never_registered_or_uploaded(service, client, workspace):
    with pytest.raises(errors.InputError, match="agent has no entity_id"):
        await client.init(workspace / "job.yaml").submit_job()
    assert not service.seen


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("file_name: ./data/train.jsonl", "file_name: ./data/gone.jsonl", "gone"),
        ("name: group\n", "name: answer\n", "answer"),
        ("classpath: functions.rollout.agent.Thing", "classpath: functions.rollout.agent.Nothing", "Nothing"),
        ("type: reinforcement", "type: pg_opd", "teacher"),
        ("batch_size: 16", "batch_size: 0", "batch_size"),
        ("timeout: 600", "timeout: -1", "timeout"),
    ],
)
async def test_everything_is_checked_before_the_first_request(service, client, workspace, old, new, words):
    file = workspace / "job.yaml"
    file.write_text(file.read_text().replace(old, new, 1))
    with pytest.raises(errors.InputError) as caught:
        await client.init(file).run()
    assert not service.seen
    told = caught.value.message + " ".join(map(str, getattr(caught.value, "diagnostics", ())))
    assert words in told


async def test_bad_rows_stop_a_run_before_the_first_request(service, client, workspace):
    with (workspace / "data/valid.jsonl").open("a") as stream:
        stream.write("oops\n")
    with pytest.raises(errors.ConfigError, match="valid"):
        await client.init(workspace / "job.yaml").run()
    assert not service.seen
    await client.run(force=True)
    assert len(service.jobs) == 1


async def test_job_file_that_cannot_be_read_is_told_by_init(client, tmp_path):
    with pytest.raises(errors.ConfigError, match=r"gone\.yaml"):
        client.init(tmp_path / "gone.yaml")


@pytest.mark.parametrize("text", ["", "- a\n- b\n", "name: [", "fcmodel: null\n"])
async def test_job_file_that_is_none_is_explained(service, client, tmp_path, text):
    file = tmp_path / "job.yaml"
    file.write_text(text)
    with pytest.raises(errors.ConfigError) as caught:
        await client.init(file).run()
    assert "NoneType" not in str(caught.value)
    assert not service.seen


async def test_init_without_a_file_takes_the_plan_from_code(client):
    assert client.init(model="m", job_name="n").plan.name == "n"
    with pytest.raises(errors.ConfigError, match="modle"):
        client.init(modle="m")


async def test_paths_start_at_the_job_file(service, client, workspace, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    await client.init("workspace/job.yaml").run()
    assert len(service.jobs) == 1


@pytest.mark.parametrize("form", ["object", "text", "path"])
async def test_test_functions_takes_object_text_and_path(service, client, tmp_path, form):
    payload = {"agent_output": {"messages": [], "reward_score": None}}
    given = {"object": payload, "text": json.dumps(payload), "path": str(tmp_path / "in.json")}[form]
    (tmp_path / "in.json").write_text(json.dumps(payload))
    instance = await client.functions.load("rw-1")
    result = await client.test_functions(instance.instance_id, FunctionType.REWARD, given)
    assert result["got"] == {"func_type": "reward", **payload}
    assert result.is_ok


@pytest.mark.parametrize("named", [{"functype": "REWARD"}, {"type": FunctionType.REWARD}, {"functype": "group-reward"}])
async def test_test_functions_on_the_class_by_either_name(service, client, named):
    instance = await client.functions.load("rw-1")
    result = await AgenticRL.test_functions(
        instance_id=instance.instance_id, input_data={"x": 1}, api_key=KEY, base_url=service.url, **named
    )
    assert result["got"]["func_type"] in ("reward", "group_reward")


@pytest.mark.parametrize(
    ("kind", "given", "words"),
    [
        ("reward", "{broken", "not JSON"),
        ("reward", "[1]", "JSON object"),
        ("reward", "no-such-file.json", "cannot be read"),
        ("judge", {}, "no kind of function"),
        (None, {}, "kind of the function"),
        ("reward", {"func_type": "rollout"}, "func_type"),
        ("reward", None, "input_data is not given"),
    ],
)
async def test_unusable_test_input_is_explained_before_sending(service, client, kind, given, words):
    with pytest.raises(errors.InputError, match=words):
        await client.test_functions("rw-ins-1", kind, given)
    assert not service.seen


async def test_class_level_calls_of_the_guide(service, monkeypatch):
    monkeypatch.setenv("DASHSCOPE_API_KEY", KEY)
    monkeypatch.setenv("DASHSCOPE_HTTP_BASE_URL", service.url)
    service.jobs = [{"job_id": "ft-12345", "status": "RUNNING"}]
    service.lines = ["one", "two"]
    assert (await AgenticRL.get("ft-12345")).status == "RUNNING"
    assert [job.job_id for job in (await AgenticRL.list(page_no=1, page_size=10)).jobs] == ["ft-12345"]
    assert (await AgenticRL.logs("ft-12345", offset=0, lines=1000)).lines == ("one", "two")
    await AgenticRL.cancel("ft-12345")
    assert (await AgenticRL.wait("ft-12345")).status == "CANCELED"
    await AgenticRL.delete("ft-12345")
    assert service.jobs == []
    assert await AgenticRL.query_all_function_instance_logs("rw-ins-1") == ["one", "two"]
    assert (await AgenticRL.query_function_instance_logs("rw-ins-1", page_size=1)).total == 2
    assert await AgenticRL.delete_function_instance("rw-ins-1") == {"status": "deleted"}


async def test_class_level_calls_close_their_connections(service):
    service.jobs = [{"job_id": "ft-1"}]
    for _ in range(3):
        await AgenticRL.get("ft-1", KEY, base_url=service.url)
    assert (await AgenticRL.get("ft-1", KEY, "ws-1", base_url=service.url)).job_id == "ft-1"


async def test_no_key_is_told_at_once_everywhere(service, make_client, workspace):
    client = make_client(None).init(workspace / "job.yaml")
    for call in (
        client.run(),
        client.register_functions(),
        client.upload_datasets(),
        client.get("ft-1"),
        client.list(),
    ):
        with pytest.raises(errors.NoKey):
            await call
    assert not service.seen


async def test_two_clients_have_two_base_urls(service, make_client, free_port):
    first, second = make_client(), make_client(base_url=f"http://127.0.0.1:{free_port}/api/v1")
    await first.list()
    with pytest.raises(errors.Unreachable):
        await second.list()
    await first.list()
    assert len(service.seen) == 2


async def test_event_loop_goes_on_during_a_slow_submission(service, client, workspace):
    go_on = asyncio.Event()
    reply = service._reply

    async def held(seen, writer):
        if service.requests("POST /api/v1/fine-tunes$") == [seen]:
            await go_on.wait()
        return await reply(seen, writer)

    service._reply = held
    task = asyncio.create_task(client.init(workspace / "job.yaml").run())
    turns = 0
    while not service.requests("POST /api/v1/fine-tunes$"):
        await asyncio.sleep(0)
        turns += 1
    for _ in range(100):
        await asyncio.sleep(0)
    assert not task.done()
    go_on.set()
    assert (await task).job_id == "ft-1"


@pytest.mark.parametrize(
    ("fault", "state"),
    [
        (None, "ok"),
        ({"status": 401, "body": {"code": "InvalidApiKey", "message": "bad key"}}, "unauthorized"),
        ({"status": 500, "body": {}}, "failing"),
        ({"drop": True}, "unreachable"),
    ],
)
async def test_health_of_a_service(service, client, fault, state):
    if fault is not None:
        service.fail("GET", **fault)
    health = await client.health()
    assert health.state == state
    assert health.is_ok is (state == "ok")
    assert health.detail


async def test_health_without_a_key(make_client):
    assert (await make_client(None).health()).state == "unauthorized"


async def test_health_of_a_local_platform_that_does_not_run(tmp_path):
    async with AgenticRL(profile="local") as client:
        health = await client.health()
    assert health.state == "stopped"
    assert not client.settings.platform.root.exists()


def test_making_a_client_does_no_io_and_imports_no_http_library():
    code = (
        "import sys; from agentic_rl_tui.core import AgenticRL; AgenticRL(profile='local');"
        "print([name for name in ('httpx', 'openai', 'starlette', 'textual', 'tenacity') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_importing_the_sdk_costs_no_models():
    code = "import sys, agentic_rl_tui.core.sdk; print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_every_name_resolves():
    from agentic_rl_tui import core
    from agentic_rl_tui.core import sdk

    for module in (core, sdk):
        for name in module.__all__:
            assert getattr(module, name) is not None
    with pytest.raises(AttributeError):
        sdk.nothing  # noqa: B018
    with pytest.raises(AttributeError):
        core.nothing  # noqa: B018
