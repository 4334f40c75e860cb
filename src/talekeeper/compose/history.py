"""The conversation in a prompt: the live window's messages, and the current input among them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from talekeeper.compose.request import LeftOut, Material, Request
from talekeeper.compose.tools import ToolGroups
from talekeeper.compose.voice import Voice
from talekeeper.domain.block import Block, Reason, Row
from talekeeper.domain.cell import place
from talekeeper.domain.chat import LiveMessage
from talekeeper.domain.limits import LIMITS
from talekeeper.domain.window import window_start

__all__ = ["History", "history"]


@dataclass(frozen=True, slots=True)
class History:
    """The blocks of the conversation, and what stayed out of it.

    ``live`` are the messages of the live window, which starts at message ``window``; ``before`` are
    those in front of it that are at hand. ``outside`` sums up all in front of it, for ``reason``.
    """

    blocks: Sequence[Block]
    left_out: Sequence[Row]
    live: Sequence[LiveMessage]
    before: Sequence[LiveMessage]
    window: int
    outside: LeftOut | None
    reason: Reason


def history(voice: Voice, request: Request) -> History:
    """Choose the live window and turn it into blocks."""
    material = voice.material
    lines = [*material.lines, *_pending(voice, request)]
    said = [voice.say(line) for line in lines]
    start = 0
    if material.settings.live_cap:
        start = window_start(
            lines,
            [tokens for _, tokens in said],
            complete=material.older is None,
            messages=LIMITS.live_messages,
            tokens=material.settings.live_cap_tokens(material.plan),
        )
    current = _current_input(lines, start)
    live = lines[start:]
    groups = ToolGroups.of(live)
    blocks: list[Block] = []
    rows = [*_excluded(material)]
    for at in groups.order(len(live)):
        block = _block(voice, live, at, said[start + at], groups)
        if isinstance(block, Row):
            rows.append(block)
            continue
        if start + at == current:
            source = "input" if request.input is not None else block.source
            block = block._replace(kind="input", source=source, protected=True)
        elif request.mode == "continue" and at == len(live) - 1:
            block = block._replace(protected=True)
        blocks.append(block)
    return History(
        blocks=blocks,
        left_out=rows,
        live=live,
        before=lines[:start],
        window=live[0].number if live else material.next_number,
        outside=_outside(material, lines, start),
        reason="window" if material.settings.live_cap else "budget",
    )


def _pending(voice: Voice, request: Request) -> Iterator[LiveMessage]:
    """The input as the message it will be when it is recorded."""
    if request.input is None:
        return
    material, number = voice.material, voice.material.next_number
    turn, cell = place(
        material.tail,
        number=number,
        role="user",
        live_cap=material.settings.live_cap_tokens(material.plan),
        limits=LIMITS,
    )
    yield LiveMessage(
        number=number,
        role="user",
        speaker=material.user_name,
        character_id=None,
        active=0,
        turn=turn,
        cell=cell,
        tool_call_id=None,
        text=request.input,
        tokens=voice.tokenizer.count(request.input),
        tokenizer=voice.tokenizer.name,
    )


def _current_input(lines: Sequence[LiveMessage], start: int) -> int | None:
    """The index of the user message that began the current turn."""
    for index in range(len(lines) - 1, start - 1, -1):
        if lines[index].turn != lines[-1].turn:
            return None
        if lines[index].role == "user" and lines[index].number == lines[index].turn:
            return index
    return None


def _block(
    voice: Voice,
    lines: Sequence[LiveMessage],
    index: int,
    said: tuple[str, int],
    groups: ToolGroups,
) -> Block | Row:
    """A message as a block, or the row that says why it cannot be one."""
    line, (text, tokens) = lines[index], said
    calls = line.tool_calls
    if calls:
        answered = {lines[result].tool_call_id for result in groups.results.get(index, ())}
        calls = tuple(call for call in calls if call.id in answered)
    source = f"message:{line.number}/{line.active}"
    note = None
    if line.role == "tool" and index not in groups.calls:
        note = "the call it answers is not there"
    elif line.role != "tool" and not text.strip() and not calls and not line.parts:
        if not line.tool_calls:
            return Row(kind="message", source=source, reason="empty", tokens=0)
        note = "the result of its call is not there"
    elif calls != line.tool_calls:
        tokens -= sum(voice.call_tokens(call) for call in line.tool_calls if call not in calls)
    tokens += LIMITS.message_overhead
    if note:
        return Row(kind="message", source=source, reason="disabled", tokens=tokens, note=note)
    return Block(
        kind="message",
        source=source,
        role=line.role,
        text=text,
        tokens=tokens,
        group=f"message:{lines[groups.calls.get(index, index)].number}",
        tool_calls=calls,
        tool_call_id=line.tool_call_id,
        parts=line.parts,
    )


def _outside(material: Material, lines: Sequence[LiveMessage], start: int) -> LeftOut | None:
    """What is in front of the window and not excluded."""
    older = material.older
    if older is None and not start:
        return None
    first = older.first if older else lines[0].number
    last = lines[start - 1].number if start else older.last if older else first
    return LeftOut(count=start + (older.count if older else 0), first=first, last=last)


def _excluded(material: Material) -> Iterator[Row]:
    """Rows for what the user keeps out."""
    if material.older_excluded:
        gone = material.older_excluded
        yield Row(
            kind="message",
            source=f"message:{gone.first}-{gone.last}",
            reason="excluded",
            tokens=None,
            count=gone.count,
        )
    for number, swipe, tokens in material.excluded:
        yield Row(
            kind="message",
            source=f"message:{number}/{swipe}",
            reason="excluded",
            tokens=tokens + LIMITS.message_overhead,
        )
