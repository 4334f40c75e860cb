"""The messages that summaries are made of: each with its active text."""

from sqlalchemy import Connection, Integer, and_, bindparam, false, func, select

from talekeeper.domain.summary import SourceMessage
from talekeeper.store.keys import ChatKey
from talekeeper.store.tables import messages, swipes

__all__ = ["cell_messages", "messages_after", "text_tokens"]

_ACTIVE = and_(
    swipes.c.account_id == messages.c.account_id,
    swipes.c.chat_id == messages.c.chat_id,
    swipes.c.number == messages.c.number,
    swipes.c.swipe == messages.c.active,
)
_SOURCE = (
    select(
        messages.c.number,
        messages.c.cell,
        messages.c.role,
        messages.c.speaker,
        swipes.c.text,
        swipes.c.tokens,
        messages.c.excluded,
        messages.c.forget,
        messages.c.line.is_not(None),
    )
    .join_from(messages, swipes, _ACTIVE)
    .where(
        messages.c.account_id == bindparam("account"),
        messages.c.chat_id == bindparam("chat"),
        messages.c.number >= bindparam("since"),
    )
    .order_by(messages.c.number)
    .limit(bindparam("limit", type_=Integer))
)


def messages_after(
    connection: Connection, key: ChatKey, number: int, *, limit: int
) -> list[SourceMessage]:
    """The first ``limit`` messages above ``number``."""
    bound = {**key._asdict(), "since": number + 1, "limit": limit}
    return [SourceMessage._make(row) for row in connection.execute(_SOURCE, bound)]


def cell_messages(connection: Connection, key: ChatKey, cell: int) -> list[SourceMessage]:
    """The messages of one cell, in order."""
    found: list[SourceMessage] = []
    since = cell - 1
    while True:
        page = messages_after(connection, key, since, limit=32)
        own = [message for message in page if message.cell == cell]
        found += own
        if len(page) < 32 or len(own) < len(page):
            return found
        since = page[-1].number


def text_tokens(connection: Connection, key: ChatKey, first: int, last: int) -> int:
    """Tokens of the active texts of the messages ``first``-``last`` that are not forgotten."""
    return int(
        connection.execute(
            select(func.coalesce(func.sum(swipes.c.tokens), 0))
            .join_from(messages, swipes, _ACTIVE)
            .where(
                messages.c.account_id == key.account,
                messages.c.chat_id == key.chat,
                messages.c.number.between(first, last),
                messages.c.forget == false(),
            )
        ).scalar_one()
    )
