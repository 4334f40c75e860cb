"""Composing what the call carries, and the Keeper that waits."""

from pathlib import Path

import pytest

from talekeeper import (
    Card,
    GenerationSettings,
    InvalidInput,
    Persona,
    Request,
    SyncKeeper,
    compose_messages,
)

MIRA = Card(name="Mira", description="{{char}} keeps the light.", first_mes="Hello!")


def test_messages_come_in_and_a_context_goes_out() -> None:
    context = compose_messages(
        [
            {"role": "assistant", "content": "Hello, {{user}}!"},
            {"role": "user", "content": "I cannot eat walnuts."},
        ],
        character=MIRA,
        persona=Persona(id="p", name="Anna", description="A baker."),
        request=Request(input="Do you remember?"),
    )
    assert "Mira keeps the light." in context.messages[0]["content"]
    assert "About Anna:\nA baker." in context.messages[0]["content"]
    assert [m["content"] for m in context.messages[1:]] == [
        "Hello, Anna!",
        "I cannot eat walnuts.",
        "Do you remember?",
    ]


def test_a_long_history_keeps_the_live_window() -> None:
    talk = [
        message
        for n in range(100)
        for message in (
            {"role": "user", "content": f"Say {n}"},
            {"role": "assistant", "content": f"Reply {n}"},
        )
    ]
    context = compose_messages(talk, character=MIRA)
    assert context.messages[1]["content"] == "Say 80"
    (window,) = context.receipt.left_out()
    assert (window.reason, window.count, window.source) == ("summarised", 160, "message:1-160")
    assert window.note == "digest"
    whole = compose_messages(
        talk, character=MIRA, settings=GenerationSettings(live_cap=False, context_limit=100_000)
    )
    assert len(whole.messages) == 201


@pytest.mark.parametrize(
    "message",
    [{"role": "wizard", "content": "x"}, {"content": "x"}, {"role": "user", "content": ["x"]}],
)
def test_another_shape_is_refused(message: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match="essage 1"):
        compose_messages([message], character=MIRA)


def test_a_request_that_contradicts_itself_is_refused() -> None:
    for arguments in (
        {"input": "x", "replacing": 3},
        {"input": "x", "mode": "continue"},
        {"input": " "},
    ):
        with pytest.raises(InvalidInput):
            Request(**arguments)


def test_the_keeper_that_waits_does_the_same(tmp_path: Path) -> None:
    with SyncKeeper.open(tmp_path / "tale.db") as keeper:
        keeper.characters.add(MIRA)
        chat = keeper.chats.start("Mira", persona="Anna")
        keeper.record(chat.id, "I cannot eat walnuts.")
        context = keeper.compose(chat.id, "Do you remember?")
        assert [m["content"] for m in context.messages[1:]] == [
            "Hello!",
            "I cannot eat walnuts.",
            "Do you remember?",
        ]
        with pytest.raises(AttributeError):
            keeper.chats.nonsense()  # type: ignore[attr-defined]
        with pytest.raises(InvalidInput):
            keeper.record(chat.id, "")
    with SyncKeeper.open(tmp_path / "tale.db") as keeper:
        assert [chat.messages for chat in keeper.chats.list()] == [2]
