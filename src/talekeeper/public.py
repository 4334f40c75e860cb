"""The public names in one place. Use them from ``talekeeper``, which loads them when needed."""

from talekeeper.compose.request import Request
from talekeeper.compose.stateless import compose_messages
from talekeeper.domain.block import Context, Receipt, Row
from talekeeper.domain.character import Card, Character, DepthPrompt, Persona
from talekeeper.domain.chat import Chat, Message, Part, Swipe, ToolCall
from talekeeper.domain.draft import Draft, Drafted
from talekeeper.domain.errors import (
    Ambiguous,
    BudgetExceeded,
    Conflict,
    InvalidInput,
    MemoriesOverCap,
    ModelError,
    NotFound,
    ScopeFull,
    StoreBusy,
    StoreClosed,
    StoreError,
    StoreTooNew,
    TalekeeperError,
    ToolsUnsupported,
    UnreadableFile,
    UsageExceeded,
)
from talekeeper.domain.limits import LIMITS, PLANS, Limits, Plan
from talekeeper.domain.lore import CharacterFilter, Entry, Lorebook, Use
from talekeeper.domain.memory import Memory
from talekeeper.domain.receipt_diff import ReceiptDiff, RowChange
from talekeeper.domain.recorded import RecordedReceipt, SeenReceipt, SeenRow
from talekeeper.domain.settings import AuthorsNote, GenerationSettings, Shares
from talekeeper.domain.summary import Summary
from talekeeper.keeper import Keeper
from talekeeper.models.chat_model import Answer, ChatModel, Endpoint
from talekeeper.models.openai_compatible import OpenAICompatible
from talekeeper.parts.summaries import SummaryView
from talekeeper.record.memories import Added
from talekeeper.record.messages import NewMessage, NewSwipe
from talekeeper.record.report import ImportReport
from talekeeper.reply import Reply
from talekeeper.sync import SyncKeeper

__all__ = [
    "LIMITS",
    "PLANS",
    "Added",
    "Ambiguous",
    "Answer",
    "AuthorsNote",
    "BudgetExceeded",
    "Card",
    "Character",
    "CharacterFilter",
    "Chat",
    "ChatModel",
    "Conflict",
    "Context",
    "DepthPrompt",
    "Draft",
    "Drafted",
    "Endpoint",
    "Entry",
    "GenerationSettings",
    "ImportReport",
    "InvalidInput",
    "Keeper",
    "Limits",
    "Lorebook",
    "MemoriesOverCap",
    "Memory",
    "Message",
    "ModelError",
    "NewMessage",
    "NewSwipe",
    "NotFound",
    "OpenAICompatible",
    "Part",
    "Persona",
    "Plan",
    "Receipt",
    "ReceiptDiff",
    "RecordedReceipt",
    "Reply",
    "Request",
    "Row",
    "RowChange",
    "ScopeFull",
    "SeenReceipt",
    "SeenRow",
    "Shares",
    "StoreBusy",
    "StoreClosed",
    "StoreError",
    "StoreTooNew",
    "Summary",
    "SummaryView",
    "Swipe",
    "SyncKeeper",
    "TalekeeperError",
    "ToolCall",
    "ToolsUnsupported",
    "UnreadableFile",
    "UsageExceeded",
    "Use",
    "compose_messages",
]
