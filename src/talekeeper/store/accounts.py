"""Accounts: the owners of everything."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, insert, or_, select, update

from talekeeper.domain.errors import NotFound
from talekeeper.store.tables import accounts, characters, chats

__all__ = [
    "Account",
    "find",
    "get",
    "insert_account",
    "listed",
    "remove_if_empty",
    "update_account",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """Owner of everything; ``settings`` are its overrides of GenerationSettings."""

    id: str
    name: str
    plan: str
    settings: Mapping[str, Any]


_COLUMNS = (accounts.c.id, accounts.c.name, accounts.c.plan, accounts.c.settings)


def find(connection: Connection, *, name: str) -> Account | None:
    """The account of that name."""
    row = connection.execute(select(*_COLUMNS).where(accounts.c.name == name)).one_or_none()
    return Account(**row._mapping) if row else None


def get(connection: Connection, account_id: str, *, lock: bool = False) -> Account:
    """The account of that id; ``lock`` keeps other writers of it out. Raises NotFound."""
    statement = select(*_COLUMNS).where(accounts.c.id == account_id)
    row = connection.execute(statement.with_for_update() if lock else statement).one_or_none()
    if row is None:
        raise NotFound("This account does not exist any more.")
    return Account(**row._mapping)


def listed(connection: Connection) -> list[Account]:
    """All accounts, by name."""
    rows = connection.execute(select(*_COLUMNS).order_by(accounts.c.name))
    return [Account(**row._mapping) for row in rows]


def insert_account(connection: Connection, account: Account, *, now: datetime) -> None:
    """Add an account; the caller has made sure that the name is free."""
    connection.execute(
        insert(accounts).values(
            id=account.id,
            name=account.name,
            plan=account.plan,
            settings=dict(account.settings),
            created_at=now,
        )
    )


def remove_if_empty(connection: Connection, name: str) -> None:
    """Delete the account of that name if it owns no character and no chat."""
    owned = [
        select(table.c.id).where(table.c.account_id == accounts.c.id).exists()
        for table in (characters, chats)
    ]
    connection.execute(delete(accounts).where(accounts.c.name == name, ~or_(*owned)))


def update_account(connection: Connection, account_id: str, **values: Any) -> None:
    """Replace columns of an account."""
    connection.execute(update(accounts).where(accounts.c.id == account_id).values(**values))
