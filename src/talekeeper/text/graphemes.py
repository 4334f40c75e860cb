"""Text as readers see it: letters with their marks, emoji with what modifies them.

A small approximation of Unicode's grapheme clusters, enough to turn a text around, or to cut it,
without tearing accents and emoji apart. It does not know Hangul jamo, Indic conjuncts or the flags
of regions within a country.
"""

import unicodedata

__all__ = ["boundary_before", "reversed_text"]

_JOINER = "\u200d"
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_FLAG_LETTERS = range(0x1F1E6, 0x1F200)


def reversed_text(text: str) -> str:
    """The text from its end to its start, what is seen as one character left in order."""
    if text.isascii():
        return text[::-1]
    starts: list[int] = []
    for position, character in enumerate(text):
        if not starts or not _continues(text[max(starts[-1], position - 2) : position], character):
            starts.append(position)
    ends = [*starts[1:], len(text)]
    return "".join(text[a:b] for a, b in zip(reversed(starts), reversed(ends), strict=True))


def boundary_before(text: str, position: int) -> int:
    """The last place at or before ``position`` where a text may be cut.

    0 where there is none; looks back 64 characters at most, and then tears a cluster that long.
    """
    if not 0 < position < len(text):
        return max(0, min(position, len(text)))
    window = max(0, position - 64)
    boundary = start = window
    for at in range(window, position + 1):
        if at == window or not _continues(text[max(start, at - 2) : at], text[at]):
            boundary = start = at
    return boundary if boundary > window or window == 0 else position


def _continues(before: str, character: str) -> bool:
    """Whether the character belongs to the cluster that ends with ``before``, at most two long."""
    if character < "\u0300":
        return before[-1] == _JOINER
    code = ord(character)
    if code in _FLAG_LETTERS:
        return len(before) == 1 and ord(before) in _FLAG_LETTERS
    return (
        before[-1] == _JOINER
        or character == _JOINER
        or code in _SKIN_TONES
        or unicodedata.category(character)[0] == "M"
    )
