"""The journal of saved memories."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, func, insert, select, tuple_, update

from talekeeper.domain.memory import Revision, State, WriteUnit
from talekeeper.store.keys import ChatKey
from talekeeper.store.memory_tables import memory_revisions as revisions

__all__ = ["add", "next_position", "of_memories", "of_messages", "of_run", "set_active"]

_COLUMNS = tuple(column for column in revisions.c if column.name != "account_id")
_ORDER = (revisions.c.memory, revisions.c.position)
_PAGE = 400


def add(connection: Connection, account: str, revision: Revision) -> None:
    """Add a revision; its position is the caller's."""
    unit = revision.unit or (None, None, None)
    connection.execute(
        insert(revisions).values(
            account_id=account,
            memory=revision.memory,
            position=revision.position,
            author=revision.author,
            action=revision.action,
            before=_state_row(revision.before),
            after=_state_row(revision.after),
            made_at=revision.made_at,
            chat_id=unit[0],
            number=unit[1],
            swipe=unit[2],
            run=revision.run,
            quote=revision.quote,
            reason=revision.reason,
            active=revision.active,
        )
    )


def next_position(connection: Connection, account: str, memory: int) -> int:
    """The position of a memory's next revision."""
    last = connection.execute(
        select(func.max(revisions.c.position)).where(
            revisions.c.account_id == account, revisions.c.memory == memory
        )
    ).scalar()
    return 1 if last is None else last + 1


def of_memories(
    connection: Connection, account: str, ids: Collection[int]
) -> dict[int, list[Revision]]:
    """The revisions of each of these memories, in order."""
    found: dict[int, list[Revision]] = {memory: [] for memory in sorted(ids)}
    wanted = list(found)
    for start in range(0, len(wanted), _PAGE):
        page = revisions.c.memory.in_(wanted[start : start + _PAGE])
        for revision in _select(connection, account, page):
            found[revision.memory].append(revision)
    return found


def of_messages(
    connection: Connection,
    key: ChatKey,
    numbers: Iterable[int] | None = None,
    *,
    since: int | None = None,
    active: bool | None = None,
) -> list[Revision]:
    """The revisions that hang on messages of a chat: these, or those from ``since``, or all."""
    chosen = [revisions.c.chat_id == key.chat]
    if since is not None:
        chosen.append(revisions.c.number >= since)
    if active is not None:
        chosen.append(revisions.c.active == active)
    if numbers is None:
        return _select(connection, key.account, *chosen)
    wanted, found = sorted(set(numbers)), list[Revision]()
    for start in range(0, len(wanted), _PAGE):
        page = revisions.c.number.in_(wanted[start : start + _PAGE])
        found += _select(connection, key.account, *chosen, page)
    return found


def of_run(connection: Connection, account: str, run: str) -> list[Revision]:
    """The revisions that one deeper pass made."""
    return _select(connection, account, revisions.c.run == run)


def set_active(
    connection: Connection, account: str, keys: Sequence[tuple[int, int]], active: bool
) -> None:
    """Let revisions, given by (memory, position), count or not."""
    for start in range(0, len(keys), _PAGE):
        connection.execute(
            update(revisions)
            .where(
                revisions.c.account_id == account,
                tuple_(revisions.c.memory, revisions.c.position).in_(keys[start : start + _PAGE]),
            )
            .values(active=active)
        )


def _select(
    connection: Connection, account: str, *conditions: ColumnElement[bool]
) -> list[Revision]:
    rows = connection.execute(
        select(*_COLUMNS).where(revisions.c.account_id == account, *conditions).order_by(*_ORDER)
    )
    return [_revision(row) for row in rows]


def _revision(row: Row[*tuple[Any, ...]]) -> Revision:
    values = dict(row._mapping)
    chat, number, swipe = values.pop("chat_id"), values.pop("number"), values.pop("swipe")
    return Revision(
        before=_state(values.pop("before")),
        after=_state(values.pop("after")),
        unit=WriteUnit(chat, number, swipe) if chat else None,
        **values,
    )


def _state_row(state: State | None) -> dict[str, Any] | None:
    if state is None:
        return None
    return {"text": state.text, "character": state.character, "pinned": state.pinned}


def _state(row: dict[str, Any] | None) -> State | None:
    return State(**row) if row else None
