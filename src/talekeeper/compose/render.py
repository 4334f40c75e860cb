"""Blocks to messages in the shape of OpenAI chat completions."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from talekeeper.domain.block import Block, Kind

__all__ = ["arrange", "render"]

_MEMORY_KINDS: frozenset[Kind] = frozenset({"pinned_memory", "memory"})


def _before_talk(block: Block) -> bool:
    """Whether a block is told before the conversation, in one message with others of its kind."""
    return block.head or block.kind == "summary" or block.kind in _MEMORY_KINDS


def arrange(blocks: Sequence[Block]) -> list[Block]:
    """The blocks in the order they are sent: those with a depth go that far above the end.

    Depth counts messages of the conversation; a tool group is never split.
    """
    placed = [block for block in blocks if block.depth is None]
    talk = [i for i, block in enumerate(placed) if block.kind in ("message", "input")]
    if not talk:
        end = next((i for i, b in enumerate(placed) if not _before_talk(b)), len(placed))
        talk_from = talk_to = end
    else:
        talk_from, talk_to = talk[0], talk[-1] + 1
    inserts: list[tuple[int, Block]] = []
    for block in blocks:
        if block.depth is None:
            continue
        at = max(talk_from, talk_to - block.depth)
        while talk_from < at < talk_to and placed[at].group == placed[at - 1].group:
            at -= 1
        inserts.append((at, block))
    # Where two stand at the same place for want of messages above, the deeper one comes first.
    inserts.sort(key=lambda item: (item[0], -(item[1].depth or 0)))
    for at, block in reversed(inserts):
        placed.insert(at, block)
    return placed


def render(blocks: Sequence[Block]) -> tuple[Mapping[str, Any], ...]:
    """The messages that arranged blocks make: the head becomes one system message, and so do the
    memories and the summary; tools are no message."""
    messages: list[Mapping[str, Any]] = []
    head = [block for block in blocks if block.head]
    memories = [block for block in blocks if block.kind in _MEMORY_KINDS]
    told = [block for block in blocks if block.kind == "summary"]
    joined = [some for some in (head, memories, told) if some]
    messages += [{"role": "system", "content": _joined(some)} for some in joined]
    messages += [_message(b) for b in blocks if not _before_talk(b) and b.kind != "tools"]
    return tuple(messages)


def _joined(blocks: Sequence[Block]) -> str:
    """Blocks with an empty line between them; memories of a kind stand line by line."""
    texts = [blocks[0].text]
    for before, block in pairwise(blocks):
        lines = block.kind in _MEMORY_KINDS and block.kind == before.kind
        texts += ["\n" if lines else "\n\n", block.text]
    return "".join(texts)


def _message(block: Block) -> dict[str, Any]:
    if block.role == "tool":
        return {"role": "tool", "tool_call_id": block.tool_call_id, "content": block.text}
    message: dict[str, Any] = {"role": block.role, "content": block.text}
    if block.parts:
        message["content"] = [
            *([{"type": "text", "text": block.text}] if block.text else []),
            *({"type": "image_url", "image_url": {"url": part.url}} for part in block.parts),
        ]
    if block.tool_calls:
        message["content"] = block.text or None
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in block.tool_calls
        ]
    return message
