"""Talekeeper: long-term memory for character chat.

Three verbs: *record* what was said, *compose* what the model should see, *settle* what is derived.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from talekeeper.public import *  # noqa: F403

__all__ = [  # noqa: F405
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
    "__version__",
    "compose_messages",
]

__version__ = "0.1.0"


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """A public name, loaded at its first use: so the command line can be stopped at once."""
        if name not in __all__:
            raise AttributeError(f"module 'talekeeper' has no attribute {name!r}")
        from talekeeper import public

        globals().update({known: getattr(public, known) for known in public.__all__})
        return globals()[name]

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
