"""Messages and swipes as rows of their tables, and back."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Row

from talekeeper.domain.chat import Message, Part, Swipe, ToolCall
from talekeeper.store.keys import ChatKey

__all__ = ["calls_from_json", "message_row", "parts_from_json", "swipe_from_row", "swipe_row"]


def swipe_from_row(row: Row[*tuple[Any, ...]]) -> Swipe:
    """The swipe that a row of the swipes table holds."""
    return Swipe(
        index=row.swipe,
        text=row.text,
        tokens=row.tokens,
        tokenizer=row.tokenizer,
        sent_at=row.sent_at,
        model=row.model,
        reasoning=row.reasoning,
        tool_calls=calls_from_json(row.tool_calls),
        parts=parts_from_json(row.parts),
    )


def calls_from_json(value: Sequence[Mapping[str, Any]] | None) -> tuple[ToolCall, ...]:
    """The tool calls stored with a swipe."""
    return tuple(ToolCall(**call) for call in value) if value else ()


def parts_from_json(value: Sequence[Mapping[str, Any]] | None) -> tuple[Part, ...]:
    """The parts stored with a swipe."""
    return tuple(Part(**part) for part in value) if value else ()


def message_row(
    key: ChatKey, message: Message, *, line: int | None = None, line_version: int | None = None
) -> dict[str, Any]:
    """The columns of a message."""
    return {
        "account_id": key.account,
        "chat_id": key.chat,
        "number": message.number,
        "role": message.role,
        "speaker": message.speaker,
        "character_id": message.character_id,
        "active": message.active,
        "turn": message.turn,
        "cell": message.cell,
        "excluded": message.excluded,
        "forget": message.forget,
        "learnable": message.learnable,
        "version": message.version,
        "external_id": message.external_id,
        "tool_call_id": message.tool_call_id,
        "line": line,
        "line_version": line_version,
    }


def swipe_row(key: ChatKey, number: int, swipe: Swipe) -> dict[str, Any]:
    """The columns of a swipe."""
    return {
        "account_id": key.account,
        "chat_id": key.chat,
        "number": number,
        "swipe": swipe.index,
        "text": swipe.text,
        "tokens": swipe.tokens,
        "tokenizer": swipe.tokenizer,
        "sent_at": swipe.sent_at,
        "model": swipe.model,
        "reasoning": swipe.reasoning,
        "tool_calls": [asdict(call) for call in swipe.tool_calls] or None,
        "parts": [asdict(part) for part in swipe.parts] or None,
    }
