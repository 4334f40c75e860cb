"""What kind of file this is, told by its content, never by its name.

Knows only as much of each kind as is needed to tell it from the others.
"""

from collections.abc import Mapping
from typing import Any, Literal

from talekeeper.domain.errors import UnreadableFile
from talekeeper.formats.json_text import BOM, DECODER

__all__ = [
    "HEAD_BYTES",
    "PNG_SIGNATURE",
    "FileKind",
    "OtherFile",
    "sniff",
]

FileKind = Literal["card_png", "card_json", "lorebook", "chat_jsonl"]
"""What can be read: a character card in a PNG or JSON file, a lorebook, a SillyTavern or TavernAI
chat."""

HEAD_BYTES = 262_144
"""How much of a file ``sniff`` wants to see at most; more does not help it."""

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


class OtherFile(UnreadableFile):
    """A file that is of another kind than what is read, and as far as it was read not damaged."""


_CONTAINERS = (
    (b"PK\x03\x04", "a ZIP archive (CHARX, BYAF or other)"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"RIFF", "a WebP picture or another RIFF file"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"%PDF", "a PDF document"),
    (b"rcc||", "an encrypted RisuAI card"),
)

_CHOOSE = "choose a character card (PNG or JSON) or a SillyTavern chat (JSONL)."
_ADVICE = f"which is not read yet: {_CHOOSE}"

_LINES = 50  # a chat whose first lines are broken is still a chat


def sniff(head: bytes) -> FileKind:
    """The kind of the file that begins with ``head``: its first ``HEAD_BYTES``, or all of it.

    OtherFile says what the file is where it is none of the three kinds.
    """
    if head.startswith(PNG_SIGNATURE):
        return "card_png"
    _refuse_container(head)
    text = head.removeprefix(BOM).decode("utf-8", "replace").lstrip()
    if text.startswith("{"):
        return _kind_of_json(text, whole=len(head) < HEAD_BYTES)
    if any(_is_chat_line(line) for line in _objects(text)):
        return "chat_jsonl"
    raise OtherFile(f"This file is {_kind_of_text(text)}: {_CHOOSE}")


def _refuse_container(head: bytes) -> None:
    """OtherFile where a file begins like an archive, a picture or no UTF-8 text at all."""
    if not head.removeprefix(BOM).strip():
        raise OtherFile("The file is empty: choose another one.")
    for signature, name in _CONTAINERS:
        if head.startswith(signature):
            raise OtherFile(f"This file is {name}, {_ADVICE}")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in head[:4]:
        raise OtherFile("This file is UTF-16 or UTF-32 text, or no text at all: save it as UTF-8.")


def _is_chat_line(line: Mapping[str, Any]) -> bool:
    """Whether a JSON object is a header or a message of a SillyTavern or TavernAI chat."""
    if "mes" in line:
        return "name" in line or "is_user" in line
    return bool(line.keys() & {"chat_metadata", "user_name", "is_user"})


def _foreign_kind(document: Mapping[str, Any]) -> str | None:
    """The name of another kind of JSON file that ``document`` is; None where it is none known.

    Sources: the exports' own programs, as collected in SillyTavern's import dispatch.
    """
    kind = document.get("type")
    if kind in ("risuChat", "risuAllChats"):
        return "a RisuAI chat export"
    keys = document.keys()
    for marks, name in _FOREIGN:
        if marks <= keys:
            return name
    if "messages" in keys:
        return _message_log(document["messages"])
    return None


def _is_lorebook(document: Mapping[str, Any]) -> bool:
    """Whether a JSON object begins like a lorebook; a card may hold one, but is none."""
    if document.get("type") == "risu" or document.get("kind") == "memory":
        return True
    if document.get("spec") == "lorebook_v3" or "lorebookVersion" in document:
        return True
    return "entries" in document and not document.keys() & {"first_mes", "char_name"}


_FOREIGN = (
    ({"savedsettings"}, "a Kobold Lite story"),
    ({"histories"}, "a Character.AI chat dump"),
    ({"turns"}, "a Character.AI chat dump"),
    ({"turn_key"}, "a Character.AI chat dump"),
    ({"candidates"}, "a Character.AI chat dump"),
    ({"data_visible"}, "an oobabooga chat"),
    ({"visible", "internal"}, "an oobabooga chat"),
    ({"members", "chats"}, "a SillyTavern group definition"),
    ({"members", "chat_id"}, "a SillyTavern group definition"),
    ({"members", "activation_strategy"}, "a SillyTavern group definition"),
)


def _message_log(messages: object) -> str:
    first = messages[0] if isinstance(messages, list) and messages else None
    if isinstance(first, dict) and "msg" in first:
        return "an Agnai chat export"
    if isinstance(first, dict) and "content" in first:
        return "a message log of an OpenAI-compatible program"
    return "a message log of another program"


def _kind_of_json(text: str, *, whole: bool) -> FileKind:
    first_line = text.partition("\n")[0]
    document = _object(first_line)
    if document is None:  # a document of many lines, or a line cut off at the end of the head
        document = _begun_object(text)
    if str(document.get("spec")).startswith("chara_card"):
        return "card_json"
    if _is_lorebook(document):
        return "lorebook"
    name = _foreign_kind(document)
    if name is not None:
        raise OtherFile(f"This file is {name}, {_ADVICE}")
    if _is_chat_line(document) or any(_is_chat_line(line) for line in _objects(text)):
        return "chat_jsonl"
    if document.keys() & {"spec", "data", "name", "char_name"} or (document and not whole):
        return "card_json"
    raise OtherFile(f"This file is {_kind_of_text(text)}: {_CHOOSE}")


def _kind_of_text(text: str) -> str:
    if text.startswith("{"):
        return "JSON, but neither a character card, a lorebook nor a chat"
    if text.startswith("["):
        return "a JSON list"
    return "plain text or of an unknown kind"


def _objects(text: str) -> list[dict[str, Any]]:
    """The JSON objects among the first lines."""
    lines = [line for line in text.split("\n", _LINES)[:_LINES] if line.startswith("{")]
    return [value for line in lines if (value := _object(line)) is not None]


def _object(line: str) -> dict[str, Any] | None:
    try:
        value = DECODER.decode(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _begun_object(text: str, start: int = 0, depth: int = 2) -> dict[str, Any]:
    """The members of an object whose end may be missing, as far as they are there.

    The member that is cut off gets what is there of its value: its members where it is an
    object, else nothing.
    """
    found: dict[str, Any] = {}
    at = _after_blank(text, start + 1)
    while text[at : at + 1] == '"':
        try:
            key, after = DECODER.raw_decode(text, at)
        except ValueError:
            break
        colon = _after_blank(text, after)
        value = _after_blank(text, colon + 1)
        try:
            found[key], end = DECODER.raw_decode(text, value)
        except (ValueError, RecursionError):
            inner = depth > 1 and text[value : value + 1] == "{"
            found[key] = _begun_object(text, value, depth - 1) if inner else None
            break
        comma = _after_blank(text, end)
        at = _after_blank(text, comma + 1) if text[comma : comma + 1] == "," else len(text)
    return found


def _after_blank(text: str, at: int) -> int:
    while text[at : at + 1] in (" ", "\t", "\n", "\r"):
        at += 1
    return at
