"""A token estimate for any text, by script, without a vocabulary.

The estimate is for a prompt budget, so it errs on the high side. Its weights were fitted against
``o200k_base`` on running text: over a page it is 0 to 30 % above the true count in the larger
languages, and at worst 10 % under it in smaller ones. A vocabulary made for fewer languages (as
``cl100k_base``) takes up to four times as many tokens outside of Latin script; for those, use
their own tokenizer. It does not know which model will read the text.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["estimate_tokens"]

_ENGLISH = (
    "the and to of you that it is in for was with we on have be are my this me not he she but"
)
_FUNCTION_WORDS = frozenset(f"{_ENGLISH} {_ENGLISH.title()}".split())

_ENGLISH_FROM, _ENGLISH_FULL = 0.05, 0.20
"""Share of function words among Latin words: below the first a text is not English, above the
second it is. Running English has 0.25, other languages 0.00 to 0.04, program code 0.05 to 0.15."""


@dataclass(frozen=True, slots=True)
class _Weight:
    """Tokens of one piece: ``base``, and ``slope`` for each character beyond ``free``."""

    base: float
    slope: float = 0.0
    free: int = 0

    def tokens(self, length: int) -> float:
        return self.base + self.slope * max(0, length - self.free)


# Latin letters outside ASCII; a word with one of them is rarely English.
_ACCENTED = "\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af\u1e00-\u1eff"

# Greek, Armenian, Hebrew, Arabic, Georgian.
_OTHER_ALPHABETS = (
    "\u0370-\u03ff\u0531-\u0588\u0591-\u05f4\u0610-\u061a\u0620-\u065f\u066e-\u06d3"
    "\u06d5-\u06ef\u06fa-\u06ff\u10a0-\u10ff\u1f00-\u1fff\u200c"
)

# Punctuation and digits outside ASCII, the invisible characters inside emoji, broken characters.
_MARKS = (
    "\u0080-\u00bf\u00d7\u00f7\u060c\u061b\u061f\u06d4\u0964\u2000-\u203f\u3000-\u3002"
    "\u3008-\u3011\ufe0f\uff00-\uff65\u0660-\u0669\u06f0-\u06f9\u0966-\u096f"
    "\ud800-\udfff\ufffd"
)

# The pieces of a run of non-ASCII characters and ASCII letters, in the order they are tried: what
# each kind matches and weighs. Possessive repeats (`++`) keep matching linear on hostile text.
_KINDS: Mapping[str, tuple[str, _Weight]] = {
    "word": (rf"[A-Za-z]++(?![{_ACCENTED}])", _Weight(1.0, 0.27, 4)),
    "accented": (rf"[A-Za-z{_ACCENTED}]++", _Weight(1.4, 0.52, 4)),
    "cyrillic": ("[\u0400-\u052f\u1c80-\u1c8f\u2de0-\u2dff\ua640-\ua69f]++", _Weight(1.3, 0.27, 3)),
    "alphabet": (rf"[{_OTHER_ALPHABETS}]++", _Weight(1.1, 0.5, 3)),
    "indic": ("[\u0900-\u0963\u0971-\u0dff\u200d]++", _Weight(1.1, 0.34, 2)),
    "thai": ("[\u0e00-\u0e7f]++", _Weight(0.0, 0.5)),
    "southeast": ("[\u1000-\u109f\u1780-\u17ff]++", _Weight(0.0, 0.6)),  # Burmese, Khmer
    "han": ("[\u2e80-\u2fdf\u3005-\u3007\u4e00-\u9fff\uf900-\ufaff]++", _Weight(0.0, 0.88)),
    "kana": ("[\u3040-\u30ff\uff66-\uff9f]++", _Weight(0.0, 0.82)),
    "hangul": ("[\uac00-\ud7a3]++", _Weight(0.07, 0.9)),
    "mark": (rf"[{_MARKS}]++", _Weight(0.0, 1.0)),
    "combining": ("[\u0300-\u036f]++", _Weight(0.0, 1.5)),
    "symbol": ("[\u02b0-\u02ff\u2040-\u2bff\u3012-\u303f\ufe00-\ufe0e]++", _Weight(0.0, 2.0)),
    "emoji": ("[\U0001f000-\U0001faff]++", _Weight(0.0, 2.2)),
    "other": ("[\u0080-\uffff]++", _Weight(0.0, 3.0)),  # UTF-8 bytes, at worst one token each
    "astral": ("[\U00010000-\U0010ffff]++", _Weight(0.0, 4.0)),
}
_RUN = re.compile("[A-Za-z\u0080-\U0010ffff]+")
_HUMP = re.compile("[A-Z]*+[a-z]++|[A-Z]++")
_PIECE = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, (pattern, _) in _KINDS.items()))

# What is between the runs. A space before a word belongs to the word's token; before a digit it
# is a token of its own.
_BETWEEN: Sequence[tuple[re.Pattern[str], _Weight]] = (
    (re.compile(" ?[0-9]++"), _Weight(0.4, 0.5)),
    (re.compile(r"[!-/:-@\[-`{-~]++"), _Weight(0.5, 0.35)),
    (re.compile(r"[\r\n]++"), _Weight(0.6, 0.03)),
    (re.compile(r"[ \t]{2,}+"), _Weight(1.0, 0.02)),
    (re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"), _Weight(1.0)),
)
_WEIGHTS: Mapping[str, _Weight] = {
    "function": _Weight(1.0),
    "capitals": _Weight(1.0, 0.35, 3),
    **{kind: weight for kind, (_, weight) in _KINDS.items()},
}
_ENGLISH_WORD = _Weight(1.0, 0.08, 5)
_LATIN = ("word", "accented", "capitals")
_LONG_WORD = _Weight(0.0, 0.25, 10)
"""On top for Latin words of more than 10 letters: compounds, identifiers, base64."""


def estimate_tokens(text: str) -> int:
    """About how many tokens a text takes; 0 only for an empty text. Linear in its length."""
    total = 0.0
    for pattern, weight in _BETWEEN:
        if pieces := pattern.findall(text):
            total += weight.base * len(pieces) + weight.slope * sum(map(len, pieces))
    shapes = _shapes(text)
    english = _english(shapes)
    for (kind, length), times in shapes.items():
        tokens = _WEIGHTS[kind].tokens(length)
        if kind == "word":
            tokens += english * (_ENGLISH_WORD.tokens(length) - tokens)
        if kind in _LATIN:
            tokens += _LONG_WORD.tokens(length)
        total += tokens * times
    return math.ceil(total) or min(1, len(text))


def _shapes(text: str) -> Mapping[tuple[str, int], int]:
    """How many pieces of each kind and length the runs of the text have."""
    shapes: defaultdict[tuple[str, int], int] = defaultdict(int)
    # Words repeat: each different run is looked at once.
    for run, times in Counter(_RUN.findall(text)).items():
        if run.isascii():
            for kind, length in _latin(run):
                shapes[kind, length] += times
            continue
        for piece in _PIECE.finditer(run):
            kind = piece.lastgroup or "other"
            found = _latin(piece[0]) if kind == "word" else [(kind, piece.end() - piece.start())]
            for shape in found:
                shapes[shape] += times
    return shapes


def _latin(word: str) -> list[tuple[str, int]]:
    """The shapes of a run of ASCII letters: one, or those of the humps of a camel-case word."""
    if word in _FUNCTION_WORDS:
        return [("function", len(word))]
    if len(word) == 1 or word[1:].islower():
        return [("word", len(word))]
    if word.isupper():
        return [("capitals", len(word))]
    return [("word", len(hump)) for hump in _HUMP.findall(word)]


def _english(shapes: Mapping[tuple[str, int], int]) -> float:
    """0 for a text that is not English, 1 for one that is, between for a mixture."""
    functions = words = 0
    for (kind, _), times in shapes.items():
        if kind == "function":
            functions += times
        elif kind in ("word", "accented"):
            words += times
    if not functions:
        return 0.0
    share = functions / (functions + words)
    return min(1.0, max(0.0, (share - _ENGLISH_FROM) / (_ENGLISH_FULL - _ENGLISH_FROM)))
