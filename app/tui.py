"""The way into the full-screen app. Cheap to import: the app itself is read after the first sight is painted."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentic_rl_tui.app.shell import ArlApp as ArlApp
    from agentic_rl_tui.app.shell import Options as Options
    from agentic_rl_tui.core.settings import Settings

SLOW_FPS = "8"
"""Frames a second, at most, on a slow line: what is typed still shows without a noticeable wait."""

__all__ = ["ArlApp", "Options", "run_tui"]


def __getattr__(name: str) -> Any:
    if name in ("ArlApp", "Options"):
        from agentic_rl_tui.app import shell

        return getattr(shell, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def run_tui(
    settings: "Settings",
    *,
    start_place: str | None = None,
    job_file: Path | None = None,
    submit_ready: bool = False,
    read_only: bool = False,
    fresh: bool = False,
    low_bandwidth: bool = False,
) -> int:
    """Run the app until it is left; the exit code of the process.

    fresh: without the view of the last time. low_bandwidth: few and small updates, for a slow line.
    """
    import gc
    import os

    from agentic_rl_tui.app.places import first_place
    from agentic_rl_tui.app.prepaint import FirstSight
    from agentic_rl_tui.app.tty import forget_exported_size
    from agentic_rl_tui.app.view import BrokenView, View, read_view, view_path

    # Nothing of the start is garbage; collecting would only delay the first frame.
    gc.disable()
    is_slow = low_bandwidth or settings.get("tui.low_bandwidth") is True
    if is_slow:
        os.environ.setdefault("TEXTUAL_FPS", SLOW_FPS)  # read when textual is first imported
    forget_exported_size()
    sight = FirstSight()
    try:
        view, broken = View(), None
        try:
            view = View() if fresh else read_view(view_path(settings))
        except BrokenView as error:
            broken = error.kept_as
        place = first_place(start_place, view.place)
        sight.paint(place, f"arl-{settings.get('tui.theme', 'dark')}")
        from agentic_rl_tui.app.shell import ArlApp, Options

        app = ArlApp(
            settings,
            start_place=place,
            job_file=job_file,
            submit_ready=submit_ready,
            view=view,
            broken_view=broken,
            options=Options(is_read_only=read_only, is_slow=is_slow),
        )
        sight.hand_over()
        code = app.run()
        return app.return_code or 0 if code is None else code
    finally:
        sight.restore()
