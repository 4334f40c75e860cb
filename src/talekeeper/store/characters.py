"""Characters, the files they came from, and personas."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, and_, delete, insert, select, update

from talekeeper.domain.character import Card, Character, DepthPrompt, Persona
from talekeeper.store.keys import is_id, lookup_key
from talekeeper.store.tables import character_files, characters, imported_cards, personas

__all__ = [
    "by_digest",
    "by_name",
    "card_from_json",
    "document",
    "file_of",
    "get",
    "get_persona",
    "insert_character",
    "insert_persona",
    "keep_file",
    "listed",
    "listed_personas",
    "persona_by_name",
    "remember_file",
    "remove",
    "remove_persona",
    "set_learning",
    "update_character",
    "update_persona",
]

_COLUMNS = (characters.c.id, characters.c.card, characters.c.version, characters.c.learns)
_PERSONA = (personas.c.id, personas.c.name, personas.c.description)


def card_from_json(value: Mapping[str, Any]) -> Card:
    """The card stored in a row."""
    fields = dict(value)
    depth = fields.pop("depth_prompt", None)
    return Card(
        **{
            **fields,
            "alternate_greetings": tuple(fields.get("alternate_greetings", ())),
            "tags": tuple(fields.get("tags", ())),
            "depth_prompt": DepthPrompt(**depth) if depth else None,
        }
    )


def _character(row: Row[*tuple[Any, ...]]) -> Character:
    return Character(
        id=row.id, card=card_from_json(row.card), version=row.version, learns=row.learns
    )


def get(
    connection: Connection, account: str, character_id: str, *, lock: bool = False
) -> Character | None:
    """The character of that id; ``lock`` keeps other writers of it out."""
    if not is_id(character_id):
        return None
    statement = select(*_COLUMNS).where(
        characters.c.account_id == account, characters.c.id == character_id
    )
    row = connection.execute(statement.with_for_update() if lock else statement).one_or_none()
    return _character(row) if row else None


def by_name(connection: Connection, account: str, name: str) -> list[Character]:
    """Characters of that name, oldest first. Case and Unicode form do not matter."""
    rows = connection.execute(
        select(*_COLUMNS)
        .where(characters.c.account_id == account, characters.c.name_key == lookup_key(name))
        .order_by(characters.c.id)
    )
    return [_character(row) for row in rows]


def by_digest(connection: Connection, account: str, digest: bytes) -> Character | None:
    """The oldest character that a file of exactly these bytes was imported for."""
    row = connection.execute(
        select(*_COLUMNS)
        .join_from(
            characters,
            imported_cards,
            and_(
                imported_cards.c.account_id == characters.c.account_id,
                imported_cards.c.character_id == characters.c.id,
            ),
        )
        .where(imported_cards.c.account_id == account, imported_cards.c.digest == digest)
        .order_by(characters.c.id)
        .limit(1)
    ).one_or_none()
    return _character(row) if row else None


def listed(connection: Connection, account: str) -> list[Character]:
    """All characters, by name."""
    rows = connection.execute(
        select(*_COLUMNS)
        .where(characters.c.account_id == account)
        .order_by(characters.c.name_key, characters.c.id)
    )
    return [_character(row) for row in rows]


def insert_character(
    connection: Connection,
    account: str,
    character: Character,
    *,
    document: Mapping[str, Any] | None,
    now: datetime,
) -> None:
    """Add a character; ``document`` is the imported card's JSON, unknown fields included."""
    connection.execute(
        insert(characters).values(
            account_id=account,
            id=character.id,
            version=character.version,
            created_at=now,
            **_values(character.card, document, now),
        )
    )


def set_learning(connection: Connection, account: str, character_id: str, learns: bool) -> None:
    """Let a character learn from its chats, or not."""
    connection.execute(
        update(characters)
        .where(characters.c.account_id == account, characters.c.id == character_id)
        .values(learns=learns)
    )


def update_character(
    connection: Connection,
    account: str,
    character: Character,
    *,
    document: Mapping[str, Any] | None,
    now: datetime,
) -> None:
    """Replace a character's card, document and version."""
    connection.execute(
        update(characters)
        .where(characters.c.account_id == account, characters.c.id == character.id)
        .values(version=character.version, **_values(character.card, document, now))
    )


def _values(card: Card, document: Mapping[str, Any] | None, now: datetime) -> dict[str, Any]:
    return {
        "name": card.name,
        "name_key": lookup_key(card.name),
        "card": asdict(card),
        "document": dict(document) if document is not None else None,
        "updated_at": now,
    }


def document(connection: Connection, account: str, character_id: str) -> dict[str, Any] | None:
    """The imported card's JSON, None for a character made by hand."""
    found: dict[str, Any] | None = connection.execute(
        select(characters.c.document).where(
            characters.c.account_id == account, characters.c.id == character_id
        )
    ).scalar_one_or_none()
    return found


def remove(connection: Connection, account: str, character_id: str) -> None:
    """Delete a character and the file it came from."""
    connection.execute(
        delete(characters).where(
            characters.c.account_id == account, characters.c.id == character_id
        )
    )


def keep_file(
    connection: Connection, account: str, character_id: str, *, kind: str, content: bytes
) -> None:
    """Keep the file a character was imported from, in place of an earlier one."""
    where = (
        character_files.c.account_id == account,
        character_files.c.character_id == character_id,
    )
    connection.execute(delete(character_files).where(*where))
    connection.execute(
        insert(character_files).values(
            account_id=account, character_id=character_id, kind=kind, content=content
        )
    )


def remember_file(connection: Connection, account: str, character_id: str, digest: bytes) -> None:
    """Remember that a file of these bytes was imported for a character."""
    connection.execute(
        insert(imported_cards).values(account_id=account, character_id=character_id, digest=digest)
    )


def file_of(connection: Connection, account: str, character_id: str) -> tuple[str, bytes] | None:
    """(kind, bytes) of the file a character was imported from."""
    row = connection.execute(
        select(character_files.c.kind, character_files.c.content).where(
            character_files.c.account_id == account,
            character_files.c.character_id == character_id,
        )
    ).one_or_none()
    return (row.kind, row.content) if row else None


def insert_persona(
    connection: Connection, account: str, persona: Persona, *, now: datetime
) -> None:
    """Add a persona."""
    connection.execute(
        insert(personas).values(
            account_id=account,
            id=persona.id,
            name=persona.name,
            name_key=lookup_key(persona.name),
            description=persona.description,
            created_at=now,
        )
    )


def update_persona(connection: Connection, account: str, persona: Persona) -> None:
    """Replace a persona's name and description."""
    connection.execute(
        update(personas)
        .where(personas.c.account_id == account, personas.c.id == persona.id)
        .values(
            name=persona.name,
            name_key=lookup_key(persona.name),
            description=persona.description,
        )
    )


def remove_persona(connection: Connection, account: str, persona_id: str) -> None:
    """Delete a persona."""
    connection.execute(
        delete(personas).where(personas.c.account_id == account, personas.c.id == persona_id)
    )


def get_persona(connection: Connection, account: str, persona_id: str) -> Persona | None:
    """The persona of that id."""
    if not is_id(persona_id):
        return None
    row = connection.execute(
        select(*_PERSONA).where(personas.c.account_id == account, personas.c.id == persona_id)
    ).one_or_none()
    return Persona(**row._mapping) if row else None


def persona_by_name(connection: Connection, account: str, name: str) -> Persona | None:
    """The oldest persona of that name."""
    row = connection.execute(
        select(*_PERSONA)
        .where(personas.c.account_id == account, personas.c.name_key == lookup_key(name))
        .order_by(personas.c.id)
        .limit(1)
    ).one_or_none()
    return Persona(**row._mapping) if row else None


def listed_personas(connection: Connection, account: str) -> list[Persona]:
    """All personas, by name."""
    rows = connection.execute(
        select(*_PERSONA)
        .where(personas.c.account_id == account)
        .order_by(personas.c.name_key, personas.c.id)
    )
    return [Persona(**row._mapping) for row in rows]
