"""Recorded receipts: one of each reply, the newest of each chat.

A receipt belongs to the chat in which the reply was made: a fork copies none.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    Connection,
    Text,
    and_,
    cast,
    delete,
    func,
    insert,
    not_,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy import Row as SqlRow

from talekeeper.domain.limits import LIMITS
from talekeeper.domain.lore import FiredEntry
from talekeeper.domain.recorded import RecordedReceipt
from talekeeper.store.keys import ChatKey
from talekeeper.store.messages import in_chat
from talekeeper.store.receipt_json import from_json, to_json, without_memories
from talekeeper.store.receipt_tables import receipts
from talekeeper.store.tables import messages

__all__ = [
    "drop_digests",
    "fired_since",
    "forget_memories",
    "get",
    "kept",
    "newest",
    "put",
    "remove",
    "remove_after",
]

_NAMED = 50
"""So many memories are looked for in one statement."""

_NEWEST_FIRST = (receipts.c.made_at.desc(), receipts.c.number.desc(), receipts.c.swipe.desc())


def put(connection: Connection, key: ChatKey, new: RecordedReceipt) -> None:
    """Keep a receipt in place of that of the same swipe; the oldest over the limit goes."""
    unit = and_(receipts.c.number == new.number, receipts.c.swipe == new.swipe)
    over = (
        select(receipts.c.number, receipts.c.swipe)
        .where(in_chat(receipts, key), not_(unit))
        .order_by(*_NEWEST_FIRST)
        .offset(LIMITS.receipts - 1)
    )
    connection.execute(
        delete(receipts).where(
            in_chat(receipts, key),
            or_(unit, tuple_(receipts.c.number, receipts.c.swipe).in_(over)),
        )
    )
    connection.execute(
        insert(receipts).values(
            account_id=key.account,
            chat_id=key.chat,
            number=new.number,
            swipe=new.swipe,
            made_at=new.made_at,
            receipt=to_json(new),
            fired=[list(fired) for fired in new.fired] or None,
            digest=new.digest,
        )
    )


def _recorded(row: SqlRow[*tuple[Any, ...]]) -> RecordedReceipt:
    receipt, marks = from_json(row.receipt)
    return RecordedReceipt(
        chat=row.chat_id,
        number=row.number,
        swipe=row.swipe,
        made_at=row.made_at,
        receipt=receipt,
        marks=marks,
        digest=row.digest,
        fired=tuple(FiredEntry(*fired) for fired in row.fired or ()),
    )


def get(connection: Connection, key: ChatKey, number: int, swipe: int) -> RecordedReceipt | None:
    """The receipt of a swipe, None where none is kept."""
    row = connection.execute(
        select(receipts).where(
            in_chat(receipts, key), receipts.c.number == number, receipts.c.swipe == swipe
        )
    ).one_or_none()
    return _recorded(row) if row else None


def newest(connection: Connection, key: ChatKey, *, limit: int) -> list[RecordedReceipt]:
    """The receipts of a chat, the one made last first."""
    rows = connection.execute(
        select(receipts).where(in_chat(receipts, key)).order_by(*_NEWEST_FIRST).limit(limit)
    )
    return [_recorded(row) for row in rows]


def kept(connection: Connection, key: ChatKey) -> tuple[int, datetime | None]:
    """How many receipts a chat has, and when the oldest was made."""
    count = select(func.count()).where(in_chat(receipts, key))
    oldest = (
        select(receipts.c.made_at)
        .where(in_chat(receipts, key))
        .order_by(receipts.c.made_at)
        .limit(1)
    )
    return connection.execute(count).scalar_one(), connection.execute(oldest).scalar()


def fired_since(
    connection: Connection, key: ChatKey, number: int
) -> list[tuple[int, tuple[FiredEntry, ...]]]:
    """What fired for the messages from ``number`` on, in order, with the message's number.

    Only what is shown counts: the receipts of active swipes.
    """
    rows = connection.execute(
        select(receipts.c.number, receipts.c.fired)
        .join_from(
            receipts,
            messages,
            and_(
                messages.c.account_id == receipts.c.account_id,
                messages.c.chat_id == receipts.c.chat_id,
                messages.c.number == receipts.c.number,
                messages.c.active == receipts.c.swipe,
            ),
        )
        .where(
            in_chat(receipts, key),
            receipts.c.number >= number,
            receipts.c.fired.is_not(None),
        )
        .order_by(receipts.c.number)
    )
    return [(row.number, tuple(FiredEntry(*fired) for fired in row.fired)) for row in rows]


def remove(connection: Connection, key: ChatKey, numbers: Collection[int]) -> None:
    """Delete the receipts of messages that are deleted."""
    connection.execute(
        delete(receipts).where(in_chat(receipts, key), receipts.c.number.in_(numbers))
    )


def remove_after(connection: Connection, key: ChatKey, number: int) -> None:
    """Delete the receipts of all messages above ``number``."""
    connection.execute(delete(receipts).where(in_chat(receipts, key), receipts.c.number > number))


def drop_digests(connection: Connection, key: ChatKey, numbers: Collection[int]) -> None:
    """Delete the digests that tell of these messages: what they said is not to stay in there."""
    if not numbers:
        return
    rows = connection.execute(
        select(receipts).where(
            in_chat(receipts, key),
            receipts.c.number > min(numbers),
            receipts.c.digest.is_not(None),
        )
    ).all()
    telling = [one for one in map(_recorded, rows) if _tells_of(one, numbers)]
    for one in telling:
        connection.execute(
            update(receipts)
            .where(
                in_chat(receipts, key),
                receipts.c.number == one.number,
                receipts.c.swipe == one.swipe,
            )
            .values(digest=None)
        )


def _tells_of(recorded: RecordedReceipt, numbers: Collection[int]) -> bool:
    digested = (row.source for row in recorded.receipt.rows if row.note == "digest")
    for source in digested:
        first, _, last = source.removeprefix("message:").partition("/")[0].partition("-")
        if any(int(first) <= number <= int(last or first) for number in numbers):
            return True
    return False


def forget_memories(connection: Connection, account: str, memories: Sequence[int]) -> None:
    """Take memories that are deleted for good out of the receipts of all chats of an account."""
    document = cast(receipts.c.receipt, Text)
    for start in range(0, len(memories), _NAMED):
        some = memories[start : start + _NAMED]
        rows = connection.execute(
            select(receipts.c.chat_id, receipts.c.number, receipts.c.swipe, receipts.c.receipt)
            .where(
                receipts.c.account_id == account,
                or_(*(document.like(f'%"{memory}"%') for memory in some)),
            )
            .order_by(receipts.c.chat_id, receipts.c.number, receipts.c.swipe)
        ).all()
        for row in rows:
            changed = without_memories(row.receipt, some)
            if changed is None:
                continue
            connection.execute(
                update(receipts)
                .where(
                    receipts.c.account_id == account,
                    receipts.c.chat_id == row.chat_id,
                    receipts.c.number == row.number,
                    receipts.c.swipe == row.swipe,
                )
                .values(receipt=changed)
            )
