"""A changed card back into its JSON: only the changed fields, all else as it stood.

Knows nothing of pictures: ``png_card.replace_png_card`` puts the document back into one.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from talekeeper.domain.character import Card, DepthPrompt
from talekeeper.formats.card_fields import (
    DATA_FIELDS,
    V1_FIELDS,
    Reading,
    card_of,
    twin_of,
)
from talekeeper.formats.json_splice import spliced
from talekeeper.formats.json_text import BOM, decode_utf8, dump, encode, load_object

__all__ = ["changed_document", "write_card_json"]

_INDENT = 4  # as SillyTavern exports cards


def changed_document(document: Mapping[str, Any], card: Card) -> dict[str, Any]:
    """``document`` with those fields replaced in which ``card`` differs from it.

    Fields of V2 and V3 are replaced in ``data``, and in their V1 twins where there are any.
    Key order and unknown fields stay. A V1 document that gets a field V1 does not have becomes
    V2 with V1 twins, as SillyTavern writes it. An empty document becomes a new card: V2, or V3
    where the card has a nickname. ``book_entries`` is a count and writes nothing.
    """
    if not document:
        return _new_document(card)
    old = card_of(document, Reading())
    values = {
        name: _json_value(getattr(card, name))
        for name in DATA_FIELDS
        if getattr(card, name) != getattr(old, name)
    }
    twins = {key: value for name, value in values.items() if (key := twin_of(document, name))}
    changed = {**document, **twins}
    new_prompt = card.depth_prompt != old.depth_prompt
    data = document.get("data")
    if isinstance(data, Mapping):
        changed["data"] = {**data, **values}
        if new_prompt:
            extensions = _with_depth_prompt(data.get("extensions"), card.depth_prompt)
            changed["data"]["extensions"] = extensions
        return changed
    missing = {name for name in values if twin_of(document, name) is None}
    changed |= {name: values[name] for name in V1_FIELDS if name in missing}
    if new_prompt or not missing <= set(V1_FIELDS):
        changed |= {"spec": "chara_card_v2", "spec_version": "2.0", "data": _new_data(card)}
    return changed


def write_card_json(
    document: Mapping[str, Any], card: Card, original: bytes | None = None
) -> bytes:
    """A JSON file of ``document`` with the changes that ``card`` makes to it.

    ``original`` is the JSON file the document came from: it comes back byte for byte where
    nothing changed, and with only the changed values replaced where something did. Without it
    the whole document is written, indented. UnreadableFile: ``original`` is no JSON object.
    """
    changed = changed_document(document, card)
    if original is None:
        return encode(dump(changed, indent=_INDENT))
    old, _ = load_object(original, what="The original card")
    text = decode_utf8(original, what="The original card")
    mark = BOM if original.startswith(BOM) else b""
    return mark + encode(spliced(text, old, changed))


def _json_value(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _with_depth_prompt(extensions: object, prompt: DepthPrompt | None) -> dict[str, Any]:
    changed = dict(extensions) if isinstance(extensions, Mapping) else {}
    before = changed.get("depth_prompt")
    kept = dict(before) if isinstance(before, Mapping) else {}
    if prompt is None:
        kept["prompt"] = ""
    else:
        kept |= {"prompt": prompt.text, "depth": prompt.depth, "role": prompt.role}
    changed["depth_prompt"] = kept
    return changed


def _new_document(card: Card) -> dict[str, Any]:
    version = "3" if card.nickname else "2"
    data = _new_data(card)
    if card.nickname:
        data["group_only_greetings"] = []  # V3 requires it, though it may be empty
    return {"spec": f"chara_card_v{version}", "spec_version": f"{version}.0", "data": data}


def _new_data(card: Card) -> dict[str, Any]:
    values = asdict(card)
    data = {name: _json_value(values[name]) for name in DATA_FIELDS if name != "nickname"}
    if card.nickname:
        data["nickname"] = card.nickname
    data["extensions"] = (
        _with_depth_prompt({}, card.depth_prompt) if card.depth_prompt is not None else {}
    )
    return data
