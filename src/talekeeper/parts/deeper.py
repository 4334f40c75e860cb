"""Deeper memory as a person sees it: whether it is active in a chat, and what it did there."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from talekeeper.domain.deeper import DeeperPass
from talekeeper.record.deeper import why_off
from talekeeper.store import chats as chat_rows
from talekeeper.store import deeper as rows
from talekeeper.store.keys import ChatKey

__all__ = ["DeeperView", "deeper_view"]


@dataclass(frozen=True, kw_only=True, slots=True)
class DeeperView:
    """Deeper memory in a chat. ``why_not`` says why it is not active, None where it is.

    ``passes`` are the cells that were read, or passed over, the oldest first.
    """

    chat: str
    why_not: str | None
    passes: Sequence[DeeperPass]

    @property
    def active(self) -> bool:
        """Whether cells that leave the live window are read."""
        return self.why_not is None

    @property
    def made(self) -> int:
        """How many changes were made in all."""
        return sum(one.made for one in self.passes)

    @property
    def refused(self) -> int:
        """How many were not."""
        return sum(one.refused for one in self.passes)

    def as_json(self) -> dict[str, Any]:
        """The documented JSON shape."""
        return {
            "chat": self.chat,
            "active": self.active,
            "why_not": self.why_not,
            "made": self.made,
            "refused": self.refused,
            "passes": [one.as_json() for one in self.passes],
        }


def deeper_view(connection: Connection, key: ChatKey, *, has_model: bool) -> DeeperView:
    """What is to be seen of deeper memory in a chat. Raises NotFound."""
    state = chat_rows.state(connection, key)
    why_not = why_off(connection, state)
    if why_not is None and not has_model:
        why_not = "No language model is configured for work in the background."
    return DeeperView(chat=key.chat, why_not=why_not, passes=rows.listed(connection, key))
