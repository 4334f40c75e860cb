"""Blocks, receipts, contexts: what a composition is made of and how it is accounted for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from talekeeper.domain.chat import Part, ToolCall
from talekeeper.domain.lore import FiredEntry

__all__ = ["SHARE", "Block", "Context", "Kind", "Layer", "Mode", "Reason", "Receipt", "Row"]

Mode = Literal["reply", "continue", "impersonate"]

Layer = Literal["lore", "recall"]
"""Blocks that are kept within a share of the budget, the more telling ones first."""

Kind = Literal[
    "main_prompt",
    "persona",
    "description",
    "personality",
    "scenario",
    "example",
    "lore",
    "entry",
    "pinned_memory",
    "memory",
    "summary",
    "message",
    "authors_note",
    "depth_prompt",
    "digest",
    "input",
    "post_history",
    "nudge",
    "prefill",
    "tools",
]

Reason = Literal[
    "sent",
    "summarised",
    "window",
    "excluded",
    "disabled",
    "empty",
    "cap",
    "budget",
    "strategy",
    "memory_off",
    "not_activated",
]


SHARE = "share"
"""The note of a row for which its layer's share of the budget had no room."""


class Block(NamedTuple):
    """One piece of the prompt; blocks are listed in the order in which they are sent.

    ``source`` says where the text comes from (``message:12/0`` is swipe 0 of message 12).
    ``tokens`` include the overhead of the message it becomes. Blocks of one ``group`` are kept or
    dropped together. ``depth`` (messages above the end) is for blocks placed inside the history.
    Those of the ``head`` are sent together, as the first system message.
    A block of a ``layer`` is kept only within that layer's share; those of lower ``rank`` first.
    A tuple, since each composition makes dozens.
    """

    kind: Kind
    source: str
    role: str
    text: str
    tokens: int
    group: str
    protected: bool = False
    head: bool = False
    depth: int | None = None
    layer: Layer | None = None
    rank: int = 0
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One line of a receipt: a block, or ``count`` things that share a reason.

    ``source`` names the thing, or the range (``message:1-340``). ``tokens`` is what it takes in
    the prompt, or would have taken; None where an aggregate was not counted.
    """

    kind: Kind
    source: str
    reason: Reason
    tokens: int | None
    count: int = 1
    note: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The documented JSON shape; ``count`` and ``note`` only where they say something."""
        row: dict[str, Any] = {
            "kind": self.kind,
            "source": self.source,
            "tokens": self.tokens,
            "reason": self.reason,
        }
        if self.count != 1:
            row["count"] = self.count
        if self.note is not None:
            row["note"] = self.note
        return row


@dataclass(frozen=True, kw_only=True, slots=True)
class Receipt:
    """The account of one composition. All sizes in tokens.

    ``budget`` = ``context_limit`` - ``reserve``; ``prompt_tokens`` never exceeds it. They are the
    tokens of the rows sent plus ``overhead``, which belongs to no block: the start of the reply.
    ``approximate`` says that the tokenizer estimates. ``notes`` are plain sentences, such as that
    a strategy was overruled.
    """

    tokenizer: str
    approximate: bool
    context_limit: int
    reserve: int
    prompt_tokens: int
    overhead: int
    strategy: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    @property
    def budget(self) -> int:
        """Tokens the prompt may take."""
        return self.context_limit - self.reserve

    def sent(self) -> tuple[Row, ...]:
        """The rows of what is in the prompt."""
        return tuple(row for row in self.rows if row.reason == "sent")

    def left_out(self) -> tuple[Row, ...]:
        """The rows of what is not in the prompt."""
        return tuple(row for row in self.rows if row.reason != "sent")


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """What compose answers: messages to send, tools to offer, and the receipt.

    ``messages`` have the shape of OpenAI chat completions. ``texts`` are the texts of what was
    sent, in the order of the receipt's ``sent`` rows. ``fired`` are the entries whose time begins
    with this reply: those that did not merely last.
    """

    messages: tuple[Mapping[str, Any], ...]
    receipt: Receipt
    texts: tuple[str, ...]
    tools: tuple[Mapping[str, Any], ...] = field(default=())
    fired: tuple[FiredEntry, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The documented JSON shape that ``talekeeper preview --json`` prints."""
        receipt = self.receipt
        return {
            "tokenizer": {"name": receipt.tokenizer, "approximate": receipt.approximate},
            "context_limit": receipt.context_limit,
            "reserved_response": receipt.reserve,
            "prompt_tokens": receipt.prompt_tokens,
            "overhead": receipt.overhead,
            "strategy": receipt.strategy,
            "notes": list(receipt.notes),
            "messages": [dict(message) for message in self.messages],
            "tools": [dict(tool) for tool in self.tools],
            "receipt": [row.as_json() for row in receipt.rows],
        }
