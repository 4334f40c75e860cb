"""Out to SillyTavern, on there, and in again: one chat stays one chat."""

import json
from collections.abc import Sequence
from io import BytesIO
from typing import Any

import pytest

from talekeeper import ImportReport, Keeper
from talekeeper.domain.chat import ToolCall
from talekeeper.record.messages import NewMessage, NewSwipe
from tests.conftest import OpenKeeper, run
from tests.record.st_files import chat_file, header, reply, said

TALK = [
    reply("Welcome to the lighthouse."),
    said("I cannot eat walnuts."),
    reply("No walnuts, then."),
]


async def brought(keeper: Keeper, *lines: Any, name: str = "Mira.jsonl") -> ImportReport:
    return await keeper.files.import_stream(chat_file(*lines), name)


async def written(keeper: Keeper, chat: str | None) -> list[Any]:
    """The lines of a chat's export."""
    assert chat is not None
    out = BytesIO()
    await keeper.files.export_chat(chat, out)
    return out.getvalue().split(b"\n")


def parsed(line: Any) -> Any:
    """A line as SillyTavern reads it."""
    return json.loads(line) if isinstance(line, bytes) else line


async def texts(keeper: Keeper, chat: str | None) -> list[str]:
    assert chat is not None
    return [message.text for message in await keeper.messages.list(chat, limit=1000)]


async def same_bytes(keeper: Keeper, chat: str | None, lines: Sequence[Any]) -> bool:
    assert chat is not None
    out = BytesIO()
    await keeper.files.export_chat(chat, out)
    return out.getvalue() == chat_file(*lines).getvalue()


BEGINNINGS = {
    "marked": [header(integrity="i-1"), *TALK],
    "unmarked": [header(), *TALK],
    "greeting only": [header(), *TALK[:1]],
    "no header": TALK,
    "header only": [{**header(), "character_name": "Mira", "user_name": "Anna"}],
}


@pytest.mark.parametrize("lines", BEGINNINGS.values(), ids=BEGINNINGS)
def test_an_imported_chat_that_went_on_here_goes_on_there(
    open_keeper: OpenKeeper, lines: list[Any]
) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            chat = (await brought(keeper, *lines)).id
            assert chat is not None
            await keeper.record(chat, "Said in Talekeeper.", speaker="Anna")
            if (await keeper.chats.get(chat)).characters:
                await keeper.record(chat, "Answered in Talekeeper.", role="assistant")
            before = await texts(keeper, chat)
            out = await written(keeper, chat)
            again = await brought(keeper, *out)
            assert (again.outcome, again.added, again.id) == ("present", 0, chat)
            newer = [*out, said("Said there."), reply("Answered there.")]
            longer = await brought(keeper, *newer)
            assert (longer.outcome, longer.added, longer.id) == ("longer", 2, chat)
            assert await texts(keeper, chat) == [*before, "Said there.", "Answered there."]
            assert await same_bytes(keeper, chat, newer)
            assert (await brought(keeper, *newer)).outcome == "present"
            newest = [*newer, said("And once more.")]
            assert (await brought(keeper, *newest)).added == 1
            assert await same_bytes(keeper, chat, newest)
            assert len(await keeper.chats.list()) == 1

    run(story())


async def begun(keeper: Keeper) -> str:
    await keeper.characters.add(name="Mira", first_mes="Welcome.")
    chat = await keeper.chats.start("Mira", persona="Anna", title="The cellar")
    await keeper.record(chat.id, "Is it locked?")
    await keeper.record(chat.id, "It is.", role="assistant")
    return chat.id


def test_a_chat_that_began_here_goes_on_there(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            chat = await begun(keeper)
            await keeper.messages.add_swipe(chat, 3, "It never was.")
            await keeper.messages.exclude(chat, 2)
            out = await written(keeper, chat)
            assert (await brought(keeper, *out)).outcome == "present"
            head = parsed(out[0])
            # SillyTavern writes lines in its own way, and fields of its own into them.
            resaved = [
                {**head, "chat_metadata": {**head["chat_metadata"], "tainted": True}},
                *({**parsed(one), "gen_id": 7} for one in out[1:]),
            ]
            again = await brought(keeper, *resaved, name="cellar.jsonl")
            assert (again.outcome, again.added, again.id) == ("updated", 0, chat)
            assert await same_bytes(keeper, chat, resaved)
            assert [len(m.swipes) for m in await keeper.messages.list(chat)] == [1, 1, 2]
            assert (await keeper.messages.get(chat, 2)).excluded
            newer = [*resaved, said("Then let us go.")]
            assert (await brought(keeper, *newer)).added == 1
            await keeper.record(chat, "After you.", role="assistant")
            out = await written(keeper, chat)
            assert [parsed(one) for one in out[:-1]] == newer
            assert (await brought(keeper, *out, said("No."))).added == 1
            assert (await texts(keeper, chat))[-2:] == ["After you.", "No."]
            assert len(await keeper.chats.list()) == 1

    run(story())


def test_a_last_message_of_ours_may_be_swiped_there(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            chat = await begun(keeper)
            out = await written(keeper, chat)
            swiped = [*out[:-1], reply("It is.", "Who knows."), said("I do.")]
            report = await brought(keeper, *swiped)
            assert (report.outcome, report.added, report.id) == ("longer", 1, chat)
            last = await keeper.messages.get(chat, 3)
            assert (last.text, [s.text for s in last.swipes]) == (
                "Who knows.",
                ["It is.", "Who knows."],
            )
            assert await same_bytes(keeper, chat, swiped)

    run(story())


def test_what_was_changed_here_before_comes_back_as_the_same_chat(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            talk = [*TALK, said("And tea?"), reply("Gladly.", "No.", active=0)]
            chat = (await brought(keeper, header(integrity="i-1"), *talk)).id
            assert chat is not None
            await keeper.messages.edit(chat, 2, "I cannot eat hazelnuts.")
            await keeper.messages.delete(chat, 3)
            await keeper.messages.choose_swipe(chat, 5, 1)
            await keeper.record(chat, "A pity.")
            out = await written(keeper, chat)
            assert (await brought(keeper, *out)).outcome == "present"
            newer = [*out, reply("It is.")]
            report = await brought(keeper, *newer)
            assert (report.outcome, report.added, report.id) == ("longer", 1, chat)
            assert (await texts(keeper, chat))[1:] == [
                "I cannot eat hazelnuts.",
                "And tea?",
                "No.",
                "A pity.",
                "It is.",
            ]
            assert await same_bytes(keeper, chat, newer)

    run(story())


@pytest.mark.parametrize("words", ["", "Let me look."])
def test_tool_calls_of_ours_come_back(open_keeper: OpenKeeper, words: str) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            chat = await begun(keeper)
            calls = tuple(ToolCall(id=f"c{n}", name="look", arguments="{}") for n in (1, 2))
            await keeper.messages.add(
                chat,
                NewMessage(role="assistant", swipes=(NewSwipe(text=words, tool_calls=calls),)),
            )
            for call in calls:
                await keeper.record(chat, f"Saw {call.id}.", role="tool", tool_call_id=call.id)
            before = await texts(keeper, chat)
            out = await written(keeper, chat)
            assert (await brought(keeper, *out)).outcome == "present"
            newer = [*out, reply("It is open."), said("Thank you.")]
            report = await brought(keeper, *newer)
            assert (report.outcome, report.added, report.id) == ("longer", 2, chat)
            assert await texts(keeper, chat) == [*before, "It is open.", "Thank you."]
            assert (await keeper.messages.get(chat, 4)).swipe.tool_calls == calls
            assert await same_bytes(keeper, chat, newer)
            assert (await brought(keeper, *newer, reply("You are welcome."))).added == 1

    run(story())


def test_a_fork_made_here_names_its_parent_and_goes_on_there(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            parent = (await brought(keeper, header(integrity="i-1"), *TALK)).id
            assert parent is not None
            fork = await keeper.chats.fork(parent, 2)
            out = await written(keeper, fork.id)
            metadata = parsed(out[0])["chat_metadata"]
            assert metadata == {"integrity": fork.id, "main_chat": "Mira"}
            assert [parsed(one) for one in out[1:]] == TALK[:2]
            newer = [*out, reply("None at all.")]
            report = await brought(keeper, *newer)
            assert (report.outcome, report.added, report.id) == ("longer", 1, fork.id)
            assert await same_bytes(keeper, fork.id, newer)
            assert await same_bytes(keeper, parent, [header(integrity="i-1"), *TALK])

    run(story())


def test_a_fork_of_a_chat_that_began_here_names_its_title(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            fork = await keeper.chats.fork(await begun(keeper), 1)
            metadata = parsed((await written(keeper, fork.id))[0])["chat_metadata"]
            assert metadata["main_chat"] == "The cellar"

    run(story())


def test_a_branch_made_there_of_a_chat_of_ours_is_a_fork(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            chat = await begun(keeper)
            out = await written(keeper, chat)
            # SillyTavern's branches keep the mark.
            metadata = {**parsed(out[0])["chat_metadata"], "main_chat": "The cellar"}
            head = {**parsed(out[0]), "chat_metadata": metadata}
            branch = [head, *out[1:3], reply("Nobody knows.")]
            report = await brought(keeper, *branch, name="The cellar - Branch #1.jsonl")
            assert (report.outcome, report.added) == ("branch", 1)
            assert report.id is not None
            assert (await keeper.chats.get(report.id)).forked_from == (chat, 2)
            assert await same_bytes(keeper, report.id, branch)
            grown = [*branch, said("Somebody does.")]
            longer = await brought(keeper, *grown, name="The cellar - Branch #1.jsonl")
            assert (longer.outcome, longer.added, longer.id) == ("longer", 1, report.id)
            assert await texts(keeper, chat) == ["Welcome.", "Is it locked?", "It is."]

    run(story())


def test_untouched_files_get_no_mark(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            chat = (await brought(keeper, header(), *TALK)).id
            assert await same_bytes(keeper, chat, [header(), *TALK])

    run(story())


def test_an_old_message_edited_there_gives_a_version_of_another_title(
    open_keeper: OpenKeeper,
) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            first = await brought(keeper, header(integrity="i-1"), *TALK)
            for title, text in (("Mira (2)", "I hate walnuts."), ("Mira (3)", "I like walnuts.")):
                lines = [header(integrity="i-1"), TALK[0], said(text), *TALK[2:]]
                dry = await keeper.files.import_stream(
                    chat_file(*lines), "Mira.jsonl", dry_run=True
                )
                report = await brought(keeper, *lines)
                for one in (dry, report):
                    assert (one.outcome, one.title, one.added) == ("branch", title, 2)
                    (notice,) = one.notices
                    assert notice.line == 3
                    assert "Line 3 is the first that differs from 'Mira'" in notice.text
                    assert f"a fork of it, titled '{title}'" in notice.text
                assert report.id is not None
                assert (await keeper.chats.get(report.id)).title == title
            assert await same_bytes(keeper, first.id, [header(integrity="i-1"), *TALK])

    run(story())


def test_a_first_message_edited_there_gives_a_chat_of_another_title(
    open_keeper: OpenKeeper,
) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            await brought(keeper, header(integrity="i-1"), *TALK)
            lines = [header(integrity="i-1"), reply("Go away."), *TALK[1:]]
            report = await brought(keeper, *lines)
            assert (report.outcome, report.title) == ("new", "Mira (2)")
            assert "Line 2 is the first" in report.notices[0].text
            assert "a chat of its own" in report.notices[0].text
            other = await brought(keeper, header(integrity="i-2"), reply("Who are you?"))
            assert (other.title, other.notices) == ("Mira", ())

    run(story())


def test_a_branch_with_a_name_of_its_own_keeps_it(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            await brought(keeper, header(integrity="i-1"), *TALK)
            branch = [header(integrity="i-1", main_chat="Mira"), *TALK[:2], reply("Why?")]
            report = await brought(keeper, *branch, name="Branch.jsonl")
            assert (report.outcome, report.title, report.notices) == ("branch", "Branch", ())

    run(story())


def test_what_is_there_is_reported_under_its_own_title(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            lines = [header(integrity="i-1"), *TALK]
            chat = (await brought(keeper, *lines)).id
            assert chat is not None
            await keeper.chats.rename(chat, "The walnut affair")
            for more in ([], [said("Go on.")]):
                report = await brought(keeper, *lines, *more, name="backup.jsonl")
                assert (report.title, report.id) == ("The walnut affair", chat)

    run(story())


def test_a_longer_file_with_its_lines_elsewhere_says_so(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            await brought(keeper, header(integrity="i-1"), *TALK)
            more = [*TALK[:2], b"", *TALK[2:], said("Go on.")]
            report = await brought(keeper, header(integrity="i-1"), *more)
            assert (report.outcome, report.added) == ("longer", 1)
            assert "exported as they came first" in report.notices[-1].text

    run(story())
