"""What gives way, in which order, and what never does."""

from collections.abc import Iterable, Sequence

import pytest

from talekeeper import BudgetExceeded, InvalidInput, Shares
from talekeeper.compose.budget import fit, over_share
from talekeeper.compose.render import arrange, render
from talekeeper.compose.strategies import Group, strategy_named
from talekeeper.domain.block import Block
from talekeeper.domain.chat import Part, ToolCall
from talekeeper.domain.limits import LIMITS

TRUNCATE = strategy_named("truncate")


def block(
    name: str,
    tokens: int = 10,
    *,
    group: str | None = None,
    protected: bool = False,
    depth: int | None = None,
) -> Block:
    return Block(
        kind="message" if depth is None else "authors_note",
        source=name,
        role="user",
        text=name,
        tokens=tokens,
        group=group or name,
        protected=protected,
        depth=depth,
    )


def budget(tokens: int) -> int:
    return tokens + LIMITS.reply_overhead


def test_a_layer_keeps_to_its_share_and_sends_what_fits() -> None:
    def memory(name: str, tokens: int, rank: int) -> Block:
        return block(name, tokens)._replace(layer="recall", rank=rank)

    memories = [memory("old", 10, 3), memory("long", 50, 2), memory("new", 10, 1)]
    history = block("history", 500)
    shares = Shares(recall=0.2)
    assert over_share([*memories, history], 100, shares) == {"long"}
    assert over_share([*memories, history], 50, shares) == {"long", "old"}
    assert over_share([*memories, history], 1000, shares) == frozenset()


def test_nothing_gives_way_where_all_fits() -> None:
    assert fit([block("a"), block("b")], budget(20), TRUNCATE) == frozenset()


def test_the_oldest_give_way_first_and_no_more_than_needed() -> None:
    blocks = [block("a"), block("b"), block("c"), block("d", protected=True)]
    assert fit(blocks, budget(39), TRUNCATE) == {"a"}
    assert fit(blocks, budget(20), TRUNCATE) == {"a", "b"}


def test_a_group_gives_way_as_a_whole() -> None:
    blocks = [block("call", group="g"), block("result", group="g"), block("c")]
    assert fit(blocks, budget(29), TRUNCATE) == {"g"}


def test_a_group_with_a_protected_block_is_protected() -> None:
    blocks = [block("call", group="g", protected=True), block("result", group="g"), block("c")]
    assert fit(blocks, budget(20), TRUNCATE) == {"c"}


def test_notes_at_a_depth_give_way_last() -> None:
    assert fit([block("note", depth=4), block("a"), block("b")], budget(10), TRUNCATE) == {"a", "b"}


def test_protected_blocks_that_do_not_fit_are_named_with_their_sizes() -> None:
    blocks = [block("small", 5, protected=True), block("large", 50, protected=True), block("a")]
    with pytest.raises(BudgetExceeded) as caught:
        fit(blocks, budget(54), TRUNCATE)
    error = caught.value
    assert (error.needed, error.budget) == (budget(55), budget(54))
    assert error.blocks == (("message (large)", 50), ("message (small)", 5))
    assert "message (large) 50" in str(error)


class Hostile:
    """Names what it may not, twice, and forgets the rest."""

    name = "hostile"
    digests = False

    def order(self, groups: Sequence[Group]) -> Iterable[str]:
        return ["protected", "nobody", "b", "b"]


def test_no_strategy_exceeds_the_budget_or_touches_what_is_protected() -> None:
    blocks = [block("protected", protected=True), block("a"), block("b"), block("c")]
    assert fit(blocks, budget(30), Hostile()) == {"b"}
    assert fit(blocks, budget(10), Hostile()) == {"a", "b", "c"}


def test_an_unknown_strategy_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="there are summarize, truncate, manual"):
        strategy_named("magic")


@pytest.mark.parametrize(
    ("depth", "expected"),
    [
        (0, ["a", "b", "c", "note"]),
        (1, ["a", "b", "note", "c"]),
        (3, ["note", "a", "b", "c"]),
        (99, ["note", "a", "b", "c"]),
    ],
)
def test_depth_counts_from_the_end(depth: int, expected: list[str]) -> None:
    blocks = [block("a"), block("b"), block("c"), block("note", depth=depth)]
    assert [one.text for one in arrange(blocks)] == expected


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_note_never_splits_a_tool_group(depth: int) -> None:
    blocks = [
        block("a"),
        *(block(name, group="g") for name in ("call", "result 1", "result 2")),
        block("note", depth=depth),
    ]
    assert [one.text for one in arrange(blocks)] == [
        "a",
        "note",
        "call",
        "result 1",
        "result 2",
    ]


def test_two_notes_at_one_depth_keep_their_order() -> None:
    blocks = [block("a"), block("first", depth=0), block("second", depth=0)]
    assert [one.text for one in arrange(blocks)] == ["a", "first", "second"]


def test_tools_and_pictures_have_the_shape_of_chat_completions() -> None:
    call = Block(
        kind="message",
        source="m",
        role="assistant",
        text="",
        tokens=1,
        group="g",
        tool_calls=(ToolCall(id="1", name="look", arguments='{"at":"sea"}'),),
    )
    result = Block(
        kind="message", source="m", role="tool", text="Grey.", tokens=1, group="g", tool_call_id="1"
    )
    picture = Block(
        kind="message",
        source="m",
        role="user",
        text="See?",
        tokens=1,
        group="p",
        parts=(Part(kind="image", url="data:image/png;base64,AA=="),),
    )
    assert list(render([call, result, picture])) == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "1",
                    "type": "function",
                    "function": {"name": "look", "arguments": '{"at":"sea"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "1", "content": "Grey."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "See?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
            ],
        },
    ]
