"""The Assembly against what servers stream, and against what they should not."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from talekeeper import Endpoint, OpenAICompatible
from talekeeper.models.chat_model import Answer
from talekeeper.models.streaming import Assembly
from talekeeper.testing import FakeModelServer, Step, steps
from tests.conftest import run

TEA = '{"text": "Анна любит чай."}'
RAIN = '{"text": "安娜讨厌下雨。"}'


def _object(value: Any) -> Any:
    """JSON as the SDK hands it over: attributes, but arguments that are an object stay one."""
    if isinstance(value, Mapping):
        kept = {key: one if key == "arguments" else _object(one) for key, one in value.items()}
        return SimpleNamespace(**kept)
    return [_object(one) for one in value] if isinstance(value, list) else value


def _delta(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def _calls(*calls: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return _delta(tool_calls=list(calls), **more)


def _piece(
    arguments: Any = None, *, name: str | None = None, **more: Any
) -> dict[str, Any]:  # a piece of a call
    function = {"arguments": arguments} if name is None else {"name": name, "arguments": arguments}
    return {"function": function, **more}


def _heard(*chunks: Any) -> tuple[Answer, list[str]]:
    heard: list[str] = []
    assembly = Assembly(heard.append)
    for chunk in chunks:
        assembly.take(_object(chunk))
    answer = assembly.answer()
    assert "".join(heard) == answer.text
    return answer, heard


def _made(*chunks: Any) -> list[tuple[str, str, str]]:
    return [(call.id, call.name, call.arguments) for call in _heard(*chunks)[0].calls]


ONE = [("call_a", "add_memory", TEA)]
TWO = [*ONE, ("call_b", "add_memory", RAIN)]

DIALECTS: dict[str, tuple[list[Any], list[tuple[str, str, str]]]] = {
    "fragments by index": (
        [
            _delta(role="assistant", content=None),
            _calls(_piece("", name="add_memory", index=0, id="call_a", type="function")),
            *(_calls(_piece(TEA[at : at + 5], index=0)) for at in range(0, len(TEA), 5)),
            _delta("tool_calls"),
        ],
        ONE,
    ),
    "two calls whose fragments take turns": (
        [
            _calls(_piece("", name="add_memory", index=0, id="call_a")),
            _calls(_piece("", name="add_memory", index=1, id="call_b")),
            _calls(_piece(TEA[:6], index=0), _piece(RAIN[:9], index=1)),
            _calls(_piece(RAIN[9:], index=1)),
            _calls(_piece(TEA[6:], index=0)),
        ],
        TWO,
    ),
    "whole in one chunk": (
        [_calls(_piece(TEA, name="add_memory", index=0, id="call_a", type="function"))],
        ONE,
    ),
    "both whole in one chunk": (
        [
            _calls(
                _piece(TEA, name="add_memory", index=0, id="call_a"),
                _piece(RAIN, name="add_memory", index=1, id="call_b"),
            )
        ],
        TWO,
    ),
    "name first, arguments null": (
        [
            _calls(_piece(None, name="add_memory", index=0, id="call_a", type="function")),
            _calls(_piece(TEA, index=0, type="function")),
            _calls(_piece(None, index=0)),
        ],
        ONE,
    ),
    "type and id repeated": (
        [
            _calls(_piece(TEA[:4], name="add_memory", index=0, id="call_a", type="function")),
            _calls(_piece(TEA[4:], index=0, id="call_a", type="function")),
        ],
        ONE,
    ),
    "name repeated with each fragment": (
        [
            _calls(_piece(TEA[:4], name="add_memory", index=0, id="call_a")),
            _calls(_piece(TEA[4:], name="add_memory", index=0, id="call_a")),
        ],
        ONE,
    ),
    "later chunks with an empty id and name": (
        [
            _calls(_piece(TEA[:4], name="add_memory", index=0, id="call_a")),
            _calls(_piece(TEA[4:], name="", index=0, id="")),
        ],
        ONE,
    ),
    "ids missing": (
        [
            _calls(_piece(TEA, name="add_memory", index=0)),
            _calls(_piece(RAIN, name="add_memory", index=1)),
        ],
        [("call_0", "add_memory", TEA), ("call_1", "add_memory", RAIN)],
    ),
    "index missing": (
        [
            _calls(_piece(TEA[:4], name="add_memory", id="call_a")),
            _calls(_piece(TEA[4:])),
            _calls(_piece(RAIN, name="add_memory", id="call_b")),
        ],
        TWO,
    ),
    "index missing, id repeated": (
        [
            _calls(_piece(TEA[:4], name="add_memory", id="call_a")),
            _calls(_piece(TEA[4:], id="call_a")),
            _calls(_piece(RAIN[:4], name="add_memory", id="call_b")),
            _calls(_piece(RAIN[4:], id="call_b")),
        ],
        TWO,
    ),
    "index null": (
        [
            _calls(_piece(TEA, name="add_memory", id="call_a", index=None)),
            _calls(_piece(RAIN, name="add_memory", id="call_b", index=None)),
        ],
        TWO,
    ),
    "all with index 0, told apart by their ids": (
        [
            _calls(_piece(TEA[:4], name="add_memory", index=0, id="call_a")),
            _calls(_piece(TEA[4:], index=0)),
            _calls(_piece(RAIN, name="add_memory", index=0, id="call_b")),
        ],
        TWO,
    ),
    "arguments as an object": (
        [_calls(_piece({"text": "Анна любит чай."}, name="add_memory", index=0, id="call_a"))],
        ONE,
    ),
    "no arguments at all": (
        [_calls({"index": 0, "id": "call_a", "function": {"name": "list_memories"}})],
        [("call_a", "list_memories", "{}")],
    ),
    "a whole completion in place of a stream": (
        [
            {
                "choices": [
                    {
                        "index": 0,
                        "message": {
                            "role": "assistant",
                            "content": None,
                            "tool_calls": [_piece(TEA, name="add_memory", id="call_a")],
                        },
                        "finish_reason": "tool_calls",
                    }
                ]
            }
        ],
        ONE,
    ),
    "a call without a name": ([_calls(_piece(TEA, index=0, id="call_a"))], []),
    "a call that is nothing": ([_calls({"index": 0}), _delta(tool_calls=None)], []),
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_calls_come_together_in_any_dialect(dialect: str) -> None:
    chunks, wanted = DIALECTS[dialect]
    assert _made(*chunks) == wanted


def _streamed(step: Step) -> tuple[Answer, list[str]]:
    """The same through a server and the SDK."""

    async def go() -> tuple[Answer, list[str]]:
        async with FakeModelServer([step]) as server:
            model = OpenAICompatible(Endpoint(base_url=server.base_url, model="fake-model"))
            heard: list[str] = []
            try:
                answer = await model.stream(
                    [{"role": "user", "content": "Hi."}], most_tokens=500, on_text=heard.append
                )
            finally:
                await model.close()
            return answer, heard

    return run(go())


@pytest.mark.parametrize("dialect", [name for name, (_, calls) in DIALECTS.items() if calls])
def test_calls_come_together_through_the_wire(dialect: str) -> None:
    chunks, wanted = DIALECTS[dialect]
    head = {"id": "gen-1", "object": "chat.completion.chunk", "created": 0, "model": "m"}
    answer, _ = _streamed(steps.events(*({**head, **chunk} for chunk in chunks), done=False))
    assert [(call.id, call.name, call.arguments) for call in answer.calls] == wanted


def test_a_server_that_does_not_stream_is_understood() -> None:
    message = {"role": "assistant", "content": "Hi.", "tool_calls": [_piece(TEA, name="x", id="a")]}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 7, "completion_tokens": 3}
    answer, heard = _streamed(steps.json_body({"choices": [choice], "usage": usage}))
    assert (answer.text, heard, answer.prompt_tokens) == ("Hi.", ["Hi."], 7)
    assert [(call.id, call.name, call.arguments) for call in answer.calls] == [("a", "x", TEA)]


def test_text_and_calls_may_come_together() -> None:
    answer, heard = _streamed(
        steps.calling(("add_memory", TEA), ("add_memory", RAIN), text="Ich merke mir das.")
    )
    assert (answer.text, answer.finish) == ("Ich merke mir das.", "tool_calls")
    assert len(heard) > 1
    assert [call.arguments for call in answer.calls] == [TEA, RAIN]


def test_why_it_ended_is_told_or_guessed() -> None:
    text, call = _delta(content="Hi."), _calls(_piece(TEA, name="add_memory", index=0))
    assert _heard(text, _delta("length"))[0].finish == "length"
    assert _heard(text)[0].finish == "stop"
    assert _heard(call)[0].finish == "tool_calls"
    assert _heard(text, _delta("stop"), _delta(""), _delta(None))[0].finish == "stop"


@pytest.mark.parametrize("choices", [[], [{"index": 0, "delta": {"content": ""}}], None])
def test_tokens_come_with_a_chunk_of_their_own(choices: Any) -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 3}
    answer, _ = _heard(_delta(content="Hi."), {"choices": choices, "usage": usage})
    assert (answer.text, answer.prompt_tokens, answer.reply_tokens) == ("Hi.", 7, 3)


@pytest.mark.parametrize(
    "usage",
    [
        *(None, {}, {"prompt_tokens": "7", "completion_tokens": -1}),
        {"prompt_tokens": True, "completion_tokens": 2**31},
    ],
)
def test_tokens_that_are_not_told_are_not_known(usage: Any) -> None:
    answer, _ = _heard(_delta(content="Hi."), {"choices": [], "usage": usage})
    assert (answer.prompt_tokens, answer.reply_tokens) == (None, None)


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_thoughts_in_a_field_of_their_own_are_not_text(key: str) -> None:
    answer, heard = _heard(
        _delta(**{key: "The user "}), _delta(**{key: "says hi.", "content": None}),
        _delta(**{key: None, "content": "\n\nHi"}), _delta(content=", Anna."),
    )  # fmt: skip
    assert (answer.text, answer.reasoning) == ("Hi, Anna.", "The user says hi.")
    assert heard == ["Hi", ", Anna."]


THOUGHT = "<think>\nShe says hi. 2 < 3\n</think>\n\nHi, <b>Anna</b>."


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("tag", ["think", "thinking", "THINK"])
def test_thoughts_in_tags_are_not_text_wherever_they_are_cut(size: int, tag: str) -> None:
    said = THOUGHT.replace("think", tag)
    pieces = [said[at : at + size] for at in range(0, len(said), size)]
    answer, _ = _heard(*(_delta(content=piece) for piece in pieces))
    assert answer.text == "Hi, <b>Anna</b>."
    assert answer.reasoning == "She says hi. 2 < 3"


def test_thoughts_that_never_end_are_no_text() -> None:
    answer, heard = _heard(_delta(content="<think>Well, "), _delta(content="well"))
    assert (answer.text, answer.reasoning, heard) == ("", "Well, well", [])


@pytest.mark.parametrize("text", ["<", "<thi", "<th>Hi.</th>", "I <think> so.", " <", "<b>Hi.</b>"])
def test_what_only_looks_like_a_tag_is_text(text: str) -> None:
    for size in (1, len(text)):
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        assert _heard(*(_delta(content=piece) for piece in pieces))[0].text == text


def test_space_at_the_beginning_stays_for_a_text_that_is_gone_on_with() -> None:
    assert _heard(_delta(content=" upon"), _delta(content=" a time."))[0].text == " upon a time."


def test_a_text_may_come_in_parts() -> None:
    parts = [{"type": "text", "text": "Hi."}, {"type": "image"}, {"type": "text", "text": None}]
    chunk = _object(_delta())
    chunk.choices[0].delta.content = parts
    assembly = Assembly(lambda _: None)
    assembly.take(chunk)
    assert assembly.answer().text == "Hi."


def test_a_refusal_is_kept_apart() -> None:
    assembly = Assembly(lambda _: None)
    for piece in ("I can", "not."):
        assembly.take(_object(_delta(refusal=piece)))
    assert (assembly.refusal, assembly.answer().text) == ("I cannot.", "")


def test_its_size_counts_all_that_came() -> None:
    assembly = Assembly(lambda _: None)
    chunks: list[Any] = [
        _delta(content="12345"),
        _delta(reasoning="123"),
        _calls(_piece("1234", name="x", index=0)),
        _delta(refusal="No."),
        *(_delta(), {"choices": []}, {}),
    ]
    for chunk in chunks:
        assembly.take(_object(chunk))
    assert assembly.size == 5 + 3 + 5 + 3 + 3


_NAMES = (
    *("choices", "delta", "message", "content", "tool_calls", "function", "name", "arguments"),
    *("index", "id", "finish_reason", "usage", "prompt_tokens", "refusal", "reasoning"),
)

_anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(_NAMES),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.lists(_anything, max_size=4), st.lists(_anything, max_size=3))
def test_no_chunk_of_whatever_kind_breaks_it(deltas: list[Any], calls: list[Any]) -> None:
    chunks: list[Any] = [*deltas, *({"choices": [{"delta": one}]} for one in deltas)]
    chunks += [{"choices": [{"delta": {"tool_calls": calls}}]}, *({"choices": [c]} for c in calls)]
    answer, _ = _heard(*chunks)
    assert all(call.name and call.id for call in answer.calls)


# What real servers sent.

_VARIANTS = ("a", "b", "c", "d")


def _streams(path: Path) -> Iterable[str]:
    for exchange in yaml.safe_load(path.read_text(encoding="utf-8"))["interactions"]:
        body = exchange["response"]["body"]["string"]
        yield body.decode() if isinstance(body, bytes) else body


@pytest.mark.parametrize("variant", _VARIANTS)
def test_the_streams_of_real_servers_come_together(shared: Path, variant: str) -> None:
    path = shared / "formats" / "openai-wire" / f"llm-test_tools_streaming_variant_{variant}.yaml"
    if not path.is_file():
        pytest.skip("this recording is not among the real sample files")
    answers = []
    for body in _streams(path):
        sent = Step(content_type="text/event-stream", body=body.encode())
        answer, heard = _streamed(sent)
        assert "".join(heard) == answer.text
        answers.append(answer)
    (call,) = answers[0].calls
    assert call.name == "llm_version"
    assert json.loads(call.arguments) == {}
    assert call.id
    assert answers[0].text.strip() == ""
    assert "version" in answers[-1].text
    assert answers[-1].calls == ()
