"""The documentation as its tests see it: pages, blocks of code, tables, links, anchors."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from typer.main import get_command

from talekeeper.cli.app import app
from tests.conftest import ROOT

__all__ = ["DOCS", "Block", "Page", "commands", "page", "pages"]

DOCS = ROOT / "docs"

_FENCE = re.compile(r"^(?P<ticks>`{3,}|:{3,})(?P<info>[^\n`]*)$", re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[(?:[^\[\]]|\[[^\]]*\])*\]\((?P<target>[^)\s]+)\)")
_CODE = re.compile(r"`[^`]*`")
_NOT_RUN = re.compile(r"<!-- not run: (?P<why>[^>]+?) -->\s*$")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block. ``not_run`` is the reason why the tests leave it alone."""

    language: str
    text: str
    line: int
    not_run: str | None


@dataclass(frozen=True, slots=True)
class Page:
    """One Markdown file."""

    path: Path
    text: str

    @property
    def name(self) -> str:
        """The path in the repository."""
        return self.path.relative_to(ROOT).as_posix()

    def blocks(self, language: str | None = None) -> Iterator[Block]:
        """The fenced blocks in order."""
        position = 0
        while start := _FENCE.search(self.text, position):
            end = self.text.find(f"\n{start['ticks']}", start.end())
            assert end >= 0, f"{self.name}: a block has no end"
            why = _NOT_RUN.search(self.text[: start.start()])
            block = Block(
                language=start["info"].strip(),
                text=self.text[start.end() + 1 : end + 1],
                line=self.text.count("\n", 0, start.start()) + 1,
                not_run=why["why"] if why else None,
            )
            if language is None or block.language == language:
                yield block
            position = end + len(start["ticks"]) + 1

    def prose(self) -> str:
        """The text without its fenced blocks."""
        kept, inside = [], ""
        for line in self.text.splitlines():
            fence = _FENCE.match(line)
            if fence and not inside:
                inside = fence["ticks"]
            elif inside and line.startswith(inside):
                inside = ""
            elif not inside:
                kept.append(line)
        return "\n".join(kept)

    def sections(self) -> dict[str, str]:
        """The text below each heading, up to the next heading of any level."""
        found: dict[str, str] = {}
        title = ""
        for line in self.prose().splitlines():
            if re.match(r"#{1,6} ", line):
                title = line.lstrip("# ").strip()
                found[title] = ""
            elif title:
                found[title] += f"{line}\n"
        return found

    def rows(self, head: str | None = None) -> Iterator[list[str]]:
        """The cells of each row of the tables, or of those tables whose first cell is ``head``."""
        first = ""
        for line in [*self.prose().splitlines(), ""]:
            if not line.startswith("|"):
                first = ""
                continue
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))]
            if not first:
                first = cells[0] or " "
            elif not set(line) <= set("|-: ") and head in (None, first):
                yield cells

    def anchors(self) -> set[str]:
        """The anchors of its headings, as Markdown renderers make them."""
        titles = re.findall(r"^#{1,6} (.+)$", self.prose(), re.MULTILINE)
        return {_slug(title) for title in titles}

    def links(self) -> Iterator[str]:
        """The targets of its links."""
        for found in _LINK.finditer(_CODE.sub("``", self.prose())):
            yield found["target"]


def _slug(title: str) -> str:
    plain = re.sub(r"[^\w\- ]", "", title.lower())
    return plain.replace(" ", "-")


@cache
def pages() -> tuple[Page, ...]:
    """Every page: the documentation, and the files beside the README."""
    paths = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
    return tuple(
        Page(path, path.read_text(encoding="utf-8"))
        for path in paths
        if "_build" not in path.relative_to(ROOT).parts
    )


def page(name: str) -> Page:
    """The page of that path in the repository."""
    return next(page for page in pages() if page.name == name)


def commands() -> dict[str, Any]:
    """Every command by the name that is typed: "chats", "summary show"."""
    return dict(_commands(get_command(app)))


def _commands(command: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", {})
    if not inner:
        yield name, command
    for own, found in inner.items():
        yield from _commands(found, f"{name} {own}".strip())
