"""What a prompt carries of lorebooks and memory entries: those whose keywords were mentioned."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import get_args

from talekeeper.compose.activation import activate
from talekeeper.compose.memory_lines import counted
from talekeeper.compose.request import Request
from talekeeper.compose.scene import Activation, Fired, Scene
from talekeeper.compose.voice import Voice
from talekeeper.domain.block import Block, Reason, Row
from talekeeper.domain.chat import LiveMessage
from talekeeper.domain.limits import LIMITS
from talekeeper.domain.lore import Extra, FiredEntry, Lorebook, Place, Trigger

__all__ = ["Lore", "lore", "woven"]

_SEPARATOR_TOKENS = 2
_HEAD: frozenset[Place] = frozenset(
    {"before_char", "after_char", "before_examples", "after_examples"}
)
_BOOK = "book"
"""The note of a row for which its book's own budget had no room."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Lore:
    """The blocks by their places, each in the order in which it is sent, and rows for what stays
    out. ``fired`` are all that fired."""

    blocks: Mapping[Place, Sequence[Block]] = field(default_factory=dict)
    rows: Sequence[Row] = ()
    fired: Sequence[Fired] = ()
    notes: Sequence[str] = ()

    @property
    def begun(self) -> tuple[FiredEntry, ...]:
        """The entries that fired anew."""
        anew = (one for one in self.fired if one.why != "sticky")
        return tuple(FiredEntry(one.book, one.entry.id, one.digest) for one in anew)

    def at(self, *places: Place) -> list[Block]:
        """The blocks of some places."""
        return [block for place in places for block in self.blocks.get(place, ())]


def lore(voice: Voice, request: Request, lines: Sequence[LiveMessage]) -> Lore:
    """What fires. ``lines`` are the newest messages, the input among them, oldest first."""
    material = voice.material
    if not material.books:
        return Lore()
    found = activate(material.books, _scene(voice, request, lines))
    books = {book.book.id: book.book for book in material.books}
    blocks: dict[Place, list[Block]] = {}
    rows: list[Row] = []
    ranked = sorted(found.fired, key=lambda one: (-one.relevance, -one.entry.order))
    rank = {(one.book, one.entry.id): at for at, one in enumerate(ranked)}
    over = _over_budget(voice, found.fired, books)
    for one in sorted(found.fired, key=lambda one: (one.entry.order, one.book, one.entry.id)):
        block = _block(voice, books[one.book], one, rank[one.book, one.entry.id])
        if block is None:
            rows.append(_row(books[one.book], one, "empty", 0))
        elif (one.book, one.entry.id) in over:
            rows.append(_row(books[one.book], one, "budget", block.tokens, note=_BOOK))
        else:
            blocks.setdefault(one.entry.place, []).append(block)
    rows += _silent(found, books.values())
    return Lore(blocks=blocks, rows=rows, fired=found.fired, notes=found.notes)


def woven(head: Iterable[Block], found: Lore) -> Iterator[Block]:
    """The head with the entries that belong into it: after the main prompt, before and after the
    example dialogues; of those after the character the constant ones first, for prompt caches."""
    blocks = list(head)
    after_main = 1 if blocks and blocks[0].kind == "main_prompt" else 0
    examples = next((at for at, block in enumerate(blocks) if block.kind == "example"), len(blocks))
    constant = {(one.book, one.entry.id) for one in found.fired if one.why == "constant"}
    after = found.at("after_char")
    yield from blocks[:after_main]
    yield from found.at("before_char")
    yield from blocks[after_main:examples]
    yield from sorted(after, key=lambda block: _key(block) not in constant)
    yield from found.at("before_examples")
    yield from blocks[examples:]
    yield from found.at("after_examples")


def _scene(voice: Voice, request: Request, lines: Sequence[LiveMessage]) -> Scene:
    material, card = voice.material, voice.material.speaker
    extras: dict[Extra, str] = {
        "persona": material.persona.description if material.persona else "",
        "description": card.description,
        "personality": card.personality,
        "depth_prompt": card.depth_prompt.text if card.depth_prompt else "",
        "scenario": card.scenario,
        "creator_notes": card.creator_notes,
    }
    assert set(extras) == set(get_args(Extra))
    own = [line for line in lines if line.role == "assistant"]
    return Scene(
        messages=tuple(
            (material.spoken.get(line.character_id or "", line.speaker), line.text)
            for line in reversed(lines)
            if line.role != "tool"
        ),
        number=material.next_number + (request.input is not None),
        extras=extras,
        speaker=card.name,
        tags=card.tags,
        trigger=_trigger(request),
        count=len(lines) + (material.older.count if material.older else 0),
        spoken=len(own),
        seed=f"{material.seed}/{lines[-1].number if lines else 0}",
        expand=lambda text: voice.expand(text, "lore"),
        before=material.fired,
    )


def _trigger(request: Request) -> Trigger:
    if request.mode == "reply":
        return "normal" if request.replacing is None else "swipe"
    return request.mode


def _block(voice: Voice, book: Lorebook, one: Fired, rank: int) -> Block | None:
    entry = one.entry
    source = _source(book, one)
    text = voice.expand(entry.content.strip(), source).strip()
    if not text:
        return None
    head = entry.place in _HEAD
    overhead = _SEPARATOR_TOKENS if head else LIMITS.message_overhead
    note = voice.material.settings.authors_note
    beside_note = entry.place in ("note_top", "note_bottom")
    return Block(
        kind="entry" if book.kind == "entries" else "lore",
        source=source,
        role="system" if head or entry.place == "before_input" else entry.role,
        text=text,
        tokens=counted(voice.tokenizer.name, text) + overhead,
        group=source,
        protected=head,
        head=head,
        depth=note.depth if beside_note else entry.depth if entry.place == "depth" else None,
        layer=None if entry.ignore_budget else "lore",
        rank=rank,
    )


def _source(book: Lorebook, one: Fired) -> str:
    return f"{'entry' if book.kind == 'entries' else 'lore'}:{book.id}/{one.entry.id}"


def _key(block: Block) -> tuple[str, int]:
    book, _, number = block.source.partition(":")[2].rpartition("/")
    return book, int(number)


def _over_budget(
    voice: Voice, fired: Sequence[Fired], books: Mapping[str, Lorebook]
) -> frozenset[tuple[str, int]]:
    """What does not fit its book's own budget: of lower priority first, the later ones first."""
    over: set[tuple[str, int]] = set()
    left = {book.id: book.token_budget for book in books.values()}

    def worth(one: Fired) -> tuple[bool, int, int]:
        entry = one.entry
        priority = entry.order if entry.priority is None else entry.priority
        return one.why == "constant", priority, entry.order

    for one in sorted(fired, key=worth, reverse=True):
        room = left[one.book]
        if room is None or one.entry.ignore_budget:
            continue
        tokens = counted(voice.tokenizer.name, voice.expand(one.entry.content, "lore"))
        if tokens > room:
            over.add((one.book, one.entry.id))
        else:
            left[one.book] = room - tokens
    return frozenset(over)


def _silent(found: Activation, books: Iterable[Lorebook]) -> Iterator[Row]:
    """One row for the entries of a book that did not fire for the same reason."""
    for book in books:
        kind = "entry" if book.kind == "entries" else "lore"
        for reason, count in sorted(found.silent.get(book.id, {}).items()):
            plain = reason in ("disabled", "not_activated")
            yield Row(
                kind="entry" if kind == "entry" else "lore",
                source=f"{kind}:{book.id}",
                reason="disabled" if reason == "disabled" else "not_activated",
                tokens=None,
                count=count,
                note=None if plain else reason,
            )


def _row(
    book: Lorebook, one: Fired, reason: Reason, tokens: int, *, note: str | None = None
) -> Row:
    return Row(
        kind="entry" if book.kind == "entries" else "lore",
        source=_source(book, one),
        reason=reason,
        tokens=tokens,
        note=note,
    )
