"""SillyTavern chat files made in code."""

import json
from io import BytesIO
from typing import Any

__all__ = ["chat_file", "header", "line", "reply", "said"]


def header(**metadata: Any) -> dict[str, Any]:
    """A header as SillyTavern writes it since 1.14."""
    return {"chat_metadata": metadata, "user_name": "unused", "character_name": "unused"}


def line(name: str, text: str, **more: Any) -> dict[str, Any]:
    """A message line."""
    return {
        "name": name,
        "is_user": False,
        "is_system": False,
        "send_date": "2026-05-12T09:00:00.000Z",
        "mes": text,
        "extra": {},
        **more,
    }


def said(text: str, **more: Any) -> dict[str, Any]:
    """A line of the user's, Anna."""
    return line("Anna", text, is_user=True, **more)


def reply(text: str, *others: str, active: int | None = None, **more: Any) -> dict[str, Any]:
    """A line of Mira's; ``others`` are further swipes, ``active`` is the chosen one."""
    swipes = [text, *others]
    chosen = len(others) if active is None else active
    return line("Mira", swipes[chosen], swipes=swipes, swipe_id=chosen, **more)


def chat_file(*lines: dict[str, Any] | bytes, end: bytes = b"") -> BytesIO:
    """The lines as a file; bytes stand for themselves."""
    raw = [
        one if isinstance(one, bytes) else json.dumps(one, ensure_ascii=False).encode()
        for one in lines
    ]
    return BytesIO(b"\n".join(raw) + end)
