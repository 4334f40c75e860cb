"""Every text of a chat, all swipes: what a search goes through."""

from sqlalchemy import Connection, bindparam, select

from talekeeper.store.keys import ChatKey
from talekeeper.store.tables import swipes

__all__ = ["said"]

_SAID = (
    select(swipes.c.number, swipes.c.swipe, swipes.c.text)
    .where(swipes.c.account_id == bindparam("account"), swipes.c.chat_id == bindparam("chat"))
    .order_by(swipes.c.number, swipes.c.swipe)
)


def said(connection: Connection, key: ChatKey) -> list[tuple[int, int, str]]:
    """(number, swipe, text) of every swipe of a chat, in order."""
    return [row._tuple() for row in connection.execute(_SAID, key._asdict())]
