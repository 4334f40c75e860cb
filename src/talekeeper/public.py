"""The public names in one place. Use them from ``talekeeper``, which loads them when needed."""

from talekeeper.compose.request import Request
from talekeeper.compose.stateless import compose_messages
from talekeeper.domain.block import Context, Receipt, Row
from talekeeper.domain.character import Card, Character, DepthPrompt, Persona
from talekeeper.domain.chat import Chat, Message, Part, Swipe, ToolCall
from talekeeper.domain.errors import (
    Ambiguous,
    BudgetExceeded,
    Conflict,
    InvalidInput,
    NotFound,
    StoreBusy,
    StoreClosed,
    StoreError,
    StoreTooNew,
    TalekeeperError,
    UnreadableFile,
)
from talekeeper.domain.limits import LIMITS, PLANS, Limits, Plan
from talekeeper.domain.settings import AuthorsNote, GenerationSettings, Shares
from talekeeper.keeper import Keeper
from talekeeper.record.messages import NewMessage, NewSwipe
from talekeeper.record.report import ImportReport
from talekeeper.sync import SyncKeeper

__all__ = [
    "LIMITS",
    "PLANS",
    "Ambiguous",
    "AuthorsNote",
    "BudgetExceeded",
    "Card",
    "Character",
    "Chat",
    "Conflict",
    "Context",
    "DepthPrompt",
    "GenerationSettings",
    "ImportReport",
    "InvalidInput",
    "Keeper",
    "Limits",
    "Message",
    "NewMessage",
    "NewSwipe",
    "NotFound",
    "Part",
    "Persona",
    "Plan",
    "Receipt",
    "Request",
    "Row",
    "Shares",
    "StoreBusy",
    "StoreClosed",
    "StoreError",
    "StoreTooNew",
    "Swipe",
    "SyncKeeper",
    "TalekeeperError",
    "ToolCall",
    "UnreadableFile",
    "compose_messages",
]
