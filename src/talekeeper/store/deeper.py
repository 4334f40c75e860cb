"""Which cells were read for lasting details, which are due, and the messages they are read from."""

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from sqlalchemy import (
    Connection,
    Integer,
    and_,
    bindparam,
    func,
    insert,
    literal,
    or_,
    select,
)

from talekeeper.domain.deeper import CellMessage, DeeperChange, DeeperPass
from talekeeper.store.copying import copied
from talekeeper.store.keys import ChatKey
from talekeeper.store.memory_tables import deeper_passes
from talekeeper.store.tables import messages, summaries, swipes

__all__ = ["copy_until", "due", "listed", "marked", "messages_of", "put"]

_LAST_MARK = select(func.max(deeper_passes.c.cell)).where(
    deeper_passes.c.account_id == bindparam("account"),
    deeper_passes.c.chat_id == bindparam("chat"),
)
_DUE = (
    select(
        summaries.c.cell,
        summaries.c.last,
        or_(summaries.c.summariser == "person", summaries.c.made_from == summaries.c.current).label(
            "true_to_text"
        ),
    )
    .where(
        summaries.c.account_id == bindparam("account"),
        summaries.c.chat_id == bindparam("chat"),
        summaries.c.cell > bindparam("after", type_=Integer),
        summaries.c.tier == 0,
        summaries.c.last < bindparam("before", type_=Integer),
    )
    .order_by(summaries.c.cell)
    .limit(bindparam("limit", type_=Integer))
)
_MESSAGES = (
    select(
        messages.c.number,
        messages.c.role,
        messages.c.speaker,
        messages.c.character_id,
        messages.c.active,
        swipes.c.text,
        swipes.c.tokens,
        messages.c.forget,
        messages.c.learnable,
        messages.c.line.is_not(None).label("imported"),
    )
    .join_from(
        messages,
        swipes,
        and_(
            swipes.c.account_id == messages.c.account_id,
            swipes.c.chat_id == messages.c.chat_id,
            swipes.c.number == messages.c.number,
            swipes.c.swipe == messages.c.active,
        ),
    )
    .where(
        messages.c.account_id == bindparam("account"),
        messages.c.chat_id == bindparam("chat"),
        messages.c.cell == bindparam("cell", type_=Integer),
        # The table has no index of cells: they are found by number, and end where another begins.
        messages.c.number >= bindparam("cell", type_=Integer),
        messages.c.number < bindparam("end", type_=Integer),
    )
    .order_by(messages.c.number)
)


def due(connection: Connection, key: ChatKey, *, before: int, limit: int) -> list[tuple[int, int]]:
    """(cell, last message) of the first cells that end before message ``before``, are summarised
    as they are now, and have no mark yet.

    Cells are marked in order: what is due comes after the last mark, and ends before a cell whose
    summary is to be made anew.
    """
    after = connection.execute(_LAST_MARK, key._asdict()).scalar() or 0
    bound = {**key._asdict(), "after": after, "before": before, "limit": limit}
    found = takewhile(lambda row: row.true_to_text, connection.execute(_DUE, bound))
    return [(int(row.cell), int(row.last)) for row in found]


def messages_of(connection: Connection, key: ChatKey, cell: int, last: int) -> list[CellMessage]:
    """The messages of a cell, in order, as far as ``last``."""
    bound = {**key._asdict(), "cell": cell, "end": last + 1}
    rows = connection.execute(_MESSAGES, bound)
    return [CellMessage(**row._mapping) for row in rows]


def marked(connection: Connection, key: ChatKey, cell: int) -> bool:
    """Whether a cell has its mark."""
    statement = select(deeper_passes.c.cell).where(
        deeper_passes.c.account_id == key.account,
        deeper_passes.c.chat_id == key.chat,
        deeper_passes.c.cell == cell,
    )
    return connection.execute(statement).scalar() is not None


def put(connection: Connection, key: ChatKey, passes: Sequence[DeeperPass]) -> None:
    """Mark cells that have no mark yet."""
    of_chat = {"account_id": key.account, "chat_id": key.chat}
    if passes:
        connection.execute(insert(deeper_passes), [of_chat | _values(one) for one in passes])


def _values(one: DeeperPass) -> dict[str, Any]:
    told = None
    if one.changes or one.unlisted:
        told = {"list": [change.as_json() for change in one.changes], "unlisted": one.unlisted}
    return {
        "cell": one.cell,
        "run": one.run,
        "outcome": one.outcome,
        "reason": one.reason,
        "model": one.model,
        "operations": told,
        "made_at": one.made_at,
    }


def listed(connection: Connection, key: ChatKey) -> list[DeeperPass]:
    """The marks of a chat, in the order of its cells."""
    last = (
        select(summaries.c.last)
        .where(
            summaries.c.account_id == deeper_passes.c.account_id,
            summaries.c.chat_id == deeper_passes.c.chat_id,
            summaries.c.tier == 0,
            summaries.c.cell == deeper_passes.c.cell,
        )
        .limit(1)
        .scalar_subquery()
    )
    rows = connection.execute(
        select(deeper_passes, last.label("last"))
        .where(deeper_passes.c.account_id == key.account, deeper_passes.c.chat_id == key.chat)
        .order_by(deeper_passes.c.cell)
    )
    return [_pass(row._mapping) for row in rows]


def _pass(row: Any) -> DeeperPass:
    told = row["operations"] or {"list": [], "unlisted": 0}
    return DeeperPass(
        cell=row["cell"],
        outcome=row["outcome"],
        made_at=row["made_at"],
        run=row["run"],
        reason=row["reason"],
        model=row["model"],
        changes=tuple(DeeperChange.from_json(change) for change in told["list"]),
        unlisted=told["unlisted"],
        last=row["last"],
    )


def copy_until(connection: Connection, source: ChatKey, target: ChatKey, number: int) -> None:
    """Copy the marks of the cells that end at or before message ``number`` into another chat."""
    following = (
        select(messages.c.cell)
        .where(
            messages.c.account_id == source.account,
            messages.c.chat_id == source.chat,
            messages.c.number > number,
        )
        .order_by(messages.c.number)
        .limit(1)
        .scalar_subquery()
    )
    statement = copied(
        deeper_passes,
        source,
        target,
        deeper_passes.c.cell <= number,
        deeper_passes.c.cell != func.coalesce(following, literal(0)),
    )
    connection.execute(statement)
