"""What a person changed in Talekeeper, when files of the chat come back: it stays as it is."""

from collections.abc import Awaitable, Callable
from io import BytesIO
from typing import Any

import pytest

from talekeeper import ImportReport, Keeper
from talekeeper.domain.chat import ToolCall
from talekeeper.record.messages import NewMessage, NewSwipe
from tests.conftest import OpenKeeper, run
from tests.record.st_files import chat_file, header, reply, said

HEAD = header(integrity="i-1")
TALK = [one for n in range(5) for one in (said(f"Say {n}."), reply(f"Reply {n}.", f"Hm {n}."))]


async def brought(keeper: Keeper, *lines: Any, name: str = "Mira.jsonl") -> ImportReport:
    return await keeper.files.import_stream(chat_file(*lines), name)


async def written(keeper: Keeper, chat: str) -> list[Any]:
    """The lines of a chat's export."""
    out = BytesIO()
    await keeper.files.export_chat(chat, out)
    return out.getvalue().split(b"\n")


async def texts(keeper: Keeper, chat: str) -> list[str]:
    return [message.text for message in await keeper.messages.list(chat, limit=1000)]


async def kept(keeper: Keeper, *lines: Any) -> str:
    """The chat that a file becomes."""
    chat = (await brought(keeper, *lines)).id
    assert chat is not None
    return chat


async def begun(keeper: Keeper) -> str:
    """A chat that began here."""
    await keeper.characters.add(name="Mira", first_mes="Welcome.")
    chat = await keeper.chats.start("Mira", persona="Anna", title="The cellar")
    await keeper.record(chat.id, "Is it locked?")
    await keeper.record(chat.id, "It is.", role="assistant")
    return chat.id


async def _excluded(keeper: Keeper, chat: str) -> None:
    await keeper.messages.exclude(chat, 4)


async def _included_again(keeper: Keeper, chat: str) -> None:
    await keeper.messages.exclude(chat, 4)
    await keeper.messages.include(chat, 4)


async def _forgotten(keeper: Keeper, chat: str) -> None:
    await keeper.messages.forget(chat, 4)


async def _swiped_back(keeper: Keeper, chat: str) -> None:
    await keeper.messages.add_swipe(chat, 4, "Another reply.")
    await keeper.messages.choose_swipe(chat, 4, 1)


Change = Callable[[Keeper, str], Awaitable[None]]


@pytest.mark.parametrize("change", [_excluded, _included_again, _forgotten, _swiped_back])
def test_marks_and_swipes_do_not_make_another_chat(open_keeper: OpenKeeper, change: Change) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            chat = await kept(keeper, HEAD, *TALK)
            await change(keeper, chat)
            await keeper.record(chat, "Said in Talekeeper.")
            await keeper.record(chat, "Answered in Talekeeper.", role="assistant")
            before = await keeper.messages.get(chat, 4)
            newer = [*await written(keeper, chat), said("Said there.")]
            report = await brought(keeper, *newer)
            assert (report.outcome, report.added, report.id) == ("longer", 1, chat)
            assert await keeper.messages.get(chat, 4) == before
            assert await written(keeper, chat) == chat_file(*newer).getvalue().split(b"\n")
            parted = await brought(keeper, HEAD, *TALK, said("Said without that."))
            assert (parted.outcome, parted.added) == ("branch", 1)
            assert parted.id is not None
            assert await keeper.messages.get(parted.id, 4) == before

    run(story())


@pytest.mark.parametrize("out", [True, False])
def test_an_exclusion_made_after_the_export_stays(open_keeper: OpenKeeper, out: bool) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            chat = await begun(keeper)
            if not out:
                await keeper.messages.exclude(chat, 2)
            file = await written(keeper, chat)
            await (keeper.messages.exclude if out else keeper.messages.include)(chat, 2)
            report = await brought(keeper, *file, said("Go on."))
            assert (report.outcome, report.id) == ("longer", chat)
            assert (await keeper.messages.get(chat, 2)).excluded == out
            assert (await keeper.chats.get(chat)).messages == 4
            again = await brought(keeper, *await written(keeper, chat), said("And on."))
            assert (again.outcome, again.added, again.id) == ("longer", 1, chat)
            assert (await keeper.messages.get(chat, 2)).excluded == out

    run(story())


def test_what_was_hidden_there_and_untouched_here_is_taken_over(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            chat = await begun(keeper)
            file = await written(keeper, chat)
            hidden = file[2].replace(b'"is_system": false', b'"is_system": true')
            hidden = hidden.replace(b'"is_system":false', b'"is_system":true')
            assert hidden != file[2]
            await brought(keeper, *file[:2], hidden, file[3], said("Go on."))
            assert (await keeper.messages.get(chat, 2)).excluded

    run(story())


@pytest.mark.parametrize("words", ["", "Let me look."])
@pytest.mark.parametrize("after", [True, False], ids=["after the export", "before"])
def test_a_tool_group_is_excluded_as_one(open_keeper: OpenKeeper, words: str, after: bool) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            chat = await begun(keeper)
            calls = (ToolCall(id="c1", name="look", arguments="{}"),)
            await keeper.messages.add(
                chat,
                NewMessage(role="assistant", swipes=(NewSwipe(text=words, tool_calls=calls),)),
            )
            await keeper.record(chat, "Saw it.", role="tool", tool_call_id="c1")
            file = await written(keeper, chat)
            await keeper.messages.exclude(chat, 4)
            if not after:
                file = await written(keeper, chat)
            for more in (["Go on."], ["Go on.", "And on."]):
                await brought(keeper, *file, *(said(text) for text in more))
                marks = [m.excluded for m in await keeper.messages.list(chat)]
                assert marks[3:] == [True, True, *(False for _ in more)]
            assert len(await keeper.chats.list()) == 1

    run(story())


def test_calls_of_other_swipes_are_not_lost(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            chat = await begun(keeper)
            calls = (ToolCall(id="c1", name="look", arguments="{}"),)
            swipes = (NewSwipe(text="It is open."), NewSwipe(text="Look!", tool_calls=calls))
            await keeper.messages.add(chat, NewMessage(role="assistant", swipes=swipes))
            file = await written(keeper, chat)
            swiped = reply("It is open.", "Look!", "Who knows.")
            await brought(keeper, *file[:-1], swiped, said("Not I."))
            found = (await keeper.messages.get(chat, 4)).swipes
            assert [swipe.tool_calls for swipe in found] == [(), calls, ()]

    run(story())


def test_a_swipe_chosen_after_the_export_stays(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            chat = await begun(keeper)
            await keeper.messages.add_swipe(chat, 3, "It never was.")
            file = await written(keeper, chat)
            await keeper.messages.choose_swipe(chat, 3, 0)
            assert (await brought(keeper, *file)).outcome == "present"
            assert (await keeper.messages.get(chat, 3)).active == 0
            report = await brought(keeper, *file, said("Go on."))
            assert (report.outcome, report.added) == ("branch", 2)
            assert report.notices[0].line == 4
            assert report.id is not None
            assert (await texts(keeper, report.id))[2:] == ["It never was.", "Go on."]
            assert (await texts(keeper, chat))[2:] == ["It is."]

    run(story())


def test_a_chat_is_known_by_its_mark_where_another_has_the_same_lines(
    open_keeper: OpenKeeper,
) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            chat = await begun(keeper)
            fork = await keeper.chats.fork(chat, 3)
            file = await written(keeper, fork.id)
            assert (await brought(keeper, *file, said("In the fork."))).id == fork.id
            file = [*await written(keeper, chat), said("In the chat.")]
            report = await brought(keeper, *file)
            assert (report.outcome, report.added, report.id) == ("longer", 1, chat)
            assert await written(keeper, chat) == chat_file(*file).getvalue().split(b"\n")

    run(story())


def _notice(report: ImportReport) -> str:
    (notice,) = report.notices
    return notice.text


async def _deleted(keeper: Keeper, chat: str) -> None:
    for number in (8, 9, 10):
        await keeper.messages.delete(chat, number)


async def _rewound(keeper: Keeper, chat: str) -> None:
    await keeper.chats.rewind(chat, 7)


@pytest.mark.parametrize("change", [_deleted, _rewound])
@pytest.mark.parametrize("head", [HEAD, header()], ids=["marked", "unmarked"])
def test_what_was_deleted_stays_deleted(
    open_keeper: OpenKeeper, change: Change, head: dict[str, Any]
) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            chat = await kept(keeper, head, *TALK)
            before = (await texts(keeper, chat))[:7]
            await change(keeper, chat)
            again = await brought(keeper, head, *TALK)
            assert (again.outcome, again.added, again.id) == ("present", 0, chat)
            assert "3 messages of this file" in _notice(again)
            assert await texts(keeper, chat) == before
            newer = [head, *TALK, said("Go on."), reply("On.")]
            dry = await keeper.files.import_stream(chat_file(*newer), "Mira.jsonl", dry_run=True)
            longer = await brought(keeper, *newer)
            for report in (dry, longer):
                assert (report.outcome, report.added, report.id) == ("longer", 2, chat)
                assert "3 messages of this file" in _notice(report)
            assert await texts(keeper, chat) == [*before, "Go on.", "On."]
            own = chat_file(head, *TALK[:7], *newer[-2:]).getvalue().split(b"\n")
            assert await written(keeper, chat) == own
            assert (await brought(keeper, *newer)).outcome == "present"
            assert (await brought(keeper, *own, said("More."))).id == chat
            assert len(await keeper.chats.list()) == 1

    run(story())


@pytest.mark.parametrize("change", [_deleted, _rewound])
def test_what_was_deleted_here_and_told_otherwise_since_is_a_fork(
    open_keeper: OpenKeeper, change: Change
) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            chat = await kept(keeper, HEAD, *TALK)
            await change(keeper, chat)
            await keeper.record(chat, "Said in Talekeeper.")
            newer = [HEAD, *TALK, said("Go on.")]
            report = await brought(keeper, *newer)
            assert (report.outcome, report.added) == ("branch", 4)
            assert report.notices[0].line == 9
            assert report.id is not None
            assert (await keeper.chats.get(report.id)).forked_from == (chat, 7)
            assert await written(keeper, report.id) == chat_file(*newer).getvalue().split(b"\n")
            assert (await texts(keeper, chat))[7:] == ["Said in Talekeeper."]

    run(story())


def test_a_fork_begins_before_what_was_changed_here(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            chat = await kept(keeper, HEAD, b"", *TALK)
            await keeper.messages.edit(chat, 4, "Not that.")
            await keeper.record(chat, "Said in Talekeeper.")
            newer = [HEAD, *TALK, said("Go on.")]
            report = await brought(keeper, *newer)
            assert (report.outcome, report.added) == ("branch", 8)
            assert report.notices[0].line == 5
            assert report.id is not None
            assert "Not that." not in await texts(keeper, report.id)
            assert await written(keeper, report.id) == chat_file(*newer).getvalue().split(b"\n")

    run(story())


def test_a_chat_that_was_emptied_goes_on_with_what_is_new(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            chat = await kept(keeper, HEAD, *TALK)
            await keeper.chats.rewind(chat, 0)
            assert (await brought(keeper, HEAD, *TALK)).outcome == "present"
            report = await brought(keeper, HEAD, *TALK, said("Go on."))
            assert (report.outcome, report.id) == ("longer", chat)
            assert await texts(keeper, chat) == ["Go on."]

    run(story())


def test_every_file_that_came_in_is_known_by_its_bytes(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            chat = await kept(keeper, HEAD, *TALK[:4])
            await brought(keeper, HEAD, *TALK)
            await keeper.messages.edit(chat, 1, "Said otherwise.")
            await brought(keeper, *await written(keeper, chat), said("More."))
            for lines in (TALK[:4], TALK):
                report = await brought(keeper, HEAD, *lines, name="old.jsonl")
                assert (report.outcome, report.id) == ("present", chat)
            fork = await keeper.chats.fork(chat, 2)
            await keeper.chats.delete(chat)
            assert (await brought(keeper, HEAD, *TALK)).id not in (chat, fork.id)

    run(story())
