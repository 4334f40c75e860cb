"""Files that hang on a message of SillyTavern's: texts and tables, which are no part of it.

Knows their names only; the files lie in SillyTavern's own folders, or as text in the line.
"""

from collections.abc import Mapping
from typing import Any

from talekeeper.domain.limits import LIMITS

__all__ = ["attachments_in"]


def attachments_in(extra: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the files, old (``file``) and new (``files``); "?" where one has none."""
    if "file" not in extra and "files" not in extra:
        return ()
    files = extra.get("files")
    found = [*(files if isinstance(files, list) else ()), extra.get("file")]
    return tuple(_name(one) for one in found if isinstance(one, Mapping) and one)


def _name(file: Mapping[str, Any]) -> str:
    for value in (file.get("name"), file.get("url")):
        if isinstance(value, str) and value.strip():
            return " ".join(value.rpartition("/")[2].split())[: LIMITS.title_characters] or "?"
    return "?"
