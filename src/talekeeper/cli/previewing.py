"""``talekeeper preview``: a bar of the budget, the blocks, and what stayed out and why."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from talekeeper.cli.output import Output
from talekeeper.cli.plain import counted, safe
from talekeeper.domain.block import SHARE, Context, Kind, Receipt, Row
from talekeeper.domain.chat import Chat

__all__ = ["Preview", "left_out_lines", "look_of", "show", "show_receipt", "why"]

_LOOKS: Mapping[Kind, tuple[str, str]] = {
    "main_prompt": ("M", "blue"),
    "persona": ("U", "cyan"),
    "description": ("D", "dodger_blue1"),
    "personality": ("P", "medium_purple"),
    "scenario": ("S", "turquoise4"),
    "example": ("E", "bright_cyan"),
    "lore": ("L", "chartreuse3"),
    "entry": ("l", "dark_sea_green"),
    "pinned_memory": ("R", "orchid"),
    "memory": ("r", "pink1"),
    "summary": ("Z", "gold1"),
    "message": ("m", "green"),
    "authors_note": ("A", "yellow"),
    "depth_prompt": ("N", "dark_orange"),
    "digest": ("z", "light_salmon1"),
    "input": ("i", "bright_green"),
    "post_history": ("H", "magenta"),
    "nudge": ("G", "hot_pink"),
    "prefill": ("F", "red"),
    "tools": ("T", "grey70"),
}
"""A letter for each kind, so that the bar can be read without colours, and a colour."""
REASONS = {
    "sent": "sent",
    "summarised": "told in short",
    "window": "older than the live window",
    "excluded": "excluded by you",
    "disabled": "cannot be sent alone",
    "empty": "empty",
    "cap": "more than are sent at once",
    "memory_off": "memory is off",
    "not_activated": "no keyword was mentioned",
    "budget": "no room in the budget",
    "strategy": "gave way: newer messages took the room",
}

_STOOD_BY = {
    "secondary": "a keyword was mentioned, but what else it asks for does not hold",
    "trigger": "not for this kind of reply",
    "character": "not for this character",
    "delay": "not before there are more messages",
    "cooldown": "it rests since it fired last",
    "decorator": "its decorators keep it back",
    "group": "another of its group fired",
    "probability": "chance decided against it",
}
"""Why an entry did not fire though keywords alone would have done."""

_SHOWN = 200
"""Characters of a text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Preview:
    """A chat and what the model would see of it."""

    chat: Chat
    context: Context


def show(console: Output, preview: Preview) -> None:
    """The whole preview of one chat."""
    console.print(f"[bold]{safe(preview.chat.title)}[/]", highlight=False)
    show_receipt(console, preview.context)


def show_receipt(console: Output, context: Context) -> None:
    """The bar, the blocks in order, and what stayed out."""
    receipt = context.receipt
    counter = "approximate count" if receipt.approximate else receipt.tokenizer
    console.print(
        f"{receipt.prompt_tokens:,} of {receipt.budget:,} tokens "
        f"(context {receipt.context_limit:,}, {receipt.reserve:,} reserved for the reply) · "
        f"{counter} · {receipt.strategy}",
        highlight=False,
    )
    console.print(_bar(receipt, max(20, min(console.width, 100) - 2)))
    console.print(_legend(receipt, console.width), highlight=False)
    for note in receipt.notes:
        console.print(f"[yellow]![/] {safe(note)}", highlight=False)
    console.print()
    console.table(_sent(context, bounded=console.bounded))
    left_out = receipt.left_out()
    console.print("\n[bold]Stayed out[/]" if left_out else "\nNothing stayed out.")
    for line in left_out_lines(left_out):
        console.print(f"  {safe(line)}", highlight=False)


def left_out_lines(rows: Iterable[Row]) -> list[str]:
    """What stayed out and why, a line for each run of things that did so for one reason."""
    return [_left_out(run) for run in _runs(rows)]


def look_of(kind: Kind) -> str:
    """The colour of a kind."""
    return _LOOKS[kind][1]


def _kinds(receipt: Receipt) -> dict[Kind, int]:
    found: dict[Kind, int] = {}
    for row in receipt.sent():
        found[row.kind] = found.get(row.kind, 0) + (row.tokens or 0)
    return found


def _bar(receipt: Receipt, width: int) -> Text:
    """One cell of the bar stands for context_limit / width tokens; the reserve is at its end."""
    bar = Text()
    used = 0
    for kind, tokens in _kinds(receipt).items():
        cells = max(1, round(tokens * width / receipt.context_limit))
        cells = min(cells, width - used)
        letter, colour = _LOOKS[kind]
        bar.append(letter * cells, style=f"{colour} reverse")
        used += cells
    reserve = min(width - used, round(receipt.reserve * width / receipt.context_limit))
    bar.append("░" * (width - used - reserve), style="dim")
    bar.append("▒" * reserve, style="dim")
    return bar


def _legend(receipt: Receipt, width: int) -> Text:
    """What each letter of the bar stands for; no item is broken between two lines."""
    items = [
        Text(_LOOKS[kind][0], style=f"{_LOOKS[kind][1]} reverse").append(
            f" {kind} {tokens:,}", style="not reverse default"
        )
        for kind, tokens in _kinds(receipt).items()
    ]
    free = receipt.budget - receipt.prompt_tokens
    items += [
        Text(f"overhead {receipt.overhead:,}"),
        Text(f"░ free {free:,}"),
        Text(f"▒ reserve {receipt.reserve:,}"),
    ]
    legend, used = Text(), 0
    for item in items:
        gap = "" if not used else "  " if used + 2 + len(item) <= width else "\n"
        used = used + 2 + len(item) if gap == "  " else len(item)
        legend.append(gap).append_text(item)
    return legend


def _sent(context: Context, *, bounded: bool) -> Table:
    """The blocks in the order they are sent; the last column takes what room there is."""
    table = Table(box=None, header_style="bold", pad_edge=False, expand=bounded)
    table.add_column("tokens", justify="right", min_width=6)
    table.add_column("kind", no_wrap=True, min_width=max(map(len, _LOOKS)))
    table.add_column("what", overflow="ellipsis", no_wrap=True, ratio=1 if bounded else None)
    for row, text in zip(context.receipt.sent(), context.texts, strict=True):
        kind = Text(row.kind, style=_LOOKS[row.kind][1])
        table.add_row(f"{row.tokens:,}", kind, f"{_name(row)}{_first_line(text)}")
    table.add_row(
        f"{context.receipt.overhead:,}", "overhead", "the start of the reply", style="dim"
    )
    table.add_row(f"{context.receipt.prompt_tokens:,}", "together", style="bold")
    return table


def _name(row: Row) -> str:
    return f"{row.source.removeprefix('message:')}  " if row.source.startswith("message:") else ""


def _first_line(text: str) -> str:
    words = " ".join(text.split())
    return safe(words if len(words) <= _SHOWN else f"{words[:_SHOWN]}…")


def _runs(rows: Iterable[Row]) -> list[list[Row]]:
    """What stayed out, messages from the oldest on; those that follow for one reason are a run, and
    so are memories."""
    runs: list[list[Row]] = []
    for row in sorted(rows, key=lambda row: _range(row)[0]):
        last = runs[-1][-1] if runs else None
        many = row.kind in ("message", "memory")
        if last and many and row.kind == last.kind and why(row) == why(last):
            runs[-1].append(row)
        else:
            runs.append([row])
    return runs


def _range(row: Row) -> tuple[int, int]:
    """The first and the last message that a row stands for; (0, 0) where it is no message."""
    if row.kind != "message":
        return 0, 0
    first, _, last = row.source.removeprefix("message:").partition("/")[0].partition("-")
    return int(first), int(last or first)


def why(row: Row) -> str:
    """The reason of a row in words."""
    if row.note == SHARE:
        return "no room in its share of the budget"
    if row.note == "book":
        return "no room in the budget of its book"
    if row.reason == "not_activated" and row.note:
        return _STOOD_BY.get(row.note, row.note)
    return REASONS[row.reason] + (f" ({row.note})" if row.note else "")


def _left_out(run: Sequence[Row]) -> str:
    what = run[0].source.replace("message:", "message ").replace("memory:", "memory ")
    count = sum(row.count for row in run)
    if run[0].kind in ("lore", "entry"):
        whose = "of a lorebook" if run[0].kind == "lore" else "of memory entries"
        what = what.partition("/")[2]
        what = f"entry {what} {whose}" if what else f"{counted(count, 'entry', 'entries')} {whose}"
    elif count > 1 and run[0].kind == "memory":
        what = counted(count, "memory", "memories")
    elif count > 1:
        first, last = _range(run[0])[0], _range(run[-1])[1]
        what = f"{counted(count, 'message')} ({first:,}-{last:,})"
    tokens = sum(row.tokens or 0 for row in run)
    size = f", {counted(tokens, 'token')}" if tokens else ""
    return f"{what}{size}: {why(run[0])}"
