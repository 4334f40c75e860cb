"""Composing what the call carries: nothing is stored, nothing is read."""

from collections.abc import Mapping, Sequence
from typing import Any

from talekeeper.compose.composer import compose
from talekeeper.compose.request import Material, Request, tail_of
from talekeeper.domain.block import Context
from talekeeper.domain.cell import Tail, grow, place
from talekeeper.domain.character import Card, Persona
from talekeeper.domain.chat import LiveMessage, Role, ToolCall
from talekeeper.domain.errors import InvalidInput
from talekeeper.domain.limits import LIMITS, PLANS, Plan
from talekeeper.domain.settings import GenerationSettings
from talekeeper.text.tokens import tokenizer_named

__all__ = ["compose_messages"]


def compose_messages(
    messages: Sequence[Mapping[str, Any]],
    *,
    character: Card,
    persona: Persona | None = None,
    settings: GenerationSettings | None = None,
    plan: Plan | None = None,
    request: Request | None = None,
) -> Context:
    """Compose from ``messages`` in the shape of OpenAI chat completions, oldest first.

    Roles are user, assistant, system, tool; ``content`` is a text. Turns and cells are derived
    from the beginning each time. Raises InvalidInput for another shape, BudgetExceeded as compose.
    """
    if request and (request.replacing is not None or request.speaker is not None):
        raise InvalidInput(
            "Without a stored chat there is nothing to replace and one speaker only."
        )
    settings = settings or GenerationSettings()
    plan = plan or PLANS["self_hosted"]
    lines = _lines(messages, character, persona, settings, plan)
    material = Material(
        seed="",
        speaker=character,
        speaker_id=None,
        members=(character.nickname or character.name,),
        spoken={},
        persona=persona,
        settings=settings,
        plan=plan,
        next_number=len(lines) + 1,
        tail=tail_of(lines),
        lines=lines,
        settles=False,
    )
    return compose(material, request or Request())


def _lines(
    messages: Sequence[Mapping[str, Any]],
    character: Card,
    persona: Persona | None,
    settings: GenerationSettings,
    plan: Plan,
) -> list[LiveMessage]:
    tokenizer = tokenizer_named(settings.tokenizer)
    names = {"user": persona.name if persona else "User", "assistant": character.name}
    lines: list[LiveMessage] = []
    tail: Tail | None = None
    for number, message in enumerate(messages, 1):
        role, text, calls = _read(message, number)
        turn, cell = place(
            tail,
            number=number,
            role=role,
            live_cap=settings.live_cap_tokens(plan),
            limits=LIMITS,
        )
        tokens = tokenizer.count(text)
        tail = grow(tail, turn=turn, cell=cell, role=role, tokens=tokens)
        lines.append(
            LiveMessage(
                number=number,
                role=role,
                speaker=names.get(role, role),
                character_id=None,
                active=0,
                turn=turn,
                cell=cell,
                tool_call_id=message.get("tool_call_id"),
                text=text,
                tokens=tokens,
                tokenizer=tokenizer.name,
                tool_calls=calls,
            )
        )
    return lines


def _read(message: Mapping[str, Any], number: int) -> tuple[Role, str, tuple[ToolCall, ...]]:
    role, text = message.get("role"), message.get("content") or ""
    if role not in ("user", "assistant", "system", "tool"):
        raise InvalidInput(f"Message {number} has the role {role!r}.")
    if not isinstance(text, str):
        raise InvalidInput(f"The content of message {number} is not a text.")
    calls = tuple(
        ToolCall(
            id=call["id"],
            name=call["function"]["name"],
            arguments=call["function"]["arguments"],
        )
        for call in message.get("tool_calls") or ()
    )
    return role, text, calls
