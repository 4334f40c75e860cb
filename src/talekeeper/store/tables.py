"""The declared schema. Keys begin with the account, so that rows shard by account.

A migration must follow every change here; a test compares the two on both databases.
"""

from sqlalchemy import (
    Boolean,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    String,
    Table,
    Text,
    false,
    text,
    true,
)

from talekeeper.store.metadata import metadata, of_parent, where_known
from talekeeper.store.types import Blob, Id, Json, UtcDateTime

__all__ = [
    "accounts",
    "character_files",
    "characters",
    "chats",
    "imported_cards",
    "imported_files",
    "imports",
    "lines",
    "messages",
    "participants",
    "personas",
    "settling",
    "summaries",
    "swipes",
]

accounts = Table(
    "accounts",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", String, nullable=False, unique=True),
    Column("plan", String, nullable=False),
    Column("settings", Json, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("next_memory", Integer, nullable=False, server_default="1"),
    Column("memory_version", Integer, nullable=False, server_default="0"),
)
"""Who writes memories locks the row, for a scope's caps are counted under it, and counts
``memory_version`` up."""

characters = Table(
    "characters",
    metadata,
    Column("account_id", Id, primary_key=True),
    Column("id", Id, primary_key=True),
    Column("name", String, nullable=False),
    Column("name_key", String, nullable=False),
    Column("card", Json, nullable=False),
    Column("document", Json),
    Column("version", Integer, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Column("learns", Boolean, nullable=False, server_default=true()),
    ForeignKeyConstraint(["account_id"], ["accounts.id"], ondelete="CASCADE"),
    Index(None, "account_id", "name_key"),
)
"""``card`` holds the fields Talekeeper understands, ``document`` the imported JSON whole.
``learns`` is the switch *Learn from Chat*."""

character_files = Table(
    "character_files",
    metadata,
    Column("account_id", Id, primary_key=True),
    Column("character_id", Id, primary_key=True),
    Column("kind", String, nullable=False),
    Column("content", Blob, nullable=False),
    of_parent("characters", "character_id"),
)
"""The file a character was imported from, byte for byte; ``kind`` is png or json."""

imported_cards = Table(
    "imported_cards",
    metadata,
    Column("account_id", Id, primary_key=True),
    Column("character_id", Id, primary_key=True),
    Column("digest", Blob, primary_key=True),
    of_parent("characters", "character_id"),
    Index(None, "account_id", "digest"),
)
"""Every file of a character that was imported; ``digest`` is a hash of all its bytes."""

personas = Table(
    "personas",
    metadata,
    Column("account_id", Id, primary_key=True),
    Column("id", Id, primary_key=True),
    Column("name", String, nullable=False),
    Column("name_key", String, nullable=False),
    Column("description", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    ForeignKeyConstraint(["account_id"], ["accounts.id"], ondelete="CASCADE"),
    Index(None, "account_id", "name_key"),
)

_UNSETTLED = text("version > settled")

chats = Table(
    "chats",
    metadata,
    Column("account_id", Id, primary_key=True),
    Column("id", Id, primary_key=True),
    Column("title", String, nullable=False),
    Column("title_key", String, nullable=False),
    Column("channel", String, nullable=False),
    Column("persona_id", Id),
    Column("settings", Json, nullable=False),
    Column("version", Integer, nullable=False),
    Column("next_number", Integer, nullable=False),
    Column("messages", Integer, nullable=False),
    Column("excluded", Integer, nullable=False),
    Column("forked_from", Id),
    Column("forked_at", Integer),
    Column("importing_since", UtcDateTime),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Column("settled", Integer, nullable=False, server_default="0"),
    ForeignKeyConstraint(["account_id"], ["accounts.id"], ondelete="CASCADE"),
    Index(None, "account_id", "updated_at"),
    Index(None, "account_id", "title_key"),
    Index(None, "importing_since"),
    Index("ix_chats_unsettled", "updated_at", sqlite_where=_UNSETTLED, postgresql_where=_UNSETTLED),
)
"""``messages`` and ``excluded`` count rows of the chat. While ``importing_since`` is set the chat
is invisible; it is the time of the last batch written. ``settled`` is the ``version`` at which
settle last found nothing left to do."""

participants = Table(
    "participants",
    metadata,
    Column("account_id", Id, primary_key=True),
    Column("chat_id", Id, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("character_id", Id),
    Column("name", String, nullable=False),
    Column("speaker_key", String),
    of_parent("chats", "chat_id"),
    Index(None, "account_id", "character_id"),
)
"""``name`` stays when the character is deleted; ``speaker_key`` is a foreign file's key of it."""

messages = Table(
    "messages",
    metadata,
    Column("account_id", Id, primary_key=True),
    Column("chat_id", Id, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("role", String, nullable=False),
    Column("speaker", String, nullable=False),
    Column("character_id", Id),
    Column("active", Integer, nullable=False),
    Column("turn", Integer, nullable=False),
    Column("cell", Integer, nullable=False),
    Column("excluded", Boolean, nullable=False),
    Column("forget", Boolean, nullable=False),
    Column("version", Integer, nullable=False),
    Column("external_id", String),
    Column("tool_call_id", String),
    Column("line", Integer),
    Column("line_version", Integer),
    Column("learnable", Boolean, nullable=False, server_default=true()),
    of_parent("chats", "chat_id"),
    Index(None, "account_id", "chat_id", "excluded", "number"),
    where_known("line"),
    where_known("external_id", unique=True),
    sqlite_with_rowid=False,
)
"""``line`` is the line of the imported file; the message is untouched while ``version`` equals
``line_version``. ``learnable`` is false for what was said while nobody was to learn from it."""

swipes = Table(
    "swipes",
    metadata,
    Column("account_id", Id, primary_key=True),
    Column("chat_id", Id, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("swipe", Integer, primary_key=True),
    Column("text", Text, nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("tokenizer", String, nullable=False),
    Column("sent_at", UtcDateTime),
    Column("model", String),
    Column("reasoning", Text),
    Column("tool_calls", Json),
    Column("parts", Json),
    of_parent("chats", "chat_id"),
)

imports = Table(
    "imports",
    metadata,
    Column("account_id", Id, primary_key=True),
    Column("chat_id", Id, primary_key=True),
    Column("format", String, nullable=False),
    Column("file_name", String, nullable=False),
    Column("integrity", String),
    Column("final_newline", Boolean, nullable=False),
    Column("imported_at", UtcDateTime, nullable=False),
    of_parent("chats", "chat_id"),
)
"""The file a chat was imported from; the last one, where it came in longer later."""

imported_files = Table(
    "imported_files",
    metadata,
    Column("account_id", Id, primary_key=True),
    Column("chat_id", Id, primary_key=True),
    Column("digest", Blob, primary_key=True),
    of_parent("chats", "chat_id"),
    Index(None, "account_id", "digest"),
)
"""Every file that came into a chat; ``digest`` is a hash of all its bytes."""

lines = Table(
    "lines",
    metadata,
    Column("account_id", Id, primary_key=True),
    Column("chat_id", Id, primary_key=True),
    Column("line", Integer, primary_key=True),
    Column("chain", Blob),
    Column("messages", Integer, nullable=False),
    Column("raw", Blob, nullable=False),
    of_parent("chats", "chat_id"),
    Index(None, "account_id", "chain"),
)
"""The lines of an imported file, byte for byte. ``chain`` is set on lines that hold messages: it
identifies the conversation up to and including this line, so that equal prefixes are found.
``messages`` is how many it held."""

_TO_DO = text("due OR (made_from <> current AND summariser <> 'person')")

summaries = Table(
    "summaries",
    metadata,
    Column("account_id", Id, primary_key=True),
    Column("chat_id", Id, primary_key=True),
    Column("tier", Integer, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("cell", Integer, nullable=False),
    Column("first", Integer, nullable=False),
    Column("last", Integer, nullable=False),
    Column("messages", Integer, nullable=False),
    Column("shown", Integer, nullable=False),
    Column("text", Text, nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("tokenizer", String, nullable=False),
    Column("made_from", Blob, nullable=False),
    Column("current", Blob, nullable=False),
    Column("covered", Boolean, nullable=False),
    Column("due", Boolean, nullable=False),
    Column("summariser", String, nullable=False),
    Column("model", String),
    Column("made_at", UtcDateTime, nullable=False),
    of_parent("chats", "chat_id"),
    Index(None, "account_id", "chat_id", "cell"),
    Index(None, "account_id", "chat_id", "covered"),
    Index(
        "ix_summaries_to_do",
        "account_id",
        "chat_id",
        "tier",
        "position",
        sqlite_where=_TO_DO,
        postgresql_where=_TO_DO,
    ),
)
"""The nodes of conversation summaries; see ``domain.summary.Summary`` for the columns. The cell is
that of the oldest message, so an index of it finds the node of a cell."""

settling = Table(
    "settling",
    metadata,
    Column("account_id", Id, primary_key=True),
    Column("chat_id", Id, primary_key=True),
    Column("owner", String),
    Column("leased_until", UtcDateTime),
    Column("attempts", Integer, nullable=False),
    Column("retry_at", UtcDateTime),
    Column("failure", Text),
    Column("permanent", Boolean, nullable=False),
    Column("failed_at", UtcDateTime),
    Column("catch_up", String),
    Column("deferred", Boolean, nullable=False, server_default=false()),
    of_parent("chats", "chat_id"),
)
"""Who settles a chat and until when, and what went wrong the last time. ``deferred`` says that it
is looked at before ``retry_at`` when it changes. ``catch_up`` is NULL,
``running`` or ``paused``: whether imported history is to be summarised by a model."""
