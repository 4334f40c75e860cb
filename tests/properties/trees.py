"""What the tree of a chat's summary must be, worked out anew from the messages."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from talekeeper import GenerationSettings
from talekeeper.domain.summary import (
    Place,
    SourceMessage,
    Summary,
    merge_fingerprint,
    source_of,
)
from tests.properties.reference import Said, Told, live_cap

__all__ = ["check_settled", "check_tree"]

TIERS = 12


def check_tree(told: Told, nodes: Sequence[Summary]) -> None:
    """Each node knows its sources as they are now, and whether a valid one stands above it."""
    places = {node.place: node for node in nodes}
    assert len(places) == len(nodes)
    for node in nodes:
        if node.place.tier:
            _check_parent(node, places)
        else:
            _check_recent(node, [m for m in told.messages if m.cell == node.cell])
        above, covered = node.place, False
        for _ in range(TIERS):
            above = above.parent
            there = places.get(above)
            tells = there is not None and _valid(there) and there.last >= node.last
            covered = covered or tells
        assert node.covered == covered, f"{node.name}: covered is {node.covered}"
    for node, following in pairwise(nodes):
        if node.place.tier == following.place.tier:
            assert node.last < following.first, f"{node.name} and {following.name} overlap"


def _valid(node: Summary) -> bool:
    return node.summariser == "person" or node.made_from == node.current


def _check_recent(node: Summary, messages: Sequence[Said]) -> None:
    assert messages, f"{node.name} tells of nothing"
    kept = [m for m in messages if not m.forget]
    assert (node.first, node.last) == (messages[0].number, messages[-1].number)
    assert node.messages == len(kept)
    assert node.shown == sum(not m.excluded for m in kept)
    source = source_of([_source(m) for m in messages])
    assert source is not None
    assert node.current == source.fingerprint, f"{node.name} does not know what changed"
    if node.summariser != "person" and _valid(node):
        words = frozenset[str]().union(*(m.words for m in kept if m.role != "tool"))
        assert frozenset(node.text.split()) == words


def _source(said: Said) -> SourceMessage:
    return SourceMessage(
        number=said.number,
        cell=said.cell,
        role=said.role,
        speaker=said.speaker,
        text=said.text,
        tokens=said.tokens[said.active],
        excluded=said.excluded,
        forget=said.forget,
        imported=said.line is not None,
    )


def _check_parent(node: Summary, places: Mapping[Place, Summary]) -> None:
    children = [places[child] for child in node.place.children if child in places]
    assert children, f"{node.name} stands on nothing"
    assert (node.first, node.last) == (children[0].first, children[-1].last)
    assert node.messages == sum(child.messages for child in children)
    assert node.shown == sum(child.shown for child in children)
    assert node.current == merge_fingerprint(children), f"{node.name} does not know what changed"


def check_settled(told: Told, settings: GenerationSettings, nodes: Sequence[Summary]) -> None:
    """Nothing is missing, nothing that could be made anew is stale, nothing is told twice."""
    window = _window(told, settings)
    cells = sorted({m.cell for m in told.messages})[:-1]
    begins = {cell: min(m.number for m in told.messages if m.cell == cell) for cell in cells}
    gone = [cell for cell in cells if begins[cell] < window]
    oldest = {m.cell for m in told.messages if m.number == window and m.cell in cells}
    recent = {node.cell: node for node in nodes if node.place.tier == 0}
    missing = [cell for cell in (*gone, *oldest) if cell not in recent]
    assert not missing, f"cells {missing} are in no summary; the window starts at {window}"
    stale = [n.name for n in recent.values() if n.cell in cells and not _valid(n)]
    assert not stale, f"{stale} are stale"
    _check_merges(nodes, window)


def _check_merges(nodes: Sequence[Summary], window: int) -> None:
    """Four that stand side by side and have left the window have a parent that tells of them."""
    places = {node.place: node for node in nodes}
    below = set(places)
    last = max((place.position for place in places if place.tier == 0), default=-1)
    for tier, size in ((1, 4), (2, 16)):
        for position in range((last + 1) // size):
            place = Place(tier, position)
            children = [places[child] for child in place.children if child in places]
            if not children or children[-1].last >= window:
                continue
            if any(not _valid(child) for child in children):
                continue
            if any(child not in places and below & set(child.children) for child in place.children):
                continue
            assert place in places, f"{place} is missing"
            assert _valid(places[place]), f"{places[place].name} is stale"


def _window(told: Told, settings: GenerationSettings) -> int:
    """The number at which the live window starts, whoever speaks."""
    lines = told.live()
    most, cap = (50, live_cap(settings)) if settings.live_cap else (10**9, settings.budget)
    sizes = [m.tokens[m.active] for m in lines]
    if not lines:
        return told.next_number

    def holds(at: int) -> bool:
        return len(lines) - at <= most and sum(sizes[at:]) <= cap

    cells = [at for at, m in enumerate(lines) if at == 0 or m.cell != lines[at - 1].cell]
    turns = [at for at, m in enumerate(lines) if at == 0 or m.turn != lines[at - 1].turn]
    return lines[next((at for at in (*cells, *turns) if holds(at)), turns[-1])].number
