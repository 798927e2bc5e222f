"""The start script that makes a package answer as one function on the service."""

from collections.abc import Mapping

from agentic_rl_tui.core.models.functions import FunctionKind
from agentic_rl_tui.core.models.processors import ClassPath

SERVER_MODULE = "dashscope.finetune.reinforcement.component.server.server"
LOG_DIR = "/tmp/log/agentic_rl"

_TEMPLATE = r"""#!/usr/bin/env bash
# Starts one function of this package. Made by agentic-rl-tui while packaging; the workspace holds no such file.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

export FUNC_TYPE='@KIND@'
export PROCESSOR_CLASS='@CLASS@'
export PYTHONPATH=".:${PYTHONPATH:-}"
export WORKERS_COUNT="${WORKERS_COUNT:-@WORKERS@}"

say() { printf '%s %s\n' "$(date '+%F %T')" "$*"; }

mkdir -p '@LOGS@'
exec > >(tee -a '@LOGS@'"/service_$(date +%Y%m%d).log") 2>&1

command -v python3 > /dev/null || { say 'python3 is not on the PATH'; exit 101; }

# The runtime usually brings the SDK; the layer brings requirements.txt.
if ! python3 -c 'import dashscope.finetune.reinforcement' 2> /dev/null; then
    for pause in 5 15 0; do
        say 'the dashscope package is missing; installing it'
        if python3 -m pip install --no-cache-dir @INDEX@'@SDK@'; then break; fi
        [ "$pause" -gt 0 ] || { say 'dashscope could not be installed'; exit 203; }
        sleep "$pause"
    done
fi

say "starting $FUNC_TYPE $PROCESSOR_CLASS with $WORKERS_COUNT worker(s)"
exec python3 -m '@SERVER@' "$@"
"""


def start_script(
    kind: FunctionKind,
    classpath: ClassPath,
    *,
    workers: int = 2,
    server_module: str = SERVER_MODULE,
    sdk: str = "dashscope",
    index_url: str = "",
) -> bytes:
    """The script for one function. Its text depends on the arguments alone."""
    values: Mapping[str, str] = {
        "KIND": kind.value,
        "CLASS": classpath.dotted,
        "WORKERS": str(workers),
        "SERVER": _quoted(server_module),
        "SDK": _quoted(sdk),
        "INDEX": f"--index-url '{_quoted(index_url)}' " if index_url else "",
        "LOGS": LOG_DIR,
    }
    text = _TEMPLATE
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text.encode()


def _quoted(text: str) -> str:
    """The inside of a single-quoted shell word."""
    return text.replace("'", "'\\''")
