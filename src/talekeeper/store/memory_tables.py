"""The declared schema of what is remembered: memories, their journal, and what that takes."""

from sqlalchemy import (
    Boolean,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    String,
    Table,
    Text,
    text,
)

from talekeeper.store.metadata import metadata, of_parent
from talekeeper.store.types import Id, Json, UtcDateTime

__all__ = ["deeper_passes", "memories", "memory_revisions", "plans", "usage"]

_KNOWN_CHAT = text("chat_id IS NOT NULL")
_KNOWN_RUN = text("run IS NOT NULL")
_IN_TRASH = text("deleted_at IS NOT NULL")

memories = Table(
    "memories",
    metadata,
    Column("account_id", Id, primary_key=True),
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("scope", Id, nullable=False),
    Column("present", Boolean, nullable=False),
    Column("pinned", Boolean, nullable=False),
    Column("text", Text, nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("tokenizer", String, nullable=False),
    Column("author", String, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Column("deleted_at", UtcDateTime),
    Column("version", Integer, nullable=False),
    Column("chat_id", Id),
    Column("number", Integer),
    Column("swipe", Integer),
    ForeignKeyConstraint(["account_id"], ["accounts.id"], ondelete="CASCADE"),
    Index(None, "account_id", "scope", "present", "pinned", "updated_at", "id"),
    Index(
        "ix_memories_trash",
        "deleted_at",
        sqlite_where=_IN_TRASH,
        postgresql_where=_IN_TRASH,
    ),
    sqlite_with_rowid=False,
)
"""The value of each memory, folded from its revisions. ``scope`` is a character's id, or zeros for
the global one. One that is not ``present`` is in the trash if ``deleted_at`` is set, else the
message that made it is not shown. The last three columns name that message."""

memory_revisions = Table(
    "memory_revisions",
    metadata,
    Column("account_id", Id, primary_key=True),
    Column("memory", Integer, primary_key=True, autoincrement=False),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("author", String, nullable=False),
    Column("action", String, nullable=False),
    Column("before", Json),
    Column("after", Json),
    Column("made_at", UtcDateTime, nullable=False),
    Column("chat_id", Id),
    Column("number", Integer),
    Column("swipe", Integer),
    Column("run", Id),
    Column("quote", Text),
    Column("reason", Text),
    Column("active", Boolean, nullable=False),
    ForeignKeyConstraint(
        ["account_id", "memory"], ["memories.account_id", "memories.id"], ondelete="CASCADE"
    ),
    Index(
        None,
        "account_id",
        "chat_id",
        "number",
        sqlite_where=_KNOWN_CHAT,
        postgresql_where=_KNOWN_CHAT,
    ),
    Index(None, "account_id", "run", sqlite_where=_KNOWN_RUN, postgresql_where=_KNOWN_RUN),
    sqlite_with_rowid=False,
)
"""The journal of the memories; see ``domain.memory.Revision`` for the columns. A chat that is
deleted leaves its revisions behind, as it leaves its memories."""

deeper_passes = Table(
    "deeper_passes",
    metadata,
    Column("account_id", Id, primary_key=True),
    Column("chat_id", Id, primary_key=True),
    Column("cell", Integer, primary_key=True, autoincrement=False),
    Column("run", Id),
    Column("outcome", String, nullable=False),
    Column("reason", Text),
    Column("model", String),
    Column("operations", Json),
    Column("made_at", UtcDateTime, nullable=False),
    of_parent("chats", "chat_id"),
)
"""Which cells were read for memories: each once. ``operations`` are the changes that the model
wanted, with what became of each."""

usage = Table(
    "usage",
    metadata,
    Column("account_id", Id, primary_key=True),
    Column("id", Id, primary_key=True),
    Column("at", UtcDateTime, nullable=False),
    Column("task", String, nullable=False),
    Column("model", String, nullable=False),
    Column("prompt_tokens", Integer, nullable=False),
    Column("reply_tokens", Integer, nullable=False),
    Column("billable", Boolean, nullable=False),
    ForeignKeyConstraint(["account_id"], ["accounts.id"], ondelete="CASCADE"),
    Index(None, "account_id", "at"),
)
"""What language models were asked for; one row an answer."""

plans = Table(
    "plans",
    metadata,
    Column("name", String, primary_key=True),
    Column("limits", Json, nullable=False),
)
"""Plans of the operator's own, beside those that come with Talekeeper."""
