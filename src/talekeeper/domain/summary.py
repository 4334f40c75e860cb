"""The conversation summary as a tree: nodes, their places, fingerprints and what is sent of them.

A node of tier 0 (level ``recent``) covers one cell. Four nodes of a tier that stand side by side
have one parent in the tier above: tier 1 is ``merged``, tier 2 and all above it ``long_term``.
Places never move: node ``position`` of tier ``t`` covers the cells 4^t * position and on.
Knows no store and no model.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Literal, NamedTuple

from talekeeper.domain.errors import InvalidInput

__all__ = [
    "FAN",
    "HEADING",
    "LEVELS",
    "SEPARATOR_TOKENS",
    "Level",
    "Place",
    "Source",
    "SourceMessage",
    "Summariser",
    "Summary",
    "frontier",
    "level_of",
    "merge_fingerprint",
    "name_of",
    "place_named",
    "source_of",
]

FAN = 4
"""So many nodes become one of the next tier."""

HEADING = "What happened before, oldest first:"
"""Stands above the nodes in a prompt."""

SEPARATOR_TOKENS = 2
"""What the empty line before a node takes."""

Level = Literal["recent", "merged", "long_term"]
LEVELS: tuple[Level, ...] = ("recent", "merged", "long_term")

Summariser = Literal["local", "model", "person"]
"""Who wrote a node's text."""

_NAME = re.compile(r"(recent|merged|long_term)(?:_(\d{1,2}))?-(\d{1,9})", re.ASCII)


class Place(NamedTuple):
    """Where a node stands: its tier and its position in it."""

    tier: int
    position: int

    @property
    def parent(self) -> "Place":
        """The place one tier up."""
        return Place(self.tier + 1, self.position // FAN)

    @property
    def children(self) -> tuple["Place", ...]:
        """The four places one tier down; none below tier 0."""
        first = FAN * self.position
        return tuple(Place(self.tier - 1, first + at) for at in range(FAN)) if self.tier else ()


def level_of(tier: int) -> Level:
    """The level that a tier belongs to."""
    return LEVELS[min(tier, len(LEVELS) - 1)]


def name_of(place: Place) -> str:
    """``recent-12``, ``merged-3``, ``long_term-0``; roll-ups are ``long_term_2-0`` and so on."""
    rolled = f"_{place.tier - 1}" if place.tier >= len(LEVELS) else ""
    return f"{level_of(place.tier)}{rolled}-{place.position}"


def place_named(name: str) -> Place:
    """The place of that name. InvalidInput for anything that is no name of a node."""
    found = _NAME.fullmatch(name.strip())
    if found is not None:
        level, rolled, position = found.groups()
        tier = LEVELS.index(level) + (int(rolled) - 1 if rolled else 0)
        place = Place(tier, int(position))
        if name_of(place) == found.group():
            return place
    raise InvalidInput(
        f"{name!r} names no summary; names look like recent-12, merged-3 or long_term-0."
    )


class Summary(NamedTuple):
    """One node. ``first`` and ``last`` are the numbers of its oldest and newest message.

    ``messages`` counts the messages it may tell of (those not forgotten), ``shown`` those of them
    that are not excluded. ``made_from`` and ``current`` are fingerprints of its sources, when it
    was made and now. ``edited`` says that a person wrote the text: then it is a source itself.
    ``covered`` says that a valid node stands above it; ``due`` that it was asked to be made anew,
    until when it is sent as it is. ``model`` names the model that wrote it. A tuple, since each
    composition reads a few dozen.
    """

    place: Place
    cell: int
    first: int
    last: int
    messages: int
    shown: int
    text: str
    tokens: int
    tokenizer: str
    made_from: bytes
    current: bytes
    covered: bool
    summariser: Summariser
    model: str | None
    made_at: datetime
    due: bool = False

    @property
    def name(self) -> str:
        """The node's name within its chat."""
        return name_of(self.place)

    @property
    def level(self) -> Level:
        """``recent``, ``merged`` or ``long_term``."""
        return level_of(self.place.tier)

    @property
    def edited(self) -> bool:
        """Whether a person wrote the text."""
        return self.summariser == "person"

    @property
    def changed(self) -> bool:
        """Whether its sources are no longer what it was made from."""
        return self.made_from != self.current

    @property
    def valid(self) -> bool:
        """Whether it may be sent: its sources are the same, or a person answers for it."""
        return self.edited or not self.changed


class SourceMessage(NamedTuple):
    """What a summary is made of: one message with its active text."""

    number: int
    cell: int
    role: str
    speaker: str
    text: str
    tokens: int
    excluded: bool
    forget: bool
    imported: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """What the messages of a cell amount to, and their fingerprint."""

    first: int
    last: int
    messages: int
    shown: int
    fingerprint: bytes


def source_of(messages: Sequence[SourceMessage]) -> Source | None:
    """The source that a cell's messages are; None for none.

    The fingerprint is of each number, role, speaker and active text. Forgotten messages are not in
    it. Whether a message is excluded makes no difference to it.
    """
    if not messages:
        return None
    mark = blake2b(digest_size=16)
    kept = [message for message in messages if not message.forget]
    for message in kept:
        for part in (str(message.number), message.role, message.speaker, message.text):
            encoded = part.encode()
            mark.update(len(encoded).to_bytes(8, "big"))
            mark.update(encoded)
    return Source(
        first=messages[0].number,
        last=messages[-1].number,
        messages=len(kept),
        shown=sum(not message.excluded for message in kept),
        fingerprint=mark.digest(),
    )


def merge_fingerprint(children: Iterable[Summary]) -> bytes:
    """The fingerprint of what a parent is made of; an edited child counts as its text."""
    mark = blake2b(digest_size=16)
    for child in children:
        own = blake2b(child.text.encode(), digest_size=16).digest() if child.edited else b""
        mark.update(child.place.position.to_bytes(8, "big"))
        mark.update(own or child.current)
        mark.update(b"edited" if own else b"source")
    return mark.digest()


def frontier(nodes: Iterable[Summary], *, window: int, before: int) -> list[Summary]:
    """What is sent of a summary: valid nodes without a sent ancestor, in the order of the chat.

    ``window`` is the number at which the live window starts; ``before`` the number of the message
    that is replaced (any above the last one, where none is). A recent node may overlap the window's
    start, so that there is no gap; another must lie wholly before it, else its children are tried.
    """
    sent: dict[Place, Summary] = {}
    highest = 0
    for node in sorted(nodes, key=lambda node: -node.place.tier):
        overlaps = node.place.tier == 0 and node.first < window and node.last < before
        if not node.valid or not (node.last < min(window, before) or overlaps):
            continue
        if not _told_above(node, sent, highest):
            sent[node.place] = node
            highest = max(highest, node.place.tier)
    return sorted(sent.values(), key=lambda node: node.first)


def _told_above(node: Summary, sent: Mapping[Place, Summary], highest: int) -> bool:
    """Whether a sent node tells of it: one above it that reaches as far.

    A roll-up of fewer than four ends before what stands beside its children.
    """
    above = node.place
    while above.tier < highest:
        above = above.parent
        found = sent.get(above)
        if found is not None and node.last <= found.last:
            return True
    return False
