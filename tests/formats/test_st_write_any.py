"""Whatever is written to a line is read back, and what nobody touched stays."""

import json
from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from talekeeper.domain.chat import Message, Swipe
from talekeeper.formats.imported import ImportedLine, ImportedMessage
from talekeeper.formats.st_line import read_line
from talekeeper.formats.st_write import write_line
from tests.formats.builders import line, message, stored, swipe


def _messages(raw: bytes) -> tuple[ImportedMessage, ...]:
    item = read_line(raw, line=1)
    assert isinstance(item, ImportedLine), item
    return item.messages


def _stored(raw: bytes) -> Message:
    (imported,) = _messages(raw)
    return stored(imported)


_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
_DATES = st.none() | st.datetimes(min_value=datetime(1980, 1, 1), timezones=st.just(UTC)).map(
    lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000)
)


@st.composite
def _swipes(draw: st.DrawFn) -> tuple[tuple[Swipe, ...], int]:
    held = draw(
        st.lists(
            st.builds(
                swipe,
                st.just(0),
                _TEXT,
                sent_at=_DATES,
                model=st.none() | st.sampled_from(["m1", "m2"]),
                reasoning=st.none() | _TEXT.filter(bool),
            ),
            min_size=1,
            max_size=4,
        )
    )
    numbered = tuple(replace(item, index=at) for at, item in enumerate(held))
    return numbered, draw(st.integers(0, len(numbered) - 1))


@st.composite
def _written(draw: st.DrawFn) -> Message:
    swipes, active = draw(_swipes())
    role = draw(st.sampled_from(["user", "assistant", "system"]))
    return message(
        role=role,  # type: ignore[arg-type]
        speaker=draw(_TEXT.filter(str.strip)),
        swipes=swipes,
        active=active,
        excluded=draw(st.booleans()),
    )


def _same(held: Message, back: ImportedMessage) -> bool:
    return (held.role, held.excluded, held.active) == (back.role, back.excluded, back.active) and [
        item.text for item in held.swipes
    ] == [item.text for item in back.swipes]


@given(_written(), st.sampled_from([None, "mara.png"]))
def test_a_new_message_is_read_back(held: Message, key: str | None) -> None:
    (back,) = _messages(write_line(held, speaker_key=key))
    assert _same(held, back)
    assert (back.speaker, back.speaker_key) == (held.speaker, key)
    for mine, theirs in zip(held.swipes, back.swipes, strict=True):
        assert mine.sent_at == theirs.sent_at
        assert (mine.model, mine.reasoning) == (theirs.model, theirs.reasoning)


_UNKNOWN = st.dictionaries(
    st.sampled_from(["variables", "mine", "é", "swipes_info"]),
    st.recursive(
        st.none() | st.booleans() | st.integers() | _TEXT,
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_TEXT, inner, max_size=2),
        max_leaves=4,
    ),
    max_size=3,
)


@st.composite
def _lines(draw: st.DrawFn) -> bytes:
    texts = draw(st.lists(_TEXT, min_size=1, max_size=3))
    value = line(draw(st.sampled_from(texts) | _TEXT), is_user=draw(st.booleans()))
    if draw(st.booleans()):
        value["swipes"] = texts
        value["swipe_id"] = draw(st.integers(-1, 4) | st.none())
    if draw(st.booleans()):
        info = st.fixed_dictionaries({"extra": _UNKNOWN}, optional={"x": st.integers()})
        value["swipe_info"] = draw(st.lists(info, max_size=4))
    value |= draw(_UNKNOWN)
    value["extra"] = draw(_UNKNOWN)
    items = draw(st.permutations(list(value.items())))
    text = json.dumps(
        dict(items), ensure_ascii=draw(st.booleans()), separators=draw(_SPACING)
    ) + draw(st.sampled_from(["", "\n", "\r\n"]))
    return text.encode()


_SPACING = st.sampled_from([(",", ":"), (", ", ": "), (" ,", " : ")])


@given(_lines(), st.data())
def test_a_touched_line_says_what_was_changed_and_keeps_the_rest(
    raw: bytes, data: st.DataObject
) -> None:
    held = _stored(raw)
    assert write_line(held, raw) == raw
    swipes, active = data.draw(_swipes() | st.just((held.swipes, held.active)))
    changed = replace(
        held,
        swipes=swipes,
        active=active,
        excluded=data.draw(st.booleans()),
        speaker=data.draw(st.sampled_from(["Mara", "Mira"])),
    )
    written = write_line(changed, raw)
    (back,) = _messages(written)
    assert _same(changed, back)
    assert back.speaker == changed.speaker
    assert written.endswith(b"\n") == raw.endswith(b"\n")
    before, after = json.loads(raw), json.loads(written)
    mine = {"mes", "swipes", "swipe_id", "swipe_info", "is_system", "name", "extra", "send_date"}
    assert list(after)[: len(before)] == list(before)
    assert {key: after[key] for key in before if key not in mine} == {
        key: before[key] for key in before if key not in mine
    }
    assert {key: after["extra"][key] for key in before["extra"]} == before["extra"]
    if "swipe_info" in after and len(swipes) != len(held.swipes):
        assert len(after["swipe_info"]) == len(swipes)
    assert write_line(stored(back), written) == written
