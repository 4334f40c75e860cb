"""Making one summary: the protocol, and its two makers, a language model and the local one."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import anyio.to_thread

from talekeeper.domain.errors import ModelError
from talekeeper.domain.summary import Level, Summariser
from talekeeper.domain.usage import Usage
from talekeeper.models.chat_model import ChatModel
from talekeeper.models.embedder import Embedder
from talekeeper.record.usage import usage_of
from talekeeper.settle.prompts import summary_prompt
from talekeeper.text.condense import Passage, condense, passages_of
from talekeeper.text.tokens import Tokenizer

__all__ = ["LocalMaker", "Made", "ModelMaker", "SummaryMaker", "SummaryRequest", "within"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SummaryRequest:
    """What is to be summarised: passages in the order of the chat (``speaker`` empty: an earlier
    summary), into at most ``most`` tokens by ``tokenizer``."""

    level: Level
    passages: Sequence[Passage]
    most: int
    tokenizer: Tokenizer
    user: str
    characters: Sequence[str]


class Made(NamedTuple):
    """A summary, empty where nothing is worth keeping; and what a model was asked for it."""

    text: str
    usage: Usage | None = None


class SummaryMaker(Protocol):
    """Makes summaries. One instance serves many callers at once."""

    summariser: Summariser
    model: str | None

    async def make(self, request: SummaryRequest) -> Made:
        """The summary. Raises ModelError."""


class LocalMaker:
    """Chooses the most telling sentences, without a model. Deterministic."""

    summariser: Summariser = "local"
    model: str | None = None

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._embed = embedder.embed if embedder else None

    async def make(self, request: SummaryRequest) -> Made:
        return Made(await anyio.to_thread.run_sync(self.condense, request))

    def condense(self, request: SummaryRequest) -> str:
        """The same, here and now."""
        speakers = {request.user, *request.characters}
        speakers |= {passage.speaker for passage in request.passages if passage.speaker}
        passages: list[Passage] = []
        for passage in request.passages:
            told = [passage] if passage.speaker else passages_of(passage.text, speakers)
            passages += told
        return condense(
            passages,
            max_tokens=request.most,
            count=request.tokenizer.count,
            embed=self._embed,
        )


class ModelMaker:
    """Lets a language model write the summary."""

    summariser: Summariser = "model"

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self.model: str | None = model.name

    async def make(self, request: SummaryRequest) -> Made:
        if not any(passage.text.strip() for passage in request.passages):
            return Made("")
        messages = summary_prompt(
            request.passages,
            level=request.level,
            most_tokens=request.most,
            user=request.user,
            characters=request.characters,
        )
        answer = await self._model.complete(
            messages, most_tokens=request.most + _SLACK, temperature=_TEMPERATURE
        )
        text = _checked(self._model.name, answer.text, request)
        return Made(text, usage_of("summary", self._model.name, messages, answer))


_SLACK = 64
_TEMPERATURE = 0.2

_THOUGHT = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
_THOUGHT_END = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_REFUSAL = re.compile(
    r"\A[\s*_#>]*(?:i(?:'|’)?m (?:very |really )?sorry|i am (?:very |really )?sorry|sorry, but"
    r"|i can(?:'|’|no)t (?:help|assist|summari|comply|provide|continue|fulfil|create|engage)"
    r"|i(?:'|’)m (?:unable|not able) to|i am (?:unable|not able) to"
    r"|i won(?:'|’)t (?:help|assist|summari|comply|provide|continue|create|engage)"
    r"|i apologi[sz]e, but|i must decline|as an ai(?: language)? model)",
    re.IGNORECASE,
)


def _checked(model: str, text: str, request: SummaryRequest) -> str:
    """The answer, if it is a summary: no refusal, not empty, cut to its bound between sentences."""
    # Some servers send the thoughts without the tag that opens them: what counts is where they end.
    text = _THOUGHT_END.split(text)[-1].strip()
    if not text or _THOUGHT.match(text):
        raise ModelError(f"The model {model!r} gave nothing but its thoughts.", permanent=False)
    if _REFUSAL.match(text):
        raise ModelError(f"The model {model!r} refused: {text[:120]}", permanent=True)
    return within(text, request.most, request.tokenizer.count)


_ENDS = re.compile(r"(?<=[.!?。！？…])[\"'”’»」』)]*\s+|(?<=[。！？])|\n+")


def within(text: str, most: int, count: Callable[[str], int]) -> str:
    """As many whole sentences from the beginning of ``text`` as ``most`` tokens hold."""
    if count(text) <= most:
        return text
    ends = [found.start() for found in _ENDS.finditer(text) if found.start()]
    low, high = 0, len(ends)
    while low < high:
        middle = (low + high + 1) // 2
        if count(text[: ends[middle - 1]]) <= most:
            low = middle
        else:
            high = middle - 1
    if low:
        return text[: ends[low - 1]].rstrip()
    # Not one sentence fits: cut between characters rather than send too much.
    size = len(text)
    while size > 1 and count(text[:size]) > most:
        size = size * 3 // 4
    return text[:size].rstrip()
