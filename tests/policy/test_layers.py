"""Who may import whom (the design, "The shape of the code")."""

import ast
from collections.abc import Iterator

from tests.policy.sources import Module, modules

# Each row may import itself (its own folder) and every row above it.
ORDER = (
    {"domain"},
    {"text", "formats", "models"},
    {"store"},
    {"recall"},
    {"record", "compose", "settle"},
    {"parts"},
    {"reply"},
    {"keeper"},
    {"sync"},
    {"server", "web", "cli"},
)
LEVEL = {unit: level for level, row in enumerate(ORDER) for unit in row}

EXCEPTIONS = {("settle", "record")}
"""Siblings that may: settle writes through record."""

FORBIDDEN = {("store", "models")}
"""Allowed by the order, and yet not: the store never calls a model."""

APART = {
    "": {"public"},
    "public": set(LEVEL) - {"server", "web", "cli"},
    "config": {"domain", "models"},
    "testing": {"domain", "text", "models"},
    "samples": set(),
}
"""Modules outside of the order, and what they may import."""

READS_CONFIG = {"cli", "server", "web"}

PURE = ("domain", "text", "formats")
IMPURE = {
    *("sqlalchemy", "alembic", "sqlite3", "asyncpg", "httpx", "requests", "urllib.request"),
    *("http", "socket", "ssl", "subprocess", "os", "shutil", "tempfile", "glob", "pathlib"),
    *("asyncio", "anyio", "time", "random", "secrets", "uuid", "uuid_utils", "platformdirs"),
}
"""Modules that do I/O, know the clock, or give something else each time."""

CLOCKS = {"now", "utcnow", "today"}
OPENERS = {"open", "print", "input"}
MAKERS = {"uuid4", "uuid7", "token_hex", "token_bytes", "urandom"}


def _ours(module: Module) -> Iterator[tuple[int, str]]:
    """(line, unit) of what a module imports from the package."""
    for line, name in module.imports():
        if name.split(".")[0] == "talekeeper":
            unit = name.split(".")[1] if "." in name else ""
            yield line, "" if unit.startswith("__") else unit


def _may(user: str, used: str) -> bool:
    if user == used or (used == "" and user in READS_CONFIG):
        return True
    if user in APART:
        return used in APART[user]
    if used == "config":
        return user in READS_CONFIG
    if used not in LEVEL or (user, used) in FORBIDDEN:
        return False
    return LEVEL[used] < LEVEL[user] or (user, used) in EXCEPTIONS


def _calls(module: Module) -> Iterator[tuple[int, str, bool]]:
    """(line, name, whether it is a method) of everything called."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                yield node.lineno, node.func.id, False
            elif isinstance(node.func, ast.Attribute):
                yield node.lineno, node.func.attr, True


def test_every_part_of_the_package_has_its_place() -> None:
    units = {module.unit for module in modules()}
    assert units <= LEVEL.keys() | APART.keys()


def test_imports_go_one_way() -> None:
    wrong = [
        f"{module.file}:{line} imports talekeeper.{used}"
        for module in modules()
        for line, used in _ours(module)
        if not _may(module.unit, used)
    ]
    assert not wrong, "\n".join(wrong)


def test_pure_modules_import_nothing_that_does_io() -> None:
    wrong = [
        f"{module.file}:{line} imports {name}"
        for module in modules()
        if module.unit in PURE
        for line, name in module.imports()
        if any(f"{name}.".startswith(f"{impure}.") for impure in IMPURE)
    ]
    assert not wrong, "\n".join(wrong)


def test_pure_modules_open_nothing_and_know_no_clock() -> None:
    wrong = [
        f"{module.file}:{line} calls {name}()"
        for module in modules()
        if module.unit in PURE
        for line, name, method in _calls(module)
        if name in (CLOCKS if method else OPENERS)
    ]
    assert not wrong, "\n".join(wrong)


def test_the_clock_is_read_and_ids_are_made_in_one_place() -> None:
    found = {
        module.file
        for module in modules()
        for _, name, method in _calls(module)
        if (method and name in CLOCKS) or name in MAKERS
    }
    assert found == {"talekeeper/keeper.py"}


def test_the_order_is_the_one_of_the_design() -> None:
    allowed = {("store", "domain"), ("settle", "record"), ("keeper", "parts"), ("cli", "keeper")}
    forbidden = {
        *(("domain", "text"), ("text", "formats"), ("formats", "store"), ("store", "models")),
        *(("record", "compose"), ("compose", "record"), ("record", "settle")),
        *(("parts", "keeper"), ("keeper", "cli"), ("server", "cli"), ("store", "config")),
    }
    assert all(_may(user, used) for user, used in allowed)
    assert not any(_may(user, used) for user, used in forbidden)
