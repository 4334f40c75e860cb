"""Where memory is off, or the model takes no tools; and what a reply is counted as."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import pytest

from talekeeper import Keeper
from talekeeper.domain.errors import UsageExceeded
from talekeeper.store.usage import UsageRow
from talekeeper.testing import Ids, TickingClock, steps
from tests.conftest import opened_database, run
from tests.reply.talking import Talk, add, call, drop, talking

BIRTHDAY = "安娜的生日是五月三日。"


async def _without(**settings: Any) -> Sequence[Mapping[str, Any]]:
    """What the model is sent in the same chat where there are no memories and no tools."""
    async with opened_database("sqlite://") as database:
        keeper = await Keeper.of(database, "alice", clock=TickingClock(), new_id=Ids(1))
        await keeper.characters.add(name="Mira")
        chat = await keeper.chats.start("Mira", persona="Anna")
        await keeper.record(chat.id, "Hello.")
        context = await keeper.compose(chat.id, settings={"tools": False, **settings})
        return context.messages


async def _remembering(talk: Talk) -> None:
    await talk.keeper.memories.add(BIRTHDAY, character=talk.mira)
    await talk.keeper.memories.add("Anna is 30.", pinned=True)
    await talk.keeper.memories.add("Anna lives in Kyiv.")


def test_learning_off_the_prompt_is_that_of_a_chat_without_memories(database_url: str) -> None:
    async def story() -> None:
        script = (call(add("Anna sings."), drop(1), text="Let me see."), steps.answer("(unused)"))
        async with talking(database_url, *script) as talk:
            await _remembering(talk)
            await talk.keeper.characters.learn(talk.mira, False)
            reply = await talk.keeper.reply(talk.chat)
            (request,) = talk.server.requests
            assert "tools" not in request.body
            assert list(request.messages) == list(await _without())
            assert reply.memories == []
            assert await talk.texts(talk.mira) == [BIRTHDAY]
            rows = [row for row in reply.context.receipt.rows if row.reason == "memory_off"]
            assert [row.note for row in rows] == ["Learn from Chat is off for Mira"]
            user, said = await talk.messages()
            assert (user.learnable, said.learnable) == (True, False)

    run(story())


def test_what_is_said_anew_while_learning_is_off_is_not_learned_from(database_url: str) -> None:
    async def story() -> None:
        async with talking(database_url, said=None) as talk:
            keeper = talk.keeper
            for text in ("Hello.", "Привет.", "你好。"):
                await keeper.record(talk.chat, text, speaker="Mira", role="assistant")
            await keeper.characters.learn(talk.mira, False)
            await keeper.messages.edit(talk.chat, 1, "Hello, Anna.")
            await keeper.messages.add_swipe(talk.chat, 2, "Здравствуй.")
            await keeper.messages.choose_swipe(talk.chat, 2, 0)
            assert [one.learnable for one in await talk.messages()] == [False, False, True]
            await keeper.characters.learn(talk.mira, True)
            await keeper.messages.edit(talk.chat, 1, "Hello again.")
            assert [one.learnable for one in await talk.messages()] == [False, False, True]

    run(story())


def test_a_challenge_begins_without_memories(database_url: str) -> None:
    async def story() -> None:
        script = (call(add("Anna sings."), text="Let me see."), steps.answer("(unused)"))
        async with talking(database_url, *script, said=None) as talk:
            await _remembering(talk)
            chat = await talk.keeper.chats.start("Mira", persona="Anna", channel="challenge")
            await talk.keeper.record(chat.id, "Hello.")
            reply = await talk.keeper.reply(chat.id)
            (request,) = talk.server.requests
            assert "tools" not in request.body
            assert list(request.messages) == list(await _without())
            assert reply.memories == []
            assert await talk.texts(talk.mira) == [BIRTHDAY]

    run(story())


def test_in_a_group_nobody_reads_the_scope_of_who_does_not_learn(database_url: str) -> None:
    async def story() -> None:
        async with talking(database_url, steps.answer("Hm."), steps.answer("Hm!")) as talk:
            keeper = talk.keeper
            boris = await keeper.characters.add(name="Boris")
            await keeper.chats.join(talk.chat, "Boris")
            await _remembering(talk)
            await keeper.memories.add("Anna owes Boris a boat.", character=boris.id)
            await keeper.characters.learn(talk.mira, False)
            await keeper.reply(talk.chat, speaker="Boris")
            told = talk.server.requests[0].text
            assert ["boat" in told, "Kyiv" in told, "is 30" in told, BIRTHDAY in told] == [
                True, True, True, False,
            ]  # fmt: skip
            await keeper.reply(talk.chat, speaker="Mira")
            told = talk.server.requests[1].text
            assert [word in told for word in ("boat", "Kyiv", "is 30", BIRTHDAY)] == [False] * 4

    run(story())


def test_with_tools_off_memories_are_still_sent() -> None:
    async def story() -> None:
        async with talking("sqlite://", steps.answer("Hello, Anna.")) as talk:
            await _remembering(talk)
            await talk.keeper.settings.change(tools=False)
            await talk.keeper.reply(talk.chat)
            (request,) = talk.server.requests
            assert "tools" not in request.body
            assert f"- {BIRTHDAY} (" in request.text
            assert "- Anna is 30. (" in request.text

    run(story())


async def _sums(talk: Talk) -> list[UsageRow]:
    return list(await talk.keeper.settings.usage())


def test_each_answer_is_noted_as_billable(database_url: str) -> None:
    async def story() -> None:
        async with talking(
            database_url, call(add(BIRTHDAY)), steps.answer("One two three.")
        ) as talk:
            reply = await talk.keeper.reply(talk.chat)
            (row,) = await _sums(talk)
            assert (row.task, row.model, row.billable, row.answers) == (
                "reply", "fake-model", True, 2,
            )  # fmt: skip
            assert row.prompt_tokens == sum(one.prompt_tokens for one in reply.usage) > 0
            assert row.reply_tokens == 3

    run(story())


def test_what_the_server_does_not_count_is_counted_here() -> None:
    async def story() -> None:
        chunk = {"choices": [{"index": 0, "delta": {"content": "Hello, Anna."}}]}
        async with talking("sqlite://", steps.events(chunk)) as talk:
            reply = await talk.keeper.reply(talk.chat)
            (used,) = reply.usage
            assert used.reply_tokens == 4
            assert used.prompt_tokens > 10

    run(story())


def test_a_plan_may_cap_the_tokens_of_a_day(database_url: str) -> None:
    async def story() -> None:
        async with talking(database_url, steps.answer("One two three four five.")) as talk:
            await talk.keeper.settings.define_plan("tiny", daily_tokens=5)
            await talk.keeper.settings.set_plan("tiny")
            await talk.keeper.reply(talk.chat)
            with pytest.raises(UsageExceeded, match=r"'tiny' allows 5 tokens .* 0:00 UTC"):
                await talk.keeper.reply(talk.chat, "And now?")
            assert len(talk.server.requests) == 1
            assert await talk.said() == ["Hello.", "One two three four five.", "And now?"]
            clock = TickingClock(TickingClock().now + timedelta(days=1))
            tomorrow = await Keeper.of(
                talk.database, "alice", chat_model=talk.model, clock=clock, new_id=Ids(9)
            )
            assert (await tomorrow.reply(talk.chat)).message is not None

    run(story())
