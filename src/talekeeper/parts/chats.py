"""``keeper.chats``: starting, finding, forking, rewinding and deleting chats."""

from collections.abc import Callable, Sequence

from sqlalchemy import Connection

from talekeeper.domain.chat import Channel, Chat
from talekeeper.parts.desk import Desk
from talekeeper.record import chats, forks, people
from talekeeper.record import messages as units
from talekeeper.store import chats as rows

__all__ = ["Chats"]


class Chats:
    """The account's chats."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def start(
        self,
        *characters: str,
        title: str | None = None,
        persona: str | None = None,
        channel: Channel = "web",
        greet: bool = True,
    ) -> Chat:
        """Start a chat with characters, named by id or name.

        ``persona`` is an id or a name; one that does not exist is made. With ``greet`` the
        characters' greetings become the first messages. Raises NotFound, InvalidInput.
        """
        desk, now = self._desk, self._desk.clock()
        account, key = desk.account.id, desk.key(desk.new_id())
        persona_id = desk.new_id()

        def unit(connection: Connection) -> Chat:
            played = (
                people.persona_named(connection, account, persona, new_id=persona_id, now=now)
                if persona
                else None
            )
            return chats.start_chat(
                connection,
                key,
                [people.character_named(connection, account, name) for name in characters],
                now=now,
                title=title,
                persona=played,
                channel=channel,
                greet=greet,
            )

        return await desk.write(unit)

    async def list(self) -> Sequence[Chat]:
        """All chats, the one changed last first."""
        return await self._desk.read(rows.listed, self._desk.account.id)

    async def get(self, chat: str) -> Chat:
        """The chat of that id. Raises NotFound."""
        return await self._desk.read(rows.get, self._desk.key(chat))

    async def find(self, name: str) -> Chat:
        """The chat meant by an id, a unique prefix of one, or a title. Raises Ambiguous too."""
        account = self._desk.account.id
        return await self._desk.read(
            lambda connection: rows.get(connection, rows.find(connection, account, name))
        )

    async def rename(self, chat: str, title: str) -> Chat:
        """Give a chat another title."""
        return await self._changed(chat, chats.rename_chat, title)

    async def set_persona(self, chat: str, persona: str) -> Chat:
        """Play another persona from now on; one that does not exist is made."""
        return await self._changed(chat, chats.switch_persona, persona, self._desk.new_id())

    async def join(self, chat: str, *characters: str) -> Chat:
        """Add characters, named by id or name."""
        return await self._changed(chat, chats.join_named, characters)

    async def leave(self, chat: str, character: str) -> Chat:
        """Take a character out of a group. What it said stays. Raises NotFound, InvalidInput."""
        return await self._changed(chat, chats.leave, character)

    async def fork(self, chat: str, number: int, *, title: str | None = None) -> Chat:
        """A new chat that starts as a copy up to and including message ``number``."""
        desk, now = self._desk, self._desk.clock()
        source, target = desk.key(chat), desk.key(desk.new_id())

        def unit(connection: Connection) -> Chat:
            forks.fork(connection, source, target, number, now=now, title=title)
            return rows.get(connection, target)

        return await desk.write(unit)

    async def rewind(self, chat: str, number: int, *, expected_version: int | None = None) -> int:
        """Delete every message above ``number``; answers how many. Raises Conflict.

        A tool call of which a result is deleted goes too, with all its results.
        """
        desk = self._desk
        return await desk.write(
            units.rewind,
            desk.key(chat),
            number,
            now=desk.clock(),
            expected_version=expected_version,
        )

    async def delete(self, chat: str) -> None:
        """Delete a chat and all that hangs on it. Characters and personas stay."""
        await self._desk.write(chats.delete, self._desk.key(chat))

    async def _changed(self, chat: str, change: Callable[..., object], *args: object) -> Chat:
        key, now = self._desk.key(chat), self._desk.clock()

        def unit(connection: Connection) -> Chat:
            change(connection, key, *args, now=now)
            return rows.get(connection, key)

        return await self._desk.write(unit)
