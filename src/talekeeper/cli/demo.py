"""``talekeeper demo``: a long chat goes in, the right context comes out."""

import tempfile
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from talekeeper.cli import imports, previewing
from talekeeper.cli.output import Output
from talekeeper.cli.plain import safe
from talekeeper.domain.chat import Message
from talekeeper.keeper import Keeper

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


_CLOSING = (
    "\nAll six are still in the chat, word for word, and the receipt says which rule let go of "
    "each: the live window holds the newest 50 messages, and at most a quarter of the context, so "
    "that a chat of any length costs the same per turn. With more room to spend you can switch "
    "that cap off (talekeeper preview CHAT --no-live-cap). Bring a chat of your own: talekeeper "
    "import FILE"
)


async def run_demo(console: Output) -> dict[str, Any]:
    """Import the sample into a temporary database and show what the character sees now."""
    with tempfile.TemporaryDirectory() as folder:
        async with Keeper.open(Path(folder) / "demo.db") as keeper:
            console.print("\n[bold]1. A card and a chat of eleven weeks come in[/]\n")
            with as_file(files("talekeeper.samples")) as samples:
                paths = [samples / name for name in _SAMPLES]
                reports = [await keeper.files.import_file(path) for path in paths]
            for report in reports:
                imports.show(console, report, dry_run=False, details=True)
            chat = (await keeper.chats.list())[0]
            context = await keeper.compose(chat.id)
            console.print("\n[bold]2. What the model sees now[/]\n")
            previewing.show(console, previewing.Preview(chat=chat, context=context))
            messages = await keeper.messages.list(chat.id, limit=1000)
            console.print("\n[bold]3. What was said early, and where it is now[/]\n")
            found = _where(messages, context.texts)
            for what, (number, live) in found.items():
                place = "in the live window" if live else "[yellow]out of the live window[/]"
                console.print(f"  message {number:>3}  {what}: {place}", highlight=False)
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
                "early": {
                    what: {"message": number, "in_context": live}
                    for what, (number, live) in found.items()
                },
            }


def _where(messages: Any, sent: Any) -> dict[str, tuple[int, bool]]:
    """For each early fact: the message that tells it, and whether it is sent."""
    together = "\n".join(sent)
    return {
        what: (_telling(messages, words).number, words in together)
        for what, words in _EARLY.items()
    }


def _telling(messages: list[Message], words: str) -> Message:
    return next(message for message in messages if words in message.text)
