"""The digest: what gave way and no summary tells of, condensed here and now, without a model."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from talekeeper.compose.budget import fit
from talekeeper.compose.history import History
from talekeeper.compose.story import Story
from talekeeper.compose.strategies import Strategy
from talekeeper.compose.voice import Voice
from talekeeper.domain.block import Block
from talekeeper.domain.chat import LiveMessage
from talekeeper.domain.limits import LIMITS
from talekeeper.text.condense import Passage, condense

__all__ = ["Digest", "digest", "number_of"]

_HEADING = "Said earlier, in short:"


@dataclass(frozen=True, kw_only=True, slots=True)
class Digest:
    """The block, and the numbers of the messages it was made from."""

    block: Block
    numbers: Collection[int]


def number_of(block: Block) -> int | None:
    """The number of the message that a block is, None for any other block."""
    kind, _, rest = block.source.partition(":")
    return int(rest.partition("/")[0]) if kind == "message" else None


def digest(
    voice: Voice, strategy: Strategy, blocks: Sequence[Block], talk: History, told: Story
) -> tuple[frozenset[str], Digest | None]:
    """What gives way when there is to be a digest of it, and the digest.

    None where there is nothing to tell or no room to tell it; then nothing gives way for it.
    """
    settings = voice.material.settings
    share = int(settings.budget * settings.shares.digest)
    dropped = fit(blocks, settings.budget, strategy, room=share)
    kept = [block for block in blocks if block.group not in dropped]
    room = settings.budget - LIMITS.reply_overhead - sum(block.tokens for block in kept)
    gone = {number_of(block) for block in blocks if block.group in dropped}
    lines = [line for line in talk.live if line.number in gone]
    if not voice.material.settles:
        lines = [*talk.before, *lines]
    told = told.without(dropped)
    lines = [line for line in lines if not line.forget and told.carrier_of(line) is None]
    text = _text(voice, lines, min(share, room))
    if not text:
        return fit(blocks, settings.budget, strategy), None
    block = Block(
        kind="digest",
        source="digest",
        role="system",
        text=text,
        tokens=voice.count(text),
        group="digest",
        protected=True,
    )
    return dropped, Digest(block=block, numbers=frozenset(line.number for line in lines))


def _text(voice: Voice, lines: Sequence[LiveMessage], most: int) -> str:
    # Two texts that are counted apart may take a token more together.
    most -= voice.count(_HEADING) + 2
    told = condense(list(_passages(voice, lines)), max_tokens=most, count=voice.tokenizer.count)
    return f"{_HEADING}\n{told}" if told else ""


def _passages(voice: Voice, lines: Sequence[LiveMessage]) -> Iterator[Passage]:
    for line in lines:
        if line.role == "tool" or not line.text.strip():
            continue
        name = voice.material.spoken.get(line.character_id or "", line.speaker)
        text = voice.expand(line.text, f"message:{line.number}/{line.active}", speaker=name)
        yield Passage(speaker=name, text=text)
