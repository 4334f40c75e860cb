"""Chats: starting one, who is in it, its title and its persona."""

from collections.abc import Sequence
from datetime import datetime
from typing import get_args

from sqlalchemy import Connection

from talekeeper.domain.character import Character, Persona
from talekeeper.domain.chat import Channel, Chat
from talekeeper.domain.errors import InvalidInput, NotFound
from talekeeper.domain.limits import LIMITS
from talekeeper.record import messages as message_units
from talekeeper.record import people
from talekeeper.record.journal import purge_unseen
from talekeeper.record.messages import NewMessage, NewSwipe
from talekeeper.record.texts import checked_name
from talekeeper.store import chats as chat_rows
from talekeeper.store import lore as lore_rows
from talekeeper.store import memories as memory_rows
from talekeeper.store import participants as participant_rows
from talekeeper.store import revisions as revision_rows
from talekeeper.store.keys import ChatKey
from talekeeper.store.participants import Participant

__all__ = ["join", "join_named", "leave", "rename_chat", "start_chat", "switch_persona"]


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
    """Start a chat; each character's greetings become its first message, one swipe each.

    Of a card with more greetings than a message may have swipes the first ones are taken.
    """
    if not characters:
        raise InvalidInput("A chat needs at least one character.")
    if channel not in get_args(Channel):
        known = ", ".join(get_args(Channel))
        raise InvalidInput(f"There is no channel {channel!r}; there are {known}.")
    characters = list({character.id: character for character in characters}.values())
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
        told = [text for text in texts if text.strip()][: LIMITS.swipes]
        swipes = tuple(NewSwipe(text=text, sent_at=now) for text in told)
        if swipes:
            greeting = NewMessage(role="assistant", swipes=swipes, speaker=character.id)
            message_units.add(connection, key, greeting, now=now)
    return chat_rows.get(connection, key)


def join(
    connection: Connection, key: ChatKey, characters: Sequence[Character], *, now: datetime
) -> None:
    """Add characters to a chat; those in it already stay as they are."""
    chat_rows.state(connection, key, lock=True)
    members = participant_rows.of_chat(connection, key)
    present = {member.character_id for member in members}
    new = [character for character in characters if character.id not in present]
    if len(members) + len(new) > LIMITS.participants:
        raise InvalidInput(f"A chat holds at most {LIMITS.participants} characters.")
    position = max((member.position for member in members), default=-1) + 1
    participant_rows.add(
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
    found = [people.character_named(connection, key.account, name) for name in names]
    join(connection, key, found, now=now)


def delete(connection: Connection, key: ChatKey) -> None:
    """Delete a chat and all that hangs on it. Memories made in it stay, but for those that only a
    text could bring back which is not shown."""
    chat_rows.state(connection, key, lock=True)
    hidden = revision_rows.of_messages(connection, key, active=False)
    if hidden:
        # Before the receipts go with the chat: who deletes memories for good locks in this order.
        memory_rows.lock(connection, key.account)
    chat_rows.remove(connection, key)
    lore_rows.drop_uses(connection, key.account, key.chat)
    if hidden:
        purge_unseen(connection, key.account, {revision.memory for revision in hidden})


def leave(connection: Connection, key: ChatKey, wanted: str, *, now: datetime) -> None:
    """Take a character, named by id or name, out of a chat. What it said stays."""
    chat_rows.state(connection, key, lock=True)
    members = participant_rows.of_chat(connection, key)
    member = next((m for m in members if wanted in (m.character_id, m.name)), None)
    if member is None:
        raise NotFound(f"{wanted!r} is not in this chat.")
    if len(members) == 1:
        raise InvalidInput("A chat needs at least one character; delete the chat instead.")
    participant_rows.leave(connection, key, member.position)
    chat_rows.change(connection, key, now=now)


def rename_chat(connection: Connection, key: ChatKey, title: str, *, now: datetime) -> None:
    """Give a chat another title."""
    chat_rows.state(connection, key, lock=True)
    chat_rows.change(connection, key, now=now, title=checked_name(title, "A title"))


def switch_persona(
    connection: Connection, key: ChatKey, wanted: str, new_id: str, *, now: datetime
) -> None:
    """Play another persona from now on; messages keep the name they were written under."""
    chat_rows.state(connection, key, lock=True)
    persona = people.persona_named(connection, key.account, wanted, new_id=new_id, now=now)
    chat_rows.change(connection, key, now=now, persona_id=persona.id)
