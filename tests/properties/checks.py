"""Holding a composition against the reference: what is in it, in which order, what gave way."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from talekeeper import LIMITS, BudgetExceeded, Context, GenerationSettings, Row
from talekeeper.domain.block import Mode
from tests.properties.reference import Said, Told, pairs, tokens_of, words_in

__all__ = ["Asked", "check_context", "check_refusal"]

TAIL_KINDS = ("post_history", "nudge", "prefill")


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A composition that was asked for, and the chat as the reference sees it then."""

    chat: Told
    settings: GenerationSettings
    input: str | None = None
    replacing: int | None = None
    mode: Mode = "reply"

    @property
    def view(self) -> Told:
        """The chat, the input in it."""
        if self.input is None:
            return self.chat
        return self.chat.with_input(self.settings, self.input)

    @property
    def speaker(self) -> str:
        """Who replies."""
        return _next_speaker(self.view, self.replacing, self.mode)


def _next_speaker(chat: Told, replacing: int | None, mode: Mode) -> str:
    """Who said what is replaced or continued, else the first who has not spoken in this turn."""
    lines = chat.live(before=replacing)
    before = chat.numbered(replacing) if replacing is not None else None
    if mode == "continue" and lines and lines[-1].role == "assistant":
        before = lines[-1]
    if before is not None and before.speaker in chat.members:
        return before.speaker
    turn = lines[-1].turn if lines else None
    spoken = {m.speaker for m in lines if m.turn == turn and m.role == "assistant"}
    return next((name for name in chat.members if name not in spoken), chat.members[0])


def check_refusal(asked: Asked, error: BudgetExceeded) -> None:
    """What must be sent was too large indeed, and is named."""
    budget = (asked.settings.context_limit or LIMITS.context_limit) - asked.settings.reserve
    assert error.budget == budget < error.needed
    assert error.needed == LIMITS.reply_overhead + sum(tokens for _, tokens in error.blocks)


def check_context(asked: Asked, context: Context) -> None:
    """All that must hold for any composition."""
    view, settings = asked.view, asked.settings
    lines = view.live(before=asked.replacing)
    _check_words(asked, lines, context)
    left_out = _left_out(lines, context.receipt.rows, settings)
    window = lines[left_out:]
    if settings.live_cap:
        assert window == list(view.window(settings, lines, asked.speaker))
    _check_history(asked, window, context)
    _check_excluded(asked, context.receipt.rows)
    _check_head_and_tail(asked, context)
    _check_tool_groups(context.messages)
    _check_tokens(settings, context)


def _check_words(asked: Asked, lines: Sequence[Said], context: Context) -> None:
    """No text is there that must not be: not as it is, nor in a summary, nor in a digest."""
    live = frozenset[str]().union(*(line.words for line in lines))
    told = [
        m.words
        for m in asked.chat.messages
        if not m.forget and (asked.replacing is None or m.number < asked.replacing)
    ]
    summed = words_in(" ".join(asked.chat.edits.values())).union(*told)
    digested = frozenset[str]().union(*(line.words for line in lines if not line.forget))
    assert words_in(json.dumps(context.messages)) <= live | summed
    for row, text in zip(context.receipt.sent(), context.texts, strict=True):
        allowed = {"summary": summed, "digest": digested}.get(row.kind, live)
        assert words_in(text) <= allowed, f"{row.source}: a text that must not be there"


def _left_out(lines: Sequence[Said], rows: Sequence[Row], settings: GenerationSettings) -> int:
    """How many of the oldest messages the receipt says are out of the window.

    One row for each sent node that tells of some, with their number, and one for the others.
    """
    reason = "window" if settings.live_cap else "budget"
    found = [row for row in rows if row.kind == "message" and row.tokens is None]
    found = [row for row in found if row.reason != "excluded"]
    total = sum(row.count for row in found)
    out = lines[:total]
    others = total
    for row in found:
        first, last = _range(row)
        assert out[0].number <= first <= last <= out[-1].number or row.reason != reason
        inside = [m for m in out if first <= m.number <= last]
        if row.reason == "summarised":
            _check_carrier(row, rows)
            others -= row.count
            assert row.count == sum(not m.forget for m in inside), f"{row} counts wrong"
        else:
            assert row.reason == reason
            assert row is found[-1]
            assert row.count == others
            assert inside
    return total


def _range(row: Row) -> tuple[int, int]:
    """The numbers of the first and the last message that a row is about."""
    first, _, last = row.source.removeprefix("message:").partition("/")[0].partition("-")
    return int(first), int(last or first)


def _check_carrier(row: Row, rows: Sequence[Row]) -> None:
    """What a message is said to be told of in is there."""
    if row.note == "digest":
        assert [r.reason for r in rows if r.kind == "digest"] == ["sent"]
        return
    assert row.note is not None
    (reason,) = {r.reason for r in rows if r.source == row.note and r.kind == "summary"}
    assert reason in ("sent", "empty"), f"{row.note} is not there: {reason}"


def _number(row: Row, window: Sequence[Said]) -> int:
    """The number of the message a row is about."""
    if row.source == "input":
        return window[-1].number
    return int(row.source.removeprefix("message:").partition("/")[0])


def _check_history(asked: Asked, window: Sequence[Said], context: Context) -> None:
    """Each message of the window is sent, dropped as the oldest, or cannot be sent."""
    by_reason: dict[str, list[int]] = {"sent": [], "strategy": [], "disabled": [], "empty": []}
    for row in context.receipt.rows:
        reason = "strategy" if row.reason == "summarised" else row.reason
        if row.kind in ("message", "input") and reason in by_reason and row.tokens is not None:
            by_reason[reason].append(_number(row, window))
    answers = pairs(window)
    fit = [m for m in window if _can_be_sent(m, answers)]
    unfit = {m.number for m in window} - {m.number for m in fit}
    assert {*by_reason["disabled"], *by_reason["empty"]} == unfit
    order = [
        number
        for m in fit
        if m.number not in answers
        for number in (m.number, *(r for r, call in answers.items() if call == m.number))
    ]
    dropped = by_reason["strategy"]
    assert sorted([*by_reason["sent"], *dropped]) == sorted(order)
    assert by_reason["sent"] == [number for number in order if number not in dropped]
    _check_texts(asked, window, context)
    _check_what_gave_way(asked, window, answers, order, context)


def _can_be_sent(message: Said, answers: Mapping[int, int]) -> bool:
    if message.role == "tool":
        return message.number in answers
    return bool(message.text.strip()) or message.number in answers.values()


def _check_texts(asked: Asked, window: Sequence[Said], context: Context) -> None:
    messages = {m.number: m for m in window}
    for row, text in zip(context.receipt.sent(), context.texts, strict=True):
        if row.kind in ("message", "input"):
            said = messages[_number(row, window)]
            assert row.source in ("input", f"message:{said.number}/{said.active}")
            wanted = asked.view.spoken(asked.settings, said, asked.speaker)
            if not said.text:
                shown = [f"→ {call.name}({call.arguments})" for call in said.calls[said.active]]
                assert set(text.splitlines()) <= set(shown)
                continue
            assert text == wanted, f"{text!r} was sent, not {wanted!r}"


def _check_what_gave_way(
    asked: Asked,
    window: Sequence[Said],
    answers: Mapping[int, int],
    order: Sequence[int],
    context: Context,
) -> None:
    """The oldest groups, no more than needed, never a protected one; notes after all messages."""
    receipt = context.receipt
    protected = set(_protected(asked, window))
    groups: dict[int, list[int]] = {}
    for number in order:
        groups.setdefault(answers.get(number, number), []).append(number)
    free = [group for group in groups.values() if not protected & set(group)]
    gone = [row for row in receipt.rows if _gave_way(row)]
    for row in gone:
        if row.reason == "summarised":
            _check_carrier(row, receipt.rows)
            assert not asked.chat.numbered(_number(row, window)).forget
    dropped = {_number(row, window): row.tokens or 0 for row in gone if row.kind == "message"}
    assert len(dropped) == sum(row.kind == "message" for row in gone)
    first = [group for group in free if set(group) <= set(dropped)]
    assert sorted(dropped) == sorted(number for group in first for number in group)
    assert first == free[: len(first)], "a newer message gave way before an older one"
    notes = [row for row in gone if row.kind != "message"]
    if notes:
        assert {row.kind for row in notes} <= {"authors_note", "summary"}
        assert first == free
        last = "summary" if any(row.kind == "summary" for row in notes) else "authors_note"
        newest = sum(row.tokens or 0 for row in notes if row.kind == last)
    elif first:
        newest = sum(dropped[number] for number in first[-1])
    else:
        return
    digest = sum(row.tokens or 0 for row in receipt.sent() if row.kind == "digest")
    room = int(receipt.budget * asked.settings.shares.digest) if digest else 0
    assert receipt.prompt_tokens - digest + room + newest > receipt.budget, "too much gave way"


def _gave_way(row: Row) -> bool:
    """Whether a row is about a block that found no room, told elsewhere or not."""
    return row.reason == "strategy" or (row.reason == "summarised" and row.tokens is not None)


def _protected(asked: Asked, window: Sequence[Said]) -> list[int]:
    """The current input; the last message where it is to be continued."""
    if not window:
        return []
    turn = window[-1].turn
    found = [m.number for m in window if m.role == "user" and m.number == m.turn == turn]
    if asked.mode == "continue":
        found.append(window[-1].number)
    return found


def _check_excluded(asked: Asked, rows: Sequence[Row]) -> None:
    excluded = [
        m.number
        for m in asked.chat.messages
        if m.excluded and (asked.replacing is None or m.number < asked.replacing)
    ]
    found = [row for row in rows if row.reason == "excluded"]
    assert sum(row.count for row in found) == len(excluded)
    single = [int(row.source.split(":")[1].split("/")[0]) for row in found if "-" not in row.source]
    assert set(single) <= set(excluded)


def _check_head_and_tail(asked: Asked, context: Context) -> None:
    """What is protected is there, in its place."""
    chat, settings, speaker = asked.chat, asked.settings, asked.speaker
    head = context.messages[0]
    assert head["role"] == "system"
    assert head["content"].startswith(f"Play {speaker}."), f"{speaker} should speak: {head}"
    assert f"{speaker} is one of a kind" in head["content"]
    assert (f"{chat.user_name} is somebody" in head["content"]) == (chat.persona is not None)
    kinds = [row.kind for row in context.receipt.sent() if row.kind in TAIL_KINDS]
    expected = ["post_history"] * bool(settings.post_history)
    expected += ["nudge"] * (asked.mode != "reply" or len(chat.members) > 1)
    expected += ["prefill"] * (asked.mode == "reply" and bool(settings.prefill))
    assert kinds == expected
    sent = [row.kind for row in context.receipt.sent()]
    if context.tools:
        assert asked.mode == "reply"
        assert sent.pop() == "tools"
    if expected:
        assert sent[-len(expected) :] == expected
    inputs = [row for row in context.receipt.rows if row.kind == "input"]
    assert all(row.reason == "sent" for row in inputs)
    if asked.input is not None:
        assert [row.source for row in inputs] == ["input"]


def _check_tool_groups(messages: Sequence[Mapping[str, Any]]) -> None:
    """Each call has its result right behind it, and no result stands alone."""
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] in waiting, "a result without its call"
            waiting.remove(message["tool_call_id"])
            continue
        assert not waiting, f"calls without their results: {waiting}"
        waiting = [call["id"] for call in message.get("tool_calls", ())]
    assert not waiting


def _check_tokens(settings: GenerationSettings, context: Context) -> None:
    """What is sent, counted again, is within what the receipt says, and that in the budget."""
    receipt = context.receipt
    assert receipt.tokenizer == settings.tokenizer
    assert receipt.prompt_tokens <= receipt.budget
    assert receipt.prompt_tokens == receipt.overhead + sum(
        row.tokens or 0 for row in receipt.sent()
    )
    counted = LIMITS.reply_overhead
    for message in context.messages:
        counted += LIMITS.message_overhead + tokens_of(settings, message["content"] or "")
        for call in message.get("tool_calls", ()):
            function = call["function"]
            counted += tokens_of(settings, function["name"]) + 2 * LIMITS.message_overhead
            counted += tokens_of(settings, function["arguments"])
    assert counted <= receipt.prompt_tokens, "the receipt counts less than what is sent"
