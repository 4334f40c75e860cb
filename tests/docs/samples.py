"""The files that the examples in the documentation name, laid out in a folder of a test."""

import json
import shutil
import struct
import zlib
from pathlib import Path

from talekeeper.formats.png_card import replace_png_card
from tests.conftest import ROOT

__all__ = ["lay_out"]

SAMPLES = ROOT / "src" / "talekeeper" / "samples"


def lay_out(folder: Path) -> None:
    """The repository's samples, and a SillyTavern folder with a card, a chat that has a branch, a
    group chat and a lorebook; and what another program wrote."""
    target = folder / "src" / "talekeeper" / "samples"
    target.mkdir(parents=True)
    for file in SAMPLES.glob("*.json*"):
        shutil.copy(file, target)
    user = folder / "SillyTavern" / "data" / "default-user"
    for name in ("characters", "chats/Mira", "group chats", "worlds", "stories"):
        (user / name).mkdir(parents=True)
    card = json.loads((SAMPLES / "mira.json").read_text(encoding="utf-8"))
    (user / "characters" / "Mira.png").write_bytes(replace_png_card(_picture(), card))
    title = "Mira - 2026-05-03@17h42m15s"
    lines = (SAMPLES / "mira-and-anna.jsonl").read_text(encoding="utf-8").split("\n")[:121]
    _write(user / "chats" / "Mira" / f"{title}.jsonl", lines)
    _write(user / "chats" / "Mira" / "Mira - Branch #1.jsonl", _branch(lines, title))
    _write(user / "group chats" / "2026-06-01@10h00m00s.jsonl", _group())
    lamp = {"uid": 0, "key": ["lamp"], "content": "The lamp burns whale oil."}
    _write(user / "worlds" / "lighthouse.json", [json.dumps({"entries": {"0": lamp}})])
    _write(user / "stories" / "storm.json", [json.dumps({"savedsettings": {}})])


def _write(path: Path, lines: list[str]) -> None:
    path.write_bytes("\n".join(lines).encode())


def _branch(lines: list[str], parent: str) -> list[str]:
    header = json.loads(lines[0])
    header["chat_metadata"] |= {"main_chat": parent, "integrity": "a-mark-of-its-own"}
    tail = [_line("Anna", "Let us go down instead."), _line("Mira", "Mind the step, then.")]
    return [json.dumps(header), *lines[1:61], *tail]


def _group() -> list[str]:
    return [
        _line("Mira", "Two of you, then.", original_avatar="Mira.png"),
        _line("Anna", "Tam found the gate open."),
        _line("Tam", "It was.", original_avatar="Tam.png", extra={"mood": "proud"}),
    ]


def _line(name: str, text: str, **more: object) -> str:
    line = {"name": name, "is_user": name == "Anna", "is_system": False, "mes": text}
    return json.dumps({**line, **more})


def _picture() -> bytes:
    """A PNG of one grey pixel."""
    body = zlib.compress(b"\x00\x80")
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)),
        (b"IDAT", body),
        (b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
