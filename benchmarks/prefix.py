"""How much of a prompt a server's prompt cache can reuse from the turn before.

A chat is simulated turn by turn: a prompt is composed for the user's input, then input and reply
are recorded. Reuse is the share of a prompt's tokens that lie in the part which is, byte for byte,
the beginning of the prompt before it. Beside it: a plain sliding window with the same caps, which
moves on by single messages.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.data import Missing, Turn, crd3
from benchmarks.report import Figure, Report, Skipped
from benchmarks.scale import Scale
from benchmarks.text import Writer
from talekeeper import LIMITS, Keeper
from talekeeper.text.tokens import Tokenizer, tokenizer_named

__all__ = ["measure", "shared_tokens"]

_SHARE, _SHARE_GOAL = 0.75, 0.80
_CONTEXT = 40_000
_EPISODE = "C1E001"

Message = Mapping[str, Any]
Prompt = Sequence[Message]


@dataclass(frozen=True, slots=True)
class _Said:
    user: str
    reply: str


@dataclass(slots=True)
class _Reuse:
    """Follows prompts, and keeps each one's share that the one before begins with."""

    tokenizer: Tokenizer
    shares: list[float]
    before: Prompt = ()

    def follow(self, prompt: Prompt) -> None:
        if self.before:
            total = sum(_size(self.tokenizer, message) for message in prompt)
            self.shares.append(shared_tokens(self.tokenizer, self.before, prompt) / total)
        self.before = prompt

    @property
    def mean(self) -> float:
        return sum(self.shares) / len(self.shares)

    @property
    def moves(self) -> float:
        """The share of turns in which less than half could be reused."""
        return sum(share < 0.5 for share in self.shares) / len(self.shares)


async def measure(report: Report, scale: Scale, folder: Path) -> None:
    """Add the figures of prefix reuse."""
    for tokens in (100, 200):
        writer = Writer(tokens)
        talk = [_Said(writer.text(tokens), writer.text(tokens)) for _ in range(scale.turns)]
        report.add(*await _simulated(talk, f"{tokens} tokens a message", binding=True))
    try:
        talk = list(_exchanges(crd3(_EPISODE)))[: scale.turns]
    except Missing as error:
        report.add(Skipped(section="prefix", name="a real game", reason=str(error)))
    else:
        report.add(*await _simulated(talk, f"CRD3 {_EPISODE}", binding=False))


async def _simulated(talk: Sequence[_Said], title: str, *, binding: bool) -> list[Figure]:
    ours, plain = await _played(talk)
    note = f"{len(talk):,} turns"
    return [
        Figure(
            section="prefix",
            name=f"prompt tokens reused, {title}",
            value=ours.mean,
            unit="of the prompt",
            must=_SHARE if binding else None,
            goal=_SHARE_GOAL,
            more_is_better=True,
            baseline=("sliding window", plain.mean),
            note=note,
        ),
        Figure(
            section="prefix",
            name=f"turns with less than half reused, {title}",
            value=ours.moves,
            unit="of the turns",
            baseline=("sliding window", plain.moves),
            note=note,
        ),
    ]


async def _played(talk: Sequence[_Said]) -> tuple[_Reuse, _Reuse]:
    """The reuse of what Talekeeper composes, and of a sliding window under the same head."""
    tokenizer = tokenizer_named("o200k_base")
    ours, plain = _Reuse(tokenizer, []), _Reuse(tokenizer, [])
    sliding = _Sliding(tokenizer)
    async with Keeper.open() as keeper:
        await keeper.settings.change(context_limit=_CONTEXT)
        await keeper.characters.add(name="Mira", description=_DESCRIPTION)
        chat = (await keeper.chats.start("Mira", persona="Anna")).id
        for said in talk:
            context = await keeper.compose(chat, said.user)
            ours.follow(context.messages)
            head = context.messages[0]
            plain.follow([head, *sliding.window({"role": "user", "content": said.user})])
            await keeper.record(chat, said.user)
            await keeper.record(chat, said.reply, role="assistant")
            sliding.add("user", said.user)
            sliding.add("assistant", said.reply)
    return ours, plain


class _Sliding:
    """The newest messages within the same caps, by message."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._said: list[Message] = []
        self._cap = int(LIMITS.live_share * _CONTEXT)

    def add(self, role: str, text: str) -> None:
        self._said = [*self._said[-LIMITS.live_messages :], {"role": role, "content": text}]

    def window(self, current: Message) -> Prompt:
        said = [*self._said, current]
        used, start = 0, len(said)
        for message in reversed(said[-LIMITS.live_messages :]):
            used += self._tokenizer.count(message["content"])
            if used > self._cap:
                break
            start -= 1
        return said[start:]


def shared_tokens(tokenizer: Tokenizer, before: Prompt, prompt: Prompt) -> int:
    """The tokens of ``prompt`` up to where it first differs from ``before``.

    Up to the first message that differs, and within it up to the first character, which counts
    only where the messages' roles agree.
    """
    shared = 0
    for old, new in zip(before, prompt, strict=False):
        if old == new:
            shared += _size(tokenizer, new)
            continue
        if old["role"] == new["role"]:
            shared += tokenizer.count(_common(old["content"], new["content"]))
        break
    return shared


def _common(one: str, other: str) -> str:
    """The characters both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    differing = (at for at, (a, b) in pairs if a != b)
    return one[: next(differing, min(len(one), len(other)))]


def _size(tokenizer: Tokenizer, message: Message) -> int:
    return tokenizer.count(message["content"]) + LIMITS.message_overhead


def _exchanges(turns: Iterable[Turn]) -> Iterator[_Said]:
    """A real conversation as turns of two: who speaks most often is the user."""
    said = [turn for turn in turns if turn.text.strip()]
    names = [turn.speaker for turn in said]
    user = max(set(names), key=names.count)
    asked, answered = "", ""
    for turn in said:
        if turn.speaker != user:
            answered = f"{answered}\n{turn.text}".strip()
            continue
        if asked and answered:
            yield _Said(asked, answered)
            asked, answered = "", ""
        asked = f"{asked}\n{turn.text}".strip()


_DESCRIPTION = (
    "Mira keeps the lighthouse at the end of the long pier. She is patient, dry and curious, "
    "mends clocks in winter, and writes down every ship that passes. She never lies to {{user}}, "
    "though she may keep silent. She speaks in short sentences and knows the sea by its sound."
)
