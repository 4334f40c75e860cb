"""The conversation in a prompt: the live window's messages, and the current input among them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from talekeeper.compose.request import Line, Material, Request
from talekeeper.compose.voice import Voice
from talekeeper.compose.window import window_start
from talekeeper.domain.block import Block, Reason, Row
from talekeeper.domain.cell import place
from talekeeper.domain.limits import LIMITS

__all__ = ["History", "history"]


@dataclass(frozen=True, slots=True)
class History:
    """The blocks of the conversation, and the rows of what stayed out of it."""

    blocks: Sequence[Block]
    left_out: Sequence[Row]


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
    live = range(start, len(lines))
    current = _current_input(lines, start)
    calls = _tool_groups(lines[start:])
    blocks: list[Block] = []
    rows = [*_outside(material, lines, start)]
    for index in live:
        text, tokens = said[index]
        block = _block(lines[index], text, tokens, calls)
        if isinstance(block, Row):
            rows.append(block)
            continue
        if index == current:
            source = "input" if request.input is not None else block.source
            block = replace(block, kind="input", source=source, protected=True)
        elif request.mode == "continue" and index == len(lines) - 1:
            block = replace(block, protected=True)
        blocks.append(block)
    return History(blocks, rows)


def _pending(voice: Voice, request: Request) -> Iterator[Line]:
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
    yield Line(
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


def _current_input(lines: Sequence[Line], start: int) -> int | None:
    """The index of the user message that began the current turn."""
    for index in range(len(lines) - 1, start - 1, -1):
        if lines[index].turn != lines[-1].turn:
            return None
        if lines[index].role == "user" and lines[index].number == lines[index].turn:
            return index
    return None


def _tool_groups(lines: Sequence[Line]) -> Mapping[str, str]:
    """For each call id that has both its call and its result: the group they form."""
    asked = {call.id: f"message:{line.number}" for line in lines for call in line.tool_calls}
    answered = {line.tool_call_id for line in lines if line.tool_call_id}
    return {call: group for call, group in asked.items() if call in answered}


def _block(line: Line, text: str, tokens: int, groups: Mapping[str, str]) -> Block | Row:
    """A message as a block, or the row that says why it cannot be one."""
    source = f"message:{line.number}/{line.active}"
    calls = tuple(call for call in line.tool_calls if call.id in groups)
    group = f"message:{line.number}"
    if line.role == "tool":
        group = groups.get(line.tool_call_id or "", "")
        if not group:
            note = "the call it answers is not there"
            return Row(kind="message", source=source, reason="disabled", tokens=tokens, note=note)
    elif not text.strip() and not calls and not line.parts:
        if line.tool_calls:
            note = "the result of its call is not there"
            return Row(kind="message", source=source, reason="disabled", tokens=tokens, note=note)
        return Row(kind="message", source=source, reason="empty", tokens=0)
    return Block(
        kind="message",
        source=source,
        role=line.role,
        text=text,
        tokens=tokens + LIMITS.message_overhead,
        group=group,
        tool_calls=calls,
        tool_call_id=line.tool_call_id,
        parts=line.parts,
    )


def _outside(material: Material, lines: Sequence[Line], start: int) -> Iterator[Row]:
    """Rows for what is out of the window, and for what the user keeps out."""
    older, count = material.older, start
    if older is not None or start:
        first = older.first if older else lines[0].number
        last = lines[start - 1].number if start else older.last if older else first
        count += older.count if older else 0
        reason: Reason = "window" if material.settings.live_cap else "budget"
        yield Row(
            kind="message",
            source=f"message:{first}-{last}" if first != last else f"message:{first}",
            reason=reason,
            tokens=None,
            count=count,
        )
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
            kind="message", source=f"message:{number}/{swipe}", reason="excluded", tokens=tokens
        )
