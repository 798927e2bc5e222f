"""Keys that come faster than a place answers, as over a slow line: each waits until the one before has done its work.

A key goes through the queues of the widget that has the focus and of all above it, while those behind it are handed
out already. What follows a slash would be taken for commands by the list that is to be filtered.
"""

import asyncio
from collections import deque

from textual import events
from textual.app import App
from textual.message import Message
from textual.widget import Widget

LONGEST_S = 0.5
"""A key whose work takes longer holds no other one up."""
_ROUNDS = 2
"""Once behind the key itself, once behind what its action asked of its place."""


class KeyPassed(Message):
    """Goes the way that a key went, behind it."""

    def __init__(self, target: Widget, number: int, rounds: int) -> None:
        super().__init__()
        self.target = target
        self.number = number
        self.rounds = rounds


class TypingAhead(App[int]):
    """Text goes into the fields at once: only keys that may move the focus are waited for."""

    _held_keys: deque[events.Key] | None = None
    _key_number: int = 0
    _is_key_under_way: bool = False

    async def on_event(self, event: events.Event) -> None:
        if not isinstance(event, events.Key) or event.is_forwarded:
            await super().on_event(event)
        elif self._is_key_under_way:
            if self._held_keys is None:
                self._held_keys = deque()
            self._held_keys.append(event)
        else:
            await self._take_key(event)

    async def _take_key(self, event: events.Key) -> None:
        target: Widget = self.focused or self.screen
        is_text = target.check_consume_key(event.key, event.character)
        await super().on_event(event)
        if is_text or not event.is_forwarded:
            return
        self._key_number += 1
        if target.post_message(KeyPassed(target, self._key_number, _ROUNDS)):
            self._is_key_under_way = True
            asyncio.get_running_loop().call_later(LONGEST_S, self._give_up, self._key_number)

    async def on_key_passed(self, passed: KeyPassed) -> None:
        passed.stop()
        if passed.number != self._key_number or not self._is_key_under_way:
            return
        target, rounds = passed.target, passed.rounds - 1
        if not rounds or not target.post_message(KeyPassed(target, passed.number, rounds)):
            await self._take_held()

    def _give_up(self, number: int) -> None:
        if number == self._key_number and self._is_key_under_way:
            self.call_later(self._take_held)

    async def _take_held(self) -> None:
        self._is_key_under_way = False
        while self._held_keys and not self._is_key_under_way:
            await self._take_key(self._held_keys.popleft())
