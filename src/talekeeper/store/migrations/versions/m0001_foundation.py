"""Accounts, characters, personas, chats, messages, swipes, imports."""

import sqlalchemy as sa
from alembic import op

from talekeeper.store.types import Id, Json, UtcDateTime

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "accounts",
        sa.Column("id", Id, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("plan", sa.String(), nullable=False),
        sa.Column("settings", Json, nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_accounts")),
        sa.UniqueConstraint("name", name=op.f("uq_accounts_name")),
    )
    op.create_table(
        "characters",
        sa.Column("account_id", Id, nullable=False),
        sa.Column("id", Id, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("name_key", sa.String(), nullable=False),
        sa.Column("card", Json, nullable=False),
        sa.Column("document", Json, nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_characters_accounts"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("account_id", "id", name=op.f("pk_characters")),
    )
    op.create_index(
        op.f("ix_characters_account_id_name_key"),
        "characters",
        ["account_id", "name_key"],
        unique=False,
    )
    op.create_table(
        "chats",
        sa.Column("account_id", Id, nullable=False),
        sa.Column("id", Id, nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("title_key", sa.String(), nullable=False),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("persona_id", Id, nullable=True),
        sa.Column("settings", Json, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("next_number", sa.Integer(), nullable=False),
        sa.Column("messages", sa.Integer(), nullable=False),
        sa.Column("excluded", sa.Integer(), nullable=False),
        sa.Column("forked_from", Id, nullable=True),
        sa.Column("forked_at", sa.Integer(), nullable=True),
        sa.Column("importing_since", UtcDateTime(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_chats_accounts"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("account_id", "id", name=op.f("pk_chats")),
    )
    op.create_index(
        op.f("ix_chats_account_id_title_key"), "chats", ["account_id", "title_key"], unique=False
    )
    op.create_index(
        op.f("ix_chats_account_id_updated_at"), "chats", ["account_id", "updated_at"], unique=False
    )
    op.create_index(op.f("ix_chats_importing_since"), "chats", ["importing_since"], unique=False)
    op.create_table(
        "personas",
        sa.Column("account_id", Id, nullable=False),
        sa.Column("id", Id, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("name_key", sa.String(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_personas_accounts"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("account_id", "id", name=op.f("pk_personas")),
    )
    op.create_index(
        op.f("ix_personas_account_id_name_key"),
        "personas",
        ["account_id", "name_key"],
        unique=False,
    )
    op.create_table(
        "character_files",
        sa.Column("account_id", Id, nullable=False),
        sa.Column("character_id", Id, nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id", "character_id"],
            ["characters.account_id", "characters.id"],
            name=op.f("fk_character_files_characters"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("account_id", "character_id", name=op.f("pk_character_files")),
    )
    op.create_table(
        "imported_cards",
        sa.Column("account_id", Id, nullable=False),
        sa.Column("character_id", Id, nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id", "character_id"],
            ["characters.account_id", "characters.id"],
            name=op.f("fk_imported_cards_characters"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "account_id", "character_id", "digest", name=op.f("pk_imported_cards")
        ),
    )
    op.create_index(
        op.f("ix_imported_cards_account_id_digest"),
        "imported_cards",
        ["account_id", "digest"],
        unique=False,
    )
    op.create_table(
        "imports",
        sa.Column("account_id", Id, nullable=False),
        sa.Column("chat_id", Id, nullable=False),
        sa.Column("format", sa.String(), nullable=False),
        sa.Column("file_name", sa.String(), nullable=False),
        sa.Column("integrity", sa.String(), nullable=True),
        sa.Column("final_newline", sa.Boolean(), nullable=False),
        sa.Column("imported_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id", "chat_id"],
            ["chats.account_id", "chats.id"],
            name=op.f("fk_imports_chats"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("account_id", "chat_id", name=op.f("pk_imports")),
    )
    op.create_table(
        "imported_files",
        sa.Column("account_id", Id, nullable=False),
        sa.Column("chat_id", Id, nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id", "chat_id"],
            ["chats.account_id", "chats.id"],
            name=op.f("fk_imported_files_chats"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("account_id", "chat_id", "digest", name=op.f("pk_imported_files")),
    )
    op.create_index(
        op.f("ix_imported_files_account_id_digest"),
        "imported_files",
        ["account_id", "digest"],
        unique=False,
    )
    op.create_table(
        "lines",
        sa.Column("account_id", Id, nullable=False),
        sa.Column("chat_id", Id, nullable=False),
        sa.Column("line", sa.Integer(), nullable=False),
        sa.Column("chain", sa.LargeBinary(), nullable=True),
        sa.Column("messages", sa.Integer(), nullable=False),
        sa.Column("raw", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id", "chat_id"],
            ["chats.account_id", "chats.id"],
            name=op.f("fk_lines_chats"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("account_id", "chat_id", "line", name=op.f("pk_lines")),
    )
    op.create_index(
        op.f("ix_lines_account_id_chain"), "lines", ["account_id", "chain"], unique=False
    )
    op.create_table(
        "messages",
        sa.Column("account_id", Id, nullable=False),
        sa.Column("chat_id", Id, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("speaker", sa.String(), nullable=False),
        sa.Column("character_id", Id, nullable=True),
        sa.Column("active", sa.Integer(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("cell", sa.Integer(), nullable=False),
        sa.Column("excluded", sa.Boolean(), nullable=False),
        sa.Column("forget", sa.Boolean(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("external_id", sa.String(), nullable=True),
        sa.Column("tool_call_id", sa.String(), nullable=True),
        sa.Column("line", sa.Integer(), nullable=True),
        sa.Column("line_version", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["account_id", "chat_id"],
            ["chats.account_id", "chats.id"],
            name=op.f("fk_messages_chats"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("account_id", "chat_id", "number", name=op.f("pk_messages")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_messages_account_id_chat_id_excluded_number"),
        "messages",
        ["account_id", "chat_id", "excluded", "number"],
        unique=False,
    )
    op.create_index(
        op.f("ix_messages_account_id_chat_id_line"),
        "messages",
        ["account_id", "chat_id", "line"],
        unique=False,
        sqlite_where=sa.text("line IS NOT NULL"),
        postgresql_where=sa.text("line IS NOT NULL"),
    )
    op.create_index(
        op.f("ix_messages_account_id_chat_id_external_id"),
        "messages",
        ["account_id", "chat_id", "external_id"],
        unique=True,
        sqlite_where=sa.text("external_id IS NOT NULL"),
        postgresql_where=sa.text("external_id IS NOT NULL"),
    )
    op.create_table(
        "participants",
        sa.Column("account_id", Id, nullable=False),
        sa.Column("chat_id", Id, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("character_id", Id, nullable=True),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("speaker_key", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(
            ["account_id", "chat_id"],
            ["chats.account_id", "chats.id"],
            name=op.f("fk_participants_chats"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("account_id", "chat_id", "position", name=op.f("pk_participants")),
    )
    op.create_index(
        op.f("ix_participants_account_id_character_id"),
        "participants",
        ["account_id", "character_id"],
        unique=False,
    )
    op.create_table(
        "swipes",
        sa.Column("account_id", Id, nullable=False),
        sa.Column("chat_id", Id, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("swipe", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("tokenizer", sa.String(), nullable=False),
        sa.Column("sent_at", UtcDateTime(), nullable=True),
        sa.Column("model", sa.String(), nullable=True),
        sa.Column("reasoning", sa.Text(), nullable=True),
        sa.Column("tool_calls", Json, nullable=True),
        sa.Column("parts", Json, nullable=True),
        sa.ForeignKeyConstraint(
            ["account_id", "chat_id"],
            ["chats.account_id", "chats.id"],
            name=op.f("fk_swipes_chats"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("account_id", "chat_id", "number", "swipe", name=op.f("pk_swipes")),
    )
