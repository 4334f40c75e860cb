"""How scenarios write what there is: messages, rows of a receipt, chats, nodes of the summary."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from talekeeper import Chat, Context, Message, Row
from talekeeper.domain.memory import Memory
from talekeeper.domain.summary import Summary
from talekeeper.parts.summaries import SummaryView

__all__ = [
    "chat_lines",
    "expected_messages",
    "expected_node",
    "memory_line",
    "message_line",
    "node_head",
    "node_line",
    "row_line",
    "sent_messages",
    "to_json",
]


def to_json(value: object) -> str:
    """JSON as people write it."""
    return json.dumps(value, ensure_ascii=False)


def expected_node(item: str | Mapping[str, str]) -> str:
    if isinstance(item, str):
        return item
    ((head, text),) = item.items()
    return f"{head}: {text}"


def node_line(node: Summary, view: SummaryView) -> str:
    """A node of the summary: ``recent-0 1-16 x15, sent: the text``."""
    return f"{node_head(node, view)}: {node.text}"


def node_head(node: Summary, view: SummaryView) -> str:
    """Which messages it tells of, how many of them, and what is special about it."""
    marks = [f"{node.name} {node.first}-{node.last} x{node.messages}"]
    marks += ["sent"] * (node.place in view.sent) + ["covered"] * node.covered
    marks += ["stale"] * (not node.valid) + ["edited"] * node.edited
    marks += ["sources changed"] * (node.edited and node.changed) + ["rebuild asked"] * node.due
    return ", ".join(marks)


def row_line(row: Row, names: Mapping[str, str]) -> str:
    """A receipt row as scenarios write it, ids replaced by names."""
    source = row.source
    for key, name in names.items():
        source = source.replace(key, name)
    text = f"{row.kind} {source} {'-' if row.tokens is None else row.tokens}"
    if row.count != 1:
        text += f" x{row.count}"
    return f"{text} ({row.note})" if row.note else text


def expected_messages(messages: Iterable[Mapping[str, Any]]) -> list[str]:
    """The messages a scenario writes, one text each, to be compared with :func:`sent_messages`.

    A text may be a list of its lines.
    """
    shown = []
    for message in messages:
        for role, content in message.items():
            if isinstance(content, list):
                content = "\n".join(content)
            said = content if isinstance(content, Mapping) else {"text": content}
            shown.append(
                _message(role, said.get("text", ""), said.get("to"), said.get("calls", ()))
            )
    return shown


def sent_messages(context: Context) -> list[str]:
    return [
        _message(
            message["role"],
            message["content"] or "",
            message.get("tool_call_id"),
            [
                {
                    "id": call["id"],
                    "tool": call["function"]["name"],
                    "arguments": json.loads(call["function"]["arguments"]),
                }
                for call in message.get("tool_calls", ())
            ],
        )
        for message in context.messages
    ]


def _message(role: str, text: str, to: str | None, calls: Iterable[Mapping[str, Any]]) -> str:
    shown = f"{role} to {to}: {text}" if to is not None else f"{role}: {text}"
    for call in calls:
        shown += f"\n  calls {call['id']}: {call['tool']} {to_json(call.get('arguments', {}))}"
    return shown


def message_line(message: Message) -> str:
    """A recorded message: ``3 Mira, swipe 2 of 3, excluded: the text``."""
    marks = [f"{message.number} {message.speaker}"]
    if len(message.swipes) > 1:
        place = [swipe.index for swipe in message.swipes].index(message.active) + 1
        marks.append(f"swipe {place} of {len(message.swipes)}")
    marks += ["excluded"] * message.excluded + ["forgotten"] * message.forget
    return f"{', '.join(marks)}: {message.text}"


def memory_line(memory: Memory) -> str:
    """A memory: ``3, pinned, by the character: the text``."""
    by = {"character": "by the character", "deeper": "by deeper memory"}.get(memory.author)
    marks = [str(memory.id), *(["pinned"] * memory.pinned), *filter(None, [by])]
    return f"{', '.join(marks)}: {memory.text}"


def chat_lines(chats: Sequence[Chat]) -> list[str]:
    titles = {chat.id: chat.title for chat in chats}
    lines = []
    for chat in chats:
        line = f"{chat.title}: {chat.messages} messages"
        if chat.forked_from:
            source, number = chat.forked_from
            line += f", fork of {titles.get(source, 'a deleted chat')} at {number}"
        lines.append(line)
    return lines
