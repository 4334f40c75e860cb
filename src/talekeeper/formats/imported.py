"""What a reader of a foreign file yields: values, with the raw bytes beside them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from talekeeper.domain.character import Card
from talekeeper.domain.chat import Part, Role, ToolCall
from talekeeper.domain.settings import AuthorsNote

__all__ = [
    "CardFormat",
    "ImportedCard",
    "ImportedHeader",
    "ImportedLine",
    "ImportedMessage",
    "ImportedSwipe",
    "Notice",
    "SkippedLine",
]

CardFormat = Literal["v1", "v2", "v3"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Notice:
    """Something the person should know: what was tolerated, changed or passed over, and where.

    ``line`` counts from 1 in line-based files; ``path`` is a field path such as ``data.tags``.
    """

    text: str
    line: int | None = None
    path: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportedCard:
    """A character card. ``document`` is its whole JSON as it stood, unknown fields included.

    ``unknown`` lists the paths of fields that are kept but not understood.
    """

    format: CardFormat
    card: Card
    document: Mapping[str, Any]
    notices: tuple[Notice, ...] = ()
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportedSwipe:
    """One alternative text. ``sent_at`` is None where the file does not tell."""

    text: str
    sent_at: datetime | None = None
    model: str | None = None
    reasoning: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportedMessage:
    """One utterance of a line (a tool line holds several). ``active`` indexes ``swipes``.

    ``speaker_key`` identifies the speaker where names do not (a group member's card file).
    """

    role: Role
    speaker: str
    swipes: tuple[ImportedSwipe, ...]
    active: int = 0
    speaker_key: str | None = None
    excluded: bool = False
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    parts: tuple[Part, ...] = ()

    @property
    def text(self) -> str:
        """The active text."""
        return self.swipes[self.active].text


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportedHeader:
    """What a chat file says of itself. All may be unknown; a file without header has no ``raw``.

    ``integrity`` identifies the file's chat, ``main_chat`` names the chat it branched from.
    """

    line: int
    raw: bytes = b""
    user_name: str | None = None
    character_name: str | None = None
    created_at: datetime | None = None
    integrity: str | None = None
    main_chat: str | None = None
    authors_note: AuthorsNote | None = None
    group: bool = False
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportedLine:
    """One line that holds messages. ``raw`` is the line as it stood, its line end included.

    ``unknown`` lists top-level and ``extra`` fields that are kept but not understood,
    ``attachments`` the names of files that hang on it and are no pictures.
    """

    line: int
    raw: bytes
    messages: tuple[ImportedMessage, ...]
    notices: tuple[Notice, ...] = ()
    unknown: tuple[str, ...] = field(default=())
    attachments: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class SkippedLine:
    """A line that holds no message: blank, or not to be understood. Kept for the way back."""

    line: int
    raw: bytes
    notices: tuple[Notice, ...] = ()
