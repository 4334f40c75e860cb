"""The website builds: offline, without a warning, and without anything from elsewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.docs.pages import DOCS

LOADS = re.compile(
    r"<(?:script|img|iframe)[^>]+src=\"(?:https?:)?//|<link[^>]+href=\"(?:https?:)?//"
)
REMOTE_STYLE = re.compile(r"@import|url\(\s*['\"]?(?:https?:)?//")


def test_the_documentation_builds(tmp_path: Path) -> None:
    """As ``make docs`` does it, with every way out to the network closed."""
    nowhere = "http://127.0.0.1:9"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"),
            *("-d", str(tmp_path / "doctrees"), str(DOCS), str(tmp_path / "html")),
        ],
        env={**os.environ, "http_proxy": nowhere, "https_proxy": nowhere, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    built = list((tmp_path / "html").rglob("*.html"))
    assert len(built) > len(list(DOCS.rglob("*.md")))
    remote = [file.name for file in built if LOADS.search(file.read_text(encoding="utf-8"))]
    assert not remote
    styles = (tmp_path / "html").rglob("*.css")
    assert not [f.name for f in styles if REMOTE_STYLE.search(f.read_text(encoding="utf-8"))]
