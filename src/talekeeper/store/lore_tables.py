"""The declared schema of lorebooks: the books, their entries, and what they are used for."""

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
from talekeeper.store.types import Blob, Id, Json, UtcDateTime

__all__ = ["lore_entries", "lorebook_files", "lorebook_uses", "lorebooks"]

_OF_SCOPE = text("kind = 'entries'")

lorebooks = Table(
    "lorebooks",
    metadata,
    Column("account_id", Id, primary_key=True),
    Column("id", Id, primary_key=True),
    Column("kind", String, nullable=False),
    Column("scope", Id),
    Column("name", String, nullable=False),
    Column("name_key", String, nullable=False),
    Column("description", Text, nullable=False),
    Column("scan_depth", Integer, nullable=False),
    Column("token_budget", Integer),
    Column("recursive", Boolean, nullable=False),
    Column("names", Boolean, nullable=False),
    Column("next_entry", Integer, nullable=False),
    Column("entries", Integer, nullable=False),
    Column("version", Integer, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    ForeignKeyConstraint(["account_id"], ["accounts.id"], ondelete="CASCADE"),
    Index(None, "account_id", "name_key"),
    Index(
        "ix_lorebooks_scope",
        "account_id",
        "scope",
        unique=True,
        sqlite_where=_OF_SCOPE,
        postgresql_where=_OF_SCOPE,
    ),
)
"""``kind`` is ``lorebook``, or ``entries`` for the memory entries of a scope: then ``scope`` is a
character's id, or zeros for the global one. ``next_entry`` is the number of the next entry."""

lore_entries = Table(
    "lore_entries",
    metadata,
    Column("account_id", Id, primary_key=True),
    Column("book_id", Id, primary_key=True),
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("content", Text, nullable=False),
    Column("fields", Json, nullable=False),
    Column("document", Json),
    of_parent("lorebooks", "book_id"),
    sqlite_with_rowid=False,
)
"""``fields`` are those of the entry that are not as by default, ``document`` is what an imported
file said of it, whole."""

lorebook_uses = Table(
    "lorebook_uses",
    metadata,
    Column("account_id", Id, primary_key=True),
    Column("book_id", Id, primary_key=True),
    Column("kind", String, primary_key=True),
    Column("target", Id, primary_key=True),
    of_parent("lorebooks", "book_id"),
    Index(None, "account_id", "target"),
    sqlite_with_rowid=False,
)
"""What a book is used for; ``target`` is the id of the character, persona or chat, or zeros."""

lorebook_files = Table(
    "lorebook_files",
    metadata,
    Column("account_id", Id, primary_key=True),
    Column("book_id", Id, primary_key=True),
    Column("digest", Blob, nullable=False),
    Column("format", String, nullable=False),
    Column("document", Json, nullable=False),
    Column("version", Integer, nullable=False),
    Column("content", Blob),
    of_parent("lorebooks", "book_id"),
    Index(None, "account_id", "digest"),
)
"""The file a book was imported from: a hash of its meaning, its JSON without the entries, the
book's version that it made, and its bytes; those of a book in a card stay with the character."""
