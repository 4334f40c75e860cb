"""Which files an import reads, and in what order; folders are searched, pipes kept.

Knows no format: what a file is, ``talekeeper.formats`` tells.
"""

import errno
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from talekeeper.domain.errors import InvalidInput, UnreadableFile
from talekeeper.formats.detect import HEAD_BYTES, sniff
from talekeeper.formats.imported import ImportedHeader
from talekeeper.formats.st_chat import read_st_chat

__all__ = ["Failure", "Gathered", "PassedOver", "Pipe", "gather", "pipes"]

_STDIN = Path("-")
_IN_MEMORY = 8_000_000
_ENDINGS = (".json", ".jsonl", ".png")


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """A file or folder that did not come in, and why."""

    file: str
    error: str
    code: str

    def as_json(self) -> dict[str, Any]:
        """The documented JSON shape."""
        return {"file": self.file, "error": {"code": self.code, "message": self.error}}


@dataclass(frozen=True, kw_only=True, slots=True)
class PassedOver:
    """A file in a folder that is neither a card nor a chat, and why that is known."""

    file: str
    reason: str

    def as_json(self) -> dict[str, Any]:
        """The documented JSON shape."""
        return {"file": self.file, "passed_over": self.reason}


@dataclass(frozen=True, kw_only=True, slots=True)
class Gathered:
    """The files to import, in their order; those ``found`` in folders may be something else.

    ``passed_over`` lists what is something else without a look inside, ``failures`` the folders
    that cannot be read.
    """

    files: Sequence[Path]
    found: frozenset[Path]
    passed_over: Sequence[PassedOver]
    failures: Sequence[Failure]

    @property
    def one(self) -> bool:
        """Whether it is a single file, and nothing else is to be said."""
        return len(self.files) == 1 and not self.passed_over and not self.failures


def gather(names: Iterable[Path]) -> Gathered:
    """The files meant, folders searched to their depth; each file once.

    Cards come first, then chats, then branches.
    """
    files: dict[Path, Path] = {}
    found: set[Path] = set()
    passed_over: dict[Path, PassedOver] = {}
    failures: list[Failure] = []
    for name in names:
        if name == _STDIN or not os.path.isdir(name):  # noqa: PTH112 - never raises
            files[name.absolute()] = name
            found.discard(name.absolute())
            continue
        for path in _inside(name, failures):
            reason = _foreign(path)
            if reason is not None:
                passed_over[path.absolute()] = PassedOver(file=str(path), reason=reason)
            elif path.absolute() not in files:
                files[path.absolute()] = path
                found.add(path.absolute())
    return Gathered(
        files=sorted(files.values(), key=_turn),
        found=frozenset(files[path] for path in found),
        passed_over=[item for path, item in passed_over.items() if path not in files],
        failures=failures,
    )


def _inside(folder: Path, failures: list[Failure]) -> Iterator[Path]:
    """The files in a folder and those below it, by name; links to folders are not followed."""

    def refuse(error: OSError) -> None:
        text = f"{error.filename}: {error.strerror}. Name the files in it one by one."
        failures.append(Failure(file=str(error.filename), error=text, code=UnreadableFile.code))

    for where, folders, names in os.walk(folder, onerror=refuse):
        folders.sort()
        for name in sorted(names):
            yield Path(where) / name


def _foreign(path: Path) -> str | None:
    """Why a file in a folder is no card and no chat, where that is known without opening it."""
    if path.suffix.lower() not in _ENDINGS:
        return f"The name does not end in {', '.join(_ENDINGS[:-1])} or {_ENDINGS[-1]}."
    if _piped(path):
        return "It is a pipe, a socket or a device."
    return None


def _turn(path: Path) -> int:
    """Cards come before chats, so that chats find their characters; parents before branches."""
    if _piped(path):
        return 1
    try:
        with path.open("rb") as stream:
            if sniff(stream.read(HEAD_BYTES)) != "chat_jsonl":
                return 0
            stream.seek(0)
            header = next(read_st_chat(stream))
    except (OSError, UnreadableFile):
        return 0  # the import says what is wrong with it
    return 2 if isinstance(header, ImportedHeader) and header.main_chat else 1


def _piped(path: Path) -> bool:
    """Whether what is read there comes once and in order only: standard input, a pipe."""
    if path == _STDIN:
        return True
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False


@dataclass(frozen=True, kw_only=True, slots=True)
class Pipe:
    """What came through a pipe, as a file that can be read twice, and what it is called.

    ``error`` says why it could not be read; then nothing came.
    """

    label: str
    title: str
    stream: IO[bytes]
    error: OSError | None = None


@contextmanager
def pipes(files: Sequence[Path], name: str | None) -> Iterator[Mapping[Path, Pipe]]:
    """Each file that is a pipe, read to its end.

    A little is kept in memory, more in a temporary file that is gone at the end. ``name`` is what
    the only one is called; InvalidInput where there is none or another one.
    """
    piped = [path for path in files if _piped(path)]
    if name is not None and len(piped) != 1:
        raise InvalidInput("--name says what standard input is called: read it with -, and once.")
    with ExitStack() as stack:
        yield {path: _spooled(stack, path, name) for path in piped}


def _spooled(stack: ExitStack, path: Path, name: str | None) -> Pipe:
    spool = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - the stack's
    stack.enter_context(spool)
    called = "stdin" if path == _STDIN else path.name
    label = name or ("stdin" if path == _STDIN else str(path))
    error = None
    try:
        with _standard_input() if path == _STDIN else path.open("rb") as stream:
            shutil.copyfileobj(stream, spool)
    except OSError as found:
        error = found
    spool.seek(0)
    return Pipe(label=label, title=name or called, stream=spool, error=error)


def _standard_input() -> AbstractContextManager[IO[bytes]]:
    if sys.stdin is None:  # it was closed before the program began
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    return nullcontext(sys.stdin.buffer)
