"""One memory as a line of the prompt. The same memory makes the same line turn after turn, so that
what was written lately is kept."""

from datetime import tzinfo
from functools import lru_cache
from typing import NamedTuple

from talekeeper.domain.block import Block
from talekeeper.domain.limits import LIMITS
from talekeeper.domain.memory import MemoryLine
from talekeeper.text.macros import MacroValues, expand_names
from talekeeper.text.tokens import tokenizer_named

__all__ = ["Form", "counted", "memory_block"]

_SEPARATOR_TOKENS = 2


class Form(NamedTuple):
    """How a line is written. ``numbered`` shows the memory's number, ``recent`` marks it so;
    ``zone`` is where its date is told; the names are what its macros stand for."""

    numbered: bool
    recent: bool
    zone: tzinfo
    tokenizer: str
    user: str
    char: str
    group: tuple[str, ...]


@lru_cache(maxsize=4096)
def memory_block(memory: MemoryLine, form: Form) -> Block:
    """The block of a memory, without a heading."""
    source = f"memory:{memory.id}"
    names = MacroValues(user=form.user, char=form.char, group=form.group)
    said = expand_names(memory.text, names, most=LIMITS.memory_characters)
    known = said is memory.text and memory.tokenizer == form.tokenizer
    lines = said.splitlines()
    if lines != [said]:  # Whatever divides lines: a memory stays one item of the list.
        said, known = "\n  ".join(lines), False
    tokens = memory.tokens if known else tokenizer_named(form.tokenizer).count(said)
    mark = f"#{memory.id} " if form.numbered else ""
    day = memory.updated_at.astimezone(form.zone).date().isoformat()
    return Block(
        kind="pinned_memory" if memory.pinned else "memory",
        source=source,
        role="system",
        text=f"- {mark}{said} ({day}{', recent' if form.recent else ''})",
        tokens=tokens + _around(form.tokenizer, len(mark), form.recent),
        group=source if memory.pinned else "memories",
        protected=memory.pinned,
    )


def _around(tokenizer: str, mark: int, recent: bool) -> int:
    """Tokens of what stands around a text, counted once for each form."""
    form = f"\n- {'#9999999999 '[:mark]} (2026-12-30{', recent' if recent else ''})"
    return counted(tokenizer, form) + _SEPARATOR_TOKENS


@lru_cache(maxsize=512)
def counted(tokenizer: str, text: str) -> int:
    """The tokens of what stands in every prompt, by the tokenizer of that name."""
    return tokenizer_named(tokenizer).count(text)
