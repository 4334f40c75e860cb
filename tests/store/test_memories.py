"""Saved memories in the store: the caps under many writers, what is read, and of whom."""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from talekeeper import LIMITS, Keeper
from talekeeper.domain.errors import ScopeFull
from talekeeper.domain.memory import Memory
from talekeeper.record.memory_writes import Applied, MemoryWrite, apply_writes
from talekeeper.store import accounts
from talekeeper.store.database import Database
from talekeeper.testing import Ids, TickingClock
from tests.conftest import OpenKeeper, opened_database, run
from tests.store.test_statements import counted

WRITERS = 50


@asynccontextmanager
async def _several(
    url: str, how_many: int = 5
) -> AsyncIterator[tuple[list[Keeper], list[Database]]]:
    """Several Keepers of Alice's on one database: a file is opened by each anew."""
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(opened_database(url))
        databases = [first]
        if url != "sqlite://":
            more = [await stack.enter_async_context(opened_database(url)) for _ in range(how_many)]
            databases += more
        keepers = [
            await Keeper.of(database, "alice", clock=TickingClock(), new_id=Ids(seed))
            for seed, database in enumerate(databases, 1)
        ]
        yield keepers, databases


async def _at_once(count: int, work: Callable[[int], Coroutine[Any, Any, None]]) -> None:
    async with anyio.create_task_group() as tasks:
        for number in range(count):
            tasks.start_soon(work, number)


@pytest.mark.parametrize(
    ("pinned", "cap"), [(False, LIMITS.memories), (True, LIMITS.pinned_memories)]
)
def test_the_cap_holds_under_fifty_writers(database_url: str, pinned: bool, cap: int) -> None:
    each = -(-cap // WRITERS) + 1

    async def story() -> None:
        async with _several(database_url) as (keepers, _):
            added: list[Memory | None] = []
            full: list[ScopeFull] = []

            async def write(number: int) -> None:
                keeper = keepers[number % len(keepers)]
                for turn in range(each):
                    try:
                        done = await keeper.memories.add(
                            f"Говорит {number}, {turn}.", pinned=pinned, even_if_similar=True
                        )
                        added.append(done.memory)
                    except ScopeFull as error:
                        full.append(error)

            await _at_once(WRITERS, write)
            assert len(added) == cap
            assert len(full) == WRITERS * each - cap
            assert {memory.id for memory in added if memory} == set(range(1, cap + 1))
            assert {(e.scope, e.pinned, e.count, e.cap) for e in full} == {
                ("global", pinned, cap, cap)
            }
            view = await keepers[-1].memories.list()
            assert {memory.id for memory in view.memories} == set(range(1, cap + 1))
            assert all(memory.pinned == pinned for memory in view.memories)

    run(story())


def test_the_cap_holds_where_people_and_models_write_at_once(database_url: str) -> None:
    async def story() -> None:
        async with _several(database_url) as (keepers, databases):
            done: list[bool] = []
            account = await databases[0].read(
                lambda connection: accounts.find(connection, name="alice")
            )
            assert account is not None

            def by_model(connection: Any, number: int, now: Any) -> list[Applied]:
                writes = [
                    MemoryWrite(kind="add", text=f"模型 {number}, {turn}.") for turn in range(3)
                ]
                return apply_writes(
                    connection, account.id, writes, author="character", scopes=[None], now=now
                )

            async def write(number: int) -> None:
                if number % 2:
                    database = databases[number % len(databases)]
                    now = TickingClock().now
                    applied = await database.write(lambda c: by_model(c, number, now))
                    done.extend(one.memory is not None for one in applied)
                    return
                for turn in range(3):
                    try:
                        await keepers[number % len(keepers)].memories.add(
                            f"Person {number}, {turn}.", even_if_similar=True
                        )
                        done.append(True)
                    except ScopeFull:
                        done.append(False)

            await _at_once(WRITERS, write)
            assert Counter(done) == {True: LIMITS.memories, False: 3 * WRITERS - LIMITS.memories}
            assert len((await keepers[0].memories.list()).memories) == LIMITS.memories

    run(story())


def test_the_last_place_is_given_once_to_who_pins_unpins_and_moves(database_url: str) -> None:
    """Not adding alone fills a scope."""

    async def story() -> None:
        async with _several(database_url, 3) as (keepers, _):
            keeper = keepers[0]
            for number in range(LIMITS.pinned_memories + 9):
                pinned = number < LIMITS.pinned_memories - 1
                await keeper.memories.add(f"{number}.", pinned=pinned, even_if_similar=True)
            done: list[bool] = []

            async def pin(number: int) -> None:
                try:
                    memory = LIMITS.pinned_memories + number
                    await keepers[number % len(keepers)].memories.pin(memory)
                    done.append(True)
                except ScopeFull:
                    done.append(False)

            await _at_once(10, pin)
            assert Counter(done) == {True: 1, False: 9}
            assert (await keeper.memories.list()).pinned == LIMITS.pinned_memories

    run(story())


_PROCESS = """
import asyncio, sys
from talekeeper import Keeper
from talekeeper.domain.errors import ScopeFull

async def main(path, name):
    async with Keeper.open(path, account="alice", settle="off") as keeper:
        done = 0
        for number in range(70):
            try:
                await keeper.memories.add(f"{name} {number}", even_if_similar=True)
                done += 1
            except ScopeFull:
                pass
        print(done)

asyncio.run(main(*sys.argv[1:]))
"""


def test_the_cap_holds_between_processes(tmp_path: Path) -> None:
    path = tmp_path / "tale.db"

    async def listed() -> list[int]:
        async with Keeper.open(path, account="alice", settle="off") as keeper:
            return [memory.id for memory in (await keeper.memories.list()).memories]

    assert run(listed()) == []
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _PROCESS, str(path), name], stdout=subprocess.PIPE, text=True
        )
        for name in ("one", "two")
    ]
    done = [int(process.communicate(timeout=120)[0]) for process in processes]
    assert sum(done) == LIMITS.memories
    assert sorted(run(listed())) == list(range(1, LIMITS.memories + 1))


def test_an_id_is_never_given_twice(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            given: list[int] = []
            for number in range(5):
                added = await keeper.memories.add(f"{number}.", even_if_similar=True)
                assert added.memory is not None
                given.append(added.memory.id)
                await keeper.memories.delete(added.memory.id)
                await keeper.memories.purge(added.memory.id)
            assert given == [1, 2, 3, 4, 5]

    run(story())


# What compose reads.


async def _group(keeper: Keeper, members: int) -> tuple[str, list[str]]:
    names = [f"Member {number}" for number in range(members)]
    ids = [(await keeper.characters.add(name=name)).id for name in names]
    chat = await keeper.chats.start(*ids)
    await keeper.record(chat.id, "Hello.")
    await keeper.record(chat.id, "Hi.", role="assistant", speaker=ids[0])
    return chat.id, ids


async def _fill(keeper: Keeper, scopes: list[str | None], unpinned: int, pinned: int) -> None:
    for scope in scopes:
        for number in range(unpinned + pinned):
            await keeper.memories.add(
                f"{number}.", character=scope, pinned=number >= unpinned, even_if_similar=True
            )


_OF_MEMORIES = re.compile(r"\b(FROM|JOIN) memor")


@contextmanager
def _fetched() -> Iterator[Counter[str]]:
    """How many rows of memories each statement brings, on SQLite: it is run once more."""
    seen: Counter[str] = Counter()

    def note(_c: Any, cursor: Any, statement: str, parameters: Any, *_rest: object) -> None:
        if _OF_MEMORIES.search(statement):
            found = cursor.connection.execute(statement, parameters).fetchall()
            seen[statement] += len(found)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(Engine, "before_cursor_execute", note)


def test_compose_reads_no_memory_that_it_cannot_send(tmp_path: Path) -> None:
    async def story() -> None:
        async with Keeper.open(tmp_path / "tale.db", settle="off") as keeper:
            chat, members = await _group(keeper, 2)
            other = await keeper.characters.add(name="Somebody else")
            await _fill(keeper, [None, *members, other.id], LIMITS.memories, 3)
            with _fetched() as seen:
                context = await keeper.compose(chat, "Well?")
            counts, texts = sorted(seen.values())
            # How many there are of each scope, pinned and not; then what is sent, and no more.
            assert (counts, texts) == (2 * 3, LIMITS.memories_sent + 3 * 3)
            told = [row for row in context.receipt.rows if row.kind == "memory"]
            assert sum(row.count for row in told) == 3 * LIMITS.memories

    run(story())


@pytest.mark.parametrize("unpinned", [0, 3, 60])
def test_memories_take_two_statements_of_compose_and_three_when_replacing(
    open_keeper: OpenKeeper, unpinned: int
) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            chat, members = await _group(keeper, 2)
            await _fill(keeper, [None, *members], unpinned, 1)
            for replacing, most in ((None, 2), (2, 3)):
                with counted() as seen:
                    await keeper.compose(chat, replacing=replacing)
                assert sum(bool(_OF_MEMORIES.search(one)) for one in seen) <= most
                assert not any(s.startswith(("INSERT", "UPDATE", "DELETE")) for s in seen)

    run(story())


# Whose they are.


def test_accounts_with_the_same_numbers_keep_to_their_own(database_url: str) -> None:
    async def story() -> None:
        async with opened_database(database_url) as database:
            alice, bob = [
                await Keeper.of(database, name, clock=TickingClock(), new_id=Ids(seed))
                for seed, name in enumerate(("alice", "bob"), 1)
            ]
            for keeper, name in ((alice, "Alice"), (bob, "Bob")):
                for what in ("tea", "boats", "chess"):
                    await keeper.memories.add(f"{name} likes {what}.", even_if_similar=True)
            await bob.memories.edit(1, "Bob likes coffee.")
            await bob.memories.pin(2)
            await bob.memories.delete(3)
            assert [(m.id, m.text, m.pinned) for m in (await alice.memories.list()).memories] == [
                (3, "Alice likes chess.", False),
                (2, "Alice likes boats.", False),
                (1, "Alice likes tea.", False),
            ]
            assert list(await alice.memories.trash()) == []
            await alice.memories.clear()
            assert [m.text for m in (await bob.memories.list()).memories] == [
                "Bob likes boats.",
                "Bob likes coffee.",
            ]
            assert await alice.memories.empty_trash() == 3
            assert [m.text for m in await bob.memories.trash()] == ["Bob likes chess."]

    run(story())
