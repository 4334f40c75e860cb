"""Foreign text on a terminal: it may say anything and must do nothing."""

import re

from rich.markup import escape

__all__ = ["plain", "safe"]

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def plain(text: str) -> str:
    """The text without characters that steer a terminal or turn the writing direction around."""
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))


def safe(text: str) -> str:
    """The text as it can be put into rich's markup: no control characters, no markup of its own."""
    return escape(plain(text))
