"""Our requests against those that the service's own client was recorded to send for the same intent.

They must be equal in method, path, query, body, part names and authorisation. The exceptions, each a fault of that
client, are spelled out in `_without_faults` and at the intents.
"""

import contextlib
import json
import re
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from urllib.request import Request as PlainRequest
from urllib.request import urlopen

import pytest

from agentic_rl_tui.core import settings
from agentic_rl_tui.core.models import errors
from agentic_rl_tui.core.models.functions import FunctionKind, Instance, Runtime
from agentic_rl_tui.core.sdk import AgenticRL, AgenticRLFunctionComponent, RetryPolicy
from agentic_rl_tui.core.sdk.components import Dataset

KEY = "sk-0123456789abcdef"
Exchange = dict[str, Any]
Intent = Callable[[AgenticRL, Exchange, Path], Awaitable[object]]

NOT_SENT_BY_US = {
    "36-list-401-empty-key": "a call without a key is refused before anything is sent",
    "39-v2-finetune-create": "the null and the empty object in its body mean nothing",
}


class Recorder:
    """The recording server, in a process of its own."""

    def __init__(self, port: int) -> None:
        self.port = port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def control(self, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        with urlopen(PlainRequest(f"{self.url}/__ctl/{path}", data=data), timeout=10) as answer:
            return json.load(answer)

    def records(self) -> list[dict[str, Any]]:
        return list(self.control("records"))


@pytest.fixture(scope="module")
def recording_server(shared: Path) -> Iterator[Recorder]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = int(listener.getsockname()[1])
    script = shared / "protocol/recorder.py"
    with subprocess.Popen([sys.executable, str(script), "--port", str(port)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield Recorder(port)
        process.kill()


@pytest.fixture
def recorder(recording_server: Recorder) -> Recorder:
    recording_server.control("reset", {})
    return recording_server


@pytest.fixture
async def client(recorder: Recorder, tmp_path: Path) -> AsyncIterator[AgenticRL]:
    loaded = settings.load(workspace=tmp_path, base_url=f"{recorder.url}/api/v1")
    async with AgenticRL(KEY, settings=loaded, retry=RetryPolicy(attempts=2, base_s=0.0)) as made:
        yield made


def _json(exchange: Exchange) -> dict[str, Any]:
    return dict(exchange["request"]["json"])


def _id(exchange: Exchange, place: int = -1) -> str:
    return str(exchange["request"]["path"].split("/")[place])


async def _upload_url(client: AgenticRL, exchange: Exchange, folder: Path) -> None:
    key = _json(exchange)["unique_key"]
    await client.functions.upload_url(FunctionKind(key.split("-")[0]), unique_key=key)


async def _put(client: AgenticRL, exchange: Exchange, folder: Path) -> None:
    package = folder / "package.zip"
    package.write_bytes(b"PK\5\6" + bytes(18))
    request = exchange["request"]
    origin = client.profile.base_url.removesuffix("/api/v1")
    await client.functions.put_package(f"{origin}{request['path']}?{request['query']}", package)


async def _layer(client: AgenticRL, exchange: Exchange, folder: Path) -> None:
    body = _json(exchange)
    await client.functions.create_layer(body["requirements_content"], name=body["layer_name"])


async def _layer_status(client: AgenticRL, exchange: Exchange, folder: Path) -> None:
    await client.functions.layer_status(exchange["request"]["query"].partition("=")[2])


async def _register(client: AgenticRL, exchange: Exchange, folder: Path) -> None:
    body = _json(exchange)
    await client.functions.register(
        FunctionKind(_id(exchange).replace("-", "_")),
        path=body["name"],
        class_name=body["func"],
        code_url=body["code_url"],
        unique_key=body["unique_key"],
    )


async def _load(client: AgenticRL, exchange: Exchange, folder: Path) -> None:
    job = _id(exchange, -2).removeprefix("jobId-")
    await client.functions.load(_id(exchange), runtime=Runtime.model_validate(_json(exchange)), job=job)


def _instance(client: AgenticRL, exchange: Exchange) -> Instance:
    origin = client.profile.base_url.removesuffix("/api/v1")
    name = exchange["request"]["path"].split("/")[2]
    return Instance(instance_id=name, trigger_url=f"{origin}/proxy/{name}", trigger_token="tok-0123456789")


async def _health(client: AgenticRL, exchange: Exchange, folder: Path) -> None:
    await client.functions.health(_instance(client, exchange))


async def _invoke(client: AgenticRL, exchange: Exchange, folder: Path) -> None:
    await client.functions.call(_instance(client, exchange), _json(exchange))


async def _query(client: AgenticRL, exchange: Exchange, folder: Path) -> None:
    await client.functions.query(_id(exchange))


async def _instance_logs(client: AgenticRL, exchange: Exchange, folder: Path) -> None:
    body = _json(exchange)
    await client.query_function_instance_logs(
        _id(exchange), body["pageNumber"], body["pageSize"], body["startTime"], body["endTime"], body["keywords"]
    )


async def _delete_instance(client: AgenticRL, exchange: Exchange, folder: Path) -> None:
    await client.delete_function_instance(_id(exchange))


async def _upload(client: AgenticRL, exchange: Exchange, folder: Path) -> None:
    parts = {part["name"]: part for part in exchange["request"]["multipart"]}
    file = folder / parts["files"]["filename"]
    file.write_bytes(b"{}" + b" " * (parts["files"]["size"] - 3) + b"\n")
    await client.files.upload(
        file,
        purpose=parts["purpose"]["preview"] if "purpose" in parts else None,
        description=parts["descriptions"]["preview"] if "descriptions" in parts else None,
    )


async def _file(client: AgenticRL, exchange: Exchange, folder: Path) -> None:
    await client.files.get(_id(exchange))


async def _file_list(client: AgenticRL, exchange: Exchange, folder: Path) -> None:
    query = dict(pair.split("=") for pair in exchange["request"]["query"].split("&"))
    await client.files.list(page_no=int(query["page_no"]), page_size=int(query["page_size"]))


async def _file_delete(client: AgenticRL, exchange: Exchange, folder: Path) -> None:
    await client.files.delete(_id(exchange))


_OWN = ("name", "weight", "timeout", "reward_metric_weight")


def _component(entry: dict[str, Any]) -> AgenticRLFunctionComponent:
    entity_id = entry.get("rollout_id") or entry.get("reward_id")
    kind = {"ro": FunctionKind.ROLLOUT, "rw": FunctionKind.REWARD, "grw": FunctionKind.GROUP_REWARD}
    runtime = {key: value for key, value in entry.items() if key not in (*_OWN, "rollout_id", "reward_id")}
    own = {key: entry[key] for key in _OWN if key in entry}
    if re.fullmatch(r"(rollout|reward)-[0-9a-f]{8}", own["name"]):
        del own["name"]  # made up by the client for a function without one
    return AgenticRLFunctionComponent(
        type=kind[entity_id.split("-")[0]],
        entity_id=entity_id,
        runtime=Runtime.model_validate(runtime) if runtime else None,
        **own,
    )


async def _submit(client: AgenticRL, exchange: Exchange, folder: Path) -> None:
    body = _json(exchange)
    entries = [*([body["rollout"]] if "rollout" in body else []), *body.get("rewards", [])]
    data = [*body.get("training_datasets", []), *body.get("validation_datasets", [])]
    await client.submit_job(
        model=body["model"],
        datasets=[Dataset.model_validate(entry) for entry in data],
        functions=[_component(entry) for entry in entries],
        hyper_parameters=body["hyper_parameters"],
        resources=body["resource_config"],
        job_name=body["job_name"].rpartition("-")[0],
        teacher_model=body.get("teacher_model"),
    )


async def _create(client: AgenticRL, exchange: Exchange, folder: Path) -> None:
    await client.jobs.create(_json(exchange))


async def _get(client: AgenticRL, exchange: Exchange, folder: Path) -> None:
    workspace = dict(exchange["request"]["headers"]).get("X-DashScope-WorkSpace")
    await client.get(_id(exchange), workspace=workspace)


async def _list(client: AgenticRL, exchange: Exchange, folder: Path) -> None:
    query = dict(pair.split("=") for pair in exchange["request"]["query"].split("&"))
    await client.list(int(query["page_no"]), int(query["page_size"]))


async def _logs(client: AgenticRL, exchange: Exchange, folder: Path) -> None:
    query = dict(pair.split("=") for pair in exchange["request"]["query"].split("&"))
    await client.logs(_id(exchange, -2), int(query["offset"]), int(query["line"]))


async def _stream(client: AgenticRL, exchange: Exchange, folder: Path) -> None:
    async for _ in client.jobs.stream(_id(exchange, -2)):
        return


async def _cancel(client: AgenticRL, exchange: Exchange, folder: Path) -> None:
    await client.cancel(_id(exchange, -2))


async def _delete(client: AgenticRL, exchange: Exchange, folder: Path) -> None:
    await client.delete(_id(exchange))


INTENTS: dict[str, Intent] = {
    "01-package-upload-url": _upload_url,
    "02-package-put": _put,
    "03-layer-create": _layer,
    "04-register-rollout": _register,
    "05-register-reward": _register,
    "06-register-group-reward": _register,
    "07-layer-status": _layer_status,
    "08-instance-load": _load,
    "09-instance-health": _health,
    "10-instance-query": _query,
    "11-invoke-rollout": _invoke,
    "12-invoke-reward": _invoke,
    "13-invoke-group-reward": _invoke,
    "14-instance-logs": _instance_logs,
    "15-instance-delete": _delete_instance,
    "16-file-upload": _upload,
    "17-file-upload-generic": _upload,
    "18-file-get": _file,
    "19-file-list": _file_list,
    "20-file-delete": _file_delete,
    "21-job-create-reinforcement": _submit,
    "22-job-create-opd-rollout-reward": _submit,
    "23-job-create-opd-rollout-only": _submit,
    "24-job-create-opd-reward-only": _submit,
    "25-job-create-opd-no-functions": _submit,
    "26-job-create-preregistered-and-sources": _submit,
    "27-job-create-group-reward": _submit,
    "28-job-get": _get,
    "29-job-list": _list,
    "30-job-logs": _logs,
    "31-job-stream": _stream,
    "32-job-get-with-workspace": _get,
    "33-job-cancel": _cancel,
    "34-job-delete": _delete,
    "35-job-get-404": _get,
    "37-generic-finetune-create": _create,
    "38-v2-job-fetch": _get,
}


def _without_faults(name: str, body: Any) -> Any:
    """A recorded body as it should have been sent, with what is random replaced."""
    if not isinstance(body, dict):
        return body
    body = json.loads(json.dumps(body))
    if "job_name" in body:
        body["job_name"] = re.sub(r"-[0-9a-f]{8}$", "-<random>", body["job_name"])
        for entry in [body.get("rollout") or {}, *body.get("rewards", [])]:
            if "name" in entry:
                entry["name"] = re.sub(r"-[0-9a-f]{8}$", "-<random>", entry["name"])
        rate = body["hyper_parameters"].get("learning_rate")
        if isinstance(rate, str):
            body["hyper_parameters"]["learning_rate"] = float(rate)  # a number must be sent as one
    if name == "08-instance-load":
        body["env"] = {"A": "true"}  # environment values are text here as well as in a job
    return body


@pytest.mark.parametrize("name", sorted(INTENTS))
async def test_same_intent_same_request(name, shared, recorder, client, tmp_path):
    exchange = json.loads((shared / f"protocol/exchanges/{name}.json").read_text())
    theirs = exchange["request"]
    # The recorder knows none of the ids: what was asked is what counts.
    with contextlib.suppress(errors.NotFound, errors.DeploymentError):
        await INTENTS[name](client, exchange, tmp_path)
    ours = [seen for seen in recorder.records() if seen["method"] == theirs["method"]][-1]
    assert (ours["method"], ours["path"]) == (theirs["method"], theirs["path"])
    assert unquote(ours["query"]) == unquote(theirs["query"])
    assert _without_faults(name, ours.get("json")) == _without_faults(name, theirs.get("json"))
    our_headers = {key.lower(): value for key, value in ours["headers"]}
    their_headers = {key.lower(): value for key, value in theirs["headers"]}
    assert ("authorization" in our_headers) == ("authorization" in their_headers)
    if "authorization" in our_headers:
        kind = re.match(r"Bearer (?:<)?(sk|tok)", their_headers["authorization"])
        assert kind is not None
        assert our_headers["authorization"] == f"Bearer {KEY if kind[1] == 'sk' else 'tok-0123456789'}"
    assert our_headers.get("x-dashscope-workspace") == their_headers.get("x-dashscope-workspace")
    if theirs.get("json") is not None:
        assert our_headers["content-type"].startswith("application/json")
    if "multipart" in theirs:
        _compare_parts(ours["multipart"], theirs["multipart"])
    elif theirs["method"] in ("POST", "PUT"):
        assert "content-length" in our_headers
        assert "transfer-encoding" not in our_headers
    if theirs["method"] == "PUT":
        assert "content-type" not in our_headers


def _compare_parts(ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> None:
    def facts(parts: list[dict[str, Any]]) -> dict[str, tuple[Any, ...]]:
        return {part["name"]: (part["filename"], part["size"]) for part in parts}

    assert facts(ours) == facts(theirs)
    if "purpose" in facts(theirs):
        assert [part["name"] for part in ours] == [part["name"] for part in theirs]


def test_every_recorded_operation_is_compared(shared):
    recorded = {path.stem for path in (shared / "protocol/exchanges").glob("*.json") if int(path.stem[:2]) < 50}
    assert recorded == {*INTENTS, *NOT_SENT_BY_US}


async def test_call_without_a_key_is_not_sent(recorder, tmp_path):
    loaded = settings.load(workspace=tmp_path, base_url=f"{recorder.url}/api/v1")
    async with AgenticRL(settings=loaded) as client:
        with pytest.raises(errors.NoKey):
            await client.list()
    assert recorder.records() == []


async def test_whole_workflow_against_the_recorder(recorder, client, tmp_path):
    """The order of the service's own client, with one layer for all and no request twice."""
    from agentic_rl_tui.core.templates import TEMPLATES, write_workspace

    template = TEMPLATES["calc-agent"]
    workspace = tmp_path / "calc"
    write_workspace(template, workspace)
    job = await client.init(workspace / template.job_file).run()
    seen = [f"{record['method']} {re.sub(r'/oss/.*', '/oss', record['path'])}" for record in recorder.records()]
    api = "/api/v1/fine-tunes"
    assert seen.count(f"POST {api}/create/faas/layer") == 1
    assert seen.count("PUT /oss") == seen.count(f"POST {api}/generate/faas/upload/url") == 4
    assert (
        seen.index(f"POST {api}/generate/faas/upload/url")
        < seen.index("PUT /oss")
        < seen.index(f"POST {api}/create/rollout")
    )
    assert seen[-3:] == ["POST /api/v1/files", "POST /api/v1/files", f"POST {api}"]
    body = recorder.records()[-1]["json"]
    assert body["job_name"] == job.job_name
    assert body["hyper_parameters"]["learning_rate"] == 2e-6
    async for page in client.follow(job.job_id):
        assert page.total == 30
        break
    await client.cancel(job.job_id)
    assert (await client.wait(job.job_id)).status == "CANCELED"


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        ({"status": 200, "body": {"code": "X", "message": "no"}}, errors.Rejected),
        ({"status": 200, "body": {"status": {"code": 500}}}, errors.ServerError),
        ({"status": 500, "body": {"status": {"code": 200}, "output": {}}}, errors.ServerError),
        ({"raw": "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 0\r\n\r\n"}, errors.BadResponse),
        ({"status": 200, "body": [1]}, errors.BadResponse),
        ({"drop": True}, errors.Unreachable),
    ],
)
async def test_injected_fault_never_passes_for_a_success(recorder, client, rule, kind):
    recorder.control("rules", [{"path": "cancel", **rule}])
    with pytest.raises(kind):
        await client.cancel("ft-1")
