"""Which files an import reads, and in what order; folders are searched.

Knows what may be a card or a chat, not what it brings.
"""

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from talekeeper.domain.errors import InvalidInput, UnreadableFile
from talekeeper.domain.limits import LIMITS
from talekeeper.formats.card import read_card
from talekeeper.formats.detect import HEAD_BYTES, sniff

__all__ = ["STDIN", "Gathered", "PassedOver", "gather", "piped", "spooled"]

STDIN = Path("-")
"""The name that stands for standard input."""

_IN_MEMORY = 8_000_000
_ENDINGS = (".json", ".jsonl", ".png")
_PNG = b"\x89PNG"
_CARD_IN_PNG = re.compile(rb"(?:tEXt|zTXt|iTXt)(?:chara|ccv3)\x00", re.IGNORECASE)


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
    """The files to import, in their order, and those in folders that are something else."""

    files: Sequence[Path]
    passed_over: Sequence[PassedOver]


def gather(names: Iterable[Path]) -> Gathered:
    """The files meant, folders searched to their depth; each file once.

    Cards come first, then chats, then branches. A file that was named itself is never passed over.
    InvalidInput for a folder that cannot be read.
    """
    files: dict[Path, Path] = {}
    passed_over: dict[Path, PassedOver] = {}
    for name in names:
        if name == STDIN or not name.is_dir():
            files.setdefault(name.absolute(), name)
            continue
        for path in _inside(name):
            reason = _foreign(path)
            if reason is None:
                files.setdefault(path.absolute(), path)
            else:
                passed_over[path.absolute()] = PassedOver(file=str(path), reason=reason)
    return Gathered(
        files=sorted(files.values(), key=_turn),
        passed_over=[item for path, item in passed_over.items() if path not in files],
    )


def _inside(folder: Path) -> Iterator[Path]:
    """The files in a folder and those below it, by name; links to folders are not followed."""
    for where, folders, names in os.walk(folder, onerror=_refuse):
        folders.sort()
        for name in sorted(names):
            yield Path(where) / name


def _refuse(error: OSError) -> None:
    raise InvalidInput(f"{error.filename}: {error.strerror}. Name the files in it one by one.")


def _foreign(path: Path) -> str | None:
    """Why a file is no card and no chat; None where it is one, be it a damaged one."""
    if path.suffix.lower() not in _ENDINGS:
        return f"The name does not end in {', '.join(_ENDINGS[:-1])} or {_ENDINGS[-1]}."
    try:
        with path.open("rb") as stream:
            head = stream.read(HEAD_BYTES)
            kind = sniff(head)
            if kind == "chat_jsonl" or b'"chara_card' in head:
                return None
            whole = head + stream.read(LIMITS.card_bytes + 1 - len(head))
        if kind == "card_json":
            read_card(whole)
        elif not _CARD_IN_PNG.search(whole):
            return "This PNG picture holds no character card."
    except UnreadableFile as error:
        return str(error)
    except OSError:
        return None  # the import says what is wrong with it
    return None


def piped(path: Path) -> bool:
    """Whether what is read there comes once and in order only: standard input, a pipe."""
    return path == STDIN or (path.exists() and not path.is_file())


@contextmanager
def spooled(path: Path) -> Iterator[IO[bytes]]:
    """What comes through a pipe, to its end, as a file that can be read twice.

    A little is kept in memory, more in a temporary file that is gone at the end.
    """
    with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as spool:
        with nullcontext(sys.stdin.buffer) if path == STDIN else path.open("rb") as stream:
            shutil.copyfileobj(stream, spool)
        spool.seek(0)
        yield spool


def _turn(path: Path) -> int:
    """Cards come before chats, so that chats find their characters; parents before branches."""
    if piped(path):
        return 1
    try:
        with path.open("rb") as stream:
            head = stream.read(65536)
    except OSError:
        return 0
    first, _, rest = head.partition(b"\n")
    if head.startswith(_PNG) or b'"first_mes"' in head or not rest.lstrip().startswith(b"{"):
        return 0
    return 2 if b'"main_chat"' in first else 1
