"""Saved memories with their journal, deeper passes, usage, and plans of one's own."""

import sqlalchemy as sa
from alembic import op

from talekeeper.store.types import Id, Json, UtcDateTime

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "plans",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("limits", Json, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_plans")),
    )
    op.create_table(
        "memories",
        sa.Column("account_id", Id, nullable=False),
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("scope", Id, nullable=False),
        sa.Column("present", sa.Boolean(), nullable=False),
        sa.Column("pinned", sa.Boolean(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("tokenizer", sa.String(), nullable=False),
        sa.Column("author", sa.String(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.Column("deleted_at", UtcDateTime(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("chat_id", Id, nullable=True),
        sa.Column("number", sa.Integer(), nullable=True),
        sa.Column("swipe", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_memories_accounts"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("account_id", "id", name=op.f("pk_memories")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_memories_account_id_scope_present_pinned_updated_at_id"),
        "memories",
        ["account_id", "scope", "present", "pinned", "updated_at", "id"],
        unique=False,
    )
    op.create_index(
        "ix_memories_trash",
        "memories",
        ["deleted_at"],
        unique=False,
        sqlite_where=sa.text("deleted_at IS NOT NULL"),
        postgresql_where=sa.text("deleted_at IS NOT NULL"),
    )
    op.create_table(
        "usage",
        sa.Column("account_id", Id, nullable=False),
        sa.Column("id", Id, nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("task", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("prompt_tokens", sa.Integer(), nullable=False),
        sa.Column("reply_tokens", sa.Integer(), nullable=False),
        sa.Column("billable", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_usage_accounts"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("account_id", "id", name=op.f("pk_usage")),
    )
    op.create_index(op.f("ix_usage_account_id_at"), "usage", ["account_id", "at"], unique=False)
    op.create_table(
        "deeper_passes",
        sa.Column("account_id", Id, nullable=False),
        sa.Column("chat_id", Id, nullable=False),
        sa.Column("cell", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("run", Id, nullable=True),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("model", sa.String(), nullable=True),
        sa.Column("operations", Json, nullable=True),
        sa.Column("made_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id", "chat_id"],
            ["chats.account_id", "chats.id"],
            name=op.f("fk_deeper_passes_chats"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("account_id", "chat_id", "cell", name=op.f("pk_deeper_passes")),
    )
    op.create_table(
        "memory_revisions",
        sa.Column("account_id", Id, nullable=False),
        sa.Column("memory", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("author", sa.String(), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("before", Json, nullable=True),
        sa.Column("after", Json, nullable=True),
        sa.Column("made_at", UtcDateTime(), nullable=False),
        sa.Column("chat_id", Id, nullable=True),
        sa.Column("number", sa.Integer(), nullable=True),
        sa.Column("swipe", sa.Integer(), nullable=True),
        sa.Column("run", Id, nullable=True),
        sa.Column("quote", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id", "memory"],
            ["memories.account_id", "memories.id"],
            name=op.f("fk_memory_revisions_memories"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "account_id", "memory", "position", name=op.f("pk_memory_revisions")
        ),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_memory_revisions_account_id_chat_id_number"),
        "memory_revisions",
        ["account_id", "chat_id", "number"],
        unique=False,
        sqlite_where=sa.text("chat_id IS NOT NULL"),
        postgresql_where=sa.text("chat_id IS NOT NULL"),
    )
    op.create_index(
        op.f("ix_memory_revisions_account_id_run"),
        "memory_revisions",
        ["account_id", "run"],
        unique=False,
        sqlite_where=sa.text("run IS NOT NULL"),
        postgresql_where=sa.text("run IS NOT NULL"),
    )
    op.add_column(
        "accounts", sa.Column("next_memory", sa.Integer(), server_default="1", nullable=False)
    )
    op.add_column(
        "characters", sa.Column("learns", sa.Boolean(), server_default=sa.true(), nullable=False)
    )
    op.add_column(
        "messages", sa.Column("learnable", sa.Boolean(), server_default=sa.true(), nullable=False)
    )
    op.add_column(
        "settling", sa.Column("deferred", sa.Boolean(), server_default=sa.false(), nullable=False)
    )
