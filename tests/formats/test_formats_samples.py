"""The shared samples: what real programs wrote, read and given back unchanged."""

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from talekeeper.domain.errors import UnreadableFile
from talekeeper.formats.card import read_card
from talekeeper.formats.card_write import changed_document, write_card_json
from talekeeper.formats.detect import HEAD_BYTES, sniff
from talekeeper.formats.imported import ImportedHeader, ImportedLine, SkippedLine
from talekeeper.formats.png_card import replace_png_card
from talekeeper.formats.st_chat import read_st_chat
from talekeeper.formats.st_write import write_header, write_line
from tests.formats.builders import chunks_of, read, samples, stored

_CHATS = samples(
    "st-chat-jsonl/*.jsonl",
    "tavernai-chat/*.jsonl",
    "other-chat-exports/*.jsonl",
    "st-wire/*.chats/*.jsonl",
    "st-wire/*/*.chats/*.jsonl",
)
_CARDS = samples(
    "character-card-json/*min*.json",
    "character-card-json/*full*.json",
    "character-card-json/*with_lorebook.json",
    "character-card-json/*export_like.json",
    "character-card-json/*Seraphina*.json",
)
_PICTURES = samples("character-card-png/*.png")


@pytest.mark.parametrize("path", _CHATS)
def test_every_line_of_a_chat_is_read_and_comes_back(path: Path) -> None:
    data = path.read_bytes()
    assert sniff(data[:HEAD_BYTES]) == "chat_jsonl"
    items = read(data)
    assert not any(isinstance(item, SkippedLine) for item in items)
    written = b""
    for item in items:
        if isinstance(item, ImportedHeader):
            written += write_header(raw=item.raw)
        elif isinstance(item, ImportedLine):
            written += write_line([stored(message) for message in item.messages], item.raw)
    assert written == data


@pytest.mark.parametrize("path", _CHATS)
def test_a_hidden_line_differs_in_that_alone(path: Path) -> None:
    for item in read(path.read_bytes()):
        if not isinstance(item, ImportedLine) or len(item.messages) > 1:
            continue
        held = stored(item.messages[0])
        written = write_line(replace(held, excluded=not held.excluded), item.raw)
        before, after = json.loads(item.raw), json.loads(written)
        assert {**before, "is_system": not held.excluded} == after
        assert list(after)[: len(before)] == list(before)
        shown = json.loads(write_line(held, written))
        assert shown == {**before, "is_system": held.excluded}


@pytest.mark.parametrize("path", samples("st-wire/group_*.chats/*", "st-wire/*/group_*.chats/*"))
def test_groups(path: Path) -> None:
    header, *items = read(path.read_bytes())
    assert isinstance(header, ImportedHeader)
    assert header.group
    keys = {
        item.messages[0].speaker: item.messages[0].speaker_key
        for item in items
        if isinstance(item, ImportedLine) and item.messages[0].role == "assistant"
    }
    assert keys == {
        "Мира": "Мира.png",
        "Лена": "Лена.png",
        "Seraphina": "default_Seraphina.png",
    }


@pytest.mark.parametrize("path", samples("st-wire/tools.chats/*"))
def test_tool_calls(path: Path) -> None:
    items = [item for item in read(path.read_bytes()) if isinstance(item, ImportedLine)]
    calls = [item.messages for item in items if item.messages[0].tool_calls]
    assert [len(messages) for messages in calls] == [2, 3]
    asking, result = calls[0]
    assert (asking.speaker, asking.text, asking.excluded) == ("Seraphina", "", False)
    assert asking.tool_calls[0].arguments == '{"place":"Тверь"}'
    assert result.text == "Rain at Тверь, 7 degrees."
    assert not any("<details>" in message.text for item in items for message in item.messages)


@pytest.mark.parametrize("path", samples("st-wire/*extra_fields.chats/*", "st-wire/*/extra_*/*"))
def test_narrator_other_speaker_and_comment(path: Path) -> None:
    header, *items = read(path.read_bytes())
    assert isinstance(header, ImportedHeader)
    assert header.authors_note is not None
    assert header.authors_note.text == "The night is cold."
    said = {
        item.messages[0].text: (item.messages[0].role, item.messages[0].excluded)
        for item in items
        if isinstance(item, ImportedLine)
    }
    assert said["A knock at the door."] == ("system", False)
    assert said["Is anyone home?"] == ("assistant", False)
    assert said["not for the model"] == ("system", True)


@pytest.mark.parametrize("path", samples("st-wire/*.json"))
def test_a_chat_file_says_what_its_program_said_it_holds(path: Path) -> None:
    """The recordings hold the chat as SillyTavern had it in memory after the last action."""
    recorded = json.loads(path.read_text())
    steps = recorded.get("steps") if isinstance(recorded, dict) else None
    chat = steps[-1].get("chat") if steps else None
    if not isinstance(chat, list) or not chat or "mes" not in chat[0]:
        pytest.skip("no SillyTavern chat in this recording")
    last = [_told(message) for message in chat]
    folder = path.with_suffix(".chats")
    files = sorted(folder.glob("*.jsonl")) if folder.is_dir() else []
    if not files:
        pytest.skip("no chat file beside this recording")
    assert last in [_heard(file) for file in files]


def _told(message: dict[str, Any]) -> tuple[str, str, int]:
    """Speaker, text and number of swipes; nothing of a line of tool calls."""
    if "tool_invocations" in (message.get("extra") or ()):
        return "", "", 0
    return message["name"], message["mes"], message.get("swipes") or 1


def _heard(file: Path) -> list[tuple[str, str, int]]:
    with file.open("rb") as stream:
        lines = [item.messages for item in read_st_chat(stream) if isinstance(item, ImportedLine)]
    return [
        ("", "", 0) if first.tool_calls else (first.speaker, first.text, len(first.swipes))
        for first, *_ in lines
    ]


@pytest.mark.parametrize("path", _CARDS)
def test_a_json_card_is_read_and_comes_back(path: Path) -> None:
    data = path.read_bytes()
    found = read_card(data)
    assert found.notices == ()
    assert found.document == json.loads(data)
    assert write_card_json(found.document, found.card, data) == data
    renamed = write_card_json(found.document, replace(found.card, name="Новая"), data)
    assert len(renamed.splitlines()) == len(data.splitlines())
    assert sum(a != b for a, b in zip(renamed.splitlines(), data.splitlines(), strict=True)) in (
        1,
        2,
    )


@pytest.mark.parametrize("path", _PICTURES)
def test_a_picture_is_read_and_comes_back(path: Path) -> None:
    data = path.read_bytes()
    found = read_card(data)
    assert found.notices == ()
    again = replace_png_card(data, found.document)
    assert read_card(again).document == found.document
    changed = changed_document(found.document, replace(found.card, first_mes="Привет."))
    written = replace_png_card(data, changed)
    assert read_card(written).card == replace(found.card, first_mes="Привет.")
    for result in (again, written):
        assert _foreign(result) == _foreign(data)


def _foreign(data: bytes) -> list[tuple[bytes, bytes]]:
    return [
        chunk
        for chunk in chunks_of(data)
        if chunk[1].partition(b"\0")[0].lower() not in (b"chara", b"ccv3")
    ]


@pytest.mark.parametrize("path", samples("character-card-json/*invalid*.json"))
def test_a_card_made_wrong_on_purpose_is_refused(path: Path) -> None:
    with pytest.raises(UnreadableFile):
        read_card(path.read_bytes())


@pytest.mark.parametrize(
    "path",
    samples(
        "charx/*.charx",
        "other-chat-exports/[!r]*.json",
        "other-chat-exports/risu-chat*.json",
        "mcp/mem0*.json",
    ),
)
def test_other_kinds_are_refused(path: Path) -> None:
    with pytest.raises(UnreadableFile):
        sniff(path.read_bytes()[:HEAD_BYTES])
    with pytest.raises(UnreadableFile):
        read_card(path.read_bytes())


@pytest.mark.parametrize("path", samples("*/*.json", "*/*.md", "*/*.yaml", "*/*.png", "*/*.charx"))
def test_no_sample_of_another_kind_is_taken_for_a_chat(path: Path) -> None:
    with pytest.raises(UnreadableFile):
        list(read_st_chat(io.BytesIO(path.read_bytes())))
