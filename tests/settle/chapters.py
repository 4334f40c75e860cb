"""Chats whose cells are long enough to be read for memories, and a model that reads them."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from talekeeper import Keeper
from talekeeper.domain.deeper import DeeperChange, DeeperPass
from talekeeper.domain.memory import Memory
from talekeeper.testing import ModelRequest, Step, steps

__all__ = ["Model", "adding", "begin", "changes", "operations", "passes", "saved", "tell_on"]

Answer = Step | Callable[[ModelRequest], Step]


def operations(*wanted: Mapping[str, Any] | str | None) -> Step:
    """An answer that wants these operations."""
    return steps.answer(json.dumps({"operations": wanted}, ensure_ascii=False))


def adding(text: str, quote: str, **more: Any) -> dict[str, Any]:
    """An operation that adds a memory."""
    return {"action": "add", "text": text, "quote": quote, "reason": "It stays true."} | more


class Model:
    """A script: readings are answered in order, the last answer again and again; to anything else
    it says that they met."""

    def __init__(self, *readings: Answer) -> None:
        self._readings = readings or (operations(),)
        self.asked: list[ModelRequest] = []

    def __call__(self, request: ModelRequest) -> Step:
        if '"operations"' not in request.text:
            return steps.answer("They met.")
        at = min(len(self.asked), len(self._readings) - 1)
        self.asked.append(request)
        answer = self._readings[at]
        return answer if isinstance(answer, Step) else answer(request)


async def begin(keeper: Keeper, *first: str, title: str = "Wells", **started: Any) -> str:
    """A new chat with Mira, whose first cell is these messages, and one that follows.

    Only the first cell has left the live window then.
    """
    if not any(one.name == "Mira" for one in await keeper.characters.list()):
        await keeper.characters.add(name="Mira")
    chat = (await keeper.chats.start("Mira", title=title, **started)).id
    await tell_on(keeper, chat, *first)
    await tell_on(keeper, chat)
    return chat


_PADDING = "We walk on to the next well and look for water, all of us."


async def tell_on(keeper: Keeper, chat: str, *said: str) -> None:
    """One more cell: a turn of at least four messages, the first of them by the user."""
    said = (*said, *[_PADDING] * (4 - len(said)))
    await keeper.record(chat, said[0])
    for text in said[1:]:
        await keeper.record(chat, text, role="assistant", speaker="Mira")


async def passes(keeper: Keeper, chat: str) -> list[DeeperPass]:
    """What deeper memory did in a chat."""
    return list((await keeper.memories.deeper(chat)).passes)


async def changes(keeper: Keeper, chat: str) -> list[DeeperChange]:
    """All changes that its passes wanted."""
    return [change for one in await passes(keeper, chat) for change in one.changes]


async def saved(keeper: Keeper) -> list[str]:
    """The texts of all memories, Mira's first."""
    found: list[Memory] = []
    for character in [*(one.id for one in await keeper.characters.list()), None]:
        found += (await keeper.memories.list(character)).memories
    return [memory.text for memory in found]
