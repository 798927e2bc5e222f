"""Going to another workspace: its settings count from then on, and every place that shows files begins anew."""

from pathlib import Path
from typing import TYPE_CHECKING

from agentic_rl_tui.app.connecting import home_path
from agentic_rl_tui.app.remaking import remake
from agentic_rl_tui.core.settings import load

if TYPE_CHECKING:
    from agentic_rl_tui.app.shell import ArlApp

FILE_PLACES = ("functions", "jobfile")


async def open_workspace(app: "ArlApp", folder: Path) -> None:
    """Read the settings of a folder and make it the workspace. Raises ConfigError, with everything as it was."""
    settings = load(workspace=folder.absolute(), profile=app.settings.profile_name)
    app.settings = settings
    app.job_file = None
    await remake(app, [name for name in FILE_PLACES if name != app.current_mode])
    app.workspace_shown = home_path(settings.workspace)
    app.connect_backend()
