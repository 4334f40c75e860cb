"""Which titles an account's chats have."""

from sqlalchemy import Connection, select

from talekeeper.store.keys import lookup_key
from talekeeper.store.tables import chats

__all__ = ["beginning_with"]


def beginning_with(connection: Connection, account: str, beginning: str) -> set[str]:
    """The titles of visible chats that begin so, in the form in which titles are compared."""
    found = connection.execute(
        select(chats.c.title_key).where(
            chats.c.account_id == account,
            chats.c.importing_since.is_(None),
            chats.c.title_key.startswith(lookup_key(beginning), autoescape=True),
        )
    )
    return set(found.scalars())
