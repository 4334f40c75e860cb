"""``keeper.settings``: how prompts are composed, for the account and for single chats."""

from typing import Any

from talekeeper.compose.strategies import strategy_named
from talekeeper.domain.limits import Plan, plan_named
from talekeeper.domain.settings import GenerationSettings
from talekeeper.parts.desk import Desk
from talekeeper.record import accounts
from talekeeper.store import chats as chat_rows
from talekeeper.text.tokens import tokenizer_named

__all__ = ["Settings"]


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

    async def change(self, chat: str | None = None, /, **changes: Any) -> GenerationSettings:
        """Change settings of a chat, or of the account. InvalidInput names what is wrong."""
        desk = self._desk
        for name, known in (("strategy", strategy_named), ("tokenizer", tokenizer_named)):
            if changes.get(name) is not None:
                known(changes[name])
        if chat is not None:
            return await desk.write(
                accounts.change_chat_settings, desk.key(chat), changes, now=desk.clock()
            )
        return await desk.write(accounts.change_account_settings, desk.account.id, changes)

    async def plan(self) -> Plan:
        """The account's plan."""
        return await self._desk.read(accounts.plan_of, self._desk.account.id)

    async def set_plan(self, name: str) -> Plan:
        """Move the account to another plan (``talekeeper limits`` lists them)."""
        await self._desk.write(accounts.set_plan, self._desk.account.id, name)
        return plan_named(name)
