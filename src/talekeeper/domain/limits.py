"""Every number of the design, once: plans, and the limits that hold for all of them.

``talekeeper limits`` and the reference page are printed from the two classes here; no other
module writes one of these numbers. Field metadata holds the unit and the meaning.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any

from talekeeper.domain.errors import InvalidInput

__all__ = [
    "LIMITS",
    "PLANS",
    "Limits",
    "Plan",
    "describe",
    "limits_of",
    "own_plan",
    "plan_named",
    "shown",
]


def _number(default: Any, unit: str, meaning: str) -> Any:
    return field(default=default, metadata={"unit": unit, "meaning": meaning})


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What an account may use. ``self_hosted`` is the default."""

    name: str
    live_tokens: int = _number(10_000, "tokens", "live window at most")
    recall: int = _number(10, "facts", "recalled for every 15 live messages at most")
    deeper_memory: bool = _number(True, "yes or no", "cells are read again for lasting details")
    daily_tokens: int | None = _number(None, "tokens", "of language models a day at most")

    def boosted(self) -> "Plan":
        """The same plan with *boost*: live tokens and recall doubled."""
        return replace(
            self,
            name=f"{self.name}+boost",
            live_tokens=2 * self.live_tokens,
            recall=2 * self.recall,
        )


PLANS: Mapping[str, Plan] = MappingProxyType(
    {
        plan.name: plan
        for plan in (
            Plan(name="free", live_tokens=8_000, recall=5, deeper_memory=False),
            Plan(name="tier1"),
            Plan(name="tier2", live_tokens=14_000, recall=15),
            Plan(name="tier3", live_tokens=18_000, recall=20),
            Plan(name="self_hosted"),
        )
    }
)
"""Those that come with Talekeeper; an operator may add others."""


def plan_named(name: str, limits: Mapping[str, Any] | None = None) -> Plan:
    """The plan of that name, ``+boost`` understood. InvalidInput lists the plans there are.

    ``limits`` are those of a plan of the operator's own.
    """
    base, _, boost = name.partition("+")
    plan = Plan(name=base, **limits) if limits is not None else PLANS.get(base)
    if plan is None or boost not in ("", "boost"):
        raise InvalidInput(f"There is no plan {name!r}; the plans are {', '.join(PLANS)}.")
    return plan.boosted() if boost else plan


def own_plan(name: str, **limits: Any) -> Plan:
    """A plan of the operator's own, if it is one. InvalidInput says what is wrong with it."""
    if not name.isidentifier() or not name.isascii() or name in PLANS:
        raise InvalidInput(
            f"A plan cannot be called {name!r}: take letters, digits and _, and no name of those "
            f"that there are ({', '.join(PLANS)})."
        )
    for key, value in limits.items():
        if key == "deeper_memory":
            if not isinstance(value, bool):
                raise InvalidInput(f"{key} is true or false.")
        elif value is None and key == "daily_tokens":
            continue
        elif not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise InvalidInput(f"{key} is a whole number, not {value!r}.")
    if limits.get("live_tokens") == 0:
        raise InvalidInput("live_tokens must be at least 1.")
    return Plan(name=name, **limits)


def limits_of(plan: Plan) -> dict[str, Any]:
    """The limits of a plan by name, without its own name."""
    return {item.name: getattr(plan, item.name) for item in fields(plan) if item.name != "name"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What holds for every plan."""

    live_share: float = _number(0.25, "of the context", "live window at most, if that is smaller")
    live_messages: int = _number(50, "messages", "live window at most")
    cell_messages: int = _number(16, "messages", "a cell with this many closes at the next turn")
    cell_share: float = _number(
        0.30, "of the live tokens", "a cell with this many tokens closes at the next turn"
    )
    turn_messages: int = _number(
        50, "messages", "a turn that no user began goes on as a new one after this many"
    )
    context_limit: int = _number(
        32_768, "tokens", "context where neither settings nor endpoint tell"
    )
    reserve: int = _number(1_024, "tokens", "kept free for the reply by default")
    message_overhead: int = _number(4, "tokens", "counted for each message besides its text")
    reply_overhead: int = _number(3, "tokens", "counted once, for the start of the reply")
    image_tokens: int = _number(1_000, "tokens", "counted for an image by default")
    memories: int = _number(100, "memories", "unpinned ones of a scope at most")
    pinned_memories: int = _number(20, "memories", "pinned ones of a scope at most")
    memory_characters: int = _number(500, "characters", "a memory at most, after NFC")
    memories_sent: int = _number(
        100, "memories", "unpinned ones in a prompt at most, of all scopes together"
    )
    memory_recent_days: int = _number(7, "days", "a memory is marked as recent for")
    memory_trash_days: int = _number(30, "days", "a deleted memory stays in the trash")
    memory_similar: float = _number(
        0.60, "of their terms", "that two memories share makes them similar"
    )
    pinned_warning: float = _number(
        0.25, "of the context", "pinned memories may take before pinning warns"
    )
    tools_share: float = _number(
        0.10, "of the budget", "tool schemas may take; else no tools are offered"
    )
    memory_writes: int = _number(5, "memories", "a character writes in one reply at most")
    reply_calls: int = _number(6, "model calls", "for one reply at most")
    generate_characters: int = _number(
        1_000, "characters", "a description that memories are generated from at most"
    )
    generate_drafts: int = _number(10, "drafts", "generated from a description at most")
    save_messages: int = _number(20, "messages", "chosen to be saved from a conversation at most")
    save_drafts: int = _number(5, "drafts", "drafted from chosen messages at most")
    deeper_operations: int = _number(10, "changes", "of one deeper pass at most")
    deeper_deletions: int = _number(3, "deletions", "among them at most")
    deeper_messages: int = _number(4, "messages", "in a cell for a deeper pass at least")
    deeper_memory_tokens: int = _number(
        8_000, "tokens", "of memories shown to a deeper pass at most"
    )
    summary_share: float = _number(0.15, "of the budget", "conversation summary at most")
    memory_share: float = _number(0.20, "of the budget", "unpinned memories at most")
    lore_share: float = _number(0.25, "of the budget", "activated lore at most")
    scan_depth: int = _number(
        10, "messages", "searched for keywords, the current input included, by default"
    )
    recursion_levels: int = _number(8, "levels", "entries fired by entries, at most")
    pattern_milliseconds: int = _number(
        20, "milliseconds", "one pattern may search one text; then it does not fire"
    )
    keys: int = _number(200, "keys", "of one entry at most, secondary ones included")
    key_characters: int = _number(500, "characters", "a key at most")
    entry_characters: int = _number(100_000, "characters", "text of an entry at most")
    entries: int = _number(20_000, "entries", "in one lorebook at most")
    lorebook_bytes: int = _number(32_000_000, "bytes", "a lorebook file at most")
    receipts: int = _number(200, "receipts", "of a chat are kept, the newest")
    plugin_seconds: int = _number(15, "seconds", "a plugin's strategy may take")
    recall_share: float = _number(0.10, "of the budget", "recalled facts and passages at most")
    digest_share: float = _number(0.05, "of the budget", "digest of dropped history at most")
    recent_ratio: float = _number(
        0.20, "of its messages", "a recent summary at most, if that is less than its share"
    )
    merge_ratio: float = _number(
        0.60, "of the summaries it replaces", "a merge at most, if that is less than its share"
    )
    recent_share: float = _number(0.08, "of the summary's share", "a recent summary at most")
    merged_share: float = _number(0.12, "of the summary's share", "a merged summary at most")
    long_term_share: float = _number(0.16, "of the summary's share", "a long-term summary at most")
    summary_floor: int = _number(48, "tokens", "a summary may always have as many")
    summary_input: int = _number(
        12_000, "tokens", "read for one summary at most; beyond, a merge reads summaries"
    )
    summary_characters: int = _number(
        20_000, "characters", "a summary that a person writes at most"
    )
    cells_a_lease: int = _number(8, "summaries", "made before a chat is given back")
    lease_seconds: int = _number(60, "seconds", "a chat stays leased without a sign of life")
    retry_seconds: int = _number(15, "seconds", "before the first new try; doubles each time")
    retry_most_seconds: int = _number(3_600, "seconds", "between two tries at most")
    message_characters: int = _number(1_000_000, "characters", "text of one swipe at most")
    swipes: int = _number(1_000, "swipes", "swipes of one message at most")
    title_characters: int = _number(300, "characters", "a chat's title or a name at most")
    participants: int = _number(100, "characters", "characters in one chat at most")
    card_bytes: int = _number(32_000_000, "bytes", "a card file at most")
    chat_line_bytes: int = _number(16_000_000, "bytes", "one line of a chat file at most")
    memory_file_bytes: int = _number(32_000_000, "bytes", "a file of memories at most")
    json_depth: int = _number(64, "levels", "nesting of a JSON document at most")
    import_batch: int = _number(500, "messages", "written per transaction while importing")
    import_batch_bytes: int = _number(
        4_000_000, "bytes", "of the file read per transaction, if that is fewer messages"
    )
    import_idle_minutes: int = _number(10, "minutes", "an import without progress is swept after")


LIMITS = Limits()


def describe(limits: Limits | Plan) -> list[tuple[str, int | float | bool | None, str, str]]:
    """Rows of (name, value, unit, meaning) for the numbers of one table, in order."""
    return [
        (item.name, getattr(limits, item.name), item.metadata["unit"], item.metadata["meaning"])
        for item in fields(limits)
        if item.metadata
    ]


def shown(value: float | bool | None) -> str:
    """A value of :func:`describe` as people read it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "no limit" if value is None else f"{value:,}"
