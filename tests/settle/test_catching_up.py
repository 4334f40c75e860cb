"""Imported history: summarised locally until somebody agrees to what a model would cost."""

from functools import partial

import pytest

from talekeeper import InvalidInput, Keeper
from talekeeper.domain.limits import LIMITS
from talekeeper.store import settling
from talekeeper.testing import steps
from tests.conftest import OpenKeeper, run
from tests.record.st_files import chat_file, header, reply, said
from tests.settle.tales import nodes, opened_house, tell

TURNS = 9


async def _imported(keeper: Keeper) -> str:
    """A chat that came from a file."""
    lines = [header()]
    for turn in range(1, TURNS + 1):
        lines.append(said(f"Day {turn}: we walk on to the next well and look for water."))
        lines.append(reply(f"Night {turn}: it rains on us until we wake up and walk on."))
    report = await keeper.files.import_stream(chat_file(*lines), "Mira.jsonl")
    assert report.id is not None
    return report.id


async def _by(keeper: Keeper, chat: str) -> dict[str, str]:
    """Who wrote which node."""
    return {node.name: node.summariser for node in await nodes(keeper, chat)}


def test_without_consent_no_model_reads_it() -> None:
    async def go() -> None:
        async with opened_house() as house:
            chat = await _imported(house.keeper)
            await house.keeper.summaries.settle()
            by = await _by(house.keeper, chat)
            assert len(by) > 5
            assert "merged-0" in by
            assert set(by.values()) == {"local"}
            assert not house.server.requests
            plan = await house.keeper.summaries.catch_up(chat)
            assert plan.state is None
            assert plan.calls == len(by)
            assert plan.cells == sum(name.startswith("recent") for name in by)
            assert plan.tokens_in > plan.tokens_out >= plan.calls * LIMITS.summary_floor
            assert set(plan.as_json()) == {"cells", "calls", "tokens_in", "tokens_out", "state"}

    run(go())


def test_with_consent_the_model_makes_all_of_it_anew() -> None:
    async def go() -> None:
        async with opened_house([steps.answer("They walked.")]) as house:
            keeper = house.keeper
            chat = await _imported(keeper)
            await keeper.summaries.settle()
            first = await keeper.summaries.catch_up(chat)
            before = [node.text for node in await nodes(keeper, chat)]
            started = await keeper.summaries.catch_up(chat, "start")
            assert (started.state, started.calls) == ("running", first.calls)
            # Until the model wrote a node, its local text is sent.
            assert [node.text for node in await nodes(keeper, chat) if node.valid] == before
            await keeper.summaries.settle()
            assert set((await _by(keeper, chat)).values()) == {"model"}
            assert len(house.server.requests) == first.calls
            done = await keeper.summaries.catch_up(chat)
            assert (done.cells, done.calls, done.tokens_in, done.tokens_out) == (0, 0, 0, 0)

    run(go())


def test_it_pauses_and_goes_on() -> None:
    async def go() -> None:
        async with opened_house([steps.answer("They walked.")]) as house:
            keeper = house.keeper
            chat = await _imported(keeper)
            await keeper.summaries.settle()
            left = [(await keeper.summaries.catch_up(chat, "start")).calls]
            (key,) = await house.database.read(
                partial(settling.waiting, now=house.clock.now, limit=2)
            )
            for _ in range(2):
                outcome = await house.settler().settle(key, most=2)
                assert (outcome.state, outcome.made) == ("more", 2)
                left.append((await keeper.summaries.catch_up(chat)).calls)
            assert left == [left[0], left[0] - 2, left[0] - 4]
            paused = await keeper.summaries.catch_up(chat, "pause")
            assert (paused.state, paused.calls) == ("paused", left[-1])
            await keeper.summaries.settle()
            assert len(house.server.requests) == 4
            by = list((await _by(keeper, chat)).values())
            assert (by.count("model"), by.count("local")) == (4, left[-1])
            resumed = await keeper.summaries.catch_up(chat, "start")
            assert (resumed.state, resumed.calls) == ("running", left[-1])
            await keeper.summaries.settle()
            assert len(house.server.requests) == left[0]
            assert (await keeper.summaries.catch_up(chat)).calls == 0

    run(go())


def test_what_is_said_after_the_import_is_the_models_at_once() -> None:
    async def go() -> None:
        async with opened_house([steps.answer("They talked.")]) as house:
            keeper = house.keeper
            chat = await _imported(keeper)
            await keeper.summaries.settle()
            await tell(
                keeper, chat=chat, turns=6, say="Dusk {}: who walks there at the well?".format
            )
            await keeper.summaries.settle()
            for node in await nodes(keeper, chat):
                from_file = node.first <= 2 * TURNS
                assert node.summariser == ("local" if from_file else "model"), node.name
            asked = [request.text for request in house.server.requests]
            assert asked
            assert not any("Day " in text for text in asked)

    run(go())


def test_a_model_that_fails_costs_nothing_that_was_there() -> None:
    async def go() -> None:
        async with opened_house([steps.failing()]) as house:
            keeper = house.keeper
            chat = await _imported(keeper)
            await keeper.summaries.settle()
            before = [(node.name, node.text) for node in await nodes(keeper, chat)]
            sent = (await keeper.summaries.show(chat)).sent
            await keeper.summaries.catch_up(chat, "start")
            settled = await keeper.summaries.settle()
            assert len(settled.failed) == 1
            assert [(node.name, node.text) for node in await nodes(keeper, chat)] == before
            assert (await keeper.summaries.show(chat)).sent == sent

    run(go())


def test_where_the_model_cannot_be_used_at_all_it_is_asked_once_and_waited_for() -> None:
    async def go() -> None:
        async with opened_house([steps.unauthorized()]) as house:
            keeper = house.keeper
            chat = await _imported(keeper)
            await keeper.summaries.settle()
            assert (await keeper.summaries.catch_up(chat, "start")).calls > 1
            settled = await keeper.summaries.settle(chat)
            assert "Incorrect API key" in (settled.failed[0].reason or "")
            assert set((await _by(keeper, chat)).values()) == {"local"}
            (failure,) = await keeper.summaries.failures()
            assert failure.retry_at is not None
            assert len(house.server.requests) == 1
            # Once the key is mended it goes on by itself.
            house.server.play([steps.answer("They walked.")])
            house.later(3_600)
            await keeper.summaries.settle()
            assert set((await _by(keeper, chat)).values()) == {"model"}

    run(go())


def test_an_edited_node_is_left_alone() -> None:
    async def go() -> None:
        async with opened_house([steps.answer("They walked.")]) as house:
            keeper = house.keeper
            chat = await _imported(keeper)
            await keeper.summaries.settle()
            await keeper.summaries.edit(chat, "recent-0", "Alice wrote this.")
            await keeper.summaries.catch_up(chat, "start")
            await keeper.summaries.settle()
            by = await _by(keeper, chat)
            assert by.pop("recent-0") == "person"
            assert set(by.values()) == {"model"}
            # What stands above it tells of it in the person's words.
            merges = [r.text for r in house.server.requests if "longer part" in r.text]
            assert any("Alice wrote this." in text for text in merges)

    run(go())


def test_without_a_model_nobody_can_agree(open_keeper: OpenKeeper) -> None:
    async def go() -> None:
        async with open_keeper() as keeper:
            chat = await _imported(keeper)
            with pytest.raises(InvalidInput, match=r"TALEKEEPER_SUMMARY_BASE_URL"):
                await keeper.summaries.catch_up(chat, "start")
            assert (await keeper.summaries.catch_up(chat, "pause")).state == "paused"

    run(go())
