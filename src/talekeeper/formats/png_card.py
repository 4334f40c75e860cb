"""Character cards inside PNG pictures: the text chunks ``ccv3`` and ``chara``.

Knows PNG's chunks and the wrapping of the JSON in them, not what the JSON says. Pictures are
never decoded.
"""

import base64
import binascii
import io
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

import png

from talekeeper.domain.errors import UnreadableFile
from talekeeper.domain.limits import LIMITS
from talekeeper.formats.detect import PNG_SIGNATURE, OtherFile
from talekeeper.formats.json_text import dump, encode

__all__ = ["card_chunks", "card_json", "replace_png_card"]

_KEYWORDS: Final = ("ccv3", "chara")
"""In the order of reading: the newer one counts (card specification V3)."""

_MOST_CHUNKS = 20_000  # a picture of 32 MB in the usual 8 KiB pieces has 4,000

_V2: Final = {"spec": "chara_card_v2", "spec_version": "2.0"}
_V3: Final = {"spec": "chara_card_v3", "spec_version": "3.0"}

_ENCRYPTED: Final = b"rcc||"
_NOT_DECRYPTED: Final = (
    "This card is encrypted by RisuAI, which no other program can read: "
    "export it there without encryption."
)

_Chunk = tuple[bytes, bytes]


def card_chunks(data: bytes) -> list[tuple[str, bytes]]:
    """(keyword, value) of each card in a PNG file, the one that counts first.

    All chunks are walked, those after the picture too; keywords are compared without case;
    tEXt, iTXt and zTXt are understood. UnreadableFile: not a sound PNG; OtherFile: no card in it.
    """
    found = [
        card
        for kind, body in _chunks(data)
        if (keyword := _keyword(kind, body)) is not None
        and (card := (keyword, _text_of(kind, body)))
    ]
    if not found:
        raise OtherFile(
            "This PNG picture holds no character card: export the card again, "
            "and send the file itself, since many services strip it from pictures."
        )
    return sorted(found, key=lambda card: _KEYWORDS.index(card[0]))


def card_json(value: bytes) -> bytes:
    """The JSON in a chunk's value: base64 with or without line breaks, padding, URL letters.

    JSON that is not wrapped is taken too. UnreadableFile: neither, or encrypted by RisuAI.
    """
    compact = b"".join(value.split())
    if compact.startswith(b"{"):
        return value
    if compact.startswith(_ENCRYPTED):
        raise UnreadableFile(_NOT_DECRYPTED)
    plain = compact.translate(bytes.maketrans(b"-_", b"+/")).rstrip(b"=")
    try:
        unwrapped = base64.b64decode(plain + b"=" * (-len(plain) % 4), validate=True)
    except binascii.Error:
        raise UnreadableFile(
            "The card in this picture is damaged (its base64 text is wrong): export it again."
        ) from None
    if unwrapped.startswith(_ENCRYPTED):
        raise UnreadableFile(_NOT_DECRYPTED)
    return unwrapped


def replace_png_card(original: bytes, document: Mapping[str, Any]) -> bytes:
    """The picture with ``document`` as its card; all other chunks as they stood, in order.

    ``chara`` holds the document as V2. ``ccv3`` holds the same with the specification's name
    exchanged, as SillyTavern writes it, where the picture had one or the document is V3.
    A V1 document has no such name: it is written to ``chara`` alone. A picture without a card
    gets one before its end.
    """
    chunks = list(_chunks(original))
    rest = original[len(PNG_SIGNATURE) + sum(12 + len(body) for _, body in chunks) :]
    keywords = [_keyword(kind, body) for kind, body in chunks]
    spec = str(document.get("spec", ""))
    as_v2 = {**document, **_V2} if spec not in ("", _V2["spec"]) else document
    cards = [_chunk("chara", as_v2)]
    if spec == _V2["spec"] and "ccv3" in keywords:
        cards.append(_chunk("ccv3", {**document, **_V3}))
    elif spec not in ("", _V2["spec"]):
        cards.append(_chunk("ccv3", document))
    first = next((at for at, found in enumerate(keywords) if found), len(chunks) - 1)
    others = [
        chunk for chunk, found in zip(chunks[first:], keywords[first:], strict=True) if not found
    ]
    out = io.BytesIO()
    png.write_chunks(out, [*chunks[:first], *cards, *others])
    return out.getvalue() + rest


def _chunk(keyword: str, document: Mapping[str, Any]) -> _Chunk:
    return b"tEXt", keyword.encode() + b"\x00" + base64.b64encode(encode(dump(dict(document))))


def _chunks(data: bytes) -> Iterator[_Chunk]:
    """The chunks of a PNG file, checked. UnreadableFile: cut off, damaged, or far too many."""
    if len(data) > LIMITS.card_bytes:
        raise UnreadableFile(
            f"This picture is larger than {LIMITS.card_bytes:,} bytes: make it smaller."
        )
    reader = png.Reader(bytes=data)
    try:
        for count, (kind, body) in enumerate(reader.chunks()):
            if count >= _MOST_CHUNKS:
                raise UnreadableFile(
                    f"This PNG file has more than {_MOST_CHUNKS:,} chunks: "
                    "save the picture anew in an image program."
                )
            yield kind, body
    except png.Error:
        raise UnreadableFile(
            "This PNG file is cut off or damaged: fetch or export it again."
        ) from None


def _keyword(kind: bytes, body: bytes) -> str | None:
    """The card keyword of a text chunk; None for any other chunk."""
    if kind not in (b"tEXt", b"zTXt", b"iTXt"):
        return None
    keyword = body[:80].partition(b"\x00")[0].lower().decode("latin-1")
    return keyword if keyword in _KEYWORDS else None


def _text_of(kind: bytes, body: bytes) -> bytes:
    """The text of a chunk, as bytes (PNG specification, sections 11.3.4.3 to 11.3.4.5)."""
    text = body.partition(b"\x00")[2]
    if kind == b"zTXt":
        return _inflated(text[1:])
    if kind == b"iTXt":
        compressed, text = text[:1] == b"\x01", text[2:]
        text = text.partition(b"\x00")[2].partition(b"\x00")[2]  # language, translated keyword
        return _inflated(text) if compressed else text
    return text


def _inflated(data: bytes) -> bytes:
    """Decompressed, but never to more than a card may be."""
    inflater = zlib.decompressobj()
    try:
        text = inflater.decompress(data, LIMITS.card_bytes)
    except zlib.error:
        raise UnreadableFile(
            "The card in this picture is damaged (its compressed text is wrong): export it again."
        ) from None
    if inflater.unconsumed_tail or not inflater.eof:
        raise UnreadableFile(
            f"The card in this picture is cut off or larger than {LIMITS.card_bytes:,} bytes "
            "when unpacked: export it again."
        )
    return text
