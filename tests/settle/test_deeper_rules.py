"""Deeper memory: where it applies, what it leaves alone, and what takes its memories back."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from talekeeper import Keeper
from talekeeper.domain.usage import Usage
from talekeeper.store import usage
from talekeeper.testing import Ids, steps
from tests.conftest import run
from tests.settle.chapters import Model, adding, begin, operations, passes, saved, tell_on
from tests.settle.tales import House, opened_house

ALLERGY = "I am allergic to peanuts, always carry a pen."
KNOWS = adding("Alice is allergic to peanuts.", "allergic to peanuts")


async def _read(house: House, chat: str) -> None:
    assert not (await house.keeper.summaries.settle(chat)).failed


async def _unread(keeper: Keeper, chat: str) -> list[tuple[str, str | None]]:
    return [(one.outcome, one.reason) for one in await passes(keeper, chat)]


def test_the_free_plan_does_not_include_it_and_skips_for_good() -> None:
    async def go() -> None:
        model = Model(operations(KNOWS))
        async with opened_house(model) as house:
            keeper = house.keeper
            await keeper.settings.set_plan("free")
            chat = await begin(keeper, ALLERGY)
            await _read(house, chat)
            why = "The plan 'free' does not include deeper memory."
            assert (await keeper.memories.deeper(chat)).why_not == why
            assert await _unread(keeper, chat) == [("skipped", why)]
            await keeper.settings.set_plan("tier1")
            await tell_on(keeper, chat)
            await _read(house, chat)
            assert (await keeper.memories.deeper(chat)).active
            assert [one.outcome for one in await passes(keeper, chat)] == ["skipped", "done"]
            assert all(ALLERGY not in request.text for request in model.asked)

    run(go())


@pytest.mark.parametrize(
    ("channel", "why"),
    [
        ("challenge", "A challenge has no memories."),
        ("discord", "Deeper memory is for web chats; this one is on discord."),
        ("telegram", "Deeper memory is for web chats; this one is on telegram."),
    ],
)
def test_it_is_for_web_chats_alone(channel: Any, why: str) -> None:
    async def go() -> None:
        model = Model(operations(KNOWS))
        async with opened_house(model) as house:
            chat = await begin(house.keeper, ALLERGY, channel=channel)
            await _read(house, chat)
            view = await house.keeper.memories.deeper(chat)
            assert (view.active, view.why_not) == (False, why)
            assert await _unread(house.keeper, chat) == [("skipped", why)]
            assert not model.asked

    run(go())


def test_without_a_model_nothing_is_marked() -> None:
    async def go() -> None:
        model = Model(operations(KNOWS))
        async with opened_house(model) as house:
            keeper = await Keeper.of(house.database, "alice", clock=house.clock, new_id=Ids(40))
            chat = await begin(keeper, ALLERGY)
            await keeper.summaries.settle(chat)
            view = await keeper.memories.deeper(chat)
            assert view.why_not == "No language model is configured for work in the background."
            assert view.passes == []
            # Whoever has one reads it.
            await house.keeper.summaries.settle(chat)
            await tell_on(keeper, chat)
            await _read(house, chat)
            assert await saved(keeper) == [KNOWS["text"]]

    run(go())


def test_where_nobody_learns_nothing_is_read_and_never_will_be() -> None:
    async def go() -> None:
        model = Model(operations(KNOWS))
        async with opened_house(model) as house:
            keeper = house.keeper
            chat = await begin(keeper, ALLERGY)
            (mira,) = await keeper.characters.list()
            await keeper.characters.learn(mira.id, False)
            await _read(house, chat)
            why = "Learn from Chat is off for everybody in this chat."
            assert (await keeper.memories.deeper(chat)).why_not == why
            assert await _unread(keeper, chat) == [("skipped", why)]
            # What is said meanwhile is not read later either.
            await tell_on(keeper, chat, ALLERGY)
            await keeper.characters.learn(mira.id, True)
            await tell_on(keeper, chat)
            await tell_on(keeper, chat)
            await _read(house, chat)
            assert all(ALLERGY not in request.text for request in model.asked)
            assert await saved(keeper) == []

    run(go())


def test_switched_off_while_the_model_reads_nothing_is_learned() -> None:
    async def go() -> None:
        model = Model(steps.held(operations(KNOWS)))
        async with opened_house(model) as house:
            keeper = house.keeper
            chat = await begin(keeper, ALLERGY)
            (mira,) = await keeper.characters.list()
            reading = asyncio.create_task(keeper.summaries.settle(chat))
            await house.server.asked(2)
            await keeper.characters.learn(mira.id, False)
            house.server.go_on()
            assert not (await reading).failed
            assert await saved(keeper) == []
            assert [one.outcome for one in await passes(keeper, chat)] == ["skipped"]
            # What it took is noted all the same.
            assert "deeper" in {row.task for row in await keeper.settings.usage()}

    run(go())


def test_in_a_group_each_memory_is_whose_it_is_said_to_be() -> None:
    async def go() -> None:
        async with opened_house() as house:
            keeper = house.keeper
            names = ("Mira", "桜", "Anna")
            cast = [await keeper.characters.add(name=name) for name in names]
            await keeper.characters.learn(cast[2].id, False)
            model = Model(
                operations(
                    adding("桜は猫を飼っている。", "猫を飼っている", character="桜"),
                    adding("Mira hates rain.", "I hate rain", character="mira "),
                    adding("Anna hates snow.", "I hate rain", character="Anna"),
                    adding("Somebody hates hail.", "I hate rain"),
                    adding("Alice is called Lis.", "Call me Lis", scope="global"),
                    adding("Anna sings.", "I sing"),
                )
            )
            house.server.play(model)
            chat = (await keeper.chats.start(*names, title="Group")).id
            await keeper.record(chat, "Call me Lis, all of you, and let us walk on.")
            for name, text in (
                ("桜", "私は猫を飼っている。"),
                ("Mira", "I hate rain, and so do all of you, I think."),
                ("Anna", "I sing in the evening, when all of you sleep."),
                ("Mira", "Then let us walk on to the next well, all of us."),
            ):
                await keeper.record(chat, text, role="assistant", speaker=name)
            await tell_on(keeper, chat)
            await _read(house, chat)
            assert "I sing" not in model.asked[0].text
            (first,) = await passes(keeper, chat)
            assert [change.refused for change in first.changes] == [
                None,
                None,
                "No character here learns as 'Anna'.",
                "It does not say whose memory it is.",
                None,
                "It does not say whose memory it is.",
            ]
            for character, text in (
                (cast[1].id, "桜は猫を飼っている。"),
                (cast[0].id, "Mira hates rain."),
                (None, "Alice is called Lis."),
            ):
                (memory,) = (await keeper.memories.list(character)).memories
                assert memory.text == text

    run(go())


def test_forgotten_messages_are_not_read_and_too_few_are_none() -> None:
    async def go() -> None:
        model = Model(operations(KNOWS))
        async with opened_house(model) as house:
            keeper = house.keeper
            chat = await begin(keeper, ALLERGY)
            await tell_on(keeper, chat, "Yo me llamo Lis.", *["Seguimos hasta el pozo."] * 4)
            await tell_on(keeper, chat)
            await keeper.messages.forget(chat, 1)
            await keeper.messages.forget(chat, 9)
            await _read(house, chat)
            few = "Fewer than 4 messages may be learned from."
            assert (await _unread(keeper, chat))[0] == ("skipped", few)
            assert all("allergic" not in request.text.split("<conv")[1] for request in model.asked)
            assert all("Lis" not in request.text for request in model.asked)
            # Let in again, the cell stays as it is.
            await keeper.messages.unforget(chat, 1)
            await _read(house, chat)
            assert (await _unread(keeper, chat))[0] == ("skipped", few)

    run(go())


async def _edit(keeper: Keeper, chat: str) -> None:
    await keeper.messages.edit(chat, 1, "I am allergic to nothing that I know of.")


async def _swipe(keeper: Keeper, chat: str) -> None:
    await keeper.messages.add_swipe(chat, 1, "I like nuts, all of them, and carry no pen.")


async def _forget(keeper: Keeper, chat: str) -> None:
    await keeper.messages.forget(chat, 1)


async def _delete(keeper: Keeper, chat: str) -> None:
    await keeper.messages.delete(chat, 1)


async def _rewind(keeper: Keeper, chat: str) -> None:
    await keeper.chats.rewind(chat, 0)


@pytest.mark.parametrize("change", [_edit, _swipe, _forget, _delete, _rewind])
def test_what_a_memory_rests_on_takes_it_along(change: Any) -> None:
    async def go() -> None:
        model = Model(operations(KNOWS))
        async with opened_house(model) as house:
            keeper = house.keeper
            chat = await begin(keeper, ALLERGY)
            await _read(house, chat)
            assert await saved(keeper) == [KNOWS["text"]]
            await change(keeper, chat)
            assert await saved(keeper) == []
            if change is _forget:
                await keeper.messages.unforget(chat, 1)
                assert await saved(keeper) == [KNOWS["text"]]
            if change is _swipe:
                await keeper.messages.choose_swipe(chat, 1, 0)
                assert await saved(keeper) == [KNOWS["text"]]
            await keeper.summaries.settle(chat)
            assert len(model.asked) == 1

    run(go())


def test_an_edit_that_leaves_the_words_leaves_the_memory() -> None:
    async def go() -> None:
        async with opened_house(Model(operations(KNOWS))) as house:
            chat = await begin(house.keeper, ALLERGY)
            await _read(house, chat)
            await house.keeper.messages.edit(chat, 1, "Yes: I am ALLERGIC to  peanuts. You know.")
            assert await saved(house.keeper) == [KNOWS["text"]]

    run(go())


def test_a_fork_reads_only_what_was_not_read(database_url: str) -> None:
    async def go() -> None:
        model = Model(operations(KNOWS), operations())
        async with opened_house(model, url=database_url) as house:
            keeper = house.keeper
            chat = await begin(keeper, ALLERGY)
            await _read(house, chat)
            fork = await keeper.chats.fork(chat, 8)
            assert [one.cell for one in await passes(keeper, fork.id)] == [1]
            await tell_on(keeper, fork.id, "In the fork we turn back to the sea, all of us.")
            await _read(house, fork.id)
            assert [one.cell for one in await passes(keeper, fork.id)] == [1, 5]
            assert len(model.asked) == 2
            assert ALLERGY not in model.asked[1].text
            # A cell that is cut in two goes on in the fork, and is read there when it is whole.
            cut = await keeper.chats.fork(chat, 3)
            assert await passes(keeper, cut.id) == []
            # What happens to the copy does not happen to the memory.
            await keeper.messages.delete(fork.id, 1)
            assert await saved(keeper) == [KNOWS["text"]]

    run(go())


def test_over_the_plans_tokens_of_a_day_it_waits_and_summaries_do_not() -> None:
    async def go() -> None:
        model = Model(operations(KNOWS))
        async with opened_house(model) as house:
            keeper = house.keeper
            chat = await begin(keeper, ALLERGY)
            await _capped(keeper, 1)
            settled = await keeper.summaries.settle(chat)
            (failed,) = settled.failed
            assert failed.reason is not None
            assert "tokens of language models a day" in failed.reason
            (failure,) = await keeper.summaries.failures()
            assert failure.retry_at is not None
            assert (failure.retry_at - house.clock.now).total_seconds() == 15 * 3600
            # A chat that goes on is summarised meanwhile.
            house.later(60)
            await tell_on(keeper, chat)
            settled = await keeper.summaries.settle(chat)
            assert settled.made == 1
            assert not model.asked
            house.later(15 * 3600)
            settled = await keeper.summaries.settle()
            assert await saved(keeper) == [KNOWS["text"]]

    run(go())


async def _capped(keeper: Keeper, tokens: int) -> None:
    """Let the account's plan allow so many tokens a day, some of which are used."""
    await keeper.settings.define_plan("capped", daily_tokens=tokens)
    await keeper.settings.set_plan("capped")
    desk = keeper._desk
    used = Usage(task="reply", model="fake-model", prompt_tokens=tokens, reply_tokens=0)
    await desk.write(usage.add, desk.account.id, used, new_id=desk.new_id(), now=desk.clock())


def test_imported_messages_are_not_read(tmp_path: Path) -> None:
    async def go() -> None:
        model = Model(operations(KNOWS))
        async with opened_house(model) as house:
            keeper = house.keeper
            await keeper.characters.add(name="Mira")
            lines = ['{"user_name":"Alice","character_name":"Mira","chat_metadata":{}}']
            for turn in range(4):
                lines.append(f'{{"name":"Alice","is_user":true,"mes":"{turn}: {ALLERGY}"}}')
                lines += ['{"name":"Mira","is_user":false,"mes":"On to the next well, all."}'] * 3
            file = tmp_path / "wells.jsonl"
            file.write_text("\n".join(lines), encoding="utf-8")
            await keeper.files.import_file(file)
            (chat,) = await keeper.chats.list()
            await keeper.summaries.settle(chat.id)
            assert {one.reason for one in await passes(keeper, chat.id)} == {"It was imported."}
            assert not model.asked

    run(go())


def test_a_broken_answer_of_one_chat_does_not_stop_the_other() -> None:
    async def go() -> None:
        model = Model(steps.answer("?"), steps.answer("?"), operations(KNOWS))
        async with opened_house(model) as house:
            first = await begin(house.keeper, "We met.", title="A")
            second = await begin(house.keeper, ALLERGY, title="B")
            await house.keeper.summaries.settle()
            found = [(await passes(house.keeper, chat))[0].outcome for chat in (first, second)]
            assert sorted(found) == ["done", "failed"]

    run(go())
