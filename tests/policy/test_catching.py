"""Catch what you can name."""

import ast

from tests.policy.sources import modules

MAY_CATCH_ALL = {
    "talekeeper/cli/running.py",  # every error becomes one sentence
    "talekeeper/settle/worker.py",  # a job that fails must not end the loop
    "talekeeper/server/app.py",  # a request that fails must not end the server
}

BROAD = {"Exception", "BaseException"}


def _is_broad(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    return any(isinstance(node, ast.Name) and node.id in BROAD for node in ast.walk(handler.type))


def _goes_on(handler: ast.ExceptHandler) -> bool:
    """Whether the error ends here: cleaning up and raising it again is not catching."""
    last = handler.body[-1]
    return not (isinstance(last, ast.Raise) and last.exc is None)


def test_errors_are_caught_by_name() -> None:
    broad = [
        f"{module.file}:{node.lineno}"
        for module in modules()
        if module.file not in MAY_CATCH_ALL
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ExceptHandler) and _is_broad(node) and _goes_on(node)
    ]
    assert not broad, "a broad except: " + ", ".join(broad)
