"""Chats for benchmarks as SillyTavern files: written by a seeded generator, or from real data.

``python -m benchmarks.data --crd3 C1E001 --out FILE`` and ``--locomo 0 --out FILE`` turn real
conversations into chat files. They are looked for in ``../shared/data`` beside the repository; what
is not there is passed over with a reason.
"""

import argparse
import gzip
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO
from uuid import NAMESPACE_OID, uuid5

from benchmarks.text import Writer
from talekeeper import Keeper

__all__ = [
    "REAL_DATA",
    "ChatSpec",
    "Missing",
    "Turn",
    "chat_lines",
    "crd3",
    "imported",
    "locomo",
    "write_chat",
    "write_turns",
]

REAL_DATA = Path(__file__).parents[2] / "shared" / "data"
"""Where the data sets lie when they are there."""

_START = datetime(2025, 1, 6, 18, 30, tzinfo=UTC)


class Missing(Exception):
    """Real data that is not on this machine, or not what was asked for; the text says which."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatSpec:
    """A chat to be generated.

    ``user_tokens`` and ``reply_tokens`` are the mean sizes of the two kinds of messages; ``swipes``
    tells how often a reply has how many (weights). ``excluded`` tells by index which messages the
    user keeps out of prompts.
    """

    name: str
    messages: int
    user_tokens: int = 60
    reply_tokens: int = 140
    swipes: Mapping[int, int] | None = None
    characters: Sequence[str] = ("Mira",)
    excluded: Callable[[int], bool] | None = None
    seed: int = 7


def write_chat(path: Path, spec: ChatSpec, *, most_bytes: int | None = None) -> int:
    """Write a generated chat; answers how many messages. Stops at ``most_bytes`` if given."""
    written = 0
    with path.open("wb") as out:
        for count, line in enumerate(chat_lines(spec)):  # the first line is the header
            written += out.write(line + b"\n")
            if most_bytes is not None and written >= most_bytes:
                return count
    return count


def chat_lines(spec: ChatSpec) -> Iterator[bytes]:
    """The lines of a generated chat, header first, without line ends."""
    # Chats of other lengths must not begin alike: an import would take one for a branch.
    writer = Writer(spec.seed << 32 | spec.messages)
    group = len(spec.characters) > 1
    yield _encoded(_header(spec.name))
    for index in range(spec.messages):
        hidden = bool(spec.excluded and spec.excluded(index))
        sent = _START + timedelta(seconds=40 * index)
        if index % 2 == 0:
            text = writer.text(spec.user_tokens)
            yield _encoded(_user_line("Anna", text, sent, hidden))
            continue
        character = spec.characters[index // 2 % len(spec.characters)]
        count = writer.choice(spec.swipes) if spec.swipes else 1
        texts = [writer.text(spec.reply_tokens) for _ in range(count)]
        active = writer.choice(dict.fromkeys(range(count), 1))
        line = _reply_line(character, texts, active, sent, hidden)
        if group:
            line["original_avatar"] = f"{character}.png"
        yield _encoded(line)


def _encoded(line: Mapping[str, Any]) -> bytes:
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode()


def _stamp(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _header(name: str) -> dict[str, Any]:
    integrity = str(uuid5(NAMESPACE_OID, name))
    return {
        "chat_metadata": {"integrity": integrity, "note_prompt": "", "tainted": True},
        "user_name": "unused",
        "character_name": "unused",
    }


def _user_line(name: str, text: str, sent: datetime, hidden: bool) -> dict[str, Any]:
    return {
        "name": name,
        "is_user": True,
        "is_system": hidden,
        "send_date": _stamp(sent),
        "mes": text,
        "extra": {"isSmallSys": False},
        "force_avatar": "User Avatars/anna.png",
    }


def _reply_line(
    name: str, texts: Sequence[str], active: int, sent: datetime, hidden: bool
) -> dict[str, Any]:
    """A character's line as SillyTavern 1.15 writes it: each swipe with its own account."""
    infos = [
        {
            "send_date": _stamp(sent + timedelta(seconds=at)),
            "gen_started": _stamp(sent - timedelta(seconds=9)),
            "gen_finished": _stamp(sent),
            "extra": {"api": "custom", "model": "some-model-12b", "token_count": len(text) // 4},
        }
        for at, text in enumerate(texts)
    ]
    return {
        "extra": infos[active]["extra"],
        "name": name,
        "is_user": False,
        "is_system": hidden,
        "send_date": infos[active]["send_date"],
        "mes": texts[active],
        "gen_started": infos[active]["gen_started"],
        "gen_finished": infos[active]["gen_finished"],
        "swipe_id": active,
        "swipes": texts,
        "swipe_info": infos,
    }


async def imported(keeper: Keeper, folder: Path, spec: ChatSpec) -> str:
    """The id of the chat of that name in the keeper's database; imported when it is not there."""
    for chat in await keeper.chats.list():
        if chat.title == spec.name:
            return chat.id
    path = folder / f"{spec.name}.jsonl"
    if not path.exists():
        write_chat(path, spec)
    report = await keeper.files.import_file(path)
    assert report.outcome == "new"
    assert report.id is not None
    return report.id


@dataclass(frozen=True, slots=True)
class Turn:
    """One utterance of a real conversation."""

    speaker: str
    text: str
    sent_at: datetime | None = None


def crd3(episode: str) -> list[Turn]:
    """The turns of one CRD3 episode (spoken role-play). Raises Missing."""
    path = _found("crd3", "crd3.jsonl.gz")
    names: list[str] = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            entry = json.loads(line)
            if entry["episode"] == episode:
                return [Turn(speaker.title(), text) for _, speaker, text in entry["turns"]]
            names.append(entry["episode"])
    raise Missing(f"CRD3 has no episode {episode!r}; it has {names[0]} to {names[-1]}.")


def locomo(index: int) -> list[Turn]:
    """The turns of all sessions of one LoCoMo conversation. Raises Missing."""
    path = _found("locomo", "locomo10.json")
    conversations = json.loads(path.read_text(encoding="utf-8"))
    if not 0 <= index < len(conversations):
        raise Missing(f"LoCoMo has the conversations 0 to {len(conversations) - 1}.")
    talk = conversations[index]["conversation"]
    turns: list[Turn] = []
    number = 1
    while session := talk.get(f"session_{number}"):
        begun = datetime.strptime(talk[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y")
        moment = begun.replace(tzinfo=UTC)
        turns += (
            Turn(said["speaker"], said["text"], moment + timedelta(minutes=at))
            for at, said in enumerate(session)
        )
        number += 1
    return turns


def _found(*place: str) -> Path:
    path = REAL_DATA.joinpath(*place)
    if not path.is_file():
        raise Missing(f"{path.name} is not there: put it into {'/'.join(place[:-1])} of the data.")
    return path


def write_turns(out: BinaryIO, turns: Iterable[Turn], *, user: str | None = None) -> int:
    """Write a real conversation as a SillyTavern file; answers how many messages.

    ``user`` is the speaker the person plays, by default the one who speaks most often. With more
    than two speakers it is a group chat. Raises Missing for a speaker who says nothing.
    """
    turns = [turn for turn in turns if turn.text.strip()]
    voices = Counter(turn.speaker for turn in turns)
    user = user or voices.most_common(1)[0][0]
    if user not in voices:
        raise Missing(f"{user!r} says nothing; the speakers are {', '.join(voices)}.")
    out.write(_encoded(_header("".join(turn.text for turn in turns))))
    for at, turn in enumerate(turns):
        sent = turn.sent_at or _START + timedelta(seconds=20 * at)
        if turn.speaker == user:
            line = _user_line(user, turn.text, sent, False)
        else:
            line = _reply_line(turn.speaker, [turn.text], 0, sent, False)
            if len(voices) > 2:
                line["original_avatar"] = f"{turn.speaker}.png"
        out.write(b"\n" + _encoded(line))
    return len(turns)


def main() -> int:
    """The command line: one real conversation into one file."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.data", description=__doc__)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--crd3", metavar="EPISODE", help="an episode of CRD3, as C1E001")
    which.add_argument("--locomo", metavar="N", type=int, help="a conversation of LoCoMo, from 0")
    parser.add_argument("--user", metavar="NAME", help="who the person plays")
    parser.add_argument("--out", metavar="FILE", type=Path, required=True)
    given = parser.parse_args()
    try:
        turns = crd3(given.crd3) if given.crd3 else locomo(given.locomo)
        out = BytesIO()
        count = write_turns(out, turns, user=given.user)
        given.out.write_bytes(out.getvalue())
    except (Missing, OSError) as error:
        sys.stderr.write(f"Error: {error}\n")
        return 1
    print(f"Wrote {given.out}: {count:,} messages.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
