"""Lorebooks as rows: the books, what they are used for, and the files they came from.

Their entries are in ``lore_entries``.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import (
    Connection,
    Row,
    and_,
    bindparam,
    delete,
    exists,
    insert,
    or_,
    select,
    update,
)

from talekeeper.domain.lore import Lorebook, Use, UseKind
from talekeeper.formats.imported_lore import LoreFormat
from talekeeper.store.keys import ChatKey, is_id, lookup_key
from talekeeper.store.lore_tables import lorebook_files, lorebook_uses, lorebooks

__all__ = [
    "GLOBAL",
    "BookFile",
    "by_digest",
    "by_name",
    "change",
    "copy_uses",
    "drop_uses",
    "entries_of_scope",
    "file_of",
    "get",
    "in_play",
    "insert_book",
    "keep_file",
    "listed",
    "next_entries",
    "remove",
    "unuse",
    "use",
]

GLOBAL = "00000000-0000-0000-0000-000000000000"
"""What stands for no character, persona or chat in particular."""

_COLUMNS = (
    lorebooks.c.id,
    lorebooks.c.name,
    lorebooks.c.kind,
    lorebooks.c.description,
    lorebooks.c.scan_depth,
    lorebooks.c.token_budget,
    lorebooks.c.recursive,
    lorebooks.c.names,
    lorebooks.c.entries,
    lorebooks.c.version,
    lorebooks.c.created_at,
)


class BookFile(NamedTuple):
    """Where a book came from. ``digest`` is a hash of what its entries say, ``version`` the book's
    when it came, ``content`` the bytes of the file (None for a book out of a card)."""

    digest: bytes
    format: LoreFormat
    document: Mapping[str, Any]
    version: int
    content: bytes | None


def insert_book(
    connection: Connection,
    account: str,
    book: Lorebook,
    *,
    scope: str | None = None,
    now: datetime,
) -> None:
    """Add a book, with its uses. ``scope`` is that of a book of memory entries."""
    connection.execute(
        insert(lorebooks).values(
            account_id=account,
            id=book.id,
            kind=book.kind,
            scope=scope,
            next_entry=1,
            created_at=now,
            **_values(book, now),
            entries=0,
            version=book.version,
        )
    )
    for one in book.uses:
        use(connection, account, book.id, one)


def _values(book: Lorebook, now: datetime) -> dict[str, Any]:
    return {
        "name": book.name,
        "name_key": lookup_key(book.name),
        "description": book.description,
        "scan_depth": book.scan_depth,
        "token_budget": book.token_budget,
        "recursive": book.recursive,
        "names": book.names,
        "updated_at": now,
    }


def change(connection: Connection, account: str, book: Lorebook, *, now: datetime) -> None:
    """Replace what a book says of itself and count one change."""
    connection.execute(
        update(lorebooks)
        .where(lorebooks.c.account_id == account, lorebooks.c.id == book.id)
        .values(version=lorebooks.c.version + 1, entries=book.entries, **_values(book, now))
    )


def next_entries(connection: Connection, account: str, book: str, count: int) -> int:
    """The first of ``count`` numbers for new entries, none of them ever given before."""
    after = connection.execute(
        update(lorebooks)
        .where(lorebooks.c.account_id == account, lorebooks.c.id == book)
        .values(next_entry=lorebooks.c.next_entry + count)
        .returning(lorebooks.c.next_entry)
    ).scalar_one()
    return int(after) - count


def remove(connection: Connection, account: str, book: str) -> None:
    """Delete a book with its entries and uses."""
    connection.execute(
        delete(lorebooks).where(lorebooks.c.account_id == account, lorebooks.c.id == book)
    )


def get(connection: Connection, account: str, book: str, *, lock: bool = False) -> Lorebook | None:
    """The book of that id; ``lock`` keeps other writers of it out until the unit ends."""
    if not is_id(book):
        return None
    statement = select(*_COLUMNS).where(lorebooks.c.account_id == account, lorebooks.c.id == book)
    row = connection.execute(statement.with_for_update() if lock else statement).one_or_none()
    return _with_uses(connection, account, [row])[0] if row else None


def by_name(connection: Connection, account: str, name: str) -> list[Lorebook]:
    """The books of that name, oldest first; none of memory entries."""
    return _found(
        connection,
        account,
        lorebooks.c.kind == "lorebook",
        lorebooks.c.name_key == lookup_key(name),
    )


def listed(connection: Connection, account: str) -> list[Lorebook]:
    """All books by name, those of memory entries not among them."""
    books = _found(connection, account, lorebooks.c.kind == "lorebook")
    return sorted(books, key=lambda book: (lookup_key(book.name), book.id))


def entries_of_scope(
    connection: Connection, account: str, character: str | None
) -> Lorebook | None:
    """The book that holds the memory entries of a scope, None where there never was one."""
    found = _found(
        connection,
        account,
        lorebooks.c.kind == "entries",
        lorebooks.c.scope == (character or GLOBAL),
    )
    return found[0] if found else None


def _found(connection: Connection, account: str, *conditions: Any) -> list[Lorebook]:
    rows = connection.execute(
        select(*_COLUMNS)
        .where(lorebooks.c.account_id == account, *conditions)
        .order_by(lorebooks.c.id)
    ).all()
    return _with_uses(connection, account, rows)


def _with_uses(
    connection: Connection, account: str, rows: Sequence[Row[*tuple[Any, ...]]]
) -> list[Lorebook]:
    uses: dict[str, list[Use]] = {}
    if rows:
        found = connection.execute(
            select(lorebook_uses.c.book_id, lorebook_uses.c.kind, lorebook_uses.c.target)
            .where(
                lorebook_uses.c.account_id == account,
                lorebook_uses.c.book_id.in_([row.id for row in rows]),
            )
            .order_by(lorebook_uses.c.kind, lorebook_uses.c.target)
        )
        for book, kind, target in found:
            uses.setdefault(book, []).append(Use(kind=kind, target=_target(target)))
    return [_book(row, tuple(uses.get(row.id, ()))) for row in rows]


def _book(row: Row[*tuple[Any, ...]], uses: tuple[Use, ...] = ()) -> Lorebook:
    return Lorebook(**row._mapping, uses=uses)


def _target(stored: str) -> str | None:
    return None if stored == GLOBAL else stored


def use(connection: Connection, account: str, book: str, one: Use) -> bool:
    """Use a book for something; whether it was not used for it already."""
    target = one.target or GLOBAL
    already = connection.execute(
        select(lorebook_uses.c.kind).where(*_use(account, book, one.kind, target))
    ).one_or_none()
    if already is None:
        connection.execute(
            insert(lorebook_uses).values(
                account_id=account, book_id=book, kind=one.kind, target=target
            )
        )
    return already is None


def unuse(connection: Connection, account: str, book: str, one: Use) -> bool:
    """Use a book for something no longer; whether it was."""
    gone = connection.execute(
        delete(lorebook_uses).where(*_use(account, book, one.kind, one.target or GLOBAL))
    )
    return gone.rowcount > 0


def _use(account: str, book: str, kind: UseKind, target: str) -> tuple[Any, ...]:
    return (
        lorebook_uses.c.account_id == account,
        lorebook_uses.c.book_id == book,
        lorebook_uses.c.kind == kind,
        lorebook_uses.c.target == target,
    )


def drop_uses(connection: Connection, account: str, target: str) -> None:
    """Let go of all uses for a character, a persona or a chat that is being deleted."""
    connection.execute(
        delete(lorebook_uses).where(
            lorebook_uses.c.account_id == account, lorebook_uses.c.target == target
        )
    )


def copy_uses(connection: Connection, source: ChatKey, target: ChatKey) -> None:
    """Use for another chat of the account what is used for one."""
    connection.execute(
        insert(lorebook_uses).from_select(
            ["account_id", "book_id", "kind", "target"],
            select(
                lorebook_uses.c.account_id,
                lorebook_uses.c.book_id,
                lorebook_uses.c.kind,
                bindparam("copy", target.chat, type_=lorebook_uses.c.target.type),
            ).where(
                lorebook_uses.c.account_id == source.account,
                lorebook_uses.c.kind == "chat",
                lorebook_uses.c.target == source.chat,
            ),
        )
    )


# What composing reads. The statement is built once: building one costs more than running it.
_IN_PLAY = (
    select(*_COLUMNS)
    .where(
        lorebooks.c.account_id == bindparam("account"),
        lorebooks.c.entries > 0,
        or_(
            and_(
                lorebooks.c.kind == "entries",
                lorebooks.c.scope.in_(bindparam("scopes", expanding=True)),
            ),
            exists().where(
                lorebook_uses.c.account_id == lorebooks.c.account_id,
                lorebook_uses.c.book_id == lorebooks.c.id,
                lorebook_uses.c.target.in_(bindparam("targets", expanding=True)),
            ),
        ),
    )
    .order_by(lorebooks.c.id)
)


def in_play(
    connection: Connection, key: ChatKey, *, characters: Collection[str], persona: str | None
) -> list[Lorebook]:
    """The books that can fire in a chat: the global ones, those of its characters and persona, its
    own, and the memory entries of its scopes. One statement; their uses are not read."""
    targets = [GLOBAL, key.chat, *characters, *([persona] if persona else [])]
    rows = connection.execute(
        _IN_PLAY,
        {"account": key.account, "scopes": [GLOBAL, *characters], "targets": targets},
    ).all()
    return [_book(row) for row in rows]


def keep_file(connection: Connection, account: str, book: str, file: BookFile) -> None:
    """Keep what a book was imported from."""
    connection.execute(
        insert(lorebook_files).values(account_id=account, book_id=book, **file._asdict())
    )


def file_of(connection: Connection, account: str, book: str) -> BookFile | None:
    """What a book was imported from, None for one made by hand."""
    row = connection.execute(
        select(*(lorebook_files.c[name] for name in BookFile._fields)).where(
            lorebook_files.c.account_id == account, lorebook_files.c.book_id == book
        )
    ).one_or_none()
    return BookFile._make(row) if row else None


def by_digest(connection: Connection, account: str, digest: bytes) -> str | None:
    """The id of the oldest book that was imported with entries which say exactly this."""
    found: str | None = connection.execute(
        select(lorebook_files.c.book_id)
        .where(lorebook_files.c.account_id == account, lorebook_files.c.digest == digest)
        .order_by(lorebook_files.c.book_id)
        .limit(1)
    ).scalar()
    return found
