"""``keeper.messages``: reading a chat's messages and everything that can be done to one."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from talekeeper.domain.chat import Message
from talekeeper.domain.errors import InvalidInput
from talekeeper.parts.desk import Desk
from talekeeper.record import messages as units
from talekeeper.record.messages import NewMessage, NewSwipe
from talekeeper.store import messages as rows

__all__ = ["Messages"]

T = TypeVar("T")

_MOST_LISTED = 10_000


class Messages:
    """The messages of the account's chats. Chats are named by id, messages by number."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def add(
        self, chat: str, new: NewMessage, *, expected_version: int | None = None
    ) -> Message:
        """Append a message. ``expected_version`` is the chat's. Raises Conflict, InvalidInput."""
        return await self._write(units.add, chat, new, expected_version=expected_version)

    async def get(self, chat: str, number: int) -> Message:
        """One message with all its swipes. Raises NotFound."""
        return await self._desk.read(rows.get, self._desk.key(chat), number)

    async def list(
        self, chat: str, *, limit: int = 100, after: int | None = None, before: int | None = None
    ) -> Sequence[Message]:
        """Up to ``limit`` messages in order: the first above ``after``, else the last ones."""
        if not 0 < limit <= _MOST_LISTED:
            raise InvalidInput(f"List 1 to {_MOST_LISTED} messages at a time.")
        return await self._desk.read(
            rows.listed, self._desk.key(chat), limit=limit, after=after, before=before
        )

    async def add_swipe(
        self,
        /,
        chat: str,
        number: int,
        text: str,
        *,
        expected_version: int | None = None,
        **more: Any,
    ) -> Message:
        """Add an alternative text and make it the active one; ``more`` are fields of NewSwipe."""
        more.setdefault("sent_at", self._desk.clock())
        new = NewSwipe(text=text, **more)
        return await self._write(
            units.add_swipe, chat, number, new, expected_version=expected_version
        )

    async def choose_swipe(
        self, chat: str, number: int, swipe: int, *, expected_version: int | None = None
    ) -> Message:
        """Make one of a message's swipes the active one."""
        return await self._write(
            units.choose_swipe, chat, number, swipe, expected_version=expected_version
        )

    async def edit(
        self,
        chat: str,
        number: int,
        text: str,
        *,
        swipe: int | None = None,
        expected_version: int | None = None,
    ) -> Message:
        """Replace the text of a swipe, by default the active one."""
        return await self._write(
            units.edit, chat, number, text, swipe=swipe, expected_version=expected_version
        )

    async def exclude(self, chat: str, *numbers: int) -> Sequence[int]:
        """Keep messages out of prompts, a tool call with its results. Answers which changed."""
        return await self._write(units.exclude, chat, numbers, True)

    async def include(self, chat: str, *numbers: int) -> Sequence[int]:
        """Let excluded messages into prompts again."""
        return await self._write(units.exclude, chat, numbers, False)

    async def forget(self, chat: str, *numbers: int) -> Sequence[int]:
        """Keep messages out of summary, facts and deeper memory; prompts may still hold them."""
        return await self._write(units.forget, chat, numbers, True)

    async def unforget(self, chat: str, *numbers: int) -> Sequence[int]:
        """Let forgotten messages into summary, facts and deeper memory again."""
        return await self._write(units.forget, chat, numbers, False)

    async def delete(
        self, chat: str, number: int, *, expected_version: int | None = None
    ) -> Sequence[int]:
        """Delete a message; a tool call goes with its results. Answers the numbers deleted."""
        return await self._write(units.delete, chat, number, expected_version=expected_version)

    async def delete_turn(self, chat: str, number: int) -> Sequence[int]:
        """Delete the whole turn that message ``number`` belongs to."""
        return await self._write(units.delete_turn, chat, number)

    async def _write(self, unit: Callable[..., T], chat: str, *args: Any, **kwargs: Any) -> T:
        desk = self._desk
        return await desk.write(unit, desk.key(chat), *args, now=desk.clock(), **kwargs)
