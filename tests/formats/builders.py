"""Files built in code: cards, pictures, chats; and where the shared samples lie, if they do."""

import base64
import io
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import png
import pytest
from _pytest.mark.structures import ParameterSet

from talekeeper.domain.chat import Message, Role, Swipe, ToolCall
from talekeeper.formats.imported import ImportedHeader, ImportedLine, ImportedMessage, SkippedLine
from talekeeper.formats.st_chat import read_st_chat

SHARED = Path(__file__).parents[2].parent / "shared" / "formats"

Chunk = tuple[bytes, bytes]


def samples(*patterns: str) -> list[ParameterSet]:
    """The shared sample files of the patterns, as parameters; one skipped where there are none."""
    found = sorted({path for pattern in patterns for path in SHARED.glob(pattern)})
    if not found:
        reason = f"no sample files {', '.join(patterns)} in the folder shared beside the repository"
        return [pytest.param(None, marks=pytest.mark.skip(reason=reason))]
    return [pytest.param(path, id=str(path.relative_to(SHARED))) for path in found]


def dumps(value: object) -> bytes:
    """JSON as JavaScript writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def v2(**data: Any) -> dict[str, Any]:
    """A V2 card; ``data`` replaces or adds fields."""
    return {
        "spec": "chara_card_v2",
        "spec_version": "2.0",
        "data": {"name": "Mara", "first_mes": "Hello.", **data},
    }


def v3(**data: Any) -> dict[str, Any]:
    """A V3 card."""
    return {**v2(**data), "spec": "chara_card_v3", "spec_version": "3.0"}


def text_chunk(keyword: str, value: bytes) -> Chunk:
    return b"tEXt", keyword.encode() + b"\0" + value


def card_chunk(keyword: str, document: Mapping[str, Any]) -> Chunk:
    return text_chunk(keyword, base64.b64encode(dumps(document)))


def picture(*before: Chunk, after: tuple[Chunk, ...] = ()) -> bytes:
    """A picture of one pixel with chunks before and after its data."""
    chunks = [
        (b"IHDR", b"\0\0\0\1\0\0\0\1\x08\0\0\0\0"),
        *before,
        (b"IDAT", zlib.compress(b"\0\0")),
        *after,
        (b"IEND", b""),
    ]
    out = io.BytesIO()
    png.write_chunks(out, chunks)
    return out.getvalue()


def chunks_of(data: bytes) -> list[Chunk]:
    return list(png.Reader(bytes=data).chunks())


HEADER: dict[str, Any] = {
    "chat_metadata": {"integrity": "0000"},
    "user_name": "unused",
    "character_name": "unused",
}


def line(mes: object = "Hello.", **fields: Any) -> dict[str, Any]:
    """A message line of a character."""
    return {"name": "Mara", "is_user": False, "is_system": False, "mes": mes, **fields}


def chat(*lines: object) -> bytes:
    """A chat file; bytes are put in as they are."""
    return b"\n".join(item if isinstance(item, bytes) else dumps(item) for item in lines)


Item = ImportedHeader | ImportedLine | SkippedLine


def read(data: bytes) -> list[Item]:
    """All items of a chat file. Checks what holds for every file: nothing is lost."""
    items = list(read_st_chat(io.BytesIO(data)))
    assert isinstance(items[0], ImportedHeader)
    assert not any(isinstance(item, ImportedHeader) for item in items[1:])
    assert b"".join(item.raw for item in sorted(items, key=lambda item: item.line)) == data
    return items


def read_lines(*lines: object) -> list[ImportedLine | SkippedLine]:
    """The items after the header of a chat with these lines after a header."""
    return [item for item in read(chat(HEADER, *lines)) if not isinstance(item, ImportedHeader)]


def read_one(value: object) -> ImportedLine:
    """The one line of a chat, which must hold messages."""
    (item,) = read_lines(value)
    assert isinstance(item, ImportedLine), item
    return item


def said(value: object) -> ImportedMessage:
    """The one message of the one line of a chat."""
    (message,) = read_one(value).messages
    return message


def swipe(index: int, text: str, **fields: Any) -> Swipe:
    return Swipe(index=index, text=text, tokens=1, tokenizer="test", **fields)


def message(
    *texts: str,
    role: Role = "assistant",
    speaker: str = "Mara",
    active: int = 0,
    swipes: tuple[Swipe, ...] = (),
    **fields: Any,
) -> Message:
    """A stored message; ``texts`` are its swipes."""
    held = swipes or tuple(swipe(at, text) for at, text in enumerate(texts))
    return Message(
        number=1,
        role=role,
        speaker=speaker,
        active=active,
        turn=1,
        cell=1,
        version=1,
        swipes=held,
        **fields,
    )


def stored(imported: ImportedMessage, **fields: Any) -> Message:
    """An imported message as a store would give it back."""
    held = tuple(
        swipe(
            at,
            item.text,
            sent_at=item.sent_at,
            model=item.model,
            reasoning=item.reasoning,
            tool_calls=imported.tool_calls if at == imported.active else (),
            parts=imported.parts if at == imported.active else (),
        )
        for at, item in enumerate(imported.swipes)
    )
    values: dict[str, Any] = {
        "role": imported.role,
        "speaker": imported.speaker,
        "active": imported.active,
        "swipes": held,
        "excluded": imported.excluded,
        "tool_call_id": imported.tool_call_id,
        **fields,
    }
    return message(**values)


def tool_line(*results: tuple[str, str, str], **fields: Any) -> dict[str, Any]:
    """SillyTavern's line of tool calls; each is (id, name, result)."""
    invocations = [
        {
            "id": key,
            "displayName": name.title(),
            "name": name,
            "parameters": '{"place":"mill"}',
            "result": result,
            "error": False,
            "signature": None,
            "reasoning": None,
        }
        for key, name, result in results
    ]
    return {
        "name": "SillyTavern System",
        "force_avatar": "img/five.png",
        "is_system": True,
        "is_user": False,
        "mes": "<details><summary>Tool calls</summary></details>",
        "extra": {"isSmallSys": True, "tool_invocations": invocations, "model": "m"},
        **fields,
    }


def call(key: str = "c1", name: str = "weather", arguments: str = "{}") -> ToolCall:
    return ToolCall(id=key, name=name, arguments=arguments)
