"""A small chat in which every turn is a cell, and keepers whose summaries a fake model writes."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from talekeeper import Keeper, Message
from talekeeper.domain.summary import Summary
from talekeeper.models.chat_model import Endpoint
from talekeeper.models.openai_compatible import OpenAICompatible
from talekeeper.settle.settler import Settler, settler_of
from talekeeper.store.database import Database
from talekeeper.testing import FakeModelServer, Ids, Script, TickingClock
from tests.conftest import opened_database

__all__ = [
    "START",
    "House",
    "model_of",
    "nodes",
    "opened_house",
    "stopped",
    "tell",
]

START = datetime(2026, 5, 12, 9, 0, tzinfo=UTC)


def stopped() -> TickingClock:
    """A clock that moves only when told to."""
    return TickingClock(START, timedelta(0))


@asynccontextmanager
async def model_of(server: FakeModelServer, **endpoint: Any) -> AsyncIterator[OpenAICompatible]:
    """A model behind the server, closed at the end."""
    settings = {"base_url": server.base_url, "model": "fake-model", **endpoint}
    model = OpenAICompatible(Endpoint(**settings))
    try:
        yield model
    finally:
        await model.close()


class House:
    """A database, its keeper, a clock that stands still, and the server of the model."""

    def __init__(
        self,
        *,
        url: str,
        database: Database,
        keeper: Keeper,
        server: FakeModelServer,
        model: OpenAICompatible,
        clock: TickingClock,
    ) -> None:
        self.url = url
        self.database = database
        self.keeper = keeper
        self.server = server
        self.model = model
        self.clock = clock
        self._ids = iter(range(50, 1_000))

    def settler(self, *, lease_seconds: float = 60.0) -> Settler:
        """One more who settles, with ids of its own."""
        return settler_of(
            self.database,
            model=self.model,
            clock=self.clock,
            new_id=Ids(next(self._ids)),
            lease_seconds=lease_seconds,
        )

    def later(self, seconds: float) -> None:
        """Let time go by."""
        self.clock.now += timedelta(seconds=seconds)


@asynccontextmanager
async def opened_house(
    script: Script | None = None, *, url: str = "sqlite://", **endpoint: Any
) -> AsyncIterator[House]:
    """All of it, with settings under which a turn of :func:`tell` is a cell of its own."""
    clock = stopped()
    async with (
        FakeModelServer(script) as server,
        model_of(server, **endpoint) as model,
        opened_database(url) as database,
    ):
        keeper = await Keeper.of(database, "alice", summary_model=model, clock=clock, new_id=Ids(1))
        await keeper.settings.change(
            context_limit=400, reserve=0, tokenizer="approximate", main_prompt="Play {{char}}."
        )
        yield House(
            url=url, database=database, keeper=keeper, server=server, model=model, clock=clock
        )


async def tell(
    keeper: Keeper,
    *,
    turns: int = 2,
    chat: str | None = None,
    title: str = "Wells",
    say: Callable[[int], str] = "Day {}: we walk on to the next well and look for water.".format,
) -> str:
    """Tell that many turns, in a new chat or in one that is there; answers its id.

    Two turns have one cell that is due: the newest one is never.
    """
    if chat is None:
        if not await keeper.characters.list():
            await keeper.characters.add(name="Mira")
        chat = (await keeper.chats.start("Mira", title=title)).id
    last: Message | None = None
    for turn in range(1, turns + 1):
        await keeper.record(chat, say(turn))
        text = f"Night {turn}: it rains on us until we wake up and walk on."
        last = await keeper.record(chat, text, role="assistant", speaker="Mira")
    assert last is not None
    return chat


async def nodes(keeper: Keeper, chat: str) -> list[Summary]:
    """The nodes of a chat's summary."""
    return list((await keeper.summaries.show(chat)).nodes)
