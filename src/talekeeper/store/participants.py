"""Who takes part in a chat: characters, in an order, under the names they joined with."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, and_, bindparam, delete, insert, select, update

from talekeeper.domain.character import Character
from talekeeper.store.characters import card_from_json
from talekeeper.store.copying import copied
from talekeeper.store.keys import ChatKey
from talekeeper.store.tables import characters, participants

__all__ = [
    "Participant",
    "add",
    "cast",
    "copy",
    "learning",
    "leave",
    "of_chat",
    "part_with",
    "rename",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Participant:
    """A character in a chat. ``name`` and ``speaker_key`` are as when it joined."""

    position: int
    character_id: str | None
    name: str
    speaker_key: str | None = None


def add(connection: Connection, key: ChatKey, members: Sequence[Participant]) -> None:
    """Add characters to a chat; positions are the caller's."""
    if members:
        connection.execute(
            insert(participants),
            [
                {
                    "account_id": key.account,
                    "chat_id": key.chat,
                    "position": member.position,
                    "character_id": member.character_id,
                    "name": member.name,
                    "speaker_key": member.speaker_key,
                }
                for member in members
            ],
        )


_PARTICIPANTS = (
    select(
        participants.c.position,
        participants.c.character_id,
        participants.c.name,
        participants.c.speaker_key,
    )
    .where(
        participants.c.account_id == bindparam("account"),
        participants.c.chat_id == bindparam("chat"),
    )
    .order_by(participants.c.position)
)
_CAST = _PARTICIPANTS.add_columns(
    characters.c.card, characters.c.version, characters.c.learns
).outerjoin_from(
    participants,
    characters,
    and_(
        characters.c.account_id == participants.c.account_id,
        characters.c.id == participants.c.character_id,
    ),
)


def of_chat(connection: Connection, key: ChatKey) -> list[Participant]:
    """The characters of a chat in order."""
    rows = connection.execute(_PARTICIPANTS, key._asdict())
    return [Participant(**row._mapping) for row in rows]


_LEARNING = (
    select(participants.c.character_id, characters.c.learns)
    .join_from(
        participants,
        characters,
        and_(
            characters.c.account_id == participants.c.account_id,
            characters.c.id == participants.c.character_id,
        ),
    )
    .where(
        participants.c.account_id == bindparam("account"),
        participants.c.chat_id == bindparam("chat"),
    )
)


def learning(connection: Connection, key: ChatKey) -> dict[str, bool]:
    """Whether each character of a chat, by id, learns from it."""
    return {row.character_id: row.learns for row in connection.execute(_LEARNING, key._asdict())}


def cast(connection: Connection, key: ChatKey) -> list[tuple[Participant, Character | None]]:
    """The participants in order, each with its character (None where that was deleted)."""
    rows = connection.execute(_CAST, key._asdict())
    return [
        (
            Participant(
                position=row.position,
                character_id=row.character_id,
                name=row.name,
                speaker_key=row.speaker_key,
            ),
            Character(
                id=row.character_id,
                card=card_from_json(row.card),
                version=row.version,
                learns=row.learns,
            )
            if row.card is not None
            else None,
        )
        for row in rows
    ]


def copy(connection: Connection, source: ChatKey, target: ChatKey) -> None:
    """Give another chat of the account the same characters."""
    connection.execute(copied(participants, source, target))


def leave(connection: Connection, key: ChatKey, position: int) -> None:
    """Take a participant out of a chat."""
    connection.execute(
        delete(participants).where(
            participants.c.account_id == key.account,
            participants.c.chat_id == key.chat,
            participants.c.position == position,
        )
    )


def rename(connection: Connection, account: str, character_id: str, name: str) -> None:
    """Give a character its new name in all its chats."""
    connection.execute(
        update(participants)
        .where(participants.c.account_id == account, participants.c.character_id == character_id)
        .values(name=name)
    )


def part_with(connection: Connection, account: str, character_id: str) -> None:
    """Let go of a character in all chats: its name stays."""
    connection.execute(
        update(participants)
        .where(participants.c.account_id == account, participants.c.character_id == character_id)
        .values(character_id=None)
    )
