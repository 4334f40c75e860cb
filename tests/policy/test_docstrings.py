"""Everything public says what it means."""

import ast
from collections.abc import Iterator

from tests.policy.sources import Definition, Module, definitions, modules

SAID_ELSEWHERE = {"process_bind_param", "process_result_value"}
"""Methods that a library asks for and describes: SQLAlchemy's column types."""


def _is_protocol(node: Definition) -> bool:
    return isinstance(node, ast.ClassDef) and any(
        isinstance(base, ast.Name) and base.id == "Protocol" for base in node.bases
    )


def _promised() -> frozenset[str]:
    """Names of the methods that protocols describe: who implements one need not say it again."""
    return frozenset(
        child.name
        for module in modules()
        for _, node in definitions(module.tree)
        if _is_protocol(node)
        for child in node.body
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def _public(module: Module) -> Iterator[tuple[str, Definition]]:
    """What must have a docstring: all that is public, and does not implement what is described."""
    said = _promised() | SAID_ELSEWHERE
    found = list(definitions(module.tree))
    protocols = {name for name, node in found if _is_protocol(node)}
    for name, node in found:
        owner, _, short = name.rpartition(".")
        if owner and owner not in protocols and short in said:
            continue
        if not any(part.startswith("_") for part in name.split(".")):
            yield name, node


def test_modules_have_docstrings() -> None:
    missing = [module.file for module in modules() if not ast.get_docstring(module.tree)]
    assert not missing


def test_public_classes_and_functions_have_docstrings() -> None:
    missing = [
        f"{module.file}:{node.lineno} {name}"
        for module in modules()
        if ".migrations" not in module.name
        for name, node in _public(module)
        if not ast.get_docstring(node)
    ]
    assert not missing, "without a docstring:\n" + "\n".join(missing)
