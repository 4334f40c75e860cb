"""The first line of a SillyTavern or TavernAI chat: what the file says of itself.

Does not know the messages.
"""

from collections.abc import Mapping
from typing import Any

from talekeeper.domain.limits import LIMITS
from talekeeper.domain.settings import AuthorsNote
from talekeeper.formats.card_fields import DEPTH_ROLES
from talekeeper.formats.imported import ImportedHeader, Notice
from talekeeper.formats.st_dates import parse_date

__all__ = ["UNUSED_NAME", "is_header", "name_of", "read_header", "whole_number"]

UNUSED_NAME = "unused"
"""What SillyTavern writes for both names since 1.14."""

_DEEPEST_NOTE = 10_000


def is_header(value: Mapping[str, Any]) -> bool:
    """Whether a line is a header: by what it holds, never by where it stands."""
    return "chat_metadata" in value or ("user_name" in value and "mes" not in value)


def read_header(value: Mapping[str, Any], raw: bytes, line: int) -> ImportedHeader:
    """The header in a line's object."""
    metadata = value.get("chat_metadata")
    if not isinstance(metadata, dict):
        metadata = {}
    notices: list[Notice] = []
    note = _authors_note(metadata, line, notices)
    if isinstance(value.get("notes"), str) and value["notes"].strip():
        notices.append(
            Notice(text="TavernAI's note is kept in the file, not used.", line=line, path="notes")
        )
    return ImportedHeader(
        line=line,
        raw=raw,
        user_name=_name(value.get("user_name")),
        character_name=_name(value.get("character_name")),
        created_at=parse_date(value.get("create_date")),
        integrity=_text(metadata.get("integrity")),
        main_chat=_text(metadata.get("main_chat")),
        authors_note=note,
        group=isinstance(value.get("character_names"), list),
        notices=tuple(notices),
    )


def _name(value: object) -> str | None:
    name = _text(value)
    return None if name in (None, UNUSED_NAME) else name_of(name)


def name_of(text: str) -> str:
    """The name, cut where it is longer than one may be. The line itself keeps all of it."""
    return text[: LIMITS.title_characters]


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _authors_note(
    metadata: Mapping[str, Any], line: int, notices: list[Notice]
) -> AuthorsNote | None:
    def tell(text: str, key: str) -> None:
        notices.append(Notice(text=text, line=line, path=f"chat_metadata.{key}"))

    text = _text(metadata.get("note_prompt"))
    interval = whole_number(metadata.get("note_interval"), default=1)
    if text is None:
        return None
    if interval == 0:
        tell(
            "The author's note is switched off; it is kept in the file, not used.", "note_interval"
        )
        return None
    if interval > 1:
        tell(f"The author's note was sent every {interval} turns; now every turn.", "note_interval")
    if whole_number(metadata.get("note_position"), default=1) != 1:
        tell("The author's note stood at the prompt's start; now at its depth.", "note_position")
    role = whole_number(metadata.get("note_role"), default=0)
    depth = whole_number(metadata.get("note_depth"), default=AuthorsNote().depth)
    return AuthorsNote.model_validate(
        {
            "text": text,
            "depth": min(depth, _DEEPEST_NOTE),
            "role": DEPTH_ROLES[role] if role < len(DEPTH_ROLES) else DEPTH_ROLES[0],
        }
    )


def whole_number(value: object, *, default: int) -> int:
    """A number from 0, of digits too; the default for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0:
        return int(value)
    return default
