"""Files made to do harm: refused in one plain sentence, quickly, in little memory."""

import base64
import io
import json
import time
import tracemalloc
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talekeeper.domain.errors import UnreadableFile
from talekeeper.domain.limits import LIMITS
from talekeeper.formats.card import read_card
from talekeeper.formats.detect import HEAD_BYTES, sniff
from talekeeper.formats.png_card import replace_png_card
from talekeeper.formats.st_chat import read_st_chat
from tests.formats.builders import card_chunk, chat, dumps, line, picture, text_chunk, v2

_SECONDS = 30.0
"""Of computing time. Each takes well under one on an idle machine; what takes as long as the square
of its input takes minutes. The benchmarks hold the speed itself."""
_MEGABYTE = 1_000_000

_Result = TypeVar("_Result")


def _cheaply(action: Callable[[], _Result], *, megabytes: int) -> _Result:
    """What the action gives. Fails where it takes long, or much memory beside its input."""
    start = time.thread_time()
    action()
    assert time.thread_time() - start < _SECONDS
    tracemalloc.start()
    try:
        result = action()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < megabytes * _MEGABYTE
    return result


def _refusal(action: Callable[[], object]) -> str:
    with pytest.raises(UnreadableFile) as caught:
        action()
    return str(caught.value)


def _huge_length() -> bytes:
    start = picture()[:33]
    return start + (2**31 - 1).to_bytes(4, "big") + b"tEXtchara\0"


def _wrong_sum(target: bytes) -> bytes:
    data = bytearray(picture(card_chunk("chara", v2())))
    data[data.index(target) + 6] ^= 1
    return bytes(data)


def _many_chunks() -> bytes:
    return picture(*[(b"teXt", b"")] * 100_000)


def _bomb() -> bytes:
    packer = zlib.compressobj(9)
    body = b"".join(packer.compress(b"A" * _MEGABYTE) for _ in range(200)) + packer.flush()
    return picture((b"zTXt", b"chara\0\0" + body))


_NEXT_CHUNK_OVER_2_31 = picture()[:33] + b"\xff\xff\xff\xfftEXt"

_PICTURES: dict[str, Callable[[], bytes]] = {
    "cut off in a chunk": lambda: picture(card_chunk("chara", v2()))[:60],
    "cut off in a length": lambda: picture(card_chunk("chara", v2()))[:35],
    "cut off before the end": lambda: picture(card_chunk("chara", v2()))[:-12],
    "signature alone": lambda: picture()[:8],
    "signature cut off": lambda: picture()[:5],
    "wrong sum of the card": lambda: _wrong_sum(b"tEXt"),
    "wrong sum of the picture": lambda: _wrong_sum(b"IDAT"),
    "huge declared length": _huge_length,
    "length over the format's own": lambda: _NEXT_CHUNK_OVER_2_31,
    "wrong chunk name": lambda: picture()[:33] + b"\0\0\0\0\xff\xff\0\0" + b"\0" * 8,
    "a hundred thousand chunks": _many_chunks,
    "zTXt bomb": _bomb,
    "zTXt cut off": lambda: picture((b"zTXt", b"chara\0\0" + zlib.compress(dumps(v2()))[:20])),
    "zTXt garbage": lambda: picture((b"zTXt", b"chara\0\0garbage")),
    "iTXt without its parts": lambda: picture((b"iTXt", b"chara\0\1")),
    "keyword alone": lambda: picture((b"tEXt", b"chara")),
    "empty card": lambda: picture(text_chunk("chara", b"")),
    "base64 garbage": lambda: picture(text_chunk("chara", b"!!! not base64 !!!")),
    "base64 of one letter": lambda: picture(text_chunk("chara", b"A")),
    "base64 of noise": lambda: picture(text_chunk("chara", base64.b64encode(bytes(range(256))))),
    "base64 of NUL bytes": lambda: picture(text_chunk("chara", base64.b64encode(b"\0" * 5000))),
    "no card": picture,
}


@pytest.mark.parametrize("name", _PICTURES)
def test_a_hostile_picture(name: str) -> None:
    data = _PICTURES[name]()
    sentence = _cheaply(lambda: _refusal(lambda: read_card(data)), megabytes=70)
    assert sentence.endswith(".")
    assert "\n" not in sentence


@pytest.mark.parametrize(
    "name", ["cut off in a chunk", "a hundred thousand chunks", "huge declared length"]
)
def test_a_hostile_picture_is_not_written_to_either(name: str) -> None:
    data = _PICTURES[name]()
    assert _cheaply(lambda: _refusal(lambda: replace_png_card(data, v2())), megabytes=70)


_DEEP = 200_000

_CARDS: dict[str, Callable[[], bytes]] = {
    "over the limit": lambda: b" " * (LIMITS.card_bytes + 1),
    "deep lists": lambda: b'{"spec":"chara_card_v2","data":' + b"[" * _DEEP,
    "deep objects": lambda: b'{"name":' * _DEEP,
    "deep and closed": lambda: b'{"name":"a","first_mes":' + b"[" * 500 + b"]" * 500 + b"}",
    "a level too deep": lambda: (
        b'{"name":"a","first_mes":' + b"[" * LIMITS.json_depth + b"]" * LIMITS.json_depth + b"}"
    ),
    "millions of lists": lambda: b'{"name":"a","first_mes":[' + b"[]," * 10_000_000 + b"0]}",
    "millions of numbers": lambda: b'{"name":"a","first_mes":[' + b"1," * 15_000_000 + b"0]}",
    "NUL bytes": lambda: b"\0" * 1000,
    "NUL inside": lambda: b'{"name":"a\0b"}',
    "zip-like": lambda: b"PK\3\4" + b"\0" * 1000,
    "cut off": lambda: dumps(v2())[:-5],
    "no UTF-8": lambda: '{"name":"Zoë","first_mes":""}'.encode("latin-1"),
    "a number of many digits as a name": lambda: (
        b'{"name":' + b"9" * 1_000_000 + b',"mes_example":1}'
    ),
}


@pytest.mark.parametrize("name", _CARDS)
def test_a_hostile_json_card(name: str) -> None:
    data = _CARDS[name]()
    sentence = _cheaply(lambda: _refusal(lambda: read_card(data)), megabytes=140)
    assert sentence.endswith(".")


def test_a_card_with_the_most_values_is_read_in_bounded_memory() -> None:
    data = dumps(v2(extensions={"x": [[] for _ in range(240_000)]}))
    assert _cheaply(lambda: read_card(data), megabytes=100).card.name == "Mara"


@pytest.mark.parametrize(
    "raw",
    [
        b"[" * 4_000_000,
        b'{"mes":' * 1_000_000,
        b'{"mes":"a","x":[' + b"[]," * 5_000_000 + b"0]}",
        b'{"mes":"a","send_date":"' + b"2024-" * 1_000_000 + b'"}',
        b'{"mes":"a","n":' + b"9" * 4_000_000 + b"}",
        b"\0" * 4_000_000,
    ],
    ids=["brackets", "objects", "values", "date", "digits", "nul"],
)
def test_a_hostile_line_costs_little(raw: bytes) -> None:
    data = chat(line(), raw, line())
    items = _cheaply(lambda: list(read_st_chat(io.BytesIO(data))), megabytes=100)
    assert len(items) == 4


@pytest.mark.parametrize(
    "data", [b"{" * HEAD_BYTES, b'{"a":' * 50_000, b"\n" * HEAD_BYTES, b'{"\\']
)
def test_a_hostile_head(data: bytes) -> None:
    assert _cheaply(lambda: _refusal(lambda: sniff(data)), megabytes=20)


@given(st.data())
def test_a_damaged_picture_is_read_or_refused(data: st.DataObject) -> None:
    body = bytearray(picture(card_chunk("chara", v2()), card_chunk("ccv3", v2())))
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(body[: data.draw(st.integers(0, len(body)))])
    with suppress(UnreadableFile):
        assert read_card(cut).card.name


_KEYS = (
    *("name", "mes", "swipes", "swipe_id", "swipe_info", "extra", "is_user", "is_system"),
    *("type", "tool_invocations", "media", "image", "message", "send_date", "user_name"),
    *("data", "first_mes", "spec", "extensions", "depth_prompt", "prompt", "role", "depth"),
    *("tags", "character_book", "entries", "chat_metadata", "note_prompt"),
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=6)
    ),
    max_leaves=25,
)


@given(st.dictionaries(st.sampled_from(["name", "mes", "swipes", "extra", "swipe_info"]), _JSON))
def test_any_json_is_a_line_or_skipped(value: dict[str, object]) -> None:
    data = chat(line(), json.dumps(value).encode())
    assert len(list(read_st_chat(io.BytesIO(data)))) == 3


@given(_JSON, _JSON, _JSON)
def test_any_json_is_a_card_or_refused(data: object, first: object, extensions: object) -> None:
    for document in (
        {"spec": "chara_card_v2", "data": data},
        v2(first_mes=first, extensions=extensions, character_book=data, tags=first),
        {"name": "Mara", "first_mes": first, "extensions": extensions, "tags": data},
    ):
        with suppress(UnreadableFile):
            assert read_card(json.dumps(document).encode()).card.name.strip()
