"""What users put into a job stays out of logs, notes on disk and errors; odd answers are explained, not leaked."""

import logging

import pytest

from agentic_rl_tui.core.models import errors
from agentic_rl_tui.core.models.functions import FunctionKind
from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.paths import state_dir
from agentic_rl_tui.core.sdk import AgenticRLFunctionComponent, FunctionType

KEY = "sk-0123456789abcdef"
OWN = "hunter2-of-the-user"


@pytest.fixture
def with_secret(workspace):
    file = workspace / "job.yaml"
    file.write_text(file.read_text().replace("TRACE: true", f"JUDGE_KEY: {OWN}"))
    return file


async def test_nothing_secret_is_logged_even_at_debug(service, client, with_secret, caplog):
    caplog.set_level(logging.DEBUG)
    service.fail("GET", status=503, body={"message": f"try later, {KEY}"})
    await client.init(with_secret).register_functions(lazy_load=False)
    await client.run()
    text = caplog.text
    assert "POST" in text
    assert OWN in service.requests("POST /api/v1/fine-tunes$")[0].body.decode()
    for secret in (KEY, OWN, "tok-abcdefgh", "c2VjcmV0MTIz"):
        assert secret not in text


async def test_notes_on_disk_hold_names_and_hashes_only(service, client, with_secret):
    service.fail("POST /api/v1/fine-tunes$", drop=True)
    service.fail("GET /api/v1/fine-tunes$", times=3, drop=True)
    with pytest.raises(errors.Unreachable):
        await client.init(with_secret).run()
    files = [path for path in state_dir().rglob("*") if path.is_file()]
    assert [path for path in files if path.suffix == ".json"]
    for path in files:
        content = path.read_text()
        for secret in (KEY, OWN, "tok-abcdefgh", "c2VjcmV0MTIz"):
            assert secret not in content
        assert path.stat().st_mode & 0o077 == 0


async def test_error_that_quotes_the_request_is_masked(service, client, with_secret):
    service.fail("create/faas/layer", status=400, body={"message": f"key {KEY} may not build"})
    with pytest.raises(errors.Rejected) as caught:
        await client.init(with_secret).run()
    assert KEY not in str(caught.value) + repr(caught.value) + caught.value.advice


def test_masking_nothing_is_no_error():
    redact.add(None, "", "short")
    assert redact("short and plain") == "short and plain"


@pytest.mark.parametrize(
    "body",
    [
        {"request_id": "r", "output": None},
        {"status": {"code": None}},
        {"code": "X", "message": "no quota"},
        {"status": {"code": 500}},
        [],
    ],
)
@pytest.mark.parametrize("pattern", ["create/reward", "POST /api/v1/fine-tunes$", "upload/url", "online"])
async def test_odd_answer_is_explained_wherever_it_comes(service, client, workspace, pattern, body):
    service.fail(pattern, times=99, status=200, body=body)
    client.init(workspace / "job.yaml")
    with pytest.raises(errors.ArlError) as caught:
        await (client.register_functions(lazy_load=False) if pattern == "online" else client.run())
    text = str(caught.value)
    assert "NoneType" not in text
    assert "object has no attribute" not in text
    assert "POST" in text


async def test_registered_function_without_a_runtime_can_be_loaded(service, client):
    component = AgenticRLFunctionComponent(type=FunctionType.REWARD, entity_id="rw-old")
    registered = await client.register_functions([component], lazy_load=False)
    assert registered.reward_instance_ids == ["rw-ins-1"]
    assert service.seen[0].json == {}


async def test_empty_code_section_is_named_with_its_place(service, client, workspace):
    file = workspace / "job.yaml"
    file.write_text(
        file.read_text().replace("    fcmodel: {classpath: functions.reward.group.Thing}\n", "    fcmodel: null\n")
    )
    with pytest.raises(errors.ConfigError) as caught:
        await client.init(file).run()
    assert any(getattr(problem, "line", 0) for problem in caught.value.diagnostics)
    assert not service.seen


def test_kinds_know_their_routes():
    assert [kind.route for kind in FunctionKind] == ["rollout", "reward", "group-reward"]
