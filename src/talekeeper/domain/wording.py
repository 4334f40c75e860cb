"""What is wrong with a value, in plain words instead of a validator's own.

Knows pydantic's kinds of errors, not which setting or option they are about.
"""

from pydantic import ValidationError

__all__ = ["wrong"]

_WORDS = {
    "less_than_equal": "must be at most {le}",
    "greater_than_equal": "must be at least {ge}",
    "finite_number": "must be a number",
    "string_type": "must be a text",
    "string_too_short": "must not be empty",
    "literal_error": "must be {expected}",
    "extra_forbidden": "is not known",
}
_KINDS = {
    "int": "must be a whole number",
    "float": "must be a number",
    "bool": "must be true or false",
    "model": "must be an object",
}


def wrong(error: ValidationError) -> str:
    """What is wrong with the first wrong value: the end of a sentence that begins with its name."""
    first = error.errors()[0]
    kind = first["type"]
    words = _WORDS.get(kind) or _KINDS.get(kind.partition("_")[0])
    if words is None:
        return f"cannot be used: {first['msg'].removeprefix('Value error, ')}"
    return words.format(**{name: _said(value) for name, value in first.get("ctx", {}).items()})


def _said(value: object) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:g}" if isinstance(value, float) else str(value)
