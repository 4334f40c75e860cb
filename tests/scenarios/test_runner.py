"""The runner's own manners: what is wrong is said, and where."""

from pathlib import Path

import pytest

from tests.conftest import ROOT, run
from tests.scenarios.comparing import Mismatch
from tests.scenarios.reading import BadScenario, read_scenario
from tests.scenarios.runner import play
from tests.scenarios.script import (
    ChatStart,
    Cleared,
    EditedMemory,
    EditedSummary,
    Expect,
    Import,
    Moved,
    RebuiltSummary,
    Remembered,
    Said,
    Scenario,
    Settled,
    Start,
    Step,
    Undone,
    Write,
)
from tests.scenarios.scripted import actors

START = """
about: A test of the runner.
characters: [{name: Mira}]
settings: {main_prompt: "Play {{char}}.", tokenizer: approximate}
"""


MODELS = (
    Scenario,
    ChatStart,
    Step,
    Expect,
    Import,
    Settled,
    EditedSummary,
    RebuiltSummary,
    Said,
    Write,
    Remembered,
    EditedMemory,
    Moved,
    Undone,
    Cleared,
    Start,
)


def _written(folder: Path, text: str) -> Path:
    path = folder / "tale.yaml"
    path.write_text(START + text, encoding="utf-8")
    return path


def _play(folder: Path, text: str) -> None:
    _play_file(_written(folder, text))


def _play_file(path: Path) -> None:
    async def performance() -> None:
        async with actors("sqlite://") as everybody:
            await play(read_scenario(path), everybody)

    run(performance())


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("steps: [{shout: Hello.}]", "tale.yaml: steps.0.shout: Extra inputs"),
        ("stage: 1\nsteps: [{say: Hello.}]", "tale.yaml: stage: Extra inputs"),
        ("steps: [{say: {text: Hello., loud: 1}}]", "tale.yaml: steps.0.say.loud: Extra inputs"),
        ("steps: [{expect: {reciept: []}}]", "steps.0.expect.reciept: Extra inputs"),
        ("steps: [{say: Hello., reply: Hi.}]", "exactly one thing; this one: reply, say"),
        ("steps: [{in: copy}]", "exactly one thing; this one: none"),
        ("steps: []", "tale.yaml: steps: List should have at least 1 item"),
        ("steps: [{say: Yes., say: No.}]", "the key 'say' stands twice"),
        ("steps: [{say: no}]", "steps.0.say.text: Input should be a valid string"),
        ("steps: [{repeat: 3, of: [{say: Hi.}]}]", "write 'repeat: [first, last]'"),
        ("steps: [{export: {}}]", "give either the name of a file or 'lines'"),
        ("steps: [{reply: {text: Hi., writes: [{}]}}]", "one of 'add', 'update' and 'delete'"),
        ("steps: [{delete: 1, fails: {}}]", "one error code and a phrase"),
        ("steps: {", "tale.yaml: while parsing a flow"),
    ],
)
def test_a_file_that_cannot_be_understood_says_where(tmp_path: Path, text: str, wrong: str) -> None:
    with pytest.raises(BadScenario) as raised:
        read_scenario(_written(tmp_path, text))
    assert wrong in str(raised.value)
    assert str(raised.value).startswith("tale.yaml: ")


@pytest.mark.parametrize(
    ("steps", "shown"),
    [
        (
            "[{say: Hello.}, {expect: {messages: [{system: Play Mira.}, {user: Bye.}]}}]",
            ["step 2 (expect): what is sent: not as", "- user: Bye.\n+ user: Hello."],
        ),
        (
            "[{say: Hello.}, {expect: {receipt: {sent: []}}}]",
            ["the receipt's rows with reason 'sent': not as", "+ input message:1/0 7"],
        ),
        (
            "[{say: Hello.}, {expect: {receipt: []}}]",
            ["the receipt: not as", "+ sent input message:1/0 7"],
        ),
        (
            "[{say: Hello.}, {expect: {prompt_tokens: 1}}]",
            ["the prompt's tokens: not as the scenario says (-) but so (+):\n- 1\n+ 17"],
        ),
        (
            "[{say: Hello.}, {expect: {recorded: [1 User: Bye.]}}]",
            ["what is recorded: not as", "- 1 User: Bye.\n+ 1 User: Hello."],
        ),
        (
            "[{say: Hello.}, {expect: {chats: [Mira: 2 messages]}}]",
            ["the chats: not as", "- Mira: 2 messages\n+ Mira: 1 messages"],
        ),
        (
            "[{say: Hi.}, {reply: Hi!}, {regenerate: {message: 2, text: No., sees: []}}]",
            ["step 3 (regenerate): what the model sees: not as", "+ user: Hi."],
        ),
        (
            "[{import: {file: a.jsonl, lines: [{name: Anna, is_user: true, mes: Hi.}], added: 2}}]",
            ["step 1 (import): the number of messages added: not as", "- 2\n+ 1"],
        ),
        (
            "[{say: Hello.}, {settle: 1}]",
            ["step 2 (settle): the number of summaries made: not as", "- 1\n+ 0"],
        ),
        (
            "[{say: Hello.}, {expect: {summary: [recent-0 1-1 x1]}}]",
            ["step 2 (expect): the summary: not as", "- recent-0 1-1 x1"],
        ),
        (
            "[{say: Hello.}, {expect: {not_in_summary: 0}}]",
            ["the messages not in the summary: not as", "- 0\n+ 1"],
        ),
        (
            "[{rebuild_summary: {asked: 2}}]",
            ["the number of summaries to be made anew", "- 2\n+ 0"],
        ),
        (
            "[{remember: Hi.}, {expect: {memories: {global: [1: Bye.]}}}]",
            ["the memories of global: not as", "- 1: Bye.\n+ 1: Hi."],
        ),
        (
            "[{say: Hi.}, {reply: {text: Hi!, writes: [{add: Tea.}]}}]",
            ["step 2 (reply): no tools were offered", "set `tools: true`"],
        ),
        (
            "[{set: {tools: true}}, {say: Hi.}, {reply: {text: Hi!, writes: [{delete: 1}]}}]",
            ["step 3 (reply): the model was told of its write: ", "There is no memory '1'"],
        ),
        ("[{clear: {cleared: 1}}]", ["the number of memories cleared", "- 1\n+ 0"]),
        ("[{delete: 1}]", ["step 1 (delete) failed: [not_found] There is no message 1"]),
        ("[{say: Hello., fails: {not_found: x}}]", ["step 1 (say): it should have failed"]),
        ("[{delete: 1, fails: {conflict: x}}]", ["+ [not_found] There is no message 1"]),
        ("[{say: Hi.}, {delete: 1, changes: [2]}]", ["the messages that changed: not as"]),
        ("[{in: copy, say: Hello.}]", ["there is no chat 'copy'", "there are: main"]),
    ],
)
def test_a_scenario_that_turns_out_differently_shows_the_difference(
    tmp_path: Path, steps: str, shown: list[str]
) -> None:
    with pytest.raises(Mismatch) as raised:
        _play(tmp_path, f"steps: {steps}")
    assert [part for part in shown if part not in str(raised.value)] == []


def test_rounds_are_written_out_with_their_numbers(tmp_path: Path) -> None:
    _play(
        tmp_path,
        """
steps:
  - repeat: [2, 3]
    of:
      - say: Turn {n}, message {2n-3}.
      - reply: "{{user}} {n}"
  - expect:
      recorded:
        - repeat: [1, 2]
          of:
            - "{2n-1} User": Turn {n+1}, message {2n-1}.
            - "{2n} Mira": "{{user}} {n+1}"
""",
    )


def test_the_example_of_the_guide_plays(tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "how-to" / "write-a-scenario.md").read_text(encoding="utf-8")
    example = guide.partition("```yaml\n")[2].partition("\n```")[0]
    path = tmp_path / "guide.yaml"
    path.write_text(example, encoding="utf-8")
    _play_file(path)


def test_the_guide_names_every_key() -> None:
    guide = (ROOT / "docs" / "how-to" / "write-a-scenario.md").read_text(encoding="utf-8")
    keys = {field.alias or name for model in MODELS for name, field in model.model_fields.items()}
    assert {key for key in keys if f"`{key}" not in guide and f" {key}:" not in guide} == set()
