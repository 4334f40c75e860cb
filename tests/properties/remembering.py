"""What saved memories should be: a list of events for each, and a function that folds them.

Written from the rules alone; it knows nothing of how the project keeps them.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["Book", "Event", "Kept", "Said", "Talk", "Unit", "Value"]

CAP, PINNED_CAP, SENT, WRITES = 100, 20, 100, 5


class Unit(NamedTuple):
    """A swipe of a message."""

    chat: str
    number: int
    swipe: int


class Value(NamedTuple):
    """What a memory says, in which scope (None: the global one), and whether it is pinned."""

    text: str
    scope: str | None
    pinned: bool = False


@dataclass(frozen=True)
class Event:
    """A change: by a person unless it has a unit. ``after`` is None where the memory went."""

    step: int
    kind: str
    after: Value | None
    unit: Unit | None = None


@dataclass
class Said:
    """A message, as far as memories are concerned."""

    number: int
    turn: int
    speaker: str | None
    active: int = 0
    swipes: int = 1


@dataclass
class Talk:
    """A chat. ``members`` are names."""

    id: str
    members: tuple[str, ...]
    messages: dict[int, Said] = field(default_factory=dict)


class Kept(NamedTuple):
    """A memory that is there; ``since`` is the step from which on it says this."""

    id: int
    value: Value
    since: int


Without = Callable[[Event], bool]


def _nothing(_event: Event) -> bool:
    return False


class Book:
    """All memories of an account, with the chats and characters that matter to them."""

    def __init__(self) -> None:
        self.step = 0
        self.events: dict[int, list[Event]] = {}
        self.shown: dict[int, Value] = {}
        self.talks: list[Talk] = []
        self.lost: set[Unit] = set()
        """Units of deleted chats that were shown to the last: what they wrote stays."""
        self.characters: dict[str, str] = {}
        """Ids by name of those that are there."""
        self.learning: dict[str, bool] = {}

    # Folding

    def is_shown(self, unit: Unit) -> bool:
        """Whether a swipe is the one that is shown."""
        if unit in self.lost:
            return True
        for talk in self.talks:
            if talk.id == unit.chat and unit.number in talk.messages:
                return talk.messages[unit.number].active == unit.swipe
        return False

    def folded(
        self, memory: int, without: Without = _nothing
    ) -> tuple[Value | None, Value | None, Event | None, int]:
        """(value, what it said last, the last event that counts, the step of its text)."""
        value: Value | None = None
        said: Value | None = None
        last: Event | None = None
        since = 0
        for event in self.events[memory]:
            if without(event):
                continue
            after = event.after
            if event.unit is not None:
                if not self.is_shown(event.unit):
                    continue
                if event.kind == "add" and value is not None:
                    continue
                if event.kind != "add" and (value is None or value.pinned):
                    continue
                if value is not None and after is not None:
                    after = value._replace(text=after.text)
            if after is not None and (said is None or said.text != after.text):
                since = event.step
            value, said, last = after, after or said, event
        return self.living(value), self.living(said), last, since

    def living(self, value: Value | None) -> Value | None:
        """A value in a scope that is there: what was a deleted character's is global."""
        if value is None or value.scope in (None, *self.characters.values()):
            return value
        return value._replace(scope=None)

    def there(self, without: Without = _nothing) -> dict[int, Kept]:
        """All memories that are there."""
        found = {}
        for memory in self.events:
            value, _, _, since = self.folded(memory, without)
            if value is not None:
                found[memory] = Kept(memory, value, since)
        return found

    def before(self, chat: str, number: int) -> dict[int, Kept]:
        """All memories as if nothing had been said in a chat from a message on."""
        return self.there(
            lambda event: (
                event.unit is not None and event.unit.chat == chat and event.unit.number >= number
            )
        )

    def trash(self) -> set[int]:
        """What was deleted and can be restored."""
        folded = {memory: self.folded(memory) for memory in self.events}
        return {memory for memory, (value, _, last, _) in folded.items() if not value and last}

    def listed(self, scope: str | None) -> list[tuple[int, Value]]:
        """A scope as it is listed: pinned ones first, then the newest."""
        found = [kept for kept in self.there().values() if kept.value.scope == scope]
        found.sort(key=lambda kept: (kept.value.pinned, kept.since, kept.id), reverse=True)
        return [(kept.id, kept.value) for kept in found]

    def room(self, scope: str | None, *, pinned: bool, there: Collection[Kept]) -> int:
        """How many more a scope takes."""
        count = sum(k.value.scope == scope and k.value.pinned == pinned for k in there)
        return (PINNED_CAP if pinned else CAP) - count

    # Prompts

    def in_prompt(
        self, talk: Talk, speaker: str, there: dict[int, Kept]
    ) -> tuple[list[Kept], list[Kept], int] | None:
        """(pinned, unpinned, how many stay out) in order; None where no memories are read."""
        if not self.learning.get(speaker, True):
            return None
        scopes: list[str | None] = [None]
        for name in talk.members:
            if name in self.characters and self.learning[name]:
                scopes.append(self.characters[name])
        by_scope = {
            scope: sorted(
                (k for k in there.values() if k.value.scope == scope and not k.value.pinned),
                key=lambda kept: (-kept.since, -kept.id),
            )
            for scope in scopes
        }
        chosen: list[Kept] = []
        for turn in range(CAP * 3):
            chosen += [found[turn] for found in by_scope.values() if len(found) > turn]
        pinned = [k for k in there.values() if k.value.scope in scopes and k.value.pinned]
        return _by_age(pinned), _by_age(chosen[:SENT]), max(0, len(chosen) - SENT)

    # Writing

    def add_event(self, memory: int, event: Event) -> None:
        """Something happened to a memory."""
        self.events.setdefault(memory, []).append(event)
        if event.after is not None:
            self.shown.setdefault(memory, event.after)

    def remember_shown(self) -> None:
        """Note what each memory says now, for what is restored when nothing else tells."""
        for memory in self.events:
            value, said, _, _ = self.folded(memory)
            self.shown[memory] = value or said or self.shown[memory]

    def by_person(self, memory: int, kind: str, after: Value | None) -> None:
        """A person changed a memory."""
        self.add_event(memory, Event(self.step, kind, after))

    def undo(self, undone: dict[int, set[int]]) -> set[int]:
        """Let memories be without some events, given by their places; answers those it altered."""
        altered = set()
        for memory, places in undone.items():
            out = {id(self.events[memory][place]) for place in places}

            def without(event: Event, out: Collection[int] = out) -> bool:
                return id(event) in out

            after = self.folded(memory, without)[0]
            if after != self.folded(memory)[0]:
                self.by_person(memory, "undo", after)
                altered.add(memory)
        return altered

    def hanging(self, chat: str, numbers: Collection[int]) -> dict[int, set[int]]:
        """The places of the events that shown swipes of these messages made, by memory."""
        found: dict[int, set[int]] = {}
        for memory, events in self.events.items():
            for place, event in enumerate(events):
                unit = event.unit
                if unit and unit.chat == chat and unit.number in numbers and self.is_shown(unit):
                    found.setdefault(memory, set()).add(place)
        return found


def _by_age(found: Sequence[Kept]) -> list[Kept]:
    return sorted(found, key=lambda kept: (kept.since, kept.id))
