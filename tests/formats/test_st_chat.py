"""Chat files: headers, order, what is lost and what is not."""

import io
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talekeeper.domain.errors import UnreadableFile
from talekeeper.domain.limits import LIMITS
from talekeeper.domain.settings import AuthorsNote
from talekeeper.formats.imported import ImportedHeader, ImportedLine, SkippedLine
from talekeeper.formats.st_chat import read_st_chat
from tests.formats.builders import HEADER, chat, dumps, line, read, read_lines, tool_line

_OLD = {
    "user_name": "Alice",
    "character_name": "Mara",
    "create_date": "2024-9-5@23h24m17s",
    "chat_metadata": {},
}


def _header(*lines: object) -> ImportedHeader:
    header = read(chat(*lines))[0]
    assert isinstance(header, ImportedHeader)
    return header


def _metadata(**metadata: Any) -> ImportedHeader:
    return _header({**HEADER, "chat_metadata": metadata})


def test_a_new_header() -> None:
    header = _header({**HEADER, "chat_metadata": {"integrity": "uuid", "main_chat": "Parent"}})
    assert (header.line, header.user_name, header.character_name) == (1, None, None)
    assert (header.integrity, header.main_chat) == ("uuid", "Parent")
    assert header.created_at is None
    assert header.authors_note is None
    assert not header.group


def test_an_old_header() -> None:
    header = _header(_OLD, line())
    assert (header.user_name, header.character_name) == ("Alice", "Mara")
    assert header.created_at == datetime(2024, 9, 5, 23, 24, 17, tzinfo=UTC)


def test_a_tavernai_header() -> None:
    header = _header(
        {"user_name": "You", "character_name": "Mara", "create_date": 1682786756020, "notes": "x"},
        {"name": "Mara", "is_user": False, "is_name": True, "send_date": 1682795967021, "mes": "a"},
    )
    assert header.created_at == datetime(2023, 4, 29, 16, 45, 56, 20000, tzinfo=UTC)
    assert [notice.path for notice in header.notices] == ["notes"]


def test_a_tavernai_room_is_a_group() -> None:
    assert _header({"user_name": "You", "character_names": ["A", "B"], "create_date": 1}).group


def test_a_file_with_a_header_alone() -> None:
    (header,) = read(chat(HEADER))
    assert isinstance(header, ImportedHeader)


@pytest.mark.parametrize("key", ["user_name", "character_name"])
@pytest.mark.parametrize("value", ["", "  ", None, 5, []])
def test_names_of_another_type_are_unknown(key: str, value: object) -> None:
    header = _header({**_OLD, key: value})
    assert getattr(header, key) is None


def test_metadata_of_another_type() -> None:
    header = _header({**HEADER, "chat_metadata": None})
    assert header.integrity is None


def test_a_group_without_a_header() -> None:
    greeting = {"name": "SillyTavern System", "is_system": True, "is_group": True, "mes": "Hi"}
    items = read(
        chat(
            {**greeting, "extra": {"type": "group", "isSmallSys": True}},
            line(original_avatar="mara.png"),
            line(name="Mira", original_avatar="mira.png"),
        )
    )
    header, notice, first, second = items
    assert header == ImportedHeader(line=0, group=True)
    assert isinstance(notice, ImportedLine)
    assert (notice.messages[0].role, notice.messages[0].excluded) == ("system", True)
    assert isinstance(first, ImportedLine)
    assert isinstance(second, ImportedLine)
    assert [item.messages[0].speaker_key for item in (first, second)] == ["mara.png", "mira.png"]


def test_a_group_with_a_header() -> None:
    assert _header(HEADER, line(original_avatar="mara.png")).group
    assert not _header(HEADER, line(), line(name="Doran", original_avatar="doran.png")).group
    assert _header(HEADER, line(is_user=True), line(original_avatar="mara.png")).group


def test_messages_of_the_user_alone() -> None:
    items = read(chat(*[line(is_user=True)] * 40))
    assert items[0] == ImportedHeader(line=0)
    assert len(items) == 41


def test_the_header_is_told_by_what_it_holds_not_by_where_it_stands() -> None:
    items = read(chat(b"", b"broken", HEADER, line()))
    assert isinstance(items[0], ImportedHeader)
    assert items[0].line == 3
    assert [item.line for item in items[1:]] == [1, 2, 4]


def test_a_second_header_is_passed_over() -> None:
    items = read(chat(HEADER, line(), _OLD, line()))
    (skipped,) = [item for item in items if isinstance(item, SkippedLine)]
    assert (skipped.line, skipped.notices[0].line) == (3, 3)


def test_a_header_behind_messages_is_passed_over() -> None:
    items = read(chat(line(), HEADER, line()))
    assert items[0] == ImportedHeader(line=0)
    assert isinstance(items[2], SkippedLine)


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\n\n\n"])
@pytest.mark.parametrize("between", [b"\n", b"\r\n"])
def test_line_ends_stay_with_their_lines(between: bytes, end: bytes) -> None:
    data = between.join([dumps(HEADER), dumps(line("a\r\nb")), dumps(line("c"))]) + end
    lines = [item for item in read(data) if isinstance(item, ImportedLine)]
    assert [item.messages[0].text for item in lines] == ["a\r\nb", "c"]
    assert lines[0].raw.endswith(between)


def test_a_byte_order_mark() -> None:
    header = _header(b"\xef\xbb\xbf" + dumps(HEADER), line())
    assert header.integrity == "0000"
    assert header.raw.startswith(b"\xef\xbb\xbf")
    assert read(b"\xef\xbb\xbf" + dumps(line()))[0].line == 0


def test_blank_lines_are_skipped_without_a_notice() -> None:
    items = read_lines(line(), b"", b" \t\r", line())
    assert [type(item) for item in items] == [ImportedLine, SkippedLine, SkippedLine, ImportedLine]
    assert not any(item.notices for item in items)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"{", "not JSON"),
        (b"hello", "not JSON"),
        (b'{"mes": "a\0b"}', "not JSON"),
        (b"\0\0\0\0", "not JSON"),
        (b'{"mes": "a"} {"mes": "b"}', "not JSON"),
        (b"[1, 2]", "not an object"),
        (b'"mes"', "not an object"),
        (b"null", "not an object"),
        (b"{}", "no text"),
        (b'{"name": "Mara"}', "no text"),
        (b'{"role": "user", "content": "Hi"}', "no text"),
        (b'{"name": "Mara", "swipes": null}', "no text"),
        (b'{"mes":"a","x":' + b"[" * 70 + b"]" * 70 + b"}", "nested"),
        (b'{"mes":"a","x":' + b'{"a":' * 70 + b"1" + b"}" * 70 + b"}", "nested"),
        (b"[" * 100_000, "nested"),
        (b'{"a":' * 100_000, "nested"),
    ],
)
def test_a_bad_line_costs_one_line(raw: bytes, words: str) -> None:
    first, bad, last = read_lines(line("a"), raw, line("b"))
    assert isinstance(bad, SkippedLine)
    assert bad.notices[0].line == bad.line == 3
    assert bad.notices[0].text.startswith("Line 3 ")
    assert words in bad.notices[0].text
    assert isinstance(first, ImportedLine)
    assert isinstance(last, ImportedLine)


def test_nesting_up_to_the_limit_is_read() -> None:
    inner = LIMITS.json_depth - 1
    (item,) = read_lines(b'{"mes":"a","x":' + b"[" * inner + b"]" * inner + b"}")
    assert isinstance(item, ImportedLine)


def test_brackets_in_a_text_are_no_nesting() -> None:
    (item,) = read_lines(line("[{" * 5000))
    assert isinstance(item, ImportedLine)


def test_wrong_bytes_are_told_by_their_place_in_the_file() -> None:
    data = chat(HEADER, b'{"mes": "ab\xffc"}', line())
    skipped = read(data)[1]
    assert isinstance(skipped, SkippedLine)
    assert f"byte {data.index(0xFF)}" in skipped.notices[0].text


@pytest.mark.parametrize(
    "raw",
    [
        b'{"mes":"a","n":' + b"9" * 5000 + b"}",
        b'{"mes":"a","send_date":' + b"9" * 5000 + b',"swipe_id":1e999}',
        b'{"mes":"a","send_date":NaN,"swipe_id":-Infinity,"swipes":["a"]}',
        b'{"mes":"a","x":"\\ud800\\u0000"}',
        b'{"name":5,"is_user":[],"is_system":{},"extra":[],"swipes":{},"mes":"a"}',
        b'{"name":null,"is_user":null,"is_system":null,"extra":null,"swipes":null,"mes":"a"}',
        b'{"extra":{"type":[],"model":{},"reasoning":1,"media":5,"image":{}},"mes":"a"}',
        b'{"extra":{"tool_invocations":[1,null,"x"]},"mes":"a"}',
        b'{"swipes":["a"],"swipe_info":[5,null,{"extra":5,"send_date":[]}],"mes":"a"}',
    ],
)
def test_strange_values_do_not_cost_the_line(raw: bytes) -> None:
    (item,) = read_lines(raw)
    assert isinstance(item, ImportedLine)
    assert item.messages[0].text == "a"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "blank"),
        (b"\n\n\n", "blank"),
        (b"hello\nworld", "not JSON"),
        (dumps({"spec": "chara_card_v2", "data": {"name": "Mara"}}), "no text"),
        (b'{\n  "name": "Mara",\n  "first_mes": "Hi"\n}', "not JSON"),
        (b'{"role":"user","content":"Hi"}\n{"role":"assistant","content":"Ho"}', "no text"),
    ],
)
def test_a_file_without_one_line_of_a_chat_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(UnreadableFile, match=words):
        next(read_st_chat(io.BytesIO(data)))


def test_a_file_of_nothing_but_blank_or_bad_lines_is_not_read_to_its_end() -> None:
    for data in (b"\n" * 5_000_000, b"x\n" * 2_000_000):
        stream = io.BytesIO(data)
        with pytest.raises(UnreadableFile):
            next(read_st_chat(stream))
        assert stream.tell() < 10_000


def test_a_line_over_the_limit_is_refused_and_not_read() -> None:
    start = chat(HEADER, line()) + b"\n"
    stream = io.BytesIO(start + b"x" * (LIMITS.chat_line_bytes + 50_000))
    items = read_st_chat(stream)
    with pytest.raises(UnreadableFile, match="Line 3 is longer"):
        list(items)
    assert stream.tell() == len(start) + LIMITS.chat_line_bytes + 1


@pytest.mark.parametrize(
    ("metadata", "note"),
    [
        ({"note_prompt": "Cold."}, AuthorsNote(text="Cold.")),
        (
            {"note_prompt": "Cold.", "note_depth": 2, "note_role": 1, "note_interval": 1},
            AuthorsNote(text="Cold.", depth=2, role="user"),
        ),
        (
            {"note_prompt": "Cold.", "note_depth": "0", "note_role": "2"},
            AuthorsNote(text="Cold.", depth=0, role="assistant"),
        ),
        (
            {"note_prompt": "Cold.", "note_depth": 99999, "note_role": 9},
            AuthorsNote(text="Cold.", depth=10_000),
        ),
        (
            {"note_prompt": "Cold.", "note_depth": None, "note_role": [], "note_interval": {}},
            AuthorsNote(text="Cold."),
        ),
        ({"note_prompt": ""}, None),
        ({"note_prompt": " \n"}, None),
        ({"note_prompt": 5}, None),
        ({}, None),
    ],
)
def test_authors_note(metadata: dict[str, Any], note: AuthorsNote | None) -> None:
    header = _metadata(**metadata)
    assert header.authors_note == note
    assert header.notices == ()


@pytest.mark.parametrize(
    ("key", "value", "kept"),
    [("note_interval", 0, False), ("note_interval", 3, True), ("note_position", 0, True)],
)
def test_what_an_authors_note_loses_is_told(key: str, value: int, kept: bool) -> None:
    header = _metadata(note_prompt="Cold.", **{key: value})
    assert (header.authors_note is not None) is kept
    assert [notice.path for notice in header.notices] == [f"chat_metadata.{key}"]


def test_who_speaks_next_called_the_tools() -> None:
    calls = tool_line(("c1", "weather", "Rain."))
    items = read_lines(
        line(name="Doran", original_avatar="doran.png"),
        calls,
        b"",
        calls,
        line(name="Mira", original_avatar="mira.png"),
    )
    asking = [item.messages[0] for item in items if isinstance(item, ImportedLine)]
    assert [message.speaker for message in asking] == ["Doran", "Mira", "Mira", "Mira"]
    assert asking[1].speaker_key == "mira.png"


@pytest.mark.parametrize("last", [[], [line(is_user=True, name="Alice")]])
def test_where_nobody_speaks_next_who_spoke_last_called_the_tools(last: list[object]) -> None:
    items = read_lines(line(name="Doran"), tool_line(("c1", "weather", "Rain.")), *last)
    assert isinstance(items[1], ImportedLine)
    assert items[1].messages[0].speaker == "Doran"


def test_at_the_start_of_a_chat_the_character_of_the_header_called() -> None:
    items = read(chat(_OLD, tool_line(("c1", "weather", "Rain."))))
    assert isinstance(items[1], ImportedLine)
    assert items[1].messages[0].speaker == "Mara"


def test_a_long_run_of_tool_lines_is_not_held_back_for_ever() -> None:
    calls = [tool_line((f"c{n}", "weather", "Rain.")) for n in range(200)]
    items = read_lines(line(name="Doran"), *calls, line(name="Mira"))
    spoken = [item.messages[0].speaker for item in items if isinstance(item, ImportedLine)]
    assert len(items) == 202
    assert set(spoken[1:151]) == {"Doran"}
    assert [item.line for item in items] == list(range(2, 204))


_ANY_LINE = st.sampled_from(
    [
        dumps(HEADER),
        dumps(_OLD),
        dumps(line()),
        dumps(line(original_avatar="a.png")),
        dumps(tool_line(("c1", "weather", "Rain."))),
        b"",
        b" ",
        b"\r",
        b"{",
        b"\xff",
        b"\xef\xbb\xbf",
        b"[]",
    ]
)


@given(st.lists(_ANY_LINE, max_size=12), st.booleans())
def test_no_byte_is_lost_in_any_order_of_lines(lines: list[bytes], final: bool) -> None:
    data = b"\n".join([dumps(line()), *lines]) + (b"\n" if final else b"")
    items = read(data)
    assert all(item.line for item in items[1:])
    assert [item.line for item in items[1:]] == sorted(item.line for item in items[1:])
