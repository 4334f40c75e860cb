"""Plans of the operator's own. They belong to no account."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from talekeeper.store.memory_tables import plans
from talekeeper.store.tables import accounts

__all__ = ["accounts_on", "find", "listed", "put", "remove"]


def find(connection: Connection, name: str, *, lock: bool = False) -> Mapping[str, Any] | None:
    """The limits of the plan of that name; ``lock`` keeps it from going away meanwhile."""
    statement = select(plans.c.limits).where(plans.c.name == name)
    found: Mapping[str, Any] | None = connection.execute(
        statement.with_for_update() if lock else statement
    ).scalar_one_or_none()
    return found


def listed(connection: Connection) -> dict[str, Mapping[str, Any]]:
    """The limits of each plan, by name."""
    rows = connection.execute(select(plans.c.name, plans.c.limits).order_by(plans.c.name))
    return {row.name: row.limits for row in rows}


def put(connection: Connection, name: str, limits: Mapping[str, Any]) -> None:
    """Add a plan, or replace the limits of the one of that name."""
    values = {"limits": dict(limits)}
    changed = connection.execute(update(plans).where(plans.c.name == name).values(**values))
    if not changed.rowcount:
        connection.execute(insert(plans).values(name=name, **values))


def remove(connection: Connection, name: str) -> None:
    """Delete a plan; nobody is on it."""
    connection.execute(delete(plans).where(plans.c.name == name))


def accounts_on(connection: Connection, name: str) -> int:
    """How many accounts are on a plan, with boost or without."""
    statement = select(func.count()).where(accounts.c.plan.in_([name, f"{name}+boost"]))
    return int(connection.execute(statement).scalar_one())
