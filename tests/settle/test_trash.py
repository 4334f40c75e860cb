"""The trash is emptied of what has been there for its time."""

import pytest

from talekeeper import NotFound
from talekeeper.settle.worker import Worker
from tests.conftest import run
from tests.settle.tales import opened_house


def test_a_worker_deletes_for_good_what_was_deleted_long_ago() -> None:
    async def go() -> None:
        async with opened_house() as house:
            memories = house.keeper.memories
            old = await memories.add("Anna likes figs.")
            kept = await memories.add("Anna is allergic to walnuts.")
            assert old.memory is not None
            assert kept.memory is not None
            await memories.delete(old.memory.id)
            await Worker(house.settler()).drain()
            assert [memory.id for memory in await memories.trash()] == [old.memory.id]
            house.later(31 * 24 * 3_600)
            await Worker(house.settler()).drain()
            with pytest.raises(NotFound):
                await memories.history(old.memory.id)
            assert (await memories.get(kept.memory.id)).text == "Anna is allergic to walnuts."

    run(go())
