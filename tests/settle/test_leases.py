"""Who settles a chat, until when, and what the others may do meanwhile: on every back-end."""

import asyncio
from datetime import timedelta
from functools import partial

from talekeeper import Keeper
from talekeeper.settle.settler import Outcome, Settler
from talekeeper.settle.worker import Worker
from talekeeper.store import settling
from talekeeper.store.keys import ChatKey
from talekeeper.testing import Step, TickingClock, steps
from tests.conftest import run
from tests.settle.tales import START, House, nodes, opened_house, tell


def _in_order(*texts: str) -> list[Step]:
    """Answers that come when the server is told to go on."""
    return [steps.held(steps.answer(text)) for text in texts]


async def _key(house: House) -> ChatKey:
    """The one chat that waits."""
    (key,) = await house.database.read(partial(settling.waiting, now=house.clock.now, limit=2))
    return key


async def _begun(house: House, settler: Settler, key: ChatKey) -> "asyncio.Task[Outcome]":
    """A settler that waits for the model's answer."""
    already = len(house.server.requests)
    task = asyncio.create_task(settler.settle(key))
    await house.server.asked(already + 1)
    return task


def test_while_the_model_writes_others_read_and_write(database_url: str) -> None:
    async def go() -> None:
        async with opened_house(_in_order("They met."), url=database_url) as house:
            keeper = house.keeper
            chat = await tell(keeper)
            task = await _begun(house, house.settler(), await _key(house))
            # The same process, in the same chat and in another.
            async with asyncio.timeout(5):
                await keeper.record(chat, "And then?")
                await tell(keeper, title="Another")
                await keeper.messages.exclude(chat, 1)
            if database_url != "sqlite://":
                # Another process, as it were: connections of its own.
                async with (
                    asyncio.timeout(10),
                    Keeper.open(database_url, account="alice", settle="off") as other,
                ):
                    await other.messages.edit(chat, 5, "And what then?")
                    await other.chats.rename(chat, "Rain")
            assert not task.done()
            house.server.go_on()
            outcome = await task
            assert (outcome.state, outcome.made) == ("done", 1)
            assert [node.text for node in await nodes(keeper, chat)] == ["They met."]

    run(go())


def test_only_one_settles_a_chat(database_url: str) -> None:
    async def go() -> None:
        async with opened_house(_in_order("They met."), url=database_url) as house:
            chat = await tell(house.keeper)
            key = await _key(house)
            first = await _begun(house, house.settler(), key)
            assert (await house.settler().settle(key)).state == "busy"
            assert (await house.keeper.summaries.settle(chat)).chats == 0
            assert not await Worker(house.settler()).round()
            house.server.go_on()
            assert (await first).state == "done"
            assert len(house.server.requests) == 1

    run(go())


def test_many_at_once_make_each_summary_once(database_url: str) -> None:
    async def go() -> None:
        script = [steps.delayed(steps.answer("They met."), 0.02)]
        async with opened_house(script, url=database_url) as house:
            chats = [await tell(house.keeper, title=title, turns=7) for title in "ABC"]
            workers = [Worker(house.settler()) for _ in range(4)]
            await asyncio.gather(*(worker.drain() for worker in workers))
            await workers[0].drain()
            made = [await nodes(house.keeper, chat) for chat in chats]
            assert [len(found) for found in made] == [len(made[0])] * 3
            assert len(house.server.requests) == sum(map(len, made))
            texts = [request.text for request in house.server.requests]
            assert max(map(texts.count, texts)) == 3  # once for each chat

    run(go())


def test_a_dead_settlers_chat_is_taken_over(database_url: str) -> None:
    async def go() -> None:
        script = [*_in_order("The dead one's."), steps.answer("The living one's.")]
        async with opened_house(script, url=database_url) as house:
            chat = await tell(house.keeper)
            key = await _key(house)
            # Beats of the heart are minutes apart: within this test it has none.
            slow = await _begun(house, house.settler(lease_seconds=600), key)
            house.later(599)
            assert (await house.settler().settle(key)).state == "busy"
            house.later(2)
            assert await _key(house) == key
            taken = await house.settler().settle(key)
            assert (taken.state, taken.made) == ("done", 1)
            # It was not dead, only slow: what it brings now is not written, and it asks no more.
            house.server.go_on()
            assert (await slow).state == "busy"
            assert [node.text for node in await nodes(house.keeper, chat)] == ["The living one's."]
            assert len(house.server.requests) == 2
            # The lease that the other gave back is not kept by it either.
            await house.database.write(partial(settling.wake, key=key))
            assert await _key(house) == key

    run(go())


def test_who_took_over_keeps_the_lease_when_the_first_comes_back(database_url: str) -> None:
    async def go() -> None:
        script = [
            steps.delayed(steps.answer("The first one's."), 1.0),
            steps.held(steps.answer("The second one's.")),
        ]
        async with opened_house(script, url=database_url) as house:
            chat = await tell(house.keeper)
            key = await _key(house)
            first = await _begun(house, house.settler(lease_seconds=600), key)
            house.later(601)
            second = await _begun(house, house.settler(lease_seconds=600), key)
            assert (await first).state == "busy"
            assert (await house.settler().settle(key)).state == "busy"
            house.server.go_on()
            assert (await second).made == 1
            assert [node.text for node in await nodes(house.keeper, chat)] == ["The second one's."]

    run(go())


def test_a_slow_settler_keeps_its_lease_alive(database_url: str) -> None:
    async def go() -> None:
        async with opened_house(_in_order("They met."), url=database_url) as house:
            chat = await tell(house.keeper)
            key = await _key(house)
            slow = await _begun(house, house.settler(lease_seconds=0.6), key)
            for _ in range(2):
                house.later(0.59)
                await asyncio.sleep(1.0)  # Its heart beats every 0.2 seconds.
                assert (await house.settler().settle(key)).state == "busy"
            house.server.go_on()
            outcome = await slow
            assert (outcome.state, outcome.made) == ("done", 1)
            assert [node.text for node in await nodes(house.keeper, chat)] == ["They met."]

    run(go())


def test_a_cancelled_settler_gives_the_chat_back(database_url: str) -> None:
    async def go() -> None:
        script = [steps.hanging(), steps.answer("They met.")]
        async with opened_house(script, url=database_url) as house:
            chat = await tell(house.keeper)
            task = await _begun(house, house.settler(), await _key(house))
            task.cancel()
            await asyncio.wait([task])
            assert task.cancelled()
            assert (await house.keeper.summaries.settle(chat)).made == 1
            assert [node.text for node in await nodes(house.keeper, chat)] == ["They met."]

    run(go())


def test_an_answer_to_what_was_edited_meanwhile_is_not_written(database_url: str) -> None:
    async def go() -> None:
        script = [*_in_order("About the well."), steps.answer("About the sea.")]
        async with opened_house(script, url=database_url) as house:
            chat = await tell(house.keeper)
            task = await _begun(house, house.settler(), await _key(house))
            await house.keeper.messages.edit(
                chat, 1, "Day 1: we walk on to the sea and look for a boat with sails."
            )
            house.server.go_on()
            outcome = await task
            assert (outcome.state, outcome.made) == ("done", 1)
            assert [node.text for node in await nodes(house.keeper, chat)] == ["About the sea."]
            assert "the sea" in house.server.requests[1].text
            assert len(house.server.requests) == 2

    run(go())


def test_a_person_who_edits_meanwhile_wins() -> None:
    async def go() -> None:
        async with opened_house([steps.answer("They met.")]) as house:
            chat = await tell(house.keeper)
            await house.keeper.summaries.settle(chat)
            await house.keeper.summaries.rebuild(chat)
            house.server.play(_in_order("They met anew."))
            task = await _begun(house, house.settler(), await _key(house))
            await house.keeper.summaries.edit(chat, "recent-0", "Alice wrote this.")
            house.server.go_on()
            assert (await task).made == 0
            assert [n.text for n in await nodes(house.keeper, chat)] == ["Alice wrote this."]

    run(go())


def test_a_moved_clock_does_not_matter_to_a_lease_that_was_given_back() -> None:
    async def go() -> None:
        async with opened_house([steps.answer("They met.")]) as house:
            chat = await tell(house.keeper)
            key = await _key(house)
            await house.settler(lease_seconds=600).settle(key, most=1)
            house.clock = TickingClock(START - timedelta(days=1), timedelta(0))
            assert (await house.settler().settle(key)).state == "done"
            assert len(await nodes(house.keeper, chat)) == 1

    run(go())
