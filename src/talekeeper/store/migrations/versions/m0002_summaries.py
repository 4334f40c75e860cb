"""Summaries, and how far a chat is settled."""

import sqlalchemy as sa
from alembic import op

from talekeeper.store.types import Id, UtcDateTime

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("chats", sa.Column("settled", sa.Integer(), server_default="0", nullable=False))
    op.create_index(
        "ix_chats_unsettled",
        "chats",
        ["updated_at"],
        unique=False,
        sqlite_where=sa.text("version > settled"),
        postgresql_where=sa.text("version > settled"),
    )
    op.create_table(
        "summaries",
        sa.Column("account_id", Id, nullable=False),
        sa.Column("chat_id", Id, nullable=False),
        sa.Column("tier", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("cell", sa.Integer(), nullable=False),
        sa.Column("first", sa.Integer(), nullable=False),
        sa.Column("last", sa.Integer(), nullable=False),
        sa.Column("messages", sa.Integer(), nullable=False),
        sa.Column("shown", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("tokenizer", sa.String(), nullable=False),
        sa.Column("made_from", sa.LargeBinary(), nullable=False),
        sa.Column("current", sa.LargeBinary(), nullable=False),
        sa.Column("covered", sa.Boolean(), nullable=False),
        sa.Column("due", sa.Boolean(), nullable=False),
        sa.Column("summariser", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=True),
        sa.Column("made_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id", "chat_id"],
            ["chats.account_id", "chats.id"],
            name=op.f("fk_summaries_chats"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "account_id", "chat_id", "tier", "position", name=op.f("pk_summaries")
        ),
    )
    op.create_index(
        op.f("ix_summaries_account_id_chat_id_cell"),
        "summaries",
        ["account_id", "chat_id", "cell"],
        unique=False,
    )
    op.create_index(
        op.f("ix_summaries_account_id_chat_id_covered"),
        "summaries",
        ["account_id", "chat_id", "covered"],
        unique=False,
    )
    to_do = sa.text("due OR (made_from <> current AND summariser <> 'person')")
    op.create_index(
        "ix_summaries_to_do",
        "summaries",
        ["account_id", "chat_id", "tier", "position"],
        unique=False,
        sqlite_where=to_do,
        postgresql_where=to_do,
    )
    op.create_table(
        "settling",
        sa.Column("account_id", Id, nullable=False),
        sa.Column("chat_id", Id, nullable=False),
        sa.Column("owner", sa.String(), nullable=True),
        sa.Column("leased_until", UtcDateTime(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("retry_at", UtcDateTime(), nullable=True),
        sa.Column("failure", sa.Text(), nullable=True),
        sa.Column("permanent", sa.Boolean(), nullable=False),
        sa.Column("failed_at", UtcDateTime(), nullable=True),
        sa.Column("catch_up", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(
            ["account_id", "chat_id"],
            ["chats.account_id", "chats.id"],
            name=op.f("fk_settling_chats"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("account_id", "chat_id", name=op.f("pk_settling")),
    )
