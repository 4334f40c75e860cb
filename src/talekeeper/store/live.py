"""What composing a prompt and placing a message read of a chat: its newest end.

The statements are built once: building one costs more than running it.
"""

from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    Row,
    Select,
    and_,
    bindparam,
    false,
    func,
    select,
    true,
)

from talekeeper.domain.cell import Tail
from talekeeper.domain.chat import LiveMessage, Role
from talekeeper.domain.errors import NotFound
from talekeeper.store.keys import LAST_NUMBER, ChatKey
from talekeeper.store.message_rows import calls_from_json, parts_from_json
from talekeeper.store.tables import messages, swipes

__all__ = [
    "ExcludedRow",
    "Outline",
    "excluded",
    "first",
    "live",
    "live_since",
    "outline",
    "tail",
]

_ACTIVE = and_(
    swipes.c.account_id == messages.c.account_id,
    swipes.c.chat_id == messages.c.chat_id,
    swipes.c.number == messages.c.number,
    swipes.c.swipe == messages.c.active,
)
_OF_CHAT = and_(
    messages.c.account_id == bindparam("account"), messages.c.chat_id == bindparam("chat")
)


def _newest(
    excluded: ColumnElement[bool], *columns: ColumnElement[Any]
) -> Select[*tuple[Any, ...]]:
    """``columns`` of the newest ``limit`` messages below ``before`` that are, or are not, excluded.

    They are chosen by number alone, from an index that holds just that: however many others lie
    between, none of them is read.
    """
    numbers = (
        select(messages.c.number)
        .where(
            _OF_CHAT,
            messages.c.excluded == excluded,
            messages.c.number < bindparam("before"),
        )
        .order_by(messages.c.number.desc())
        .limit(bindparam("limit", type_=Integer))
        .correlate(None)
    )
    return (
        select(*columns)
        .join_from(messages, swipes, _ACTIVE)
        .where(_OF_CHAT, messages.c.number.in_(numbers))
        .order_by(messages.c.number)
    )


def _bound(key: ChatKey, **more: Any) -> dict[str, Any]:
    return {"account": key.account, "chat": key.chat, **more}


class ExcludedRow(NamedTuple):
    """A message that the user keeps out of prompts; the tokens are those of its active swipe."""

    number: int
    active: int
    tokens: int


_LIVE_COLUMNS = (
    messages.c.number,
    messages.c.role,
    messages.c.speaker,
    messages.c.character_id,
    messages.c.active,
    messages.c.turn,
    messages.c.cell,
    messages.c.tool_call_id,
    swipes.c.text,
    swipes.c.tokens,
    swipes.c.tokenizer,
    swipes.c.tool_calls,
    swipes.c.parts,
    messages.c.forget,
)
_LIVE = _newest(false(), *_LIVE_COLUMNS)
_LIVE_SINCE = (
    select(*_LIVE_COLUMNS)
    .join_from(messages, swipes, _ACTIVE)
    .where(
        _OF_CHAT,
        messages.c.excluded == false(),
        messages.c.number >= bindparam("since"),
        messages.c.number < bindparam("before"),
    )
    .order_by(messages.c.number)
)
_FIRST = select(func.min(messages.c.number)).where(
    _OF_CHAT, messages.c.excluded == bindparam("excluded")
)


def _of_replaced(column: ColumnElement[Any]) -> ColumnElement[Any]:
    return select(column).where(_OF_CHAT, messages.c.number == bindparam("since")).scalar_subquery()


def _since(*conditions: ColumnElement[bool]) -> ColumnElement[Any]:
    counted = select(func.count()).select_from(messages)
    return counted.where(
        _OF_CHAT, messages.c.number >= bindparam("since"), *conditions
    ).scalar_subquery()


_OUTLINE = select(
    select(func.min(messages.c.number))
    .where(_OF_CHAT, messages.c.excluded == true())
    .scalar_subquery(),
    _since(),
    _since(messages.c.excluded == true()),
    _of_replaced(messages.c.role),
    _of_replaced(messages.c.speaker),
    _of_replaced(messages.c.character_id),
)
_EXCLUDED = _newest(true(), messages.c.number, messages.c.active, swipes.c.tokens)
_BEGINNING = messages.alias("beginning")
_NEWEST = (
    select(messages.c.turn, messages.c.cell, _BEGINNING.c.role.label("began"))
    .outerjoin_from(
        messages,
        _BEGINNING,
        and_(
            _BEGINNING.c.account_id == messages.c.account_id,
            _BEGINNING.c.chat_id == messages.c.chat_id,
            _BEGINNING.c.number == messages.c.turn,
        ),
    )
    .where(_OF_CHAT)
    .order_by(messages.c.number.desc())
    .limit(1)
)
_TAIL = (
    select(
        func.count().filter(messages.c.turn == bindparam("turn")),
        func.count(),
        func.coalesce(func.sum(swipes.c.tokens), 0),
    )
    .join_from(messages, swipes, _ACTIVE)
    .where(_OF_CHAT, messages.c.number >= bindparam("cell"), messages.c.excluded == false())
)


def live(
    connection: Connection, key: ChatKey, *, limit: int, before: int | None = None
) -> list[LiveMessage]:
    """The newest ``limit`` messages that are not excluded, oldest first; only below ``before``."""
    bound = _bound(key, limit=limit, before=LAST_NUMBER if before is None else before)
    rows = connection.execute(_LIVE, bound).all()
    return [_live_message(row) for row in rows]


def live_since(
    connection: Connection, key: ChatKey, *, number: int, before: int
) -> list[LiveMessage]:
    """The messages from ``number`` up to, not including, ``before`` that are not excluded."""
    rows = connection.execute(_LIVE_SINCE, _bound(key, since=number, before=before))
    return [_live_message(row) for row in rows]


def _live_message(row: Row[*tuple[Any, ...]]) -> LiveMessage:
    return LiveMessage._make(
        (
            *row[:11],
            calls_from_json(row[11]) if row[11] else (),
            parts_from_json(row[12]) if row[12] else (),
            row[13],
        )
    )


def first(connection: Connection, key: ChatKey, *, excluded: bool) -> int | None:
    """The number of the oldest message that is, or is not, excluded."""
    return connection.execute(_FIRST, _bound(key, excluded=excluded)).scalar()


class Outline(NamedTuple):
    """What is excluded of a chat, and how it ends.

    ``first_excluded`` is the oldest message that is excluded. ``later`` and ``later_excluded``
    count the message to be replaced and those after it; ``role``, ``speaker`` and ``character_id``
    tell who spoke it.
    """

    first_excluded: int | None
    later: int
    later_excluded: int
    role: Role | None
    speaker: str | None
    character_id: str | None


def outline(connection: Connection, key: ChatKey, *, replacing: int | None) -> Outline:
    """All that in one statement. Raises NotFound where there is no message to be replaced."""
    since = replacing if replacing is not None else LAST_NUMBER
    no_such = NotFound(f"There is no message {since} in this chat.")
    if not 0 < since <= LAST_NUMBER:
        raise no_such
    found = Outline._make(connection.execute(_OUTLINE, _bound(key, since=since)).one())
    if replacing is not None and found.role is None:
        raise no_such
    return found


def excluded(
    connection: Connection, key: ChatKey, *, limit: int, before: int | None = None
) -> list[ExcludedRow]:
    """The newest ``limit`` excluded messages, oldest first; only those below ``before``."""
    bound = _bound(key, limit=limit, before=LAST_NUMBER if before is None else before)
    return [ExcludedRow(*row) for row in connection.execute(_EXCLUDED, bound)]


def tail(connection: Connection, key: ChatKey) -> Tail | None:
    """The open turn and cell, None for an empty chat. Counts leave excluded messages out."""
    last = connection.execute(_NEWEST, _bound(key)).one_or_none()
    if last is None:
        return None
    row = connection.execute(_TAIL, _bound(key, turn=last.turn, cell=last.cell)).one()
    return Tail(
        turn=last.turn,
        turn_messages=row[0],
        by_user=last.began == "user",
        cell=last.cell,
        cell_messages=row[1],
        cell_tokens=int(row[2]),
    )
