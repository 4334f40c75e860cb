"""Forking: a new chat that starts as a copy up to a message.

One transaction and a constant number of statements, whatever the length of the chat.
"""

from datetime import datetime

from sqlalchemy import Connection

from talekeeper.domain.limits import LIMITS
from talekeeper.record.texts import checked_name
from talekeeper.store import chats as chat_rows
from talekeeper.store import deeper as deeper_rows
from talekeeper.store import lines as line_rows
from talekeeper.store import lore as lore_rows
from talekeeper.store import messages as rows
from talekeeper.store import participants as participant_rows
from talekeeper.store import summaries as summary_rows
from talekeeper.store.keys import ChatKey

__all__ = ["fork"]


def fork(
    connection: Connection,
    source: ChatKey,
    target: ChatKey,
    number: int,
    *,
    now: datetime,
    title: str | None = None,
    importing: bool = False,
) -> None:
    """Make ``target`` a copy of ``source`` up to and including message ``number``.

    Numbers, swipes, flags, turns, cells, settings, participants and the imported lines are copied;
    characters, personas and lorebooks are shared. Of the summary come the nodes that end at or
    before it, and the marks of the cells that were read for memories. Receipts stay: they tell of
    the chat in which the replies were made.
    Raises NotFound where the message does not exist.
    """
    state = chat_rows.state(connection, source, lock=True)
    last = rows.get(connection, source, number)
    later, later_excluded = rows.counts(connection, source, since=number + 1)
    chat_rows.insert_chat(
        connection,
        target,
        title=checked_name(title, "A title") if title else _fork_title(state.title, number),
        channel=state.channel,
        persona_id=state.persona.id if state.persona else None,
        settings=state.chat_settings,
        now=now,
        importing=importing,
        forked_from=(source.chat, number),
        next_number=last.number + 1,
        messages=state.messages - later,
        excluded=state.excluded - later_excluded,
    )
    participant_rows.copy(connection, source, target)
    rows.copy_until(connection, source, target, number)
    line_rows.copy_until(connection, source, target, number)
    summary_rows.copy_until(connection, source, target, number)
    deeper_rows.copy_until(connection, source, target, number)
    lore_rows.copy_uses(connection, source, target)


def _fork_title(title: str, number: int) -> str:
    mark = f" (fork at {number})"
    return title[: LIMITS.title_characters - len(mark)] + mark
