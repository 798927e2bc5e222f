"""What can be typed at the cursor of the job file."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentic_rl_tui.app.screens.completing import CompletingScreen
from agentic_rl_tui.app.screens.jobfile_key import JobFileKey
from agentic_rl_tui.widgets.codeeditor import CodeEditor

if TYPE_CHECKING:
    from agentic_rl_tui.app.screens.completing import Completer
    from agentic_rl_tui.core.jobfile import Completion


class JobFileCompletion(CompletingScreen, JobFileKey):
    @property
    def completed(self) -> CodeEditor:
        return self.editor

    def completer(self) -> "Completer | None":
        path = self.path
        if path is None:
            return None
        known = self.document.facts if self.document is not None else None

        def look(text: str, line: int, col: int) -> "Sequence[Completion]":
            from agentic_rl_tui.core.jobfile import DiskFacts, complete

            return complete(text, line, col, known or DiskFacts(path.parent))

        return look
