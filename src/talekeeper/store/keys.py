"""Keys and look-up forms shared by the store's subjects."""

import unicodedata
from typing import NamedTuple
from uuid import UUID

__all__ = ["LAST_NUMBER", "ChatKey", "is_id", "lookup_key"]

LAST_NUMBER = 2**31 - 1
"""The highest number that a message can have: the databases keep it as an integer of 32 bits."""


class ChatKey(NamedTuple):
    """A chat of an account. Every query about a chat names both."""

    account: str
    chat: str


def lookup_key(name: str) -> str:
    """The form in which names and titles are compared: NFC, casefolded, spaces collapsed."""
    return " ".join(unicodedata.normalize("NFC", name).casefold().split())


def is_id(value: str) -> bool:
    """Whether ``value`` can be an id at all; anything else is not looked up as one."""
    try:
        return str(UUID(value)) == value.lower()
    except ValueError:
        return False
