"""Receipts that are kept: what a character saw when it said something. Knows no database."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Any, Literal

from talekeeper.domain.block import Receipt, Row
from talekeeper.domain.lore import FiredEntry

__all__ = [
    "DELETED_MEMORY",
    "UNMARKED",
    "MarkedReceipt",
    "RecordedReceipt",
    "SeenReceipt",
    "SeenRow",
    "State",
    "fingerprint",
    "head_of",
]

DELETED_MEMORY = "memory:deleted"
"""The source of a row whose memory was deleted for good: nothing tells which one it was."""

UNMARKED = "0" * 8
"""The fingerprint of such a row: it fits no text."""

State = Literal["same", "changed", "deleted", "unknown"]
"""What became of a text since it was sent. *unknown*: nothing here can look it up."""


def fingerprint(text: str) -> str:
    """Eight hexadecimal digits that tell whether a text is still the same."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()


@dataclass(frozen=True, kw_only=True, slots=True)
class MarkedReceipt:
    """A receipt that can be compared with another.

    ``marks`` are fingerprints of the texts that the sent rows stand for, in their order: of the
    texts as they were written, before macros, names and headings. ``digest`` is the text of the
    strategy's digest, None where there was none.
    """

    receipt: Receipt
    marks: tuple[str, ...]
    digest: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedReceipt(MarkedReceipt):
    """The receipt of the reply that is swipe ``swipe`` of message ``number`` of a chat.

    ``made_at`` is when the reply was recorded. ``fired`` are the entries of lorebooks that fired.
    """

    chat: str
    number: int
    swipe: int
    made_at: datetime
    fired: tuple[FiredEntry, ...] = ()

    def head(self) -> dict[str, Any]:
        """Which reply it is of, and its sizes, in the documented JSON shape."""
        receipt = self.receipt
        return {
            "chat": self.chat,
            "number": self.number,
            "swipe": self.swipe,
            "made_at": self.made_at.isoformat(),
            **head_of(receipt),
        }


def head_of(receipt: Receipt) -> dict[str, Any]:
    """The sizes of a receipt, in the documented JSON shape."""
    return {
        "tokenizer": {"name": receipt.tokenizer, "approximate": receipt.approximate},
        "context_limit": receipt.context_limit,
        "reserved_response": receipt.reserve,
        "prompt_tokens": receipt.prompt_tokens,
        "overhead": receipt.overhead,
        "strategy": receipt.strategy,
        "notes": list(receipt.notes),
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenRow:
    """A row of what was sent, with the text it stood for where that is there unchanged."""

    row: Row
    state: State
    text: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenReceipt:
    """A recorded receipt, its ``rows`` of what was sent with their texts as they are now."""

    recorded: RecordedReceipt
    rows: Sequence[SeenRow]

    def as_json(self) -> dict[str, Any]:
        """The documented JSON shape."""
        recorded = self.recorded
        return {
            **recorded.head(),
            "digest": recorded.digest,
            "receipt": [
                *(
                    {**seen.row.as_json(), "state": seen.state, "text": seen.text}
                    for seen in self.rows
                ),
                *(row.as_json() for row in recorded.receipt.left_out()),
            ],
        }
