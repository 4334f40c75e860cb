"""JSON as foreign programs write it: read within limits, written the way they write it.

Does not know what the document means: neither cards nor chats.
"""

import json
import math
import re
from typing import Any

from talekeeper.domain.errors import UnreadableFile
from talekeeper.domain.limits import LIMITS

__all__ = [
    "BOM",
    "DECODER",
    "UNSTORABLE",
    "clean_text",
    "decode_utf8",
    "dump",
    "encode",
    "load_object",
]

BOM = b"\xef\xbb\xbf"

# A value takes up to a hundred times its text in memory, so the size of the text alone does
# not bound a document made of commas. Real cards and lines hold some thousand values.
_MOST_VALUES = 500_000

# An integer with more digits than this is no number anyone counts with; Python would refuse
# to convert one of some thousand digits.
_INTEGER_DIGITS = 40

UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
"""What a database cannot keep in a text: NUL, and halves of letters (lone surrogates)."""
UNSTORABLE_ESCAPE = re.compile(rb"\\u(?:[dD][89a-fA-F]|0000)")


def _integer(literal: str) -> int | float | None:
    return int(literal) if len(literal) <= _INTEGER_DIGITS else _real(literal)


def _real(literal: str) -> float | None:
    number = float(literal)
    return number if math.isfinite(number) else None


def _no_number(_literal: str) -> None:
    return None


DECODER = json.JSONDecoder(parse_int=_integer, parse_float=_real, parse_constant=_no_number)
"""Reads what Python's own reader reads; NaN and numbers without end become null."""


def decode_utf8(data: bytes, *, what: str, offset: int = 0) -> str:
    """The text of ``data``, without a byte order mark.

    UnreadableFile names the first wrong byte, counted from the start of the file that holds
    ``data`` at ``offset``.
    """
    try:
        return data.removeprefix(BOM).decode("utf-8")
    except UnicodeDecodeError as error:
        shift = len(BOM) if data.startswith(BOM) else 0
        raise UnreadableFile(
            f"{what} is not UTF-8 text at byte {offset + shift + error.start}: "
            "save the file as UTF-8."
        ) from None


def load_object(
    data: bytes, *, what: str, offset: int = 0, most_values: int = _MOST_VALUES
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The JSON object in ``data``, and the paths of texts that no store can keep as they are.

    In those texts NUL and lone surrogates (half of a letter, written as an escape) are
    replaced by U+FFFD. UnreadableFile, in a sentence that begins with ``what``: no UTF-8, no
    JSON, no object, nested deeper than the limit, or more than ``most_values``.
    """
    text = decode_utf8(data, what=what, offset=offset)
    brackets = text.count("{") + text.count("[")
    if brackets + text.count(",") > most_values:
        raise UnreadableFile(f"{what} holds more than {most_values:,} values: split it.")
    try:
        value = DECODER.decode(text)
    except json.JSONDecodeError as error:
        reason = error.msg.removesuffix(" at").removesuffix(" starting")
        raise UnreadableFile(
            f"{what} is not JSON at character {error.pos + 1} ({reason}): "
            "repair it or save it anew."
        ) from None
    except RecursionError:
        raise UnreadableFile(_too_deep(what)) from None
    if not isinstance(value, dict):
        raise UnreadableFile(f"{what} is JSON, but not an object: save it anew.")
    if brackets > LIMITS.json_depth and _deeper_than(value, LIMITS.json_depth):
        raise UnreadableFile(_too_deep(what))
    if b"\\u" not in data or not UNSTORABLE_ESCAPE.search(data):
        return value, ()
    changed: list[str] = []
    cleaned: dict[str, Any] = _cleaned(value, "", changed)
    return cleaned, tuple(changed)


def _too_deep(what: str) -> str:
    return f"{what} is nested deeper than {LIMITS.json_depth} levels: flatten it."


def _deeper_than(value: object, limit: int) -> bool:
    """Whether lists and objects are nested deeper than ``limit``, level by level."""
    level: list[Any] = [value]
    for _ in range(limit):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return False
    return True


def clean_text(text: str) -> str:
    """The text with NUL and lone surrogates replaced by U+FFFD."""
    return UNSTORABLE.sub("\ufffd", text)


def _cleaned(value: Any, path: str, changed: list[str]) -> Any:
    if isinstance(value, str):
        text = clean_text(value)
        if text != value:
            changed.append(path)
        return text
    if isinstance(value, list):
        return [_cleaned(item, f"{path}[{at}]", changed) for at, item in enumerate(value)]
    if isinstance(value, dict):
        dot = "." if path else ""
        return {
            clean_text(key): _cleaned(item, f"{path}{dot}{clean_text(key)}", changed)
            for key, item in value.items()
        }
    return value


def dump(value: Any, *, compact: bool = True, indent: int | None = None) -> str:
    """JSON text; ``compact`` as JavaScript writes it, without a blank between the parts."""
    separators = (",", ":") if compact and indent is None else None
    return json.dumps(value, ensure_ascii=False, separators=separators, indent=indent)


def encode(text: str) -> bytes:
    """UTF-8. A lone surrogate, which UTF-8 cannot hold, becomes the JSON escape it came from."""
    return text.encode("utf-8", "backslashreplace")
