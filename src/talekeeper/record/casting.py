"""Who speaks in an imported chat: speakers become participants, participants are characters."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime

from sqlalchemy import Connection

from talekeeper.domain.character import Card, Character
from talekeeper.domain.limits import LIMITS
from talekeeper.formats.imported import ImportedMessage, Notice
from talekeeper.record.texts import storable
from talekeeper.store import characters as character_rows
from talekeeper.store import messages as message_rows
from talekeeper.store import participants as participant_rows
from talekeeper.store.keys import ChatKey
from talekeeper.store.participants import Participant

__all__ = ["Casting"]


@dataclass(slots=True)
class Casting:
    """Finds or makes the character behind each speaker.

    A character is found by name; one that is not there is made when the import is finished, by name
    only, for its card to fill later. In a group a speaker is known by ``speaker_key``; elsewhere
    only the chat's own character is a participant, and other names stay names.
    """

    account: str
    new_id: Callable[[], str]
    main: str | None = None
    group: bool = True
    members: list[Participant] = field(default_factory=list)
    joined: list[Participant] = field(default_factory=list)
    made: list[Character] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)

    def character_of(self, connection: Connection, message: ImportedMessage) -> str | None:
        """The id of the character who speaks, None where it is nobody's participant."""
        if message.role != "assistant":
            return None
        name = storable(message.speaker)
        key = message.speaker_key if self.group else None
        for member in (*self.members, *self.joined):
            if (key is not None and key == member.speaker_key) or (
                (key is None or member.speaker_key is None) and name == member.name
            ):
                return member.character_id
        if key is None and self.main not in (None, name):
            return None
        return self._join(connection, name, key)

    def enter(self, connection: Connection) -> None:
        """Let the character that the file names join, though it said nothing yet."""
        if self.main is not None and not (self.members or self.joined):
            self._join(connection, self.main, None)

    def _join(self, connection: Connection, name: str, key: str | None) -> str | None:
        everyone = (*self.members, *self.joined)
        if len(everyone) >= LIMITS.participants:
            return None
        taken = {member.character_id for member in everyone}
        found = [
            character.id
            for character in character_rows.by_name(connection, self.account, name)
            if character.id not in taken
        ]
        if found:
            chosen = found[0]
            if len(found) > 1:
                text = (
                    f"{len(found)} characters are called {name!r}; "
                    f"the chat uses the oldest, {chosen}."
                )
                self.notices.append(Notice(text=text))
        else:
            card = Card(name=name[: LIMITS.title_characters] or "Unnamed")
            character = Character(id=self.new_id(), card=card)
            self.made.append(character)
            chosen = character.id
        position = max((member.position for member in everyone), default=-1) + 1
        self.joined.append(
            Participant(position=position, character_id=chosen, name=name, speaker_key=key)
        )
        if self.main is None:
            self.main = name
        return chosen

    def save(self, connection: Connection, key: ChatKey, *, now: datetime) -> None:
        """Write the new characters and participants.

        A character of that name that another import made meanwhile is taken instead.
        """
        taken = {member.character_id for member in (*self.members, *self.joined)}
        for character in self.made:
            named = character_rows.by_name(connection, self.account, character.name)
            other = next((one.id for one in named if one.id not in taken), None)
            if other is not None:
                self._take(connection, key, character.id, other)
                taken.add(other)
                continue
            character_rows.insert_character(
                connection,
                self.account,
                character,
                document=None,
                now=now,
            )
        participant_rows.add(connection, key, self.joined)

    def _take(self, connection: Connection, key: ChatKey, made: str, other: str) -> None:
        self.joined = [
            replace(one, character_id=other) if one.character_id == made else one
            for one in self.joined
        ]
        message_rows.recast(connection, key, made, other)
