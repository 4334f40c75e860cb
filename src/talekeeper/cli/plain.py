"""Words on a terminal: foreign text may say anything and must do nothing; plurals are right."""

import re

from rich.markup import escape

__all__ = ["counted", "plain", "safe"]

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def plain(text: str) -> str:
    """The text without characters that steer a terminal or turn the writing direction around."""
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))


def safe(text: str) -> str:
    """The text as it can be put into rich's markup: no control characters, no markup of its own."""
    return escape(plain(text))


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number and its noun: "1 message", "12 messages", "2 entries"."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
