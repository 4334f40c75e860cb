"""Every example in the documentation runs, and prints what the page says it prints."""

import doctest
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import Page, page, pages
from tests.docs.samples import lay_out

ANYTHING = "[...]"
KNOWN_LANGUAGES = {
    *("python", "pycon", "console", "sh", "text", "yaml", "json"),
    *("{toctree}", "{note}", "{eval-rst}"),
}
QUICK_START_LINES = 15


def _with(language: str) -> list[Page]:
    return [item for item in pages() if any(item.blocks(language))]


def _name(item: Page) -> str:
    return item.name


def test_every_block_says_what_it_is() -> None:
    wrong = [
        f"{item.name}:{block.line} {block.language!r}"
        for item in pages()
        for block in item.blocks()
        if block.language not in KNOWN_LANGUAGES
    ]
    assert not wrong, wrong


def test_what_is_not_run_could_be_python_only() -> None:
    """The mark is for Python that needs what no test has; other blocks have other languages."""
    marked = [block for item in pages() for block in item.blocks() if block.not_run]
    assert all(block.language in ("python", "console") for block in marked)


@pytest.mark.parametrize("item", _with("python"), ids=_name)
def test_python_blocks_run(item: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of one page are one program: a later one may use what an earlier one made."""
    lay_out(tmp_path)
    monkeypatch.chdir(tmp_path)
    if "talekeeper.db" in item.text:
        _run("talekeeper import src/talekeeper/samples/*.json*", tmp_path, db="talekeeper.db")
    names: dict[str, object] = {"__name__": "__main__"}
    for block in item.blocks("python"):
        if block.not_run is None:
            # Blank lines in front, so that a traceback names the line of the page.
            program = "\n" * block.line + block.text
            exec(compile(program, str(item.path), "exec"), names)


@pytest.mark.parametrize("item", _with("pycon"), ids=_name)
def test_interactive_blocks_run(item: Page) -> None:
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
    for block in item.blocks("pycon"):
        test = parser.get_doctest(block.text, {}, item.name, str(item.path), block.line)
        assert test.examples
        report: list[str] = []
        runner.run(test, out=report.append)
        assert not runner.failures, "".join(report)


def test_the_quick_start_is_short_and_shows_both_verbs() -> None:
    blocks = list(page("README.md").blocks("pycon"))
    assert len(blocks) == 1
    assert len(blocks[0].text.splitlines()) <= QUICK_START_LINES
    assert "record(" in blocks[0].text
    assert "compose(" in blocks[0].text


def _run(command: str, home: Path, db: str = "of-the-page.db") -> tuple[str, int]:
    done = subprocess.run(
        command,
        shell=True,
        cwd=home,
        env={
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(home),
            "TALEKEEPER_DB": str(home / db),
            "LANG": "C.UTF-8",
            "PYTHONUTF8": "1",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        check=False,
    )
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()), done.returncode


def _steps(text: str) -> Iterator[tuple[str, str]]:
    """(command, output shown) of a transcript."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown.rstrip()


def _fits(shown: str, printed: str) -> bool:
    """Whether the output is the one shown, ``[...]`` standing for anything; none shown fits all."""
    if not shown:
        return True
    pattern = ".*?".join(re.escape(part) for part in shown.split(ANYTHING))
    return re.fullmatch(pattern, printed, re.DOTALL) is not None


@pytest.mark.parametrize("item", _with("console"), ids=_name)
def test_transcripts_are_true(item: Page, tmp_path: Path) -> None:
    """All transcripts of a page work on one database; each begins in the reader's home folder."""
    lay_out(tmp_path)
    for block in item.blocks("console"):
        folder = ""
        assert block.text.startswith("$ "), f"{item.name}:{block.line}"
        for command, shown in _steps(block.text):
            if command.startswith("cd "):
                folder = f"{command} && "
                continue
            printed, status = _run(folder + command, tmp_path)
            where = f"{item.name}:{block.line}: {command}"
            assert _fits(shown, printed), f"{where}\n--- shown\n{shown}\n--- printed\n{printed}"
            assert (status == 0) == ("Error:" not in shown), where
