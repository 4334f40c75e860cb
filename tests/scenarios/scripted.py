"""A maker of summaries whose texts say exactly what they were made from."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from talekeeper.domain.summary import Summariser
from talekeeper.settle.settler import Settler
from talekeeper.settle.summarize import SummaryRequest
from talekeeper.store.database import Database
from talekeeper.testing import Ids, TickingClock
from talekeeper.text.condense import Passage

__all__ = ["ScriptedMaker", "scripted_settler"]


class ScriptedMaker:
    """``Hello. … Bye. (16)`` for sixteen messages, the first and the last of them.

    A summary that takes the place of messages stands in it whole, between angle quotes.
    """

    summariser: Summariser = "local"
    model: str | None = None

    async def make(self, request: SummaryRequest) -> str:
        """The summary; empty for nothing."""
        return "; ".join(_parts(request.passages))


def _parts(passages: Sequence[Passage]) -> Iterator[str]:
    for said, run in groupby(passages, key=lambda passage: bool(passage.speaker)):
        texts = [passage.text for passage in run]
        if not said:
            yield from (f"«{text}»" for text in texts)
        elif len(texts) == 1:
            yield texts[0]
        else:
            yield f"{texts[0]} … {texts[-1]} ({len(texts)})"


def scripted_settler(database: Database) -> Settler:
    """A Settler that lets it make all summaries."""
    return Settler(database, local=ScriptedMaker(), clock=TickingClock(), new_id=Ids(1_000))
