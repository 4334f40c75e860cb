"""Characters and personas: making them, finding them, changing them."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection

from talekeeper.domain.character import Card, Character, Persona
from talekeeper.domain.errors import Ambiguous, Conflict, InvalidInput, NotFound
from talekeeper.record.lore import entries_to_global
from talekeeper.record.memories import leave_to_global
from talekeeper.record.texts import check_texts, checked, checked_name
from talekeeper.store import accounts as account_rows
from talekeeper.store import characters as character_rows
from talekeeper.store import chats as chat_rows
from talekeeper.store import lore as lore_rows
from talekeeper.store import participants as participant_rows
from talekeeper.store.keys import is_id

__all__ = [
    "add_character",
    "add_persona",
    "card_of",
    "character_named",
    "delete_character",
    "delete_persona",
    "persona_named",
    "set_learning",
    "update_character",
    "update_persona",
]

_CARD = TypeAdapter(Card)


def _fields(card: Card) -> dict[str, Any]:
    return {name: getattr(card, name) for name in Card.__dataclass_fields__}


def _checked(card: Card) -> Card:
    """The card, if it can be kept."""
    check_texts(asdict(card))
    if card.depth_prompt and card.depth_prompt.depth < 0:
        raise InvalidInput("The depth of a card's note must not be negative.")
    return replace(card, name=checked_name(card.name, "A character's name"))


def add_character(
    connection: Connection,
    account: str,
    card: Card,
    *,
    new_id: str,
    now: datetime,
) -> Character:
    """Add a character made from ``card``, by hand: no file belongs to it."""
    card = _checked(card)
    character = Character(id=new_id, card=card)
    character_rows.insert_character(
        connection,
        account,
        character,
        document=None,
        now=now,
    )
    return character


def update_character(
    connection: Connection,
    account: str,
    character_id: str,
    changes: Mapping[str, Any],
    *,
    now: datetime,
    expected_version: int | None = None,
) -> Character:
    """Replace fields of a character's card. Raises NotFound, Conflict, InvalidInput."""
    found = character_rows.get(connection, account, character_id, lock=True)
    if found is None:
        raise NotFound(f"There is no character {character_id!r}.")
    if expected_version not in (None, found.version):
        raise Conflict("The character changed since it was read. Read it again.")
    card = _checked(card_of({**_fields(found.card), **changes}))
    character = replace(found, card=card, version=found.version + 1)
    character_rows.update_character(
        connection,
        account,
        character,
        document=character_rows.document(connection, account, character_id),
        now=now,
    )
    participant_rows.rename(connection, account, character_id, card.name)
    return character


def set_learning(
    connection: Connection, account: str, character_id: str, learns: bool
) -> Character:
    """Switch *Learn from Chat* of a character on or off. Raises NotFound."""
    found = character_rows.get(connection, account, character_id, lock=True)
    if found is None:
        raise NotFound(f"There is no character {character_id!r}.")
    character_rows.set_learning(connection, account, character_id, learns)
    return replace(found, learns=learns)


def delete_character(
    connection: Connection, account: str, character_id: str, *, new_id: str, now: datetime
) -> None:
    """Delete a character. Its chats stay, under the name it had; its memories and memory entries
    become global, its lorebooks stay. ``new_id`` is for a book of global entries.

    Raises NotFound.
    """
    account_rows.get(connection, account, lock=True)
    if character_rows.get(connection, account, character_id) is None:
        raise NotFound(f"There is no character {character_id!r}.")
    leave_to_global(connection, account, character_id, now=now)
    entries_to_global(connection, account, character_id, new_id=new_id, now=now)
    lore_rows.drop_uses(connection, account, character_id)
    participant_rows.part_with(connection, account, character_id)
    character_rows.remove(connection, account, character_id)


def card_of(fields: Mapping[str, Any]) -> Card:
    """A card from its fields. InvalidInput names the first that is wrong, unknown or missing."""
    unknown = set(fields) - set(Card.__dataclass_fields__)
    if unknown:
        raise InvalidInput(f"A card has no field {sorted(unknown)[0]!r}.")
    if "name" not in fields:
        raise InvalidInput("A character needs a name.")
    try:
        return _CARD.validate_python(dict(fields))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InvalidInput(f"Card field {where!r}: {first['msg']}.") from error


def character_named(connection: Connection, account: str, wanted: str) -> Character:
    """The character of that id, or the only one of that name. Raises NotFound, Ambiguous."""
    found = character_rows.get(connection, account, wanted)
    if found:
        return found
    named = character_rows.by_name(connection, account, wanted)
    if len(named) == 1:
        return named[0]
    if named:
        ids = ", ".join(character.id for character in named)
        raise Ambiguous(f"Several characters are called {wanted!r}: {ids}. Use the id.")
    raise NotFound(f"There is no character {wanted!r}. 'talekeeper characters' lists them.")


def add_persona(
    connection: Connection, account: str, name: str, description: str, *, new_id: str, now: datetime
) -> Persona:
    """Add a persona."""
    persona = Persona(
        id=new_id, name=checked_name(name, "A persona's name"), description=checked(description)
    )
    character_rows.insert_persona(connection, account, persona, now=now)
    return persona


def update_persona(
    connection: Connection,
    account: str,
    persona_id: str,
    *,
    name: str | None = None,
    description: str | None = None,
) -> Persona:
    """Change a persona's name or description. Messages keep the name they were written under."""
    found = _persona(connection, account, persona_id)
    persona = Persona(
        id=found.id,
        name=found.name if name is None else checked_name(name, "A persona's name"),
        description=found.description if description is None else checked(description),
    )
    character_rows.update_persona(connection, account, persona)
    return persona


def delete_persona(connection: Connection, account: str, persona_id: str) -> None:
    """Delete a persona. Its chats go on without one. Raises NotFound."""
    _persona(connection, account, persona_id)
    chat_rows.without_persona(connection, account, persona_id)
    lore_rows.drop_uses(connection, account, persona_id)
    character_rows.remove_persona(connection, account, persona_id)


def _persona(connection: Connection, account: str, persona_id: str) -> Persona:
    found = character_rows.get_persona(connection, account, persona_id)
    if found is None:
        raise NotFound(f"There is no persona {persona_id!r}.")
    return found


def persona_named(
    connection: Connection, account: str, wanted: str, *, new_id: str, now: datetime
) -> Persona:
    """The persona of that id or name, made when there is none of that name. Raises NotFound."""
    if is_id(wanted):
        return _persona(connection, account, wanted)
    account_rows.get(connection, account, lock=True)
    return character_rows.persona_by_name(connection, account, wanted) or add_persona(
        connection, account, wanted, "", new_id=new_id, now=now
    )
