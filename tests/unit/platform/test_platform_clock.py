"""Waits of the platform's own, made shorter."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentic_rl_tui.app.cli import serve
from agentic_rl_tui.app.cli.dispatch import Parser
from agentic_rl_tui.core import settings
from agentic_rl_tui.core.models.errors import ConfigError
from agentic_rl_tui.core.platform import __main__ as process
from agentic_rl_tui.core.platform.app import running_app
from agentic_rl_tui.core.platform.engine import EndpointOptions
from agentic_rl_tui.core.platform.engine.endpoint import EndpointPolicy
from agentic_rl_tui.core.platform.engine.policy import ModelRequest, Place
from agentic_rl_tui.core.platform.engine.row import Row
from agentic_rl_tui.core.platform.faults import Faults, parse
from agentic_rl_tui.core.platform.options import PlatformOptions

FT = "/api/v1/fine-tunes"
A_YEAR = "31536000"


def options(*rules: str, factor: float = 1e9) -> PlatformOptions:
    return PlatformOptions(clock_factor=factor, faults=Faults([parse(rule) for rule in rules]))


async def test_a_year_of_waiting_passes_at_once(tmp_path: Path) -> None:
    rules = options(f"slow@jobs:seconds={A_YEAR}", f"layer-slow:seconds={A_YEAR}")
    async with running_app(tmp_path, options=rules) as app:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://platform.local") as client:
            async with asyncio.timeout(20):
                assert (await client.get(FT)).status_code == 200
                body = {"layer_name": "l", "requirements": "httpx"}
                layer = (await client.post(f"{FT}/create/faas/layer", json=body)).json()["output"]
                path = f"{FT}/query/faas/layer/status?layer_code={layer['layer_code']}"
                assert (await client.get(path)).json()["output"]["status"] == "SUCCESS"


@pytest.mark.parametrize(("factor", "told"), [(1.0, "20"), (2.5, "8"), (160.0, "0.125"), (1e9, "0")])
async def test_a_throttled_client_is_told_the_shorter_wait_in_plain_digits(
    tmp_path: Path, factor: float, told: str
) -> None:
    rules = options("throttle@files:retry_after=20", factor=factor)
    async with (
        running_app(tmp_path, options=rules) as app,
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://platform.local") as client,
    ):
        throttled = await client.get("/api/v1/files")
    assert (throttled.status_code, throttled.headers["retry-after"]) == (429, told)


async def test_tries_of_an_endpoint_come_sooner() -> None:
    answers = [httpx.Response(503, headers={"retry-after": A_YEAR}), httpx.Response(200, json={"choices": [{}]})]
    given = EndpointOptions("http://endpoint/v1", "m")
    policy = EndpointPolicy(given, transport=httpx.MockTransport(lambda _: answers.pop(0)), clock_factor=1e9)
    row = Row.of(0, {"messages": [{"role": "user", "content": "hi"}]})
    async with asyncio.timeout(10):
        await policy.answer(ModelRequest(row.messages), Place(row, (1,)), ())
    await policy.close()
    assert answers == []


@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf", '"fast"', "true"])
def test_a_factor_that_is_none_is_told(tmp_path: Path, value: str) -> None:
    (tmp_path / "agentic-rl.toml").write_text(f"[local]\nclock_factor = {value}\n")
    with pytest.raises(ConfigError, match="clock_factor must be a positive number"):
        PlatformOptions.from_settings(settings.load(workspace=tmp_path, profile="local"))


def test_serve_hands_its_flags_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(process.server, "run", lambda paths, merged, listening, on_ready: seen.append(merged))
    parser = Parser(prog="serve")
    serve.arguments(parser)
    words = ["--root", str(tmp_path), "--fault", "slow", "--fault", "error@jobs:times=2", "--seed", "7"]
    words += ["--max-running-jobs", "3", "--clock-factor", "2.5"]
    assert serve.run(parser.parse_args(words)) == 0
    found = PlatformOptions.from_settings(seen[0])
    assert ([rule.kind for rule in found.faults.rules], found.faults.seed) == (["slow", "error"], 7)
    assert (found.max_running_jobs, found.clock_factor) == (3, 2.5)
