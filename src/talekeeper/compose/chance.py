"""Which of several entries fires, where only one may or where chance decides."""

from collections.abc import Sequence
from hashlib import blake2b

from talekeeper.compose.scene import Fired, Scene

__all__ = ["drawn", "one_of_each_group"]


def one_of_each_group(
    found: Sequence[Fired], closed: set[str], scene: Scene
) -> tuple[list[Fired], set[int]]:
    """Of the entries of a group only one: one that still lasts; those that score best where they
    are scored; one that goes before others by its order; else one that is drawn by weight.

    All are of one book; ``closed`` are the groups of which one fired already. Answers those that
    are left, and which are not.
    """
    groups: dict[str, list[Fired]] = {}
    for one in found:
        for name in one.entry.groups:
            groups.setdefault(name, []).append(one)
    gone: set[int] = set()
    for name, members in groups.items():
        members = [one for one in members if one.entry.id not in gone]
        if not members:
            continue
        winner = None if name in closed else _winner(members, scene)
        closed.add(name)
        gone.update(one.entry.id for one in members if one is not winner)
    return [one for one in found if one.entry.id not in gone], gone


def _winner(members: Sequence[Fired], scene: Scene) -> Fired:
    lasting = [one for one in members if one.why == "sticky"]
    if lasting:
        return lasting[0]
    if any(one.entry.group_scoring for one in members):
        best = max(len(one.keys) for one in members)
        members = [one for one in members if not one.entry.group_scoring or len(one.keys) == best]
    before_others = [one for one in members if one.entry.group_override]
    if before_others:
        return max(before_others, key=lambda one: (one.entry.order, -one.entry.id))
    total = sum(one.entry.group_weight for one in members)
    left = drawn(scene.seed, members[0].book, f"group {members[0].entry.groups}") * total
    for one in members:
        left -= one.entry.group_weight
        if left < 0:
            return one
    return members[-1]


def drawn(seed: str, book: str, what: int | str) -> float:
    """A number from 0 up to, not including, 1: the same for the same."""
    value = blake2b(f"{seed}/{book}/{what}".encode(), digest_size=8).digest()
    return int.from_bytes(value) / 2**64
