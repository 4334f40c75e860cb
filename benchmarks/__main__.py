"""The command line: ``python -m benchmarks [--quick] [--only NAME] [--json FILE]``.

Prints a Markdown table; progress goes to standard error. Exit status 1 when a figure that must be
reached is missed.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from benchmarks import (
    compose,
    forking,
    growth,
    importing,
    killing,
    memories,
    prefix,
    settling,
    summary,
)
from benchmarks.report import Report
from benchmarks.scale import FULL, QUICK, Scale

__all__ = ["main"]

# The order matters: growth adds messages to the chats that compose measures.
_SECTIONS: Mapping[str, Callable[[Report, Scale, Path], Awaitable[None]]] = {
    "compose": compose.measure,
    "import": importing.measure,
    "fork": forking.measure,
    "prefix": prefix.measure,
    "growth": growth.measure,
    "memories": memories.measure,
    "settle": settling.measure,
    "kill": killing.measure,
    "summary": summary.measure,
}


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for; answers the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, for a smoke test")
    parser.add_argument("--only", choices=_SECTIONS, action="append", help="this section alone")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the figures there too")
    given = parser.parse_args(arguments)
    report = Report(quick=given.quick)
    with tempfile.TemporaryDirectory(prefix="talekeeper-bench-") as folder:
        asyncio.run(_run(report, QUICK if given.quick else FULL, Path(folder), given.only))
    print(report.as_markdown())
    if given.json:
        report.save(given.json)
    missed = report.missed()
    for figure in missed:
        sys.stderr.write(
            f"Missed: {figure.section}, {figure.name}: {figure.value:,.2f} {figure.unit}, "
            f"must be {figure.target()}.\n"
        )
    return 1 if missed else 0


async def _run(report: Report, scale: Scale, folder: Path, only: list[str] | None) -> None:
    for name, measure in _SECTIONS.items():
        if only and name not in only:
            continue
        sys.stderr.write(f"{name}\n")
        begun = time.perf_counter()
        await measure(report, scale, folder)
        report.seconds[name] = time.perf_counter() - begun


if __name__ == "__main__":
    sys.exit(main())
