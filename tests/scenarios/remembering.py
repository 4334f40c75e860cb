"""The steps of a scenario that are about memories, and the listing of what is saved."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from talekeeper import NotFound, ToolCall
from tests.scenarios.comparing import Mismatch, compare
from tests.scenarios.script import Cleared, Regenerated, Remembered, Said, Write
from tests.scenarios.scripted import Actors
from tests.scenarios.shown import expected_messages, memory_line, sent_messages, to_json

__all__ = ["MEMORY_VERBS", "Remembering"]

MEMORY_VERBS = frozenset(
    {
        "remember",
        "edit_memory",
        "delete_memory",
        "pin",
        "unpin",
        "move",
        "restore",
        "undo",
        "undo_turn",
        "clear",
        "learn_on",
        "learn_off",
        "delete_chat",
        "delete_character",
        "wait",
    }
)


@dataclass
class Remembering:
    """What people and characters do with memories; ``chats`` is what the scenario's names mean."""

    actors: Actors
    chats: Mapping[str, str]

    async def act(self, chat: str, verb: str, value: Any) -> None:
        """What a person does."""
        keeper = self.actors.keeper
        memories = keeper.memories
        match verb:
            case "remember":
                await self._remember(value)
            case "edit_memory":
                await memories.edit(value.memory, value.text)
            case "delete_memory":
                await memories.delete(value)
            case "pin" | "unpin" | "restore":
                await getattr(memories, verb)(value)
            case "move":
                await memories.move(value.memory, await self._scope(value.to))
            case "undo":
                await memories.undo(value.memory, value.change)
            case "undo_turn":
                await memories.undo_turn(chat, value)
            case "clear":
                await self._clear(value)
            case "learn_on" | "learn_off":
                await keeper.characters.learn(await self._id(value), verb == "learn_on")
            case "delete_chat":
                await keeper.chats.delete(self.chats[value])
            case "delete_character":
                await keeper.characters.delete(await self._id(value))
            case "wait":
                self.actors.clock.now += timedelta(days=value)

    async def reply(
        self, chat: str, value: Said | Regenerated, *, replacing: int | None = None
    ) -> None:
        """A character replies, and writes memories meanwhile."""
        model = self.actors.model
        writes = value.writes or []
        model.text = value.text
        model.calls = [_call(number, write) for number, write in enumerate(writes, 1)]
        told: list[str] = []
        reply = await self.actors.keeper.reply(
            chat,
            speaker=value.by if isinstance(value, Said) else None,
            replacing=replacing,
            now=self.actors.clock(),
            on_call=lambda _, result: told.append(result),
        )
        if value.sees is not None:
            compare(
                "what the model sees", expected_messages(value.sees), sent_messages(reply.context)
            )
        if len(told) != len(writes):
            raise Mismatch("no tools were offered to write memories with: set `tools: true`")
        for write, result in zip(writes, told, strict=True):
            said = json.loads(result)
            if said["ok"] != (write.told is None) or (write.told or "") not in result:
                raise Mismatch(f"the model was told of its write: {result}")

    async def compare(self, wanted: Mapping[str, Sequence[Mapping[int | str, str]]]) -> None:
        """Hold the listed scopes, and ``trash``, against what is saved; in the order of ids."""
        memories = self.actors.keeper.memories
        for name, items in wanted.items():
            if name == "trash":
                found = list(await memories.trash())
            else:
                scope = None if name == "global" else await self._id(name)
                found = list((await memories.list(scope)).memories)
            compare(
                f"the memories of {name}",
                [f"{head}: {text}" for item in items for head, text in item.items()],
                [memory_line(memory) for memory in sorted(found, key=lambda one: one.id)],
            )

    async def _remember(self, value: Remembered) -> None:
        scope = await self._scope(value.of)
        await self.actors.keeper.memories.add(
            value.text, character=scope, pinned=value.pinned, even_if_similar=True
        )

    async def _clear(self, value: Cleared) -> None:
        scope = await self._scope(value.of)
        cleared = await self.actors.keeper.memories.clear(scope, pinned=value.pinned)
        if value.cleared is not None:
            compare("the number of memories cleared", [value.cleared], [cleared])

    async def _scope(self, name: str | None) -> str | None:
        return None if name is None else await self._id(name)

    async def _id(self, name: str) -> str:
        for character in await self.actors.keeper.characters.list():
            if character.name == name:
                return character.id
        raise NotFound(f"There is no character {name!r}.")


def _call(number: int, write: Write) -> ToolCall:
    given: dict[str, Any]
    if write.add is not None:
        name, given = "add_memory", {"text": write.add, "scope": write.scope}
    elif write.update is not None:
        name, given = "update_memory", {"id": write.update, "text": write.text}
    else:
        name, given = "delete_memory", {"id": write.delete}
    return ToolCall(id=f"w{number}", name=name, arguments=to_json(given))
