"""Material and request to context: the whole composition, without any I/O."""

from collections.abc import Iterator, Sequence

from talekeeper.compose.budget import fit, over_share
from talekeeper.compose.head import depth_blocks, head_blocks, tail_blocks
from talekeeper.compose.history import history
from talekeeper.compose.render import arrange, render
from talekeeper.compose.request import Material, Request
from talekeeper.compose.strategies import strategy_named
from talekeeper.compose.voice import Voice
from talekeeper.domain.block import Block, Context, Reason, Receipt, Row
from talekeeper.domain.limits import LIMITS

__all__ = ["compose"]

_MANUAL_FALLBACK = (
    "Strategy 'manual': what was excluded by hand is too little, so the oldest messages gave way "
    "as under 'truncate'."
)


def compose(material: Material, request: Request) -> Context:
    """Compose one prompt. Same material and request, same bytes.

    Raises BudgetExceeded when what must be sent does not fit, InvalidInput for a strategy or a
    tokenizer that does not exist.
    """
    settings = material.settings
    strategy = strategy_named(settings.strategy)
    voice = Voice.of(material, request)
    talk = history(voice, request)
    blocks = [
        *head_blocks(voice),
        *talk.blocks,
        *depth_blocks(voice),
        *tail_blocks(voice, request.mode),
    ]
    budget = settings.budget
    over = over_share(blocks, budget, settings.shares)
    within = [block for block in blocks if block.group not in over]
    dropped = fit(within, budget, strategy)
    sent = arrange([block for block in within if block.group not in dropped])
    gone = [block for block in within if block.group in dropped]
    notes = (_MANUAL_FALLBACK,) if gone and strategy.name == "manual" else ()
    return Context(
        messages=render(sent),
        texts=tuple(block.text or _calls(block) for block in sent),
        receipt=Receipt(
            tokenizer=voice.tokenizer.name,
            approximate=voice.tokenizer.approximate,
            context_limit=settings.context,
            reserve=settings.reserve,
            prompt_tokens=LIMITS.reply_overhead + sum(block.tokens for block in sent),
            overhead=LIMITS.reply_overhead,
            strategy=strategy.name,
            rows=(
                *_rows(sent, "sent"),
                *_rows(gone, "strategy"),
                *_rows([block for block in blocks if block.group in over], "budget"),
                *talk.left_out,
            ),
            notes=notes,
        ),
    )


def _calls(block: Block) -> str:
    return "\n".join(f"→ {call.name}({call.arguments})" for call in block.tool_calls)


def _rows(blocks: Sequence[Block], reason: Reason) -> Iterator[Row]:
    for block in blocks:
        yield Row(kind=block.kind, source=block.source, reason=reason, tokens=block.tokens)
