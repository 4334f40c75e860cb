"""``talekeeper import``: one file after the other, with progress, until done or stopped."""

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

import anyio
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from talekeeper.cli.gathering import Gathered, PassedOver
from talekeeper.cli.plain import counted, safe
from talekeeper.domain.errors import TalekeeperError, UnreadableFile
from talekeeper.keeper import Keeper
from talekeeper.record.report import ImportReport

__all__ = ["Failure", "Outcome", "Run", "Stopped"]

_NAMES_SAID = 5


class Stopped(Exception):
    """The user stopped a command; says what is done and what is not."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """A file that did not come in, and why."""

    file: str
    error: str
    code: str

    def as_json(self) -> dict[str, Any]:
        """The documented JSON shape."""
        return {"file": self.file, "error": {"code": self.code, "message": self.error}}


Outcome = ImportReport | Failure | PassedOver


class Run:
    """One import of one or more files. One that fails does not stop the others.

    ``streams`` holds the files that came through a pipe; ``name`` is what those are called.
    ``tell`` is called with each outcome as soon as it is there. ``outcomes`` grows meanwhile;
    ``stopped`` says that the user broke it off.
    """

    def __init__(
        self,
        gathered: Gathered,
        *,
        streams: Mapping[Path, IO[bytes]],
        name: str,
        dry_run: bool,
        tell: Callable[[Outcome], None],
    ) -> None:
        self.outcomes: list[Outcome] = []
        self.stopped = False
        self._files = gathered.files
        self._passed_over = gathered.passed_over
        self._streams = streams
        self._name = name
        self._dry_run = dry_run
        self._tell = tell
        self._under_way: Path | None = None

    async def go(self, keeper: Keeper, console: Console) -> None:
        """Import all files; ``console`` shows the progress. Ends early when the user says so."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._watch, group.cancel_scope)
            with _progress(console) as shown:
                for path in self._files:
                    self._under_way = path
                    self._take(await self._outcome(keeper, path, shown))
            for item in self._passed_over:
                self._take(item)
            group.cancel_scope.cancel()

    async def _watch(self, scope: anyio.CancelScope) -> None:
        """End the run at Ctrl-C: what is written at that moment is written to its end."""
        try:
            with anyio.open_signal_receiver(signal.SIGINT) as signals:
                async for _ in signals:
                    self.stopped = True
                    scope.cancel()
        except NotImplementedError:
            return  # Windows: the interrupt reaches the event loop by itself

    def _take(self, outcome: Outcome) -> None:
        self._under_way = None
        self.outcomes.append(outcome)
        self._tell(outcome)

    async def _outcome(self, keeper: Keeper, path: Path, shown: Progress) -> Outcome:
        task = shown.add_task(safe(path.name), total=_size(path))
        try:
            report = await self._import(keeper, path, partial(_advance, shown, task))
        except TalekeeperError as error:
            text = str(error)
            if isinstance(error, UnreadableFile) and path.name not in text:
                text = f"{path}: {text}"
            return Failure(file=str(path), error=text, code=error.code)
        finally:
            shown.remove_task(task)
        return replace(report, file=str(path))

    async def _import(
        self, keeper: Keeper, path: Path, progress: Callable[[int], None]
    ) -> ImportReport:
        files, dry_run = keeper.files, self._dry_run
        if path not in self._streams:
            return await files.import_file(path, dry_run=dry_run, progress=progress)
        stream = cast("BinaryIO", self._streams[path])
        return await files.import_stream(stream, self._name, dry_run=dry_run, progress=progress)

    @property
    def failures(self) -> Sequence[Failure]:
        """The files that did not come in."""
        return [outcome for outcome in self.outcomes if isinstance(outcome, Failure)]

    def stopped_at(self) -> Stopped:
        """Which files came in before the user broke it off, and that the last one left nothing."""
        came = [outcome.file for outcome in self.outcomes if isinstance(outcome, ImportReport)]
        more = f" and {len(came) - _NAMES_SAID} more" if len(came) > _NAMES_SAID else ""
        read = "Read" if self._dry_run else "Came in"
        said = [f"Stopped. {read}: {', '.join(came[:_NAMES_SAID]) or 'nothing'}{more}."]
        if self._under_way:
            said.append(f"{self._under_way} was under way and left nothing.")
        rest = len(self._files) - len(came) - len(self.failures) - bool(self._under_way)
        if rest:
            said.append(f"Not begun: {counted(rest, 'file')}.")
        return Stopped(" ".join(said))


@contextmanager
def _progress(console: Console) -> Iterator[Progress]:
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


def _advance(shown: Progress, task: TaskID, read: int) -> None:
    shown.update(task, completed=read)


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None
