"""Write messages back into the lines of a SillyTavern chat, changing only what changed.

Knows one line at a time. Line ends between lines, and none after the last, are the caller's.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

from talekeeper.domain.chat import Message, Swipe
from talekeeper.domain.errors import InvalidInput
from talekeeper.domain.settings import AuthorsNote
from talekeeper.formats.card_fields import DEPTH_ROLES
from talekeeper.formats.imported import ImportedHeader, ImportedLine, ImportedMessage
from talekeeper.formats.json_splice import spliced
from talekeeper.formats.json_text import BOM, decode_utf8, dump, encode, load_object
from talekeeper.formats.st_dates import format_date
from talekeeper.formats.st_header import UNUSED_NAME
from talekeeper.formats.st_line import is_true, read_line
from talekeeper.formats.st_tools import new_tool_line, with_tool_results

__all__ = ["write_header", "write_line"]

# What SillyTavern exchanges, besides the text, when another swipe becomes the active one.
_SWIPE_FIELDS = ("send_date", "gen_started", "gen_finished")
_SWIPE_EXTRAS = (
    "api",
    "model",
    "reasoning",
    "reasoning_duration",
    "reasoning_type",
    "reasoning_signature",
    "token_count",
    "time_to_first_token",
    "gen_id",
)


def write_header(
    *,
    raw: bytes | None = None,
    integrity: str | None = None,
    main_chat: str | None = None,
    authors_note: AuthorsNote | None = None,
) -> bytes:
    """The header line: ``raw`` with what is given and differs, or a new one.

    ``raw`` None means there is no file yet, ``b""`` a file without a header, which stays so
    unless there is something to say. A new header has no line end. InvalidInput: ``raw`` is no
    header.
    """
    given = {"integrity": integrity, "main_chat": main_chat}
    metadata: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    if authors_note is not None:
        metadata |= {
            "note_prompt": authors_note.text,
            "note_interval": 1,
            "note_position": 1,
            "note_depth": authors_note.depth,
            "note_role": DEPTH_ROLES.index(authors_note.role),
        }
    if raw:
        return _changed_header(raw, metadata, authors_note)
    if raw is not None and not metadata:
        return raw
    names = {"user_name": UNUSED_NAME, "character_name": UNUSED_NAME}
    return encode(dump({"chat_metadata": metadata, **names}))


def _changed_header(raw: bytes, metadata: dict[str, Any], note: AuthorsNote | None) -> bytes:
    header = read_line(raw, line=1)
    if not isinstance(header, ImportedHeader):
        raise InvalidInput("The line given as a header is none: give the file's own header.")
    if note == header.authors_note or (note and not note.text and not header.authors_note):
        metadata = {key: metadata[key] for key in metadata if not key.startswith("note_")}
    old, _ = load_object(raw, what="The header")
    before = old.get("chat_metadata")
    before = before if isinstance(before, dict) else {}
    if all(key in before and before[key] == value for key, value in metadata.items()):
        return raw
    return _respliced(raw, old, {**old, "chat_metadata": {**before, **metadata}})


def write_line(
    messages: Message | Sequence[Message],
    raw: bytes | None = None,
    *,
    speaker_key: str | None = None,
) -> bytes:
    """The line of a message, or of a tool call and its results, which share one.

    ``raw`` is the line they were read from: it comes back as it is where they say the same,
    else with only ``mes``, ``swipes``, ``swipe_id``, ``swipe_info``, ``is_system``, ``name`` or
    the tool results changed, and what SillyTavern exchanges together with a swipe. Key order,
    unknown keys and the line end stay. Tool lines cannot be excluded in this format.

    It is two lines where a message both speaks and calls tools, since SillyTavern keeps those
    apart. Without ``raw`` it is written as SillyTavern 1.15 does, without a line end.
    ``speaker_key`` is the group member's card file. InvalidInput: ``raw`` holds no message, or
    there is no message to write.
    """
    group = [messages] if isinstance(messages, Message) else list(messages)
    if not group:
        raise InvalidInput("There is no message to write: give at least one.")
    if raw is None:
        return _new_line(group, speaker_key)
    line = read_line(raw, line=1)
    if not isinstance(line, ImportedLine):
        raise InvalidInput("The line kept with this message holds no message: write it anew.")
    old, _ = load_object(raw, what="The line")
    if line.messages[0].tool_calls:
        new = with_tool_results(old, line.messages, group)
    else:
        new = _changed_line(old, line.messages[0], group[0])
    written = raw if new is old else _respliced(raw, old, new)
    if line.messages[0].tool_calls and group[0].role != "tool" and group[0].text:
        # A tool line has no place for it: what the caller says by now goes before, on its own.
        end = raw[len(raw.rstrip(b"\r\n")) :] or b"\n"
        return encode(dump(_new_message(group[0], speaker_key))) + end + written
    return written


def _respliced(raw: bytes, old: dict[str, Any], new: dict[str, Any]) -> bytes:
    mark = BOM if raw.startswith(BOM) else b""
    return mark + encode(spliced(decode_utf8(raw, what="The line"), old, new))


def _changed_line(old: dict[str, Any], was: ImportedMessage, message: Message) -> dict[str, Any]:
    swipes = _in_order(message)
    active = _active(message)
    changes: dict[str, Any] = {}
    if message.excluded != is_true(old.get("is_system")):
        changes["is_system"] = message.excluded
    name = old.get("name")
    if message.speaker != was.speaker and isinstance(name, str) and name.strip():
        changes["name"] = message.speaker
    texts = [swipe.text for swipe in swipes]
    if texts != [swipe.text for swipe in was.swipes] or active != was.active:
        changes["mes"] = _wrapped(texts[active], old.get("mes"))
        if len(texts) > 1 or old.get("swipes"):
            places = _places(was, swipes)
            changes |= {"swipes": _swipe_texts(old, was, swipes, places), "swipe_id": active}
            if len(swipes) != len(was.swipes) or active != was.active:
                changes |= _exchanged(old, was, swipes, places, active)
    return {**old, **changes} if changes else old


def _wrapped(text: str, before: object) -> Any:
    """The text in the wrapping it had, if any (Chub's exports have one)."""
    if isinstance(before, dict) and isinstance(before.get("message"), str):
        return {**before, "message": text}
    return text


def _swipe_texts(
    old: dict[str, Any], was: ImportedMessage, swipes: Sequence[Swipe], places: Sequence[int | None]
) -> list[Any]:
    """The list ``swipes``: what was there where it still says the same, else the new text."""
    had = old.get("swipes")
    had = had if isinstance(had, list) else []
    return [
        swipe.text
        if place is None or place >= len(had)
        else had[place]
        if place != was.active and was.swipes[place].text == swipe.text
        else _wrapped(swipe.text, had[place])
        for swipe, place in zip(swipes, places, strict=True)
    ]


def _exchanged(
    old: dict[str, Any],
    was: ImportedMessage,
    swipes: Sequence[Swipe],
    places: Sequence[int | None],
    active: int,
) -> dict[str, Any]:
    """``swipe_info`` in step with the swipes, and the fields that follow the active swipe."""
    infos = old.get("swipe_info")
    infos = infos if isinstance(infos, list) else []
    extra = old.get("extra")
    extra = extra if isinstance(extra, dict) else {}
    own = {key: old[key] for key in _SWIPE_FIELDS if key in old}
    own["extra"] = {key: extra[key] for key in _SWIPE_EXTRAS if key in extra}
    kept: list[dict[str, Any]] = []
    for swipe, place in zip(swipes, places, strict=True):
        if place is not None and place < len(infos) and isinstance(infos[place], dict):
            kept.append(infos[place])
        else:
            kept.append(own if place == was.active else _info(swipe))
    changes: dict[str, Any] = {"swipe_info": kept}
    if places[active] != was.active:
        info = kept[active]
        inner = info.get("extra")
        inner = inner if isinstance(inner, dict) else {}
        cleared = {"reasoning": ""} if "reasoning" in extra else {}
        changes |= {key: info[key] for key in _SWIPE_FIELDS if key in info}
        changes["extra"] = {
            **extra,
            **cleared,
            **{key: inner[key] for key in _SWIPE_EXTRAS if key in inner},
        }
    return changes


def _places(was: ImportedMessage, swipes: Sequence[Swipe]) -> list[int | None]:
    """For each swipe, its place among those that were read; None for a new one.

    While none was taken away, place follows place, edited or not. Else texts tell.
    """
    before = [swipe.text for swipe in was.swipes]
    if len(swipes) >= len(before):
        return [at if at < len(before) else None for at in range(len(swipes))]
    left = dict(enumerate(before))
    places: list[int | None] = []
    for swipe in swipes:
        place = next((at for at, text in left.items() if text == swipe.text), None)
        places.append(place)
        if place is not None:
            del left[place]
    return places


def _in_order(message: Message) -> list[Swipe]:
    return sorted(message.swipes, key=lambda swipe: swipe.index)


def _active(message: Message) -> int:
    return [swipe.index for swipe in _in_order(message)].index(message.active)


def _info(swipe: Swipe) -> dict[str, Any]:
    return {**_date(swipe.sent_at), "extra": _extra(swipe)}


def _date(sent_at: datetime | None) -> dict[str, str]:
    return {} if sent_at is None else {"send_date": format_date(sent_at)}


def _extra(swipe: Swipe) -> dict[str, Any]:
    known = {"model": swipe.model, "reasoning": swipe.reasoning}
    return {key: value for key, value in known.items() if value}


def _new_line(group: Sequence[Message], speaker_key: str | None) -> bytes:
    first = group[0]
    lines: list[Mapping[str, Any]] = []
    if first.role != "tool" and (first.text or not first.swipe.tool_calls):
        lines.append(_new_message(first, speaker_key))
    if first.role == "tool" or first.swipe.tool_calls:
        lines.append(new_tool_line(group))
    return b"\n".join(encode(dump(line)) for line in lines)


def _new_message(message: Message, speaker_key: str | None) -> dict[str, Any]:
    swipes = _in_order(message)
    extra = _extra(message.swipe)
    if message.role == "system":
        extra = {"type": "narrator", **extra}
    if message.swipe.parts:
        extra["media"] = [{"url": part.url, "type": part.kind} for part in message.swipe.parts]
    line: dict[str, Any] = {
        "name": message.speaker,
        "is_user": message.role == "user",
        "is_system": message.excluded,
        **_date(message.swipe.sent_at),
        "mes": message.text,
        "extra": extra,
    }
    if speaker_key is not None:
        line |= {
            "original_avatar": speaker_key,
            "force_avatar": f"/thumbnail?type=avatar&file={quote(speaker_key)}",
        }
    if message.role == "assistant" or len(swipes) > 1:
        line |= {
            "swipes": [swipe.text for swipe in swipes],
            "swipe_id": _active(message),
            "swipe_info": [_info(swipe) for swipe in swipes],
        }
    return line
