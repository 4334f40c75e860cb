"""The declared schema of recorded receipts."""

from sqlalchemy import Column, Index, Integer, Table, Text

from talekeeper.store.metadata import metadata, of_parent
from talekeeper.store.types import Id, Json, UtcDateTime

__all__ = ["receipts"]

receipts = Table(
    "receipts",
    metadata,
    Column("account_id", Id, primary_key=True),
    Column("chat_id", Id, primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("swipe", Integer, primary_key=True, autoincrement=False),
    Column("made_at", UtcDateTime, nullable=False),
    Column("receipt", Json, nullable=False),
    Column("fired", Json),
    Column("digest", Text),
    of_parent("chats", "chat_id"),
    Index(None, "account_id", "chat_id", "made_at"),
)
"""What a character saw when it said something, by the write unit. ``receipt`` is written as
``receipt_json`` does: texts by reference. ``fired`` are entries of lorebooks, ``digest`` is the
text of the strategy's digest, which is nowhere else."""
