"""``keeper.receipts``: what a character saw when it said something, and how two of them differ."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from talekeeper.compose import receipts as composed
from talekeeper.compose.composer import compose
from talekeeper.compose.gather import gather
from talekeeper.compose.request import Request
from talekeeper.domain.character import Persona
from talekeeper.domain.errors import NotFound
from talekeeper.domain.limits import LIMITS
from talekeeper.domain.receipt_diff import ReceiptDiff, diff
from talekeeper.domain.recorded import MarkedReceipt, RecordedReceipt, SeenReceipt
from talekeeper.parts.desk import Desk
from talekeeper.store import characters as character_rows
from talekeeper.store import chats as chat_rows
from talekeeper.store import messages as message_rows
from talekeeper.store import receipts as rows
from talekeeper.store.keys import ChatKey

__all__ = ["Receipts"]


class Receipts:
    """The receipts of an account's replies. One is kept of each reply, in the same transaction, as
    long as it is among the newest of its chat; a deleted message takes its receipts along, and a
    fork has none of the chat it comes from. Without a ``swipe`` the active one is meant."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def list(self, chat: str, limit: int = LIMITS.receipts) -> Sequence[RecordedReceipt]:
        """The receipts of a chat, the one made last first. Raises NotFound."""
        return await self._desk.read(_list, self._desk.key(chat), limit)

    async def get(self, chat: str, number: int, swipe: int | None = None) -> RecordedReceipt:
        """The receipt of the reply that is message ``number``.

        Raises NotFound where the message is not there or no receipt of it is kept.
        """
        return await self._desk.read(_get, self._desk.key(chat), number, swipe)

    async def seen(self, chat: str, number: int, swipe: int | None = None) -> SeenReceipt:
        """What was sent, each row with the text it stands for where that is unchanged.

        A receipt keeps no texts but the digest: they are looked up now, as they were written, and
        those that are not the same any more are marked *changed* or *deleted*. Raises NotFound.
        """
        return await self._desk.read(_seen, self._desk.key(chat), number, swipe)

    async def diff(
        self,
        chat: str,
        number: int,
        other: int,
        *,
        swipe: int | None = None,
        other_swipe: int | None = None,
    ) -> ReceiptDiff:
        """What the second of two replies saw otherwise than the first. Raises NotFound."""

        def unit(connection: Connection, key: ChatKey) -> ReceiptDiff:
            first = _get(connection, key, number, swipe)
            return diff(first, _get(connection, key, other, other_swipe))

        return await self._desk.read(unit, self._desk.key(chat))

    async def since(
        self,
        chat: str,
        number: int,
        swipe: int | None = None,
        *,
        again: bool = False,
        settings: Mapping[str, Any] | None = None,
    ) -> ReceiptDiff:
        """What the model would see now otherwise than that reply saw.

        Now is the next reply; ``again``, that reply written anew. ``settings`` are overrides for
        this once. Raises NotFound, InvalidInput, BudgetExceeded.
        """
        now = self._now()

        def unit(connection: Connection, key: ChatKey) -> ReceiptDiff:
            before = _get(connection, key, number, swipe)
            request = Request(replacing=number if again else None, now=now)
            return diff(before, _composed(connection, key, request, settings or {}, None))

        return await self._desk.read(unit, self._desk.key(chat))

    async def compare(
        self,
        chat: str,
        before: Mapping[str, Any] | None = None,
        after: Mapping[str, Any] | None = None,
        *,
        input: str | None = None,  # noqa: A002
        speaker: str | None = None,
        persona_before: str | None = None,
        persona_after: str | None = None,
    ) -> ReceiptDiff:
        """What the model would see otherwise under other settings, or if another persona were
        played; ``before`` and ``after`` are overrides of those in force.

        Personas are named by id or name. Nothing is recorded, and no setting is changed. Raises
        NotFound, InvalidInput, BudgetExceeded.
        """
        request = Request(input=input, speaker=speaker, now=self._now())

        def unit(connection: Connection, key: ChatKey) -> ReceiptDiff:
            first = _composed(connection, key, request, before or {}, persona_before)
            second = _composed(connection, key, request, after or {}, persona_after)
            return diff(first, second)

        return await self._desk.read(unit, self._desk.key(chat))

    def _now(self) -> datetime:
        return self._desk.clock().astimezone()


def _list(connection: Connection, key: ChatKey, limit: int) -> Sequence[RecordedReceipt]:
    chat_rows.state(connection, key)
    return rows.newest(connection, key, limit=max(0, limit))


def _get(connection: Connection, key: ChatKey, number: int, swipe: int | None) -> RecordedReceipt:
    message = message_rows.get(connection, key, number)
    wanted = message.active if swipe is None else swipe
    if all(wanted != one.index for one in message.swipes):
        raise NotFound(f"Message {number} has no swipe {wanted}; it has {len(message.swipes)}.")
    found = rows.get(connection, key, number, wanted)
    if found is not None:
        return found
    which = (
        f"swipe {wanted} of message {number}" if len(message.swipes) > 1 else f"message {number}"
    )
    count, oldest = rows.kept(connection, key)
    if oldest is None:
        kept = "This chat has none yet: one is made with each reply of a language model."
    else:
        since = f"{oldest:%Y-%m-%d %H:%M} UTC"
        kept = (
            f"This chat has {count}, the oldest of {since}; the newest {LIMITS.receipts} are kept, "
            "of replies that a language model wrote here."
        )
    raise NotFound(f"There is no receipt of {which}. {kept}")


def _seen(connection: Connection, key: ChatKey, number: int, swipe: int | None) -> SeenReceipt:
    return composed.seen(connection, key, _get(connection, key, number, swipe))


def _composed(
    connection: Connection,
    key: ChatKey,
    request: Request,
    settings: Mapping[str, Any],
    persona: str | None,
) -> MarkedReceipt:
    material = gather(connection, key, request, settings)
    if persona is not None:
        material = replace(material, persona=_persona(connection, key.account, persona))
    return composed.marked(material, request, compose(material, request))


def _persona(connection: Connection, account: str, wanted: str) -> Persona:
    for found in character_rows.listed_personas(connection, account):
        if wanted in (found.id, found.name):
            return found
    raise NotFound(f"There is no persona {wanted!r}.")
