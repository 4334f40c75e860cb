"""Plans: those that come with Talekeeper, and the operator's own."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection

from talekeeper.domain.errors import Conflict, InvalidInput, NotFound
from talekeeper.domain.limits import PLANS, Plan, limits_of, own_plan, plan_named
from talekeeper.store import plans as rows

__all__ = ["all_plans", "define_plan", "delete_plan", "plan_called"]


def plan_called(connection: Connection, name: str, *, lock: bool = False) -> Plan:
    """The plan of that name, the operator's own too, ``+boost`` understood.

    ``lock`` keeps it from being deleted meanwhile. InvalidInput lists the plans there are.
    """
    base = name.partition("+")[0]
    limits = None if base in PLANS else rows.find(connection, base, lock=lock)
    if limits is None and base not in PLANS:
        there = ", ".join((*PLANS, *rows.listed(connection)))
        raise InvalidInput(f"There is no plan {name!r}; the plans are {there}.")
    return plan_named(name, limits)


def all_plans(connection: Connection) -> Sequence[Plan]:
    """Every plan: those that come with Talekeeper first, then the operator's own by name."""
    own = rows.listed(connection).items()
    return [*PLANS.values(), *(plan_named(name, limits) for name, limits in own)]


def define_plan(connection: Connection, name: str, limits: dict[str, Any]) -> Plan:
    """Add a plan, or change limits of one; what is not given stays, or is as in ``self_hosted``.

    Accounts on it have the new limits at once; cells that exist keep their boundaries. Raises
    InvalidInput.
    """
    before = rows.find(connection, name, lock=True) or {}
    plan = own_plan(name, **{**before, **limits})
    rows.put(connection, name, limits_of(plan))
    return plan


def delete_plan(connection: Connection, name: str) -> None:
    """Delete a plan of the operator's own. Raises NotFound, Conflict while an account is on it."""
    if name in PLANS:
        raise InvalidInput(f"The plan {name!r} comes with Talekeeper and cannot be deleted.")
    if rows.find(connection, name, lock=True) is None:
        raise NotFound(f"There is no plan {name!r} of your own.")
    if rows.accounts_on(connection, name):
        raise Conflict(f"An account is on the plan {name!r}: move it to another one first.")
    rows.remove(connection, name)
