"""What tests of replies share: a chat with a model that follows a script, and what came of it."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from talekeeper import Endpoint, Keeper, Message, OpenAICompatible
from talekeeper.domain.memory import Memory
from talekeeper.store.database import Database
from talekeeper.store.memory_tables import memory_revisions, usage
from talekeeper.testing import FakeModelServer, Ids, ModelRequest, Step, TickingClock, steps
from tests.conftest import opened_database

__all__ = ["Talk", "add", "call", "drop", "talking", "update"]


@dataclass(frozen=True, kw_only=True)
class Talk:
    """A chat of Anna's with Mira. ``server`` is the model, ``database`` where it is all kept."""

    keeper: Keeper
    server: FakeModelServer
    model: OpenAICompatible
    database: Database
    chat: str
    mira: str

    async def said(self, chat: str | None = None) -> list[str]:
        """The texts that are shown."""
        return [message.text for message in await self.messages(chat)]

    async def messages(self, chat: str | None = None) -> Sequence[Message]:
        return await self.keeper.messages.list(chat or self.chat)

    async def memories(self, character: str | None = None) -> list[Memory]:
        """Those of a scope, the first of them first."""
        view = await self.keeper.memories.list(character)
        return sorted(view.memories, key=lambda memory: memory.id)

    async def texts(self, character: str | None = None) -> list[str]:
        return [memory.text for memory in await self.memories(character)]

    async def journal(self) -> int:
        """How many revisions there are, of all accounts."""
        return await self._count(memory_revisions)

    async def used(self) -> int:
        """How many answers of models were noted, of all accounts."""
        return await self._count(usage)

    async def _count(self, table: Any) -> int:
        return await self.database.read(
            lambda connection: len(connection.execute(select(table)).all())
        )


@asynccontextmanager
async def talking(
    url: str,
    *script: Step,
    choose: Callable[[ModelRequest], Step] | None = None,
    patience: float = 20.0,
    said: str | None = "Hello.",
) -> AsyncIterator[Talk]:
    """Anna has ``said`` something to Mira, and the model is asked next; it has so many seconds of
    ``patience``."""
    async with (
        FakeModelServer(choose or list(script) or None) as server,
        opened_database(url) as database,
    ):
        model = OpenAICompatible(
            Endpoint(base_url=server.base_url, model="fake-model", timeout=patience)
        )
        try:
            keeper = await Keeper.of(
                database, "alice", chat_model=model, clock=TickingClock(), new_id=Ids(1)
            )
            mira = await keeper.characters.add(name="Mira")
            chat = await keeper.chats.start("Mira", persona="Anna")
            if said is not None:
                await keeper.record(chat.id, said)
            yield Talk(
                keeper=keeper,
                server=server,
                model=model,
                database=database,
                chat=chat.id,
                mira=mira.id,
            )
        finally:
            await model.close()


Call = tuple[str, Mapping[str, Any]]


def add(text: str, scope: str = "character") -> Call:
    return "add_memory", {"text": text, "scope": scope}


def update(memory: int | str, text: str) -> Call:
    return "update_memory", {"id": memory, "text": text}


def drop(memory: int | str) -> Call:
    return "delete_memory", {"id": memory}


def call(*calls: Call, text: str | None = None) -> Step:
    return steps.calling(*calls, text=text)
