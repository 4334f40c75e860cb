"""The difference of two receipts on a terminal: sizes, kinds, then what came, went and changed."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from talekeeper.cli.output import Output
from talekeeper.cli.plain import counted, safe
from talekeeper.cli.previewing import left_out_lines, look_of, why
from talekeeper.domain.block import Row
from talekeeper.domain.receipt_diff import ReceiptDiff, RowChange

__all__ = ["show_diff"]


def show_diff(console: Output, found: ReceiptDiff) -> None:
    """The whole difference."""
    for which, receipt in (("before", found.before), ("after", found.after)):
        console.print(
            f"{which + ':':<8}{receipt.prompt_tokens:,} of {receipt.budget:,} tokens · "
            f"{safe(receipt.tokenizer)} · {safe(receipt.strategy)}",
            highlight=False,
        )
    if found.alike:
        console.print("\nThe model sees the same.")
        return
    console.print()
    console.table(_kinds(found))
    _show_rows(console, "Only before", found.gone)
    _show_rows(console, "Only after", found.new)
    if found.changed:
        console.print("\n[bold]Otherwise[/]")
    for run in _runs(found.changed):
        console.print(f"  {safe(_changed(run))}", highlight=False)
    console.print(f"\n{counted(found.same, 'row')} alike.", highlight=False)


def _kinds(found: ReceiptDiff) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("kind", no_wrap=True)
    for name in ("before", "after", "change"):
        table.add_column(name, justify="right", no_wrap=True)
    for kind, (before, after) in found.kinds.items():
        change = f"{after - before:+,}" if after != before else ""
        table.add_row(Text(kind, style=look_of(kind)), f"{before:,}", f"{after:,}", change)
    before, after = found.before.prompt_tokens, found.after.prompt_tokens
    change = f"{after - before:+,}" if after != before else ""
    table.add_row("together", f"{before:,}", f"{after:,}", change, style="bold")
    return table


def _show_rows(console: Output, title: str, rows: Sequence[Row]) -> None:
    if not rows:
        return
    console.print(f"\n[bold]{title}[/]")
    sent = [row for row in rows if row.reason == "sent"]
    for row in sent:
        size = counted(row.tokens or 0, "token")
        named = f"{row.kind} {row.source.removeprefix(f'{row.kind}:')}"
        console.print(f"  {safe(named)}, {size}: sent", highlight=False)
    for line in left_out_lines([row for row in rows if row.reason != "sent"]):
        console.print(f"  {safe(line)}", highlight=False)


def _runs(changes: Sequence[RowChange]) -> list[list[RowChange]]:
    """The changes; messages or memories that follow each other with the same change are a run."""
    runs: list[list[RowChange]] = []
    for change in changes:
        if runs and _alike(runs[-1][-1]) == _alike(change) is not None:
            runs[-1].append(change)
        else:
            runs.append([change])
    return runs


def _alike(change: RowChange) -> tuple[object, ...] | None:
    """What the changes of a run share; None where one stands alone."""
    before, after = change.before, change.after
    single = before.kind in ("message", "memory") and "-" not in _thing(change)
    if not single or change.rewritten or before.reason == after.reason:
        return None
    return before.kind, why(before), why(after)


def _changed(run: Sequence[RowChange]) -> str:
    change = run[0]
    before, after = change.before, change.after
    named = _thing(change)
    if len(run) > 1:
        named = f"{named} to {_thing(run[-1])} ({len(run)} of them)"
    said = [f"{before.kind} {named.replace(f'{before.kind}:', '')}"]
    if (before.reason, before.note) != (after.reason, after.note):
        said.append(f"{why(before)} → {why(after)}")
    elif before.source != after.source:
        said.append(why(after))
    if change.rewritten:
        said.append("another text")
    known = before.tokens is not None and after.tokens is not None
    if len(run) == 1 and known and before.tokens != after.tokens:
        said.append(f"{before.tokens:,} → {after.tokens:,} tokens")
    if before.count != after.count and 1 not in (before.count, after.count):
        said.append(f"{before.count:,} → {after.count:,} of them")
    return ", ".join(said)


def _thing(change: RowChange) -> str:
    """What it is: one thing that is among many in the other is named by itself."""
    before, after = change.before.source, change.after.source
    if before == after:
        return before
    single = [source for source in (before, after) if "/" in source]
    return single[0] if single else f"{before} → {after}"
