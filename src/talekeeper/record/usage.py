"""What models were asked for: counting it, and noting it down."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from talekeeper.domain.usage import Task, Usage
from talekeeper.models.chat_model import Answer
from talekeeper.store import usage as usage_rows
from talekeeper.text.tokens import tokenizer_named

__all__ = ["note_usage", "usage_of"]


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
