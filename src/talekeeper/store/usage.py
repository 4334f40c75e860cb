"""What an account asked of language models."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, func, insert, select

from talekeeper.domain.usage import Usage
from talekeeper.store.memory_tables import usage

__all__ = ["UsageRow", "add", "by_task", "tokens_since"]


class UsageRow(NamedTuple):
    """The sum of one task with one model. ``billable`` tells whether it is to be paid."""

    task: str
    model: str
    billable: bool
    answers: int
    prompt_tokens: int
    reply_tokens: int


def add(connection: Connection, account: str, used: Usage, *, new_id: str, now: datetime) -> None:
    """Note one answer of a model."""
    connection.execute(
        insert(usage).values(
            account_id=account,
            id=new_id,
            at=now,
            task=used.task,
            model=used.model,
            prompt_tokens=used.prompt_tokens,
            reply_tokens=used.reply_tokens,
            billable=used.billable,
        )
    )


def tokens_since(connection: Connection, account: str, since: datetime) -> int:
    """All tokens since a moment."""
    total = func.coalesce(func.sum(usage.c.prompt_tokens + usage.c.reply_tokens), 0)
    statement = select(total).where(usage.c.account_id == account, usage.c.at >= since)
    return int(connection.execute(statement).scalar_one())


def by_task(
    connection: Connection, account: str, *, since: datetime | None = None
) -> list[UsageRow]:
    """Sums by task and model, the largest first; since a moment, or all."""
    sums = (func.sum(usage.c.prompt_tokens), func.sum(usage.c.reply_tokens))
    keys = (usage.c.task, usage.c.model, usage.c.billable)
    chosen = [usage.c.account_id == account]
    if since is not None:
        chosen.append(usage.c.at >= since)
    rows = connection.execute(
        select(*keys, func.count(), *sums)
        .where(*chosen)
        .group_by(*keys)
        .order_by((sums[0] + sums[1]).desc(), *keys)
    )
    return [
        UsageRow(row[0], row[1], bool(row[2]), int(row[3]), int(row[4]), int(row[5]))
        for row in rows
    ]
