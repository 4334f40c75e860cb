"""What is depended on is pinned for development and CI, by name and version alone."""

import re
import tomllib
from typing import Any

from tests.conftest import ROOT

NOT_PINNED = {"fastapi", "uvicorn"}
"""Of extras that no code uses yet. The list may only shrink."""

PIN = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)==(?P<version>[A-Za-z0-9.+!_-]+)")


def _plain(requirement: str) -> str:
    name = re.split(r"[\s\[<>=!~;]", requirement, maxsplit=1)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


def _pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def _required() -> set[str]:
    document = _pyproject()
    project = document["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    lists += document["dependency-groups"].values()
    lists.append(document["build-system"]["requires"])
    return {_plain(item) for items in lists for item in items if isinstance(item, str)}


def _pinned() -> list[str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def test_constraints_hold_names_and_versions_only() -> None:
    wrong = [line for line in _pinned() if not PIN.fullmatch(line)]
    assert not wrong


def test_constraints_name_each_package_once() -> None:
    names = [_plain(line) for line in _pinned()]
    assert sorted(names) == sorted(set(names))


def test_everything_required_is_pinned() -> None:
    pinned = {_plain(line) for line in _pinned()}
    assert _required() - pinned == NOT_PINNED


def test_the_version_stands_once() -> None:
    import talekeeper

    assert _pyproject()["project"]["version"] == talekeeper.__version__
