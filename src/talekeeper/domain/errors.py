"""Every error Talekeeper raises on purpose.

::

    TalekeeperError
    ├── InvalidInput          an argument, a setting or a text that cannot be used
    ├── NotFound              nothing of that id, prefix or title in this account
    ├── Ambiguous             a prefix or title that fits more than one thing
    ├── Conflict              the thing changed since it was read
    ├── BudgetExceeded        what must be sent does not fit the context
    ├── ScopeFull             as many memories as there may be
    ├── MemoriesOverCap       a file that holds more memories than fit
    ├── UsageExceeded         as many tokens of language models as the plan allows in a day
    ├── UnreadableFile        a file that is not what it should be, or that is hostile
    ├── ModelError            a language model that cannot be asked, or whose answer is of no use
    │   └── ToolsUnsupported  a language model that takes no tools
    └── StoreError            the database cannot be used
        ├── StoreBusy         another process holds it for too long
        ├── StoreClosed       it was closed before the call
        └── StoreTooNew       written by a newer Talekeeper

Each message is one plain sentence that says what to do. The state before the call stays.
"""

from collections.abc import Sequence

__all__ = [
    "Ambiguous",
    "BudgetExceeded",
    "Conflict",
    "InvalidInput",
    "MemoriesOverCap",
    "ModelError",
    "NotFound",
    "ScopeFull",
    "StoreBusy",
    "StoreClosed",
    "StoreError",
    "StoreTooNew",
    "TalekeeperError",
    "ToolsUnsupported",
    "UnreadableFile",
    "UsageExceeded",
]


class TalekeeperError(Exception):
    """Base of all errors raised on purpose. ``code`` is stable and documented."""

    code = "error"


class InvalidInput(TalekeeperError):
    """An argument, a setting or a text that cannot be used as it is."""

    code = "invalid_input"


class NotFound(TalekeeperError):
    """Nothing of that id, prefix or title exists in this account.

    Things of another account are not found either: the answer is the same.
    """

    code = "not_found"


class Ambiguous(TalekeeperError):
    """A prefix, a title or a name that fits more than one thing; the message lists them."""

    code = "ambiguous"


class Conflict(TalekeeperError):
    """The thing changed since the caller read it. Read it again and decide anew."""

    code = "conflict"


class BudgetExceeded(TalekeeperError):
    """The protected blocks alone are larger than the budget. Nothing was sent.

    ``blocks`` names each protected block with its size in tokens, largest first;
    ``needed`` and ``budget`` are in tokens too.
    """

    code = "budget_exceeded"

    def __init__(self, *, needed: int, budget: int, blocks: Sequence[tuple[str, int]]) -> None:
        self.needed = needed
        self.budget = budget
        self.blocks = tuple(sorted(blocks, key=lambda block: -block[1]))
        listed = ", ".join(f"{name} {tokens}" for name, tokens in self.blocks)
        super().__init__(
            f"What must be sent needs {needed} tokens, but the budget is {budget}: {listed}. "
            "Shorten the largest of these, raise the context limit or lower the reserve."
        )


class ScopeFull(TalekeeperError):
    """A scope holds as many memories as it may; nothing was added and nothing dropped.

    ``scope`` is the character's name, or ``global``; ``count`` what it holds, ``cap`` what it may,
    ``adding`` how many were to be added at once.
    """

    code = "scope_full"

    def __init__(self, *, scope: str, pinned: bool, count: int, cap: int, adding: int = 1) -> None:
        self.scope, self.pinned, self.count, self.cap = scope, pinned, count, cap
        self.adding = adding
        where = "The global scope" if scope == "global" else f"{scope}'s scope"
        which = "pinned" if pinned else "unpinned"
        if count < cap:
            says = f"{where} holds {count} of {cap} {which} memories: {adding} more do not fit. "
            super().__init__(says + "Save fewer of them, or delete some first.")
            return
        super().__init__(
            f"{where} is full: {count} of {cap} {which} memories. "
            + ("Unpin or delete one first." if pinned else "Delete one first, or pin one.")
        )


class MemoriesOverCap(TalekeeperError):
    """A file holds more memories than fit; nothing was written.

    ``scopes`` has a row for each place that would overflow: the character's name or ``global``,
    whether its pinned memories are meant, how many are there, how many the file brings, the cap.
    """

    code = "memories_over_cap"

    def __init__(self, scopes: Sequence[tuple[str, bool, int, int, int]]) -> None:
        self.scopes = tuple(scopes)
        listed = "; ".join(
            f"{name} has {there} {'pinned' if pinned else 'unpinned'} and the file brings "
            f"{in_file}, but {cap} is the most"
            for name, pinned, there, in_file, cap in self.scopes[:3]
        )
        if len(self.scopes) > 3:
            listed += f"; and so on for {len(self.scopes) - 3} more"
        super().__init__(
            f"The file holds more memories than fit: {listed}. Take the newest that fit, or "
            "delete some first."
        )


class UsageExceeded(TalekeeperError):
    """The plan allows no more tokens of language models today. The next day begins at 0:00 UTC.

    ``wait`` is how many seconds that is from now.
    """

    code = "usage_exceeded"

    def __init__(self, message: str, *, wait: float) -> None:
        self.wait = wait
        super().__init__(message)


class UnreadableFile(TalekeeperError):
    """A file that is not what it should be, is over a limit, or is hostile."""

    code = "unreadable_file"


class ModelError(TalekeeperError):
    """A language model cannot be asked, or its answer is of no use.

    ``permanent`` says that asking again is of no use before a setting or the text changes;
    ``unusable`` that this is so whatever is asked: a wrong key, no such model, no credit.
    ``wait`` is how many seconds the model wants to be left alone, where it says so.
    """

    code = "model_error"

    def __init__(
        self,
        message: str,
        *,
        permanent: bool,
        unusable: bool = False,
        wait: float | None = None,
    ) -> None:
        self.permanent = permanent
        self.unusable = unusable
        self.wait = wait
        super().__init__(message)


class ToolsUnsupported(ModelError):
    """The model or its server takes no tools. Switch the setting ``tools`` off for it."""

    code = "tools_unsupported"


class StoreError(TalekeeperError):
    """The database cannot be opened, read or written."""

    code = "store_error"


class StoreBusy(StoreError):
    """Another process held the database for longer than the time-out. Try again."""

    code = "store_busy"


class StoreClosed(StoreError):
    """The keeper was closed before this call. Open another one."""

    code = "store_closed"


class StoreTooNew(StoreError):
    """The database was written by a newer Talekeeper than this one. Upgrade, then open it."""

    code = "store_too_new"
