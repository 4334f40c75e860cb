"""Files of saved memories: an open JSON format, read within limits and written.

``{"format": "talekeeper-memories", "version": 1, "memories": [...]}``. Does not know which
characters there are, nor how many memories fit.
"""

import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictStr
from pydantic import ValidationError as Wrong

from talekeeper.domain.errors import InvalidInput, UnreadableFile
from talekeeper.domain.limits import LIMITS
from talekeeper.domain.memory import Author, checked_memory
from talekeeper.domain.wording import wrong
from talekeeper.formats.json_text import dump, encode, load_object

__all__ = ["FORMAT", "FiledMemory", "read_memories", "write_memories"]

FORMAT = "talekeeper-memories"
VERSION = 1

_WHAT = "This file of memories"


def _moment(value: object) -> datetime:
    if not isinstance(value, str):
        raise ValueError("a moment is a text such as 2026-05-03T17:42:00+00:00")
    try:
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is None:
            raise ValueError("a moment needs its zone, as in 2026-05-03T17:42:00+00:00")
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("this moment is out of all time") from None


_Moment = Annotated[datetime, BeforeValidator(_moment)]


class FiledMemory(BaseModel):
    """One memory of a file. ``character`` is a name, None in the global scope.

    ``by`` is who said so last; ``updated_at`` when it began to say what it says. What the file does
    not tell is None.
    """

    model_config = ConfigDict(frozen=True)

    text: StrictStr
    scope: Literal["global", "character"]
    character: Annotated[StrictStr, Field(max_length=LIMITS.title_characters)] | None = None
    pinned: StrictBool = False
    by: Author = "person"
    created_at: _Moment | None = None
    updated_at: _Moment | None = None

    @property
    def owner(self) -> str | None:
        """The name of the character whose scope it is, None for the global scope."""
        return self.character if self.scope == "character" else None


class _File(BaseModel):
    format: Literal["talekeeper-memories"]
    version: Literal[1]
    memories: list[FiledMemory]


def read_memories(data: bytes) -> Sequence[FiledMemory]:
    """The memories of a file, each checked. UnreadableFile says what is wrong, and with which."""
    if len(data) > LIMITS.memory_file_bytes:
        raise UnreadableFile(
            f"{_WHAT} is larger than {LIMITS.memory_file_bytes:,} bytes: split it."
        )
    document, unstorable = load_object(data, what=_WHAT)
    if document.get("format") != FORMAT:
        raise UnreadableFile(
            f'This is no file of memories: one says "format": "{FORMAT}". Choose another one.'
        )
    if document.get("version") != VERSION or isinstance(document.get("version"), bool):
        raise UnreadableFile(
            f"{_WHAT} is not of version {VERSION}: export it anew, or upgrade Talekeeper."
        )
    if unstorable:
        raise UnreadableFile(
            f"{_WHAT} holds a character that cannot be stored, in {unstorable[0]}: remove it."
        )
    try:
        found = _File.model_validate(document).memories
    except Wrong as error:
        raise UnreadableFile(f"{_place(error)} {_said(error)}.") from None
    return [_checked(at, memory) for at, memory in enumerate(found, start=1)]


def _checked(at: int, memory: FiledMemory) -> FiledMemory:
    if memory.scope == "character" and not (memory.character or "").strip():
        raise UnreadableFile(f"Memory {at} of the file names no character: say whose it is.")
    try:
        text = checked_memory(memory.text)
    except InvalidInput as error:
        raise UnreadableFile(f"Memory {at} of the file cannot be kept. {error}") from None
    name = unicodedata.normalize("NFC", memory.character).strip() if memory.character else None
    return memory.model_copy(update={"text": text, "character": name})


def _place(error: Wrong) -> str:
    place = error.errors()[0]["loc"]
    if len(place) < 2 or not isinstance(place[1], int):
        return f"{_WHAT}: {'.'.join(map(str, place))}"
    field = ".".join(str(part) for part in place[2:])
    return f"Memory {place[1] + 1} of the file: {field}".removesuffix(": ")


def _said(error: Wrong) -> str:
    return "is missing" if error.errors()[0]["type"] == "missing" else wrong(error)


def write_memories(memories: Sequence[FiledMemory]) -> bytes:
    """The file that holds these memories, in this order."""
    listed: list[dict[str, Any]] = [
        {
            "text": memory.text,
            "scope": memory.scope,
            "character": memory.owner,
            "pinned": memory.pinned,
            "by": memory.by,
            "created_at": memory.created_at.isoformat() if memory.created_at else None,
            "updated_at": memory.updated_at.isoformat() if memory.updated_at else None,
        }
        for memory in memories
    ]
    document = {"format": FORMAT, "version": VERSION, "memories": listed}
    return encode(f"{dump(document, indent=2)}\n")
