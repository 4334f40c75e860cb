"""Saved memories: their values as rows. The journal they are folded from is in ``revisions``."""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import (
    Connection,
    Integer,
    Row,
    Select,
    and_,
    bindparam,
    delete,
    func,
    insert,
    literal,
    or_,
    select,
    true,
    update,
)

from talekeeper.domain.errors import NotFound
from talekeeper.domain.limits import LIMITS
from talekeeper.domain.memory import Memory, WriteUnit
from talekeeper.store.keys import LAST_NUMBER, ChatKey
from talekeeper.store.memory_tables import memories
from talekeeper.store.tables import accounts, characters, participants
from talekeeper.store.types import Id

__all__ = [
    "Sendable",
    "change",
    "counts",
    "find",
    "get",
    "insert_memory",
    "leave",
    "listed",
    "lock",
    "next_id",
    "purge",
    "scope_counts",
    "scope_of",
    "sendable",
    "sweep",
    "trash",
]

_GLOBAL = "00000000-0000-0000-0000-000000000000"

_COLUMNS = tuple(c for c in memories.c if c.name not in ("account_id", "present"))


def scope_of(character: str | None) -> str:
    """What stands in the column ``scope``."""
    return character or _GLOBAL


def _memory(row: Row[*tuple[Any, ...]]) -> Memory:
    values = dict(zip(_NAMES, row, strict=False))
    scope, chat = values.pop("scope"), values.pop("chat_id")
    number, swipe = values.pop("number"), values.pop("swipe")
    return Memory(
        character=None if scope == _GLOBAL else scope,
        unit=WriteUnit(chat, number, swipe) if chat else None,
        **values,
    )


_NAMES = tuple(column.name for column in _COLUMNS)


def _row(memory: Memory, *, present: bool) -> dict[str, Any]:
    unit = memory.unit or (None, None, None)
    return {
        "id": memory.id,
        "scope": scope_of(memory.character),
        "present": present,
        "pinned": memory.pinned,
        "text": memory.text,
        "tokens": memory.tokens,
        "tokenizer": memory.tokenizer,
        "author": memory.author,
        "created_at": memory.created_at,
        "updated_at": memory.updated_at,
        "deleted_at": memory.deleted_at,
        "version": memory.version,
        "chat_id": unit[0],
        "number": unit[1],
        "swipe": unit[2],
    }


def lock(connection: Connection, account: str) -> None:
    """Keep other writers of the account's memories out until the unit ends. Raises NotFound."""
    statement = select(accounts.c.id).where(accounts.c.id == account)
    row = connection.execute(statement.with_for_update(key_share=True)).one_or_none()
    if row is None:
        raise NotFound("This account does not exist any more.")


def next_id(connection: Connection, account: str) -> int:
    """A memory's id that was never given before."""
    given = connection.execute(
        update(accounts)
        .where(accounts.c.id == account)
        .values(next_memory=accounts.c.next_memory + 1)
        .returning(accounts.c.next_memory)
    ).scalar_one()
    return int(given) - 1


def find(connection: Connection, account: str, memory: int) -> tuple[Memory, bool] | None:
    """A memory, there or not, and whether it is."""
    if not 0 < memory <= LAST_NUMBER:
        return None
    row = connection.execute(
        select(*_COLUMNS, memories.c.present).where(
            memories.c.account_id == account, memories.c.id == memory
        )
    ).one_or_none()
    return (_memory(row), bool(row.present)) if row else None


def get(connection: Connection, account: str, memory: int) -> Memory:
    """A memory that is there. Raises NotFound, which says whether it is in the trash."""
    found = find(connection, account, memory)
    if found is None:
        raise NotFound(f"There is no memory {memory}.")
    value, present = found
    if not present:
        where = "is in the trash; restore it first" if value.deleted_at else "was rolled back"
        raise NotFound(f"Memory {memory} {where}.")
    return value


def listed(
    connection: Connection, account: str, scopes: Collection[str | None] | None = None
) -> list[Memory]:
    """The memories of these scopes, or of all: pinned ones first, then the newest."""
    chosen = [memories.c.account_id == account, memories.c.present == true()]
    if scopes is not None:
        chosen.append(memories.c.scope.in_([scope_of(scope) for scope in scopes]))
    rows = connection.execute(
        select(*_COLUMNS)
        .where(*chosen)
        .order_by(memories.c.pinned.desc(), memories.c.updated_at.desc(), memories.c.id.desc())
    )
    return [_memory(row) for row in rows]


def trash(
    connection: Connection, account: str, *, since: datetime, scope: str | None = None
) -> list[Memory]:
    """What was deleted since a moment, the last first; of one scope (as in its column) or all."""
    chosen = [memories.c.account_id == account, memories.c.deleted_at >= since]
    if scope is not None:
        chosen.append(memories.c.scope == scope)
    rows = connection.execute(
        select(*_COLUMNS)
        .where(*chosen)
        .order_by(memories.c.deleted_at.desc(), memories.c.id.desc())
    )
    return [_memory(row) for row in rows]


def counts(connection: Connection, account: str, character: str | None) -> tuple[int, int]:
    """(unpinned, pinned) memories that are there in a scope."""
    row = connection.execute(
        select(
            func.count().filter(memories.c.pinned != true()),
            func.count().filter(memories.c.pinned == true()),
        ).where(
            memories.c.account_id == account,
            memories.c.scope == scope_of(character),
            memories.c.present == true(),
        )
    ).one()
    return int(row[0]), int(row[1])


def scope_counts(connection: Connection, account: str) -> dict[str | None, tuple[int, int]]:
    """The same for each scope that has any."""
    rows = connection.execute(
        select(
            memories.c.scope,
            func.count().filter(memories.c.pinned != true()),
            func.count().filter(memories.c.pinned == true()),
        )
        .where(memories.c.account_id == account, memories.c.present == true())
        .group_by(memories.c.scope)
    )
    return {
        None if scope == _GLOBAL else scope: (int(unpinned), int(pinned))
        for scope, unpinned, pinned in rows
    }


def insert_memory(
    connection: Connection, account: str, memory: Memory, *, present: bool = True
) -> None:
    """Add a memory; its revisions are added apart."""
    connection.execute(insert(memories).values(account_id=account, **_row(memory, present=present)))


def change(connection: Connection, account: str, memory: Memory, *, present: bool) -> None:
    """Replace what a memory says."""
    values = _row(memory, present=present)
    del values["id"]
    connection.execute(
        update(memories)
        .where(memories.c.account_id == account, memories.c.id == memory.id)
        .values(**values)
    )


def leave(connection: Connection, account: str, character: str) -> None:
    """Let all that is filed under a character be global, in the trash too."""
    connection.execute(
        update(memories)
        .where(memories.c.account_id == account, memories.c.scope == character)
        .values(scope=_GLOBAL)
    )


def purge(connection: Connection, account: str, ids: Sequence[int]) -> int:
    """Delete memories for good, with their journal; answers how many."""
    found = 0
    for start in range(0, len(ids), 500):
        found += connection.execute(
            delete(memories).where(
                memories.c.account_id == account, memories.c.id.in_(ids[start : start + 500])
            )
        ).rowcount
    return found


def sweep(connection: Connection, *, before: datetime) -> int:
    """Delete for good what is in the trash since before a moment, of all accounts."""
    return connection.execute(delete(memories).where(memories.c.deleted_at < before)).rowcount


class Sendable(NamedTuple):
    """What a prompt could carry: ``pinned`` all there are; ``unpinned`` the newest of each scope in
    turn, as far as they are sent; ``more`` is how many of these stay out; ``scopes`` in order."""

    pinned: Sequence[Memory]
    unpinned: Sequence[Memory]
    more: int
    scopes: Sequence[str | None]


@cache
def _sendable_query() -> Select[*tuple[Any, ...]]:
    scopes = (
        select(literal(_GLOBAL, Id).label("scope"), literal(0, Integer).label("rank"))
        .union_all(
            select(participants.c.character_id, participants.c.position + 1)
            .join_from(
                participants,
                characters,
                and_(
                    characters.c.account_id == participants.c.account_id,
                    characters.c.id == participants.c.character_id,
                ),
            )
            .where(
                participants.c.account_id == bindparam("account"),
                participants.c.chat_id == bindparam("chat"),
                characters.c.learns == true(),
            )
        )
        .cte("scopes")
    )
    # Chosen from an index alone; the texts are read of what is sent.
    newest = (memories.c.updated_at.desc(), memories.c.id.desc())
    turns = (
        select(
            memories.c.id,
            memories.c.pinned,
            scopes.c.rank,
            func.row_number()
            .over(partition_by=(memories.c.scope, memories.c.pinned), order_by=newest)
            .label("turn"),
        )
        .join_from(memories, scopes, memories.c.scope == scopes.c.scope)
        .where(
            memories.c.account_id == bindparam("account"),
            memories.c.present == true(),
            memories.c.id.not_in(bindparam("without", expanding=True)),
        )
        .cte("turns")
    )
    places = select(
        turns.c.id,
        turns.c.pinned,
        func.row_number()
        .over(partition_by=turns.c.pinned, order_by=(turns.c.turn, turns.c.rank))
        .label("place"),
        func.count().over(partition_by=turns.c.pinned).label("total"),
    ).cte("places")
    return (
        select(*_COLUMNS, places.c.total)
        .join_from(places, memories, memories.c.id == places.c.id)
        .where(
            memories.c.account_id == bindparam("account"),
            or_(places.c.pinned == true(), places.c.place <= bindparam("most", type_=Integer)),
        )
        .order_by(places.c.pinned.desc(), places.c.place)
    )


def sendable(
    connection: Connection,
    key: ChatKey,
    *,
    scopes: Sequence[str | None],
    without: Collection[int] = (),
) -> Sendable:
    """What a prompt of this chat could carry, in one statement; ``without`` leaves some out.

    ``scopes`` are those in play, in the order in which they take turns: global, then the members
    that learn, in theirs.
    """
    bound = {**key._asdict(), "without": list(without), "most": LIMITS.memories_sent}
    pinned, unpinned, total = list[Memory](), list[Memory](), 0
    for row in connection.execute(_sendable_query(), bound):
        memory = _memory(row)
        if memory.pinned:
            pinned.append(memory)
        else:
            unpinned.append(memory)
            total = row.total
    return Sendable(pinned, unpinned, total - len(unpinned), scopes)
