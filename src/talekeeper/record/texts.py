"""What a text must be to be kept: bounded, and storable on both databases."""

from collections.abc import Mapping

from talekeeper.domain.errors import InvalidInput
from talekeeper.domain.limits import LIMITS
from talekeeper.formats.json_text import UNSTORABLE

__all__ = ["check_texts", "checked", "checked_name", "storable", "storable_name"]


def checked(text: str) -> str:
    """The text of a message as a person or program gives it. InvalidInput says what is wrong."""
    if len(text) > LIMITS.message_characters:
        raise InvalidInput(
            f"A text holds at most {LIMITS.message_characters} characters; "
            f"this one has {len(text)}. Shorten or split it."
        )
    found = UNSTORABLE.search(text)
    if found:
        raise InvalidInput(
            f"Character {found.start() + 1} of the text (U+{ord(found[0]):04X}) cannot be stored. "
            "Remove it."
        )
    return text


def check_texts(value: object) -> None:
    """Check every text in a value, however deep: mappings and lists are looked into."""
    if isinstance(value, str):
        checked(value)
    elif isinstance(value, Mapping):
        for item in value.values():
            check_texts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            check_texts(item)


def checked_name(name: str, what: str) -> str:
    """A name or title: not blank, one line, bounded."""
    name = " ".join(checked(name).split())
    if not name:
        raise InvalidInput(f"{what} must not be empty.")
    if len(name) > LIMITS.title_characters:
        raise InvalidInput(f"{what} holds at most {LIMITS.title_characters} characters.")
    return name


def storable(text: str) -> str:
    """The same text with what cannot be stored replaced by U+FFFD; for imported files."""
    # An import asks this of every text: looking for what is wrong is slow, telling that nothing is
    # wrong is not.
    if "\x00" not in text and (text.isascii() or _encodable(text)):
        return text
    return UNSTORABLE.sub("\ufffd", text)


def storable_name(text: str) -> str:
    """The same for a name or title, which is cut where it is longer than one may be."""
    return storable(text)[: LIMITS.title_characters]


def _encodable(text: str) -> bool:
    """Whether UTF-8 can hold the text: it has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
