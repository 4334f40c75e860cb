"""Read a character card: PNG or JSON, specifications V1, V2 and V3.

Knows how real cards differ from their specifications; knows no store and expands no macro.
"""

from collections.abc import Mapping
from typing import Any

from talekeeper.domain.errors import UnreadableFile
from talekeeper.domain.limits import LIMITS
from talekeeper.formats.card_fields import V1_FIELDS, Reading, card_of, unknown_in
from talekeeper.formats.detect import HEAD_BYTES, OtherFile, sniff
from talekeeper.formats.imported import CardFormat, ImportedCard
from talekeeper.formats.json_text import load_object
from talekeeper.formats.png_card import card_chunks, card_json

__all__ = ["read_card"]

_WHAT = "This card"

_NEWEST = 3.0

_TELLING = frozenset(V1_FIELDS) - {"name", "description"}


def read_card(data: bytes) -> ImportedCard:
    """The character card in a file's bytes.

    What is missing, null or of another type is read as well as it can be, with a notice that
    names the field. UnreadableFile: a card without a name, an encrypted or damaged one, or one
    over a limit; OtherFile: no card.
    """
    if len(data) > LIMITS.card_bytes:
        raise UnreadableFile(
            f"This file is larger than {LIMITS.card_bytes:,} bytes, which no card should be: "
            "make its picture smaller."
        )
    reading = Reading()
    match sniff(data[:HEAD_BYTES]):
        case "card_png":
            document = _document_in_png(data, reading)
        case "card_json":
            document = _document(data, reading)
        case "lorebook":
            raise UnreadableFile("This file is a lorebook, not a character card: import it as one.")
        case "chat_jsonl":
            raise UnreadableFile("This file is a chat, not a character card: import it as a chat.")
    card_format = _format_of(document, reading)
    card = card_of(document, reading)
    if not card.name.strip():
        raise UnreadableFile("This card has no name: give it one in its field 'name'.")
    return ImportedCard(
        format=card_format,
        card=card,
        document=document,
        notices=tuple(reading.notices),
        unknown=unknown_in(document),
    )


def _document_in_png(data: bytes, reading: Reading) -> dict[str, Any]:
    """The card that counts; where it is damaged, the next one in the same picture."""
    cards = card_chunks(data)
    for at, (keyword, value) in enumerate(cards):
        try:
            return _document(card_json(value), reading)
        except UnreadableFile:
            if at == len(cards) - 1:
                raise
            reading.note(f"The card under {keyword!r} is damaged; the next one is read.", keyword)
    raise UnreadableFile("This PNG picture holds no character card: export the card again.")


def _document(data: bytes, reading: Reading) -> dict[str, Any]:
    document, cleaned = load_object(data, what=_WHAT)
    for path in cleaned:
        reading.note("Holds NUL or half letters; each was replaced by U+FFFD.", path)
    return document


def _format_of(document: Mapping[str, Any], reading: Reading) -> CardFormat:
    """The version, by ``spec``, then by shape. OtherFile says why it is none."""
    has_data = isinstance(document.get("data"), Mapping)
    spec = document.get("spec")
    if isinstance(spec, str) and spec.startswith("chara_card"):
        return _format_by_spec(document, spec, has_data, reading)
    if has_data and ("first_mes" in document["data"] or _has_v1_shape(document)):
        reading.note("The specification's name is missing; read as a V2 card.", "spec")
        return "v2"
    if has_data:
        raise OtherFile(
            "This card does not name its specification: "
            "add the field 'spec' with the value 'chara_card_v2'."
        )
    if _has_v1_shape(document):
        return "v1"
    raise OtherFile(
        "This file is JSON, but no character card: a card has a name and "
        "a personality, a scenario, a first message or examples."
    )


def _format_by_spec(
    document: Mapping[str, Any], spec: str, has_data: bool, reading: Reading
) -> CardFormat:
    if not has_data:
        if not _has_v1_shape(document):
            raise UnreadableFile("This card has no content: its field 'data' is missing.")
        reading.note("The field 'data' is missing; read as a V1 card.", "data")
        return "v1"
    if spec in ("chara_card_v2", "chara_card_v1"):
        return "v2"
    version = _version(document.get("spec_version"))
    if spec != "chara_card_v3" or version > _NEWEST:
        reading.note(
            "Made for a newer specification than V3; what is new in it is kept, not used.",
            "spec" if spec != "chara_card_v3" else "spec_version",
        )
    return "v3"


def _version(value: object) -> float:
    """The version as a number (V3 compares it so); what is none counts as V3's own."""
    try:
        return float(value) if isinstance(value, (str, int, float)) else _NEWEST
    except ValueError:
        return _NEWEST


def _has_v1_shape(document: Mapping[str, Any]) -> bool:
    """Many a JSON file has a name and a description; a card has more."""
    if isinstance(document.get("char_name"), str):
        return True
    return "name" in document and not document.keys().isdisjoint(_TELLING)
