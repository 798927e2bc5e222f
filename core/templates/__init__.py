"""Built-in workspaces and writing them to disk."""

from agentic_rl_tui.core.templates.write import TEMPLATES, Template, WorkspaceExists, write_workspace

__all__ = ["TEMPLATES", "Template", "WorkspaceExists", "write_workspace"]
