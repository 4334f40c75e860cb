"""``talekeeper import``: one file after the other, with progress, until done or stopped."""

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import BinaryIO, cast

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

from talekeeper.cli.gathering import Failure, Gathered, PassedOver, Pipe
from talekeeper.cli.plain import counted, safe
from talekeeper.domain.errors import TalekeeperError, UnreadableFile
from talekeeper.formats.detect import OtherFile
from talekeeper.keeper import Keeper
from talekeeper.record.report import ImportReport

__all__ = ["Outcome", "Run", "Stopped"]

_NAMES_SAID = 5


class Stopped(Exception):
    """The user stopped a command; says what is done and what is not."""


Outcome = ImportReport | Failure | PassedOver


class Run:
    """One import of one or more files. One that fails does not stop the others.

    ``streams`` holds the files that came through a pipe. ``tell`` is called with each outcome as
    soon as it is there. ``outcomes`` grows meanwhile; ``stopped`` says that the user broke it off,
    ``unheard`` why nothing can be told any more: that is no reason to leave the rest out.
    """

    def __init__(
        self,
        gathered: Gathered,
        *,
        streams: Mapping[Path, Pipe],
        dry_run: bool,
        tell: Callable[[Outcome], None],
    ) -> None:
        self.outcomes: list[Outcome] = []
        self.stopped = False
        self.unheard: OSError | None = None
        self._gathered = gathered
        self._streams = streams
        self._dry_run = dry_run
        self._tell = tell
        self._under_way: Path | None = None
        self._begun = 0

    async def go(self, keeper: Keeper, console: Console) -> None:
        """Import all files; ``console`` shows the progress. Ends early when the user says so."""
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._watch, group.cancel_scope)
                await self._all(keeper, console)
                group.cancel_scope.cancel()
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None

    async def _all(self, keeper: Keeper, console: Console) -> None:
        for failure in self._gathered.failures:
            self._take(failure)
        with _progress(console) as shown:
            for path in self._gathered.files:
                self._under_way = path
                self._begun += 1
                self._take(await self._outcome(keeper, path, shown))
        for item in self._gathered.passed_over:
            self._take(item)

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
        if self.unheard is None:
            try:
                self._tell(outcome)
            except OSError as error:
                self.unheard = error

    async def _outcome(self, keeper: Keeper, path: Path, shown: Progress) -> Outcome:
        label = self._label(path)
        task = shown.add_task(safe(path.name), total=_size(path))
        try:
            report = await self._import(keeper, path, partial(_advance, shown, task))
        except TalekeeperError as error:
            text = str(error)
            if isinstance(error, OtherFile) and path in self._gathered.found:
                return PassedOver(file=label, reason=text)
            if isinstance(error, UnreadableFile) and path.name not in text:
                text = f"{label}: {text}"
            return Failure(file=label, error=text, code=error.code)
        finally:
            shown.remove_task(task)
        return replace(report, file=label)

    async def _import(
        self, keeper: Keeper, path: Path, progress: Callable[[int], None]
    ) -> ImportReport:
        files, dry_run = keeper.files, self._dry_run
        pipe = self._streams.get(path)
        if pipe is None:
            return await files.import_file(path, dry_run=dry_run, progress=progress)
        if pipe.error:
            raise UnreadableFile(f"It cannot be read: {pipe.error.strerror or pipe.error}.")
        stream = cast("BinaryIO", pipe.stream)
        return await files.import_stream(stream, pipe.title, dry_run=dry_run, progress=progress)

    def _label(self, path: Path) -> str:
        pipe = self._streams.get(path)
        return pipe.label if pipe else str(path)

    @property
    def failures(self) -> Sequence[Failure]:
        """What did not come in."""
        return [outcome for outcome in self.outcomes if isinstance(outcome, Failure)]

    def stopped_at(self) -> Stopped:
        """Which files came in before the user broke it off, and that the last one left nothing."""
        came = [outcome.file for outcome in self.outcomes if isinstance(outcome, ImportReport)]
        more = f" and {len(came) - _NAMES_SAID} more" if len(came) > _NAMES_SAID else ""
        read = "Read" if self._dry_run else "Came in"
        said = [f"Stopped. {read}: {', '.join(came[:_NAMES_SAID]) or 'nothing'}{more}."]
        if self._under_way:
            said.append(f"{self._label(self._under_way)} was under way and left nothing.")
        rest = len(self._gathered.files) - self._begun
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
