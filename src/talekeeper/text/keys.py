"""Finding keywords in texts: many at once, in any script, with one pass over each text.

A key is looked for in the folded text (:func:`folded`), so that case, Unicode form, curly quotes
and the dots of a Turkish i make no difference. Where a script has word borders a key can ask for
them. A key written ``/pattern/flags`` is a regular expression; its search is bounded in time. It
does not know what a key is for.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import regex
from ahocorasick_rs import AhoCorasick

from talekeeper.domain.limits import LIMITS

__all__ = ["Key", "KeyIndex", "Occurrence", "folded", "is_pattern"]

_PLAIN = str.maketrans(
    {
        "\ufe0f": None,
        "\u2018": "'",
        "\u2019": "'",
        "\u02bc": "'",
        "\u201c": '"',
        "\u201d": '"',
        "\u0131": "i",
    }
)
_DOTTED_I = "i\u0307"


def folded(text: str) -> str:
    """The form in which keys and texts are compared: NFC without case, emoji without their
    variation selector, straight quotes, every i with one dot."""
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFC", text).casefold().translate(_PLAIN)
    return unicodedata.normalize("NFC", text.replace(_DOTTED_I, "i"))


class Key(NamedTuple):
    """A keyword. ``word`` asks for word borders, ``case`` for its very letters; ``pattern`` takes
    all of it as a regular expression."""

    text: str
    word: bool = False
    case: bool = False
    pattern: bool = False


class Occurrence(NamedTuple):
    """Where a key occurs in a folded text; ``inside`` another word."""

    key: int
    start: int
    end: int
    inside: bool


def is_pattern(key: str) -> bool:
    """Whether a key is written as ``/pattern/flags``."""
    return _slashed(key) is not None


class KeyIndex:
    """Some keys, ready to be found; they are told apart by their place in ``keys``.

    ``invalid`` are the patterns that cannot be read: they never match.
    """

    def __init__(self, keys: Sequence[Key]) -> None:
        self.keys = keys
        self.invalid: dict[int, str] = {}
        self._patterns: dict[int, regex.Pattern[str]] = {}
        places: dict[str, list[int]] = {}
        for number, key in enumerate(keys):
            if key.pattern or is_pattern(key.text):
                self._add_pattern(number, key)
            elif plain := " ".join(folded(key.text).split()):
                places.setdefault(plain, []).append(number)
        self._numbers = list(places.values())
        self._lengths = [len(plain) for plain in places]
        self._automaton = AhoCorasick(list(places)) if places else None

    def _add_pattern(self, number: int, key: Key) -> None:
        body, flags = _slashed(key.text) or (key.text, "" if key.case else "i")
        try:
            self._patterns[number] = regex.compile(body, _flags(flags))
        except (regex.error, RecursionError, OverflowError) as error:
            self.invalid[number] = str(error)

    def find(self, text: str, slow: set[int] | None = None) -> set[int]:
        """The places of the keys that occur in a text. Patterns that took too long go to ``slow``;
        they count as not there."""
        found: set[int] = set()
        plain = unicodedata.normalize("NFC", text)
        if self._automaton is not None:
            low = folded(text)
            for place, start, end in self._automaton.find_matches_as_indexes(low, overlapping=True):
                for number in self._numbers[place]:
                    if number not in found and self._holds(number, low, start, end, plain):
                        found.add(number)
        for number, pattern in self._patterns.items():
            if slow is not None and number in slow:
                continue
            try:
                if pattern.search(plain, timeout=LIMITS.pattern_milliseconds / 1000):
                    found.add(number)
            except TimeoutError:
                if slow is not None:
                    slow.add(number)
        return found

    def _holds(self, number: int, low: str, start: int, end: int, plain: str) -> bool:
        key = self.keys[number]
        if key.word and _inside(low, start, end):
            return False
        return not key.case or unicodedata.normalize("NFC", key.text) in plain

    def occurrences(self, text: str) -> Iterator[Occurrence]:
        """Every place at which a key that is no pattern occurs in a text."""
        if self._automaton is None:
            return
        low = folded(text)
        for place, start, end in self._automaton.find_matches_as_indexes(low, overlapping=True):
            inside = _inside(low, start, end)
            for number in self._numbers[place]:
                yield Occurrence(number, start, end, inside)


_FLAGS = {"i": regex.IGNORECASE, "m": regex.MULTILINE, "s": regex.DOTALL}


def _slashed(key: str) -> tuple[str, str] | None:
    """The body and the flags of a key that is written as a pattern."""
    if not key.startswith("/") or key.rfind("/") == 0:
        return None
    body, _, flags = key[1:].rpartition("/")
    if not body or not set(flags) <= set("gimsuy"):
        return None
    return body.replace("\\/", "/"), flags


def _flags(letters: str) -> int:
    found = regex.VERSION0
    for letter in letters:
        found |= _FLAGS.get(letter, 0)
    return int(found)


# Scripts that set no borders between words, or hang endings on them without one.
_UNBORDERED = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Hangul}ー々]"
)


def _inside(low: str, start: int, end: int) -> bool:
    """Whether what stands at this place goes on as a word before or after it."""
    if start and _borders(low[start]) and _borders(low[start - 1]):
        return True
    return end < len(low) and _borders(low[end - 1]) and _borders(low[end], after=True)


def _borders(letter: str, *, after: bool = False) -> bool:
    """Whether a character is part of a word that has borders; a mark is, after its letter."""
    if letter.isascii():
        return letter.isalnum() or letter == "_"
    if after and unicodedata.category(letter).startswith("M"):
        return not _UNBORDERED.match(letter)
    if not letter.isalnum() and not unicodedata.category(letter).startswith("M"):
        return False
    return not _UNBORDERED.match(letter)
