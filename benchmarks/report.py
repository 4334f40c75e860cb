"""Figures with their targets and baselines: as a Markdown table and as JSON."""

import json
import os
import platform
import sqlite3
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

__all__ = ["Figure", "Report", "Skipped"]

_ROOT = Path(__file__).parents[1]
_TIMED = ("ms", "s", "times", "messages/s")
"""Units of figures that say something only at full size, on a machine with nothing else to do."""

_PACKAGES = ("talekeeper", "sqlalchemy", "rs-bpe", "pydantic", "anyio")


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """One measured value.

    ``must`` is the target: at most that much, or at least where ``more_is_better``. ``goal`` is
    where it should go. ``baseline`` is (what it is compared with, its value in the same unit).
    """

    section: str
    name: str
    value: float
    unit: str
    must: float | None = None
    goal: float | None = None
    more_is_better: bool = False
    baseline: tuple[str, float] | None = None
    note: str = ""

    @property
    def verdict(self) -> str:
        """missed, ok, or goal where that is reached too; empty without a target."""
        if self.must is not None and not self._within(self.must):
            return "missed"
        if self.goal is not None and self._within(self.goal):
            return "goal"
        return "ok" if self.must is not None else ""

    def _within(self, bound: float) -> bool:
        return self.value >= bound if self.more_is_better else self.value <= bound

    def target(self) -> str:
        """The targets in words."""
        sign = "≥" if self.more_is_better else "≤"
        found = [f"{sign} {_number(self.must)}"] if self.must is not None else []
        found += [f"goal {sign} {_number(self.goal)}"] if self.goal is not None else []
        return ", ".join(found) or "–"

    def as_json(self) -> dict[str, Any]:
        """The shape in the JSON file."""
        return {
            "section": self.section,
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "must": self.must,
            "goal": self.goal,
            "more_is_better": self.more_is_better,
            "baseline": {"name": self.baseline[0], "value": self.baseline[1]}
            if self.baseline
            else None,
            "verdict": self.verdict,
            "note": self.note,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Skipped:
    """What was not measured, and why."""

    section: str
    name: str
    reason: str


@dataclass(slots=True)
class Report:
    """All figures of one run, and what they were measured on."""

    quick: bool
    load_before: tuple[float, float, float] = field(default_factory=os.getloadavg)
    figures: list[Figure] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def add(self, *found: Figure | Skipped) -> None:
        """Take figures in as they come, and say so on standard error."""
        for item in found:
            if isinstance(item, Skipped):
                self.skipped.append(item)
                sys.stderr.write(f"  {item.name}: skipped, {item.reason}\n")
            else:
                self.figures.append(item)
                mark = " MISSED" if item.verdict == "missed" else ""
                sys.stderr.write(f"  {item.name}: {_number(item.value)} {item.unit}{mark}\n")

    def missed(self) -> list[Figure]:
        """The figures that are not within what they must be; at small sizes those of time aside."""
        return [
            figure
            for figure in self.figures
            if figure.verdict == "missed" and not (self.quick and figure.unit in _TIMED)
        ]

    def as_markdown(self) -> str:
        """The table, what was skipped, and the machine."""
        about = self.about()
        lines = [
            "| | figure | measured | target | baseline | |",
            "|---|---|---:|---|---|---|",
            *(_row(figure) for figure in self.figures),
            "",
            *(f"Skipped: {item.section}, {item.name}: {item.reason}" for item in self.skipped),
            (
                f"Python {about['python']}, SQLite {about['sqlite']}, commit {about['commit']}, "
                f"{about['cpus']} CPUs, load {about['load_before'][0]:.1f} before and "
                f"{about['load_after'][0]:.1f} after, {sum(self.seconds.values()):.0f} s in all."
            ),
        ]
        if self.quick:
            lines.append("Small sizes (--quick): times are shown, and do not count as missed.")
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        """Everything, for comparing runs."""
        return {
            "about": self.about(),
            "figures": [figure.as_json() for figure in self.figures],
            "skipped": [
                {"section": item.section, "name": item.name, "reason": item.reason}
                for item in self.skipped
            ],
            "seconds": self.seconds,
            "missed": [figure.name for figure in self.missed()],
        }

    def about(self) -> Mapping[str, Any]:
        """Versions, commit, CPUs (those this process may use) and load averages."""
        return {
            "quick": self.quick,
            "python": platform.python_version(),
            "sqlite": sqlite3.sqlite_version,
            "packages": {name: version(name) for name in _PACKAGES},
            "commit": _commit(),
            "platform": platform.platform(),
            "cpus": _cpus(),
            "load_before": list(self.load_before),
            "load_after": list(os.getloadavg()),
        }

    def save(self, path: Path) -> None:
        """Write the JSON file."""
        text = json.dumps(self.as_json(), ensure_ascii=False, indent=2)
        path.write_text(text + "\n", encoding="utf-8")


def _row(figure: Figure) -> str:
    baseline = "–"
    if figure.baseline:
        baseline = f"{_number(figure.baseline[1])} ({figure.baseline[0]})"
    name = f"{figure.name} ({figure.note})" if figure.note else figure.name
    cells: Sequence[str] = (
        figure.section,
        name,
        f"{_number(figure.value)} {figure.unit}",
        figure.target(),
        baseline,
        {"missed": "**missed**"}.get(figure.verdict, figure.verdict),
    )
    return f"| {' | '.join(cells)} |"


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 20 else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def _commit() -> str:
    """The commit, with a + where files differ from it."""
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--exclude=*"],
            cwd=_ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return found.stdout.strip()


def _cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
