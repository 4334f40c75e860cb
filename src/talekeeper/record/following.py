"""What hangs on messages follows their changes: summaries, memories, receipts."""

from collections.abc import Collection

from sqlalchemy import Connection

from talekeeper.domain.chat import Message
from talekeeper.record.journal import refresh_units
from talekeeper.store import receipts as receipt_rows
from talekeeper.store import summaries as summary_rows
from talekeeper.store.keys import ChatKey

__all__ = ["follow", "follow_rewind"]


def follow(
    connection: Connection, key: ChatKey, changed: Collection[Message], *, deleted: bool = False
) -> None:
    """Let what was made of these messages, or hangs on them, follow their change.

    A recorded receipt goes with its message; the digest in one, with any change of what it tells
    of. Receipts come last: who deletes memories for good locks the account before them.
    """
    numbers = [message.number for message in changed]
    summary_rows.refresh(connection, key, (message.cell for message in changed))
    refresh_units(connection, key, numbers)
    receipt_rows.drop_digests(connection, key, numbers)
    if deleted:
        receipt_rows.remove(connection, key, numbers)


def follow_rewind(connection: Connection, key: ChatKey, number: int) -> None:
    """The same where every message above ``number`` was deleted."""
    summary_rows.remove_after(connection, key, number)
    refresh_units(connection, key, since=number + 1)
    receipt_rows.remove_after(connection, key, number)
