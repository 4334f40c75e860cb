"""What becomes of a model's answers: summaries, and never anything else."""

import pytest

from talekeeper.domain.summary import Summary
from talekeeper.settle.summarize import within
from talekeeper.testing import Step, steps
from talekeeper.text.tokens import tokenizer_named
from tests.conftest import run
from tests.settle.tales import nodes, opened_house, tell

MET = "Alice and Mira walked on to the next well."


def _made(step: Step) -> tuple[list[Summary], list[str]]:
    """The summaries of a chat whose model does that, and the reasons of its failures."""

    async def go() -> tuple[list[Summary], list[str]]:
        async with opened_house([step]) as house:
            chat = await tell(house.keeper)
            await house.keeper.summaries.settle(chat)
            failures = await house.keeper.summaries.failures()
            return await nodes(house.keeper, chat), [failure.reason for failure in failures]

    return run(go())


def test_a_summary_is_the_models_words() -> None:
    async def go() -> None:
        async with opened_house([steps.answer(f"\n {MET} \n")]) as house:
            chat = await tell(house.keeper)
            settled = await house.keeper.summaries.settle(chat)
            assert (settled.chats, settled.made, settled.failed) == (1, 1, [])
            (node,) = await nodes(house.keeper, chat)
            assert (node.text, node.summariser, node.model) == (MET, "model", "fake-model")
            assert (node.first, node.last, node.valid) == (1, 2, True)
            (request,) = house.server.requests
            assert "Day 1: we walk on" in request.text
            assert "Mira: Night 1: it rains" in request.text
            assert "Day 2" not in request.text
            assert "tools" not in request.body
            assert not await house.keeper.summaries.failures()
            # Nothing is left to do: no further question.
            await house.keeper.summaries.settle(chat)
            await house.keeper.summaries.settle()
            assert len(house.server.requests) == 1

    run(go())


@pytest.mark.parametrize(
    "step",
    [
        steps.thoughts(MET),
        steps.thoughts(MET, thought="<think>\nOnce more."),
        steps.answer(f"The user wants a summary.\n</think>\n{MET}"),
        steps.answer(f"<THINKING>Hm.</THINKING>{MET}"),
    ],
)
def test_thoughts_are_no_part_of_it(step: Step) -> None:
    (node,), failures = _made(step)
    assert (node.text, node.summariser) == (MET, "model")
    assert not failures


@pytest.mark.parametrize(
    "step",
    [
        *(steps.empty(), steps.null(), steps.answer(" \n "), steps.tool_calls()),
        *(steps.thoughts(""), steps.answer("<think>\nLet me see. They"), steps.invalid_json()),
        *(steps.cut(steps.answer(MET)), steps.failing(), steps.too_many()),
    ],
)
def test_what_is_no_answer_leaves_nothing_but_a_failure(step: Step) -> None:
    made, failures = _made(step)
    assert not made
    assert len(failures) == 1


@pytest.mark.parametrize(
    "said",
    [
        "I'm sorry, but I can't help with that.",
        "I’m really sorry, I cannot.",
        "**I cannot summarise this conversation.**",
        "I can't assist with this request.",
        "As an AI language model, I do not take part in role-play.",
        "I apologize, but this is against my rules.",
        "I won't continue this.",
        "I am unable to do that.",
    ],
)
def test_a_refusal_in_words_is_no_summary(said: str) -> None:
    (node,), (reason,) = _made(steps.answer(said))
    assert node.summariser == "local"
    assert "refused" in reason
    assert "It was summarised without a model." in reason


@pytest.mark.parametrize(
    "said",
    [
        "Alice was sorry that she could not help.",
        '"I am sorry," said Mira, and Alice forgave her.',
        "I cannotire, the ghost, met Alice.",
    ],
)
def test_who_is_sorry_in_the_story_refuses_nothing(said: str) -> None:
    (node,), failures = _made(steps.answer(said))
    assert (node.text, node.summariser) == (said, "model")
    assert not failures


@pytest.mark.parametrize(
    "step",
    [steps.long_answer(), steps.answer("word " * 5_000), steps.answer("雨が降る。" * 3_000)],
    ids=["sentences", "one sentence", "japanese"],
)
def test_an_over_long_answer_is_cut_to_its_bound(step: Step) -> None:
    (node,), failures = _made(step)
    assert not failures
    assert node.summariser == "model"
    assert 0 < node.tokens <= 48
    assert node.tokens == tokenizer_named("approximate").count(node.text)


def test_it_is_cut_between_sentences() -> None:
    (node,), _ = _made(steps.long_answer())
    assert node.text.endswith("of many things.")
    assert node.tokens > 24
    words = len
    assert within('He said "Go." She went. Then', 24, words) == 'He said "Go." She went.'
    assert within("Short.", 24, words) == "Short."
    assert within("雨だ。雪だ。風だ。", 7, words) == "雨だ。雪だ。"
    assert within("one\ntwo\nthree", 8, words) == "one\ntwo"
    assert 0 < len(within("x" * 100, 10, words)) <= 10
