"""The command line: ``talekeeper``."""

from talekeeper.cli.main import main

__all__ = ["main"]
