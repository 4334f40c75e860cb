"""What language models were asked for, and what of it is to be paid."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["BILLABLE", "TASKS", "Task", "Usage"]

Task = Literal["reply", "summary", "deeper", "draft"]
TASKS: tuple[Task, ...] = ("reply", "summary", "deeper", "draft")

BILLABLE: frozenset[Task] = frozenset({"reply"})
"""Only what a person waits for is billed; what memory costs in the background is not."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """One answer of a model: what it was for, and its tokens, as the server or else we counted."""

    task: Task
    model: str
    prompt_tokens: int
    reply_tokens: int

    @property
    def billable(self) -> bool:
        """Whether it is to be paid by the account."""
        return self.task in BILLABLE
