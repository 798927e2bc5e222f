"""What becomes of a function's requirements on the platform."""

import sys
from pathlib import Path
from typing import Any

import pytest

from agentic_rl_tui.core import settings
from agentic_rl_tui.core.functions.environments import RequirementsPolicy, default_cache_dir
from agentic_rl_tui.core.models.errors import ConfigError
from agentic_rl_tui.core.platform.options import PlatformOptions

FT = "/api/v1/fine-tunes"

INTERPRETER = """\
#!/bin/sh
case "$*" in
    *" -m venv "*)
        for home in "$@"; do :; done
        mkdir -p "$home/bin" && cp "$0" "$home/bin/python" ;;
    *" -m pip "*)
        echo "Collecting things"
        if grep -q fail "$(dirname "$0")/../requirements.txt"; then echo "ERROR: no fail here"; exit 1; fi ;;
esac
"""


@pytest.fixture
def options(request: pytest.FixtureRequest) -> PlatformOptions:
    return PlatformOptions(requirements=request.param)


@pytest.fixture(autouse=True)
def _interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "python"
    path.write_text(INTERPRETER)
    path.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(path))


async def layer_of(bench: Any, requirements: str) -> dict[str, Any]:
    body = {"layer_name": "l", "requirements_content": requirements}
    code = (await bench.client.post(f"{FT}/create/faas/layer", json=body)).json()["output"]["layer_code"]
    answer = await bench.client.get(f"{FT}/query/faas/layer/status?layer_code={code}")
    found: dict[str, Any] = answer.json()["output"]
    return found


async def _started_with(bench: Any, layer_code: str) -> Path | None:
    """The interpreter of an instance that runs on a layer."""
    instance = await bench.load(await bench.register(), {"layer_code": layer_code})
    headers = {"authorization": f"Bearer {instance['trigger_token']}"}
    path = f"/functions/{instance['instanceId']}/api/v1"
    assert (await bench.client.post(path, json={}, headers=headers)).status_code == 200
    found: Path | None = bench.pools[-1].request.python
    return found


@pytest.mark.parametrize("options", [RequirementsPolicy.INSTALL], indirect=True)
async def test_a_layer_is_an_environment_and_its_functions_run_there(bench: Any) -> None:
    layer = await layer_of(bench, "not-there==1\n")
    assert layer["status"] == "SUCCESS"
    assert "message" not in layer
    python = await _started_with(bench, layer["layer_code"])
    assert python is not None
    assert python.parents[2] == default_cache_dir()
    assert python.exists()


@pytest.mark.parametrize("options", [RequirementsPolicy.INSTALL], indirect=True)
async def test_a_layer_that_cannot_be_installed_fails_with_the_reason(bench: Any) -> None:
    layer = await layer_of(bench, "fail==1\n")
    assert layer["status"] == "FAILED"
    assert layer["message"] == "The requirements cannot be installed: no fail here"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (RequirementsPolicy.CHECK, "not installed on this machine: not-there"),
        (RequirementsPolicy.IGNORE, None),
    ],
    indirect=["options"],
)
async def test_nothing_is_installed_unasked(bench: Any, message: str | None) -> None:
    layer = await layer_of(bench, "not-there==1\n")
    assert (layer["status"], layer.get("message")) == ("SUCCESS", message)
    assert await _started_with(bench, layer["layer_code"]) is None
    assert not default_cache_dir().exists()


@pytest.mark.parametrize("options", [RequirementsPolicy.CHECK], indirect=True)
def test_the_policy_is_read_from_the_table_local(tmp_path: Path, options: PlatformOptions) -> None:
    def read() -> PlatformOptions:
        return PlatformOptions.from_settings(settings.load(workspace=tmp_path, profile="local"))

    assert read().requirements is options.requirements
    file = tmp_path / "agentic-rl.toml"
    file.write_text('[local]\nrequirements = "install"\n')
    assert read().requirements is RequirementsPolicy.INSTALL
    file.write_text('[local]\nrequirements = "always"\n')
    with pytest.raises(ConfigError, match=r"local\.requirements must be one of check, install, ignore, not 'always'"):
        read()
