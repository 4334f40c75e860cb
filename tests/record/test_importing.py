"""How a chat file comes in: new, again, longer, as a branch; and how it goes out again."""

import json
from datetime import timedelta
from functools import partial
from io import BytesIO
from typing import Any

import anyio
import pytest
from sqlalchemy import select

from talekeeper import Conflict, ImportReport, Keeper, NotFound, UnreadableFile
from talekeeper.domain.chat import Role
from talekeeper.store.tables import lines as lines_table
from talekeeper.testing import TickingClock
from tests.conftest import OpenKeeper, run
from tests.record.st_files import chat_file, header, line, reply, said

HELLO = reply("Welcome to the lighthouse.")
TALK = [
    HELLO,
    said("I am Anna. I cannot eat walnuts."),
    reply("*nods* No walnuts, then."),
    said("Какой сегодня день? 🌊"),
    reply("今日は水曜日。", "Wednesday.", active=0),
]


async def brought(keeper: Keeper, *lines: Any, name: str = "Mira.jsonl") -> ImportReport:
    return await keeper.files.import_stream(chat_file(*lines), name)


async def written(keeper: Keeper, chat: str | None) -> bytes:
    assert chat is not None
    out = BytesIO()
    await keeper.files.export_chat(chat, out)
    return out.getvalue()


async def texts(keeper: Keeper, chat: str | None) -> list[str]:
    assert chat is not None
    return [message.text for message in await keeper.messages.list(chat, limit=1000)]


def test_a_file_comes_in_and_goes_out_byte_for_byte(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            lines = [header(integrity="i-1", foreign={"kept": [1, 2]}), *TALK]
            report = await brought(keeper, *lines)
            assert (report.outcome, report.messages, report.added, report.swipes) == (
                "new",
                5,
                5,
                6,
            )
            assert await written(keeper, report.id) == chat_file(*lines).getvalue()
            chat = (await keeper.chats.list())[0]
            assert (chat.title, chat.messages) == ("Mira", 5)
            assert [c.name for c in await keeper.characters.list()] == ["Mira"]
            assert [p.name for p in await keeper.personas.list()] == ["Anna"]

    run(story())


@pytest.mark.parametrize(
    "lines",
    [
        [header(integrity="i-1"), *TALK],
        [header(), *TALK],
        [header()],
        [header(), HELLO],
        [HELLO, *TALK[1:]],
    ],
    ids=["marked", "unmarked", "header only", "greeting only", "no header"],
)
def test_the_same_file_again_adds_nothing(open_keeper: OpenKeeper, lines: list[Any]) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            first = await brought(keeper, *lines)
            again = await brought(keeper, *lines, name="backup.jsonl")
            assert (again.outcome, again.added, again.id) == ("present", 0, first.id)
            assert len(await keeper.chats.list()) == 1

    run(story())


def test_a_longer_file_adds_its_tail(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            first = await brought(keeper, header(integrity="i-1"), *TALK)
            more = [said("And tomorrow?"), reply("Thursday, if the sea allows it.")]
            newer = [header(integrity="i-1", tainted=True), *TALK, *more]
            longer = await brought(keeper, *newer)
            assert (longer.outcome, longer.added, longer.id) == ("longer", 2, first.id)
            assert (await texts(keeper, first.id))[-1] == "Thursday, if the sea allows it."
            assert await written(keeper, first.id) == chat_file(*newer).getvalue()
            assert len(await keeper.chats.list()) == 1
            older = await brought(keeper, header(integrity="i-1"), *TALK)
            assert (older.outcome, older.added) == ("present", 0)

    run(story())


def test_a_longer_file_takes_over_what_was_hidden_and_swiped(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            await brought(keeper, header(integrity="i-1"), *TALK)
            newer = [
                header(integrity="i-1"),
                *TALK[:1],
                {**TALK[1], "is_system": True},
                *TALK[2:4],
                reply("今日は水曜日。", "Wednesday.", "Midweek.", active=2),
                said("Good."),
            ]
            report = await brought(keeper, *newer)
            assert (report.outcome, report.added) == ("longer", 1)
            assert report.id is not None
            assert (await keeper.messages.get(report.id, 2)).excluded
            last = await keeper.messages.get(report.id, 5)
            assert (last.active, len(last.swipes)) == (2, 3)
            chat = await keeper.chats.get(report.id)
            assert chat.messages == 6
            assert await written(keeper, report.id) == chat_file(*newer).getvalue()

    run(story())


def test_a_person_s_own_changes_survive_a_longer_file(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            first = await brought(keeper, header(integrity="i-1"), *TALK)
            assert first.id is not None
            await keeper.messages.edit(first.id, 2, "I cannot eat hazelnuts.")
            report = await brought(
                keeper,
                header(integrity="i-1"),
                *TALK[:1],
                {**TALK[1], "is_system": True},
                *TALK[2:],
                said("Go on."),
            )
            assert report.outcome == "longer"
            assert (await texts(keeper, first.id))[1] == "I cannot eat hazelnuts."
            assert not (await keeper.messages.get(first.id, 2)).excluded

    run(story())


def test_a_chat_that_went_on_here_gets_a_fork(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            first = await brought(keeper, header(integrity="i-1"), *TALK)
            assert first.id is not None
            await keeper.record(first.id, "Said in Talekeeper.")
            report = await brought(keeper, header(integrity="i-1"), *TALK, said("Said there."))
            assert (report.outcome, report.added) == ("branch", 1)
            assert (await texts(keeper, first.id))[-1] == "Said in Talekeeper."
            assert report.id is not None
            assert (await keeper.chats.get(report.id)).forked_from == (first.id, 5)

    run(story())


def test_a_branch_file_becomes_a_fork_of_the_longest_common_prefix(
    open_keeper: OpenKeeper,
) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            first = await brought(keeper, header(integrity="i-1"), *TALK)
            lines = [
                header(integrity="i-2", main_chat="Mira"),
                *TALK[:3],
                said("Let us take the boat instead."),
                reply("The boat leaks."),
            ]
            branch = await brought(keeper, *lines, name="Branch.jsonl")
            assert (branch.outcome, branch.added, branch.messages) == ("branch", 2, 5)
            assert branch.id is not None
            chat = await keeper.chats.get(branch.id)
            assert (chat.forked_from, chat.messages) == ((first.id, 3), 5)
            assert await written(keeper, branch.id) == chat_file(*lines).getvalue()
            assert (
                await written(keeper, first.id)
                == chat_file(header(integrity="i-1"), *TALK).getvalue()
            )
            again = await brought(keeper, *lines)
            assert (again.outcome, again.id) == ("present", branch.id)

    run(story())


def test_a_branch_of_a_parent_with_other_lines_comes_back_too(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            parent: list[Any] = [header(integrity="i-1"), b"{broken", *TALK[:2], b"", *TALK[2:]]
            first = await brought(keeper, *parent)
            lines = [header(integrity="i-2", main_chat="Mira"), *TALK[:3], said("The boat, then.")]
            branch = await brought(keeper, *lines, name="Branch.jsonl")
            assert (branch.outcome, branch.added) == ("branch", 1)
            assert branch.id is not None
            assert (await keeper.chats.get(branch.id)).forked_from == (first.id, 3)
            assert await written(keeper, branch.id) == chat_file(*lines).getvalue()
            assert await written(keeper, first.id) == chat_file(*parent).getvalue()

    run(story())


def test_excluded_messages_count_in_no_cell(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            talk = [
                one
                for n in range(30)
                for one in (said(f"Say {n}", is_system=n % 5 == 0), reply(f"Reply {n}"))
            ]
            report = await brought(keeper, header(), *talk)
            assert report.id is not None
            chat = await keeper.chats.start("Mira", persona="Anna")
            for number, one in enumerate(talk, 1):
                role: Role = "user" if one["is_user"] else "assistant"
                await keeper.record(chat.id, one["mes"], role=role)
                if one["is_system"]:
                    await keeper.messages.exclude(chat.id, number)
            marks = [
                [(m.turn, m.cell) for m in await keeper.messages.list(where, limit=100)]
                for where in (report.id, chat.id)
            ]
            assert marks[0] == marks[1]

    run(story())


def test_an_authors_note_goes_out_in_the_header(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            report = await brought(keeper, header(note_prompt="Slow.", note_depth=2), *TALK)
            assert report.id is not None
            assert (await keeper.settings.get(report.id)).authors_note.text == "Slow."
            await keeper.settings.change(report.id, authors_note={"text": "Slower.", "depth": 3})
            first, _, rest = (await written(keeper, report.id)).partition(b"\n")
            assert b'"note_prompt": "Slower."' in first
            assert rest == chat_file(*TALK).getvalue()

    run(story())


def test_two_chats_with_one_greeting_stay_two(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            await brought(keeper, header(), HELLO, said("Hi"), reply("Hello, stranger."))
            other = await brought(keeper, header(), HELLO, said("Hi"), reply("You are late."))
            assert other.outcome == "new"
            assert len(await keeper.chats.list()) == 2
            assert len(await keeper.characters.list()) == 1

    run(story())


def test_an_edited_message_adds_a_sibling(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            first = await brought(keeper, header(), *TALK)
            edited = [header(), *TALK[:3], said("What day is it?"), *TALK[4:]]
            report = await brought(keeper, *edited)
            assert report.outcome == "branch"
            assert report.id is not None
            assert (await keeper.chats.get(report.id)).forked_from == (first.id, 3)
            assert "What day is it?" in await texts(keeper, report.id)
            assert "What day is it?" not in await texts(keeper, first.id)

    run(story())


def test_a_bad_line_costs_one_line(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            lines: list[Any] = [
                header(),
                *TALK[:2],
                b'{"name": "Mira", "mes": "cut of',
                b"",
                *TALK[2:],
            ]
            report = await brought(keeper, *lines)
            assert (report.messages, report.skipped_lines) == (5, 1)
            assert [notice.line for notice in report.notices] == [4]
            assert await written(keeper, report.id) == chat_file(*lines).getvalue()

    run(story())


def test_what_was_changed_here_is_written_and_the_rest_is_not_touched(
    open_keeper: OpenKeeper,
) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            foreign = {"b": 1, "a": None}
            lines: list[Any] = [
                header(integrity="i"),
                *(dict(one, foreign=foreign) for one in TALK),
            ]
            report = await brought(keeper, *lines)
            assert report.id is not None
            await keeper.messages.edit(report.id, 3, "No walnuts, ever.")
            await keeper.messages.delete(report.id, 4)
            await keeper.record(report.id, "Another day.")
            out = (await written(keeper, report.id)).split(b"\n")
            before = chat_file(*lines).getvalue().split(b"\n")
            assert out[:3] == before[:3]
            assert b"No walnuts, ever." in out[3]
            assert b'"foreign": {"b": 1, "a": null}' in out[3]
            assert out[4] == before[5]
            assert b"Another day." in out[5]
            assert len(out) == 6

    run(story())


def test_a_group_file_brings_its_members(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            await brought(
                keeper,
                header(),
                line("Мира", "Ты опоздал.", original_avatar="mira.png"),
                line("Лена", "Привет!", original_avatar="lena.png"),
                said("Доброе утро!"),
                line("Мира", "Идём.", original_avatar="mira2.png"),
            )
            chat = (await keeper.chats.list())[0]
            names = {c.id: c.name for c in await keeper.characters.list()}
            assert [names[one] for one in chat.characters] == ["Мира", "Лена", "Мира"]

    run(story())


def test_a_card_fills_the_character_a_chat_had_named(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            await brought(keeper, header(), *TALK)
            card = BytesIO(
                b'{"spec":"chara_card_v2","spec_version":"2.0","data":'
                b'{"name":"Mira","description":"Keeps the light."}}'
            )
            report = await keeper.files.import_stream(card, "mira.json")
            assert report.outcome == "filled"
            characters = await keeper.characters.list()
            assert [c.card.description for c in characters] == ["Keeps the light."]
            chat = (await keeper.chats.list())[0]
            context = await keeper.compose(chat.id)
            assert "Keeps the light." in context.messages[0]["content"]
            card.seek(0)
            again = await keeper.files.import_stream(card, "mira.json")
            assert again.outcome == "present"
            assert await keeper.files.export_card("Mira") == card.getvalue()

    run(story())


def test_a_note_of_a_newer_file_is_taken_over_and_one_of_the_person_s_is_not(
    open_keeper: OpenKeeper,
) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            first = await brought(keeper, header(integrity="i", note_prompt="A"), *TALK)
            assert first.id is not None
            newer = [header(integrity="i", note_prompt="B"), *TALK, said("More.")]
            await brought(keeper, *newer)
            assert (await keeper.settings.get(first.id)).authors_note.text == "B"
            assert await written(keeper, first.id) == chat_file(*newer).getvalue()
            await keeper.settings.change(first.id, authors_note={"text": "Mine"})
            await brought(keeper, header(integrity="i", note_prompt="C"), *newer[1:], said("Yes."))
            assert (await keeper.settings.get(first.id)).authors_note.text == "Mine"

    run(story())


def test_a_deleted_text_leaves_the_database(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            first = await brought(keeper, header(), *TALK)
            assert first.id is not None
            await keeper.messages.delete(first.id, 2)
            kept = await keeper.chats._desk.read(
                lambda c: c.execute(select(lines_table.c.raw)).scalars().all()
            )
            assert not any(b"walnuts" in raw and b"Anna" in raw for raw in kept)

    run(story())


def test_a_tool_result_that_was_rewound_is_not_exported(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            calls = [{"id": "c", "name": "look", "parameters": "{}", "result": "SECRET"}]
            tool = line("System", "", is_system=True, extra={"tool_invocations": calls})
            first = await brought(keeper, header(), *TALK[:2], tool, reply("I looked."))
            assert first.id is not None
            assert await keeper.chats.rewind(first.id, 3) == 3
            assert b"SECRET" not in await written(keeper, first.id)

    run(story())


def test_one_file_imported_twice_at_once_is_one_chat(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            async with anyio.create_task_group() as group:
                for _ in range(3):
                    group.start_soon(partial(brought, keeper, header(), *TALK))
            assert len(await keeper.chats.list()) == 1
            assert len(await keeper.characters.list()) == 1

    run(story())


def test_a_card_with_another_book_takes_the_place_of_the_file(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            cards = [
                json.dumps(
                    {
                        "spec": "chara_card_v2",
                        "spec_version": "2.0",
                        "data": {
                            "name": "Mira",
                            "character_book": {"entries": [{"content": text}]},
                        },
                    }
                ).encode()
                for text in ("The lamp has 214 steps.", "The lamp has 215 steps.")
            ]
            outcomes = [
                (await keeper.files.import_stream(BytesIO(card), "mira.json")).outcome
                for card in (cards[0], cards[1], cards[1])
            ]
            assert outcomes == ["new", "updated", "present"]
            assert await keeper.files.export_card("Mira") == cards[1]
            assert len(await keeper.characters.list()) == 1

    run(story())


def test_marks_changed_in_the_same_file_are_taken_over(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            first = await brought(keeper, header(integrity="i-1"), *TALK)
            assert first.id is not None
            newer = [header(integrity="i-1"), TALK[0], {**TALK[1], "is_system": True}, *TALK[2:]]
            again = await brought(keeper, *newer)
            assert (again.outcome, again.added, again.id) == ("updated", 0, first.id)
            assert (await keeper.messages.get(first.id, 2)).excluded
            assert await written(keeper, first.id) == chat_file(*newer).getvalue()

    run(story())


def test_a_line_spoken_by_another_does_not_make_a_group(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            guest = line("Doran", "I was sent.", original_avatar="doran.png")
            await brought(keeper, header(), *TALK[:3], guest, said("Hm?"))
            chat = (await keeper.chats.list())[0]
            assert len(chat.characters) == 1
            context = await keeper.compose(chat.id)
            assert "You are Mira" in context.messages[0]["content"]
            assert context.messages[4]["content"] == "Doran: I was sent."

    run(story())


def test_a_dry_run_writes_nothing(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            report = await keeper.files.import_stream(
                chat_file(header(), *TALK), "Mira.jsonl", dry_run=True
            )
            assert (report.outcome, report.messages, report.id) == ("new", 5, None)
            assert await keeper.chats.list() == []
            assert await keeper.characters.list() == []

    run(story())


class _Breaking(BytesIO):
    """A file whose disk fails half-way through, the second time it is read."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.rounds = 0

    def seek(self, offset: int, whence: int = 0) -> int:
        self.rounds += 1
        return super().seek(offset, whence)

    def readline(self, size: int | None = -1) -> bytes:
        if self.rounds > 2 and self.tell() > len(self.getvalue()) // 2:
            raise OSError("the disk is gone")
        return super().readline(size)


def test_an_import_that_fails_leaves_nothing(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            many = [said(f"Line {number}") for number in range(2000)]
            with pytest.raises(UnreadableFile, match="the disk is gone"):
                await keeper.files.import_stream(
                    _Breaking(chat_file(header(), *many).getvalue()), "x.jsonl"
                )
            assert await keeper.chats.list() == []
            assert await keeper.characters.list() == []

    run(story())


def test_a_dead_import_is_invisible_and_swept(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        clock = TickingClock()
        async with open_keeper(clock=clock) as keeper:
            from talekeeper.record.importing import ChatImport
            from talekeeper.record.relation import Relation

            desk = keeper.chats._desk
            job = ChatImport(
                key=desk.key(desk.new_id()),
                file_name="dead.jsonl",
                relation=Relation(kind="new"),
                new_id=desk.new_id,
            )
            await desk.write(job.begin, now=clock())
            assert await keeper.chats.list() == []
            with pytest.raises(NotFound):
                await keeper.compose(job.key.chat)
            with pytest.raises(NotFound):
                await keeper.chats.find(job.key.chat)
            clock.now += timedelta(minutes=11)
            await brought(keeper, header(), *TALK)
            with pytest.raises(Conflict, match="given up"):
                await desk.write(job.finish, now=clock())

    run(story())


def test_a_chat_that_changes_during_the_import_is_a_conflict(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            first = await brought(keeper, header(integrity="i-1"), *TALK)
            assert first.id is not None
            from talekeeper.record.importing import ChatImport
            from talekeeper.record.relation import Relation

            desk = keeper.chats._desk
            job = ChatImport(
                key=desk.key(desk.new_id()),
                file_name="Mira.jsonl",
                relation=Relation(
                    kind="longer",
                    chat=first.id,
                    shared=5,
                    number=5,
                    aligned=True,
                    version=(await keeper.chats.get(first.id)).version,
                ),
                new_id=desk.new_id,
            )
            await desk.write(job.begin, now=desk.clock())
            await keeper.record(first.id, "In the meantime.")
            with pytest.raises(Conflict, match="import again"):
                await desk.write(job.finish, now=desk.clock())
            assert (await texts(keeper, first.id))[-1] == "In the meantime."

    run(story())


@pytest.mark.parametrize("content", [b"", b"\x00" * 500, b"PK\x03\x04" + b"x" * 100, b"[1,2"])
def test_what_is_no_chat_is_refused(open_keeper: OpenKeeper, content: bytes) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            with pytest.raises(UnreadableFile):
                await keeper.files.import_stream(BytesIO(content), "x.jsonl")
            assert await keeper.chats.list() == []

    run(story())


def test_a_cell_boundary_is_the_same_for_recorded_and_imported(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            talk = [one for n in range(40) for one in (said(f"Say {n}"), reply(f"Reply {n}"))]
            report = await brought(keeper, header(), *talk)
            assert report.id is not None
            await keeper.characters.add(name="Lena")
            chat = await keeper.chats.start("Lena", persona="Anna")
            for one in talk:
                await keeper.record(
                    chat.id, one["mes"], role="user" if one["is_user"] else "assistant"
                )
            marks = [
                [(m.turn, m.cell) for m in await keeper.messages.list(where, limit=100)]
                for where in (report.id, chat.id)
            ]
            assert marks[0] == marks[1]
            assert {cell for _, cell in marks[0]} == {1, 17, 33, 49, 65}

    run(story())


def test_a_file_with_only_a_header_brings_its_character(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            head = {"user_name": "Anna", "character_name": "Mira", "chat_metadata": {}}
            report = await brought(keeper, head)
            assert (report.outcome, report.messages) == ("new", 0)
            assert report.id is not None
            await keeper.record(report.id, "Hello.", role="assistant")
            assert (await keeper.messages.get(report.id, 1)).speaker == "Mira"
            assert [c.name for c in await keeper.characters.list()] == ["Mira"]

    run(story())


def test_a_header_before_unreadable_lines_is_refused(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            with pytest.raises(UnreadableFile, match="none of its lines can be read"):
                await brought(keeper, header(), b"{broken", b"", b'{"a": 1}')
            assert await keeper.chats.list() == []
            assert (await brought(keeper, header(), b"", b"")).outcome == "new"

    run(story())


def test_attached_files_are_named_in_one_notice(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            lines = [
                header(),
                said(
                    "Read this.", extra={"files": [{"url": "/user/files/1.txt", "name": "a.txt"}]}
                ),
                *(said("And this.", extra={"file": {"name": f"b{n}.md"}}) for n in range(9)),
                said("No file.", extra={"file": None, "files": [3, {}]}),
            ]
            report = await brought(keeper, *lines)
            (notice,) = report.notices
            assert notice.text == (
                "10 attached files are kept for export, but not shown and not sent: "
                "a.txt, b0.md, b1.md, b2.md, b3.md, b4.md, b5.md, b6.md and 2 more."
            )
            assert await written(keeper, report.id) == chat_file(*lines).getvalue()

    run(story())


def test_names_are_bounded_and_the_bytes_stay(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            mark = {"chat_metadata": {"integrity": "i-1"}}
            lines = [
                {"user_name": "U" * 999, "character_name": "M" * 999, **mark},
                line("M" * 999, "Hello."),
                line("U" * 999, "Hi.", is_user=True),
            ]
            report = await brought(keeper, *lines, name="T" * 999 + ".jsonl")
            assert report.id is not None
            assert len((await keeper.chats.get(report.id)).title) == 300
            assert {len(m.speaker) for m in await keeper.messages.list(report.id)} == {300}
            assert [len(c.name) for c in await keeper.characters.list()] == [300]
            assert [len(p.name) for p in await keeper.personas.list()] == [300]
            assert await written(keeper, report.id) == chat_file(*lines).getvalue()
            assert (await brought(keeper, *lines, said("More."))).outcome == "longer"

    run(story())


def card(**fields: Any) -> BytesIO:
    data = {"name": "Mira", **fields}
    document = {"spec": "chara_card_v2", "spec_version": "2.0", "data": data}
    return BytesIO(json.dumps(document).encode())


def test_another_card_of_a_name_says_that_there_are_two(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            first = await keeper.files.import_stream(card(description="Old."), "a.json")
            assert first.notices == ()
            dry = await keeper.files.import_stream(card(scenario="New."), "b.json", dry_run=True)
            second = await keeper.files.import_stream(card(scenario="New."), "b.json")
            assert second.outcome == "new"
            for report in (dry, second):
                (notice,) = report.notices
                assert "2 characters have that name now" in notice.text
                assert f"uses the oldest, {first.id}." in notice.text
            chat = await brought(keeper, header(), *TALK)
            assert f"2 characters are called 'Mira'; the chat uses the oldest, {first.id}." in [
                notice.text for notice in chat.notices
            ]
            assert chat.id is not None
            assert (await keeper.chats.get(chat.id)).characters == (first.id,)

    run(story())


def test_a_card_with_more_greetings_than_swipes_can_start_a_chat(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            data = card(first_mes="Hi 0.", alternate_greetings=[f"Hi {n}." for n in range(1, 1001)])
            report = await keeper.files.import_stream(data, "mira.json")
            assert "1,001 greetings" in report.notices[0].text
            chat = await keeper.chats.start("Mira")
            assert len((await keeper.messages.get(chat.id, 1)).swipes) == 1000
            assert await keeper.files.export_card("Mira") == data.getvalue()

    run(story())
