"""What all tables share: the naming of their constraints, and keys that begin with the account."""

from sqlalchemy import ForeignKeyConstraint, Index, MetaData, text

__all__ = ["metadata", "of_parent", "where_known"]

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def of_parent(parent: str, *columns: str) -> ForeignKeyConstraint:
    """A composite key into ``parent`` whose rows vanish with it."""
    referred = [f"{parent}.account_id", f"{parent}.id"]
    return ForeignKeyConstraint(["account_id", *columns], referred, ondelete="CASCADE")


def where_known(column: str, *, unique: bool = False) -> Index:
    """An index on a column of a chat that is NULL in most rows: it holds the others only."""
    known = text(f"{column} IS NOT NULL")
    keys = ("account_id", "chat_id", column)
    return Index(None, *keys, unique=unique, sqlite_where=known, postgresql_where=known)
