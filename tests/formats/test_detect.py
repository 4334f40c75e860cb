"""What kind of file it is."""

import contextlib
import json
import zipfile
from collections.abc import Mapping
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talekeeper.domain.errors import UnreadableFile
from talekeeper.formats.detect import HEAD_BYTES, sniff
from tests.formats.builders import HEADER, card_chunk, chat, dumps, line, picture, v2, v3

_V1 = {"name": "Mara", "description": "", "personality": "", "first_mes": "Hi."}
_OLD_HEADER = {"user_name": "You", "character_name": "Mara", "create_date": 1682786756020}


def test_a_png_picture_is_a_card() -> None:
    assert sniff(picture(card_chunk("chara", v2()))) == "card_png"


@pytest.mark.parametrize(
    "document", [v2(), v3(), _V1, {"char_name": "Mara"}, {"data": {"name": 1}}]
)
@pytest.mark.parametrize("indent", [None, 4])
def test_a_json_card(document: dict[str, Any], indent: int | None) -> None:
    text = json.dumps(document, indent=indent)
    assert sniff(text.encode()) == "card_json"
    assert sniff(b"\xef\xbb\xbf\n " + text.encode()) == "card_json"


@pytest.mark.parametrize("document", [v2(), v3(), _V1])
@pytest.mark.parametrize("indent", [None, 4])
def test_a_card_longer_than_the_head(document: dict[str, Any], indent: int | None) -> None:
    long = {**document, "description": "é" * HEAD_BYTES}
    assert sniff(json.dumps(long, indent=indent, ensure_ascii=False).encode()[:HEAD_BYTES]) == (
        "card_json"
    )


def test_a_card_whose_first_field_is_longer_than_the_head() -> None:
    document = {"avatar": "A" * HEAD_BYTES, **v2()}
    assert sniff(dumps(document)[:HEAD_BYTES]) == "card_json"
    nested = {"data": {"avatar": "A" * HEAD_BYTES, "name": "Mara"}}
    assert sniff(dumps(nested)[:HEAD_BYTES]) == "card_json"


@pytest.mark.parametrize(
    "lines",
    [
        [HEADER],
        [HEADER, line()],
        [_OLD_HEADER, line()],
        [line(), line()],
        [{"name": "Mara", "mes": "Hi."}],
        [{"is_user": True, "mes": "Hi."}],
        [{"name": "Mara", "is_user": False, "swipes": ["Hi."]}],
        [b"broken", line()],
        [b'{"name":"Mara","is_us', line()],
        [{"some": "thing"}, line()],
        [b"", b"", line()],
    ],
)
def test_a_chat(lines: list[object]) -> None:
    assert sniff(chat(*lines)) == "chat_jsonl"


@pytest.mark.parametrize("first", [HEADER, line()])
def test_a_chat_whose_first_line_is_longer_than_the_head(first: dict[str, Any]) -> None:
    long = {**first, "extra": {"variables": "x" * HEAD_BYTES}}
    assert sniff(chat(long, line())[:HEAD_BYTES]) == "chat_jsonl"


def _zip() -> bytes:
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("card.json", "{}")
    return out.getvalue()


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (_zip(), "ZIP archive"),
        (b"\xff\xd8\xff\xe0" + _zip(), "JPEG"),
        (b"GIF89a", "GIF"),
        (b"RIFF\0\0\0\0WEBP", "WebP"),
        (b"rcc||rccv1||abc", "encrypted"),
        (b"SQLite format 3\0", "SQLite"),
        (b"", "empty"),
        (b"\xef\xbb\xbf  \n", "empty"),
        ("{}".encode("utf-16"), "UTF-16"),
        ("{}".encode("utf-16-le"), "UTF-16"),
        (b"[1, 2]", "JSON list"),
        (b"Mara: Hello.\nYou: Hi.", "plain text"),
        (b"{}", "neither"),
        (b'{"a": 1}', "neither"),
        (b"{broken", "neither"),
        (dumps({"type": "risuChat", "data": {"message": []}}), "RisuAI chat"),
        (dumps({"type": "risuAllChats", "data": []}), "RisuAI chat"),
        (dumps({"savedsettings": {}, "actions": []}), "Kobold"),
        (dumps({"histories": {"histories": []}}), "Character.AI"),
        (dumps({"turns": [{"turn_key": {}, "candidates": []}]}), "Character.AI"),
        (dumps({"data": [], "data_visible": [["", "Hi"]]}), "oobabooga"),
        (dumps({"visible": [], "internal": []}), "oobabooga"),
        (dumps({"name": "x", "greeting": "", "messages": [{"msg": "Hi"}]}), "Agnai chat"),
        (dumps({"messages": [{"role": "user", "content": "Hi"}]}), "OpenAI"),
        (dumps({"messages": []}), "message log"),
        (dumps({"id": "1", "name": "G", "members": [], "chat_metadata": {}, "chats": []}), "group"),
        (dumps({"name": "G", "members": ["a.png"], "chat_id": "1"}), "group"),
    ],
)
def test_other_kinds_are_refused_by_name(data: bytes, name: str) -> None:
    with pytest.raises(UnreadableFile, match=name) as caught:
        sniff(data)
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence


@pytest.mark.parametrize("indent", [None, 2])
def test_a_lorebook_longer_than_the_head_is_told(indent: int | None) -> None:
    world = {"entries": {str(n): {"key": ["k"], "content": "x" * 500} for n in range(800)}}
    assert sniff(json.dumps(world, indent=indent).encode()[:HEAD_BYTES]) == "lorebook"


@pytest.mark.parametrize("indent", [None, 2])
def test_other_kinds_longer_than_the_head_are_refused_too(indent: int | None) -> None:
    story = {"savedsettings": {}, "actions": ["x" * 500 for _ in range(800)]}
    with pytest.raises(UnreadableFile, match="Kobold"):
        sniff(json.dumps(story, indent=indent).encode()[:HEAD_BYTES])


@pytest.mark.parametrize(
    "book",
    [
        {"type": "risu", "ver": 1, "data": []},
        {"spec": "lorebook_v3", "data": {"entries": []}},
        {"entries": {}, "name": "World"},
        {"entries": [], "extensions": {}},
        {"lorebookVersion": 5, "entries": []},
        {"kind": "memory", "name": "Book", "entries": []},
    ],
)
def test_lorebooks_are_told_by_their_content(book: Mapping[str, Any]) -> None:
    assert sniff(dumps(book)) == "lorebook"


def test_a_card_with_a_book_is_a_card() -> None:
    assert sniff(dumps(v2(character_book={"entries": []}))) == "card_json"


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: b"{" + _utf8(text)))
def test_anything_gets_a_kind_or_a_sentence(data: bytes) -> None:
    with contextlib.suppress(UnreadableFile):
        assert sniff(data) in ("card_png", "card_json", "chat_jsonl")


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")
