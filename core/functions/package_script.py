"""The start script that makes a package answer as one function on the service."""

import os
import shlex
from dataclasses import dataclass

from agentic_rl_tui.core.models.kinds import FunctionKind
from agentic_rl_tui.core.models.processors import ClassPath

SERVER_MODULE = "dashscope.finetune.reinforcement.component.server.server"
INDEX_URL = "https://mirrors.aliyun.com/pypi/simple/"
LOG_DIR = "/tmp/log/agentic_rl"

_TEMPLATE = r"""#!/usr/bin/env bash
# Starts one function of this package. Made by agentic-rl-tui while packaging; the workspace holds no such file.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

export FUNC_TYPE=@KIND@
export PROCESSOR_CLASS=@CLASS@
export PYTHONPATH=".:${PYTHONPATH:-}"
export WORKERS_COUNT=@WORKERS@

say() { printf '%s %s\n' "$(date '+%F %T')" "$*"; }

mkdir -p @LOGS@
exec > >(tee -a @LOGS@"/service_$(date +%Y%m%d).log") 2>&1

command -v python3 > /dev/null || { say 'python3 is not on the PATH'; exit 101; }

install() {
    local pause
    for pause in 5 15 0; do
        say "installing $*"
        if python3 -m pip install --no-cache-dir --index-url @INDEX@ "$@"; then return 0; fi
        [ "$pause" -eq 0 ] || sleep "$pause"
    done
    say "could not install $*"
    return 1
}
@INSTALLS@
say "starting $FUNC_TYPE $PROCESSOR_CLASS with $WORKERS_COUNT worker(s)"
exec python3 -m @SERVER@ "$@"
"""

_VENV = r"""
# No layer brings the requirements, so they go into an environment beside the package.
python3 -m venv "${TMPDIR:-/tmp}/agentic-rl-env" || exit 202
source "${TMPDIR:-/tmp}/agentic-rl-env/bin/activate"
install dashscope || exit 203
if [ -f @REQUIREMENTS@ ]; then install -r @REQUIREMENTS@ || exit 204; fi
"""


@dataclass(frozen=True, slots=True)
class ScriptOptions:
    """What the environment variables FC_… of the service's client say of the start script.

    packages: installed at every start, as that client does with FC_PYPI_LIB. requirements: installed at the start
    where no layer holds them (FC_LAYER_USED=false), else None.
    """

    workers: int = 2
    server_module: str = SERVER_MODULE
    packages: tuple[str, ...] = ()
    index_url: str = INDEX_URL
    requirements: str | None = None

    @classmethod
    def of_environment(cls, requirements: str) -> "ScriptOptions":
        count = os.environ.get("FC_WORKERS_COUNT", "").strip()
        without_layer = os.environ.get("FC_LAYER_USED", "").strip().lower() in ("0", "false", "no", "off")
        return cls(
            int(count) if count.isdecimal() and int(count) > 0 else 2,
            os.environ.get("FC_SERVER_CLASSPATH", "").strip() or SERVER_MODULE,
            tuple(os.environ.get("FC_PYPI_LIB", "").split()),
            os.environ.get("FC_PYPI_REPO", "").strip() or INDEX_URL,
            requirements if without_layer else None,
        )


def start_script(kind: FunctionKind, classpath: ClassPath, options: ScriptOptions | None = None) -> bytes:
    """The script for one function. Its text depends on the arguments alone."""
    settings = options or ScriptOptions()
    installs = ""
    if settings.requirements is not None:
        installs += _VENV
    if settings.packages:
        installs += f"\ninstall {shlex.join(settings.packages)} || exit 203\n"
    values = {
        "INSTALLS": installs,
        "KIND": kind.value,
        "CLASS": shlex.quote(classpath.dotted),
        "WORKERS": str(settings.workers),
        "SERVER": shlex.quote(settings.server_module),
        "INDEX": shlex.quote(settings.index_url),
        "LOGS": LOG_DIR,
        "REQUIREMENTS": shlex.quote(settings.requirements or ""),
    }
    text = _TEMPLATE
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text.encode()
