"""What an imported chat is called, and what its person is told where the file is two things."""

from collections.abc import Iterator
from pathlib import PurePath
from typing import NamedTuple

from sqlalchemy import Connection

from talekeeper.domain.limits import LIMITS
from talekeeper.formats.imported import Notice
from talekeeper.record.relation import Relation
from talekeeper.record.texts import storable_name
from talekeeper.store import chats as chat_rows
from talekeeper.store import titles
from talekeeper.store.keys import ChatKey, lookup_key

__all__ = ["Naming", "naming"]


class Naming(NamedTuple):
    """The title of the chat that a file is or becomes, and what should be said of it."""

    title: str
    notices: tuple[Notice, ...] = ()


def naming(connection: Connection, account: str, file_name: str, relation: Relation) -> Naming:
    """The chat's own title where it is there already; else the file's name without its ending.

    A version that stands beside another one of the same title gets a number.
    """
    if relation.chat and relation.kind != "branch":
        title = chat_rows.state(connection, ChatKey(account, relation.chat)).title
        return Naming(title, tuple(Notice(text=text) for text in _differences(relation)))
    title = storable_name(PurePath(file_name).stem)
    title = title if title.strip() else "Imported chat"
    if relation.kind == "new" and relation.claimed is None:
        return Naming(title)
    title = _free(connection, account, title)
    if relation.claimed is None:
        return Naming(title)
    other = chat_rows.state(connection, ChatKey(account, relation.claimed)).title
    what = "a fork of it" if relation.kind == "branch" else "a chat of its own"
    text = (
        f"Line {relation.parted} is the first that differs from {other!r}, of which this file is "
        f"another version. Both are kept: this one is {what}, titled {title!r}."
    )
    return Naming(title, (Notice(text=text, line=relation.parted),))


def _differences(relation: Relation) -> Iterator[str]:
    """In what a chat that is there differs from the file, and does so still."""
    if relation.kind == "longer" and relation.lined and not relation.aligned:
        yield (
            "The lines of this file stand elsewhere than in the one that came before. What is "
            "new was taken from it; the lines that both share are exported as they came first."
        )
    if relation.gone:
        those = "1 message" if relation.gone == 1 else f"{relation.gone} messages"
        yield f"You deleted {those} of this file here. What you deleted stays deleted."


def _free(connection: Connection, account: str, title: str) -> str:
    """The title, or the first of ``title (2)``, ``title (3)`` … that no chat has."""
    room = title[: LIMITS.title_characters - len(" (1000000)")].rstrip()
    taken = titles.beginning_with(connection, account, room)
    if lookup_key(title) not in taken:
        return title
    number = 2
    while lookup_key(f"{room} ({number})") in taken:
        number += 1
    return f"{room} ({number})"
