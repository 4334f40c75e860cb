"""A maker of summaries whose texts say exactly what they were made from, and a chat model that
replies what it is told to."""

import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from talekeeper import Keeper
from talekeeper.domain.chat import ToolCall
from talekeeper.domain.summary import Summariser
from talekeeper.models.chat_model import Answer
from talekeeper.settle.settler import Settler
from talekeeper.settle.summarize import Made, SummaryRequest
from talekeeper.store.database import Database
from talekeeper.testing import Ids, TickingClock
from talekeeper.text.condense import Passage
from tests.conftest import opened_database

__all__ = ["Actors", "ScriptedMaker", "ScriptedModel", "actors", "scripted_settler"]


class ScriptedModel:
    """Calls the tools in ``calls`` first, if it is offered any; then it says ``text``."""

    name = "scripted"

    def __init__(self) -> None:
        self.text = ""
        self.calls: Sequence[ToolCall] = ()

    async def complete(
        self, messages: Sequence[Mapping[str, str]], *, most_tokens: int, temperature: float
    ) -> Answer:
        """The text."""
        return Answer(text=self.text)

    async def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        most_tokens: int,
        on_text: Callable[[str], None],
    ) -> Answer:
        """The calls, and once they have their results the text."""
        if tools and self.calls and messages[-1]["role"] != "tool":
            return Answer(text="", calls=tuple(self.calls))
        on_text(self.text)
        return Answer(text=self.text)

    async def close(self) -> None:
        """It has no connections."""


class ScriptedMaker:
    """``Hello … Bye (16)`` for sixteen messages: how the first and the last of them begin.

    A summary that takes the place of messages stands in it whole, between angle quotes; of several
    that follow one another the first and the last do.
    """

    summariser: Summariser = "local"
    model: str | None = None

    async def make(self, request: SummaryRequest) -> Made:
        """The summary; empty for nothing."""
        return Made("; ".join(_parts(request.passages)))


_BEGINNING = re.compile(r"[.,:;!?]")


def _parts(passages: Sequence[Passage]) -> Iterator[str]:
    for said, run in groupby(passages, key=lambda passage: bool(passage.speaker)):
        texts = [passage.text for passage in run]
        told = [_BEGINNING.split(text)[0] if said else f"«{text}»" for text in texts]
        yield told[0] if len(told) == 1 else f"{told[0]} … {told[-1]} ({len(told)})"


def scripted_settler(database: Database) -> Settler:
    """A Settler that lets it make all summaries."""
    return Settler(database, local=ScriptedMaker(), clock=TickingClock(), new_id=Ids(1_000))


@dataclass(frozen=True, kw_only=True)
class Actors:
    """Who plays a scenario, and the clock they go by."""

    keeper: Keeper
    model: ScriptedModel
    clock: TickingClock


@asynccontextmanager
async def actors(url: str) -> AsyncIterator[Actors]:
    """Everybody whom a scenario needs, on an empty database."""
    async with opened_database(url) as database:
        model, clock = ScriptedModel(), TickingClock()
        keeper = await Keeper.of(
            database,
            "alice",
            chat_model=model,
            settler=scripted_settler(database),
            clock=clock,
            new_id=Ids(),
        )
        yield Actors(keeper=keeper, model=model, clock=clock)
