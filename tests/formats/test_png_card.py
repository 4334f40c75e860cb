"""Cards in pictures: chunks read and replaced."""

import base64
import zlib
from typing import Any

import pytest

from talekeeper.domain.errors import UnreadableFile
from talekeeper.formats.card import read_card
from talekeeper.formats.json_text import DECODER
from talekeeper.formats.png_card import card_chunks, card_json, replace_png_card
from tests.formats.builders import (
    Chunk,
    card_chunk,
    chunks_of,
    dumps,
    picture,
    text_chunk,
    v2,
    v3,
)

_FOREIGN: tuple[Chunk, ...] = (
    (b"pHYs", b"\0" * 9),
    text_chunk("Title", b"A picture"),
    (b"zTXt", b"Description\0\0" + zlib.compress(b"words")),
)


def _value(document: Any) -> bytes:
    return base64.b64encode(dumps(document))


@pytest.mark.parametrize("keyword", ["chara", "Chara", "CHARA", "ccv3", "CCV3"])
def test_the_keyword_is_compared_without_case(keyword: str) -> None:
    assert read_card(picture(card_chunk(keyword, v2()))).card.name == "Mara"


def test_a_card_behind_other_text_and_behind_the_picture() -> None:
    assert read_card(picture(*_FOREIGN, card_chunk("chara", v2()))).card.name == "Mara"
    assert read_card(picture(*_FOREIGN, after=(card_chunk("chara", v2()),))).card.name == "Mara"


def test_ccv3_counts_before_chara() -> None:
    old, new = card_chunk("chara", v2(name="Old")), card_chunk("ccv3", v3(name="New"))
    for data in (picture(old, new), picture(new, old), picture(old, after=(new,))):
        found = read_card(data)
        assert (found.format, found.card.name) == ("v3", "New")


def test_a_chara_chunk_may_hold_v3() -> None:
    assert read_card(picture(card_chunk("chara", v3()))).format == "v3"


def test_of_two_the_first_counts() -> None:
    data = picture(card_chunk("chara", v2(name="One")), card_chunk("chara", v2(name="Two")))
    assert read_card(data).card.name == "One"


def test_a_damaged_ccv3_gives_way_to_chara() -> None:
    data = picture(text_chunk("ccv3", b"@@@"), card_chunk("chara", v2()))
    found = read_card(data)
    assert found.card.name == "Mara"
    assert [notice.path for notice in found.notices] == ["ccv3"]


@pytest.mark.parametrize(
    "value",
    [
        b"\n".join(_value(v2())[at : at + 76] for at in range(0, len(_value(v2())), 76)),
        b"\r\n " + _value(v2()) + b"\r\n",
        _value(v2(description="ÿþ?>~" * 9)).translate(bytes.maketrans(b"+/", b"-_")),
        _value(v2()).rstrip(b"="),
        base64.b64encode(b"\xef\xbb\xbf" + dumps(v2())),
        dumps(v2()),
    ],
)
def test_every_wrapping_of_the_json(value: bytes) -> None:
    assert read_card(picture(text_chunk("chara", value))).card.name == "Mara"


@pytest.mark.parametrize(
    "chunk",
    [
        (b"zTXt", b"chara\0\0" + zlib.compress(_value(v2()))),
        (b"iTXt", b"chara\0\0\0\0\0" + _value(v2())),
        (b"iTXt", b"chara\0\0\0en\0Figur\0" + dumps(v2())),
        (b"iTXt", b"chara\0\1\0en\0\0" + zlib.compress(_value(v2()))),
    ],
)
def test_other_kinds_of_text_chunks(chunk: Chunk) -> None:
    assert read_card(picture(chunk)).card.name == "Mara"


@pytest.mark.parametrize("value", [b"rcc||rccv1||abc", base64.b64encode(b"rcc||rccv1||abc")])
def test_an_encrypted_card_is_refused(value: bytes) -> None:
    with pytest.raises(UnreadableFile, match="encrypted"):
        card_json(value)


def test_a_picture_without_a_card_is_refused() -> None:
    with pytest.raises(UnreadableFile, match="no character card"):
        card_chunks(picture(*_FOREIGN))


def _cards(data: bytes) -> dict[str, Any]:
    return {
        body.partition(b"\0")[0].decode(): DECODER.decode(
            card_json(body.partition(b"\0")[2]).decode()
        )
        for kind, body in chunks_of(data)
        if kind == b"tEXt" and body[:5] in (b"chara", b"ccv3\0")
    }


def test_foreign_chunks_stay_in_order() -> None:
    asset = text_chunk("chara-ext-asset_:1", b"AAAA")
    before = picture(*_FOREIGN, card_chunk("chara", v2()), asset, after=(card_chunk("ccv3", v3()),))
    document = v2(name="New")
    after = replace_png_card(before, document)
    names = [
        (kind, body.partition(b"\0")[0] if kind == b"tEXt" else b"")
        for kind, body in chunks_of(after)
    ]
    assert names == [
        (b"IHDR", b""),
        (b"pHYs", b""),
        (b"tEXt", b"Title"),
        (b"zTXt", b""),
        (b"tEXt", b"chara"),
        (b"tEXt", b"ccv3"),
        (b"tEXt", b"chara-ext-asset_:1"),
        (b"IDAT", b""),
        (b"IEND", b""),
    ]
    foreign = [chunk for chunk in chunks_of(before) if chunk[1][:5] not in (b"chara", b"ccv3\0")]
    assert [chunk for chunk in chunks_of(after) if chunk in foreign] == foreign


def test_ccv3_is_the_same_with_the_specification_exchanged() -> None:
    document = v2(extensions={"x": 1})
    before = picture(card_chunk("chara", v2()), card_chunk("ccv3", v3()))
    assert _cards(replace_png_card(before, document)) == {
        "chara": document,
        "ccv3": {**document, "spec": "chara_card_v3", "spec_version": "3.0"},
    }


def test_ccv3_is_written_only_where_it_was_or_the_card_is_v3() -> None:
    before = picture(card_chunk("chara", v2()))
    assert _cards(replace_png_card(before, v2(name="New"))) == {"chara": v2(name="New")}
    newer = {**v3(name="New"), "spec_version": "3.1"}
    assert _cards(replace_png_card(before, newer)) == {"chara": v2(name="New"), "ccv3": newer}


def test_a_v1_document_is_written_to_chara_alone() -> None:
    document = {"name": "Mara", "first_mes": "Hi."}
    before = picture(card_chunk("ccv3", v3()), card_chunk("chara", document))
    assert _cards(replace_png_card(before, document)) == {"chara": document}


def test_a_picture_gets_its_first_card_before_its_end() -> None:
    after = replace_png_card(picture(*_FOREIGN), v2())
    assert [kind for kind, _ in chunks_of(after)][-2:] == [b"tEXt", b"IEND"]
    assert read_card(after).document == v2()


def test_what_follows_the_end_of_the_picture_stays() -> None:
    before = picture(card_chunk("chara", v2())) + b"trailing bytes"
    after = replace_png_card(before, v2(name="New"))
    assert after.endswith(b"trailing bytes")
    assert replace_png_card(before, v2()) == before


def test_doubled_cards_become_one() -> None:
    before = picture(card_chunk("chara", v2()), after=(card_chunk("Chara", v2()),))
    assert len(card_chunks(replace_png_card(before, v2()))) == 1
