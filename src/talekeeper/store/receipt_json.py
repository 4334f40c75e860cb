"""A receipt as it is stored: small, since there is one for each reply.

Rows that follow each other and are alike but for their names and sizes are one run, a list:
kind, reason, what their sources begin with, the rest of each source, the tokens of each, the
fingerprints of those that were sent in one text, then the note and the count where they say
something.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from talekeeper.domain.block import Receipt, Row
from talekeeper.domain.recorded import DELETED_MEMORY, UNMARKED, MarkedReceipt

__all__ = ["from_json", "to_json", "without_memories"]

_MARK = len(UNMARKED)
_MEMORY, _, _DELETED = DELETED_MEMORY.rpartition(":")


def to_json(marked: MarkedReceipt) -> dict[str, Any]:
    """The document of a receipt; its digest is stored apart."""
    receipt = marked.receipt
    document: dict[str, Any] = {
        "tokenizer": receipt.tokenizer,
        "approximate": receipt.approximate,
        "context": receipt.context_limit,
        "reserve": receipt.reserve,
        "prompt": receipt.prompt_tokens,
        "overhead": receipt.overhead,
        "strategy": receipt.strategy,
        "runs": _runs(receipt.rows, marked.marks),
    }
    if receipt.notes:
        document["notes"] = list(receipt.notes)
    return document


def _runs(rows: Sequence[Row], marks: Sequence[str]) -> list[list[Any]]:
    left = iter(marks)
    runs: list[list[Any]] = []
    last: tuple[object, ...] | None = None
    for row in rows:
        begin, colon, rest = row.source.partition(":")
        if not colon:
            begin, rest = "", begin
        alike = row.kind, row.reason, f"{begin}{colon}", row.note, row.count
        if alike != last:
            more = [row.note, row.count] if row.count != 1 else [row.note] if row.note else []
            runs.append([row.kind, row.reason, f"{begin}{colon}", [], [], "", *more])
            last = alike
        run = runs[-1]
        run[3].append(rest)
        run[4].append(row.tokens)
        run[5] += next(left) if row.reason == "sent" else ""
    return runs


def from_json(document: Mapping[str, Any]) -> tuple[Receipt, tuple[str, ...]]:
    """The receipt of a document, and the fingerprints of what was sent."""
    rows = [row for run in document["runs"] for row in _rows(run)]
    marks = [mark for run in document["runs"] for mark in _marks(run[5])]
    receipt = Receipt(
        tokenizer=document["tokenizer"],
        approximate=document["approximate"],
        context_limit=document["context"],
        reserve=document["reserve"],
        prompt_tokens=document["prompt"],
        overhead=document["overhead"],
        strategy=document["strategy"],
        rows=tuple(rows),
        notes=tuple(document.get("notes", ())),
    )
    return receipt, tuple(marks)


def _rows(run: Sequence[Any]) -> Iterator[Row]:
    kind, reason, begin, names, tokens, _, *more = run
    note = more[0] if more else None
    count = more[1] if len(more) > 1 else 1
    for name, size in zip(names, tokens, strict=True):
        yield Row(
            kind=kind, source=f"{begin}{name}", reason=reason, tokens=size, count=count, note=note
        )


def _marks(joined: str) -> list[str]:
    return [joined[at : at + _MARK] for at in range(0, len(joined), _MARK)]


def without_memories(
    document: Mapping[str, Any], memories: Collection[int]
) -> dict[str, Any] | None:
    """The document without a trace of these memories but their size; None where none is in it."""
    names = {str(memory) for memory in memories}
    found = False
    runs: list[list[Any]] = []
    for run in document["runs"]:
        kept = list(run)
        if run[2] == f"{_MEMORY}:" and not names.isdisjoint(run[3]):
            found = True
            marks = _marks(run[5])
            gone = [name in names for name in run[3]]
            kept[3] = [_DELETED if g else name for g, name in zip(gone, run[3], strict=True)]
            if marks:
                kept[5] = "".join(
                    UNMARKED if g else mark for g, mark in zip(gone, marks, strict=True)
                )
        runs.append(kept)
    return {**document, "runs": runs} if found else None
