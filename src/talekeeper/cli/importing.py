"""``talekeeper import``: order, progress, and what came in."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from talekeeper.cli.plain import safe
from talekeeper.domain.errors import TalekeeperError, UnreadableFile
from talekeeper.formats.imported import Notice
from talekeeper.keeper import Keeper
from talekeeper.record.report import ImportReport

__all__ = ["Failure", "import_all", "progress", "show"]

_PNG = b"\x89PNG"
_NOTICES_SHOWN = 10
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """A file that did not come in, and why."""

    file: str
    error: str
    code: str

    def as_json(self) -> dict[str, Any]:
        """The documented JSON shape."""
        return {"file": self.file, "error": {"code": self.code, "message": self.error}}


@contextmanager
def progress(console: Console) -> Iterator[Progress]:
    """A progress bar on a terminal, nothing elsewhere."""
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        yield bar


async def import_all(
    keeper: Keeper, files: Sequence[Path], dry_run: bool, bar: AbstractContextManager[Progress]
) -> list[ImportReport | Failure]:
    """Import files, cards first and branches last; one that fails does not stop the others."""
    outcomes: list[ImportReport | Failure] = []
    with bar as shown:
        for path in sorted(files, key=_turn):
            task = shown.add_task(safe(path.name), total=_size(path))
            try:
                report = await keeper.files.import_file(
                    path, dry_run=dry_run, progress=partial(_advance, shown, task)
                )
            except TalekeeperError as error:
                text = str(error)
                if isinstance(error, UnreadableFile) and path.name not in text:
                    text = f"{path}: {text}"
                outcomes.append(Failure(file=str(path), error=text, code=error.code))
            else:
                outcomes.append(replace(report, file=str(path)))
            shown.remove_task(task)
    return outcomes


def _advance(shown: Progress, task: TaskID, read: int) -> None:
    shown.update(task, completed=read)


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _turn(path: Path) -> int:
    """Cards come before chats, so that chats find their characters; parents before branches."""
    try:
        with path.open("rb") as stream:
            head = stream.read(65536)
    except OSError:
        return 0
    first, _, rest = head.partition(b"\n")
    if head.startswith(_PNG) or b'"first_mes"' in head or not rest.lstrip().startswith(b"{"):
        return 0
    return 2 if b'"main_chat"' in first else 1


def show(console: Console, outcomes: Iterable[ImportReport | Failure], *, dry_run: bool) -> None:
    """One paragraph a file: what came in, what was kept but not understood, warnings."""
    for outcome in outcomes:
        if isinstance(outcome, Failure):
            console.print(f"[red]✗[/] {safe(outcome.file)}: not imported")
            continue
        said = (_DRY if dry_run else _OUTCOMES)[outcome.outcome]
        console.print(f"[green]✓[/] [bold]{safe(outcome.title)}[/] — {said}", highlight=False)
        for line in _details(outcome):
            console.print(f"    {safe(line)}", highlight=False)
        _show_notices(console, outcome)


def _details(report: ImportReport) -> Iterator[str]:
    if report.kind == "character":
        yield (
            f"character, {report.book_entries} entries in its book"
            if report.book_entries
            else ("character")
        )
    else:
        yield (
            f"{report.messages} messages ({report.added} added), {report.swipes} swipes, "
            f"{report.excluded} excluded"
        )
        if report.skipped_lines:
            yield f"{report.skipped_lines} lines were not understood; they are kept for export"
    if report.id:
        yield f"id {report.id}"
    if report.unknown:
        names = ", ".join(list(report.unknown)[:8])
        more = f" and {len(report.unknown) - 8} more" if len(report.unknown) > 8 else ""
        yield f"kept but not understood: {names}{more}"


def _show_notices(console: Console, report: ImportReport) -> None:
    for notice in report.notices[:_NOTICES_SHOWN]:
        console.print(f"    [yellow]![/] {safe(_place(notice))}", highlight=False)
    hidden = len(report.notices) - _NOTICES_SHOWN + report.notices_left_out
    if hidden > 0:
        console.print(f"    [yellow]![/] and {hidden} more warnings (--json lists them)")


def _place(notice: Notice) -> str:
    where = [f"line {notice.line}"] if notice.line and "ine " not in notice.text[:5] else []
    where += [notice.path] if notice.path else []
    return f"{', '.join(where)}: {notice.text}" if where else notice.text
