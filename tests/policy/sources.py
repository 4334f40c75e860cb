"""The source files as the policy tests see them: module names, syntax trees, texts."""

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.conftest import ROOT

__all__ = ["Definition", "Module", "definitions", "modules", "repository_texts"]

SRC = ROOT / "src"


@dataclass(frozen=True, slots=True)
class Module:
    """One file of the package. ``name`` is dotted; a package's own name for its ``__init__``."""

    name: str
    path: Path
    tree: ast.Module
    lines: int

    @property
    def file(self) -> str:
        """The path as messages show it."""
        return self.path.relative_to(SRC).as_posix()

    @property
    def unit(self) -> str:
        """The folder or file right below the package: ``store``, ``keeper``; "" for the package."""
        parts = self.name.split(".")
        return parts[1] if len(parts) > 1 else ""

    def imports(self) -> Iterator[tuple[int, str]]:
        """(line, dotted name) of everything imported, wherever the import stands."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield node.lineno, alias.name
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{self.file}:{node.lineno} imports relatively"
                for alias in node.names:
                    yield node.lineno, f"{node.module}.{alias.name}"


@cache
def modules() -> tuple[Module, ...]:
    """Every module of the package."""
    return tuple(_read(path) for path in sorted(SRC.rglob("*.py")))


def _read(path: Path) -> Module:
    text = path.read_text(encoding="utf-8")
    parts = path.relative_to(SRC).with_suffix("").parts
    name = ".".join(part for part in parts if part != "__init__")
    return Module(name, path, ast.parse(text, filename=str(path)), text.count("\n"))


Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def definitions(node: ast.AST, inside: str = "") -> Iterator[tuple[str, Definition]]:
    """(qualified name, node) of classes and functions; what is inside a function is left out."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Definition):
            name = f"{inside}{child.name}"
            yield name, child
            if isinstance(child, ast.ClassDef):
                yield from definitions(child, f"{name}.")


@cache
def repository_texts() -> tuple[tuple[str, str], ...]:
    """(path, text) of each text file that is, or would be, in the repository."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    ).stdout.decode()
    return tuple(_texts(sorted(set(listed.split("\0")) - {""})))


def _texts(names: list[str]) -> Iterator[tuple[str, str]]:
    for name in names:
        path = ROOT / name
        if not path.is_file():
            continue
        try:
            yield name, path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
