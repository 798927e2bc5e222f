"""Checking and measuring one range of a file, in one pass and in bounded memory.

Ordinary rows take the fast way of `rowshape`; the others are parsed and checked rule by rule; only lines that the
parser refuses, and problems that are kept, are scanned for places. Everything here is plain data, so that another
process can do it.
"""

import io
from collections.abc import Callable, Collection
from typing import Any

import orjson

from agentic_rl_tui.core.datasets.blocks import BLOCK, BOM, MAX_LINE, blocks
from agentic_rl_tui.core.datasets.findings import MAX_LONG_ROWS, MAX_NAMES, Findings, Options
from agentic_rl_tui.core.datasets.jsonscan import show_path
from agentic_rl_tui.core.datasets.linefaults import UNREADABLE, LineText, Placed, duplicates, line_faults
from agentic_rl_tui.core.datasets.measure import BYTES_PER_TOKEN, text_size
from agentic_rl_tui.core.datasets.rowrules import NO_EXTRA, Found, check_row
from agentic_rl_tui.core.datasets.rowshape import Shape, has_duplicates, learn
from agentic_rl_tui.core.i18n import _

_MAX_SHAPES = 8
_STANDING = {"rollout-extra-missing": ("rollout_extra", NO_EXTRA)}
"""Rules that every row of a writer breaks or none, because they are about keys alone: their path and message."""
_UNLIMITED = 1 << 62
_PASSED_BLOCKS = 8


class RangeScanner:
    """Scans ranges one after another and remembers the shapes of rows between them."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.found = Findings(options.keep)
        self._shapes: list[Shape] = []
        self._blocks_to_pass = 0
        self._tried: set[tuple[str, ...]] = set()
        self._turns: list[int] = []
        self._sizes: list[tuple[int, int]] = []
        limit = options.max_prompt_length
        # glibc gives a freed block back to the system and faults the next one in page by page, until a larger block
        # was freed once.
        bytes(4 * BLOCK)
        self._short = _UNLIMITED if limit is None else limit * BYTES_PER_TOKEN
        """A row of so many bytes or fewer cannot hold more tokens than the limit."""

    def scan(
        self,
        path: str,
        start: int,
        end: int,
        *,
        full: Collection[str] = (),
        at_block: Callable[[int], None] | None = None,
    ) -> Findings:
        """Check the lines that begin in start..end.

        full: rules whose problems need no place any more. at_block is called with the place reached; what it
        raises ends the scan.
        """
        self.found = Findings(self.options.keep, full)
        with open(path, "rb", buffering=1 << 16) as file:
            for number, data, huge in blocks(file, start, end):
                if number == 0 and data.startswith(BOM):
                    self.found.add(1, "bom", 1, "", _("the file begins with a byte order mark (BOM)"))
                    data = data[len(BOM) :]
                    if not data:
                        self._row(b"", is_sample=False)
                is_sample = number % self.options.measure_every == 0
                at = self._prove_block(data, is_sample=is_sample)
                for line in io.BytesIO(data[at:] if at else data):
                    if not self._is_proven(line, is_sample=is_sample):
                        self._row(line, is_sample=is_sample)
                if huge:
                    self._pass_over(huge)
                self._flush()
                if at_block is not None:
                    at_block(min((number + 1) * BLOCK, end))
        return self.found

    def _prove_block(self, data: bytes, *, is_sample: bool) -> int:
        """Count the lines at the beginning of a block that the first shape proves; where the next one begins."""
        self._blocks_to_pass -= 1
        if not self._shapes or self._blocks_to_pass > 0:
            return 0
        shape = self._shapes[0]
        done, at = shape.prove_lines(data, min(self._short, self.found.longest[0]))
        self._count_proven(shape, done)
        if is_sample:
            self._sizes += [text_size(orjson.loads(line)) for line in io.BytesIO(data[:at])]
        if not done:
            # Rows of several writers are mixed here: looking at whole blocks for nothing costs as much as their rows.
            self._blocks_to_pass = _PASSED_BLOCKS
        return at

    def _is_proven(self, line: bytes, *, is_sample: bool) -> bool:
        """Whether a shape proves a line; it becomes the first then, and the line is counted."""
        longest = min(self._short, self.found.longest[0])
        for place, shape in enumerate(self._shapes):
            if shape.prove(line, longest):
                self._count_proven(shape, 1)
                if is_sample:
                    self._sizes.append(text_size(orjson.loads(line)))
                if place:
                    self._shapes.insert(0, self._shapes.pop(place))
                return True
        return False

    def _count_proven(self, shape: Shape, done: int) -> None:
        found = self.found
        for rule in shape.standing:
            count = found.counts.get(rule, 0)
            found.counts[rule] = count + done
            wanted = 0 if rule in found.full else min(done, found.keep - count)
            for line in range(1, 1 + wanted):
                path, message = _STANDING[rule]
                found.put(found.lines + line, rule, 1, path, _(message))
        found.lines += done
        found.rows += done
        shape.rows += done

    def _count_key(self, key: str, times: int = 1) -> None:
        keys = self.found.keys
        if key in keys or len(keys) < MAX_NAMES:
            keys[key] += times

    def _flush(self) -> None:
        """Add up what was collected by row."""
        found = self.found
        for shape in self._shapes:
            for key in shape.keys if shape.rows else ():
                self._count_key(key, shape.rows)
            roles, turns = shape.take_counts()
            found.roles.update(roles)
            found.turns.add(turns)
        found.turns.add(self._turns)
        self._turns.clear()
        if self._sizes:
            chars, tokens = zip(*self._sizes, strict=True)
            found.chars.add(chars)
            found.tokens.add(tokens)
            self._sizes.clear()

    def _pass_over(self, length: int) -> None:
        found = self.found
        found.lines += 1
        found.rows += 1
        found.add(
            found.lines,
            "huge-line",
            1,
            "",
            _("the line has {length:,} bytes; at most {limit:,} are read").format(length=length, limit=MAX_LINE),
        )

    def _row(self, line: bytes, *, is_sample: bool) -> None:
        """Check one line in full."""
        found = self.found
        found.lines += 1
        body = line[:-1] if line.endswith(b"\n") else line
        if body.endswith(b"\r"):
            body = body[:-1]
            if found.wants("crlf"):
                col = len(body.decode("utf-8", "replace")) + 1
                found.put(found.lines, "crlf", col, "", _("the line ends in CR LF"))
        if not body.strip(b" \t\r"):
            found.add(found.lines, "blank-line", 1, "", _("the line is blank"))
            return
        found.rows += 1
        text: LineText | None = None
        faults: list[Placed] = []
        try:
            row = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            text = LineText(body)
            faults, row = line_faults(body, text, error.msg)
            if row is UNREADABLE:
                self._add_placed(faults)
                return
        else:
            if type(row) is dict and has_duplicates(body, row):
                text = LineText(body)
                faults = duplicates(text)
        self._add_placed(faults)
        problems = check_row(row)
        if problems:
            self._add_found(problems, row, body, text)
        if type(row) is dict:
            self._measure(row, len(line), is_sample=is_sample)
            if not faults:
                self._learn(line, row, problems)

    def _add_placed(self, faults: list[Placed]) -> None:
        for rule, col, path, message in faults:
            self.found.add(self.found.lines, rule, col, path, message)

    def _add_found(self, problems: list[Found], row: Any, body: bytes, text: LineText | None) -> None:
        for rule, path, message, of_key in problems:
            if not self.found.wants(rule):
                continue
            if len(path) == 1 and path[0] not in row:
                index = body.index(b"{")
            else:
                text = text or LineText(body)
                index = text.scan.place(path, of_key=of_key)
            self.found.put(self.found.lines, rule, index + 1, show_path(path), message)

    def _measure(self, row: dict[str, Any], length: int, *, is_sample: bool) -> None:
        found = self.found
        for key in row:
            self._count_key(key)
        messages = row.get("messages")
        if type(messages) is list:
            self._turns.append(len(messages))
            for message in messages:
                role = message.get("role") if type(message) is dict else None
                if type(role) is str and (role in found.roles or len(found.roles) < MAX_NAMES):
                    found.roles[role] += 1
        if not is_sample and length <= found.longest[0] and length <= self._short:
            return
        size = text_size(row)
        if is_sample:
            self._sizes.append(size)
        if length > found.longest[0]:
            found.longest = (length, *size)
        limit = self.options.max_prompt_length
        if limit is not None and size[1] > limit:
            found.long_count += 1
            if len(found.long_rows) < MAX_LONG_ROWS:
                found.long_rows.append((found.lines, size[1]))
            message = _("about {tokens:,} tokens, more than max_prompt_length {limit:,} (an estimate)").format(
                tokens=size[1], limit=limit
            )
            found.add(found.lines, "prompt-too-long", 1, "messages", message)

    def _learn(self, line: bytes, row: dict[str, Any], problems: list[Found]) -> None:
        standing = {problem.rule for problem in problems}
        if len(self._shapes) == _MAX_SHAPES or not standing <= _STANDING.keys():
            return
        first = row["messages"][0]
        signature = (*row, "", *first)
        if signature in self._tried:
            return
        self._tried.add(signature)
        if (shape := learn(line, row, tuple(standing))) is not None:
            self._shapes.append(shape)
