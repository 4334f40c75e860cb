"""What a prompt tells of the time before the live window: nodes of the conversation summary."""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from talekeeper.compose.history import History
from talekeeper.compose.voice import Voice
from talekeeper.domain.block import SHARE, Block, Reason, Row
from talekeeper.domain.chat import LiveMessage
from talekeeper.domain.summary import HEADING, SEPARATOR_TOKENS, Summary, frontier
from talekeeper.store.keys import LAST_NUMBER

__all__ = ["Story", "outside_rows", "story"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Story:
    """The summary's blocks, the nodes they carry, and rows of what else there is to say.

    ``rows`` are nodes that found no room in the summary's share.
    """

    blocks: Sequence[Block]
    nodes: Sequence[Summary]
    rows: Sequence[Row]

    def carrier_of(self, line: LiveMessage) -> Summary | None:
        """The sent node that tells of a message; none does of a forgotten one."""
        if line.forget:
            return None
        return next((n for n in self.nodes if n.first <= line.number <= n.last), None)

    def without(self, dropped: Collection[str]) -> "Story":
        """What is told when these groups of blocks gave way."""
        return replace(self, nodes=()) if _GROUP in dropped else self


_GROUP = "summary"


def story(voice: Voice, talk: History, *, window: int, replacing: int | None) -> Story:
    """Choose the nodes to send: the newest that fit the share, so that no gap is at the window."""
    before = LAST_NUMBER if replacing is None else replacing
    found = frontier(voice.material.summaries, window=window, before=before)
    settings = voice.material.settings
    heading = voice.count(HEADING)
    left = int(settings.budget * settings.shares.summary) - heading
    chosen: list[tuple[Summary, str, int]] = []
    rows: list[Row] = []
    for node in reversed(found):
        text = voice.expand(node.text.strip(), node.name)
        if not text:
            rows.append(_row(node, "empty", 0))
            continue
        tokens = SEPARATOR_TOKENS + (
            node.tokens
            if text == node.text and node.tokenizer == voice.tokenizer.name
            else voice.tokenizer.count(text)
        )
        if tokens > left:
            rows.append(_row(node, "budget", tokens, note=SHARE))
            continue
        left -= tokens
        chosen.append((node, text, tokens))
    chosen.reverse()
    blocks = [
        Block(
            kind="summary",
            source=f"summary:{node.name}",
            role="system",
            text=text if at else f"{HEADING}\n\n{text}",
            tokens=tokens if at else tokens + heading,
            group=_GROUP,
        )
        for at, (node, text, tokens) in enumerate(chosen)
    ]
    carried = [node for node, _, _ in chosen] + [n for n in found if not n.text.strip()]
    return Story(blocks=blocks, nodes=sorted(carried, key=lambda node: node.first), rows=rows)


def _row(node: Summary, reason: Reason, tokens: int, *, note: str | None = None) -> Row:
    source = f"summary:{node.name}"
    return Row(kind="summary", source=source, reason=reason, tokens=tokens, note=note)


def outside_rows(talk: History, told: Story, *, digested: bool) -> Iterator[Row]:
    """One row for the messages before the window that each node tells of, one for all others.

    ``digested`` says that the digest tells of the others.
    """
    outside = talk.outside
    if outside is None:
        return
    gaps: list[tuple[int, int]] = []
    rest, since = outside.count, outside.first
    live = [line.number for line in talk.live if not line.forget]
    for node in told.nodes:
        first, last = max(node.first, outside.first), min(node.last, talk.window - 1)
        count = node.shown - (bisect_right(live, node.last) - bisect_left(live, node.first))
        if last < first or count <= 0:
            continue
        if since < first:
            gaps.append((since, first - 1))
        since, rest = last + 1, rest - count
        yield Row(
            kind="message",
            source=f"message:{first}-{last}",
            reason="summarised",
            tokens=None,
            count=count,
            note=f"summary:{node.name}",
        )
    if since <= outside.last:
        gaps.append((since, outside.last))
    if rest > 0:
        # Without a gap they are messages that are kept out of the summaries: forgotten ones.
        first, last = (gaps[0][0], gaps[-1][1]) if gaps else (outside.first, outside.last)
        yield Row(
            kind="message",
            source=f"message:{first}-{last}" if first != last else f"message:{first}",
            reason="summarised" if digested else talk.reason,
            tokens=None,
            count=rest,
            note="digest" if digested else None,
        )
