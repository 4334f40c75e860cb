"""Writing summaries: what settle made, what a person edits, and asking for them anew."""

from datetime import datetime

from sqlalchemy import Connection

from talekeeper.domain.errors import Conflict, InvalidInput, NotFound
from talekeeper.domain.limits import LIMITS
from talekeeper.domain.summary import (
    Place,
    Summariser,
    Summary,
    merge_fingerprint,
    name_of,
    source_of,
)
from talekeeper.record.texts import checked
from talekeeper.store import chats as chat_rows
from talekeeper.store import settling
from talekeeper.store import summaries as rows
from talekeeper.store import summary_sources as sources
from talekeeper.store.keys import ChatKey
from talekeeper.text.tokens import tokenizer_named

__all__ = ["edit_summary", "get_summary", "rebuild", "write_summary"]

_ANYBODY: tuple[Summariser, ...] = ("local", "model", "person")


def write_summary(connection: Connection, key: ChatKey, node: Summary, *, owner: str) -> bool:
    """Write a node that settle made from sources whose fingerprint is ``node.made_from``.

    False, and nothing is written, where the sources changed since, a person wrote the node, or the
    lease of the chat went to another than ``owner``. Raises NotFound when the chat is gone.
    """
    chat_rows.state(connection, key, lock=True)
    if not settling.holds(connection, key, owner):
        return False
    there = rows.at(connection, key, [node.place]).get(node.place)
    if there is not None and there.edited and not there.due:
        return False
    if node.place.tier:
        found = rows.at(connection, key, node.place.children)
        children = [found[place] for place in node.place.children if place in found]
        current = merge_fingerprint(children) if children else None
    else:
        source = source_of(sources.cell_messages(connection, key, node.cell))
        current = source.fingerprint if source else None
        if there is None and node.place != rows.next_place(connection, key):
            return False
    if current != node.made_from:
        return False
    rows.put(connection, key, node)
    return True


def edit_summary(
    connection: Connection, key: ChatKey, place: Place, text: str, *, now: datetime
) -> Summary:
    """Let a person's text stand in place of a node's. From then on it is a source itself."""
    state = chat_rows.state(connection, key, lock=True)
    text = checked(text).strip()
    if not text:
        raise InvalidInput("A summary must not be empty; to keep messages out of it, forget them.")
    if len(text) > LIMITS.summary_characters:
        raise InvalidInput(
            f"A summary holds at most {LIMITS.summary_characters} characters; "
            f"this one has {len(text)}. Shorten it."
        )
    node = get_summary(connection, key, place)
    tokenizer = tokenizer_named(state.settings.tokenizer)
    edited = Summary(
        place=place,
        cell=node.cell,
        first=node.first,
        last=node.last,
        messages=node.messages,
        shown=node.shown,
        text=text,
        tokens=tokenizer.count(text),
        tokenizer=tokenizer.name,
        made_from=node.current,
        current=node.current,
        covered=node.covered,
        summariser="person",
        model=None,
        made_at=now,
    )
    rows.put(connection, key, edited)
    chat_rows.change(connection, key, now=now)
    return get_summary(connection, key, place)


def get_summary(connection: Connection, key: ChatKey, place: Place) -> Summary:
    """The node at a place. Raises NotFound."""
    found = rows.at(connection, key, [place]).get(place)
    if found is None:
        raise NotFound(f"This chat has no summary {name_of(place)!r}.")
    return found


def rebuild(
    connection: Connection,
    key: ChatKey,
    *,
    now: datetime,
    place: Place | None = None,
    overwrite_edits: bool = False,
) -> int:
    """Ask for one node, or all, to be made anew by the next settle; until then they stay.

    Answers how many. Conflict where that would write over what a person wrote, unless
    ``overwrite_edits``. Raises NotFound.
    """
    chat_rows.state(connection, key, lock=True)
    if place is not None and get_summary(connection, key, place).edited and not overwrite_edits:
        raise Conflict(
            f"{name_of(place)} was edited by a person; rebuilding it would write over that. "
            "Say that edits may be overwritten, or leave it."
        )
    asked = rows.ask_anew(
        connection,
        key,
        place=place,
        by=_ANYBODY if overwrite_edits else _ANYBODY[:-1],
    )
    chat_rows.change(connection, key, now=now)
    return asked
