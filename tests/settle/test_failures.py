"""When the model fails: what is written down, when it is tried again, what goes on meanwhile."""

import asyncio
from datetime import timedelta

import pytest

from talekeeper.domain.errors import NotFound
from talekeeper.domain.limits import LIMITS
from talekeeper.settle.settler import Outcome, Settler
from talekeeper.settle.summarize import LocalMaker, Made, SummaryRequest
from talekeeper.settle.worker import Worker
from talekeeper.testing import Ids, ModelRequest, Step, steps
from tests.conftest import run
from tests.settle.tales import START, House, nodes, opened_house, tell

POISON = "Day {}: we walk on to the next well and drink the poison.".format


async def _failed_at(house: House, chat: str) -> timedelta:
    """After how long the chat is to be tried again, having failed now."""
    settled = await house.keeper.summaries.settle(chat)
    assert [(o.key.chat, o.state, o.made) for o in settled.failed] == [(chat, "failed", 0)]
    (failure,) = await house.keeper.summaries.failures()
    assert (failure.key.chat, failure.title) == (chat, "Wells")
    assert failure.failed_at == house.clock.now
    assert failure.reason == settled.failed[0].reason
    assert not failure.permanent
    assert failure.retry_at is not None
    return failure.retry_at - house.clock.now


def test_the_wait_doubles_up_to_a_bound_and_is_spread() -> None:
    async def go() -> None:
        async with opened_house([steps.failing()]) as house:
            chat = await tell(house.keeper)
            waits = []
            for attempt in range(1, 13):
                waits.append((await _failed_at(house, chat)).total_seconds())
                (failure,) = await house.keeper.summaries.failures()
                assert failure.attempts == attempt
                house.later(1)
            most = LIMITS.retry_most_seconds
            doubled = [LIMITS.retry_seconds * 2.0**at for at in range(len(waits))]
            for wait, middle in zip(waits, doubled, strict=True):
                assert min(0.75 * middle, 0.75 * most) <= wait <= min(1.25 * middle, most)
            assert len({wait / middle for wait, middle in zip(waits, doubled, strict=True)}) > 4

    run(go())


def test_the_model_says_how_long_to_wait() -> None:
    async def go() -> None:
        async with opened_house([steps.too_many(500), steps.too_many(1)]) as house:
            chat = await tell(house.keeper)
            assert (await _failed_at(house, chat)) == timedelta(seconds=500)
            # Less than the time between two tries changes nothing.
            assert (await _failed_at(house, chat)) >= timedelta(seconds=22.5)

    run(go())


def test_a_worker_leaves_a_failed_chat_alone_until_its_time() -> None:
    async def go() -> None:
        async with opened_house([steps.too_many(100), steps.answer("They met.")]) as house:
            chat = await tell(house.keeper)
            worker = Worker(house.settler())
            assert not await worker.round()
            for seconds in (0, 99):
                house.later(seconds)
                assert not await worker.round()
                assert len(house.server.requests) == 1
            house.later(1)
            await worker.drain()
            (node,) = await nodes(house.keeper, chat)
            assert (node.text, node.made_at) == ("They met.", START + timedelta(seconds=100))
            assert not await house.keeper.summaries.failures()

    run(go())


def test_what_failed_is_tried_at_once_when_asked_to() -> None:
    async def go() -> None:
        async with opened_house([steps.failing(), steps.answer("They met.")]) as house:
            keeper = house.keeper
            chat = await tell(keeper)
            await keeper.summaries.settle()
            assert len(await keeper.summaries.failures()) == 1
            assert await keeper.summaries.retry(chat) == 1
            assert not await keeper.summaries.failures()
            await keeper.summaries.settle()
            assert [node.text for node in await nodes(keeper, chat)] == ["They met."]
            assert await keeper.summaries.retry() == 0

    run(go())


def test_after_a_success_the_wait_starts_anew() -> None:
    async def go() -> None:
        script = [steps.failing(), steps.failing(), steps.answer("Yes."), steps.failing()]
        async with opened_house(script) as house:
            chat = await tell(house.keeper)
            await _failed_at(house, chat)
            await _failed_at(house, chat)
            await house.keeper.summaries.settle(chat)
            assert not await house.keeper.summaries.failures()
            await tell(house.keeper, chat=chat, turns=8)
            assert (await _failed_at(house, chat)) <= 1.25 * timedelta(seconds=LIMITS.retry_seconds)

    run(go())


@pytest.mark.parametrize(
    "step", [steps.unauthorized(), steps.no_such_model(), steps.web_page(), steps.refusal()]
)
def test_what_cannot_succeed_later_is_done_without_the_model(step: Step) -> None:
    async def go() -> None:
        async with opened_house([step]) as house:
            keeper = house.keeper
            chat = await tell(keeper)
            settled = await keeper.summaries.settle(chat)
            assert (settled.made, settled.failed) == (1, [])
            (node,) = await nodes(keeper, chat)
            assert (node.summariser, node.model) == ("local", None)
            assert node.text
            (failure,) = await keeper.summaries.failures()
            assert failure.permanent
            assert failure.retry_at is None
            assert "It was summarised without a model." in failure.reason
            # It stays until somebody looks at it, and costs nothing meanwhile.
            await keeper.summaries.settle()
            assert len(house.server.requests) == 1
            assert await keeper.summaries.failures() == [failure]
            # Then the model has its turn.
            house.server.play([steps.answer("They met.")])
            assert await keeper.summaries.retry(chat) == 1
            assert not await keeper.summaries.failures()
            await keeper.summaries.settle()
            (node,) = await nodes(keeper, chat)
            assert (node.text, node.summariser) == ("They met.", "model")

    run(go())


def _poisoned(request: ModelRequest) -> Step:
    return steps.failing() if "poison" in request.text else steps.answer("They met.")


def test_a_poisoned_chat_does_not_stop_the_others() -> None:
    async def go() -> None:
        async with opened_house(_poisoned) as house:
            keeper = house.keeper
            poisoned = await tell(keeper, title="A", say=POISON)
            others = [await tell(keeper, title=title) for title in ("B", "C")]
            settled = await keeper.summaries.settle()
            assert (settled.chats, settled.made) == (3, 2)
            assert [outcome.key.chat for outcome in settled.failed] == [poisoned]
            for chat in others:
                assert [node.text for node in await nodes(keeper, chat)] == ["They met."]
            assert [f.title for f in await keeper.summaries.failures()] == ["A"]

    run(go())


class _Broken(LocalMaker):
    """A bug in one chat."""

    async def make(self, request: SummaryRequest) -> Made:
        if any("poison" in passage.text for passage in request.passages):
            raise ZeroDivisionError("the poison works")
        return Made("They met.")


def test_a_bug_does_not_stop_the_others_either(caplog: pytest.LogCaptureFixture) -> None:
    async def go() -> None:
        async with opened_house() as house:
            keeper, outcomes = house.keeper, list[Outcome]()
            settler = Settler(house.database, local=_Broken(), clock=house.clock, new_id=Ids(99))
            await tell(keeper, title="A", say=POISON)
            other = await tell(keeper, title="B")
            await Worker(settler, report=outcomes.append).drain()
            assert [node.text for node in await nodes(keeper, other)] == ["They met."]
            (failure,) = await keeper.summaries.failures()
            assert (failure.title, failure.reason) == ("A", "ZeroDivisionError: the poison works")
            assert failure.retry_at is not None
            assert sorted(outcome.state for outcome in outcomes) == ["done", "failed"]

    run(go())
    assert "the poison works" in caplog.text


def test_a_chat_that_is_deleted_meanwhile_is_no_failure() -> None:
    async def go() -> None:
        async with opened_house([steps.held(steps.failing())]) as house:
            keeper, outcomes = house.keeper, list[Outcome]()
            chat = await tell(keeper)
            worker = Worker(house.settler(), report=outcomes.append)
            settling = asyncio.create_task(worker.drain())
            await house.server.asked(1)
            await keeper.chats.delete(chat)
            house.server.go_on()
            await settling
            assert [outcome.state for outcome in outcomes] == ["done"]
            assert not await keeper.summaries.failures()
            with pytest.raises(NotFound):
                await house.settler().settle(outcomes[0].key)
            with pytest.raises(NotFound):
                await house.settler().fail(outcomes[0].key, None, "Nothing.")

    run(go())
