"""Lorebooks, their entries, what they are used for, and the files they came from; the version of
an account's memories."""

import sqlalchemy as sa
from alembic import op

from talekeeper.store.types import Id, Json, UtcDateTime

revision = "0004"
down_revision = "0003"

_OF_SCOPE = sa.text("kind = 'entries'")


def upgrade() -> None:
    op.create_table(
        "lorebooks",
        sa.Column("account_id", Id, nullable=False),
        sa.Column("id", Id, nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("scope", Id, nullable=True),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("name_key", sa.String(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("scan_depth", sa.Integer(), nullable=False),
        sa.Column("token_budget", sa.Integer(), nullable=True),
        sa.Column("recursive", sa.Boolean(), nullable=False),
        sa.Column("names", sa.Boolean(), nullable=False),
        sa.Column("next_entry", sa.Integer(), nullable=False),
        sa.Column("entries", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_lorebooks_accounts"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("account_id", "id", name=op.f("pk_lorebooks")),
    )
    op.create_index("ix_lorebooks_account_id_name_key", "lorebooks", ["account_id", "name_key"])
    op.create_index(
        "ix_lorebooks_scope",
        "lorebooks",
        ["account_id", "scope"],
        unique=True,
        sqlite_where=_OF_SCOPE,
        postgresql_where=_OF_SCOPE,
    )
    op.create_table(
        "lore_entries",
        sa.Column("account_id", Id, nullable=False),
        sa.Column("book_id", Id, nullable=False),
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("fields", Json, nullable=False),
        sa.Column("document", Json, nullable=True),
        _of_book("fk_lore_entries_lorebooks"),
        sa.PrimaryKeyConstraint("account_id", "book_id", "id", name=op.f("pk_lore_entries")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "lorebook_uses",
        sa.Column("account_id", Id, nullable=False),
        sa.Column("book_id", Id, nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("target", Id, nullable=False),
        _of_book("fk_lorebook_uses_lorebooks"),
        sa.PrimaryKeyConstraint(
            "account_id", "book_id", "kind", "target", name=op.f("pk_lorebook_uses")
        ),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_lorebook_uses_account_id_target", "lorebook_uses", ["account_id", "target"])
    op.create_table(
        "lorebook_files",
        sa.Column("account_id", Id, nullable=False),
        sa.Column("book_id", Id, nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("format", sa.String(), nullable=False),
        sa.Column("document", Json, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=True),
        _of_book("fk_lorebook_files_lorebooks"),
        sa.PrimaryKeyConstraint("account_id", "book_id", name=op.f("pk_lorebook_files")),
    )
    op.create_index(
        "ix_lorebook_files_account_id_digest", "lorebook_files", ["account_id", "digest"]
    )
    op.add_column(
        "accounts", sa.Column("memory_version", sa.Integer(), server_default="0", nullable=False)
    )


def _of_book(name: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["account_id", "book_id"],
        ["lorebooks.account_id", "lorebooks.id"],
        name=op.f(name),
        ondelete="CASCADE",
    )
