"""Changed cards back into their JSON."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talekeeper.domain.character import Card, DepthPrompt
from talekeeper.domain.errors import UnreadableFile
from talekeeper.formats.card import read_card
from talekeeper.formats.card_fields import DATA_FIELDS
from talekeeper.formats.card_write import changed_document, write_card_json
from talekeeper.formats.imported import ImportedCard
from tests.formats.builders import dumps, v2, v3

_TWINS: dict[str, Any] = {
    "name": "Mara",
    "description": "stale",
    "fav": False,
    "creatorcomment": "stale",
    "tags": ["stale"],
}

_UNUSUAL = (
    '{ "spec" : "chara_card_v2",\r\n'
    ' "data": {"tags":["a"], "name":"M\\u0061ra", "first_mes":"", "x":1.0}}\n'
)


def _read(document: object) -> ImportedCard:
    return read_card(dumps(document))


def test_an_unchanged_file_comes_back_byte_for_byte() -> None:
    text = "\ufeff" + _UNUSUAL
    found = read_card(text.encode())
    assert write_card_json(found.document, found.card, text.encode()) == text.encode()


def test_only_changed_fields_are_replaced_in_the_text() -> None:
    found = read_card(_UNUSUAL.encode())
    card = replace(found.card, first_mes="Hallo, Jürgen.")
    assert write_card_json(found.document, card, _UNUSUAL.encode()).decode() == _UNUSUAL.replace(
        '"first_mes":""', '"first_mes":"Hallo, Jürgen."'
    )


def test_both_data_and_twins_are_replaced() -> None:
    found = _read({**_TWINS, **v2(description="fresh", creator_notes="fresh")})
    card = replace(found.card, description="new", creator_notes="new", tags=("new",))
    changed = changed_document(found.document, card)
    assert changed["description"] == changed["data"]["description"] == "new"
    assert changed["creatorcomment"] == changed["data"]["creator_notes"] == "new"
    assert changed["tags"] == changed["data"]["tags"] == ["new"]
    assert list(changed) == list(found.document)
    assert "creator_notes" not in changed


def test_a_stale_twin_of_an_unchanged_field_stays() -> None:
    found = _read({**_TWINS, **v2(description="fresh")})
    changed = changed_document(found.document, replace(found.card, first_mes="new"))
    assert changed["description"] == "stale"


def test_a_tolerated_value_stays_as_it_was() -> None:
    found = _read(v2(character_version=2, tags="a, b", creator=None))
    changed = changed_document(found.document, replace(found.card, first_mes="new"))
    assert changed == v2(first_mes="new", character_version=2, tags="a, b", creator=None)


def test_the_document_that_was_read_is_not_touched() -> None:
    found = _read({**_TWINS, **v2(extensions={"a": 1})})
    before = json.dumps(found.document)
    changed_document(
        found.document, replace(found.card, name="New", depth_prompt=DepthPrompt(text="x"))
    )
    assert json.dumps(found.document) == before


@pytest.mark.parametrize(
    "extensions", [{}, None, {"depth_prompt": {"prompt": "", "mine": 1}, "z": 2}]
)
def test_a_depth_prompt_is_set(extensions: dict[str, Any] | None) -> None:
    found = _read(v2(extensions=extensions))
    card = replace(found.card, depth_prompt=DepthPrompt(text="Rain.", depth=1, role="user"))
    changed = changed_document(found.document, card)["data"]["extensions"]
    prompt = changed["depth_prompt"]
    assert (prompt["prompt"], prompt["depth"], prompt["role"]) == ("Rain.", 1, "user")
    if extensions:
        assert (prompt["mine"], changed["z"]) == (1, 2)


def test_a_depth_prompt_is_taken_away() -> None:
    found = _read(v2(extensions={"depth_prompt": {"prompt": "Rain.", "depth": 1, "role": "user"}}))
    changed = changed_document(found.document, replace(found.card, depth_prompt=None))
    assert changed["data"]["extensions"]["depth_prompt"] == {
        "prompt": "",
        "depth": 1,
        "role": "user",
    }
    assert _read(changed).card.depth_prompt is None


def test_v1_stays_v1_while_it_can() -> None:
    found = _read({"name": "Mara", "first_mes": "Hi.", "mystery": 1})
    changed = changed_document(found.document, replace(found.card, scenario="A mill.", name="M"))
    assert changed == {"name": "M", "first_mes": "Hi.", "mystery": 1, "scenario": "A mill."}


def test_pygmalion_keeps_its_names() -> None:
    found = _read({"char_name": "Mara", "char_greeting": "Hi."})
    changed = changed_document(found.document, replace(found.card, first_mes="Ho."))
    assert changed == {"char_name": "Mara", "char_greeting": "Ho."}


@pytest.mark.parametrize(
    "change", [{"system_prompt": "Be brief."}, {"depth_prompt": DepthPrompt(text="x")}]
)
def test_v1_becomes_v2_with_twins_when_it_must(change: dict[str, Any]) -> None:
    found = _read({"name": "Mara", "first_mes": "Hi.", "mystery": 1})
    card = replace(found.card, first_mes="Ho.", **change)
    changed = changed_document(found.document, card)
    assert (changed["spec"], changed["first_mes"], changed["mystery"]) == (
        "chara_card_v2",
        "Ho.",
        1,
    )
    again = _read(changed)
    assert (again.format, again.card) == ("v2", card)


def test_a_new_card_is_v2_and_v3_with_a_nickname() -> None:
    card = Card(name="Mara", tags=("a",), depth_prompt=DepthPrompt(text="x"))
    plain = changed_document({}, card)
    assert plain["spec"] == "chara_card_v2"
    assert "nickname" not in plain["data"]
    assert _read(plain).card == card
    named = changed_document({}, replace(card, nickname="Mar"))
    assert (named["spec"], named["spec_version"]) == ("chara_card_v3", "3.0")
    assert named["data"]["group_only_greetings"] == []
    assert _read(named).card.nickname == "Mar"


def test_without_the_original_the_document_is_written_whole() -> None:
    written = write_card_json(v3(name="Мира"), Card(name="Мира", first_mes="Hello."))
    assert json.loads(written) == v3(name="Мира")
    assert "Мира" in written.decode()
    assert written.startswith(b'{\n    "spec"')


def test_a_changed_book_is_spliced_in_too() -> None:
    text = json.dumps(v2(character_book={"entries": [{"keys": ["a"]}], "mystery": 1}), indent=2)
    found = read_card(text.encode())
    document = json.loads(text)
    document["data"]["character_book"]["entries"][0]["keys"] = ["b"]
    written = write_card_json(document, found.card, text.encode()).decode()
    assert written == text.replace('"a"', '"b"')


def test_half_letters_come_back_where_nothing_touched_them() -> None:
    text = json.dumps(v2(creator="a\ud800"))
    found = read_card(text.encode())
    written = write_card_json(found.document, replace(found.card, name="New"), text.encode())
    assert written.decode() == text.replace("Mara", "New")


def test_an_original_that_is_no_json_is_refused() -> None:
    with pytest.raises(UnreadableFile, match="original"):
        write_card_json(v2(), Card(name="Mara"), b"{")


_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
_LISTS = ("alternate_greetings", "tags")
_FIELDS = st.fixed_dictionaries(
    {"name": _TEXT.filter(str.strip)},
    optional={
        **{
            name: _TEXT
            for name in DATA_FIELDS
            if name not in ("name", "tags", "alternate_greetings")
        },
        "tags": st.lists(_TEXT, max_size=3).map(tuple),
        "alternate_greetings": st.lists(_TEXT, max_size=3).map(tuple),
        "depth_prompt": st.builds(
            DepthPrompt,
            text=_TEXT.filter(str.strip),
            depth=st.integers(0, 10_000),
            role=st.sampled_from(["system", "user", "assistant"]),
        ),
    },
)
_DOCUMENTS = st.sampled_from(
    [
        {"name": "Mara", "first_mes": "Hi.", "mystery": [1.5]},
        {"char_name": "Mara", "char_persona": "A miller."},
        v2(extensions={"x": None}),
        {**_TWINS, **v3(tags="a,b", creator=5)},
    ]
)


@given(_DOCUMENTS, _FIELDS, st.sampled_from([None, 2]))
def test_any_change_is_read_back(
    document: dict[str, Any], fields: dict[str, Any], indent: int | None
) -> None:
    original = json.dumps(document, indent=indent).encode()
    found = read_card(original)
    card = replace(found.card, **fields)
    written = read_card(write_card_json(found.document, card, original))
    assert written.card == card
    assert written.document == changed_document(found.document, card)
    kept = [key for key in document if key in written.document]
    assert kept == list(document)
    assert set(found.unknown) <= set(written.unknown)
