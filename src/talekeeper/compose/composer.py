"""Material and request to context: the whole composition, without any I/O."""

from collections.abc import Collection, Iterator, Sequence

from talekeeper.compose.budget import fit, over_share
from talekeeper.compose.digest import Digest, digest, number_of
from talekeeper.compose.head import depth_blocks, head_blocks, tail_blocks
from talekeeper.compose.history import History, history
from talekeeper.compose.lore import Lore, lore, woven
from talekeeper.compose.memories import remembered
from talekeeper.compose.render import arrange, render
from talekeeper.compose.request import Material, Request
from talekeeper.compose.story import Story, outside_rows, story
from talekeeper.compose.strategies import strategy_named
from talekeeper.compose.voice import Voice
from talekeeper.domain.block import Block, Context, Kind, Reason, Receipt, Row
from talekeeper.domain.limits import LIMITS
from talekeeper.domain.settings import GenerationSettings
from talekeeper.models.memory_tools import MEMORY_TOOLS

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
    known = remembered(voice)
    pinned = [block for block in known.blocks if block.protected]
    unpinned = [block for block in known.blocks if not block.protected]
    fired = lore(voice, request, [*talk.before, *talk.live])
    head = [*woven(head_blocks(voice), fired), *pinned]
    tail = [*_tail(voice, request, fired), *([known.tools] if known.tools else [])]
    fixed = sum(block.tokens for block in (*head, *unpinned, *tail))
    window = _window(talk, settings, fixed)
    told = story(voice, talk, window=window, replacing=request.replacing)
    blocks = [*head, *unpinned, *told.blocks, *talk.blocks, *tail]
    over = over_share(blocks, settings.budget, settings.shares)
    within = [block for block in blocks if block.group not in over]
    dropped = fit(within, settings.budget, strategy)
    short: Digest | None = None
    if strategy.digests and (dropped or not material.settles):
        dropped, short = digest(voice, strategy, within, talk, told)
    told = told.without(dropped)
    sent = [block for block in within if block.group not in dropped]
    sent = arrange(_with_upfront(sent, short))
    gone = [block for block in within if block.group in dropped]
    notes = [*known.notes, *fired.notes]
    notes += [_MANUAL_FALLBACK] if gone and strategy.name == "manual" else []
    return Context(
        messages=render(sent),
        texts=tuple(block.text or _calls(block) for block in sent),
        tools=MEMORY_TOOLS if known.tools else (),
        fired=fired.begun,
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
                *_gone(gone, talk, told, short),
                *_rows([block for block in blocks if block.group in over], "budget"),
                *known.rows,
                *fired.rows,
                *told.rows,
                *outside_rows(talk, told, digested=short is not None and not material.settles),
                *talk.left_out,
            ),
            notes=tuple(notes),
        ),
    )


def _tail(voice: Voice, request: Request, fired: Lore) -> Iterator[Block]:
    """What goes to a depth, before the input, or to the end."""
    yield from fired.at("note_top")
    yield from depth_blocks(voice)
    yield from fired.at("note_bottom", "depth", "before_input")
    yield from tail_blocks(voice, request.mode)


def _window(talk: History, settings: GenerationSettings, fixed: int) -> int:
    """The number at which the messages start that are sent verbatim.

    Where only the budget bounds the history: the newest that fit beside what must be sent
    (``fixed`` tokens) and the whole share of the summary.
    """
    if settings.live_cap:
        return talk.window
    left = settings.budget - LIMITS.reply_overhead - fixed
    left -= int(settings.budget * settings.shares.summary)
    newest = talk.live[-1].number if talk.live else talk.window
    window = newest + 1
    for block in reversed(talk.blocks):
        left -= block.tokens
        if left < 0:
            break
        number = number_of(block)
        window = min(window, newest if number is None else number)
    return window


_AFTER: Collection[Kind] = ("post_history", "nudge", "prefill", "tools")


def _with_upfront(blocks: Sequence[Block], short: Digest | None) -> list[Block]:
    """The blocks with what stands before the current input there: what fired, then the digest."""
    upfront = [b for b in blocks if b.kind in _LORE and not b.head and b.depth is None]
    placed = [b for b in blocks if b not in upfront]
    at = _before_input(placed)
    placed[at:at] = [*upfront, *([short.block] if short else [])]
    return placed


_LORE: Collection[Kind] = ("lore", "entry")


def _before_input(blocks: Sequence[Block]) -> int:
    """Where the digest stands: before the current input, else before the last message.

    Where no message is left: before all that follows the conversation.
    """
    talk = [at for at, block in enumerate(blocks) if block.kind in ("message", "input")]
    inputs = [at for at in talk if blocks[at].kind == "input"]
    if inputs:
        return inputs[0]
    if talk:
        return next(at for at in talk if blocks[at].group == blocks[talk[-1]].group)
    after = (at for at, b in enumerate(blocks) if b.depth is not None or b.kind in _AFTER)
    return next(after, len(blocks))


def _gone(
    blocks: Sequence[Block], talk: History, told: Story, short: Digest | None
) -> Iterator[Row]:
    """Rows for what gave way, with what tells of it instead."""
    lines = {line.number: line for line in talk.live}
    for block in blocks:
        number = number_of(block)
        carrier = told.carrier_of(lines[number]) if number is not None else None
        note = f"summary:{carrier.name}" if carrier else None
        if note is None and short is not None and number in short.numbers:
            note = "digest"
        yield Row(
            kind=block.kind,
            source=block.source,
            reason="summarised" if note else "strategy",
            tokens=block.tokens,
            note=note,
        )


def _calls(block: Block) -> str:
    return "\n".join(f"→ {call.name}({call.arguments})" for call in block.tool_calls)


def _rows(blocks: Sequence[Block], reason: Reason) -> Iterator[Row]:
    for block in blocks:
        yield Row(kind=block.kind, source=block.source, reason=reason, tokens=block.tokens)
