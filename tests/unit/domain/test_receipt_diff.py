"""The difference of two receipts, and the document that one is stored as."""

import json
from typing import Any, get_args

from hypothesis import given
from hypothesis import strategies as st

from talekeeper.domain.block import Kind, Reason, Receipt, Row
from talekeeper.domain.receipt_diff import diff
from talekeeper.domain.recorded import DELETED_MEMORY, UNMARKED, MarkedReceipt, fingerprint
from talekeeper.store.receipt_json import from_json, to_json, without_memories


def _row(source: str, reason: Reason = "sent", tokens: int | None = 10, **more: Any) -> Row:
    kind: Kind = "memory" if source.startswith("memor") else "message"
    return Row(kind=kind, source=source, reason=reason, tokens=tokens, **more)


def _marked(*rows: Row, texts: dict[str, str] | None = None, **more: Any) -> MarkedReceipt:
    values: dict[str, Any] = {"strategy": "summarize", "notes": (), "tokenizer": "o200k_base"}
    sent = [row for row in rows if row.reason == "sent"]
    receipt = Receipt(
        approximate=False,
        context_limit=1000,
        reserve=100,
        prompt_tokens=3 + sum(row.tokens or 0 for row in sent),
        overhead=3,
        rows=rows,
        **(values | more),
    )
    marks = tuple(fingerprint((texts or {}).get(row.source, row.source)) for row in sent)
    return MarkedReceipt(receipt=receipt, marks=marks)


def test_the_same_is_alike() -> None:
    one = _marked(_row("message:1/0"), _row("memories", "memory_off", None, note="off"))
    found = diff(one, one)
    assert found.alike
    assert found.same == 2


def test_a_text_that_changed_is_rewritten() -> None:
    before = _marked(_row("message:1/0"), _row("memory:2"))
    after = _marked(_row("message:1/0"), _row("memory:2"), texts={"memory:2": "чай 🍵"})
    (change,) = diff(before, after).changed
    assert (change.after.source, change.rewritten) == ("memory:2", True)
    assert not diff(before, after).alike


def test_another_swipe_is_another_thing() -> None:
    found = diff(_marked(_row("message:1/0")), _marked(_row("message:1/1")))
    assert [row.source for row in found.gone] == ["message:1/0"]
    assert [row.source for row in found.new] == ["message:1/1"]


def test_a_message_may_be_among_many_in_the_other() -> None:
    before = _marked(
        _row("message:4/0"),
        _row("message:5/0"),
        _row("message:1-3", "window", None, count=3),
    )
    after = _marked(_row("message:5/0"), _row("message:1-4", "window", None, count=4))
    found = diff(before, after)
    assert (list(found.gone), list(found.new), found.same) == ([], [], 1)
    assert [(c.before.source, c.after.source) for c in found.changed] == [
        ("message:4/0", "message:1-4"),
        ("message:1-3", "message:1-4"),
    ]
    back = diff(after, before)
    assert [(c.before.source, c.after.source) for c in back.changed] == [
        ("message:1-4", "message:1-3"),
        ("message:1-4", "message:4/0"),
    ]


def test_sizes_are_summed_by_kind() -> None:
    before = _marked(_row("message:1/0"), _row("memory:1", tokens=5))
    after = _marked(_row("message:1/0", tokens=12), _row("memory:1", "budget", 5))
    found = diff(before, after)
    assert dict(found.kinds) == {"message": (10, 12), "memory": (5, 0)}
    assert [change.after.reason for change in found.changed] == ["sent", "budget"]
    assert json.loads(json.dumps(found.as_json()))["kinds"][1] == {
        "kind": "memory",
        "before": 5,
        "after": 0,
    }


def test_memories_are_taken_out_without_a_trace() -> None:
    one = _marked(_row("memory:1"), _row("memory:12"), _row("memory:3", "budget"))
    document = to_json(one)
    assert without_memories(document, [2, 4]) is None
    changed = without_memories(document, [12, 3])
    assert changed is not None
    receipt, marks = from_json(changed)
    assert [row.source for row in receipt.rows] == ["memory:1", DELETED_MEMORY, DELETED_MEMORY]
    assert marks == (one.marks[0], UNMARKED)
    assert [row.tokens for row in receipt.rows] == [10, 10, 10]
    assert document == to_json(one), "the document itself stays"


ROWS = st.builds(
    Row,
    kind=st.sampled_from(get_args(Kind)),
    source=st.sampled_from(["message:1/0", "message:1-9", "digest", "a:b:c", ":", "", "灯:é/1"]),
    reason=st.sampled_from(["sent", "sent", "window", "budget"]),
    tokens=st.none() | st.integers(0, 9),
    count=st.integers(1, 2),
    note=st.none() | st.sampled_from(["share", "digest"]),
)


@given(st.lists(ROWS, max_size=12), st.lists(st.text(), max_size=2))
def test_a_document_gives_the_receipt_back(rows: list[Row], notes: list[str]) -> None:
    one = _marked(*rows, notes=tuple(notes))
    document = json.loads(json.dumps(to_json(one)))
    assert from_json(document) == (one.receipt, one.marks)


@given(st.lists(ROWS, max_size=8), st.lists(ROWS, max_size=8))
def test_every_row_is_accounted_for(before: list[Row], after: list[Row]) -> None:
    found = diff(_marked(*before), _marked(*after))
    olds = [*found.gone, *(change.before for change in found.changed)]
    news = [*found.new, *(change.after for change in found.changed)]
    assert len(olds) + found.same >= len(before)
    assert len(news) + found.same >= len(after)
    assert {id(row) for row in olds} <= {id(row) for row in before}
    assert {id(row) for row in news} <= {id(row) for row in after}
    assert diff(_marked(*before), _marked(*before)).alike
