"""What a character saves while it replies: it comes with the text, goes with it, and comes back."""

import json
from dataclasses import replace

import anyio
import pytest

from talekeeper import InvalidInput, NotFound
from talekeeper.domain.memory import WriteUnit
from talekeeper.testing import steps
from tests.conftest import run
from tests.reply.talking import Talk, add, call, drop, talking, update

BIRTHDAY = "День рождения Анны — 3 мая."
ALLERGY = "安娜对花生过敏。"


def test_what_is_saved_mid_reply_comes_in_with_the_text(database_url: str) -> None:
    async def story() -> None:
        script = (
            call(add(BIRTHDAY), text="Let me write that down."),
            steps.answer("Done, Anna."),
        )
        async with talking(database_url, *script) as talk:
            pieces: list[str] = []
            results: list[str] = []
            reply = await talk.keeper.reply(
                talk.chat,
                "Мой день рождения 3 мая.",
                on_text=pieces.append,
                on_call=lambda _, result: results.append(result),
            )
            text = "Let me write that down.\n\nDone, Anna."
            assert reply.text == "".join(pieces) == text
            assert reply.message is not None
            assert (reply.message.number, reply.message.text) == (3, text)
            assert (reply.why_not, reply.stopped, reply.speaker) == (None, False, "Mira")
            assert await talk.said() == ["Hello.", "Мой день рождения 3 мая.", text]
            (memory,) = await talk.memories(talk.mira)
            assert (memory.text, memory.author, memory.pinned) == (BIRTHDAY, "character", False)
            assert memory.unit == WriteUnit(talk.chat, 3, 0)
            assert [applied.memory for applied in reply.memories] == [memory]
            assert [json.loads(result) for result in results] == [{"ok": True, "id": "new-1"}]
            assert await talk.texts() == []
            asked = talk.server.requests[1].messages[-2:]
            assert asked[0]["content"] == "Let me write that down."
            assert asked[0]["tool_calls"][0]["function"]["name"] == "add_memory"
            assert asked[1] == {
                "role": "tool",
                "tool_call_id": asked[0]["tool_calls"][0]["id"],
                "content": results[0],
            }

    run(story())


def test_the_model_sees_what_it_has_staged_and_nobody_else_does(database_url: str) -> None:
    async def story() -> None:
        script = (
            call(add("Anna likes tea."), add("Anna tiene un gato llamado Luna.", "global")),
            call(update("new-1", "Anna likes green tea."), drop("new-2"), add("Anna likes tea!")),
            steps.answer("Noted."),
        )
        async with talking(database_url, *script) as talk:
            seen: list[str] = []
            results: list[dict[str, object]] = []
            reply = await talk.keeper.reply(
                talk.chat,
                on_text=seen.append,
                on_call=lambda _, result: results.append(json.loads(result)),
            )
            assert [result["ok"] for result in results] == [True] * 5
            assert sorted(await talk.texts(talk.mira)) == [
                "Anna likes green tea.",
                "Anna likes tea!",
            ]
            assert await talk.texts() == []
            assert [applied.refused for applied in reply.memories] == [None, None]

    run(story())


def test_regenerating_takes_back_what_was_written_and_the_swipe_brings_it_back_exactly(
    database_url: str,
) -> None:
    async def story() -> None:
        script = (
            call(
                add(BIRTHDAY),
                update(1, "Anna wants to be called Ann."),
                drop(2),
                add(ALLERGY, "global"),
            ),
            steps.answer("First."),
            call(add("Anna hates rain."), update(2, "Anna's cat is called Sol.")),
            steps.answer("Second."),
        )
        async with talking(database_url, *script) as talk:
            keeper = talk.keeper
            for text in ("Anna wants to be called Annie.", "Anna's cat is called Luna."):
                await keeper.memories.add(text, character=talk.mira)

            async def state() -> object:
                found = [*await talk.memories(talk.mira), *await talk.memories()]
                prompt = await keeper.compose(talk.chat, "And now?")
                return [replace(memory, version=0) for memory in found], prompt.messages

            before = [memory.text for memory in await talk.memories(talk.mira)]
            await keeper.reply(talk.chat)
            first = await state()
            assert await talk.texts(talk.mira) == ["Anna wants to be called Ann.", BIRTHDAY]
            assert await talk.texts() == [ALLERGY]

            reply = await keeper.reply(talk.chat, replacing=2)
            asked = talk.server.requests[2].text
            assert [text in asked for text in (*before, BIRTHDAY, ALLERGY)] == [
                True,
                True,
                False,
                False,
            ]
            assert reply.message is not None
            assert [swipe.text for swipe in reply.message.swipes] == ["First.", "Second."]
            assert await talk.texts(talk.mira) == [
                "Anna wants to be called Annie.",
                "Anna's cat is called Sol.",
                "Anna hates rain.",
            ]
            assert await talk.texts() == []
            second = await state()

            await keeper.messages.choose_swipe(talk.chat, 2, 0)
            assert await state() == first
            await keeper.messages.choose_swipe(talk.chat, 2, 1)
            assert await state() == second
            await keeper.messages.choose_swipe(talk.chat, 2, 0)
            assert await state() == first

    run(story())


@pytest.mark.parametrize("way", ["rewind", "delete", "delete_turn"])
def test_what_goes_takes_its_writes_along(database_url: str, way: str) -> None:
    async def story() -> None:
        script = (call(add(BIRTHDAY), update(1, "Anna is 31.")), steps.answer("Noted."))
        async with talking(database_url, *script) as talk:
            keeper = talk.keeper
            await keeper.memories.add("Anna is 30.", character=talk.mira)
            await keeper.reply(talk.chat)
            assert await talk.texts(talk.mira) == ["Anna is 31.", BIRTHDAY]
            if way == "rewind":
                await keeper.chats.rewind(talk.chat, 1)
            elif way == "delete":
                await keeper.messages.delete(talk.chat, 2)
            else:
                await keeper.messages.delete_turn(talk.chat, 2)
            assert await talk.texts(talk.mira) == ["Anna is 30."]

    run(story())


@pytest.mark.parametrize("way", ["rewind", "delete", "chat"])
def test_what_nothing_can_bring_back_is_deleted_for_good(database_url: str, way: str) -> None:
    async def story() -> None:
        script = (
            *(call(add(BIRTHDAY)), steps.answer("First.")),
            *(call(add(ALLERGY)), steps.answer("Second.")),
        )
        async with talking(database_url, *script) as talk:
            keeper = talk.keeper
            await keeper.reply(talk.chat)
            await keeper.reply(talk.chat, replacing=2)
            assert not (await keeper.memories.history(1)).present
            if way == "rewind":
                await keeper.chats.rewind(talk.chat, 1)
            elif way == "delete":
                await keeper.messages.delete(talk.chat, 2)
            else:
                await keeper.chats.delete(talk.chat)
            with pytest.raises(NotFound, match="no memory 1"):
                await keeper.memories.history(1)
            if way == "chat":
                assert await talk.texts(talk.mira) == [ALLERGY]
            else:
                assert await talk.journal() == 0

    run(story())


def test_what_is_in_the_trash_stays_there_when_its_message_goes(database_url: str) -> None:
    async def story() -> None:
        async with talking(database_url, call(add(BIRTHDAY)), steps.answer("Noted.")) as talk:
            await talk.keeper.reply(talk.chat)
            await talk.keeper.memories.delete(1)
            await talk.keeper.chats.rewind(talk.chat, 0)
            assert (await talk.keeper.memories.restore(1)).text == BIRTHDAY

    run(story())


def test_what_a_person_did_stays_when_its_message_goes(database_url: str) -> None:
    async def story() -> None:
        script = (call(add(BIRTHDAY), add(ALLERGY)), steps.answer("Noted."))
        async with talking(database_url, *script) as talk:
            keeper = talk.keeper
            await keeper.reply(talk.chat)
            first, second = await talk.memories(talk.mira)
            await keeper.memories.pin(first.id)
            await keeper.memories.edit(second.id, "安娜对花生和虾过敏。")
            await keeper.chats.rewind(talk.chat, 0)
            assert await talk.texts(talk.mira) == [BIRTHDAY, "安娜对花生和虾过敏。"]

    run(story())


def test_a_deleted_chat_leaves_the_memories_made_in_it(database_url: str) -> None:
    async def story() -> None:
        async with talking(database_url, call(add(BIRTHDAY)), steps.answer("Noted.")) as talk:
            await talk.keeper.reply(talk.chat)
            await talk.keeper.chats.delete(talk.chat)
            assert await talk.texts(talk.mira) == [BIRTHDAY]

    run(story())


def test_in_a_fork_the_swipe_of_a_copied_message_changes_no_memory(database_url: str) -> None:
    async def story() -> None:
        script = (call(add(BIRTHDAY)), steps.answer("Noted."), steps.answer("In the copy."))
        async with talking(database_url, *script) as talk:
            await talk.keeper.reply(talk.chat)
            fork = await talk.keeper.chats.fork(talk.chat, 2)
            await talk.keeper.reply(fork.id, replacing=2)
            assert await talk.said(fork.id) == ["Hello.", "In the copy."]
            assert await talk.texts(talk.mira) == [BIRTHDAY]
            assert BIRTHDAY in talk.server.requests[-1].text

    run(story())


def test_going_on_appends_to_the_message_and_offers_no_tools() -> None:
    async def story() -> None:
        async with talking("sqlite://", steps.answer(" upon a time.")) as talk:
            await talk.keeper.record(talk.chat, "Once", role="assistant")
            reply = await talk.keeper.reply(talk.chat, mode="continue")
            assert reply.message is not None
            assert reply.message.number == 2
            assert await talk.said() == ["Hello.", "Once upon a time."]
            assert "tools" not in talk.server.requests[0].body
            with pytest.raises(InvalidInput, match="takes no input"):
                await talk.keeper.reply(talk.chat, "More!", mode="continue")

    run(story())


def test_going_on_keeps_what_the_beginning_wrote(database_url: str) -> None:
    async def story() -> None:
        script = (call(add(BIRTHDAY)), steps.answer("Once"), steps.answer(" upon a time."))
        async with talking(database_url, *script) as talk:
            await talk.keeper.reply(talk.chat)
            await talk.keeper.reply(talk.chat, mode="continue")
            assert await talk.said() == ["Hello.", "Once upon a time."]
            assert await talk.texts(talk.mira) == [BIRTHDAY]

    run(story())


def test_speaking_for_the_user_records_nothing_and_offers_no_tools() -> None:
    async def story() -> None:
        async with talking("sqlite://", steps.answer("I am Anna.")) as talk:
            reply = await talk.keeper.reply(talk.chat, mode="impersonate")
            assert reply.text == "I am Anna."
            assert reply.message is None
            assert "speaks for the user" in (reply.why_not or "")
            assert await talk.said() == ["Hello."]
            assert "tools" not in talk.server.requests[0].body
            assert await talk.used() == 1

    run(story())


def test_stopped_it_keeps_what_came_and_the_writes_that_were_complete(database_url: str) -> None:
    async def story() -> None:
        slow = steps.paced(steps.answer("One two three four five six seven."), 0.1)
        async with talking(database_url, call(add(BIRTHDAY)), slow) as talk:
            stop = anyio.Event()

            def hear(piece: str) -> None:
                if "two" in piece:
                    stop.set()

            reply = await talk.keeper.reply(talk.chat, on_text=hear, stop=stop)
            assert reply.stopped
            assert reply.message is not None
            assert reply.text.startswith("One two")
            assert "seven" not in reply.text
            assert await talk.said() == ["Hello.", reply.text]
            assert await talk.texts(talk.mira) == [BIRTHDAY]

    run(story())


def test_stopped_before_a_word_it_records_nothing(database_url: str) -> None:
    async def story() -> None:
        async with talking(database_url, call(add(BIRTHDAY)), steps.hanging()) as talk:
            stop = anyio.Event()
            reply = await talk.keeper.reply(talk.chat, on_call=lambda *_: stop.set(), stop=stop)
            assert reply.stopped
            assert reply.message is None
            assert "before a word" in (reply.why_not or "")
            await _nothing_came(talk)

    run(story())


async def _nothing_came(talk: Talk) -> None:
    assert await talk.said() == ["Hello."]
    assert (await talk.texts(talk.mira), await talk.texts()) == ([], [])
    assert await talk.journal() == 0
