"""Fitting blocks into the budget. The host owns it: no strategy can exceed it."""

from collections.abc import Sequence
from typing import get_args

from talekeeper.compose.strategies import Strategy, groups_of
from talekeeper.domain.block import Block, Layer
from talekeeper.domain.errors import BudgetExceeded
from talekeeper.domain.limits import LIMITS
from talekeeper.domain.settings import Shares

__all__ = ["fit", "over_share"]


def over_share(blocks: Sequence[Block], budget: int, shares: Shares) -> frozenset[str]:
    """The ids of the groups that their layers' shares of ``budget`` have no room for.

    A layer keeps its blocks of lower rank first; one that is too large does not stop smaller ones
    after it. What a layer leaves of its share is free for the history.
    """
    left = {layer: int(budget * getattr(shares, layer)) for layer in get_args(Layer)}
    over: set[str] = set()
    for block in sorted((b for b in blocks if b.layer), key=lambda b: b.rank):
        assert block.layer is not None
        if block.tokens > left[block.layer]:
            over.add(block.group)
        else:
            left[block.layer] -= block.tokens
    return frozenset(over)


def fit(
    blocks: Sequence[Block], budget: int, strategy: Strategy, *, room: int = 0
) -> frozenset[str]:
    """The ids of the groups that give way so that the others fit into ``budget`` tokens.

    With ``room`` that many tokens are left over as well, as far as unprotected groups can give way.

    Raises BudgetExceeded when the protected groups alone do not fit.
    """
    needed = LIMITS.reply_overhead + sum(block.tokens for block in blocks)
    if needed + room <= budget:
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
    named = set(order)
    order += [name for name in free if name not in named]
    dropped: set[str] = set()
    for name in order:
        if needed + room <= budget:
            break
        dropped.add(name)
        needed -= free[name].tokens
    return frozenset(dropped)
