"""What gives way when the blocks exceed the budget.

A strategy only names an order; the budget drops in that order until the rest fits, and never
touches a protected group.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from talekeeper.domain.block import Block
from talekeeper.domain.errors import InvalidInput

__all__ = ["STRATEGIES", "Group", "Strategy", "groups_of", "strategy_named"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Blocks that are kept or dropped together. Protected when one of them is."""

    id: str
    blocks: tuple[Block, ...]

    @property
    def tokens(self) -> int:
        """Tokens of all its blocks."""
        return sum(block.tokens for block in self.blocks)

    @property
    def protected(self) -> bool:
        """Whether one of its blocks must be sent."""
        return any(block.protected for block in self.blocks)


class Strategy(Protocol):
    """Decides what gives way first.

    ``digests`` says that what gave way, where no summary tells of it, is condensed into a digest.
    """

    name: str
    digests: bool

    def order(self, groups: Sequence[Group]) -> Iterable[str]:
        """The ids of the given unprotected groups in the order in which they give way.

        ``groups`` stand in prompt order, the oldest first. Ids left out give way last.
        """


class Truncate:
    """The oldest messages give way first, then notes placed at a depth, memories, the summary."""

    name = "truncate"
    digests = False

    def order(self, groups: Sequence[Group]) -> Iterable[str]:
        return [group.id for group in sorted(groups, key=_worth)]


def _worth(group: Group) -> int:
    first = group.blocks[0]
    return {"memory": 2, "summary": 3}.get(first.kind, int(first.depth is not None))


class Summarize(Truncate):
    """As truncate; what gave way and no summary tells of is condensed into a digest."""

    name = "summarize"
    digests = True


class Manual(Truncate):
    """Only what the user excluded stays out; if that is too little, the oldest give way too."""

    name = "manual"


STRATEGIES: Mapping[str, Strategy] = MappingProxyType(
    {strategy.name: strategy for strategy in (Summarize(), Truncate(), Manual())}
)


def strategy_named(name: str) -> Strategy:
    """The strategy of that name. InvalidInput lists those there are."""
    try:
        return STRATEGIES[name]
    except KeyError:
        known = ", ".join(STRATEGIES)
        raise InvalidInput(f"There is no strategy {name!r}; there are {known}.") from None


def groups_of(blocks: Iterable[Block]) -> list[Group]:
    """The groups that blocks form, in the order of their first blocks."""
    found: dict[str, list[Block]] = {}
    for block in blocks:
        found.setdefault(block.group, []).append(block)
    return [Group(id=name, blocks=tuple(members)) for name, members in found.items()]
