"""``keeper.settings``: how prompts are composed, for the account and for single chats."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel
from sqlalchemy import Connection

from talekeeper.compose.strategies import strategy_named
from talekeeper.domain.limits import Plan
from talekeeper.domain.settings import GenerationSettings
from talekeeper.parts.desk import Desk
from talekeeper.record import accounts, plans
from talekeeper.store import accounts as account_rows
from talekeeper.store import chats as chat_rows
from talekeeper.store import usage as usage_rows
from talekeeper.store.usage import UsageRow
from talekeeper.text.tokens import tokenizer_named

__all__ = ["Origin", "Settings"]

Origin = Literal["chat", "account", "default"]
"""Where a setting that is in force was set."""


class Settings:
    """GenerationSettings. A value of None takes a setting back to where it was before."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def get(self, chat: str | None = None) -> GenerationSettings:
        """The settings in force for a chat, or for the account."""
        desk = self._desk
        if chat is not None:
            state = await desk.read(chat_rows.state, desk.key(chat))
            return state.settings
        return await desk.read(accounts.account_settings, desk.account.id)

    async def origins(self, chat: str | None = None) -> Mapping[str, Origin]:
        """For each setting of :meth:`get`, by name, where its value comes from.

        A part of a group stands there too, under a name such as ``shares.lore``.
        """
        desk = self._desk

        def unit(connection: Connection) -> Mapping[str, Origin]:
            own: Mapping[str, Any] = {}
            if chat is not None:
                own = chat_rows.state(connection, desk.key(chat)).chat_settings
            account = account_rows.get(connection, desk.account.id).settings
            return {
                name: "chat"
                if _sets(own, name)
                else "account"
                if _sets(account, name)
                else "default"
                for name in _names(GenerationSettings)
            }

        return await desk.read(unit)

    async def change(self, chat: str | None = None, /, **changes: Any) -> GenerationSettings:
        """Change settings of a chat, or of the account. InvalidInput names what is wrong."""
        desk = self._desk
        for name, known in (("strategy", strategy_named), ("tokenizer", tokenizer_named)):
            if changes.get(name) is not None:
                known(changes[name])

        def unit(connection: Connection) -> GenerationSettings:
            if chat is None:
                settings = accounts.change_account_settings(connection, desk.account.id, changes)
            else:
                key = desk.key(chat)
                accounts.change_chat_settings(connection, key, changes, now=desk.clock())
                settings = chat_rows.state(connection, key).settings
            if changes.get("shares") is not None:
                settings.shares.check()
            return settings

        return await desk.write(unit)

    async def plan(self) -> Plan:
        """The account's plan."""
        return await self._desk.read(accounts.plan_of, self._desk.account.id)

    async def set_plan(self, name: str) -> Plan:
        """Move the account to another plan; ``+boost`` after its name doubles some of its limits.

        InvalidInput lists the plans there are.
        """
        return await self._desk.write(accounts.set_plan, self._desk.account.id, name)

    async def plans(self) -> Sequence[Plan]:
        """Every plan: those that come with Talekeeper, then the operator's own."""
        return await self._desk.read(plans.all_plans)

    async def define_plan(self, /, name: str, **limits: Any) -> Plan:
        """Add a plan for all accounts of the database, or change limits of one; ``limits`` are
        fields of Plan. What is not given stays, or is as in ``self_hosted``. Raises InvalidInput.
        """
        return await self._desk.write(plans.define_plan, name, limits)

    async def delete_plan(self, name: str) -> None:
        """Delete a plan that was defined here. Raises NotFound, InvalidInput for one that comes
        with Talekeeper, and Conflict while an account is on it."""
        await self._desk.write(plans.delete_plan, name)

    async def usage(self, since: datetime | None = None) -> Sequence[UsageRow]:
        """What the account asked of language models since a moment, or ever: sums by task and
        model, the largest first."""
        return await self._desk.read(usage_rows.by_task, self._desk.account.id, since=since)


def _names(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """The names of all settings, those of a group after the group's own."""
    for name, field in model.model_fields.items():
        yield f"{prefix}{name}"
        if isinstance(field.default, BaseModel):
            yield from _names(type(field.default), f"{name}.")


def _sets(values: Mapping[str, Any], name: str) -> bool:
    group, _, part = name.partition(".")
    found = values.get(group)
    return group in values and (not part or not isinstance(found, Mapping) or part in found)
