"""Reading cards: versions, and what real cards do instead of following them."""

import json
from typing import Any

import pytest

from talekeeper.domain.character import CARD_TEXTS, DepthPrompt
from talekeeper.domain.errors import UnreadableFile
from talekeeper.formats.card import read_card
from talekeeper.formats.imported import ImportedCard
from tests.formats.builders import HEADER, card_chunk, chat, dumps, line, picture, v2, v3

_V1 = {
    "name": "Mara",
    "description": "A miller.",
    "personality": "Dry.",
    "scenario": "A mill.",
    "first_mes": "You are late.",
    "mes_example": "<START>",
}


def _read(document: object) -> ImportedCard:
    return read_card(dumps(document))


def _paths(card: ImportedCard) -> list[str | None]:
    return [notice.path for notice in card.notices]


def test_v1() -> None:
    found = _read(_V1)
    assert found.format == "v1"
    assert {name: getattr(found.card, name) for name in _V1} == _V1
    assert found.document == _V1
    assert (found.notices, found.unknown) == ((), ())


def test_v1_with_a_misleading_block() -> None:
    found = _read({**_V1, "metadata": {"version": 1}})
    assert found.format == "v1"
    assert found.unknown == ("metadata",)


def test_pygmalion() -> None:
    found = _read(
        {
            "char_name": "Mara",
            "char_persona": "A miller.",
            "char_greeting": "You are late.",
            "example_dialogue": "<START>",
            "world_scenario": "A mill.",
        }
    )
    assert found.format == "v1"
    assert found.card.name == "Mara"
    assert found.card.description == "A miller."
    assert found.card.first_mes == "You are late."
    assert found.card.mes_example == "<START>"
    assert found.card.scenario == "A mill."
    assert found.unknown == ()


def test_v2_with_every_field() -> None:
    texts = {name: f"the {name}" for name in CARD_TEXTS}
    found = _read(
        v2(
            **texts,
            creator="Alice",
            creator_notes="Notes.",
            character_version="1.2",
            alternate_greetings=["One", "Two"],
            tags=["miller", "dry"],
            extensions={"depth_prompt": {"prompt": "Rain.", "depth": 2, "role": "user"}},
            character_book={"name": "Book", "entries": [{}, {}]},
        )
    )
    card = found.card
    assert found.format == "v2"
    assert {name: getattr(card, name) for name in CARD_TEXTS} == texts
    assert (card.creator, card.creator_notes, card.character_version) == ("Alice", "Notes.", "1.2")
    assert card.alternate_greetings == ("One", "Two")
    assert card.tags == ("miller", "dry")
    assert card.depth_prompt == DepthPrompt(text="Rain.", depth=2, role="user")
    assert card.book_entries == 2
    assert (found.notices, found.unknown) == ((), ())
    assert found.document["data"]["character_book"]["name"] == "Book"


def test_v3() -> None:
    found = _read(
        v3(
            nickname="Mar",
            assets=[],
            group_only_greetings=[],
            source=["x"],
            creation_date=0,
            modification_date=0,
            creator_notes_multilingual={"en": "x"},
        )
    )
    assert found.format == "v3"
    assert found.card.nickname == "Mar"
    assert (found.notices, found.unknown) == ((), ())


def test_a_v3_card_that_lacks_every_v3_field() -> None:
    assert _read(v3()).notices == ()


@pytest.mark.parametrize(("version", "path"), [("3.1", "spec_version"), (4, "spec_version")])
def test_a_newer_version_is_read_with_a_notice(version: object, path: str) -> None:
    found = _read({**v3(), "spec_version": version})
    assert found.format == "v3"
    assert _paths(found) == [path]


def test_a_newer_specification_is_read_with_a_notice() -> None:
    found = _read({**v3(), "spec": "chara_card_v4", "spec_version": "4.0"})
    assert found.format == "v3"
    assert _paths(found) == ["spec"]


@pytest.mark.parametrize("version", ["3.0", 3, "3", None, "soon", [], True])
def test_the_version_of_v3_needs_no_notice(version: object) -> None:
    assert _read({**v3(), "spec_version": version}).notices == ()


def test_data_wins_over_stale_twins() -> None:
    found = _read({**_V1, "name": "Old", **v2(description="New.")})
    assert found.card.name == "Mara"
    assert found.card.description == "New."


def test_a_twin_stands_in_for_a_field_that_data_lacks() -> None:
    assert _read({**_V1, **v2()}).card.scenario == "A mill."


def test_a_twin_stands_in_for_a_blank_name() -> None:
    found = _read({"name": "Mara", **v2(name=" ")})
    assert found.card.name == "Mara"
    assert _paths(found) == ["data.name"]


def test_a_missing_specification_name_is_told_where_the_shape_is_clear() -> None:
    document = v2()
    del document["spec"]
    found = _read(document)
    assert found.format == "v2"
    assert _paths(found) == ["spec"]


def test_a_specification_without_data_is_read_as_v1() -> None:
    found = _read({**_V1, "spec": "chara_card_v2", "spec_version": "2.0"})
    assert found.format == "v1"
    assert _paths(found) == ["data"]


@pytest.mark.parametrize(
    ("field", "value", "read", "path"),
    [
        ("description", None, "", "data.description"),
        ("description", 7, "7", "data.description"),
        ("description", ["a", "b"], "a\nb", "data.description"),
        ("description", {"a": 1}, "", "data.description"),
        ("description", True, "", "data.description"),
        ("character_version", 1.5, "1.5", "data.character_version"),
        ("name", 47, "47", "data.name"),
        ("tags", "a, b,,c ", ("a", "b", "c"), "data.tags"),
        ("tags", None, (), "data.tags"),
        ("tags", 5, (), "data.tags"),
        ("tags", ["a", 5], ("a", "5"), "data.tags[1]"),
        ("tags", {"0": "a"}, ("a",), "data.tags"),
        ("alternate_greetings", None, (), "data.alternate_greetings"),
        ("alternate_greetings", "Hi, you.", ("Hi, you.",), "data.alternate_greetings"),
        ("alternate_greetings", ["a", None], ("a", ""), "data.alternate_greetings[1]"),
    ],
)
def test_what_is_of_another_type_is_read_with_a_notice(
    field: str, value: object, read: object, path: str
) -> None:
    found = _read(v2(**{field: value}))
    assert getattr(found.card, field) == read
    assert _paths(found) == [path]
    assert found.document["data"][field] == value


@pytest.mark.parametrize(
    ("prompt", "expected", "noted"),
    [
        ({"prompt": "x"}, DepthPrompt(text="x"), 0),
        ({"prompt": "x", "depth": "3", "role": 1}, DepthPrompt(text="x", depth=3, role="user"), 1),
        ({"prompt": "x", "depth": " " * 10 + "5"}, DepthPrompt(text="x", depth=5), 1),
        ({"prompt": "x", "depth": -1}, DepthPrompt(text="x"), 1),
        ({"prompt": "x", "depth": 1e300}, DepthPrompt(text="x", depth=10_000), 0),
        ({"prompt": "x", "role": "narrator"}, DepthPrompt(text="x"), 1),
        ({"prompt": "x", "role": ["user"]}, DepthPrompt(text="x"), 1),
        ({"prompt": "x", "depth": None, "role": None}, DepthPrompt(text="x"), 1),
        ({"prompt": ""}, None, 0),
        ({"prompt": None}, None, 1),
        ("x", None, 0),
        (None, None, 0),
    ],
)
def test_depth_prompt(prompt: object, expected: DepthPrompt | None, noted: int) -> None:
    found = _read(v2(extensions={"depth_prompt": prompt}))
    assert found.card.depth_prompt == expected
    assert len(found.notices) == noted


@pytest.mark.parametrize("extensions", [None, [], "x"])
def test_extensions_of_another_type(extensions: object) -> None:
    assert _read(v2(extensions=extensions)).card.depth_prompt is None


@pytest.mark.parametrize(
    ("book", "entries", "noted"),
    [
        ({"entries": [{}, {}, {}]}, 3, 0),
        ({"entries": {"0": {}, "1": {}}}, 2, 0),
        (None, 0, 0),
        ({}, 0, 1),
        ([], 0, 1),
    ],
)
def test_the_book_is_counted_and_kept(book: object, entries: int, noted: int) -> None:
    found = _read(v2(character_book=book))
    assert found.card.book_entries == entries
    assert len(found.notices) == noted
    assert found.document["data"]["character_book"] == book


def test_unknown_fields_are_named_and_kept() -> None:
    document = v2(avatar="x", extensions={"chub": {}, "talkativeness": "0.5", "world": ""})
    document |= {"fav": False, "create_date": "2024-1-1", "mystery": [1]}
    found = _read(document)
    assert found.unknown == ("mystery", "data.avatar", "data.extensions.chub")
    assert found.document == document


def test_half_letters_and_nul_are_replaced_with_a_notice() -> None:
    text = json.dumps(v2(description="a\ud800b", extensions={"k\0": ["\0"]}))
    found = read_card(text.encode())
    assert found.card.description == "a\ufffdb"
    assert _paths(found) == ["data.description", "data.extensions.k\ufffd[0]"]
    assert found.document["data"]["extensions"] == {"k\ufffd": ["\ufffd"]}


def test_a_whole_letter_written_as_two_escapes_is_kept() -> None:
    found = read_card(json.dumps(v2(description="\U0001f600")).encode())
    assert found.card.description == "\U0001f600"
    assert found.notices == ()


def test_numbers_that_are_none_become_null() -> None:
    text = dumps(v2(extensions={"a": 1})).replace(
        b'"a":1', b'"a":[NaN,-Infinity,1e999,%s]' % (b"9" * 5000)
    )
    assert read_card(text).document["data"]["extensions"] == {"a": [None] * 4}


@pytest.mark.parametrize("prefix", [b"\xef\xbb\xbf", b"\n\t ", b"\xef\xbb\xbf\r\n"])
def test_a_mark_or_blanks_before_the_json(prefix: bytes) -> None:
    assert read_card(prefix + dumps(v2())).card.name == "Mara"
    assert read_card(prefix + json.dumps(v2(), indent=4).encode()).card.name == "Mara"


@pytest.mark.parametrize("name", ["", "  ", None, [], True])
def test_a_card_without_a_name_is_refused(name: object) -> None:
    with pytest.raises(UnreadableFile, match="no name"):
        _read(v2(name=name))
    with pytest.raises(UnreadableFile, match="no name"):
        _read({**_V1, "name": name})


def test_a_card_that_lacks_the_field_name_is_refused() -> None:
    document = v2()
    del document["data"]["name"]
    with pytest.raises(UnreadableFile, match="no name"):
        _read(document)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"data": {"name": "Mara", "description": "x"}}, "specification"),
        ({"spec": "chara_card_v2"}, "'data' is missing"),
        ({"spec": "chara_card_v2", "data": []}, "'data' is missing"),
        ({"name": "pkg", "description": "x", "version": "1"}, "no character card"),
        ({"name": "pkg"}, "no character card"),
        ({"entries": {}}, "lorebook"),
    ],
)
def test_what_is_no_card_is_refused(document: dict[str, Any], words: str) -> None:
    with pytest.raises(UnreadableFile, match=words):
        _read(document)


def test_a_chat_is_refused_as_a_card() -> None:
    with pytest.raises(UnreadableFile, match="chat"):
        read_card(chat(HEADER, line()))


def test_wrong_bytes_are_told_with_their_place() -> None:
    text = b'\xef\xbb\xbf{"name": "\xff", "first_mes": ""}'
    with pytest.raises(UnreadableFile, match="byte 13"):
        read_card(text)


def test_a_picture_with_a_wrong_document_says_so() -> None:
    with pytest.raises(UnreadableFile, match="no character card"):
        read_card(picture(card_chunk("chara", {"a": 1})))


def test_macros_are_kept() -> None:
    found = _read({**_V1, "first_mes": "{{user}} <BOT> {{char}}"})
    assert found.card.first_mes == "{{user}} <BOT> {{char}}"
