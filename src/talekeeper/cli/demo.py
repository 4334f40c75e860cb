"""``talekeeper demo``: a long chat goes in, the right context comes out."""

import tempfile
from collections.abc import Mapping, Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from talekeeper.cli import imports, previewing
from talekeeper.cli.output import Output
from talekeeper.cli.plain import counted, safe
from talekeeper.cli.summaries import show_tree
from talekeeper.domain.block import Context
from talekeeper.domain.chat import Chat, Message
from talekeeper.domain.memory import Memory
from talekeeper.keeper import Keeper
from talekeeper.parts.memories import memory_json

__all__ = ["run_demo"]

_SAMPLES = ("mira.json", "mira-and-anna.jsonl")
_EARLY = {
    "the name she will not be called": "don't call me Annie",
    "her grandmother's name": "Oda Lindqvist",
    "the allergy": "allergic to walnuts",
    "the 214 steps": "214 steps",
    "where the spare key is": "spare key is in",
    "the promise": "I promise you this",
}


_SAVED = {
    "the name she will not be called": "Anna wants to be called Anna, always; don't call me Annie, "
    "she said.",
    "the 214 steps": "From the door of the Hob to the lamp there are 214 steps.",
    "where the spare key is": "The spare key is in the blue teapot with no spout, on the top shelf "
    "of the oil shed. The shed is never locked.",
}
"""What the local summary leaves out, as a person or the character would save it."""

_CLOSING = (
    "\nAll of it is still in the chat, word for word. What left the live window (at most 50 "
    "messages and 10,000 tokens, or a quarter of the context) lives on in the summary: one piece "
    "for each 16 messages or so, four pieces become one, and four of those one again, so that a "
    "chat of any length costs the same per turn. Here the most telling sentences were chosen; with "
    "a language model it is written. What must never be lost is saved as a memory: by you, by the "
    "character while it replies, or in the background. You can read, edit and undo all of it: "
    "talekeeper summary show CHAT, talekeeper memories list. Bring a chat of your own: talekeeper "
    "import FILE"
)


async def run_demo(console: Output) -> dict[str, Any]:
    """Import the sample into a temporary database and show what the character sees now."""
    with tempfile.TemporaryDirectory() as folder:
        async with Keeper.open(Path(folder) / "demo.db", settle="off") as keeper:
            console.print("\n[bold]1. A card and a chat of eleven weeks come in[/]\n")
            with as_file(files("talekeeper.samples")) as samples:
                paths = [samples / name for name in _SAMPLES]
                reports = [await keeper.files.import_file(path) for path in paths]
            for report in reports:
                imports.show(console, report, dry_run=False, details=True)
            chat = (await keeper.chats.list())[0]
            console.print("\n[bold]2. What left the live window is summarised[/]\n")
            settled = await keeper.summaries.settle(chat.id)
            console.print(f"{counted(settled.made, 'summary', 'summaries')} made:\n")
            view = await keeper.summaries.show(chat.id)
            show_tree(console, view, full=False)
            context = await keeper.compose(chat.id)
            console.print("\n[bold]3. What the model sees now[/]\n")
            previewing.show(console, previewing.Preview(chat=chat, context=context))
            messages = await keeper.messages.list(chat.id, limit=1000)
            console.print("\n[bold]4. What was said early, and where it is now[/]\n")
            found = _where(messages, context)
            _show_early(console, found)
            console.print("\n[bold]5. What must stay is saved, and pinned[/]\n")
            saved = await _save(keeper, chat, [what for what, at in found.items() if at[1] is None])
            for memory in saved:
                console.print(f"  memory {memory.id}  {safe(memory.text)}", highlight=False)
            context = await keeper.compose(chat.id)
            found = _where(messages, context)
            console.print("\nSo that now:\n")
            _show_early(console, found)
            last = messages[-1]
            console.print(
                f"\nIn message {last.number} {safe(last.speaker)} asks:\n  "
                f"[italic]{safe(last.text)}[/]",
                highlight=False,
            )
            console.print(_CLOSING, highlight=False)
            return {
                "imported": [report.as_json() for report in reports],
                "context": context.as_json(),
                "summary": view.as_json(),
                "memories": [memory_json(memory) for memory in saved],
                "early": {
                    what: {"message": number, "in_context": source is not None, "source": source}
                    for what, (number, source) in found.items()
                },
            }


async def _save(keeper: Keeper, chat: Chat, left_out: Sequence[str]) -> list[Memory]:
    """Save what no part of the prompt tells, pinned, as the character's own."""
    added = [
        await keeper.memories.add(_SAVED[what], character=chat.characters[0], pinned=True)
        for what in left_out
    ]
    return [one.memory for one in added if one.memory is not None]


def _show_early(console: Output, found: Mapping[str, tuple[int, str | None]]) -> None:
    for what, (number, source) in found.items():
        console.print(f"  message {number:>3}  {what}: {_told(source)}", highlight=False)


def _where(messages: Sequence[Message], context: Context) -> dict[str, tuple[int, str | None]]:
    """For each early fact: the message that tells it, and what of the prompt tells it now."""
    sent = list(zip(context.receipt.sent(), context.texts, strict=True))
    return {
        what: (
            _telling(messages, words).number,
            next((row.source for row, text in sent if words in text), None),
        )
        for what, words in _EARLY.items()
    }


def _told(source: str | None) -> str:
    if source is None:
        return "[yellow]in the chat alone[/]"
    kind, _, name = source.partition(":")
    if kind == "memory":
        return f"[green]saved[/] (memory {name})"
    return f"[green]told by the summary[/] ({name})" if kind == "summary" else "in the live window"


def _telling(messages: Sequence[Message], words: str) -> Message:
    return next(message for message in messages if words in message.text)
