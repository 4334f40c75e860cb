"""Sentences of a chat message: what is said, what is done, and nothing longer than a few lines.

Role-play marks what is done with asterisks and what is said with quotation marks; a sentence here
is without those marks at its ends, and otherwise as it stands in the message. It does not know who
speaks, nor what is worth keeping.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import sentencex

from talekeeper.text.graphemes import boundary_before

__all__ = ["Sentence", "sentences_of"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Sentence:
    """A sentence as it stands in the message.

    ``action`` tells that it stood between asterisks; ``asks`` that it ends in a question mark;
    ``cut`` that it was too long and goes on in the next one.
    """

    text: str
    action: bool
    asks: bool
    cut: bool = False


_WIDEST = 300
"""The width at which a sentence is cut; Latin letters are 1 wide, those of East Asia 3."""

_NARROWEST_CUT = 60
"""A cut leaves at least this width before it where there is a choice."""

_BLOCK = 20_000
"""Characters that are split into sentences at a time, to keep hostile lines linear."""

# Not prose: fenced code, and what players say to each other beside the story.
# Each alternative ends where another could begin, which keeps it linear on hostile text.
_ASIDE = re.compile(
    r"```.*?(?:```|\Z)"
    r"|(?<!\()\(\((?!\()[^()]*+\)\)"
    r"|\[\s*+ooc\b[^\[\]]*+\]|\(\s*+ooc\b[^()]*+\)|\{\s*+ooc\b[^{}]*+\}"
    r"|^[ \t]*+ooc[ \t]*+:[^\n]*+",
    re.DOTALL | re.IGNORECASE | re.MULTILINE,
)
_ASIDE_HINT = re.compile(r"```|\(\(|ooc", re.IGNORECASE)

_ACTION = re.compile(r"(?<![*\w])\*{1,3}(?=[^\s*])([^*\n]+)(?<=[^\s*])\*{1,3}(?![*\w])")
_QUOTES = str.maketrans(dict.fromkeys('"“”„«»「」『』', " "))
_SURROGATE = re.compile("[\ud800-\udfff]")
_EDGES = ' \t\r\u3000\u00a0*_"“”„«»「」『』'
_OPENING = "([（【"
_CLOSING = ")]）】"
_ASKS = re.compile(r"[?？؟]['’\s!！~…\"”」』»)）\]]*$")

_CLAUSE = re.compile(r"[;；:：—–](?=\s)|[,،](?=\s)|[，、。！？…]|\.{2,}(?=\s)")
_SPACE = re.compile(r"\s+")


def sentences_of(text: str, language: str) -> list[Sentence]:
    """The sentences of a message in its order; ``language`` is a two-letter code.

    Without fenced code and out-of-character asides. Every sentence is a part of the text,
    character for character, is not empty, and has at least one letter or digit.
    """
    if _ASIDE_HINT.search(text):
        text = _ASIDE.sub("\n", text)
    found: list[Sentence] = []
    for line in text.splitlines():
        for part, action in _voices(line):
            for start in range(0, len(part), _BLOCK):
                for piece in _split(part[start : start + _BLOCK], language):
                    found += _finished(piece, action)
    return found


def _voices(line: str) -> Iterator[tuple[str, bool]]:
    """The line in parts, each all action or all speech."""
    if "*" not in line:
        yield line, False
        return
    end = 0
    for match in _ACTION.finditer(line):
        # An emphasised word within a sentence is not an action.
        if " " not in match[1] and not match[1].endswith((".", "!")) and _inside(line, match):
            continue
        yield line[end : match.start()], False
        yield match[1], True
        end = match.end()
    yield line[end:], False


def _inside(line: str, match: re.Match[str]) -> bool:
    before = line[: match.start()].rstrip()
    return bool(before) and before[-1] not in '.!?…*"”»」'


def _split(part: str, language: str) -> Iterator[str]:
    # Quotation marks out of sight: what is said in one pair of them may be several sentences.
    plain = _SURROGATE.sub("\ufffd", part.translate(_QUOTES))
    at = 0
    for piece in sentencex.segment(language, plain):
        yield part[at : at + len(piece)]
        at += len(piece)


def _finished(piece: str, action: bool) -> Iterator[Sentence]:
    piece = _trimmed(piece)
    parts = list(_narrow(piece)) if len(piece) * 3 > _WIDEST else [piece]
    parts = [part for part in parts if any(map(str.isalnum, part))]
    for at, part in enumerate(parts, 1):
        cut = at < len(parts)
        yield Sentence(text=part, action=action, asks=bool(_ASKS.search(part)), cut=cut)


def _trimmed(piece: str) -> str:
    """Without spaces and marks at the ends; a quotation within keeps both of its marks."""
    bare = piece.strip(_EDGES)
    start = piece.find(bare) if bare else 0
    after = piece[start + len(bare) : start + len(bare) + 1]
    if after in ('"', "”", "»", "」", "』") and after and _opened(bare, after):
        bare += after
    if bare[:1] in tuple(_CLOSING):
        bare = bare[1:].lstrip(_EDGES)
    if bare[-1:] in tuple(_OPENING):
        bare = bare[:-1].rstrip(_EDGES)
    return bare


def _opened(bare: str, closing: str) -> bool:
    if closing == '"':
        return bare.count('"') % 2 == 1
    opening = {"”": "“", "»": "«", "」": "「", "』": "『"}[closing]
    return bare.count(opening) > bare.count(closing)


def _narrow(piece: str) -> Iterator[str]:
    """The piece in parts that are not too wide, cut after a clause if there is one."""
    start = 0
    while start < len(piece):
        end, width = start, 0
        while end < len(piece) and width < _WIDEST:
            width += 3 if piece[end] >= "\u2e80" else 1
            end += 1
        if end < len(piece):
            end = _cut(piece, start, end)
        if part := piece[start:end].strip(_EDGES):
            yield part
        start = end


def _cut(piece: str, start: int, end: int) -> int:
    """Where to cut between ``start`` and ``end``: after a clause, a word or a visible letter."""
    least = start + min(_NARROWEST_CUT, (end - start) // 3)
    for pattern in (_CLAUSE, _SPACE):
        ends = [match.end() for match in pattern.finditer(piece, least, end)]
        if ends:
            return ends[-1]
    # A cluster longer than the whole piece has to be torn.
    safe = boundary_before(piece, end)
    return safe if safe > start else end
