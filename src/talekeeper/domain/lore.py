"""Lorebooks and their entries: texts that are sent when a keyword is mentioned.

A *memory entry* is an entry too: it lives in the one book of kind ``entries`` that each scope has.
Knows nothing of how keywords are found in a text (``text.keys``), or of when an entry fires
(``compose.activation``).
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple

from talekeeper.domain.limits import LIMITS

__all__ = [
    "BookKind",
    "CharacterFilter",
    "Entry",
    "Extra",
    "FiredEntry",
    "Logic",
    "Lorebook",
    "Match",
    "Place",
    "Trigger",
    "Use",
    "UseKind",
]

BookKind = Literal["lorebook", "entries"]
"""A lorebook with a name of its own, or the memory entries of one scope."""

UseKind = Literal["global", "character", "persona", "chat"]
"""What a book is used for: every chat, those of a character or of a persona, or one chat."""

Match = Literal["substring", "word", "regex"]
"""How a key is looked for. ``word`` asks for word borders, where the script has them. A key written
``/pattern/flags`` is a pattern under each of them."""

Logic = Literal["and_any", "and_all", "not_any", "not_all"]
"""What the secondary keys must do besides a key: occur, any or all; or not occur, any or all."""

Place = Literal[
    "before_char",
    "after_char",
    "before_examples",
    "after_examples",
    "note_top",
    "note_bottom",
    "depth",
    "before_input",
    "outlet",
]
"""Where the text goes: around the character's description, its example dialogues or the author's
note, ``depth`` messages above the end, just before the current input, or where a macro
``{{outlet::name}}`` stands."""

Trigger = Literal["normal", "continue", "impersonate", "swipe", "regenerate", "quiet"]
"""What kind of reply is asked for."""

Extra = Literal[
    "persona", "description", "personality", "depth_prompt", "scenario", "creator_notes"
]
"""A text that is searched for keys besides the conversation."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CharacterFilter:
    """The characters for which an entry can fire, or (``exclude``) cannot; by name or by tag."""

    names: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    exclude: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One entry. The texts are raw: macros and decorators (``@@name`` lines) are kept.

    ``id`` is its number in the book, never reused. Of several, ``order`` says which comes later in
    the prompt (the higher); ``priority`` which gives way first where the book's own budget is full
    (the lower; ``order`` where it is None). ``scan_depth`` is how many messages are searched, the
    book's where None. ``probability`` is in percent. ``sticky``, ``cooldown`` and ``delay`` count
    messages: how long it stays once fired, how long it rests after that, how many there must be
    before. Of one of the ``groups`` only one entry fires. ``delay_until_recursion`` is the level
    of recursion at which it can fire first, 0 for the conversation itself. ``triggers`` are the
    kinds of replies for which it can fire, none meaning all.
    """

    id: int
    content: str
    keys: tuple[str, ...] = ()
    secondary: tuple[str, ...] = ()
    logic: Logic = "and_any"
    title: str = ""
    enabled: bool = True
    constant: bool = False
    match: Match = "substring"
    case_sensitive: bool = False
    order: int = 100
    priority: int | None = None
    place: Place = "before_input"
    depth: int = 4
    role: str = "system"
    outlet: str = ""
    probability: int = 100
    scan_depth: int | None = None
    extras: tuple[Extra, ...] = ()
    exclude_recursion: bool = False
    prevent_recursion: bool = False
    delay_until_recursion: int = 0
    sticky: int = 0
    cooldown: int = 0
    delay: int = 0
    groups: tuple[str, ...] = ()
    group_override: bool = False
    group_weight: int = 100
    group_scoring: bool = False
    characters: CharacterFilter | None = None
    triggers: tuple[Trigger, ...] = ()
    ignore_budget: bool = False


class FiredEntry(NamedTuple):
    """An entry that fired: the ids of its book and its own, and a digest of what it said."""

    book: str
    entry: int
    digest: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Use:
    """One use of a book. ``target`` is the id of the character, persona or chat; None if global."""

    kind: UseKind
    target: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Lorebook:
    """A book without its entries, which may be thousands.

    ``scan_depth`` is how many of the newest messages are searched, the current input included;
    ``token_budget`` what its entries may take together, None for no bound of its own. With
    ``recursive`` what fires is searched for keys of further entries. With ``names`` the messages
    are searched as "Name: text". ``version`` grows with each change of the book or an entry.
    """

    id: str
    name: str
    kind: BookKind = "lorebook"
    description: str = ""
    scan_depth: int = LIMITS.scan_depth
    token_budget: int | None = None
    recursive: bool = False
    names: bool = False
    uses: tuple[Use, ...] = ()
    entries: int = 0
    version: int = 1
    created_at: datetime | None = field(default=None)
