"""Macros in card and prompt texts: ``{{char}}``, ``{{random:a,b}}``, ``<USER>`` and the like.

Texts are stored as they were written and expanded when they are read. The spellings are those of
the card specifications V1 to V3 and of SillyTavern. This module does not know where its values
come from, what time it is, or which field a text belongs to: all that is in :class:`MacroValues`.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import shake_128
from struct import unpack

from talekeeper.domain.limits import LIMITS
from talekeeper.text.graphemes import reversed_text

__all__ = ["MacroValues", "expand", "expand_names", "has_macros"]


@dataclass(frozen=True, kw_only=True, slots=True)
class MacroValues:
    """What the macros of a text stand for.

    ``char`` is the name that is spoken: the nickname where the card has one. ``group`` holds the
    names of the members of a group chat, none elsewhere. ``original`` is the text that a card's
    prompt replaces. ``now`` is the user's local time; without it the macros of date and time are
    empty. ``seed`` decides what ``random``, ``pick`` and ``roll`` come to: as long as it stays,
    so do they.
    """

    char: str
    user: str = "User"
    persona: str = ""
    description: str = ""
    personality: str = ""
    scenario: str = ""
    examples: str = ""
    group: tuple[str, ...] = ()
    original: str = ""
    now: datetime | None = None
    last_message: str = ""
    seed: str = ""


_NAMES = ("user", "bot", "char", "charifnotgroup", "group")
_TEXTS = {
    "persona": "persona",
    "description": "description",
    "personality": "personality",
    "scenario": "scenario",
    "mesexamples": "examples",
    "original": "original",
    "lastmessage": "last_message",
}
"""Macros that stand for a text which may hold macros itself, with the field that has it."""

_TIMES = ("time", "date", "weekday", "isotime", "isodate")
_PLAIN = ("newline", "noop", "trim", *(name for name in _NAMES if name != "bot"), *_TEXTS, *_TIMES)
_CALLS = ("random", "pick", "roll", "reverse", "comment", "hidden_key")

_KNOWN = (
    rf"\{{\{{(?!\{{)\s*+(?:(?P<plain>{'|'.join(_PLAIN)})\s*+\}}\}}"
    rf"|(?P<call>{'|'.join(_CALLS)})\s*+::?|(?P<roll>roll)\s++|(?P<note>//))"
    rf"|<(?P<tag>{'|'.join(_NAMES)})>"
)
# Of a run of braces the last two open a macro: in `{{{user}}}` the name stands in braces.
_BRACES = r"(?P<braces>\{+(?=\{\{(?!\{)))|(?P<open>\{\{)|(?P<close>\}\})"
_FLAGS = re.IGNORECASE | re.ASCII
_TOKEN = re.compile(f"{_KNOWN}|{_BRACES}", _FLAGS)
_ANY = re.compile(_KNOWN, _FLAGS)
_NAMED = re.compile(
    rf"\{{\{{(?!\{{)\s*+(?P<plain>{'|'.join(n for n in _NAMES if n != 'bot')})\s*+\}}\}}"
    rf"|<(?P<tag>{'|'.join(_NAMES)})>",
    _FLAGS,
)

_NESTED_CALLS = 4
"""Calls within calls (``{{reverse:{{random:…}}}}``) that are expanded; deeper ones stay as they
are. Each level passes over the text inside once more, so the number must be bounded."""

_NESTED_TEXTS = 2
"""A text may name a text (``{{description}}``) that names another; what that one names is empty."""

_COLONS, _COMMA = re.compile("::"), re.compile(r"(?<!\\),")

_MOST_DICE = 100
_DICE = re.compile(r"\s*+(?:(\d{0,3})d)?(\d{1,9})\s*+(?:([+-])\s*+(\d{1,9})\s*+)?", _FLAGS)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)


def has_macros(text: str) -> bool:
    """Whether there may be something to expand. False means that ``expand`` changes nothing."""
    return ("{{" in text or "<" in text) and _ANY.search(text) is not None


def expand(text: str, values: MacroValues) -> str:
    """The text with its macros replaced, in any case of letters. The same in, the same out.

    Unknown macros and unclosed ones stay as they are, and so do calls within more than
    ``_NESTED_CALLS`` others. Macros in the arguments of others are expanded first. The texts that
    are put in (a persona that says ``{{user}}``) are expanded as well, but a text inside itself is
    empty, and so is what a text two levels down names; names are put in as they are.
    ``{{original}}`` works once, the second is empty. ``random`` and ``roll`` are decided by the
    seed and where in the text they stand; ``pick`` by the seed and its options, so that edits
    elsewhere do not change it.

    All that is put in has together at most ``LIMITS.message_characters`` characters; what would
    go beyond is left out. Takes time linear in the lengths of the text and of what is put in.
    """
    if "{{" not in text and "<" not in text:
        return text
    return _Expansion(values).expand(text, "", ())


def expand_names(text: str, values: MacroValues, *, most: int) -> str:
    """The text with the macros that stand for names replaced, as ``expand`` does it; all others
    stay as they are.

    What is put in has together at most ``most`` characters; what would go beyond stays unexpanded.
    """
    if "{{" not in text and "<" not in text:
        return text
    names = {
        "user": values.user,
        "char": values.char,
        "bot": values.char,
        "group": ", ".join(values.group) or values.char,
    }
    names["charifnotgroup"] = names["group"]
    room = most

    def name(found: re.Match[str]) -> str:
        nonlocal room
        put = names[(found["plain"] or found["tag"]).lower()]
        if len(put) > room:
            return found[0]
        room -= len(put)
        return put

    return _NAMED.sub(name, text)


class _Put(str):
    """A piece that was put in. As data it is not searched for the commas of a list."""

    __slots__ = ()


_TRIM = _Put()
"""Stands in the pieces where ``{{trim}}`` was; told from other empty pieces by identity."""


@dataclass(slots=True)
class _Frame:
    """The text being read, or a call in it whose end has not come yet."""

    head: str = ""
    name: str = ""
    place: str = ""
    pieces: list[str] = field(default_factory=list)
    unknown: int = 0  # macros that are open in here and that nobody knows


class _Expansion:
    """One call of ``expand``: what of its values and its room is used up."""

    def __init__(self, values: MacroValues) -> None:
        self._values = values
        self._room = LIMITS.message_characters
        self._original_used = False
        self._picks = Counter[str]()

    def expand(self, text: str, place: str, inside: tuple[str, ...]) -> str:
        """``place`` says where the text stands, ``inside`` which texts it stands in."""
        frames = [_Frame()]
        done = 0
        for token in _TOKEN.finditer(text):
            kind, frame = token.lastgroup or "", frames[-1]
            if kind in ("call", "roll", "note") and len(frames) > _NESTED_CALLS:
                kind = "open"
            if kind == "braces":
                frame.unknown += len(token[0]) // 2
            elif kind == "open":
                frame.unknown += 1
            elif kind == "close" and (frame.unknown or len(frames) == 1):
                frame.unknown = max(0, frame.unknown - 1)
            else:
                frame.pieces.append(text[done : token.start()])
                done = token.end()
                here = f"{place}/{token.start()}"
                if kind == "close":
                    frames.pop()
                    frames[-1].pieces.append(self._called(frame))
                elif kind in ("plain", "tag"):
                    frame.pieces.append(self._plain(token[kind].lower(), here, inside))
                else:
                    frames.append(_Frame(token[0], token[kind].lower(), here))
        frames[-1].pieces.append(text[done:])
        while len(frames) > 1:
            unclosed = frames.pop()
            frames[-1].pieces += [unclosed.head, *unclosed.pieces]
        return _joined(frames[0].pieces)

    def _plain(self, name: str, place: str, inside: tuple[str, ...]) -> _Put:
        """What a macro without arguments stands for."""
        values = self._values
        if name == "trim":
            return _TRIM
        if name in _TEXTS:
            return self._text(name, place, inside)
        if name in _TIMES:
            return _Put(_moment(name, values.now) if values.now else "")
        if name == "user":
            return self._put(values.user)
        if name in ("char", "bot"):
            return self._put(values.char)
        if name in ("charifnotgroup", "group"):
            return self._put(", ".join(values.group) or values.char)
        return _Put("\n" if name == "newline" else "")

    def _text(self, name: str, place: str, inside: tuple[str, ...]) -> _Put:
        if name in inside or len(inside) == _NESTED_TEXTS:
            return _Put()
        if name == "original":
            if self._original_used:
                return _Put()
            self._original_used = True
        # Room is taken for the text as it is written, so that reading it is paid for too.
        text = self._put(getattr(self._values, _TEXTS[name]))
        return _Put(self.expand(text, f"{place}/{name}", (*inside, name)))

    def _put(self, text: str) -> _Put:
        """The text, while there is room for it."""
        if len(text) > self._room:
            return _Put()
        self._room -= len(text)
        return _Put(text)

    def _called(self, frame: _Frame) -> _Put:
        """What a macro with arguments comes to, now that it is closed."""
        if frame.name == "random":
            return self._chosen(frame.pieces, "random", frame.place)
        if frame.name == "pick":
            # Stable per place: not by position, which any edit further up would shift.
            written = "".join(frame.pieces)
            self._picks[written] += 1
            return self._chosen(frame.pieces, "pick", f"{self._picks[written]}:{written}")
        if frame.name == "roll":
            return _Put(self._rolled(_joined(frame.pieces), frame.place))
        if frame.name == "reverse":
            return _Put(reversed_text(_joined(frame.pieces)))
        return _Put()  # notes, comments and hidden keys are for the author, or for lore

    def _chosen(self, pieces: Sequence[str], name: str, place: str) -> _Put:
        options, divider = _options(pieces)
        (number,) = self._drawn(name, place)
        chosen = options[number % len(options)]
        if divider is _COLONS:
            return _Put(_joined(chosen))
        # A comma that divides nothing is written with a backslash; what was put in has none.
        chosen = [p if isinstance(p, _Put) else p.replace("\\,", ",") for p in chosen]
        return _Put(_joined(chosen).strip())

    def _rolled(self, formula: str, place: str) -> str:
        """``6``, ``d6`` or ``2d6+1``; empty for no formula and for more than ``_MOST_DICE``."""
        dice = _DICE.fullmatch(formula)
        if dice is None:
            return ""
        count, sides = int(dice[1] or 1), int(dice[2])
        if not 1 <= count <= _MOST_DICE or sides < 1:
            return ""
        total = sum(1 + number % sides for number in self._drawn("roll", place, count))
        return str(total + int(f"{dice[3] or ''}{dice[4] or 0}"))

    def _drawn(self, name: str, place: str, count: int = 1) -> tuple[int, ...]:
        """Numbers of 64 bits, decided by the seed, the macro and its place alone."""
        key = "\x00".join((self._values.seed, name, place)).encode("utf-8", "surrogatepass")
        return unpack(f"<{count}Q", shake_128(key).digest(8 * count))


def _joined(pieces: Sequence[str]) -> str:
    """The pieces as one text; each trim takes away the line ends on both of its sides."""
    if not any(piece is _TRIM for piece in pieces):
        return "".join(pieces)
    parts: list[list[str]] = [[]]
    for piece in pieces:
        if piece is _TRIM:
            parts.append([])
        else:
            parts[-1].append(piece)
    first, *others = map("".join, parts)
    *middle, last = others
    return "".join(
        (first.rstrip("\r\n"), *(part.strip("\r\n") for part in middle), last.lstrip("\r\n"))
    )


def _options(pieces: Sequence[str]) -> tuple[list[list[str]], re.Pattern[str]]:
    """The options of a list, each in pieces, and what divides them: colons where there are any."""
    written = [piece for piece in pieces if not isinstance(piece, _Put)]
    divider = _COLONS if any("::" in piece for piece in written) else _COMMA
    options: list[list[str]] = [[]]
    for piece in pieces:
        first, *others = [piece] if isinstance(piece, _Put) else divider.split(piece)
        options[-1].append(first)
        options.extend([other] for other in others)
    return options, divider


def _moment(name: str, now: datetime) -> str:
    """Date and time in English, whatever the locale of the process."""
    if name == "isodate":
        return f"{now:%Y-%m-%d}"
    if name == "isotime":
        return f"{now:%H:%M}"
    if name == "weekday":
        return _WEEKDAYS[now.weekday()]
    if name == "date":
        return f"{_MONTHS[now.month - 1]} {now.day}, {now.year}"
    return f"{now.hour % 12 or 12}:{now.minute:02} {'AM' if now.hour < 12 else 'PM'}"
