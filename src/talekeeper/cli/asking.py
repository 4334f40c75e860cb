"""Questions that a command asks before it does what cannot be taken back lightly."""

import sys

from rich.console import Console
from rich.prompt import Confirm

__all__ = ["agreed"]


def agreed(question: str) -> bool:
    """Ask on standard error; ``question`` is rich's markup. No answer at all is a no."""
    console = Console(stderr=True)
    try:
        answer = Confirm.ask(question, console=console, default=False)
    except EOFError:
        answer = False
    if sys.stdin is None or not sys.stdin.isatty():
        console.print()  # an answer that was not typed ends no line
    return answer
