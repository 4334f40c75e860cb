"""What a reply answers may change while the model still speaks."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from talekeeper import Keeper
from talekeeper.reply import Reply
from talekeeper.testing import steps
from tests.conftest import run
from tests.reply.talking import Talk, add, call, drop, talking, update

BIRTHDAY = "アンナの誕生日は五月三日です。"

Change = Callable[[Keeper, str], Awaitable[object]]

CHANGES: dict[str, Change] = {
    "edited": lambda keeper, chat: keeper.messages.edit(chat, 3, "Goodbye."),
    "swiped": lambda keeper, chat: keeper.messages.add_swipe(chat, 3, "Goodbye."),
    "deleted": lambda keeper, chat: keeper.messages.delete(chat, 3),
    "turn deleted": lambda keeper, chat: keeper.messages.delete_turn(chat, 3),
    "rewound": lambda keeper, chat: keeper.chats.rewind(chat, 2),
    "said more": lambda keeper, chat: keeper.record(chat, "One thing more."),
}


async def _answered(talk: Talk, change: Change, **how: Any) -> tuple[Reply, list[str]]:
    """A reply during which the chat changes; what came of it, and what is said then."""
    found: list[Reply] = []

    async def reply() -> None:
        found.append(await talk.keeper.reply(talk.chat, **how))

    asked = len(talk.server.requests)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(reply)
        await talk.server.asked(asked + 2)
        await change(talk.keeper, talk.chat)
        after = await talk.said()
        talk.server.go_on()
    return found[0], after


@pytest.mark.parametrize("kind", CHANGES)
def test_an_answer_to_what_is_no_longer_said_is_told_and_not_recorded(
    database_url: str, kind: str
) -> None:
    async def story() -> None:
        async with talking(database_url) as talk:
            await talk.keeper.record(talk.chat, "Hi.", role="assistant")
            await talk.keeper.record(talk.chat, "My birthday is May 3.")
            talk.server.play([call(add(BIRTHDAY)), steps.held(steps.answer("Noted."))])
            reply, after = await _answered(talk, CHANGES[kind])
            assert reply.text == "Noted."
            assert reply.message is None
            assert "changed or deleted meanwhile" in (reply.why_not or "")
            assert reply.memories == []
            assert await talk.said() == after
            assert await talk.texts(talk.mira) == []
            assert await talk.journal() == 0
            assert await talk.used() == 2

    run(story())


@pytest.mark.parametrize("kind", ["deleted", "rewound", "edited"])
def test_writing_anew_what_is_gone_or_answers_something_else_is_not_recorded(kind: str) -> None:
    changes: dict[str, Change] = {
        "deleted": lambda keeper, chat: keeper.messages.delete(chat, 2),
        "rewound": lambda keeper, chat: keeper.chats.rewind(chat, 0),
        "edited": lambda keeper, chat: keeper.messages.edit(chat, 1, "Goodbye."),
    }

    async def story() -> None:
        async with talking("sqlite://") as talk:
            await talk.keeper.record(talk.chat, "Hi.", role="assistant")
            talk.server.play([call(add(BIRTHDAY)), steps.held(steps.answer("Noted."))])
            reply, after = await _answered(talk, changes[kind], replacing=2)
            assert reply.message is None
            assert await talk.said() == after
            assert await talk.journal() == 0

    run(story())


def test_a_chat_may_go_on_while_an_older_reply_is_written_anew() -> None:
    async def story() -> None:
        async with talking("sqlite://") as talk:
            await talk.keeper.record(talk.chat, "Hi.", role="assistant")
            talk.server.play([call(add(BIRTHDAY)), steps.held(steps.answer("Noted."))])
            reply, _ = await _answered(talk, CHANGES["said more"], replacing=2)
            assert reply.message is not None
            assert await talk.said() == ["Hello.", "Noted.", "One thing more."]
            assert await talk.texts(talk.mira) == [BIRTHDAY]

    run(story())


def test_going_on_with_what_was_changed_is_not_recorded() -> None:
    async def story() -> None:
        async with talking("sqlite://") as talk:
            await talk.keeper.record(talk.chat, "Once", role="assistant")
            found: list[Reply] = []

            async def reply() -> None:
                found.append(await talk.keeper.reply(talk.chat, mode="continue"))

            talk.server.play([steps.held(steps.answer(" upon a time."))])
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(reply)
                await talk.server.asked(1)
                await talk.keeper.messages.edit(talk.chat, 2, "Never")
                talk.server.go_on()
            assert found[0].message is None
            assert await talk.said() == ["Hello.", "Never"]

    run(story())


def test_a_memory_changed_meanwhile_is_refused_one_by_one(database_url: str) -> None:
    async def change(keeper: Keeper, _: str) -> None:
        await keeper.memories.pin(1)
        await keeper.memories.delete(2)
        mira = (await keeper.characters.get("Mira")).id
        for text in (BIRTHDAY, "Anna speaks Polish."):
            await keeper.memories.add(text, character=mira)

    async def story() -> None:
        async with talking(database_url) as talk:
            keeper = talk.keeper
            for text in (
                "Anna is 30.",
                "Luna is Anna's cat.",
                "Anna lives in Kyiv.",
                "Anna sings.",
            ):
                await keeper.memories.add(text, character=talk.mira)
            writes = (
                ("update_memory", {"id": 1, "text": "Anna is 31."}),
                ("delete_memory", {"id": 2}),
                add(BIRTHDAY),
                ("update_memory", {"id": 3, "text": "Anna lives in Lviv."}),
                ("update_memory", {"id": 4, "text": "anna speaks polish."}),
            )
            talk.server.play([call(*writes), steps.held(steps.answer("Noted."))])
            reply, _ = await _answered(talk, change)
            refused = [applied.refused for applied in reply.memories]
            assert refused == [
                "memory 1 is pinned",
                "memory 2 is not there",
                "it is saved already",
                None,
                "memory 6 says so already",
            ]
            assert await talk.texts(talk.mira) == [
                "Anna is 30.",
                "Anna lives in Lviv.",
                "Anna sings.",
                BIRTHDAY,
                "Anna speaks Polish.",
            ]

    run(story())


def test_switched_off_while_it_speaks_it_saves_nothing() -> None:
    async def story() -> None:
        async with talking("sqlite://") as talk:
            talk.server.play([call(add(BIRTHDAY)), steps.held(steps.answer("Noted."))])
            reply, _ = await _answered(
                talk, lambda keeper, _: keeper.characters.learn(talk.mira, False)
            )
            assert reply.message is not None
            assert await talk.texts(talk.mira) == []

    run(story())


def test_what_a_person_edits_while_it_speaks_stays_as_they_wrote_it(database_url: str) -> None:
    async def change(keeper: Keeper, _: str) -> None:
        await keeper.memories.edit(1, "Анна живёт в Одессе.")
        await keeper.memories.move(2, character=None)

    async def story() -> None:
        async with talking(database_url) as talk:
            for text in ("Анна живёт в Киеве.", "Luna is Anna's cat."):
                await talk.keeper.memories.add(text, character=talk.mira)
            writes = (update(1, "Анна живёт во Львове."), drop(2))
            talk.server.play([call(*writes), steps.held(steps.answer("Noted."))])
            reply, _ = await _answered(talk, change)
            refused = [applied.refused for applied in reply.memories]
            assert refused == [f"memory {one} was changed meanwhile" for one in (1, 2)]
            assert await talk.texts(talk.mira) == ["Анна живёт в Одессе."]
            assert await talk.texts() == ["Luna is Anna's cat."]

    run(story())


def test_written_anew_it_changes_what_it_was_shown_though_the_old_swipe_changed_it() -> None:
    async def story() -> None:
        async with talking("sqlite://") as talk:
            await talk.keeper.memories.add("Anna is 30.", character=talk.mira)
            for age in (31, 32):
                talk.server.play([call(update(1, f"Anna is {age}.")), steps.answer("Noted.")])
                again = 2 if age == 32 else None
                reply = await talk.keeper.reply(talk.chat, replacing=again)
                assert [applied.refused for applied in reply.memories] == [None]
                assert await talk.texts(talk.mira) == [f"Anna is {age}."]

    run(story())


def test_a_character_deleted_while_it_speaks_files_nothing_where_it_was(database_url: str) -> None:
    async def story() -> None:
        async with talking(database_url) as talk:
            await talk.keeper.record(talk.chat, "Hi.", role="assistant")
            talk.server.play([call(add(BIRTHDAY)), steps.held(steps.answer("Noted."))])
            reply, _ = await _answered(
                talk, lambda keeper, _: keeper.characters.delete(talk.mira), replacing=2
            )
            (applied,) = reply.memories
            assert applied.refused == "that scope is not its to write to"
            assert await talk.journal() == 0
            assert await talk.said() == ["Hello.", "Noted."]

    run(story())


GONE: dict[str, Change] = {
    "left": lambda keeper, chat: _leave(keeper, chat, "Mira"),
    "deleted": lambda keeper, chat: _delete(keeper, "Mira"),
    "chat deleted": lambda keeper, chat: keeper.chats.delete(chat),
}


async def _leave(keeper: Keeper, chat: str, name: str) -> None:
    await keeper.characters.add(name="Boris")
    await keeper.chats.join(chat, "Boris")
    await keeper.chats.leave(chat, name)


async def _delete(keeper: Keeper, name: str) -> None:
    await keeper.characters.delete((await keeper.characters.get(name)).id)


@pytest.mark.parametrize("kind", GONE)
def test_a_reply_of_who_is_gone_is_told_and_its_usage_noted(database_url: str, kind: str) -> None:
    async def story() -> None:
        async with talking(database_url) as talk:
            talk.server.play([call(add(BIRTHDAY)), steps.held(steps.answer("Noted."))])
            found: list[Reply] = []

            async def reply() -> None:
                found.append(await talk.keeper.reply(talk.chat))

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(reply)
                await talk.server.asked(2)
                await GONE[kind](talk.keeper, talk.chat)
                talk.server.go_on()
            (told,) = found
            assert (told.text, told.message) == ("Noted.", None)
            assert "cannot be recorded in the chat as it is now: " in (told.why_not or "")
            assert (await talk.journal(), await talk.used()) == (0, 2)

    run(story())


def test_of_two_replies_at_once_to_the_same_one_is_recorded(database_url: str) -> None:
    async def story() -> None:
        async with talking(database_url, steps.held(steps.answer("Noted."))) as talk:
            found: list[Reply] = []

            async def reply() -> None:
                found.append(await talk.keeper.reply(talk.chat))

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(reply)
                tasks.start_soon(reply)
                await talk.server.asked(2)
                talk.server.go_on()
            assert sorted(one.message is None for one in found) == [False, True]
            assert await talk.said() == ["Hello.", "Noted."]

    run(story())
