"""Writes the generated parts of the reference pages: ``python docs/generate.py``.

A generated part stands between ``<!-- generated: NAME -->`` and ``<!-- end -->``. With ``--check``
nothing is written: the exit status tells whether a page is stale. Knows nothing of Sphinx.
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Column, Table
from typer.main import get_command

from talekeeper.cli.app import app
from talekeeper.domain.limits import LIMITS, PLANS, describe, shown
from talekeeper.store.schema import metadata

DOCS = Path(__file__).parent
PART = re.compile(r"(<!-- generated: (?P<name>[^>]+?) -->\n).*?(<!-- end -->)", re.DOTALL)


_VALUES = {int: "NUMBER", str: "TEXT"}
"""What an option takes that does not say so itself."""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines
    )


def limits() -> str:
    """What holds for every plan."""
    rows = [
        [f"`{name}`", f"{value:,}", unit, meaning]
        for name, value, unit, meaning in describe(LIMITS)
    ]
    return table(["limit", "value", "unit", "meaning"], rows)


def plans() -> str:
    """The plans side by side; a limit that boost changes has a second row."""
    rows = []
    for name, _, unit, meaning in describe(next(iter(PLANS.values()))):
        plain = [shown(getattr(plan, name)) for plan in PLANS.values()]
        boosted = [shown(getattr(plan.boosted(), name)) for plan in PLANS.values()]
        rows.append([f"`{name}`", *plain, unit, meaning])
        if boosted != plain:
            rows.append([f"`{name}` with boost", *boosted, unit, meaning])
    return table(["limit", *(f"`{name}`" for name in PLANS), "unit", "meaning"], rows)


def parameters(command: Any, general: Sequence[str] = ()) -> str:
    """The arguments and options of a command of the command line, but not the general ones."""
    rows = []
    for item in command.params:
        if item.name in general:
            continue
        takes = item.metavar or _VALUES.get(item.type_descriptor.annotation, "")
        if item.param_type_name == "argument":
            rows.append([f"`{takes}`", "", item.help])
            continue
        names = ", ".join(f"`{name}`" for name in (*item.opts, *item.secondary_opts))
        value = "" if item.is_flag else f"`{takes}`"
        default = "" if item.default in (None, False) else f" Default: `{item.default}`."
        rows.append([names, value, f"{item.help}{default}"])
    rows.append(["`-h`, `--help`", "", "Show what the command does and what it takes."])
    return table(["name", "takes", "meaning"], rows)


def columns_of(item: Table) -> str:
    """The columns of a table of the database."""
    rows = [[f"`{column.name}`", _type(column), _key(column)] for column in item.columns]
    return table(["column", "type", "key"], rows)


def _type(column: Column[Any]) -> str:
    kind = type(column.type).__name__
    name = {"UtcDateTime": "moment", "LargeBinary": "bytes", "_Id": "id"}.get(kind, kind.lower())
    return f"{name}, may be empty" if column.nullable else name


def _key(column: Column[Any]) -> str:
    words = ["primary"] if column.primary_key else []
    words += sorted({f"→ `{key.column.table.name}`" for key in column.foreign_keys})
    return ", ".join(words)


def commands_of(command: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """The commands by name; those of a group are named as they are typed: ``summary show``."""
    inner: Mapping[str, Any] = getattr(command, "commands", {})
    if not inner:
        yield name, command
    for own, found in inner.items():
        yield from commands_of(found, f"{name} {own}".strip())


def parts() -> Mapping[str, Callable[[], str]]:
    """Every generated part by its name."""
    root = get_command(app)
    found: dict[str, Callable[[], str]] = {
        "limits": limits,
        "plans": plans,
        "options": lambda: parameters(root),
    }
    general = [item.name for item in root.params]
    for name, command in commands_of(root):
        found[f"command {name}"] = partial(parameters, command, general)
    for item in metadata.sorted_tables:
        found[f"table {item.name}"] = lambda item=item: columns_of(item)  # type: ignore[misc]
    return found


def pages() -> Iterator[tuple[Path, str, str]]:
    """(page, text as it stands, text as it should be) of each page with generated parts."""
    known, used = parts(), set[str]()

    def fresh(part: re.Match[str]) -> str:
        used.add(part["name"])
        return f"{part[1]}\n{known[part['name']]()}\n{part[3]}"

    for page in sorted(DOCS.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        if PART.search(text):
            yield page, text, PART.sub(fresh, text)
    missing = sorted(known.keys() - used)
    if missing:
        raise SystemExit(f"No page has the generated part {missing[0]!r}.")


def main(arguments: Sequence[str]) -> int:
    """Write the pages, or only tell which are stale."""
    stale = [(page, fresh) for page, text, fresh in pages() if text != fresh]
    for page, fresh in stale:
        if "--check" in arguments:
            sys.stdout.write(f"{page.relative_to(DOCS)} is stale; run: python docs/generate.py\n")
        else:
            page.write_text(fresh, encoding="utf-8")
            sys.stdout.write(f"{page.relative_to(DOCS)} written\n")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
