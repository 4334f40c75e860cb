"""JSON in what a model answered: it may have thought aloud before, and talk around it."""

import json
import re
from collections.abc import Mapping

__all__ = ["list_in"]

_THOUGHT_END = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_THOUGHT = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
_OPENING = re.compile(r"[\[{]")

_MOST_TRIED = 50
"""So many places where JSON may begin are tried."""


def list_in(text: str, key: str) -> list[object] | None:
    """The list that an answer holds as ``{"key": […]}``, or bare; None where there is none.

    Thoughts, code fences and words around it do not matter.
    """
    # Some servers send the thoughts without the tag that opens them: what counts is where they end.
    text = _THOUGHT_END.split(text)[-1]
    if _THOUGHT.match(text):
        return None  # It never came to an end.
    decoder = json.JSONDecoder(strict=False)
    bare: list[object] | None = None
    start = 0
    for _ in range(_MOST_TRIED):
        opening = _OPENING.search(text, start)
        if opening is None:
            break
        try:
            value, start = decoder.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            start = opening.end()
            continue
        found = value.get(key) if isinstance(value, Mapping) else None
        if isinstance(found, list):
            return found
        if isinstance(value, list) and bare is None and all(map(_is_object, value)):
            bare = value
    return bare


def _is_object(value: object) -> bool:
    return isinstance(value, Mapping)
