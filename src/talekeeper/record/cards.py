"""Character cards in and out."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from hashlib import blake2b
from typing import Any, Literal

from sqlalchemy import Connection

from talekeeper.domain.character import Card, Character
from talekeeper.domain.errors import InvalidInput
from talekeeper.formats.card import read_card
from talekeeper.formats.card_write import changed_document, write_card_json
from talekeeper.formats.detect import PNG_SIGNATURE
from talekeeper.formats.imported import ImportedCard, Notice
from talekeeper.formats.lorebook import book_of_card
from talekeeper.formats.png_card import replace_png_card
from talekeeper.record import people
from talekeeper.record.lore_files import changed_card_book, replace_card_book
from talekeeper.record.report import ImportReport, Outcome, card_report
from talekeeper.record.texts import storable
from talekeeper.store import accounts as account_rows
from talekeeper.store import characters as rows

__all__ = ["CardKind", "export_card", "import_card"]

CardKind = Literal["png", "json"]


def import_card(
    connection: Connection,
    account: str,
    imported: ImportedCard,
    data: bytes,
    *,
    file_name: str,
    new_id: str,
    now: datetime,
    dry_run: bool = False,
    book_id: str,
) -> ImportReport:
    """Add the character of a card file with its lorebook, and keep the file.

    A file that is there already adds nothing. A character that a chat brought by name only is
    filled from the card; its chats then have it. A card that differs from a character's only in
    what is not understood (its book, its picture) takes the place of that character's file; but a
    picture is not given up for a card without one.
    """
    if not dry_run:
        account_rows.get(connection, account, lock=True)
    digest = blake2b(data, digest_size=16).digest()
    present = rows.by_digest(connection, account, digest)
    if present:
        return card_report(file_name, imported, outcome="present", character=present.id)
    known, outcome = _known(connection, account, imported.card)
    if known and outcome == "updated":
        content = _with_picture(connection, account, known.id, imported, data)
        outcome = "updated" if content else "present"
    else:
        content = data
    namesakes = _namesakes(connection, account, imported.card.name) if outcome == "new" else ()
    character = Character(
        id=known.id if known else new_id,
        card=imported.card,
        version=known.version + 1 if known else 1,
    )
    if not dry_run:
        _keep(connection, account, character, imported, content, now=now, known=known is not None)
        rows.remember_file(connection, account, character.id, digest)
        replace_card_book(
            connection,
            account,
            character.id,
            book_of_card(imported.document),
            file_name=f"{imported.card.name}'s lorebook",
            new_id=book_id,
            now=now,
        )
    return card_report(
        file_name,
        imported,
        outcome=outcome,
        character=None if dry_run and not known else character.id,
        notices=namesakes,
    )


def _keep(
    connection: Connection,
    account: str,
    character: Character,
    imported: ImportedCard,
    content: bytes | None,
    *,
    now: datetime,
    known: bool,
) -> None:
    """Write a character with its file; nothing where there is no ``content``."""
    if content is None:
        return
    write = rows.update_character if known else rows.insert_character
    document = _storable(dict(imported.document))
    write(connection, account, character, document=document, now=now)
    rows.keep_file(connection, account, character.id, kind=_kind(content), content=content)


def _kind(content: bytes) -> CardKind:
    return "png" if content.startswith(PNG_SIGNATURE) else "json"


def _with_picture(
    connection: Connection, account: str, character_id: str, imported: ImportedCard, data: bytes
) -> bytes | None:
    """What to keep of another file of a character's card; None where nothing of it is new.

    Without a picture of its own, its book comes into the picture that is there.
    """
    kind, original = rows.file_of(connection, account, character_id) or ("json", b"")
    if kind == "json" or _kind(data) == "png":
        return data
    if _book(imported.document) == _book(read_card(original).document):
        return None
    return replace_png_card(original, imported.document)


def _book(document: Mapping[str, Any]) -> Any:
    """The lorebook in a card's JSON."""
    data = document.get("data")
    return data.get("character_book") if isinstance(data, Mapping) else None


def _known(connection: Connection, account: str, card: Card) -> tuple[Character | None, Outcome]:
    """The character that a card belongs to, and what the card does to it."""
    named = rows.by_name(connection, account, card.name)
    for character in named:
        if replace(character.card, book_entries=card.book_entries) == card:
            return character, "updated"
    bare = [character for character in named if character.card == Card(name=character.name)]
    return (bare[0], "filled") if len(bare) == 1 else (None, "new")


def _namesakes(connection: Connection, account: str, name: str) -> tuple[Notice, ...]:
    """What is to be said where a new character gets a name that others have."""
    named = rows.by_name(connection, account, name)
    if not named:
        return ()
    text = (
        f"There is a character called {name!r} whose card says something else. Both are kept: "
        f"{len(named) + 1} characters have that name now. A chat that is imported and names it "
        f"uses the oldest, {named[0].id}."
    )
    return (Notice(text=text),)


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Mapping):
        return {storable(str(key)): _storable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_storable(item) for item in value]
    return value


def export_card(
    connection: Connection, account: str, wanted: str, *, kind: CardKind | None = None
) -> bytes:
    """A character's card file: byte for byte as it came if nothing changed. Raises NotFound."""
    character = people.character_named(connection, account, wanted)
    kept_kind, original = rows.file_of(connection, account, character.id) or ("json", None)
    book = changed_card_book(connection, account, character.id)
    if original is not None and kind in (None, kept_kind):
        imported = read_card(original)
        if imported.card == character.card and book is None:
            return original
        document = _with_book(imported.document, book)
        if kept_kind == "png":
            return replace_png_card(original, changed_document(document, character.card))
        return write_card_json(document, character.card, None if book else original)
    if kind == "png":
        raise InvalidInput(f"{character.name!r} has no picture; export it as JSON.")
    stored = rows.document(connection, account, character.id)
    return write_card_json(_with_book(stored or {}, book), character.card, None)


def _with_book(document: Mapping[str, Any], book: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """A card's JSON with another book in it."""
    if book is None:
        return document
    data = document.get("data")
    return {
        **document,
        "data": {**(data if isinstance(data, Mapping) else {}), "character_book": book},
    }
