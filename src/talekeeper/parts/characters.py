"""``keeper.characters`` and ``keeper.personas``."""

from collections.abc import Sequence
from typing import Any

from talekeeper.domain.character import Card, Character, Persona
from talekeeper.parts.desk import Desk
from talekeeper.record import people
from talekeeper.store import characters as rows

__all__ = ["Characters", "Personas"]


class Characters:
    """The account's characters."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def add(self, /, card: Card | None = None, **fields: Any) -> Character:
        """Add a character from a card, or from the fields of one (``name`` at least)."""
        desk = self._desk
        return await desk.write(
            people.add_character,
            desk.account.id,
            card or people.card_of(fields),
            new_id=desk.new_id(),
            now=desk.clock(),
        )

    async def list(self) -> Sequence[Character]:
        """All characters, by name."""
        return await self._desk.read(rows.listed, self._desk.account.id)

    async def get(self, character: str) -> Character:
        """The character of that id, or the only one of that name. Raises NotFound."""
        return await self._desk.read(people.character_named, self._desk.account.id, character)

    async def update(
        self, /, character: str, *, expected_version: int | None = None, **fields: Any
    ) -> Character:
        """Replace fields of a character's card. Raises NotFound, Conflict, InvalidInput."""
        desk = self._desk
        return await desk.write(
            people.update_character,
            desk.account.id,
            character,
            fields,
            now=desk.clock(),
            expected_version=expected_version,
        )

    async def delete(self, character: str) -> None:
        """Delete a character. Its chats stay, under its name; its memories and memory entries
        become global, its lorebooks stay."""
        desk = self._desk
        await desk.write(
            people.delete_character,
            desk.account.id,
            character,
            new_id=desk.new_id(),
            now=desk.clock(),
        )

    async def learn(self, character: str, on: bool) -> Character:
        """Switch *Learn from Chat* on or off. Off, its memories are kept but not read, and none are
        made of what is said meanwhile. Raises NotFound."""
        return await self._desk.write(people.set_learning, self._desk.account.id, character, on)


class Personas:
    """Whom the user plays."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def add(self, name: str, description: str = "") -> Persona:
        """Add a persona."""
        desk = self._desk
        return await desk.write(
            people.add_persona,
            desk.account.id,
            name,
            description,
            new_id=desk.new_id(),
            now=desk.clock(),
        )

    async def update(
        self, persona: str, *, name: str | None = None, description: str | None = None
    ) -> Persona:
        """Change a persona, given by id. Messages keep the name they were written under."""
        return await self._desk.write(
            people.update_persona,
            self._desk.account.id,
            persona,
            name=name,
            description=description,
        )

    async def delete(self, persona: str) -> None:
        """Delete a persona, given by id. Its chats go on without one."""
        await self._desk.write(people.delete_persona, self._desk.account.id, persona)

    async def list(self) -> Sequence[Persona]:
        """All personas, by name."""
        return await self._desk.read(rows.listed_personas, self._desk.account.id)
