"""Every rule of the data set check: its severity, and what to do about it."""

from agentic_rl_tui.core.datasets.report import Severity
from agentic_rl_tui.core.i18n import N_

_E, _W, _I = Severity.ERROR, Severity.WARNING, Severity.INFO

RULES: dict[str, tuple[Severity, str]] = {
    # The file
    "not-a-file": (_E, N_("Check the path.")),
    "unreadable": (_E, N_("Check the file's permissions and the disk.")),
    "empty-file": (_E, N_("Put at least one row into the file.")),
    "no-rows": (_E, N_("Put at least one row into the file.")),
    "compressed": (_E, N_("Unpack the file first.")),
    "binary-file": (_E, N_("Export the data as JSONL: one JSON object a line, in UTF-8.")),
    "utf-16": (_E, N_("Convert the file to UTF-8; the fix does it.")),
    "utf-32": (_E, N_("Convert the file to UTF-8; the fix does it.")),
    "json-array": (_E, N_("Write each element of the array on its own line, without brackets and commas.")),
    "json-document": (_E, N_("Write each row on one line.")),
    "csv": (_E, N_("Turn each record into a JSON object with messages, one a line.")),
    "bom": (_E, N_("Remove the byte order mark; the fix does it.")),
    "changed-while-read": (_W, N_("Check again when nothing writes to the file.")),
    # The line
    "bad-json": (_E, N_("Correct the JSON at this column.")),
    "nan": (_E, N_("Write null or a number.")),
    "number-range": (_E, N_("Write a number that fits 64 bits.")),
    "lone-surrogate": (_E, N_("Write the whole character; half of it stands for nothing.")),
    "control-character": (_E, N_(r"Escape it, for example \t or \n.")),
    "nul-byte": (_E, N_("Remove the NUL bytes; the file may be damaged.")),
    "invalid-utf8": (_E, N_("Save the text as UTF-8; the bytes here come from another encoding or a cut.")),
    "duplicate-key": (_E, N_("Keep one of them; readers silently take the last.")),
    "too-deep": (_E, N_("Make the value flatter.")),
    "huge-line": (_E, N_("Shorten the row; no prompt is that long. The line was not looked into.")),
    "crlf": (_W, N_("End lines with a line feed alone; the fix does it.")),
    "blank-line": (_W, N_("Remove the line; the fix does it.")),
    "no-final-newline": (_I, N_("End the last line with a line feed; the fix does it.")),
    # The row
    "not-an-object": (_E, N_('Write a row like {"messages": […], "rollout_extra": {…}}.')),
    "mistyped-key": (_E, N_("Rename the key; the fix does it.")),
    "extra-params": (_E, N_("Rename extra_params to rollout_extra; the fix does it.")),
    "messages-missing": (_E, N_('Add "messages": [{"role": "user", "content": "…"}].')),
    "messages-empty": (_E, N_("Add at least one message.")),
    "messages-type": (_E, N_('Write "messages": [{"role": "user", "content": "…"}].')),
    "rollout-extra-missing": (_W, N_('Add "rollout_extra": {"solution": "…"}; the service checks for it.')),
    "rollout-extra-type": (_E, N_('Write "rollout_extra": {"solution": "…"}.')),
    "solution-missing": (_I, N_("Add rollout_extra.solution if a reward compares with it; it scores 0 otherwise.")),
    "tools-type": (_E, N_("Write tools as a list of function descriptions.")),
    "prompt-too-long": (_W, N_("Shorten the row, or raise max_prompt_length; longer prompts fail or are cut.")),
    # The message
    "message-type": (_E, N_('Write {"role": "…", "content": "…"}.')),
    "role-missing": (_E, N_("Add a role: system, user, assistant or tool.")),
    "role-type": (_E, N_("Write system, user, assistant or tool.")),
    "role-unknown": (_E, N_("Write system, user, assistant or tool.")),
    "content-missing": (_E, N_("Add the content; it may be null only beside tool_calls.")),
    "content-null": (_E, N_("Write a text.")),
    "content-type": (_E, N_("Write a text, or a list of parts.")),
    "content-part": (_E, N_('Write parts like {"type": "text", "text": "…"}.')),
    "content-empty": (_W, N_("Write a text, or remove the message.")),
    "tool-calls-type": (_E, N_("Write a list of calls, or leave tool_calls out.")),
    "tool-calls-role": (_E, N_("Move the calls to an assistant message.")),
    "tool-call": (_E, N_('Write {"id": "…", "type": "function", "function": {"name": "…", "arguments": "{}"}}.')),
    "tool-call-id": (_E, N_("Give the call an id, and its answer the same tool_call_id.")),
    "tool-call-unknown": (_W, N_("Use the id of a tool call that comes before.")),
    "tool-arguments": (_E, N_(r'Write arguments as a text that holds a JSON object: "{\"city\": \"Paris\"}".')),
}
