"""What must not stand in any file of the repository."""

import re

import pytest

from tests.policy.sources import repository_texts

# Each is put together, so that this file is not its own first hit.
LEFT_OVER = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME)\b")
MACHINE_PATHS = re.compile(
    r"(?<![\w.~}])/(?:wo" + r"rk|ho" + r"me|ro" + r"ot|Us" + r"ers)/[\w.-]"
    r"|\b[A-Z]:\\Us" + r"ers\\"
)
REGISTRIES = re.compile(
    r"\b(?:py" + r"pi\.org|pythonh" + r"osted\.org|regis" + r"try\.npmjs\.org|anac" + r"onda\.org)"
    r"|(?:extra-)?inde" + r"x-url",
    re.IGNORECASE,
)


@pytest.mark.parametrize(
    ("what", "pattern"),
    [
        ("a note for later", LEFT_OVER),
        ("a path of one machine", MACHINE_PATHS),
        ("the address of a package registry", REGISTRIES),
    ],
    ids=["notes", "paths", "registries"],
)
def test_no_file_holds(what: str, pattern: re.Pattern[str]) -> None:
    found = [
        f"{name}:{text.count(chr(10), 0, hit.start()) + 1}: {hit[0]}"
        for name, text in repository_texts()
        for hit in pattern.finditer(text)
    ]
    assert not found, f"{what}:\n" + "\n".join(found)


def test_the_patterns_find_what_they_are_for() -> None:
    assert LEFT_OVER.search("# TO" + "DO: later")
    assert MACHINE_PATHS.search("open('/ho" + "me/alice/tale.db')")
    assert not MACHINE_PATHS.search("~/SillyTavern/data")
    assert REGISTRIES.search("https://py" + "pi.org/simple")
