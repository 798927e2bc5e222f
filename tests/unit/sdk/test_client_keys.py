"""Which key is sent, where from, and that no text ever shows it."""

import logging

import pytest

from agentic_rl_tui.core import settings
from agentic_rl_tui.core.client.log import logger, set_level
from agentic_rl_tui.core.models import errors
from agentic_rl_tui.core.sdk import AgenticRL

OTHER = "sk-fedcba9876543210"


def sent(service) -> list[str | None]:
    return [seen.header("authorization") for seen in service.seen]


async def test_the_key_that_is_passed_is_the_key_that_is_sent(service, make_client, monkeypatch, tmp_path):
    monkeypatch.setenv("DASHSCOPE_API_KEY", "sk-environment-key")
    file = tmp_path / "a.jsonl"
    file.write_text("{}\n")
    client = make_client(OTHER)
    service.jobs.append({"job_id": "ft-1"})
    await client.get("ft-1")
    await client.files.upload(file)
    await client.functions.create_layer("x")
    assert sent(service) == [f"Bearer {OTHER}"] * 3


async def test_two_clients_in_one_process_keep_their_keys(service, make_client):
    first, second = make_client("sk-first-1111111"), make_client("sk-second-222222")
    await first.list()
    await second.list()
    await first.list()
    assert [text[-7:] for text in sent(service) if text] == ["1111111", "-222222", "1111111"]


async def test_environment_is_read_when_the_call_is_made(service, make_client, monkeypatch):
    client = make_client(None)
    with pytest.raises(errors.NoKey) as caught:
        await client.list()
    assert "DASHSCOPE_API_KEY" in caught.value.advice
    assert not service.seen
    monkeypatch.setenv("DASHSCOPE_API_KEY", "sk-environment-key\n")
    await client.list()
    assert sent(service) == ["Bearer sk-environment-key"]


async def test_one_call_may_use_another_key_and_workspace(service, client):
    service.jobs.append({"job_id": "ft-1"})
    await client.get("ft-1", OTHER, "llm-ws-1")
    await client.get("ft-1")
    assert service.seen[0].header("authorization") == f"Bearer {OTHER}"
    assert service.seen[0].header("x-dashscope-workspace") == "llm-ws-1"
    assert service.seen[1].header("x-dashscope-workspace") is None


async def test_class_level_call_takes_the_key_too(service):
    service.jobs.append({"job_id": "ft-1"})
    job = await AgenticRL.get("ft-1", OTHER, base_url=service.url)
    assert job.job_id == "ft-1"
    assert sent(service) == [f"Bearer {OTHER}"]


async def test_package_address_gets_no_key(service, client, tmp_path):
    package = tmp_path / "p.zip"
    package.write_bytes(b"PK\5\6")
    await client.functions.put_package(f"http://127.0.0.1:{service.port}/oss/x.zip?Signature=abc", package)
    assert sent(service) == [None]
    assert service.seen[0].header("content-type") is None
    assert service.packages["x.zip"] == b"PK\5\6"


async def test_base_url_is_normalised_once(service, make_client):
    client = make_client(base_url=f"  {service.url}/// ")
    await client.list()
    assert service.seen[0].path == "/api/v1/fine-tunes"


@pytest.mark.parametrize("key", ["sk-with space", "sk-ünicode-key", "sk-line\nbreak"])
async def test_key_that_cannot_be_sent_is_refused_and_not_shown(service, make_client, key):
    with pytest.raises(errors.ConfigError) as caught:
        await make_client(key).list()
    assert key not in str(caught.value)
    assert not service.seen


async def test_secrets_are_masked_in_errors_and_logs(service, client, caplog):
    secret = "sk-0123456789abcdef"
    service.fail("GET", times=9, status=400, body={"message": f"no access for Bearer {secret}"})
    caplog.set_level(logging.DEBUG, logger="agentic_rl_tui.client")
    with pytest.raises(errors.Rejected) as caught:
        await client.get("ft-1")
    assert secret not in str(caught.value)
    assert "••••" in str(caught.value)
    url = f"http://127.0.0.1:{service.port}/oss/x.zip?Signature=c2VjcmV0MTIz"
    logger.debug("PUT %s with %s", url, secret)
    assert secret not in caplog.text
    assert "c2VjcmV0" not in caplog.text
    assert secret not in repr(client.transport) + repr(client.settings)


async def test_token_of_an_instance_is_masked_once_it_is_known(service, client):
    from agentic_rl_tui.core.models.redact import redact

    service.instances["rw-ins-1"] = {"trigger_url": service.url, "trigger_token": "pass-phrase-42"}
    instance = await client.functions.query("rw-ins-1")
    assert "pass-phrase-42" not in repr(instance)
    assert "pass-phrase-42" not in redact("the token is pass-phrase-42")


def test_origin_of_a_key_is_known(monkeypatch, tmp_path):
    monkeypatch.setenv("DASHSCOPE_API_KEY", "sk-environment-key")
    loaded = settings.load(workspace=tmp_path, profile="dashscope")
    key = loaded.api_key()
    assert key is not None
    assert key.origin == "environment DASHSCOPE_API_KEY"
    assert "environment-key" not in f"{key} {key!r}"


@pytest.mark.parametrize("level", ["DEBUG", "info", " Warning "])
def test_log_level_as_documented(level):
    set_level(level)
    assert logging.getLevelName(logger.level) == level.strip().upper()


def test_unknown_log_level_is_one_warning_and_no_failure(caplog):
    logger.setLevel(logging.NOTSET)
    set_level("trace")
    set_level("trace")
    assert logger.level == logging.INFO
    assert [record.getMessage() for record in caplog.records if "trace" in record.getMessage()] == [
        "LOG_LEVEL=trace is not one of DEBUG, INFO, WARNING, ERROR, CRITICAL; INFO is used"
    ]


@pytest.mark.parametrize("job_id", ["../files/file-1", "x?a=b#", "", "a/b", "..", "ft 1", ".hidden"])
async def test_ids_cannot_leave_their_place(service, client, job_id):
    for call in (client.get, client.cancel, client.delete, client.logs):
        with pytest.raises(errors.InputError, match="is no job id"):
            await call(job_id)
    for other in (client.files.delete, client.functions.query, client.functions.load):
        with pytest.raises(errors.InputError):
            await other(job_id)
    assert not service.seen


async def test_ids_with_ordinary_signs_pass(service, client):
    with pytest.raises(errors.NotFound):
        await client.get(" ft-202612011706-5491:a.b_c ")
    assert service.seen[0].path == "/api/v1/fine-tunes/ft-202612011706-5491%3Aa.b_c"
