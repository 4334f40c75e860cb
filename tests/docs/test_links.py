"""Links lead somewhere, and pages are found."""

import re

import pytest

from tests.conftest import ROOT
from tests.docs.pages import DOCS, Page, pages

OUTSIDE = {"https://keepachangelog.com/en/1.1.0/"}
"""Every address outside of the repository that a page may link to."""


def _problem(item: Page, target: str) -> str | None:
    if "://" in target:
        return None if target in OUTSIDE else "leads outside"
    name, _, anchor = target.partition("#")
    path = (item.path.parent / name).resolve() if name else item.path
    if not path.is_file() or ROOT not in path.parents:
        return "leads nowhere"
    if anchor:
        found = next((other for other in pages() if other.path == path), None)
        if found is None or anchor not in found.anchors():
            return "has no such heading"
    return None


@pytest.mark.parametrize("item", pages(), ids=lambda item: item.name)
def test_links_lead_somewhere(item: Page) -> None:
    problems = [
        f"{target} {problem}"
        for target in item.links()
        if (problem := _problem(item, target)) is not None
    ]
    assert not problems, problems


def test_every_page_is_in_the_table_of_contents() -> None:
    index = next(item for item in pages() if item.path == DOCS / "index.md")
    listed = {
        line.strip()
        for block in index.blocks("{toctree}")
        for line in block.text.splitlines()
        if line.strip() and not line.startswith(":")
    }
    written = {
        item.path.relative_to(DOCS).with_suffix("").as_posix()
        for item in pages()
        if DOCS in item.path.parents and item is not index
    }
    assert listed == written


def test_pages_speak_of_the_project_only() -> None:
    """Nothing of how a page came to be: neither folders beside the repository nor its makers."""
    outside = re.compile(r"\.\./\.\./\.\./|\.\./shared|DESIGN\.md|\borigins/")
    assert not [item.name for item in pages() if outside.search(item.text)]
