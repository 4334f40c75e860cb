"""What models were asked for: whether the plan allows it, counting it, and noting it down."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from talekeeper.domain.errors import UsageExceeded
from talekeeper.domain.limits import Plan
from talekeeper.domain.usage import Task, Usage
from talekeeper.models.chat_model import Answer
from talekeeper.store import usage as usage_rows
from talekeeper.text.tokens import tokenizer_named

__all__ = ["check_allowance", "note_usage", "usage_of"]


def check_allowance(connection: Connection, account: str, plan: Plan, *, now: datetime) -> None:
    """UsageExceeded where the plan's tokens of today are used up."""
    if plan.daily_tokens is None:
        return
    now = now.astimezone(UTC)
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    used = usage_rows.tokens_since(connection, account, today)
    if used >= plan.daily_tokens:
        raise UsageExceeded(
            f"The plan {plan.name!r} allows {plan.daily_tokens:,} tokens of language models a day; "
            f"{used:,} were used today. The next day begins at 0:00 UTC.",
            wait=(today + timedelta(days=1) - now).total_seconds(),
        )


def usage_of(
    task: Task, model: str, messages: Sequence[Mapping[str, Any]], answer: Answer
) -> Usage:
    """What one answer to ``messages`` took."""
    asked, said = answer.prompt_tokens, answer.reply_tokens
    if asked is None or said is None:
        count = tokenizer_named("o200k_base").count
        told = (message.get("content") for message in messages)
        asked = sum(count(text) for text in told if isinstance(text, str))
        said = sum(count(call.arguments) for call in answer.calls)
        said += count(answer.text) + count(answer.reasoning)
    return Usage(task=task, model=model, prompt_tokens=asked, reply_tokens=said)


def note_usage(
    connection: Connection,
    account: str,
    usage: Sequence[Usage],
    *,
    now: datetime,
    new_id: Callable[[], str],
) -> None:
    """Note what models were asked for."""
    for used in usage:
        usage_rows.add(connection, account, used, new_id=new_id(), now=now)
