"""Which chats wait to be settled, who has one on lease, and what went wrong.

A chat waits while its version is above the one at which settle last found nothing to do; that is
only where to look: what there is to do is derived from the chat itself.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    false,
    func,
    insert,
    or_,
    select,
    true,
    update,
)

from talekeeper.store.keys import ChatKey
from talekeeper.store.tables import chats, settling

__all__ = [
    "CatchUp",
    "Failure",
    "acquire",
    "attempts",
    "catch_up_of",
    "counts",
    "extend",
    "fail",
    "failures",
    "holds",
    "leased",
    "note",
    "release",
    "retry",
    "set_catch_up",
    "settled",
    "waiting",
    "wake",
    "wake_all",
]

CatchUp = Literal["running", "paused"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """What went wrong when a chat was settled.

    ``permanent`` says that the model cannot be used before something changes, and that the chat
    was settled without it; else it is tried again at ``retry_at``.
    """

    key: ChatKey
    title: str
    reason: str
    permanent: bool
    attempts: int
    failed_at: datetime
    retry_at: datetime | None


def _of(key: ChatKey) -> ColumnElement[bool]:
    return and_(settling.c.account_id == key.account, settling.c.chat_id == key.chat)


_SAME_CHAT = and_(settling.c.account_id == chats.c.account_id, settling.c.chat_id == chats.c.id)


def waiting(
    connection: Connection, *, now: datetime, limit: int, account: str | None = None
) -> list[ChatKey]:
    """Chats with something to settle that nobody has on lease, those that wait longest first."""
    statement = (
        select(chats.c.account_id, chats.c.id)
        .outerjoin_from(chats, settling, _SAME_CHAT)
        .where(
            chats.c.version > chats.c.settled,
            chats.c.importing_since.is_(None),
            or_(settling.c.leased_until.is_(None), settling.c.leased_until < now),
            or_(
                settling.c.retry_at.is_(None),
                settling.c.retry_at <= now,
                and_(settling.c.deferred == true(), chats.c.updated_at > settling.c.failed_at),
            ),
        )
        .order_by(chats.c.updated_at)
        .limit(limit)
    )
    if account is not None:
        statement = statement.where(chats.c.account_id == account)
    return [ChatKey(*row) for row in connection.execute(statement)]


def acquire(
    connection: Connection, key: ChatKey, owner: str, *, now: datetime, until: datetime
) -> bool:
    """Take a chat on lease. False while another has it."""
    _make(connection, key)
    taken = connection.execute(
        update(settling)
        .where(
            _of(key),
            or_(
                settling.c.owner.is_(None),
                settling.c.owner == owner,
                settling.c.leased_until.is_(None),
                settling.c.leased_until < now,
            ),
        )
        .values(owner=owner, leased_until=until)
    )
    return taken.rowcount == 1


def extend(connection: Connection, key: ChatKey, owner: str, *, until: datetime) -> bool:
    """Keep a lease for longer. False when another took the chat meanwhile."""
    kept = connection.execute(
        update(settling).where(_of(key), settling.c.owner == owner).values(leased_until=until)
    )
    return kept.rowcount == 1


def holds(connection: Connection, key: ChatKey, owner: str) -> bool:
    """Whether the lease is still this owner's; keeps others from taking it until the unit ends."""
    statement = select(settling.c.owner).where(_of(key)).with_for_update()
    return connection.execute(statement).scalar() == owner


def release(connection: Connection, key: ChatKey, owner: str) -> None:
    """Give a chat back."""
    connection.execute(
        update(settling)
        .where(_of(key), settling.c.owner == owner)
        .values(owner=None, leased_until=None)
    )


def settled(connection: Connection, key: ChatKey, owner: str, version: int) -> None:
    """Nothing was left to do at this version: the chat waits no more.

    A failure to be tried again is over; a permanent one stays until somebody looks at it.
    """
    connection.execute(
        update(settling)
        .where(_of(key), settling.c.owner == owner)
        .values(owner=None, leased_until=None, attempts=0, retry_at=None)
    )
    connection.execute(
        update(settling)
        .where(_of(key), settling.c.permanent == false())
        .values(failure=None, failed_at=None)
    )
    connection.execute(
        update(chats)
        .where(chats.c.account_id == key.account, chats.c.id == key.chat)
        .values(settled=version)
    )


def fail(
    connection: Connection,
    key: ChatKey,
    owner: str | None,
    *,
    reason: str,
    now: datetime,
    retry_at: datetime,
    deferred: bool = False,
) -> None:
    """Remember why a chat could not be settled, and give it back, whoever has it for None.

    It waits until ``retry_at``; ``deferred``, until it changes if that is sooner.
    """
    _make(connection, key)
    connection.execute(
        update(settling)
        .where(_of(key), *([settling.c.owner == owner] if owner else []))
        .values(
            owner=None,
            leased_until=None,
            attempts=settling.c.attempts + 1,
            retry_at=retry_at,
            deferred=deferred,
            failure=reason,
            permanent=False,
            failed_at=now,
        )
    )


def note(connection: Connection, key: ChatKey, owner: str, *, reason: str, now: datetime) -> None:
    """Remember that the model cannot be used and that a chat is settled without it."""
    connection.execute(
        update(settling)
        .where(_of(key), settling.c.owner == owner)
        .values(attempts=settling.c.attempts + 1, failure=reason, permanent=True, failed_at=now)
    )


def attempts(connection: Connection, key: ChatKey) -> int:
    """How often settling the chat failed in a row."""
    return connection.execute(select(settling.c.attempts).where(_of(key))).scalar() or 0


def failures(connection: Connection, account: str) -> list[Failure]:
    """What keeps the account's chats from being settled, the newest first."""
    rows = connection.execute(
        select(
            settling.c.account_id,
            settling.c.chat_id,
            chats.c.title,
            settling.c.failure,
            settling.c.permanent,
            settling.c.attempts,
            settling.c.failed_at,
            settling.c.retry_at,
        )
        .join_from(settling, chats, _SAME_CHAT)
        .where(settling.c.account_id == account, settling.c.failure.is_not(None))
        .order_by(settling.c.failed_at.desc())
    )
    return [
        Failure(
            key=ChatKey(row.account_id, row.chat_id),
            title=row.title,
            reason=row.failure,
            permanent=row.permanent,
            attempts=row.attempts,
            failed_at=row.failed_at,
            retry_at=row.retry_at,
        )
        for row in rows
    ]


def retry(connection: Connection, key: ChatKey) -> None:
    """Let a failure be over, so that the chat is tried again at once."""
    connection.execute(
        update(settling)
        .where(_of(key))
        .values(failure=None, attempts=0, retry_at=None, permanent=False, failed_at=None)
    )


def catch_up_of(connection: Connection, key: ChatKey) -> CatchUp | None:
    """Whether imported history is being summarised by a model: running, paused, or not at all."""
    found: CatchUp | None = connection.execute(select(settling.c.catch_up).where(_of(key))).scalar()
    return found


def set_catch_up(connection: Connection, key: ChatKey, value: CatchUp | None) -> None:
    """Start, pause or end summarising imported history by a model."""
    _make(connection, key)
    connection.execute(update(settling).where(_of(key)).values(catch_up=value))


def wake(connection: Connection, key: ChatKey) -> None:
    """Let settle look at a chat again though no message of it changed."""
    connection.execute(
        update(chats)
        .where(chats.c.account_id == key.account, chats.c.id == key.chat)
        .values(settled=0)
    )


def wake_all(connection: Connection, account: str) -> None:
    """Let settle look at all chats of an account again: what their prompts may hold changed.

    Chats that are being imported are looked at anyway, and their import holds them.
    """
    of_account = chats.c.account_id == account, chats.c.importing_since.is_(None)
    in_order = select(chats.c.id).where(*of_account).order_by(chats.c.id)
    connection.execute(in_order.with_for_update()).all()
    connection.execute(update(chats).where(*of_account).values(settled=0))


def _make(connection: Connection, key: ChatKey) -> None:
    values: dict[str, Any] = {
        "account_id": key.account,
        "chat_id": key.chat,
        "attempts": 0,
        "permanent": False,
    }
    there = select(settling.c.chat_id).where(_of(key)).with_for_update()
    if connection.execute(there).scalar() is None:
        connection.execute(insert(settling).values(values))


def counts(connection: Connection, account: str | None = None) -> tuple[int, int]:
    """(chats that wait to be settled, chats whose settling failed); of all accounts for None."""
    waits = select(func.count()).where(
        chats.c.version > chats.c.settled, chats.c.importing_since.is_(None)
    )
    failed = select(func.count()).where(settling.c.failure.is_not(None))
    if account is not None:
        waits = waits.where(chats.c.account_id == account)
        failed = failed.where(settling.c.account_id == account)
    return connection.execute(waits).scalar_one(), connection.execute(failed).scalar_one()


def leased(connection: Connection) -> int:
    """How many chats are on lease at the moment."""
    statement = select(func.count()).where(settling.c.owner.is_not(None))
    return connection.execute(statement).scalar_one()
