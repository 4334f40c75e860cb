"""Accounts, their plans, and the settings of accounts and chats."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import BaseModel
from sqlalchemy import Connection

from talekeeper.domain.errors import InvalidInput
from talekeeper.domain.limits import Plan
from talekeeper.domain.settings import GenerationSettings
from talekeeper.record.plans import plan_called
from talekeeper.record.texts import check_texts, checked_name
from talekeeper.store import accounts as account_rows
from talekeeper.store import chats as chat_rows
from talekeeper.store import settling
from talekeeper.store.accounts import Account
from talekeeper.store.keys import ChatKey
from talekeeper.text.tokens import tokenizer_named

__all__ = [
    "account_named",
    "account_settings",
    "change_account_settings",
    "change_chat_settings",
    "plan_of",
    "set_plan",
]


def account_named(
    connection: Connection, name: str, *, new_id: str, now: datetime, plan: str = "self_hosted"
) -> Account:
    """The account of that name, made when there is none. InvalidInput for an unknown plan."""
    found = account_rows.find(connection, name=name)
    if found:
        return found
    plan_called(connection, plan, lock=True)
    account = Account(
        id=new_id, name=checked_name(name, "An account's name"), plan=plan, settings={}
    )
    account_rows.insert_account(connection, account, now=now)
    return account


def set_plan(connection: Connection, account: str, plan: str) -> Plan:
    """Move an account to another plan. Cells that exist keep their boundaries.

    InvalidInput lists the plans there are.
    """
    found = plan_called(connection, plan, lock=True)
    settling.wake_all(connection, account)  # Chats are locked before their account.
    account_rows.update_account(connection, account, plan=plan)
    return found


def plan_of(connection: Connection, account: str) -> Plan:
    """The plan an account is on."""
    return plan_called(connection, account_rows.get(connection, account).plan)


def account_settings(connection: Connection, account: str) -> GenerationSettings:
    """The settings in force where a chat does not override them."""
    return GenerationSettings().changed(**account_rows.get(connection, account).settings)


def change_account_settings(
    connection: Connection, account: str, changes: Mapping[str, Any]
) -> GenerationSettings:
    """Set settings for all chats of an account; a value of None goes back to the default."""
    if _MOVE_WINDOWS & changes.keys():
        settling.wake_all(connection, account)  # Chats are locked before their account.
    merged = _merged(account_rows.get(connection, account, lock=True).settings, changes)
    settings = GenerationSettings().changed(**merged)
    _check(settings)
    account_rows.update_account(connection, account, settings=merged)
    return settings


def change_chat_settings(
    connection: Connection, key: ChatKey, changes: Mapping[str, Any], *, now: datetime
) -> GenerationSettings:
    """Override settings for one chat; a value of None takes an override back."""
    state = chat_rows.state(connection, key, lock=True)
    merged = _merged(state.chat_settings, changes)
    settings = GenerationSettings().changed(**{**state.account_settings, **merged})
    _check(settings)
    chat_rows.change(connection, key, now=now, settings=merged)
    return settings


_MOVE_WINDOWS = frozenset({"context_limit", "reserve", "live_cap", "shares", "tokenizer"})
"""Settings by which the live window may begin elsewhere, or the summary have other room."""


def _merged(current: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    unknown = set(changes) - set(GenerationSettings.model_fields)
    if unknown:
        known = ", ".join(GenerationSettings.model_fields)
        raise InvalidInput(f"There is no setting {sorted(unknown)[0]!r}; there are {known}.")
    merged = dict(current)
    for name, value in changes.items():
        given = value.model_dump() if isinstance(value, BaseModel) else value
        before = merged.get(name)
        if isinstance(given, Mapping) and isinstance(before, Mapping):
            given = {**before, **given}
        merged[name] = given
    check_texts(merged)
    return {name: value for name, value in merged.items() if value is not None}


def _check(settings: GenerationSettings) -> None:
    """What the settings' own shape cannot tell: a tokenizer that exists, room for a prompt."""
    tokenizer_named(settings.tokenizer)
    _ = settings.budget
