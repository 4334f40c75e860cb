"""The difference of two receipts: what came, what went, and what is told otherwise."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from talekeeper.domain.block import Kind, Receipt, Row
from talekeeper.domain.recorded import MarkedReceipt, head_of

__all__ = ["ReceiptDiff", "RowChange", "diff"]


@dataclass(frozen=True, kw_only=True, slots=True)
class RowChange:
    """The same thing in both. ``rewritten`` says that its text is not the same any more."""

    before: Row
    after: Row
    rewritten: bool = False

    def as_json(self) -> dict[str, Any]:
        """The documented JSON shape."""
        return {
            "before": self.before.as_json(),
            "after": self.after.as_json(),
            "rewritten": self.rewritten,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class ReceiptDiff:
    """What two receipts do not have in common.

    ``gone`` are rows of the first only, ``new`` of the second only, ``changed`` of both with
    another reason, note, size or text. ``same`` counts the others. ``kinds`` are the tokens of
    what is sent, by kind: (before, after).
    """

    before: Receipt
    after: Receipt
    gone: Sequence[Row]
    new: Sequence[Row]
    changed: Sequence[RowChange]
    same: int
    kinds: Mapping[Kind, tuple[int, int]]

    @property
    def alike(self) -> bool:
        """Whether the model sees the same."""
        return not (self.gone or self.new or self.changed) and (
            self.before.prompt_tokens == self.after.prompt_tokens
        )

    def as_json(self) -> dict[str, Any]:
        """The documented JSON shape."""
        return {
            "before": head_of(self.before),
            "after": head_of(self.after),
            "kinds": [
                {"kind": kind, "before": before, "after": after}
                for kind, (before, after) in self.kinds.items()
            ],
            "gone": [row.as_json() for row in self.gone],
            "new": [row.as_json() for row in self.new],
            "changed": [change.as_json() for change in self.changed],
            "same": self.same,
        }


_Key = tuple[object, ...]


def diff(before: MarkedReceipt, after: MarkedReceipt) -> ReceiptDiff:
    """Compare two receipts. A thing is the same where its source is: its swipe, its memory.

    A message that one has a row for, and the other among many in one row, is in both.
    """
    olds, news = _keyed(before.receipt.rows), _keyed(after.receipt.rows)
    old_marks, new_marks = _marks(before), _marks(after)
    changed: list[RowChange] = []
    gone: list[Row] = []
    same = 0
    among_new = _Many(after.receipt.rows)
    for key, row in olds.items():
        other = news.get(key)
        if other is not None:
            rewritten = _rewritten(old_marks.get(key), new_marks.get(key))
            if rewritten or _told(row) != _told(other):
                changed.append(RowChange(before=row, after=other, rewritten=rewritten))
            else:
                same += 1
        elif (many := among_new.holding(row)) is not None:
            changed.append(RowChange(before=row, after=many))
        else:
            gone.append(row)
    among_old = _Many(before.receipt.rows)
    new: list[Row] = []
    for key, row in news.items():
        if key in olds:
            continue
        if (many := among_old.holding(row)) is not None:
            changed.append(RowChange(before=many, after=row))
        else:
            new.append(row)
    return ReceiptDiff(
        before=before.receipt,
        after=after.receipt,
        gone=gone,
        new=new,
        changed=changed,
        same=same,
        kinds=_kinds(before.receipt, after.receipt),
    )


def _keyed(rows: Iterable[Row]) -> dict[_Key, Row]:
    """The rows by what they stand for: by source, or, where a row stands for many messages, by why
    they are not sent; the second of the same has a number."""
    return {key: row for row, key in _keys(rows)}


def _keys(rows: Iterable[Row]) -> Iterator[tuple[Row, _Key]]:
    seen: dict[_Key, int] = {}
    for row in rows:
        key: _Key = (row.source,)
        if _range(row) is not None:
            key = ("message", row.reason, row.note)
        elif row.count != 1:
            key = (row.kind, row.reason)
        seen[key] = seen.get(key, 0) + 1
        yield row, (*key, seen[key])


def _marks(marked: MarkedReceipt) -> dict[_Key, str]:
    """The fingerprints of what was sent, by the same keys."""
    marks = iter(marked.marks)
    return {key: next(marks) for row, key in _keys(marked.receipt.rows) if row.reason == "sent"}


def _rewritten(before: str | None, after: str | None) -> bool:
    return before is not None and after is not None and before != after


def _told(row: Row) -> tuple[object, ...]:
    return row.source, row.reason, row.tokens, row.count, row.note


def _range(row: Row) -> tuple[int, int] | None:
    """The first and the last message of a row that stands for many, None for any other row."""
    kind, _, rest = row.source.partition(":")
    first, _, last = rest.partition("-")
    if kind != "message" or not first.isdecimal() or not (last or first).isdecimal():
        return None
    return int(first), int(last or first)


class _Many:
    """The rows that stand for many messages."""

    def __init__(self, rows: Iterable[Row]) -> None:
        ranges = ((row, _range(row)) for row in rows)
        self._ranges = [(row, *found) for row, found in ranges if found is not None]

    def holding(self, row: Row) -> Row | None:
        """The row that a message is among, None where there is none or it is no message."""
        kind, _, rest = row.source.partition(":")
        number, _, swipe = rest.partition("/")
        if kind != "message" or not swipe:
            return None
        found = (many for many, first, last in self._ranges if first <= int(number) <= last)
        return next(found, None)


def _kinds(before: Receipt, after: Receipt) -> dict[Kind, tuple[int, int]]:
    found: dict[Kind, tuple[int, int]] = {}
    for at, receipt in enumerate((before, after)):
        for row in receipt.sent():
            pair = [*found.get(row.kind, (0, 0))]
            pair[at] += row.tokens or 0
            found[row.kind] = pair[0], pair[1]
    return found
