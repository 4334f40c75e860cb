"""The loop itself: woken, waiting, and with a database that is not always there."""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import pytest
from sqlalchemy import Connection

from talekeeper.domain.errors import StoreBusy, StoreClosed, StoreError
from talekeeper.settle.settler import settler_of
from talekeeper.settle.worker import Worker
from talekeeper.store import settling
from talekeeper.store.database import Database
from talekeeper.testing import Ids, steps
from tests.conftest import run
from tests.settle.tales import House, nodes, opened_house, tell

T = TypeVar("T")


class Moody:
    """A database that raises what lies ready before it does anything again."""

    def __init__(self, database: Database) -> None:
        self.location = database.location
        self.raises: list[StoreError] = []
        self._database = database

    async def read(self, unit: Callable[[Connection], T]) -> T:
        self._check()
        return await self._database.read(unit)

    async def write(self, unit: Callable[[Connection], T]) -> T:
        self._check()
        return await self._database.write(unit)

    async def close(self) -> None:
        """It is closed by who opened it."""

    def _check(self) -> None:
        if self.raises:
            raise self.raises.pop(0)


def _worker(house: House, *, lease_seconds: float = 60.0) -> tuple[Worker, Moody]:
    moody = Moody(house.database)
    settler = settler_of(
        moody,
        model=house.model,
        clock=house.clock,
        new_id=Ids(77),
        lease_seconds=lease_seconds,
    )
    return Worker(settler), moody


async def _until_made(house: House, chat: str) -> None:
    for _ in range(1_000):
        if await nodes(house.keeper, chat):
            return
        await asyncio.sleep(0.01)
    raise TimeoutError("No summary was made.")


def test_it_waits_until_it_is_woken() -> None:
    async def go() -> None:
        async with opened_house([steps.answer("They met.")]) as house:
            worker, _ = _worker(house)
            task = asyncio.create_task(worker.run(poll_seconds=3_600))
            await asyncio.sleep(0.05)
            chat = await tell(house.keeper)
            await asyncio.sleep(0.05)
            assert not house.server.requests
            worker.wake()
            await _until_made(house, chat)
            task.cancel()
            await asyncio.wait([task])

    run(go())


def test_it_looks_again_by_itself() -> None:
    async def go() -> None:
        async with opened_house([steps.answer("They met.")]) as house:
            worker, _ = _worker(house)
            task = asyncio.create_task(worker.run(poll_seconds=0.02))
            chat = await tell(house.keeper)
            await _until_made(house, chat)
            task.cancel()
            await asyncio.wait([task])

    run(go())


def test_a_database_that_comes_back_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    async def go() -> None:
        async with opened_house([steps.answer("They met.")]) as house:
            chat = await tell(house.keeper)
            worker, moody = _worker(house)
            gone = StoreError("The server is gone.")
            moody.raises = [gone, StoreBusy("Busy."), gone]
            with caplog.at_level(logging.WARNING):
                task = asyncio.create_task(worker.run(poll_seconds=0.01))
                await _until_made(house, chat)
            task.cancel()
            await asyncio.wait([task])
            assert "The server is gone." in caplog.text

    run(go())


def test_it_ends_where_the_database_was_closed() -> None:
    async def go() -> None:
        async with opened_house() as house:
            worker, moody = _worker(house)
            moody.raises = [StoreClosed("Closed.")]
            async with asyncio.timeout(5):
                await worker.run()

    run(go())


def test_draining_tells_that_the_database_cannot_be_used() -> None:
    async def go() -> None:
        async with opened_house() as house:
            worker, moody = _worker(house)
            moody.raises = [StoreError("The disk is full.")]
            with pytest.raises(StoreError, match=r"disk is full"):
                await worker.drain()

    run(go())


def test_a_beat_that_is_missed_does_not_cost_the_lease() -> None:
    async def go() -> None:
        async with opened_house([steps.held(steps.answer("They met."))]) as house:
            chat = await tell(house.keeper)
            worker, moody = _worker(house, lease_seconds=0.6)
            waiting = partial(settling.waiting, now=house.clock.now, limit=1)
            (key,) = await house.database.read(waiting)
            task = asyncio.create_task(worker.drain())
            await house.server.asked(1)
            moody.raises = [StoreBusy("Busy.")]
            await asyncio.sleep(0.3)
            assert not moody.raises
            house.later(0.5)
            await asyncio.sleep(0.4)
            house.later(0.5)
            assert (await house.settler().settle(key)).state == "busy"
            house.server.go_on()
            await task
            assert [node.text for node in await nodes(house.keeper, chat)] == ["They met."]
            assert len(house.server.requests) == 1

    run(go())
