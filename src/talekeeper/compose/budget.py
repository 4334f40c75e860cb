"""Fitting blocks into the budget. The host owns it: no strategy can exceed it."""

from collections.abc import Sequence

from talekeeper.compose.strategies import Strategy, groups_of
from talekeeper.domain.block import Block
from talekeeper.domain.errors import BudgetExceeded
from talekeeper.domain.limits import LIMITS

__all__ = ["fit"]


def fit(blocks: Sequence[Block], budget: int, strategy: Strategy) -> frozenset[str]:
    """The ids of the groups that give way so that the others fit into ``budget`` tokens.

    Raises BudgetExceeded when the protected groups alone do not fit.
    """
    needed = LIMITS.reply_overhead + sum(block.tokens for block in blocks)
    if needed <= budget:
        return frozenset()
    groups = groups_of(blocks)
    protected = [block for group in groups if group.protected for block in group.blocks]
    floor = LIMITS.reply_overhead + sum(block.tokens for block in protected)
    if floor > budget:
        raise BudgetExceeded(
            needed=floor,
            budget=budget,
            blocks=[(f"{block.kind} ({block.source})", block.tokens) for block in protected],
        )
    free = {group.id: group for group in groups if not group.protected}
    order = list(
        dict.fromkeys(name for name in strategy.order(list(free.values())) if name in free)
    )
    order += [name for name in free if name not in order]
    dropped: set[str] = set()
    for name in order:
        if needed <= budget:
            break
        dropped.add(name)
        needed -= free[name].tokens
    return frozenset(dropped)
