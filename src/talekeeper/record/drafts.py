"""Drafts of memories: the messages they are made from, and saving those that a person accepted."""

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import Connection

from talekeeper.domain.chat import Message
from talekeeper.domain.draft import Draft
from talekeeper.domain.errors import InvalidInput, ScopeFull
from talekeeper.domain.limits import LIMITS
from talekeeper.domain.memory import checked_memory, repeat_key
from talekeeper.record.memories import Added, NewMemory, add, scope_name
from talekeeper.record.texts import checked
from talekeeper.store import chats as chat_rows
from talekeeper.store import memories as rows
from talekeeper.store import messages as message_rows
from talekeeper.store.keys import ChatKey

__all__ = ["chosen", "save_drafts"]


def chosen(connection: Connection, key: ChatKey, numbers: Collection[int]) -> list[Message]:
    """The messages that a person chose to save from, in order.

    Raises NotFound, and InvalidInput for none or too many, a challenge, a forgotten message or the
    result of a tool.
    """
    if chat_rows.state(connection, key).channel == "challenge":
        raise InvalidInput("A challenge has no memories: nothing can be saved from it.")
    wanted = sorted(set(numbers))
    if not 0 < len(wanted) <= LIMITS.save_messages:
        raise InvalidInput(
            f"Choose 1 to {LIMITS.save_messages} messages to save from, not {len(wanted)}."
        )
    found = list(message_rows.get_many(connection, key, wanted))
    for message in found:
        if message.role == "tool":
            raise InvalidInput(f"Message {message.number} is the result of a tool: nobody said it.")
        if message.forget:
            raise InvalidInput(
                f"Message {message.number} is to be forgotten. Let it in again to save from it."
            )
    return found


def save_drafts(
    connection: Connection, account: str, drafts: Sequence[Draft], *, now: datetime
) -> list[Added]:
    """Save drafts that a person accepted, all or none. What is saved already stays as it is.

    Raises ScopeFull, InvalidInput, NotFound; then nothing was saved.
    """
    rows.lock(connection, account)
    _check_room(connection, account, drafts)
    return [
        add(
            connection,
            account,
            NewMemory(text=draft.text, character=draft.character, pinned=draft.pinned),
            now=now,
            even_if_similar=True,
            unit=draft.unit,
        )
        for draft in drafts
    ]


def _check_room(connection: Connection, account: str, drafts: Sequence[Draft]) -> None:
    """ScopeFull where not all of them fit, which tells what room there is."""
    wanted = {(d.character, repeat_key(checked_memory(checked(d.text)))): d.pinned for d in drafts}
    names = {draft.character for draft in drafts}
    scopes = {character: scope_name(connection, account, character) for character in names}
    for memory in rows.listed(connection, account, list(scopes)):
        wanted.pop((memory.character, repeat_key(memory.text)), None)
    new = Counter((character, pinned) for (character, _), pinned in wanted.items())
    for (character, pinned), adding in new.items():
        count = rows.counts(connection, account, character)[pinned]
        cap = LIMITS.pinned_memories if pinned else LIMITS.memories
        if count + adding > cap:
            raise ScopeFull(
                scope=scopes[character], pinned=pinned, count=count, cap=cap, adding=adding
            )
