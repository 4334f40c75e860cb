"""Messages back into the lines of a chat file."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from talekeeper.domain.chat import Message, Part
from talekeeper.domain.errors import InvalidInput
from talekeeper.formats.imported import ImportedLine, ImportedMessage
from talekeeper.formats.st_line import read_line
from talekeeper.formats.st_write import write_line
from tests.formats.builders import HEADER, call, dumps, line, message, stored, swipe, tool_line

_NOW = datetime(2026, 1, 11, 11, 11, 29, 566000, tzinfo=UTC)


def _messages(raw: bytes) -> tuple[ImportedMessage, ...]:
    item = read_line(raw, line=1)
    assert isinstance(item, ImportedLine), item
    return item.messages


def _stored(raw: bytes) -> Message:
    (imported,) = _messages(raw)
    return stored(imported)


def _changed(value: dict[str, Any], **changes: Any) -> dict[str, Any]:
    raw = dumps(value)
    written = json.loads(write_line(replace(_stored(raw), **changes), raw))
    assert isinstance(written, dict)
    return written


_SWIPED = line(
    "b",
    swipes=["a", "b"],
    swipe_id=1,
    send_date="2026-01-01T00:00:02.000Z",
    gen_started="s2",
    extra={"model": "m2", "reasoning": "r2", "mine": 1},
    swipe_info=[
        {"send_date": "2026-01-01T00:00:01.000Z", "gen_started": "s1", "extra": {"model": "m1"}},
        {
            "send_date": "2026-01-01T00:00:02.000Z",
            "gen_started": "s2",
            "extra": {"model": "m2", "reasoning": "r2"},
        },
    ],
    variables=[{}],
)


@pytest.mark.parametrize(
    "raw",
    [
        dumps(line()),
        dumps(line()) + b"\r\n",
        b"\xef\xbb\xbf" + dumps(line()) + b"\n",
        dumps(_SWIPED),
        b'{ "mes" : "a\\u00e9" ,"name":"Mara", "x":1.0 }  \n',
        dumps(line("Alice came", swipes=["{{user}} came"], swipe_id=0)),
        dumps(line("c", swipes=["a", "b"], swipe_id=9)),
        dumps(line({"message": "a"}, swipes=[{"message": "a"}, None], swipe_id=0)),
        dumps(line(None, name=None, is_system="")),
        b'{"mes":"a\\ud800b\\u0000"}',
        b'{"mes":"a","mes":"b"}',
        dumps(line(is_system=True, extra={"type": "comment"})),
    ],
)
def test_an_untouched_line_comes_back_byte_for_byte(raw: bytes) -> None:
    assert write_line(_stored(raw), raw) == raw


def test_the_name_that_came_from_the_header_is_not_written() -> None:
    raw = dumps(line(name=None))
    assert write_line(replace(_stored(raw), speaker="Mara"), raw) == raw


def test_a_changed_text() -> None:
    raw = b'{ "mes" : "a" ,"name":"Mara", "x":1.0, "mes2":"a" }\n'
    changed = replace(_stored(raw), swipes=(swipe(0, "é"),))
    assert write_line(changed, raw).decode() == raw.decode().replace(': "a"', ': "é"')


def test_a_changed_text_is_set_in_its_swipe_too() -> None:
    value = line("Alice came", swipes=["{{user}} came", "b"], swipe_id=0)
    written = _changed(value, swipes=(swipe(0, "c"), swipe(1, "b")))
    assert written == {**value, "mes": "c", "swipes": ["c", "b"]}
    assert list(written) == list(value)


def test_a_changed_text_of_another_swipe() -> None:
    value = line("Alice came", swipes=["{{user}} came", "b"], swipe_id=0)
    written = _changed(value, swipes=(swipe(0, "Alice came"), swipe(1, "c")))
    assert written == {**value, "swipes": ["Alice came", "c"]}


def test_a_text_in_a_wrapping_keeps_it() -> None:
    value = line({"message": "a", "x": 1}, swipes=[{"message": "a", "y": 2}, None], swipe_id=0)
    written = _changed(value, swipes=(swipe(0, "c"), swipe(1, "")))
    assert written["mes"] == {"message": "c", "x": 1}
    assert written["swipes"] == [{"message": "c", "y": 2}, None]


def test_exclusion() -> None:
    assert _changed(line(), excluded=True) == line(is_system=True)
    assert _changed(line(is_system=True), excluded=False) == line(is_system=False)
    value = line()
    del value["is_system"]
    written = _changed(value, excluded=True)
    assert written == {**value, "is_system": True}
    assert list(written)[-1] == "is_system"


def test_a_changed_name() -> None:
    assert _changed(line(), speaker="Mira") == line(name="Mira")


def test_another_active_swipe_brings_its_date_and_model_along() -> None:
    written = _changed(_SWIPED, active=0)
    assert (written["mes"], written["swipe_id"]) == ("a", 0)
    assert written["send_date"] == "2026-01-01T00:00:01.000Z"
    assert written["gen_started"] == "s1"
    assert written["extra"] == {"model": "m1", "reasoning": "", "mine": 1}
    assert written["swipe_info"] == _SWIPED["swipe_info"]
    assert list(written) == list(_SWIPED)
    again = _messages(dumps(written))[0]
    assert [s.model for s in again.swipes] == ["m1", "m2"]
    assert [s.reasoning for s in again.swipes] == [None, "r2"]


def test_what_only_the_line_knew_of_a_swipe_is_kept_when_another_becomes_active() -> None:
    value = line(
        "a",
        swipes=["a", "b"],
        swipe_id=0,
        send_date="2026-01-01T00:00:01.000Z",
        extra={"model": "m1", "mine": 1},
        swipe_info=[],
    )
    written = _changed(value, active=1)
    assert written["swipe_info"] == [
        {"send_date": "2026-01-01T00:00:01.000Z", "extra": {"model": "m1"}},
        {"extra": {}},
    ]
    assert written["extra"] == {"model": "m1", "mine": 1}


def test_a_further_swipe() -> None:
    swipes = (
        swipe(0, "a"),
        swipe(1, "b"),
        swipe(2, "c", sent_at=_NOW, model="m3", reasoning="r3"),
    )
    written = _changed(_SWIPED, swipes=swipes, active=2)
    assert written["swipes"] == ["a", "b", "c"]
    assert (written["swipe_id"], written["mes"]) == (2, "c")
    info = {"send_date": "2026-01-11T11:11:29.566Z", "extra": {"model": "m3", "reasoning": "r3"}}
    assert written["swipe_info"] == [*_SWIPED["swipe_info"], info]
    assert written["send_date"] == info["send_date"]
    assert written["extra"] == {"model": "m3", "reasoning": "r3", "mine": 1}


def test_the_first_swipes_of_a_line_without() -> None:
    value = line("a", send_date="2026-01-01T00:00:01.000Z", extra={"model": "m"})
    written = _changed(value, swipes=(swipe(0, "a"), swipe(1, "b")))
    assert written == {
        **value,
        "swipes": ["a", "b"],
        "swipe_id": 0,
        "swipe_info": [
            {"send_date": "2026-01-01T00:00:01.000Z", "extra": {"model": "m"}},
            {"extra": {}},
        ],
    }


def test_a_swipe_taken_away_takes_its_info_with_it() -> None:
    written = _changed(_SWIPED, swipes=(swipe(5, "b"),), active=5)
    assert (written["swipes"], written["swipe_id"], written["mes"]) == (["b"], 0, "b")
    assert written["swipe_info"] == _SWIPED["swipe_info"][1:]
    assert written["extra"] == _SWIPED["extra"]


def test_numbers_of_swipes_need_not_be_dense() -> None:
    raw = dumps(_SWIPED)
    held = message(swipes=(swipe(7, "b"), swipe(3, "a")), active=7)
    assert write_line(held, raw) == raw


def test_a_new_message_of_a_character() -> None:
    held = message(
        swipes=(
            swipe(0, "a", sent_at=_NOW, model="m", reasoning="r"),
            swipe(1, "b"),
        ),
    )
    written = write_line(held, speaker_key="Мира.png")
    assert json.loads(written) == {
        "name": "Mara",
        "is_user": False,
        "is_system": False,
        "send_date": "2026-01-11T11:11:29.566Z",
        "mes": "a",
        "extra": {"model": "m", "reasoning": "r"},
        "original_avatar": "Мира.png",
        "force_avatar": "/thumbnail?type=avatar&file=%D0%9C%D0%B8%D1%80%D0%B0.png",
        "swipes": ["a", "b"],
        "swipe_id": 0,
        "swipe_info": [
            {
                "send_date": "2026-01-11T11:11:29.566Z",
                "extra": {"model": "m", "reasoning": "r"},
            },
            {"extra": {}},
        ],
    }
    assert not written.endswith(b"\n")


def test_a_new_message_of_the_user() -> None:
    written = write_line(message("a", role="user", speaker="Alice"))
    assert json.loads(written) == {
        "name": "Alice",
        "is_user": True,
        "is_system": False,
        "mes": "a",
        "extra": {},
    }


def test_a_new_message_with_a_picture() -> None:
    part = Part(kind="image", url="data:image/png;base64,AA==")
    written = write_line(message(swipes=(swipe(0, "a", parts=(part,)),)))
    assert _messages(written)[0].parts == (part,)


def test_a_new_call_of_tools_is_one_line() -> None:
    calls = (call("c1", "weather", '{"place":"<mill>"}'), call("c2", "weather", "broken"))
    asking = message(swipes=(swipe(0, "", tool_calls=calls, model="m", reasoning="r"),))
    results = [
        message("Rain.", role="tool", speaker="weather", tool_call_id="c1"),
        message("Sun.", role="tool", speaker="weather", tool_call_id="c2"),
    ]
    written = write_line([asking, *results])
    assert b"\n" not in written
    value = json.loads(written)
    assert (value["name"], value["is_system"]) == ("SillyTavern System", True)
    assert "<summary>Tool calls: weather (2)</summary>" in value["mes"]
    assert "&lt;mill&gt;" in value["mes"]
    back, first, second = _messages(written)
    assert back.tool_calls == calls
    assert (back.swipes[0].model, back.swipes[0].reasoning) == ("m", "r")
    assert [(m.text, m.tool_call_id) for m in (first, second)] == [("Rain.", "c1"), ("Sun.", "c2")]


def test_what_is_said_beside_a_call_is_a_line_of_its_own() -> None:
    asking = message(swipes=(swipe(0, "Let me look.", tool_calls=(call(),)),))
    said, called = write_line([asking]).split(b"\n")
    assert _messages(said)[0].text == "Let me look."
    assert _messages(called)[0].tool_calls == (call(),)


def test_a_result_whose_call_is_gone_is_still_written() -> None:
    written = write_line(message("Rain.", role="tool", speaker="weather", tool_call_id="c1"))
    asking, result = _messages(written)
    assert asking.tool_calls == (call(),)
    assert result.text == "Rain."


def _tools(raw: bytes) -> list[Message]:
    return [stored(item) for item in _messages(raw)]


def test_an_untouched_tool_line() -> None:
    raw = dumps(tool_line(("c1", "weather", "Rain."), ("c2", "time", "Noon."))) + b"\n"
    group = _tools(raw)
    assert write_line(group, raw) == raw
    assert write_line([replace(group[0], speaker="Mara"), *group[1:]], raw) == raw
    assert write_line([replace(group[0], excluded=True), *group[1:]], raw) == raw
    assert write_line(group[1:], raw) == raw


def test_an_untouched_tool_line_without_ids() -> None:
    value = tool_line(("", "weather", "Rain."), ("", "weather", "Rain."))
    raw = dumps(value)
    item = read_line(raw, line=57)
    assert isinstance(item, ImportedLine)
    asking, first, second = item.messages
    assert first.tool_call_id != second.tool_call_id
    assert write_line([stored(asking), stored(first), stored(second)], raw) == raw


def test_a_changed_result() -> None:
    value = tool_line(("c1", "weather", "Rain."), ("c2", "time", "Noon."), mine=1)
    value["extra"]["tool_invocations"][0]["parameters"] = {"place": "mill"}
    raw = dumps(value)
    asking, first, second = _tools(raw)
    written = json.loads(
        write_line([asking, replace(first, swipes=(swipe(0, "Sun."),)), second], raw)
    )
    before, after = (v["extra"]["tool_invocations"] for v in (value, written))
    assert after == [{**before[0], "result": "Sun."}, before[1]]
    assert "Sun." in written["mes"]
    assert written["mine"] == 1
    assert list(written) == list(value)


def test_a_call_taken_away_and_a_new_one() -> None:
    raw = dumps(tool_line(("c1", "weather", "Rain."), ("c2", "time", "Noon.")))
    asking, _, second = _tools(raw)
    calls = (asking.swipe.tool_calls[1], call("c3", "look"))
    asking = replace(asking, swipes=(swipe(0, "", tool_calls=calls),))
    third = message("A door.", role="tool", speaker="look", tool_call_id="c3")
    back = _messages(write_line([asking, second, third], raw))
    assert back[0].tool_calls == calls
    assert [m.text for m in back[1:]] == ["Noon.", "A door."]


def test_nothing_to_write() -> None:
    with pytest.raises(InvalidInput, match="no message"):
        write_line([])
    with pytest.raises(InvalidInput, match="holds no message"):
        write_line(message("a"), b"{")
    with pytest.raises(InvalidInput, match="holds no message"):
        write_line(message("a"), dumps(HEADER))
