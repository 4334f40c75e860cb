"""Runs the command line and turns every error into one plain sentence.

Exit status: 0 done; 1 an error that the sentence explains; 2 a command that was not understood;
130 stopped by the user.
"""

import logging
import os
import sys

import typer
from pydantic import ValidationError

from talekeeper.cli.app import app
from talekeeper.cli.importing import Stopped
from talekeeper.cli.main import INTERRUPTED
from talekeeper.cli.plain import plain
from talekeeper.domain.errors import TalekeeperError
from talekeeper.domain.wording import wrong

__all__ = ["run"]

logger = logging.getLogger("talekeeper")


def run(arguments: list[str]) -> int:
    """Run one command; answers the exit status."""
    if sys.stdout is None:  # it was closed before the program began: what is said goes nowhere
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123 - for as long as the process
    status = _run(arguments)
    try:
        sys.stdout.flush()
    except OSError as error:
        # Python would try to write the rest once more, and complain, at its very end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if not isinstance(error, BrokenPipeError):
            return status or _fail(f"{error.strerror}.", 1)
    return status


def _run(arguments: list[str]) -> int:
    try:
        status = app(args=arguments or ["--help"], prog_name="talekeeper", standalone_mode=False)
    except TalekeeperError as error:
        return _fail(str(error), 1)
    except typer.TyperException as error:
        return _fail(_not_understood(error), 2)
    except Stopped as stopped:
        return _fail(str(stopped), INTERRUPTED)
    except (typer.Abort, KeyboardInterrupt):
        return _fail("Stopped.", INTERRUPTED)
    except BrokenPipeError:
        return 0  # as in ``| head``; there is nobody left to tell
    except SystemExit as ended:
        # What typer makes of a broken pipe.
        if isinstance(ended.__context__, BrokenPipeError):
            return 0
        raise
    except OSError as error:
        named = f"{error.filename}: " if error.filename else ""
        return _fail(f"{named}{error.strerror or error}.", 1)
    except Exception as error:
        logger.debug("unexpected error", exc_info=True)
        if os.environ.get("TALEKEEPER_DEBUG"):
            raise
        return _fail(
            f"Talekeeper met an error of its own ({type(error).__name__}: {error}). "
            "Set TALEKEEPER_DEBUG=1 to see where, and please report it.",
            1,
        )
    if status == INTERRUPTED:
        return _fail("Stopped.", INTERRUPTED)
    return status if isinstance(status, int) else 0


def _not_understood(error: typer.TyperException) -> str:
    """What typer says; of a value that pydantic refused, in plain words."""
    said = error.format_message()
    if isinstance(error.__cause__, ValidationError):
        return (
            f"{said.partition(':')[0].removeprefix('Invalid value for ')} {wrong(error.__cause__)}."
        )
    return said


def _fail(sentence: str, status: int) -> int:
    sys.stderr.write(f"Error: {' '.join(plain(sentence).split())}\n")
    return status
