"""Recorded receipts."""

import sqlalchemy as sa
from alembic import op

from talekeeper.store.types import Id, Json, UtcDateTime

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "receipts",
        sa.Column("account_id", Id, nullable=False),
        sa.Column("chat_id", Id, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("swipe", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("made_at", UtcDateTime(), nullable=False),
        sa.Column("receipt", Json, nullable=False),
        sa.Column("fired", Json, nullable=True),
        sa.Column("digest", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["account_id", "chat_id"],
            ["chats.account_id", "chats.id"],
            name=op.f("fk_receipts_chats"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "account_id", "chat_id", "number", "swipe", name=op.f("pk_receipts")
        ),
    )
    op.create_index(
        op.f("ix_receipts_account_id_chat_id_made_at"),
        "receipts",
        ["account_id", "chat_id", "made_at"],
        unique=False,
    )
