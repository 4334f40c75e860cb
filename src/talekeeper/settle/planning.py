"""What a chat's conversation summary lacks, derived from its state alone.

Nothing here is remembered between two calls: a task is found, made, and written only if the chat
still is as it was found. Killed anywhere and run again, the result is the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from talekeeper.domain.limits import LIMITS
from talekeeper.domain.summary import (
    FAN,
    HEADING,
    SEPARATOR_TOKENS,
    Level,
    Place,
    Source,
    SourceMessage,
    Summary,
    level_of,
    merge_fingerprint,
    source_of,
)
from talekeeper.domain.window import window_start
from talekeeper.store import live as live_rows
from talekeeper.store import settling
from talekeeper.store import summaries as rows
from talekeeper.store import summary_sources as sources
from talekeeper.store.chats import ChatState
from talekeeper.store.keys import LAST_NUMBER, ChatKey
from talekeeper.text.tokens import tokenizer_named

__all__ = ["Piece", "Task", "next_task", "outstanding", "share_of", "window_of"]


_READS_MESSAGES = 2
"""Above this tier the cells' own text never fits: it is not even counted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Piece:
    """Something a summary is made of: what was said, or a summary of it (``speaker`` empty)."""

    speaker: str
    role: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """One node to be made. ``fingerprint`` is that of its sources as they were read.

    ``tokens`` are those of the pieces, ``most`` what the new text may have. ``imported`` tells
    that some of it came from a file.
    """

    place: Place
    cell: int
    source: Source
    pieces: tuple[Piece, ...]
    tokens: int
    most: int
    imported: bool
    catching_up: bool = False

    @property
    def level(self) -> Level:
        """The level of the node."""
        return level_of(self.place.tier)


def share_of(state: ChatState) -> int:
    """Tokens that the summary may take in a prompt of this chat."""
    settings = state.settings
    return int(settings.budget * settings.shares.summary)


def window_of(connection: Connection, state: ChatState) -> int:
    """The number of the message at which the live window starts now."""
    settings = state.settings
    most, cap = LIMITS.live_messages, settings.live_cap_tokens(state.plan)
    lines = live_rows.live(connection, state.key, limit=most + 1)
    if not settings.live_cap:
        most, cap = LAST_NUMBER, settings.budget
        while 0 < len(lines) < state.messages and sum(line.tokens for line in lines) < cap:
            wanted = 2 * len(lines)
            lines = live_rows.live(connection, state.key, limit=wanted)
            if len(lines) < wanted:
                break
    if not lines:
        return LAST_NUMBER
    first = live_rows.first(connection, state.key, excluded=False)
    start = window_start(
        lines,
        [line.tokens for line in lines],
        complete=lines[0].number == first,
        messages=most,
        tokens=cap,
    )
    return lines[start].number


def next_task(connection: Connection, state: ChatState, window: int) -> Task | None:
    """The next node to be made, None when nothing is left to do; the live window starts at
    ``window``.

    First what became stale, then merges whose children are there, then the next cell that has left
    the live window or is the oldest in it, then roll-ups where the whole is over its share.
    """
    finders = (_anew, _merge, _new_cell, _roll_up)
    tasks = (finder(connection, state, window) for finder in finders)
    return next((task for task in tasks if task is not None), None)


def outstanding(connection: Connection, state: ChatState, window: int) -> int:
    """About how many messages wait to be summarised: for a progress bar."""
    last = rows.last_recent(connection, state.key)
    since = last.last if last else 0
    return max(0, min(window, state.next_number) - since - 1)


def _anew(connection: Connection, state: ChatState, window: int) -> Task | None:
    for node in rows.to_do(connection, state.key, limit=64):
        task = _again(connection, state, node, window)
        if task is not None:
            return task
    return None


def _again(connection: Connection, state: ChatState, node: Summary, window: int) -> Task | None:
    if node.place.tier:
        children = _children(connection, state.key, node.place)
        if not all(child.valid for child in children) or node.last >= window:
            return None
        return _of_children(connection, state, node.place, children)
    messages = sources.cell_messages(connection, state.key, node.cell)
    if not messages or not sources.messages_after(
        connection, state.key, messages[-1].number, limit=1
    ):
        return None  # It became the last cell: more may join it.
    return _of_messages(connection, state, node.place, messages)


def _merge(connection: Connection, state: ChatState, window: int) -> Task | None:
    below = rows.count_of(connection, state.key, 0)
    for tier in (1, 2):
        have = rows.count_of(connection, state.key, tier)
        for position in range(have, below // FAN):
            place = Place(tier, position)
            children = _children(connection, state.key, place)
            if not children:
                continue
            if not all(child.valid for child in children) or children[-1].last >= window:
                break
            return _of_children(connection, state, place, children)
        below = have
    return None


def _new_cell(connection: Connection, state: ChatState, window: int) -> Task | None:
    last = rows.last_recent(connection, state.key)
    found: list[SourceMessage] = []
    since = last.last if last else 0
    while True:
        page = sources.messages_after(connection, state.key, since, limit=64)
        found += page
        if not found or found[0].number > window:
            return None
        cell = found[0].cell
        if found[-1].cell != cell:
            break
        if len(page) < 64:
            return None  # It is the last cell: more may join it.
        since = page[-1].number
    messages = [message for message in found if message.cell == cell]
    return _of_messages(connection, state, rows.next_place(connection, state.key), messages)


def _roll_up(connection: Connection, state: ChatState, window: int) -> Task | None:
    """Where what would be sent is over its share: the oldest four of the lowest tier become one.

    Where no four are left that stand together, what was made for a larger share is made anew; then
    fewer become one, of the highest tier first.
    """
    sent = [node for node in rows.uncovered(connection, state.key) if node.last < window]
    heading = tokenizer_named(state.settings.tokenizer).count(HEADING)
    tokens = sum(node.tokens + SEPARATOR_TOKENS for node in sent if node.tokens)
    if heading + tokens <= share_of(state):
        return None
    groups: dict[Place, list[Summary]] = {}
    for node in sent:
        if node.place.tier >= 2:
            groups.setdefault(node.place.parent, []).append(node)
    full = [place for place, nodes in groups.items() if len(nodes) == FAN]
    part = [place for place, nodes in groups.items() if 1 < len(nodes) < FAN]
    return (
        _first_rolled_up(connection, state, {place: groups[place] for place in sorted(full)})
        or _too_long(connection, state, sent, window)
        or _first_rolled_up(
            connection,
            state,
            {place: groups[place] for place in sorted(part, key=_high_and_old, reverse=True)},
        )
    )


def _first_rolled_up(
    connection: Connection, state: ChatState, groups: Mapping[Place, Sequence[Summary]]
) -> Task | None:
    for place, nodes in groups.items():
        # A parent is made of all its children, those too that cannot be sent now.
        children = _children(connection, state.key, place)
        if len(children) == len(nodes) and not rows.at(connection, state.key, [place]):
            return _of_children(connection, state, place, children)
    return None


def _too_long(
    connection: Connection, state: ChatState, sent: Sequence[Summary], window: int
) -> Task | None:
    """The oldest node that is longer than its level's part of the share, which was larger once."""
    for node in sent:
        if not node.edited and node.tokens > _part(state, node.place.tier):
            task = _again(connection, state, node, window)
            if task is not None:
                return task
    return None


def _high_and_old(place: Place) -> tuple[int, int]:
    return place.tier, -place.position


def _children(connection: Connection, key: ChatKey, place: Place) -> list[Summary]:
    found = rows.at(connection, key, place.children)
    return [found[child] for child in place.children if child in found]


def _of_messages(
    connection: Connection, state: ChatState, place: Place, messages: Sequence[SourceMessage]
) -> Task | None:
    source = source_of(messages)
    if source is None:
        return None
    kept = [message for message in messages if not message.forget]
    tokens = sum(message.tokens for message in kept)
    return Task(
        place=place,
        cell=messages[0].cell,
        source=source,
        pieces=tuple(_pieces(kept)),
        tokens=tokens,
        most=_most(state, 0, LIMITS.recent_ratio * tokens),
        imported=any(message.imported for message in kept),
        catching_up=settling.catch_up_of(connection, state.key) == "running",
    )


def _of_children(
    connection: Connection, state: ChatState, place: Place, children: Sequence[Summary]
) -> Task:
    """A merge: from the cells' own text where that fits, else from the children's."""
    source = Source(
        first=children[0].first,
        last=children[-1].last,
        messages=sum(child.messages for child in children),
        shown=sum(child.shown for child in children),
        fingerprint=merge_fingerprint(children),
    )
    said, own_text = 0, place.tier <= _READS_MESSAGES
    if own_text:
        said = sources.text_tokens(connection, state.key, source.first, source.last)
        own_text = said <= LIMITS.summary_input
    pieces: list[Piece] = []
    imported = False
    for child in children:
        found, from_file = _told_by(connection, state.key, child, own_text=own_text)
        pieces += found
        imported = imported or from_file
    tokens = said if own_text else sum(child.tokens for child in children)
    return Task(
        place=place,
        cell=children[0].cell,
        source=source,
        pieces=tuple(pieces),
        tokens=tokens,
        most=_most(state, place.tier, LIMITS.merge_ratio * sum(c.tokens for c in children)),
        imported=imported,
        catching_up=settling.catch_up_of(connection, state.key) == "running",
    )


def _told_by(
    connection: Connection, key: ChatKey, node: Summary, *, own_text: bool
) -> tuple[list[Piece], bool]:
    """What a child contributes, and whether it came from a file; an edited one its own words."""
    if node.edited or not own_text:
        pieces = [Piece(speaker="", role="summary", text=node.text)] if node.text.strip() else []
        return pieces, node.summariser == "local"
    if node.place.tier == 0:
        messages = sources.cell_messages(connection, key, node.cell)
        kept = [message for message in messages if not message.forget]
        return list(_pieces(kept)), any(message.imported for message in kept)
    pieces, imported = [], False
    for child in _children(connection, key, node.place):
        found, from_file = _told_by(connection, key, child, own_text=own_text)
        pieces += found
        imported = imported or from_file
    return pieces, imported


def _pieces(messages: Sequence[SourceMessage]) -> Iterator[Piece]:
    """What was said; results of tools were not."""
    for message in messages:
        if message.role != "tool" and message.text.strip():
            yield Piece(speaker=message.speaker, role=message.role, text=message.text)


def _most(state: ChatState, tier: int, wanted: float) -> int:
    """Tokens a new summary may have: ``wanted``, within the level's part of the share."""
    return max(LIMITS.summary_floor, int(min(wanted, _part(state, tier))))


def _part(state: ChatState, tier: int) -> int:
    """Tokens that a node of a tier may have: its level's part of the share, never too little."""
    parts = (LIMITS.recent_share, LIMITS.merged_share, LIMITS.long_term_share)
    part = parts[min(tier, len(parts) - 1)]
    return max(LIMITS.summary_floor, int(part * share_of(state)))
