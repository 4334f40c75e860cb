"""SillyTavern's tool lines: one line holds a call of tools and all their results.

Knows the line, not the messages around it.
"""

import html
import json
from collections.abc import Sequence
from typing import Any

from talekeeper.domain.chat import Message, ToolCall
from talekeeper.formats.imported import ImportedMessage
from talekeeper.formats.json_text import DECODER
from talekeeper.formats.st_line import SYSTEM_NAME

__all__ = ["new_tool_line", "with_tool_results"]


def new_tool_line(group: Sequence[Message]) -> dict[str, Any]:
    """The line of an assistant's calls and of their results, as SillyTavern 1.15 writes it.

    ``group`` is the assistant's message, if it is known, and the tools' messages.
    """
    first = group[0]
    calls = first.swipe.tool_calls or _calls_of(group)
    invocations = [_invocation(call, _result(group, call)) for call in calls]
    extra: dict[str, Any] = {"isSmallSys": True, "tool_invocations": invocations}
    if first.swipe.model:
        extra["model"] = first.swipe.model
    if first.swipe.reasoning and not first.text:
        extra["reasoning"] = first.swipe.reasoning
    return {
        "name": SYSTEM_NAME,
        "force_avatar": "img/five.png",
        "is_system": True,
        "is_user": False,
        "mes": _shown(invocations),
        "extra": extra,
    }


def with_tool_results(
    old: dict[str, Any], was: Sequence[ImportedMessage], group: Sequence[Message]
) -> dict[str, Any]:
    """``old`` with the calls and results of ``group``; ``old`` itself where they are the same.

    Each invocation keeps its other keys; one that is gone is taken out.
    """
    asking, *tools = was
    told = zip(asking.tool_calls, tools, strict=True)
    before = {call.id: (call, tool.text) for call, tool in told}
    calls = group[0].swipe.tool_calls or [
        before[call.id][0] if call.id in before else call for call in _calls_of(group)
    ]
    after = {call.id: (call, _result(group, call)) for call in calls}
    if after == before or not after:
        return old
    held = [item for item in old["extra"]["tool_invocations"] if isinstance(item, dict)]
    items = {call.id: item for call, item in zip(asking.tool_calls, held, strict=True)}
    invocations = [
        {**items[key], **_differences(before[key], said)} if key in items else _invocation(*said)
        for key, said in after.items()
    ]
    extra = {**old["extra"], "tool_invocations": invocations}
    return {**old, "mes": _shown(invocations), "extra": extra}


def _differences(before: tuple[ToolCall, str], after: tuple[ToolCall, str]) -> dict[str, str]:
    pairs = {
        "name": (before[0].name, after[0].name),
        "parameters": (before[0].arguments, after[0].arguments),
        "result": (before[1], after[1]),
    }
    return {key: new for key, (old, new) in pairs.items() if old != new}


def _calls_of(group: Sequence[Message]) -> tuple[ToolCall, ...]:
    """The calls that results answer, where the calling message is not there."""
    return tuple(
        ToolCall(id=message.tool_call_id or "", name=message.speaker, arguments="{}")
        for message in group
        if message.role == "tool"
    )


def _result(group: Sequence[Message], call: ToolCall) -> str:
    found = (message.text for message in group if message.tool_call_id == call.id)
    return next(found, "")


def _invocation(call: ToolCall, result: str) -> dict[str, Any]:
    return {
        "id": call.id,
        "displayName": call.name,
        "name": call.name,
        "parameters": call.arguments,
        "result": result,
        "error": False,
        "signature": None,
        "reasoning": None,
    }


def _shown(invocations: Sequence[dict[str, Any]]) -> str:
    """What SillyTavern shows for the line: the calls as JSON, folded away."""
    counts: dict[str, int] = {}
    for item in invocations:
        name = str(item.get("displayName") or item.get("name") or "")
        counts[name] = counts.get(name, 0) + 1
    names = ", ".join(f"{name} ({n})" if n > 1 else name for name, n in counts.items())
    shown = [{**item, "parameters": _parsed(item.get("parameters"))} for item in invocations]
    text = html.escape(json.dumps(shown, ensure_ascii=False, indent=2), quote=False)
    return (
        f"<details><summary>Tool calls: {html.escape(names, quote=False)}</summary><pre>"
        f'<code class="language-json">{text}</code></pre></details>'
    )


def _parsed(arguments: object) -> Any:
    try:
        return DECODER.decode(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        return arguments
