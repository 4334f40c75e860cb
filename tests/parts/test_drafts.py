"""Drafts of memories: generated, made from chosen messages, as they were said; and saving them."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from talekeeper import InvalidInput, Keeper, ModelError, NotFound
from talekeeper.domain.draft import Draft
from talekeeper.domain.errors import ScopeFull, UsageExceeded
from talekeeper.testing import FakeModelServer, Step, steps
from tests.conftest import OpenKeeper, run
from tests.settle.tales import model_of


def _answer(*memories: Any) -> Step:
    return steps.answer(json.dumps({"memories": memories}, ensure_ascii=False))


async def _told(keeper: Keeper) -> tuple[str, str]:
    """A chat of four messages; answers its id and the character's."""
    mira = await keeper.characters.add(name="Mira")
    chat = (await keeper.chats.start("Mira", title="Wells")).id
    for question, reply in (
        ("Меня зовут Алиса.", "Рада знакомству, Алиса!"),
        ("I am allergic to peanuts.", "Then I carry\na pen for you."),
    ):
        await keeper.record(chat, question)
        await keeper.record(chat, reply, role="assistant", speaker="Mira")
    return chat, mira.id


async def _count(keeper: Keeper, character: str | None) -> int:
    return len((await keeper.memories.list(character)).memories)


def _texts(drafts: Sequence[Draft]) -> list[str]:
    return [draft.text for draft in drafts]


def test_memories_are_generated_from_a_description(open_keeper: OpenKeeper) -> None:
    async def go() -> None:
        script = [_answer({"text": "爱丽丝对花生\n过敏。"}, "Alice lives in Łódź.", {"text": " "})]
        async with (
            FakeModelServer(script) as server,
            model_of(server) as model,
            open_keeper(summary_model=model) as keeper,
        ):
            _, mira = await _told(keeper)
            drafted = await keeper.memories.generate(" 花生过敏, Łódź ", character=mira)
            assert _texts(drafted.drafts) == ["爱丽丝对花生 过敏。", "Alice lives in Łódź."]
            assert drafted.notes == ["1 left out: it is no text."]
            asked = server.requests[0].text
            assert "<description>\n花生过敏, Łódź\n</description>" in asked
            assert "what Mira is to remember" in asked
            assert "peanuts" not in asked
            assert await _count(keeper, mira) == 0
            first, second = drafted.drafts
            assert not first.pinned
            saved = await keeper.memories.save_drafts(
                [first, replace(second, text="Alice lives in Kraków.", character=None)]
            )
            assert [added.memory.text for added in saved if added.memory] == [
                "爱丽丝对花生 过敏。",
                "Alice lives in Kraków.",
            ]
            (memory,) = (await keeper.memories.list(mira)).memories
            assert (memory.pinned, memory.author, memory.unit) == (False, "person", None)
            assert await _count(keeper, None) == 1

    run(go())


def test_of_many_drafts_ten_are_kept_and_each_once(open_keeper: OpenKeeper) -> None:
    async def go() -> None:
        texts = ["Alice likes number 1.", *(f"Alice likes number {n}." for n in range(1, 200))]
        script = [_answer(*texts, "x" * 10_000, 7, {"note": "?"})]
        async with (
            FakeModelServer(script) as server,
            model_of(server) as model,
            open_keeper(summary_model=model) as keeper,
        ):
            drafted = await keeper.memories.generate("Numbers.")
            assert _texts(drafted.drafts) == texts[1:11]
            assert drafted.notes == [
                "1 left out: it is there twice.",
                "189 left out: there are at most 10.",
                "1 left out: longer than 500 characters.",
                "2 left out: it is no text.",
            ]
            server.play([_answer()])
            drafted = await keeper.memories.generate("Nothing.")
            assert (drafted.drafts, len(drafted.notes)) == ([], 1)

    run(go())


def test_drafts_from_a_conversation_know_the_messages_they_rest_on(
    open_keeper: OpenKeeper,
) -> None:
    async def go() -> None:
        script = [
            _answer(
                {"text": "Alice is allergic to peanuts.", "messages": [4, "3", 99]},
                {"text": "Her name is Alice.", "messages": [1]},
                {"text": "It rains."},
            )
        ]
        async with (
            FakeModelServer(script) as server,
            model_of(server) as model,
            open_keeper(chat_model=model) as keeper,
        ):
            chat, mira = await _told(keeper)
            drafted = await keeper.memories.draft(chat, [4, 3], character=mira)
            assert "[3] User: I am allergic to peanuts." in server.requests[0].text
            assert "Алиса" not in server.requests[0].text
            (draft,) = drafted.drafts
            assert (draft.sources, draft.unit, draft.pinned) == ((3, 4), (chat, 3, 0), True)
            assert drafted.notes == ["2 left out: it rests on none of the chosen messages."]
            assert drafted.as_json()["drafts"][0]["messages"] == [3, 4]
            (added,) = await keeper.memories.save_drafts([draft])
            assert added.memory is not None
            assert (added.memory.pinned, added.memory.unit) == (True, (chat, 3, 0))
            # It is the person's: neither rewinding nor undoing the turn takes it back.
            assert await keeper.memories.undo_turn(chat, 3) == []
            await keeper.chats.rewind(chat, 2)
            (kept,) = (await keeper.memories.list(mira)).memories
            assert kept.text == draft.text
            (again,) = await keeper.memories.save_drafts([draft])
            assert again.repeats

    run(go())


def test_what_was_said_can_be_saved_as_it_is(open_keeper: OpenKeeper) -> None:
    async def go() -> None:
        async with open_keeper() as keeper:
            chat, mira = await _told(keeper)
            draft = await keeper.memories.as_is(chat, [4, 1], character=mira)
            assert draft.text == "User: Меня зовут Алиса.\nMira: Then I carry\na pen for you."
            assert (draft.sources, draft.pinned, draft.too_long) == ((1, 4), True, False)
            await keeper.memories.save_drafts([draft])
            (memory,) = (await keeper.memories.list(mira)).memories
            assert (memory.text, memory.pinned) == (draft.text, True)
            await keeper.record(chat, "水" * 600)
            long = await keeper.memories.as_is(chat, [5])
            assert (long.length, long.too_long) == (606, True)
            with pytest.raises(InvalidInput, match="at most 500 characters; this one has 606"):
                await keeper.memories.save_drafts([draft, replace(draft, character=None), long])
            assert await _count(keeper, None) == 0

    run(go())


def test_what_cannot_be_chosen_is_said(open_keeper: OpenKeeper) -> None:
    async def go() -> None:
        async with open_keeper() as keeper:
            chat, mira = await _told(keeper)
            for number in range(20):
                await keeper.record(chat, f"And {number}.")
            as_is = partial(keeper.memories.as_is, chat)
            assert len((await as_is(range(1, 21))).sources) == 20
            with pytest.raises(InvalidInput, match="1 to 20 messages to save from, not 21"):
                await as_is(range(1, 22))
            with pytest.raises(InvalidInput, match="not 0"):
                await as_is([])
            with pytest.raises(NotFound, match="no message 99"):
                await as_is([1, 99])
            with pytest.raises(NotFound, match="no character"):
                await as_is([1], character=chat)
            await keeper.messages.forget(chat, 1)
            with pytest.raises(InvalidInput, match="Message 1 is to be forgotten"):
                await as_is([1, 2])
            challenge = await keeper.chats.start("Mira", title="Game", channel="challenge")
            await keeper.record(challenge.id, "Hello.")
            with pytest.raises(InvalidInput, match="A challenge has no memories"):
                await keeper.memories.as_is(challenge.id, [1], character=mira)

    run(go())


def test_all_are_saved_or_none(open_keeper: OpenKeeper) -> None:
    async def go() -> None:
        async with open_keeper() as keeper:
            _, mira = await _told(keeper)
            for n in range(18):
                await keeper.memories.add(
                    f"Rule {n}", character=mira, pinned=True, even_if_similar=True
                )
            drafts = [
                Draft(text=text, character=mira, pinned=True) for text in ("A.", "B.", "C.", "c")
            ]
            with pytest.raises(ScopeFull) as full:
                await keeper.memories.save_drafts(drafts)
            assert str(full.value) == (
                "Mira's scope holds 18 of 20 pinned memories: 3 more do not fit. "
                "Save fewer of them, or delete some first."
            )
            assert await _count(keeper, mira) == 18
            saved = await keeper.memories.save_drafts([*drafts[:2], drafts[0]])
            assert [added.repeats for added in saved] == [False, False, True]
            with pytest.raises(ScopeFull, match="is full: 20 of 20 pinned"):
                await keeper.memories.save_drafts([drafts[2]])
            await keeper.memories.save_drafts([])
            with pytest.raises(InvalidInput, match="must not be empty"):
                await keeper.memories.save_drafts([Draft(text="D."), Draft(text=" ")])
            assert await _count(keeper, None) == 0

    run(go())


def test_without_a_model_or_with_too_much_it_says_what_to_do(open_keeper: OpenKeeper) -> None:
    async def go() -> None:
        async with open_keeper() as keeper:
            chat, _ = await _told(keeper)
            with pytest.raises(InvalidInput, match="No language model is configured to draft"):
                await keeper.memories.generate("Tea.")
            with pytest.raises(InvalidInput, match="No language model is configured to draft"):
                await keeper.memories.draft(chat, [1])
            with pytest.raises(InvalidInput, match=r"at most 1,000 characters; this one has 1,001"):
                await keeper.memories.generate("x" * 1_001)
            with pytest.raises(InvalidInput, match="Describe"):
                await keeper.memories.generate(" \n")

    run(go())


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (steps.answer("I like tea."), "did not answer with memories"),
        (steps.refusal(), "refused"),
        (steps.failing(), "500"),
    ],
)
def test_an_answer_of_no_use_is_an_error(open_keeper: OpenKeeper, step: Step, why: str) -> None:
    async def go() -> None:
        async with (
            FakeModelServer([step]) as server,
            model_of(server) as model,
            open_keeper(summary_model=model) as keeper,
        ):
            with pytest.raises(ModelError, match=why):
                await keeper.memories.generate("Tea.")
            assert await _count(keeper, None) == 0

    run(go())


def test_drafts_count_in_the_plans_day_and_are_not_billed(open_keeper: OpenKeeper) -> None:
    async def go() -> None:
        async with (
            FakeModelServer([_answer("Alice likes tea.")]) as server,
            model_of(server) as model,
            open_keeper(summary_model=model) as keeper,
        ):
            await keeper.memories.generate("Tea.")
            (row,) = await keeper.settings.usage()
            assert (row.task, row.billable, row.answers) == ("draft", False, 1)
            await keeper.settings.define_plan("capped", daily_tokens=row.prompt_tokens)
            await keeper.settings.set_plan("capped")
            with pytest.raises(UsageExceeded, match="0:00 UTC"):
                await keeper.memories.generate("Tea.")
            assert len(server.requests) == 1

    run(go())
