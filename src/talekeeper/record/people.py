"""Accounts, characters, personas and chats: making them and changing them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from hashlib import blake2b
from typing import Any

from sqlalchemy import Connection

from talekeeper.domain.character import Card, Character, Persona
from talekeeper.domain.chat import Channel, Chat
from talekeeper.domain.errors import Ambiguous, Conflict, InvalidInput, NotFound
from talekeeper.domain.limits import LIMITS, Plan, plan_named
from talekeeper.domain.settings import GenerationSettings
from talekeeper.record import messages as message_units
from talekeeper.record.messages import NewMessage, NewSwipe
from talekeeper.record.texts import checked, checked_name
from talekeeper.store import accounts as account_rows
from talekeeper.store import characters as character_rows
from talekeeper.store import chats as chat_rows
from talekeeper.store.accounts import Account
from talekeeper.store.chats import Participant
from talekeeper.store.keys import ChatKey
from talekeeper.text.tokens import tokenizer_named

__all__ = [
    "account_named",
    "account_settings",
    "add_character",
    "add_persona",
    "card_of",
    "change_account_settings",
    "change_chat_settings",
    "character_named",
    "delete_character",
    "delete_persona",
    "fingerprint",
    "join",
    "join_named",
    "leave",
    "persona_named",
    "plan_of",
    "rename_chat",
    "set_plan",
    "start_chat",
    "switch_persona",
    "update_character",
    "update_persona",
]

_TEXT_FIELDS = (
    "name",
    "nickname",
    "description",
    "personality",
    "scenario",
    "first_mes",
    "mes_example",
    "system_prompt",
    "post_history_instructions",
)


def account_named(
    connection: Connection, name: str, *, new_id: str, now: datetime, plan: str = "self_hosted"
) -> Account:
    """The account of that name, made when there is none. InvalidInput for an unknown plan."""
    found = account_rows.find(connection, name=name)
    if found:
        return found
    plan_named(plan)
    account = Account(
        id=new_id, name=checked_name(name, "An account's name"), plan=plan, settings={}
    )
    account_rows.insert_account(connection, account, now=now)
    return account


def set_plan(connection: Connection, account: str, plan: str) -> None:
    """Move an account to another plan. Cells that exist keep their boundaries."""
    plan_named(plan)
    account_rows.update_account(connection, account, plan=plan)


def fingerprint(card: Card) -> bytes:
    """A mark of a card's content; two cards with the same mark are the same card."""
    content = json.dumps(asdict(card), sort_keys=True, ensure_ascii=False)
    return blake2b(content.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _fields(card: Card) -> dict[str, Any]:
    return {name: getattr(card, name) for name in Card.__dataclass_fields__}


def _checked(card: Card) -> Card:
    for field in _TEXT_FIELDS:
        checked(getattr(card, field))
    return replace(card, name=checked_name(card.name, "A character's name"))


def add_character(
    connection: Connection,
    account: str,
    card: Card,
    *,
    new_id: str,
    now: datetime,
    document: Mapping[str, Any] | None = None,
) -> Character:
    """Add a character made from ``card``."""
    card = _checked(card)
    character = Character(id=new_id, card=card)
    character_rows.insert_character(
        connection, account, character, document=document, fingerprint=fingerprint(card), now=now
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
    found = character_rows.get(connection, account, character_id)
    if found is None:
        raise NotFound(f"There is no character {character_id!r}.")
    if expected_version not in (None, found.version):
        raise Conflict("The character changed since it was read. Read it again.")
    card = _checked(card_of({**_fields(found.card), **changes}))
    character = Character(id=found.id, card=card, version=found.version + 1)
    character_rows.update_character(
        connection,
        account,
        character,
        document=character_rows.document(connection, account, character_id),
        fingerprint=fingerprint(card),
        now=now,
    )
    return character


def delete_character(connection: Connection, account: str, character_id: str) -> None:
    """Delete a character. Its chats stay, under the name it had. Raises NotFound."""
    if character_rows.get(connection, account, character_id) is None:
        raise NotFound(f"There is no character {character_id!r}.")
    chat_rows.part_with(connection, account, character_id)
    character_rows.remove(connection, account, character_id)


def card_of(fields: Mapping[str, Any]) -> Card:
    """A card from its fields. InvalidInput for one that does not exist, or without a name."""
    unknown = set(fields) - set(Card.__dataclass_fields__)
    if unknown:
        raise InvalidInput(f"A card has no field {sorted(unknown)[0]!r}.")
    if "name" not in fields:
        raise InvalidInput("A character needs a name.")
    return Card(**fields)


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
    character_rows.remove_persona(connection, account, persona_id)


def _persona(connection: Connection, account: str, persona_id: str) -> Persona:
    found = character_rows.get_persona(connection, account, persona_id)
    if found is None:
        raise NotFound(f"There is no persona {persona_id!r}.")
    return found


def persona_named(
    connection: Connection, account: str, wanted: str, *, new_id: str, now: datetime
) -> Persona:
    """The persona of that id or name, made when there is none of that name."""
    return (
        character_rows.get_persona(connection, account, wanted)
        or character_rows.persona_by_name(connection, account, wanted)
        or add_persona(connection, account, wanted, "", new_id=new_id, now=now)
    )


def start_chat(
    connection: Connection,
    key: ChatKey,
    characters: Sequence[Character],
    *,
    now: datetime,
    title: str | None = None,
    persona: Persona | None = None,
    channel: Channel = "web",
    greet: bool = True,
) -> Chat:
    """Start a chat; each character's greetings become its first message, one swipe each."""
    if not characters:
        raise InvalidInput("A chat needs at least one character.")
    names = ", ".join(character.name for character in characters)
    chat_rows.insert_chat(
        connection,
        key,
        title=checked_name(title, "A title") if title else names[: LIMITS.title_characters],
        channel=channel,
        persona_id=persona.id if persona else None,
        settings={},
        now=now,
    )
    join(connection, key, characters, now=now)
    for character in characters if greet else ():
        texts = (character.card.first_mes, *character.card.alternate_greetings)
        swipes = tuple(NewSwipe(text=text, sent_at=now) for text in texts if text.strip())
        if swipes:
            greeting = NewMessage(role="assistant", swipes=swipes, speaker=character.id)
            message_units.add(connection, key, greeting, now=now)
    return chat_rows.get(connection, key)


def join(
    connection: Connection, key: ChatKey, characters: Sequence[Character], *, now: datetime
) -> None:
    """Add characters to a chat; those in it already stay as they are."""
    chat_rows.state(connection, key, lock=True)
    members = chat_rows.participants_of(connection, key)
    present = {member.character_id for member in members}
    new = [character for character in characters if character.id not in present]
    if len(members) + len(new) > LIMITS.participants:
        raise InvalidInput(f"A chat holds at most {LIMITS.participants} characters.")
    position = max((member.position for member in members), default=-1) + 1
    chat_rows.add_participants(
        connection,
        key,
        [
            Participant(position=position + index, character_id=item.id, name=item.name)
            for index, item in enumerate(new)
        ],
    )
    if new and members:
        chat_rows.change(connection, key, now=now)


def join_named(
    connection: Connection, key: ChatKey, names: Sequence[str], *, now: datetime
) -> None:
    """Add characters, named by id or name, to a chat."""
    found = [character_named(connection, key.account, name) for name in names]
    join(connection, key, found, now=now)


def leave(connection: Connection, key: ChatKey, wanted: str, *, now: datetime) -> None:
    """Take a character, named by id or name, out of a chat. What it said stays."""
    chat_rows.state(connection, key, lock=True)
    members = chat_rows.participants_of(connection, key)
    member = next((m for m in members if wanted in (m.character_id, m.name)), None)
    if member is None:
        raise NotFound(f"{wanted!r} is not in this chat.")
    if len(members) == 1:
        raise InvalidInput("A chat needs at least one character; delete the chat instead.")
    chat_rows.leave(connection, key, member.position)
    chat_rows.change(connection, key, now=now)


def switch_persona(
    connection: Connection, key: ChatKey, wanted: str, new_id: str, *, now: datetime
) -> None:
    """Play another persona from now on; messages keep the name they were written under."""
    chat_rows.state(connection, key, lock=True)
    persona = persona_named(connection, key.account, wanted, new_id=new_id, now=now)
    chat_rows.change(connection, key, now=now, persona_id=persona.id)


def rename_chat(connection: Connection, key: ChatKey, title: str, *, now: datetime) -> None:
    """Give a chat another title."""
    chat_rows.state(connection, key, lock=True)
    chat_rows.change(connection, key, now=now, title=checked_name(title, "A title"))


def change_chat_settings(
    connection: Connection, key: ChatKey, changes: Mapping[str, Any], *, now: datetime
) -> GenerationSettings:
    """Override settings for one chat; a value of None takes an override back."""
    state = chat_rows.state(connection, key, lock=True)
    merged = _merged(state.chat_settings, changes)
    settings = GenerationSettings().changed(**{**state.account_settings, **merged})
    tokenizer_named(settings.tokenizer)
    chat_rows.change(connection, key, now=now, settings=merged)
    return settings


def change_account_settings(
    connection: Connection, account: str, changes: Mapping[str, Any]
) -> GenerationSettings:
    """Set settings for all chats of an account; a value of None goes back to the default."""
    merged = _merged(account_rows.get(connection, account).settings, changes)
    settings = GenerationSettings().changed(**merged)
    tokenizer_named(settings.tokenizer)
    account_rows.update_account(connection, account, settings=merged)
    return settings


def account_settings(connection: Connection, account: str) -> GenerationSettings:
    """The settings in force where a chat does not override them."""
    return GenerationSettings().changed(**account_rows.get(connection, account).settings)


def plan_of(connection: Connection, account: str) -> Plan:
    """The plan an account is on."""
    return plan_named(account_rows.get(connection, account).plan)


def _merged(current: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    unknown = set(changes) - set(GenerationSettings.model_fields)
    if unknown:
        known = ", ".join(GenerationSettings.model_fields)
        raise InvalidInput(f"There is no setting {sorted(unknown)[0]!r}; there are {known}.")
    merged = {**current, **changes}
    return {name: value for name, value in merged.items() if value is not None}
