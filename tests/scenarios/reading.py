"""Reading a scenario file: YAML in which nothing is said twice, and rounds are written out."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from tests.scenarios.script import Scenario

__all__ = ["BadScenario", "read_scenario"]


class BadScenario(Exception):
    """A scenario file that cannot be understood; the message says where and why."""


class _BadRepeat(Exception):
    """A ``repeat`` that is not written as it should be."""


def read_scenario(path: Path) -> Scenario:
    """The scenario in a file. BadScenario says where one cannot be understood."""
    try:
        written = yaml.load(path.read_text(encoding="utf-8"), _Loader)
        return Scenario.model_validate(_repeated(written))
    except (yaml.YAMLError, _BadRepeat) as error:
        raise BadScenario(f"{path.name}: {error}") from error
    except ValidationError as error:
        wrong = (
            f"{path.name}: {'.'.join(str(part) for part in one['loc'])}: {one['msg']}"
            for one in error.errors()
        )
        raise BadScenario("\n".join(wrong)) from error


class _Loader(yaml.SafeLoader):
    """YAML in which a key stands once, and what looks like a date is a text."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} stands twice", node.start_mark
                )
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if not tag.endswith(":timestamp")]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}

_COUNT = re.compile(r"\{(\d*)n([+-]\d+)?\}")


def _repeated(written: Any, n: int | None = None) -> Any:
    """The same with each ``{repeat: [first, last], of: […]}`` in a list written out.

    In the texts inside, ``{n}`` is the number of the round, ``{2n-1}`` is counted from it.
    """
    if isinstance(written, list):
        return [one for item in written for one in _rounds(item, n)]
    if isinstance(written, dict):
        return {_repeated(key, n): _repeated(value, n) for key, value in written.items()}
    if isinstance(written, str) and n is not None:
        return _COUNT.sub(lambda m: str(int(m[1] or 1) * n + int(m[2] or 0)), written)
    return written


def _rounds(item: Any, n: int | None) -> Iterator[Any]:
    if not (isinstance(item, dict) and "repeat" in item):
        yield _repeated(item, n)
        return
    match item:
        case {"repeat": [int(first), int(last)], "of": list(of), **more} if not more:
            for number in range(first, last + 1):
                yield from _repeated(of, number)
        case _:
            raise _BadRepeat("write 'repeat: [first, last]' and 'of:' with a list")
