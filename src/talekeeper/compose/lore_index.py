"""A lorebook made ready to be matched: its keys in one automaton, its decorators read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from hashlib import blake2b
from typing import NamedTuple

from talekeeper.domain.decorators import Conditions, decorated
from talekeeper.domain.lore import Entry, Lorebook
from talekeeper.store.keys import LAST_NUMBER
from talekeeper.text.keys import Key, KeyIndex

__all__ = ["CompiledBook", "Ready"]


class Ready(NamedTuple):
    """An entry as its decorators make it. The numbers are those of its keys in the book's index;
    a key with macros has none, for it is another in each chat."""

    entry: Entry
    conditions: Conditions
    keys: tuple[int, ...]
    secondary: tuple[int, ...]
    additional: tuple[tuple[int, ...], ...]
    excluding: tuple[int, ...]
    with_macros: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class CompiledBook:
    """A book with its entries. ``by_key`` tells for each key which entries it may fire, ``always``
    are those that need no key, ``macros`` those with a key that holds one, ``searching_more`` those
    that search more than the conversation. ``window`` is for how many messages it matters that one
    fired.
    """

    book: Lorebook
    ready: Mapping[int, Ready]
    index: KeyIndex
    by_key: Sequence[Sequence[int]]
    always: Sequence[int]
    macros: Sequence[int]
    searching_more: Sequence[int]
    window: int
    disabled: int
    _digests: dict[int, str] = field(default_factory=dict)

    def digest_of(self, number: int) -> str:
        """A short hash of all that an entry says: one that was edited has no effects of before."""
        found = self._digests.get(number)
        if found is None:
            found = self._digests[number] = _digest(self.ready[number].entry)
        return found

    @property
    def size(self) -> int:
        """How many entries it has."""
        return len(self.ready)

    @cached_property
    def depth(self) -> int:
        """How many messages any of its entries searches."""
        return max((self.depth_of(one.entry) for one in self.ready.values()), default=0)

    def depth_of(self, entry: Entry) -> int:
        """How many messages an entry searches."""
        return self.book.scan_depth if entry.scan_depth is None else entry.scan_depth

    @classmethod
    def of(cls, book: Lorebook, entries: Sequence[Entry]) -> "CompiledBook":
        """Make a book ready. Takes time linear in its keys."""
        keys = _Keys()
        ready = {entry.id: _ready(entry, keys) for entry in entries}
        by_key: list[list[int]] = [[] for _ in keys.all]
        for number, one in ready.items():
            if one.entry.enabled:
                for key in one.keys:
                    by_key[key].append(number)
        on = [(number, one) for number, one in ready.items() if one.entry.enabled]
        return cls(
            book=book,
            ready=ready,
            index=KeyIndex(keys.all),
            by_key=by_key,
            always=[number for number, one in on if _needs_no_key(one)],
            macros=[number for number, one in on if one.with_macros],
            searching_more=[number for number, one in on if one.entry.extras],
            window=max((_window(one) for _, one in on), default=0),
            disabled=len(ready) - len(on),
        )


class _Keys:
    """The keys of a book, each once."""

    def __init__(self) -> None:
        self.all: list[Key] = []
        self._numbers: dict[Key, int] = {}

    def number(self, key: Key) -> int:
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self.all)
            self.all.append(key)
        return found

    def of(self, entry: Entry, texts: Sequence[str]) -> tuple[int, ...]:
        word, pattern = entry.match == "word", entry.match == "regex"
        return tuple(
            self.number(Key(text, word, entry.case_sensitive, pattern))
            for text in texts
            if "{{" not in text and text.strip()
        )


def _ready(entry: Entry, keys: _Keys) -> Ready:
    entry, conditions = decorated(entry)
    return Ready(
        entry,
        conditions,
        keys.of(entry, entry.keys),
        keys.of(entry, entry.secondary),
        tuple(keys.of(entry, some) for some in conditions.additional),
        keys.of(entry, conditions.excluding),
        tuple(text for text in entry.keys if "{{" in text),
    )


def _needs_no_key(one: Ready) -> bool:
    return one.entry.constant or one.conditions.forced is True or _lasting(one)


def _lasting(one: Ready) -> bool:
    """Whether it may fire for having fired before."""
    return one.entry.sticky > 0 or one.conditions.latch is True


def _window(one: Ready) -> int:
    """For how many messages it matters that it fired."""
    if one.conditions.latch is not None:
        return LAST_NUMBER
    return one.entry.sticky + one.entry.cooldown


def _digest(entry: Entry) -> str:
    said = [getattr(entry, item.name) for item in fields(entry) if item.name != "id"]
    return blake2b(repr(said).encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
