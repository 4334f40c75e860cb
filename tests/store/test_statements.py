"""Statements a unit of work takes: a constant number, whatever the size of the chat."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from talekeeper import Keeper
from talekeeper.domain.chat import Role
from tests.conftest import OpenKeeper, run

COMPOSE_AT_MOST = 8


@contextmanager
def counted() -> Iterator[list[str]]:
    """Collects the statements that run meanwhile, on every engine."""
    seen: list[str] = []

    def note(_c: object, _cursor: object, statement: str, *_rest: object) -> None:
        if not statement.startswith(("BEGIN", "SHOW", "SELECT pg_catalog")):
            seen.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(Engine, "before_cursor_execute", note)


async def _chat_of(keeper: Keeper, messages: int) -> str:
    for name in ("Mira", "Lena"):
        await keeper.characters.add(name=name)
    chat = await keeper.chats.start("Mira", "Lena", persona="Anna")
    for number in range(messages):
        speaker = (None, "Mira", "Lena")[number % 3]
        role: Role = "assistant" if speaker else "user"
        await keeper.record(chat.id, f"Said {number}.", role=role, speaker=speaker)
    await keeper.messages.exclude(chat.id, 1, 2, messages - 1)
    return chat.id


@pytest.mark.parametrize("messages", [6, 120])
def test_compose_takes_few_statements(open_keeper: OpenKeeper, messages: int) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            chat = await _chat_of(keeper, messages)
            ways: tuple[dict[str, Any], ...] = (
                {},
                {"input": "Hello."},
                {"speaker": "Lena", "mode": "continue"},
                {"replacing": messages if messages % 3 != 1 else messages - 1},
            )
            for arguments in ways:
                with counted() as seen:
                    await keeper.compose(chat, **arguments)
                assert len(seen) <= COMPOSE_AT_MOST, (arguments, seen)
                assert not any(s.startswith(("INSERT", "UPDATE", "DELETE")) for s in seen)

    run(story())


def test_a_fork_takes_the_same_statements_whatever_its_length(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            chat = await _chat_of(keeper, 120)
            lengths = []
            for number in (3, 120):
                with counted() as seen:
                    await keeper.chats.fork(chat, number)
                lengths.append(len(seen))
            assert lengths[0] == lengths[1]

    run(story())


def test_listing_chats_takes_two_statements(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            await keeper.characters.add(name="Mira")
            for _ in range(30):
                await keeper.chats.start("Mira")
            with counted() as seen:
                assert len(await keeper.chats.list()) == 30
            assert len(seen) == 2

    run(story())


def test_the_nodes_of_a_summary_are_found_by_their_places(tmp_path: Path) -> None:
    """Read all of a chat's nodes for each that is made, and a long chat takes ever longer."""
    plans: dict[str, str] = {}

    def explain(_c: Any, cursor: Any, statement: str, parameters: Any, *_rest: object) -> None:
        if "summaries" in statement and "position" in statement.partition("WHERE")[2]:
            found = cursor.connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
            plans[statement] = " ".join(row[3] for row in found)

    async def story() -> None:
        async with Keeper.open(tmp_path / "tale.db", settle="off") as keeper:
            chat = await _chat_of(keeper, 600)
            event.listen(Engine, "before_cursor_execute", explain)
            try:
                await keeper.summaries.settle(chat)
                await keeper.messages.edit(chat, 12, "Said otherwise.")
                await keeper.summaries.settle(chat)
            finally:
                event.remove(Engine, "before_cursor_execute", explain)

    run(story())
    by_place = [plan for statement, plan in plans.items() if "tier IN" in statement]
    assert by_place
    assert [plan for plan in by_place if "tier=? AND position=?" not in plan] == []
    assert [plan for plan in plans.values() if "SCAN summaries" in plan] == []
