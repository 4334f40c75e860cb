"""The entries of lorebooks as rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, insert, select, update

from talekeeper.domain.lore import CharacterFilter, Entry
from talekeeper.store.lore_tables import lore_entries

__all__ = ["EntryRow", "add", "change", "get", "of_book", "remove", "with_documents"]

_DEFAULTS = {
    item.name: getattr(Entry(id=0, content=""), item.name)
    for item in fields(Entry)
    if item.name not in ("id", "content")
}
_TUPLES = tuple(name for name, value in _DEFAULTS.items() if isinstance(value, tuple))


class EntryRow(NamedTuple):
    """An entry, and what an imported file said of it."""

    entry: Entry
    document: Mapping[str, Any] | None = None


def _entry(number: int, content: str, said: Mapping[str, Any]) -> Entry:
    values = dict(said)
    for name in _TUPLES:
        if name in values:
            values[name] = tuple(values[name])
    if "characters" in values:
        given = values["characters"]
        values["characters"] = CharacterFilter(
            names=tuple(given["names"]), tags=tuple(given["tags"]), exclude=given["exclude"]
        )
    return Entry(id=number, content=content, **values)


def _said(entry: Entry) -> dict[str, Any]:
    """The fields that are not as by default."""
    values = {name: getattr(entry, name) for name in _DEFAULTS}
    found = {name: value for name, value in values.items() if value != _DEFAULTS[name]}
    if entry.characters is not None:
        given = entry.characters
        found["characters"] = {"names": given.names, "tags": given.tags, "exclude": given.exclude}
    return found


def of_book(connection: Connection, account: str, book: str) -> list[Entry]:
    """All entries of a book, in order."""
    return [row.entry for row in _rows(connection, account, book, documents=False)]


def with_documents(connection: Connection, account: str, book: str) -> list[EntryRow]:
    """All entries of a book, with what an imported file said of each."""
    return _rows(connection, account, book, documents=True)


def _rows(connection: Connection, account: str, book: str, *, documents: bool) -> list[EntryRow]:
    columns = [lore_entries.c.id, lore_entries.c.content, lore_entries.c.fields]
    rows = connection.execute(
        select(*columns, *([lore_entries.c.document] if documents else []))
        .where(lore_entries.c.account_id == account, lore_entries.c.book_id == book)
        .order_by(lore_entries.c.id)
    ).all()
    return [EntryRow(_entry(row[0], row[1], row[2]), row[3] if documents else None) for row in rows]


def get(connection: Connection, account: str, book: str, number: int) -> EntryRow | None:
    """One entry of a book."""
    row = connection.execute(
        select(lore_entries.c.content, lore_entries.c.fields, lore_entries.c.document).where(
            *_place(account, book, number)
        )
    ).one_or_none()
    return EntryRow(_entry(number, row[0], row[1]), row[2]) if row else None


def _place(account: str, book: str, number: int) -> tuple[Any, ...]:
    return (
        lore_entries.c.account_id == account,
        lore_entries.c.book_id == book,
        lore_entries.c.id == number,
    )


def add(connection: Connection, account: str, book: str, rows: Iterable[EntryRow]) -> None:
    """Add entries; their numbers are the caller's."""
    values: Sequence[Mapping[str, Any]] = [
        {
            "account_id": account,
            "book_id": book,
            "id": row.entry.id,
            "content": row.entry.content,
            "fields": _said(row.entry),
            "document": dict(row.document) if row.document is not None else None,
        }
        for row in rows
    ]
    if values:
        connection.execute(insert(lore_entries), values)


def change(connection: Connection, account: str, book: str, entry: Entry) -> None:
    """Replace an entry; what the file said of it stays."""
    connection.execute(
        update(lore_entries)
        .where(*_place(account, book, entry.id))
        .values(content=entry.content, fields=_said(entry))
    )


def remove(connection: Connection, account: str, book: str, number: int) -> bool:
    """Delete an entry; whether it was there."""
    return (
        connection.execute(delete(lore_entries).where(*_place(account, book, number))).rowcount > 0
    )
