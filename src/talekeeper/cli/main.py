"""The entry point of the command line; it loads the rest where an interrupt is already caught."""

import signal
import sys

__all__ = ["INTERRUPTED", "main"]

INTERRUPTED = 130
"""The exit status of a command that the user stopped."""


def main() -> None:
    """Run the command that the process was started with, and end the process."""
    try:
        # Imported here: loading takes most of a second, and Ctrl-C may come at any moment of it.
        from talekeeper.cli.running import run

        status = run(sys.argv[1:])
    except KeyboardInterrupt:
        sys.stderr.write("Error: Stopped.\n")
        status = INTERRUPTED
    # What is left to do takes no time, and needs no traceback either.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(status)
