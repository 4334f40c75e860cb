"""Where the commands print: a terminal is wrapped to its width, a pipe or file is not."""

import os
import sys

from rich.console import Console
from rich.table import Table

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

    def table(self, table: Table) -> None:
        """Print a table; where nobody sees a width, its lines end with what they say."""
        if self.bounded:
            self.print(table)
            return
        with self.capture() as captured:
            self.print(table)
        for line in captured.get().splitlines():
            self.out(line.rstrip(), highlight=False)

    def on_broken_pipe(self) -> None:
        """Rich would end the process with status 1."""
        raise BrokenPipeError
