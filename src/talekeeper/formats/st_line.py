"""One line of a SillyTavern or TavernAI chat: its messages, swipes, dates and tool calls.

Knows one line at a time, nothing of the lines around it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from talekeeper.domain.chat import Part, Role, ToolCall
from talekeeper.domain.errors import UnreadableFile
from talekeeper.domain.limits import LIMITS
from talekeeper.formats.imported import (
    ImportedHeader,
    ImportedLine,
    ImportedMessage,
    ImportedSwipe,
    Notice,
    SkippedLine,
)
from talekeeper.formats.json_text import BOM, dump, encode, load_object
from talekeeper.formats.st_attachments import attachments_in
from talekeeper.formats.st_dates import parse_date
from talekeeper.formats.st_header import is_header, name_of, read_header, whole_number

__all__ = ["SYSTEM_NAME", "Names", "is_true", "read_line"]

SYSTEM_NAME = "SillyTavern System"
"""The speaker of SillyTavern's own notices and of its tool lines."""

# What SillyTavern writes into extra.type of lines that no character and no user said.
_SYSTEM_TYPES = frozenset(
    {
        "narrator",
        "comment",
        "group",
        "help",
        "welcome",
        "welcome_prompt",
        "empty",
        "generic",
        "slash_commands",
        "formatting",
        "hotkeys",
        "macros",
        "assistant_note",
    }
)

_KNOWN = frozenset(
    {
        "name",
        "is_user",
        "is_system",
        "is_name",
        "is_group",
        "send_date",
        "mes",
        "swipes",
        "swipe_id",
        "swipe_info",
        "extra",
        "force_avatar",
        "original_avatar",
        "gen_started",
        "gen_finished",
        "title",
        "chid",
    }
)
_KNOWN_EXTRA = frozenset(
    {
        "api",
        "model",
        "token_count",
        "reasoning",
        "reasoning_duration",
        "reasoning_type",
        "reasoning_signature",
        "reasoning_display_text",
        "bias",
        "isSmallSys",
        "type",
        "gen_id",
        "memory",
        "display_text",
        "image",
        "image_swipes",
        "inline_image",
        "media",
        "media_index",
        "media_display",
        "title",
        "files",
        "file",
        "fileLength",
        "tool_invocations",
        "bookmark_link",
        "time_to_first_token",
    }
)

_ADDRESS = re.compile(r"https?://|data:image/", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Names:
    """Who speaks where a line does not say so: the names in the header."""

    user: str = ""
    character: str = ""


@dataclass(slots=True)
class _Notes:
    line: int
    notices: list[Notice] = field(default_factory=list)

    def add(self, text: str, path: str | None = None) -> None:
        self.notices.append(Notice(text=text, line=self.line, path=path))


def read_line(
    raw: bytes, *, line: int, offset: int = 0, names: Names | None = None
) -> ImportedHeader | ImportedLine | SkippedLine:
    """What a line holds. A line that cannot be understood is a ``SkippedLine`` that says why.

    ``raw`` is the line with its end, ``line`` its number from 1, ``offset`` the byte at which
    it begins in its file.
    """
    if not raw.removeprefix(BOM).strip():
        return SkippedLine(line=line, raw=raw)
    notes = _Notes(line)
    try:
        value, cleaned = load_object(raw, what=f"Line {line}", offset=offset)
        if is_header(value):
            return read_header(value, raw, line)
        messages = _messages(value, line, notes, names or Names())
    except UnreadableFile as error:
        return SkippedLine(line=line, raw=raw, notices=(Notice(text=str(error), line=line),))
    for path in cleaned:
        notes.add("Holds NUL or half letters; each was replaced by U+FFFD.", path)
    return ImportedLine(
        line=line,
        raw=raw,
        messages=messages,
        notices=tuple(notes.notices),
        unknown=_unknown(value),
        attachments=attachments_in(_extra(value)),
    )


def is_true(value: object) -> bool:
    """Whether a flag is set; programs write it as text or number too."""
    if isinstance(value, str):
        return value.strip().lower() in ("true", "1", "yes")
    return bool(value)


def _unknown(value: Mapping[str, Any]) -> tuple[str, ...]:
    extra = value.get("extra")
    unknown = [key for key in value if key not in _KNOWN]
    if isinstance(extra, dict) and not extra.keys() <= _KNOWN_EXTRA:
        unknown += [f"extra.{key}" for key in extra if key not in _KNOWN_EXTRA]
    return tuple(unknown)


def _messages(
    value: Mapping[str, Any], line: int, notes: _Notes, names: Names
) -> tuple[ImportedMessage, ...]:
    extra = _extra(value)
    invocations = extra.get("tool_invocations")
    if isinstance(invocations, list):
        calls = [item for item in invocations if isinstance(item, dict)]
        if calls:
            return _tool_messages(value, extra, calls, line)
    if "mes" not in value and not isinstance(value.get("swipes"), list):
        raise UnreadableFile(f"Line {line} holds no text ('mes'): it was passed over.")
    return (_message(value, extra, line, notes, names),)


def _message(
    value: Mapping[str, Any], extra: Mapping[str, Any], line: int, notes: _Notes, names: Names
) -> ImportedMessage:
    texts, active = _texts(value, notes)
    _check_size(texts, line)
    role = _role(value, extra)
    infos = value.get("swipe_info")
    infos = infos if isinstance(infos, list) else []
    swipes = tuple(
        _swipe(text, infos[at] if at < len(infos) else None, value if at == active else None)
        for at, text in enumerate(texts)
    )
    key = value.get("original_avatar")
    return ImportedMessage(
        role=role,
        speaker=_speaker(value, role, names),
        swipes=swipes,
        active=active,
        speaker_key=key if isinstance(key, str) and key else None,
        excluded=is_true(value.get("is_system")),
        parts=_parts(extra, notes),
    )


def _role(value: Mapping[str, Any], extra: Mapping[str, Any]) -> Role:
    kind = extra.get("type")
    if isinstance(kind, str) and kind in _SYSTEM_TYPES:
        return "system"
    if is_true(value.get("is_user")):
        return "user"
    return "system" if value.get("name") == SYSTEM_NAME else "assistant"


def _speaker(value: Mapping[str, Any], role: Role, names: Names) -> str:
    name = value.get("name")
    if isinstance(name, str) and name.strip():
        return name_of(name)
    if isinstance(name, int) and not isinstance(name, bool):
        return name_of(str(name))
    return {"user": names.user, "assistant": names.character}.get(role, "")


def _check_size(texts: Sequence[str], line: int) -> None:
    if len(texts) > LIMITS.swipes:
        raise UnreadableFile(
            f"Line {line} has more than {LIMITS.swipes:,} swipes: it was passed over."
        )
    if max(map(len, texts)) > LIMITS.message_characters:
        raise UnreadableFile(
            f"Line {line} has a text of more than {LIMITS.message_characters:,} characters: "
            "it was passed over."
        )


def _texts(value: Mapping[str, Any], notes: _Notes) -> tuple[list[str], int]:
    """The swipes' texts and which is active. ``mes`` is the truth for the active one.

    SillyTavern edits ``mes`` and may leave the swipe behind; a swipe number out of range
    happens after swipes were deleted.
    """
    shown = _text(value.get("mes"), "mes", notes)
    swipes = value.get("swipes")
    if not isinstance(swipes, list) or not swipes:
        return [shown or ""], 0
    texts = [
        item if isinstance(item, str) else _text(item, f"swipes[{at}]", notes) or ""
        for at, item in enumerate(swipes)
    ]
    active = whole_number(value.get("swipe_id"), default=len(texts))
    if active < len(texts):
        if shown is not None:
            texts[active] = shown
        return texts, active
    if shown is None:
        notes.add("No swipe is marked as active; the first one is.", "swipe_id")
        return texts, 0
    if shown in texts:
        return texts, texts.index(shown)
    notes.add("The text is none of the swipes; it became a further one.", "swipe_id")
    return [*texts, shown], len(texts)


def _text(value: object, path: str, notes: _Notes) -> str | None:
    if isinstance(value, str):
        return value
    if value is None:
        if path == "mes":
            notes.add("No text; read as an empty one, or as the active swipe's.", path)
        return None
    if isinstance(value, dict) and isinstance(value.get("message"), str):
        message: str = value["message"]  # Chub's exports wrap each text
        return message
    notes.add("Not a text; read as its JSON.", path)
    return dump(value)


def _swipe(text: str, info: object, line: Mapping[str, Any] | None) -> ImportedSwipe:
    """One swipe. The line's own fields describe the active one, ``info`` the others."""
    own = line or _NOTHING
    info = info if isinstance(info, dict) else _NOTHING
    extra = _extra(own)
    more = _extra(info)
    return ImportedSwipe(
        text=text,
        sent_at=parse_date(own.get("send_date")) or parse_date(info.get("send_date")),
        model=_some_text(extra.get("model")) or _some_text(more.get("model")),
        reasoning=_some_text(extra.get("reasoning")) or _some_text(more.get("reasoning")),
    )


_NOTHING: Mapping[str, Any] = {}


def _extra(value: Mapping[str, Any]) -> Mapping[str, Any]:
    extra = value.get("extra")
    return extra if isinstance(extra, dict) else _NOTHING


def _some_text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _parts(extra: Mapping[str, Any], notes: _Notes) -> tuple[Part, ...]:
    """The pictures that have an address; others lie in SillyTavern's own folders."""
    if "image" not in extra and "media" not in extra:
        return ()
    addresses: dict[str, None] = {}
    media = extra.get("media")
    if isinstance(extra.get("image"), str) and extra["image"]:
        addresses[extra["image"]] = None
    for item in media if isinstance(media, list) else ():
        address = item.get("url") if isinstance(item, dict) else None
        if isinstance(address, str) and item.get("type", "image") == "image":
            addresses[address] = None
    found = tuple(Part(kind="image", url=url) for url in addresses if _ADDRESS.match(url))
    if len(found) < len(addresses):
        notes.add("A picture lies in a folder of SillyTavern's; only its name is kept.", "extra")
    return found


def _tool_messages(
    value: Mapping[str, Any],
    extra: Mapping[str, Any],
    calls: Sequence[Mapping[str, Any]],
    line: int,
) -> tuple[ImportedMessage, ...]:
    """A call and its results. SillyTavern's own ``mes`` shows them as HTML, which nobody said.

    SillyTavern names itself as the speaker: the caller is then left open. Its line is
    ``is_system`` though it is sent, so that is no exclusion.
    """
    sent_at = parse_date(value.get("send_date"))
    tools = [
        ToolCall(
            id=_plain(call.get("id")) or _id_of(call, at),
            name=_plain(call.get("name")),
            arguments=_plain(call.get("parameters")) or "{}",
        )
        for at, call in enumerate(calls)
    ]
    asking = _asking(value, extra, tools)
    results = [
        ImportedMessage(
            role="tool",
            speaker=name_of(tool.name),
            swipes=(ImportedSwipe(text=_plain(call.get("result")), sent_at=sent_at),),
            tool_call_id=tool.id,
        )
        for tool, call in zip(tools, calls, strict=True)
    ]
    for told in (asking, *results):
        _check_size([told.text], line)
    return (asking, *results)


def _id_of(call: Mapping[str, Any], at: int) -> str:
    """An id for a call that has none: told by what it says, so that it is always the same."""
    return f"call_{crc32(encode(dump(dict(call)))):08x}_{at}"


def _asking(
    value: Mapping[str, Any], extra: Mapping[str, Any], tools: Sequence[ToolCall]
) -> ImportedMessage:
    name = value.get("name")
    text = "" if is_true(value.get("is_system")) else _plain(value.get("mes"))
    return ImportedMessage(
        role="assistant",
        speaker=name_of(name) if isinstance(name, str) and name != SYSTEM_NAME else "",
        swipes=(
            ImportedSwipe(
                text=text,
                sent_at=parse_date(value.get("send_date")),
                model=_some_text(extra.get("model")),
                reasoning=_some_text(extra.get("reasoning")),
            ),
        ),
        tool_calls=tuple(tools),
    )


def _plain(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else dump(value)
