"""All that was ever said in a chat, every swipe, ready to be searched for words.

The texts lie folded in one run of bytes: searching it takes milliseconds, where reading them anew
takes a second in a chat of 100,000 messages. What was read last is kept, and follows the chat's
version. It does not know what a prompt is.
"""

import math
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from talekeeper.store import said as rows
from talekeeper.store.keys import ChatKey
from talekeeper.store.shelf import Shelf
from talekeeper.text.keys import folded
from talekeeper.text.terms import language_of, terms_of

__all__ = ["ChatTexts", "Said", "chat_texts"]

_MOST_HITS = 20_000
"""Places at which a word is looked at; one that is more frequent tells nothing."""

_BOUNDARY = b"\n"
_WORD = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789_'") | frozenset(range(0x80, 0x100))


class Said(NamedTuple):
    """A text in which something was found. ``score`` is 1 where all of it occurs word for word,
    less where only words of it do; the rarer these are, the more they count."""

    number: int
    swipe: int
    score: float


class ChatTexts:
    """The texts of one chat."""

    def __init__(self, texts: Sequence[tuple[int, int, str]]) -> None:
        self.language = language_of(" ".join(text for _, _, text in texts[-50:]))
        pieces: list[bytes] = []
        self._places = array("q")
        self._units = [(number, swipe) for number, swipe, _ in texts]
        at = 0
        for _, _, text in texts:
            piece = folded(text).replace("\n", " ").encode("utf-8", "replace")
            self._places.append(at)
            pieces.append(piece)
            at += len(piece) + 1
        self._bytes = _BOUNDARY.join([*pieces, b""])

    @property
    def size(self) -> int:
        """Bytes that it takes."""
        return len(self._bytes) + 120 * len(self._units)

    def phrase(self, phrase: str, *, most: int) -> list[Said]:
        """The newest ``most`` texts that hold the phrase word for word, the newest first."""
        wanted = " ".join(folded(phrase).split()).encode("utf-8", "replace")
        found: dict[int, None] = {}
        end = len(self._bytes)
        while wanted and len(found) < most:
            at = self._bytes.rfind(wanted, 0, end)
            if at < 0:
                break
            index = bisect_right(self._places, at) - 1
            found[index] = None
            end = self._places[index]
        return [Said(*self._units[index], 1.0) for index in found]

    def words(self, phrase: str, *, most: int) -> list[Said]:
        """The ``most`` texts that hold most of the phrase's words, the best first."""
        terms = list(dict.fromkeys(terms_of(folded(phrase), self.language)))
        found: dict[str, set[int]] = {term: set(self._holding(term)) for term in terms}
        worth = {
            term: math.log(1 + len(self._units) / len(texts))
            for term, texts in found.items()
            if texts
        }
        total = sum(worth.values()) + sum(
            math.log(1 + len(self._units)) for term in terms if term not in worth
        )
        scores: dict[int, float] = {}
        for term, value in worth.items():
            for index in found[term]:
                scores[index] = scores.get(index, 0.0) + value
        best = sorted(scores.items(), key=lambda item: (-item[1], -item[0]))[:most]
        return [Said(*self._units[index], score / total) for index, score in best]

    def _holding(self, term: str) -> Iterator[int]:
        """The texts with a word of this stem, by its beginning."""
        wanted = _beginning(term).encode("utf-8", "replace")
        at = -1
        for _ in range(_MOST_HITS):
            at = self._bytes.find(wanted, at + 1)
            if at < 0:
                return
            if term.isascii() and at and self._bytes[at - 1] in _WORD:
                continue
            index = bisect_right(self._places, at) - 1
            yield index
            after = index + 1
            at = self._places[after] - 1 if after < len(self._places) else len(self._bytes)


def _beginning(stem: str) -> str:
    """What all words of a stem begin with: stemming puts an i for a y."""
    return stem[:-1] if len(stem) > 3 and stem.endswith("i") else stem


_chats: Shelf[ChatTexts] = Shelf(256_000_000)
"""By chat; bytes of all chats together."""


def chat_texts(connection: Connection, key: ChatKey, version: int) -> ChatTexts:
    """The texts of a chat, which is at this version; read where they are not at hand."""
    found = _chats.get(connection, key, version)
    if found is None:
        found = ChatTexts(rows.said(connection, key))
        _chats.put(connection, key, version, found, weight=found.size)
    return found
