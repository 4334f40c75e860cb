"""Importing Talekeeper is quick and harmless: it touches neither the network nor the disk."""

import subprocess
import sys
from pathlib import Path

import pytest

GUARD = """
import sys
sys.dont_write_bytecode = True
allowed = tuple({sys.prefix, sys.base_prefix, *filter(None, sys.path)})
refused = []

def watch(event, arguments):
    if event.split(".")[0] in ("socket", "sqlite3", "subprocess", "shutil", "tempfile"):
        if event != "socket.__new__" or arguments:
            refused.append((event, arguments))
    elif event in ("os.mkdir", "os.remove", "os.rename", "os.system", "os.putenv"):
        refused.append((event, arguments))
    elif event == "open":
        path, mode, flags = arguments
        writes = isinstance(mode, str) and set(mode) & set("wax+")
        inside = isinstance(path, int) or str(path).startswith(allowed)
        if writes or not inside:
            refused.append((event, arguments))

sys.addaudithook(watch)
import {module}
sys.stdout.write("\\n".join(map(repr, refused)))
"""


def _refused(module: str, *, path: str = "") -> str:
    """What importing a module did that it must not do."""
    program = GUARD.replace("{module}", module)
    if path:
        program = f"import sys; sys.path.insert(0, {path!r})\n{program}"
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("module", ["talekeeper", "talekeeper.cli", "talekeeper.testing"])
def test_importing_touches_nothing(module: str) -> None:
    assert not _refused(module)


@pytest.mark.parametrize(
    "deed",
    [
        "import socket; socket.socket()",
        "open('/etc/hosts').close()",
        "import pathlib; pathlib.Path(__file__).with_suffix('.txt').write_text('x')",
        "import sqlite3; sqlite3.connect(':memory:')",
    ],
)
def test_the_guard_sees(deed: str, tmp_path: Path) -> None:
    (tmp_path / "culprit.py").write_text(deed, encoding="utf-8")
    assert _refused("culprit", path=str(tmp_path))


def test_importing_the_library_does_not_load_the_command_line() -> None:
    program = "import sys, talekeeper; sys.stdout.write(' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert not loaded & {"typer", "rich", "asyncpg", "talekeeper.cli", "talekeeper.config"}
