"""Lorebooks and memory entries as a person changes them.

A scope's memory entries are entries of a book of their own, made when the first one is added.
Who writes an entry locks its book; the book's version grows with each change.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, get_args

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection

from talekeeper.domain.errors import Ambiguous, Conflict, InvalidInput, NotFound
from talekeeper.domain.limits import LIMITS
from talekeeper.domain.lore import Entry, Lorebook, Use, UseKind
from talekeeper.domain.wording import wrong
from talekeeper.record.texts import check_texts, checked_name
from talekeeper.store import accounts as account_rows
from talekeeper.store import characters as character_rows
from talekeeper.store import chats as chat_rows
from talekeeper.store import lore as rows
from talekeeper.store import lore_entries as entry_rows
from talekeeper.store.keys import ChatKey, is_id
from talekeeper.store.lore_entries import EntryRow

__all__ = [
    "add_book",
    "add_entry",
    "add_memory_entry",
    "book_named",
    "check_use",
    "delete_book",
    "delete_entry",
    "delete_memory_entry",
    "entries_to_global",
    "entry_of",
    "memory_entries",
    "set_use",
    "update_book",
    "update_entry",
    "update_memory_entry",
]

_ENTRY = TypeAdapter(Entry)
_BOOK_FIELDS = ("name", "description", "scan_depth", "token_budget", "recursive", "names")


def book_named(connection: Connection, account: str, wanted: str) -> Lorebook:
    """The book of that id, or the only one of that name. Raises NotFound, Ambiguous."""
    if is_id(wanted):
        book = rows.get(connection, account, wanted)
        if book is not None:
            return book
    named = rows.by_name(connection, account, wanted)
    if not named:
        raise NotFound(f"There is no lorebook {wanted!r}.")
    if len(named) > 1:
        listed = ", ".join(book.id for book in named)
        raise Ambiguous(f"{len(named)} lorebooks are called {wanted!r}: {listed}. Give the id.")
    return named[0]


def add_book(
    connection: Connection,
    account: str,
    name: str,
    fields: Mapping[str, Any],
    *,
    uses: Sequence[Use],
    new_id: str,
    now: datetime,
) -> Lorebook:
    """Add an empty lorebook. Raises InvalidInput, NotFound for what it is to be used for."""
    account_rows.get(connection, account, lock=True)
    book = _checked_book(Lorebook(id=new_id, name=name, created_at=now), fields)
    for use in uses:
        check_use(connection, account, use)
    rows.insert_book(connection, account, replace(book, uses=tuple(uses)), now=now)
    return replace(book, uses=tuple(uses))


def update_book(
    connection: Connection,
    account: str,
    wanted: str,
    fields: Mapping[str, Any],
    *,
    now: datetime,
    expected_version: int | None = None,
) -> Lorebook:
    """Change what a book says of itself. Raises NotFound, InvalidInput, Conflict."""
    book = _locked(connection, account, wanted, expected_version)
    book = _checked_book(book, fields)
    rows.change(connection, account, book, now=now)
    return replace(book, version=book.version + 1)


def delete_book(connection: Connection, account: str, wanted: str) -> Lorebook:
    """Delete a book with its entries. Raises NotFound."""
    book = _locked(connection, account, wanted)
    rows.remove(connection, account, book.id)
    return book


def set_use(connection: Connection, account: str, wanted: str, use: Use, *, on: bool) -> Lorebook:
    """Use a book for something, or no longer. Raises NotFound where it is not there, or the book is
    not used for it."""
    book = _locked(connection, account, wanted)
    if book.kind == "entries":
        raise InvalidInput(
            "Memory entries belong to their scope; only lorebooks are used for more."
        )
    if on:
        check_use(connection, account, use)
        rows.use(connection, account, book.id, use)
    elif not rows.unuse(connection, account, book.id, use):
        raise NotFound(f"{book.name!r} is not used for that.")
    return book_named(connection, account, book.id)


def add_entry(
    connection: Connection,
    account: str,
    wanted: str,
    fields: Mapping[str, Any],
    *,
    now: datetime,
) -> Entry:
    """Add an entry to a book. Raises NotFound, InvalidInput."""
    return _add(connection, account, _locked(connection, account, wanted), fields, now=now)


def add_memory_entry(
    connection: Connection,
    account: str,
    character: str | None,
    fields: Mapping[str, Any],
    *,
    new_id: str,
    now: datetime,
) -> Entry:
    """Add a memory entry to a scope: a character's id, or None for global. Raises NotFound,
    InvalidInput."""
    account_rows.get(connection, account, lock=True)
    _check_scope(connection, account, character)
    found = rows.entries_of_scope(connection, account, character)
    if found is None:
        found = Lorebook(id=new_id, name="Memory entries", kind="entries", created_at=now)
        scope = character or rows.GLOBAL
        rows.insert_book(connection, account, found, scope=scope, now=now)
    return _add(connection, account, found, fields, now=now)


def _check_scope(connection: Connection, account: str, character: str | None) -> None:
    if character is not None and character_rows.get(connection, account, character) is None:
        raise NotFound(f"There is no character {character!r}.")


def memory_entries(
    connection: Connection, account: str, character: str | None
) -> tuple[Lorebook | None, list[Entry]]:
    """The memory entries of a scope, with the book that holds them where there is one. Raises
    NotFound."""
    _check_scope(connection, account, character)
    book = rows.entries_of_scope(connection, account, character)
    return book, entry_rows.of_book(connection, account, book.id) if book else []


def update_memory_entry(
    connection: Connection,
    account: str,
    character: str | None,
    number: int,
    fields: Mapping[str, Any],
    *,
    now: datetime,
) -> Entry:
    """Change a memory entry of a scope. Raises NotFound, InvalidInput."""
    book = _entries_book(connection, account, character)
    return update_entry(connection, account, book, number, fields, now=now)


def delete_memory_entry(
    connection: Connection, account: str, character: str | None, number: int, *, now: datetime
) -> Entry:
    """Delete a memory entry of a scope. Raises NotFound."""
    book = _entries_book(connection, account, character)
    return delete_entry(connection, account, book, number, now=now)


def _entries_book(connection: Connection, account: str, character: str | None) -> str:
    book = rows.entries_of_scope(connection, account, character)
    if book is None:
        raise NotFound("There are no memory entries here.")
    return book.id


def entry_of(connection: Connection, account: str, book: str, number: int) -> Entry:
    """One entry of a book, given by id. Raises NotFound."""
    found = entry_rows.get(connection, account, book, number)
    if found is None:
        raise NotFound(f"There is no entry {number} in this lorebook.")
    return found.entry


def update_entry(
    connection: Connection,
    account: str,
    wanted: str,
    number: int,
    fields: Mapping[str, Any],
    *,
    now: datetime,
    expected_version: int | None = None,
) -> Entry:
    """Change an entry; ``expected_version`` is the book's. Raises NotFound, InvalidInput,
    Conflict."""
    book = _locked(connection, account, wanted, expected_version)
    before = entry_of(connection, account, book.id, number)
    entry = _checked_entry(before, fields)
    if entry != before:
        entry_rows.change(connection, account, book.id, entry)
        rows.change(connection, account, book, now=now)
    return entry


def delete_entry(
    connection: Connection, account: str, wanted: str, number: int, *, now: datetime
) -> Entry:
    """Delete an entry. Raises NotFound."""
    book = _locked(connection, account, wanted)
    entry = entry_of(connection, account, book.id, number)
    entry_rows.remove(connection, account, book.id, number)
    rows.change(connection, account, replace(book, entries=book.entries - 1), now=now)
    return entry


def entries_to_global(
    connection: Connection, account: str, character: str, *, new_id: str, now: datetime
) -> None:
    """Let the memory entries of a character that is about to be deleted be global."""
    book, entries = memory_entries(connection, account, character)
    for entry in entries:
        add_memory_entry(connection, account, None, _fields(entry), new_id=new_id, now=now)
    if book is not None:
        rows.remove(connection, account, book.id)


def _fields(entry: Entry) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in Entry.__dataclass_fields__ if name != "id"}


def _add(
    connection: Connection,
    account: str,
    book: Lorebook,
    fields: Mapping[str, Any],
    *,
    now: datetime,
) -> Entry:
    if book.entries >= LIMITS.entries:
        raise InvalidInput(
            f"{book.name!r} holds {book.entries:,} entries, as many as one may. Delete some, or "
            "begin another."
        )
    entry = _checked_entry(Entry(id=0, content=""), fields)
    number = rows.next_entries(connection, account, book.id, 1)
    entry = replace(entry, id=number)
    entry_rows.add(connection, account, book.id, [EntryRow(entry)])
    rows.change(connection, account, replace(book, entries=book.entries + 1), now=now)
    return entry


def _locked(
    connection: Connection, account: str, wanted: str, expected_version: int | None = None
) -> Lorebook:
    """A book that no other writer changes until the unit ends."""
    account_rows.get(connection, account, lock=True)
    book = book_named(connection, account, wanted)
    if expected_version is not None and expected_version != book.version:
        raise Conflict(
            f"The lorebook {book.name!r} was changed meanwhile (version {book.version}, not "
            f"{expected_version}). Read it again."
        )
    return book


def check_use(connection: Connection, account: str, use: Use) -> None:
    """NotFound where what a book is to be used for is not there."""
    kind, target = use.kind, use.target
    if kind not in get_args(UseKind):
        raise InvalidInput(f"A lorebook is used for {', '.join(get_args(UseKind))}; not {kind!r}.")
    if (kind == "global") != (target is None):
        raise InvalidInput("Name what the lorebook is used for; for all chats, nothing.")
    if target is None:
        return
    there: Mapping[str, Any] = {
        "character": lambda: character_rows.get(connection, account, target),
        "persona": lambda: character_rows.get_persona(connection, account, target),
        "chat": lambda: chat_rows.get(connection, ChatKey(account, target)),
    }
    if there[kind]() is None:
        raise NotFound(f"There is no {kind} {target!r}.")


def _checked_book(book: Lorebook, fields: Mapping[str, Any]) -> Lorebook:
    unknown = set(fields) - set(_BOOK_FIELDS)
    if unknown:
        raise InvalidInput(
            f"A lorebook has no field {sorted(unknown)[0]!r}; it has {', '.join(_BOOK_FIELDS)}."
        )
    book = replace(book, **fields)
    check_texts([book.name, book.description])
    for name, value in (("scan_depth", book.scan_depth), ("token_budget", book.token_budget)):
        fits = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 1_000_000
        if not fits and not (value is None and name == "token_budget"):
            raise InvalidInput(f"{name} is a number from 0 to 1,000,000, not {value!r}.")
    for name in ("recursive", "names"):
        if not isinstance(getattr(book, name), bool):
            raise InvalidInput(f"{name} is true or false.")
    return replace(book, name=checked_name(book.name, "A lorebook's name"))


def _checked_entry(before: Entry, fields: Mapping[str, Any]) -> Entry:
    """An entry with some fields replaced. InvalidInput names the first that is wrong."""
    unknown = set(fields) - set(_fields(before))
    if unknown:
        raise InvalidInput(f"An entry has no field {sorted(unknown)[0]!r}.")
    try:
        entry = _ENTRY.validate_python({**_fields(before), **fields, "id": before.id})
    except ValidationError as error:
        name = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise InvalidInput(f"An entry's {name} {wrong(error)}.") from error
    check_texts(list(_fields(entry).values()))
    keys = tuple(key.strip() for key in entry.keys if key.strip())
    secondary = tuple(key.strip() for key in entry.secondary if key.strip())
    entry = replace(entry, keys=keys, secondary=secondary)
    if not entry.content.strip():
        raise InvalidInput("An entry needs a text: what is sent when it fires.")
    if not keys and not entry.constant:
        raise InvalidInput("An entry needs a keyword, or must be constant: it would never fire.")
    _check_sizes(entry)
    return entry


def _check_sizes(entry: Entry) -> None:
    keys = (*entry.keys, *entry.secondary)
    if len(entry.content) > LIMITS.entry_characters:
        raise InvalidInput(
            f"An entry's text holds at most {LIMITS.entry_characters:,} characters; this one has "
            f"{len(entry.content):,}."
        )
    if len(keys) > LIMITS.keys:
        raise InvalidInput(f"An entry has at most {LIMITS.keys} keywords; this one {len(keys)}.")
    for key in keys:
        if len(key) > LIMITS.key_characters:
            raise InvalidInput(
                f"A keyword holds at most {LIMITS.key_characters} characters: {key[:40]!r}…"
            )
    if not 0 <= entry.probability <= 100:
        raise InvalidInput("An entry's probability is a number of percent, from 0 to 100.")
    for name in ("depth", "sticky", "cooldown", "delay", "delay_until_recursion", "group_weight"):
        if not 0 <= getattr(entry, name) <= 1_000_000:
            raise InvalidInput(f"An entry's {name} is a number from 0 to 1,000,000.")
    if entry.scan_depth is not None and not 0 <= entry.scan_depth <= 1_000:
        raise InvalidInput("An entry's scan_depth is a number of messages from 0 to 1,000.")
    if entry.role not in ("system", "user", "assistant"):
        raise InvalidInput("An entry's role is system, user or assistant.")
