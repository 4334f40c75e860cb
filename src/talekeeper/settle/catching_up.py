"""Imported history and the language model: what it would take, and the consent to it.

Whoever imports ten years of chats has not agreed to pay for summarising them: until somebody does,
they are summarised locally.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from talekeeper.domain.limits import LIMITS
from talekeeper.domain.summary import FAN
from talekeeper.settle.planning import share_of
from talekeeper.store import chats as chat_rows
from talekeeper.store import settling
from talekeeper.store import summaries as rows
from talekeeper.store import summary_sources as sources
from talekeeper.store.keys import ChatKey
from talekeeper.store.settling import CatchUp

__all__ = ["CatchUpPlan", "catch_up_plan", "pause", "start"]


@dataclass(frozen=True, kw_only=True, slots=True)
class CatchUpPlan:
    """What a model would have to do for a chat whose summary was made without one.

    ``cells`` are not summarised by a model yet; ``calls`` counts the requests, merges included.
    ``tokens_in`` and ``tokens_out`` are estimates for all of them together: multiply them by the
    prices of your model. ``state`` is running, paused, or None where nobody consented.
    """

    cells: int
    calls: int
    tokens_in: int
    tokens_out: int
    state: CatchUp | None

    def as_json(self) -> dict[str, Any]:
        """The documented JSON shape."""
        return {
            "cells": self.cells,
            "calls": self.calls,
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
            "state": self.state,
        }


_PROMPT_TOKENS = 320
"""What the instructions take in each request."""


def catch_up_plan(connection: Connection, key: ChatKey) -> CatchUpPlan:
    """What is left for a model to do. Raises NotFound."""
    state = chat_rows.state(connection, key)
    local = [n for n in rows.all_of(connection, key) if n.summariser == "local" and n.messages]
    tokens_in = tokens_out = 0
    share = share_of(state)
    for node in local:
        own = sources.text_tokens(connection, key, node.first, node.last)
        below = FAN * int(share * LIMITS.merged_share)
        tokens_in += _PROMPT_TOKENS + (own if own <= LIMITS.summary_input else below)
        tokens_out += max(node.tokens, LIMITS.summary_floor)
    return CatchUpPlan(
        cells=sum(node.place.tier == 0 for node in local),
        calls=len(local),
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        state=settling.catch_up_of(connection, key),
    )


def start(connection: Connection, key: ChatKey, *, now: datetime) -> None:
    """Consent, or go on after a pause: what was made locally is made anew by the model."""
    chat_rows.state(connection, key, lock=True)
    settling.set_catch_up(connection, key, "running")
    rows.ask_anew(connection, key, by=("local",))
    chat_rows.change(connection, key, now=now)


def pause(connection: Connection, key: ChatKey, *, now: datetime) -> None:
    """Stop asking the model; what it made stays."""
    chat_rows.state(connection, key, lock=True)
    settling.set_catch_up(connection, key, "paused")
    rows.ask_anew(connection, key, due=False, by=("local",))
    chat_rows.change(connection, key, now=now)
