"""What ``talekeeper import`` says: a line a file, what is to be known about it, and a summary."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from rich.console import Console

from talekeeper.cli.gathering import Failure, PassedOver
from talekeeper.cli.importing import Outcome
from talekeeper.cli.plain import counted, safe
from talekeeper.formats.imported import Notice
from talekeeper.record.report import ImportReport

__all__ = ["show", "show_end"]

_NOTICES_SHOWN = 10
_PASSED_OVER_SHOWN = 20
_OUTCOMES = {
    "new": "imported",
    "longer": "a longer version: its tail was added",
    "branch": "a branch: imported as a fork",
    "present": "there already: nothing added",
    "filled": "imported: it fills the character that a chat had named",
    "updated": "a newer file of what is there: its changes were taken over",
}
_DRY = {
    "new": "would be imported",
    "longer": "a longer version: its tail would be added",
    "branch": "a branch: would become a fork",
    "present": "there already: nothing would be added",
    "filled": "would fill the character that a chat had named",
    "updated": "a newer file of what is there: its changes would be taken over",
}
_KINDS: Sequence[Literal["chat", "character", "lorebook"]] = ("chat", "character", "lorebook")
_SUMMED = (
    (("new", "branch", "filled"), "came in", "would come in"),
    (("longer",), "grew", "would grow"),
    (("updated",), "changed", "would change"),
)
"""The outcomes that a file can have, and what the summary says of their chats and characters."""


def show(console: Console, outcome: Outcome, *, dry_run: bool, details: bool) -> None:
    """One line, then the warnings; with ``details`` also the id and what was not understood."""
    if isinstance(outcome, PassedOver):
        return
    if isinstance(outcome, Failure):
        console.print(f"[red]✗[/] {safe(outcome.file)}: not imported", soft_wrap=True)
        return
    said = (_DRY if dry_run else _OUTCOMES)[outcome.outcome]
    console.print(
        f"[green]✓[/] [bold]{safe(outcome.title)}[/] — {said} ({_counts(outcome)})",
        highlight=False,
        soft_wrap=True,
    )
    for line in _details(outcome) if details else ():
        console.print(f"    {safe(line)}", highlight=False, soft_wrap=True)
    _show_notices(console, outcome)


def show_end(console: Console, outcomes: Sequence[Outcome], *, dry_run: bool) -> None:
    """The files in folders that are something else, and one line on all where they are several."""
    found = [outcome for outcome in outcomes if isinstance(outcome, PassedOver)]
    for item in found[:_PASSED_OVER_SHOWN]:
        console.print(
            f"[dim]–[/] {safe(item.file)}: passed over. {safe(item.reason)}",
            highlight=False,
            soft_wrap=True,
        )
    if len(found) > _PASSED_OVER_SHOWN:
        console.print(f"– and {len(found) - _PASSED_OVER_SHOWN} more (--json lists them)")

    if len(outcomes) > 1:
        console.print(_summary(outcomes, dry_run), highlight=False, soft_wrap=True)
    elif len(found) == len(outcomes):
        console.print("No cards, lorebooks or chats there.", highlight=False)


def _summary(outcomes: Sequence[Outcome], dry_run: bool) -> str:
    reports = [outcome for outcome in outcomes if isinstance(outcome, ImportReport)]
    said = [
        f"{_kinds(reports, which)} {would if dry_run else done}"
        for which, done, would in _SUMMED
        if any(report.outcome in which for report in reports)
    ] or [f"nothing {'would come in' if dry_run else 'came in'}"]
    present = sum(report.outcome == "present" for report in reports)
    failed = sum(isinstance(outcome, Failure) for outcome in outcomes)
    passed = len(outcomes) - len(reports) - failed
    said += [f"{present} there already"] * bool(present)
    said += [f"{failed} refused"] * bool(failed)
    said += [f"{passed} passed over"] * bool(passed)
    return f"{counted(len(outcomes), 'file')}: {', '.join(said)}"


def _kinds(reports: Sequence[ImportReport], outcomes: Sequence[str]) -> str:
    """How many chats, characters and lorebooks had one of these outcomes."""
    kinds = Counter(report.kind for report in reports if report.outcome in outcomes)
    said = [counted(kinds[kind], kind) for kind in _KINDS if kinds[kind]]
    return " and ".join([", ".join(said[:-1]), said[-1]] if len(said) > 1 else said)


def _counts(report: ImportReport) -> str:
    if report.kind == "lorebook":
        return f"lorebook, {counted(report.book_entries, 'entry', 'entries')}"
    if report.kind == "character":
        entries = counted(report.book_entries, "entry", "entries")
        return f"character, {entries} in its book" if report.book_entries else "character"
    return (
        f"{counted(report.messages, 'message')}, {report.added:,} added, "
        f"{counted(report.swipes, 'swipe')}, {report.excluded:,} excluded"
    )


def _details(report: ImportReport) -> Iterator[str]:
    if report.skipped_lines:
        lines = counted(report.skipped_lines, "line was", "lines were")
        yield f"{lines} not understood; kept for export"
    if report.id:
        yield f"id {report.id}"
    if report.unknown:
        names = ", ".join(list(report.unknown)[:8])
        more = f" and {len(report.unknown) - 8} more" if len(report.unknown) > 8 else ""
        yield f"kept but not understood: {names}{more}"


def _show_notices(console: Console, report: ImportReport) -> None:
    for notice in report.notices[:_NOTICES_SHOWN]:
        console.print(f"    [yellow]![/] {safe(_place(notice))}", highlight=False, soft_wrap=True)
    hidden = len(report.notices) - _NOTICES_SHOWN + report.notices_left_out
    if hidden > 0:
        more = counted(hidden, "more warning")
        console.print(f"    [yellow]![/] and {more} (--json lists them)", highlight=False)


def _place(notice: Notice) -> str:
    where = [f"line {notice.line}"] if notice.line and "ine " not in notice.text[:5] else []
    where += [notice.path] if notice.path else []
    return f"{', '.join(where)}: {notice.text}" if where else notice.text
