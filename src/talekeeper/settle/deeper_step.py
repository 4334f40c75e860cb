"""Deeper memory in a chat, one cell at a time: what is due, read it, write what came of it.

No transaction is open while a model reads. A cell is marked in the transaction that makes its
changes, so that none is read twice; a chat whose messages change meanwhile is looked at anew.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Literal

from sqlalchemy import Connection

from talekeeper.record.deeper import Reading, Unread, mark_unread, reading_of, write_pass
from talekeeper.record.usage import check_allowance
from talekeeper.settle.deepen import Deepener
from talekeeper.settle.planning import window_of
from talekeeper.store import chats as chat_rows
from talekeeper.store import deeper as rows
from talekeeper.store.database import Database
from talekeeper.store.keys import ChatKey

__all__ = ["DeeperStep", "Stepped"]

Stepped = Literal["nothing", "marked", "read", "clash"]
"""``nothing`` is due; cells that are not to be read were ``marked``; one was ``read``; what was
looked at is no longer so (``clash``)."""

_PAGE = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class _Due:
    unread: Sequence[Unread]
    reading: Reading | None


class DeeperStep:
    """Takes the cells of chats of one database, the oldest that is due first."""

    def __init__(
        self,
        database: Database,
        reader: Deepener,
        *,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
    ) -> None:
        self._database = database
        self._reader = reader
        self._clock = clock
        self._new_id = new_id

    async def take(self, key: ChatKey, owner: str, *, ask: bool) -> Stepped:
        """Take what is next in a chat that ``owner`` has on lease.

        Without ``ask`` the model is left alone, and what it is to read stays due.

        Raises ModelError where the model may do it later, UsageExceeded, NotFound.
        """
        due = await self._database.read(partial(_due, key=key, now=self._clock(), ask=ask))
        if due.unread:
            skip = partial(
                mark_unread,
                key=key,
                cells=due.unread,
                owner=owner,
                now=self._clock(),
                new_id=self._new_id,
            )
            return "marked" if await self._database.write(skip) else "clash"
        if due.reading is None:
            return "nothing"
        read = await self._reader.read(due.reading)
        if read.changes is None:
            fail = partial(
                mark_unread,
                key=key,
                cells=[Unread(cell=due.reading.cell, reason=read.reason or "")],
                outcome="failed",
                model=self._reader.model.name,
                usage=read.usage,
                owner=owner,
                now=self._clock(),
                new_id=self._new_id,
            )
            return "read" if await self._database.write(fail) else "clash"
        write = partial(
            write_pass,
            reading=due.reading,
            changes=read.changes,
            owner=owner,
            run=self._new_id(),
            model=self._reader.model.name,
            usage=read.usage,
            now=self._clock(),
            new_id=self._new_id,
        )
        return "read" if await self._database.write(write) else "clash"


def _due(connection: Connection, key: ChatKey, *, now: datetime, ask: bool) -> _Due:
    """What is next: cells that are not to be read, else one that is, where one may be asked for."""
    state = chat_rows.state(connection, key)
    window = window_of(connection, state)
    unread: list[Unread] = []
    for cell, last in rows.due(connection, key, before=window, limit=_PAGE):
        found = reading_of(connection, state, cell, last)
        if isinstance(found, Unread):
            unread.append(found)
            continue
        if ask and not unread:
            check_allowance(connection, key.account, state.plan, now=now)
            return _Due(unread=(), reading=found)
        break
    return _Due(unread=unread, reading=None)
