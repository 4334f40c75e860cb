"""One line of a chat: roles, swipes, dates, pictures, tools."""

from datetime import UTC, datetime
from typing import Any

import pytest

from talekeeper.domain.chat import Part, ToolCall
from talekeeper.domain.limits import LIMITS
from talekeeper.formats.imported import ImportedHeader, ImportedLine, ImportedMessage, SkippedLine
from tests.formats.builders import chat, line, read, read_lines, read_one, said, tool_line


def _texts(message: ImportedMessage) -> list[str]:
    return [swipe.text for swipe in message.swipes]


@pytest.mark.parametrize(
    ("fields", "role", "excluded"),
    [
        ({}, "assistant", False),
        ({"is_user": True}, "user", False),
        ({"is_user": "true"}, "user", False),
        ({"is_user": "false"}, "assistant", False),
        ({"is_user": 1}, "user", False),
        ({"is_system": True}, "assistant", True),
        ({"is_system": "true"}, "assistant", True),
        ({"is_system": ""}, "assistant", False),
        ({"is_system": True, "is_user": True}, "user", True),
        ({"extra": {"type": "narrator"}, "is_system": ""}, "system", False),
        ({"extra": {"type": "narrator"}, "is_system": True}, "system", True),
        ({"extra": {"type": "comment"}, "is_system": True}, "system", True),
        ({"extra": {"type": "group", "isSmallSys": True}, "is_system": True}, "system", True),
        ({"extra": {"type": "help"}, "is_system": True}, "system", True),
        ({"extra": {"type": "welcome"}, "is_system": True}, "system", True),
        ({"extra": {"type": "assistant_message"}}, "assistant", False),
        ({"name": "SillyTavern System", "is_system": True}, "system", True),
        ({"extra": {"isSmallSys": True}, "is_system": True}, "assistant", True),
    ],
)
def test_role_and_exclusion(fields: dict[str, Any], role: str, excluded: bool) -> None:
    message = said(line(**fields))
    assert (message.role, message.excluded) == (role, excluded)


def test_is_system_may_be_missing() -> None:
    value = line()
    del value["is_system"]
    assert not said(value).excluded


@pytest.mark.parametrize(
    ("name", "speaker"), [("Doran", "Doran"), (7, "7"), (None, "Mara"), ("", "Mara"), ([], "Mara")]
)
def test_speaker(name: object, speaker: str) -> None:
    header = {"user_name": "Alice", "character_name": "Mara"}
    items = read(chat(header, line(name=name), line(name=None, is_user=True)))
    assert isinstance(items[1], ImportedLine)
    assert isinstance(items[2], ImportedLine)
    assert items[1].messages[0].speaker == speaker
    assert items[2].messages[0].speaker == "Alice"


def test_without_any_name_the_speaker_is_left_open() -> None:
    assert said(line(name=None)).speaker == ""
    assert said(line(name=None, extra={"type": "narrator"})).speaker == ""


@pytest.mark.parametrize(
    ("key", "expected"), [("a.png", "a.png"), (False, None), (None, None), ("", None), (5, None)]
)
def test_speaker_key(key: object, expected: str | None) -> None:
    assert said(line(original_avatar=key)).speaker_key == expected


@pytest.mark.parametrize(
    ("mes", "text", "noted"),
    [
        ("a", "a", False),
        ("", "", False),
        ({"message": "a"}, "a", False),
        (None, "", True),
        (5, "5", True),
        (["a"], '["a"]', True),
        ({"other": 1}, '{"other":1}', True),
    ],
)
def test_text(mes: object, text: str, noted: bool) -> None:
    item = read_one(line(mes))
    assert item.messages[0].text == text
    assert bool(item.notices) is noted


@pytest.mark.parametrize(
    ("mes", "swipes", "swipe_id", "texts", "active", "noted"),
    [
        ("b", ["a", "b"], 1, ["a", "b"], 1, 0),
        ("b", ["a", "b"], "1", ["a", "b"], 1, 0),
        ("b", ["a", "b"], 1.0, ["a", "b"], 1, 0),
        # edited, or macros replaced in mes alone: mes is the truth
        ("Alice came", ["{{user}} came", "b"], 0, ["Alice came", "b"], 0, 0),
        ("b", ["a", "b"], None, ["a", "b"], 1, 0),
        ("b", ["a", "b"], 7, ["a", "b"], 1, 0),
        ("b", ["a", "b"], -1, ["a", "b"], 1, 0),
        ("b", ["a", "b"], True, ["a", "b"], 1, 0),
        ("c", ["a", "b"], 7, ["a", "b", "c"], 2, 1),
        ("c", ["a", "b"], None, ["a", "b", "c"], 2, 1),
        (None, ["a", "b"], 1, ["a", "b"], 1, 1),
        (None, ["a", "b"], 7, ["a", "b"], 0, 2),
        ("a", [], 0, ["a"], 0, 0),
        ("a", None, 0, ["a"], 0, 0),
        ("a", "b", 0, ["a"], 0, 0),
        ("a", ["a", None, 5, {"message": "d"}], 0, ["a", "", "5", "d"], 0, 1),
        ({"message": "b"}, [{"message": "a"}, {"message": "b"}], 1, ["a", "b"], 1, 0),
    ],
)
def test_swipes(
    mes: object, swipes: object, swipe_id: object, texts: list[str], active: int, noted: int
) -> None:
    item = read_one(line(mes, swipes=swipes, swipe_id=swipe_id))
    message = item.messages[0]
    assert (_texts(message), message.active) == (texts, active)
    assert len(item.notices) == noted
    assert all(notice.line == 2 for notice in item.notices)


def test_swipes_alone_make_a_message() -> None:
    value = line(swipes=["a", "b"], swipe_id=1)
    del value["mes"]
    assert said(value).text == "b"


def test_swipes_of_a_user_message() -> None:
    message = said(line("b", is_user=True, swipes=["a", "b"], swipe_id=1))
    assert (message.role, message.text) == ("user", "b")


def _info(second: int, **extra: object) -> dict[str, Any]:
    return {"send_date": f"2026-01-01T00:00:0{second}.000Z", "extra": extra}


def _at(second: int) -> datetime:
    return datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC)


def test_swipe_info_describes_the_swipes_and_the_line_the_active_one() -> None:
    message = said(
        line(
            "b",
            swipes=["a", "b", "c"],
            swipe_id=1,
            send_date="2026-01-01T00:00:05.000Z",
            extra={"model": "top", "reasoning": ""},
            swipe_info=[_info(1, model="m1", reasoning="r1"), _info(2, model="m2", reasoning="r2")],
        )
    )
    first, second, third = message.swipes
    assert (first.sent_at, first.model, first.reasoning) == (_at(1), "m1", "r1")
    assert (second.sent_at, second.model, second.reasoning) == (_at(5), "top", "r2")
    assert (third.sent_at, third.model, third.reasoning) == (None, None, None)


def test_a_line_without_swipes_has_date_model_and_reasoning() -> None:
    message = said(
        line(send_date="September 5, 2024 11:24pm", extra={"model": "m", "reasoning": "r"})
    )
    (swipe,) = message.swipes
    assert swipe.sent_at == datetime(2024, 9, 5, 23, 24, tzinfo=UTC)
    assert (swipe.model, swipe.reasoning) == ("m", "r")


@pytest.mark.parametrize(
    ("extra", "urls", "noted"),
    [
        ({"image": "https://x.org/a.png"}, ["https://x.org/a.png"], 0),
        ({"image": "data:image/png;base64,AA=="}, ["data:image/png;base64,AA=="], 0),
        ({"image": "/user/images/a.png"}, [], 1),
        ({"image": ""}, [], 0),
        (
            {"media": [{"url": "https://x.org/a", "type": "image"}, {"url": "http://x.org/b"}]},
            ["https://x.org/a", "http://x.org/b"],
            0,
        ),
        ({"media": [{"url": "https://x.org/a", "type": "video"}, 5, None, {}]}, [], 0),
        ({"media": [{"url": "/user/images/a.png", "type": "image"}], "media_index": 0}, [], 1),
        (
            {"image": "https://x.org/a", "media": [{"url": "https://x.org/a", "type": "image"}]},
            ["https://x.org/a"],
            0,
        ),
    ],
)
def test_pictures(extra: dict[str, Any], urls: list[str], noted: int) -> None:
    item = read_one(line(extra=extra))
    assert item.messages[0].parts == tuple(Part(kind="image", url=url) for url in urls)
    assert len(item.notices) == noted


def test_a_tool_line_is_a_call_and_its_results() -> None:
    item = read_one(tool_line(("c1", "weather", "Rain."), ("c2", "time", "Noon.")))
    asking, first, second = item.messages
    arguments = '{"place":"mill"}'
    assert (asking.role, asking.text, asking.excluded) == ("assistant", "", False)
    assert asking.tool_calls == (
        ToolCall(id="c1", name="weather", arguments=arguments),
        ToolCall(id="c2", name="time", arguments=arguments),
    )
    assert asking.swipes[0].model == "m"
    assert [(m.role, m.speaker, m.text, m.tool_call_id) for m in (first, second)] == [
        ("tool", "weather", "Rain.", "c1"),
        ("tool", "time", "Noon.", "c2"),
    ]
    assert item.unknown == ()


def test_a_tool_line_with_gaps() -> None:
    value = tool_line()
    value["extra"]["tool_invocations"] = [{"name": "weather", "parameters": {"a": 1}, "result": 5}]
    asking, result = read_one(value).messages
    (call,) = asking.tool_calls
    assert call.arguments == '{"a":1}'
    assert (result.text, result.tool_call_id) == ("5", call.id)
    assert call.id


def test_what_a_character_said_in_a_tool_line_is_kept() -> None:
    value = tool_line(("c1", "weather", "Rain."), name="Mara", is_system=False, mes="Let me look.")
    asking, _ = read_one(value).messages
    assert (asking.speaker, asking.text) == ("Mara", "Let me look.")


def test_an_empty_list_of_tool_calls_is_no_tool_line() -> None:
    assert said(line("a", extra={"tool_invocations": []})).text == "a"


def test_unknown_fields_are_named() -> None:
    item = read_one(line(variables=[{}], extra={"model": "m", "mine": 1}, swipes_info=[]))
    assert item.unknown == ("variables", "swipes_info", "extra.mine")


def test_half_letters_and_nul_are_replaced_with_a_notice() -> None:
    (item,) = read_lines(b'{"mes":"a\\ud83db\\u0000","name":"Mara \\ud83d\\ude00"}')
    assert isinstance(item, ImportedLine)
    assert item.messages[0].text == "a\ufffdb\ufffd"
    assert item.messages[0].speaker == "Mara \U0001f600"
    assert [notice.path for notice in item.notices] == ["mes"]


@pytest.mark.parametrize(
    "value",
    [
        line("x" * (LIMITS.message_characters + 1)),
        line("a", swipes=["a", "x" * (LIMITS.message_characters + 1)], swipe_id=0),
        line("a", swipes=["a"] * (LIMITS.swipes + 1), swipe_id=0),
        tool_line(("c1", "weather", "x" * (LIMITS.message_characters + 1))),
    ],
)
def test_what_is_over_a_limit_costs_one_line(value: dict[str, Any]) -> None:
    item, after = read_lines(value, line("Still here."))
    assert isinstance(item, SkippedLine)
    assert "passed over" in item.notices[0].text
    assert isinstance(after, ImportedLine)


def test_at_the_limits_a_line_is_read() -> None:
    assert len(said(line("x" * LIMITS.message_characters)).text) == LIMITS.message_characters
    assert len(said(line("a", swipes=["a"] * LIMITS.swipes)).swipes) == LIMITS.swipes


def test_a_line_with_chat_metadata_is_a_header() -> None:
    assert isinstance(read(chat({"chat_metadata": {}, "mes": "x"}))[0], ImportedHeader)
