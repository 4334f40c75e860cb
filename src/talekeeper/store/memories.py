"""Saved memories: their values as rows. The journal they are folded from is in ``revisions``."""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import (
    CompoundSelect,
    Connection,
    Integer,
    Row,
    bindparam,
    delete,
    false,
    func,
    insert,
    literal,
    select,
    true,
    union_all,
    update,
)

from talekeeper.domain.errors import NotFound
from talekeeper.domain.limits import LIMITS
from talekeeper.domain.memory import Memory, MemoryLine, WriteUnit, spread, turns
from talekeeper.store import receipts as receipt_rows
from talekeeper.store.keys import LAST_NUMBER
from talekeeper.store.memory_tables import memories
from talekeeper.store.tables import accounts
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
    "those",
    "trash",
    "with_trash",
]

_PAGE = 500
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
    """Keep other writers of the account's memories out until the unit ends, and count their version
    up: what was read of them before is no longer true. Raises NotFound."""
    counted = update(accounts).where(accounts.c.id == account)
    counted = counted.values(memory_version=accounts.c.memory_version + 1)
    if not connection.execute(counted).rowcount:
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


def those(
    connection: Connection, account: str, ids: Collection[int]
) -> dict[int, tuple[Memory, bool]]:
    """The memories of these ids, there or not, each with whether it is."""
    wanted, found = sorted(ids), dict[int, tuple[Memory, bool]]()
    for start in range(0, len(wanted), _PAGE):
        rows = connection.execute(
            select(*_COLUMNS, memories.c.present).where(
                memories.c.account_id == account,
                memories.c.id.in_(wanted[start : start + _PAGE]),
            )
        )
        found |= {row.id: (_memory(row), bool(row.present)) for row in rows}
    return found


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
    """Delete memories for good, with their journal and what recorded receipts say of them; answers
    how many."""
    found = 0
    for start in range(0, len(ids), _PAGE):
        found += connection.execute(
            delete(memories).where(
                memories.c.account_id == account, memories.c.id.in_(ids[start : start + _PAGE])
            )
        ).rowcount
    receipt_rows.forget_memories(connection, account, ids)
    return found


def sweep(connection: Connection, account: str, *, before: datetime) -> int:
    """Delete for good what is in the trash since before a moment."""
    gone = delete(memories).where(memories.c.account_id == account, memories.c.deleted_at < before)
    ids = connection.execute(gone.returning(memories.c.id)).scalars().all()
    receipt_rows.forget_memories(connection, account, ids)
    return len(ids)


def with_trash(connection: Connection, *, before: datetime) -> list[str]:
    """The accounts that have something in the trash since before a moment."""
    found = select(memories.c.account_id).where(memories.c.deleted_at < before).distinct()
    return [str(account) for account in connection.execute(found).scalars()]


class Sendable(NamedTuple):
    """What a prompt could carry: ``pinned`` all there are; ``unpinned`` the newest of each scope in
    turn, as far as they are sent; ``more`` is how many of these stay out."""

    pinned: Sequence[MemoryLine]
    unpinned: Sequence[MemoryLine]
    more: int


_COUNTS = (
    select(memories.c.scope, memories.c.pinned, func.count())
    .where(
        memories.c.account_id == bindparam("account"),
        memories.c.scope.in_(bindparam("scopes", expanding=True)),
        memories.c.present == true(),
    )
    .group_by(memories.c.scope, memories.c.pinned)
)


@cache
def _newest(pinned: tuple[bool, ...]) -> CompoundSelect[*tuple[Any, ...]]:
    """The newest memories of several scopes, as many of each as asked for, by an index alone.

    Of the scope at each place pinned ones or others. A scope's own statement reads no row more
    than it answers, whatever the planner knows of the table.
    """
    parts = [
        select(
            literal(at, Integer).label("place"),
            memories.c.id,
            memories.c.text,
            memories.c.tokens,
            memories.c.tokenizer,
            memories.c.updated_at,
        )
        .where(
            memories.c.account_id == bindparam("account"),
            memories.c.scope == bindparam(f"scope{at}", type_=Id),
            memories.c.present == true(),
            memories.c.pinned == (true() if which else false()),
        )
        .order_by(memories.c.updated_at.desc(), memories.c.id.desc())
        .limit(bindparam(f"most{at}", type_=Integer))
        .subquery()
        for at, which in enumerate(pinned)
    ]
    return union_all(*(select(part) for part in parts))


def sendable(
    connection: Connection, account: str, scopes: Sequence[str | None], *, spare: int = 0
) -> Sendable:
    """What a prompt could carry, in two statements.

    ``scopes`` are those in play, in the order in which they take turns. ``spare`` is how many the
    caller will take away: so many more are read that enough are left.
    """
    stored = [scope_of(scope) for scope in scopes]
    found = connection.execute(_COUNTS, {"account": account, "scopes": stored})
    count = {(scope_of(scope), pinned): number for scope, pinned, number in found}
    unpinned = [count.get((scope, False), 0) for scope in stored]
    taken = turns(unpinned, LIMITS.memories_sent + spare * len(scopes))
    asked = [
        *((at, True, count.get((scope, True), 0)) for at, scope in enumerate(stored)),
        *((at, False, most) for at, most in enumerate(taken)),
    ]
    asked = [part for part in asked if part[2]]
    if not asked:
        return Sendable([], [], 0)
    bound: dict[str, Any] = {"account": account}
    for place, (at, _, most) in enumerate(asked):
        bound |= {f"scope{place}": stored[at], f"most{place}": most}
    rows = connection.execute(_newest(tuple(part[1] for part in asked)), bound).all()
    lines = [
        MemoryLine(memory, text, scopes[asked[place][0]], asked[place][1], tokens, name, since)
        for place, memory, text, tokens, name, since in rows
    ]
    sent = spread([line for line in lines if not line.pinned], scopes, len(lines))
    return Sendable(
        pinned=[line for line in lines if line.pinned],
        unpinned=sent,
        more=sum(unpinned) - len(sent),
    )
