"""Where the commands print: a terminal is wrapped to its width, a pipe or file is not."""

import os
import sys

from rich.console import Console

__all__ = ["Output"]

_UNBOUNDED = 100_000


class Output(Console):
    """Standard output. A reader that goes away (as in ``| head``) is a BrokenPipeError."""

    def __init__(self, *, quiet: bool = False) -> None:
        seen = sys.stdout is not None and sys.stdout.isatty()
        wrapped = seen or bool(os.environ.get("COLUMNS"))
        super().__init__(quiet=quiet, width=None if wrapped else _UNBOUNDED)

    @property
    def bounded(self) -> bool:
        """Whether lines end at a width that somebody sees."""
        return self.width < _UNBOUNDED

    def on_broken_pipe(self) -> None:
        """Rich would end the process with status 1."""
        raise BrokenPipeError
