"""Registering: one look at the workspace, nothing sent twice, nothing sent that cannot work."""

import io
import zipfile
from itertools import chain

import pytest

from agentic_rl_tui.core.models import errors
from agentic_rl_tui.core.sdk import (
    AgenticRLFunctionComponent,
    FunctionComponentModel,
    FunctionType,
    Note,
    RewardFunctionComponent,
    RolloutFunctionComponent,
    StepFailed,
    StepFinished,
)


def reward(classpath: str = "functions.reward.answer.Thing", **more) -> RewardFunctionComponent:
    return RewardFunctionComponent(fcmodel=FunctionComponentModel(classpath=classpath), **more)


@pytest.fixture
def here(make_client, workspace):
    """A client whose relative paths start in the workspace."""
    from agentic_rl_tui.core import settings

    def make(**named):
        base = make_client()
        loaded = settings.load(workspace=workspace, base_url=base.profile.base_url)
        return make_client(settings=loaded, **named)

    return make


async def test_documented_call_with_code_only(service, here):
    client = here()
    rollouts, rewards, groups, rollout_instances, reward_instances, group_instances = await client.register_functions(
        functions=[
            AgenticRLFunctionComponent(
                type=FunctionType.ROLLOUT,
                fcmodel=FunctionComponentModel(zipdir="./", classpath="functions.rollout.agent.Thing"),
            ),
            AgenticRLFunctionComponent(
                type=FunctionType.REWARD, fcmodel=FunctionComponentModel(classpath="functions/reward/answer.py:Thing")
            ),
            AgenticRLFunctionComponent(
                type=FunctionType.GROUP_REWARD, fcmodel=FunctionComponentModel(classpath="functions.reward.group:Thing")
            ),
        ],
        lazy_load=False,
    )
    assert [ids[0].split("-")[0] for ids in (rollouts, rewards, groups)] == ["ro", "rw", "grw"]
    assert [ids[0].split("-ins")[0] for ids in (rollout_instances, reward_instances, group_instances)] == [
        "ro",
        "rw",
        "grw",
    ]
    registered = {seen.json["name"]: seen.json["func"] for seen in service.requests("POST .*/create/(roll|rew|group)")}
    assert registered == {
        "functions/rollout/agent.py": "Thing",
        "functions/reward/answer.py": "Thing",
        "functions/reward/group.py": "Thing",
    }


async def test_one_component_need_not_be_a_list(service, here):
    registered = await here().register_functions(reward())
    assert registered.reward_entity_ids == ["rw-1"]
    assert registered.reward_instance_ids == []
    assert not service.requests("online")


async def test_layer_is_built_once_for_all_and_its_code_is_loaded(service, client, workspace):
    client.init(workspace / "job.yaml")
    await client.register_functions(lazy_load=False)
    assert list(service.layers.values()) == ["sympy==1.14.0\n"]
    runtimes = [instance["runtime"] for instance in service.instances.values()]
    assert {runtime["layer_code"] for runtime in runtimes} == {"layer-1"}
    with_environment = next(runtime for runtime in runtimes if "env" in runtime)
    assert with_environment["env"] == {"TRACE": "true", "LEVEL": 3}


async def test_same_class_twice_is_packaged_and_registered_once(service, here):
    registered = await here().register_functions([reward(name="a"), reward(name="b", weight=2.0)])
    assert registered.reward_entity_ids == ["rw-1", "rw-1"]
    assert len(service.packages) == len(service.entities) == 1


async def test_unchanged_functions_are_reused_and_say_so(service, client, workspace):
    first = await client.init(workspace / "job.yaml").register_functions()
    before = len(service.seen)
    told = []
    again = await client.init(workspace / "job.yaml").register_functions(on_event=told.append)
    assert again == first
    assert [seen.method for seen in service.seen[before:]] == ["GET"], "only the layer is looked at"
    finished = [event for event in told if isinstance(event, StepFinished)]
    assert all(event.reused for event in finished)
    assert any("has the same content" in event.detail for event in finished)


async def test_changed_code_is_sent_again(service, client, workspace):
    first = await client.init(workspace / "job.yaml").register_functions()
    with (workspace / "functions/reward/answer.py").open("a") as stream:
        stream.write("X = 1\n")
    again = await client.init(workspace / "job.yaml").register_functions()
    assert not {*chain(*first)} & {*chain(*again)}
    assert len(service.layers) == 1


async def test_layer_that_the_service_forgot_is_built_again(service, client, workspace):
    await client.init(workspace / "job.yaml").register_functions()
    service.layers.clear()
    await client.init(workspace / "job.yaml").register_functions()
    assert len(service.layers) == 1


async def test_another_account_registers_for_itself(service, make_client, workspace):
    await make_client().init(workspace / "job.yaml").register_functions()
    count = len(service.entities)
    await make_client("sk-another-account").init(workspace / "job.yaml").register_functions()
    assert len(service.entities) == 2 * count


async def test_entity_that_the_service_forgot_is_registered_anew(service, client, workspace):
    await client.init(workspace / "job.yaml").run()
    forgotten = set(service.entities)
    service.entities.clear()
    create = service._create

    def strict(seen):
        used = [seen.json["rollout"]["rollout_id"], *(part["reward_id"] for part in seen.json["rewards"])]
        gone = [entity for entity in used if entity not in service.entities]
        if gone:
            return 400, {"code": "InvalidParameter", "message": f"function {gone[0]} not found"}
        return create(seen)

    service._create = strict
    service.entities = {f"old-{number}": {} for number in range(9)}  # ids are counted on from here
    told = []
    job = await client.init(workspace / "job.yaml").run(on_event=told.append)
    assert job.job_id == "ft-2"
    assert [event.text for event in told if isinstance(event, Note) and "registered anew" in event.text]
    sent = service.requests("POST /api/v1/fine-tunes$")[-1].json
    assert sent["rollout"]["rollout_id"] not in forgotten


async def test_requirements_file_that_was_named_is_the_one_that_is_sent(service, here, workspace):
    (workspace / "needs.txt").write_text("# needs\nnumpy\n")
    model = FunctionComponentModel(classpath="functions.reward.answer.Thing", requirements_path="./needs.txt")
    await here().register_functions(RewardFunctionComponent(fcmodel=model))
    assert list(service.layers.values()) == ["# needs\nnumpy\n"]


async def test_nothing_to_install_builds_no_layer(service, here, workspace):
    (workspace / "requirements.txt").write_text("# nothing\n\n")
    await here().register_functions(reward())
    assert not service.layers


async def test_layers_can_be_switched_off(service, here, monkeypatch):
    monkeypatch.setenv("FC_LAYER_USED", "false")
    await here().register_functions(reward(), lazy_load=False)
    assert not service.layers
    assert next(iter(service.instances.values()))["runtime"] == {}


async def test_given_layer_is_used_and_none_is_built(service, here):
    from agentic_rl_tui.core.sdk import FunctionComponentRuntime

    await here().register_functions(reward(runtime=FunctionComponentRuntime(layer_code="layer-own")), lazy_load=False)
    assert not service.layers
    assert next(iter(service.instances.values()))["runtime"] == {"layer_code": "layer-own"}


async def test_failed_layer_stops_the_registration(service, client, workspace):
    service.layer_states = ["FAILED"]
    told = []
    with pytest.raises(errors.DeploymentError, match="pip says no"):
        await client.init(workspace / "job.yaml").register_functions(on_event=told.append)
    failed = [event for event in told if isinstance(event, StepFailed)]
    assert [event.label for event in failed] == ["build the layer of requirements.txt"]


async def test_missing_requirements_file_is_refused_before_sending(service, here, workspace):
    (workspace / "requirements.txt").unlink()
    with pytest.raises(errors.PackageError, match=r"requirements\.txt"):
        await here().register_functions(reward())
    assert not service.seen


@pytest.mark.parametrize(
    ("classpath", "words"),
    [
        ("functions.reward.nothing.Thing", "nothing"),
        ("functions.reward.answer.Other", "Other"),
        ("functions.rollout.agent.Thing", "rollout"),
    ],
)
async def test_class_that_is_not_there_is_refused_before_sending(service, here, classpath, words):
    with pytest.raises((errors.PackageError, errors.InputError), match=words):
        await here().register_functions(reward(classpath))
    assert not service.seen


async def test_registered_function_needs_no_code(service, here):
    registered = await here().register_functions(
        [reward("", entity_id="rw-old"), RolloutFunctionComponent(entity_id="ro-old")]
    )
    assert registered.reward_entity_ids == ["rw-old"]
    assert registered.rollout_entity_ids == ["ro-old"]
    assert not service.seen


async def test_package_holds_the_code_and_not_the_key(service, make_client, workspace):
    (workspace / "notes.txt").write_text("my key is sk-0123456789abcdef")
    (workspace / "start.sh").write_text("mine")
    await make_client().init(workspace / "job.yaml").register_functions()
    archives = [zipfile.ZipFile(io.BytesIO(content)) for content in service.packages.values()]
    for archive in archives:
        assert {"functions/rollout/agent.py", "functions/reward/answer.py"} <= set(archive.namelist())
        assert not any(b"sk-0123456789abcdef" in archive.read(name) for name in archive.namelist())
    assert len({archive.read("start.sh") for archive in archives}) == 3
    assert (workspace / "start.sh").read_text() == "mine"


async def test_no_archive_is_left_behind_by_a_failure(service, client, workspace, tmp_path, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", None)
    service.fail("PUT", times=99, status=403, body="no")
    with pytest.raises(errors.UploadError):
        await client.init(workspace / "job.yaml").register_functions()
    assert list(scratch.iterdir()) == []


async def test_key_is_needed_before_anything_is_read(service, make_client, tmp_path):
    with pytest.raises(errors.NoKey):
        await make_client(None).register_functions(reward())


async def test_nothing_to_register_is_said(here):
    with pytest.raises(errors.InputError, match="no function to register"):
        await here().register_functions()
    with pytest.raises(errors.InputError, match="no function component"):
        await here().register_functions(["functions.reward.answer.Thing"])
