"""The texts that the rows of a receipt stand for, as they were written.

Looked up in what one composition works from, or in what is recorded now; the same names in both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from talekeeper.compose.head import MAIN_PROMPT, NUDGES
from talekeeper.compose.request import Material, Request
from talekeeper.domain.character import Card
from talekeeper.domain.chat import ToolCall
from talekeeper.domain.decorators import decorated
from talekeeper.domain.settings import GenerationSettings
from talekeeper.domain.summary import place_named
from talekeeper.models.memory_tools import TOOLS_TEXT
from talekeeper.store import characters as character_rows
from talekeeper.store import chats as chat_rows
from talekeeper.store import lore_entries as entry_rows
from talekeeper.store import memories as memory_rows
from talekeeper.store import messages as message_rows
from talekeeper.store import summaries as summary_rows
from talekeeper.store.keys import ChatKey
from talekeeper.text.examples import split_examples

__all__ = ["Sources", "sources_now", "sources_of"]

_OWN = {"tools/memory": TOOLS_TEXT} | {f"nudge/{mode}": text for mode, text in NUDGES.items()}
"""Talekeeper's own texts."""

_KNOWN = ("message", "memory", "summary", "character", "persona", "settings", "lore", "entry")


@dataclass(frozen=True, kw_only=True, slots=True)
class Sources:
    """Texts by what stands behind the kind in a source: ``12/0`` of ``message:12/0``.

    ``entries`` are those of lorebooks and memory entries, without decorators.

    ``cards`` are those of characters, by id, or by name for one without. ``own`` are texts by their
    whole source.
    """

    messages: Mapping[str, str]
    memories: Mapping[str, str]
    summaries: Mapping[str, str]
    entries: Mapping[str, str]
    cards: Mapping[str, Card]
    personas: Mapping[str, str]
    settings: GenerationSettings
    own: Mapping[str, str]

    def knows(self, source: str) -> bool:
        """Whether a text of this sort can be looked up here at all."""
        return source in self.own or source.replace("/", ":").split(":")[0] in _KNOWN

    def text_of(self, source: str) -> str | None:
        """The text, None where there is none of that name."""
        if source in self.own:
            return self.own[source]
        kind, _, name = source.partition(":")
        found = {
            "message": self.messages,
            "memory": self.memories,
            "summary": self.summaries,
            "lore": self.entries,
            "entry": self.entries,
        }
        if kind in found:
            return found[kind].get(name)
        if kind == "persona":
            return self.personas.get(name)
        owner, _, field = name.partition("/")
        if kind == "character" and owner in self.cards:
            return _of_card(self.cards[owner], field)
        return _of_settings(self.settings, source.removeprefix("settings/"))


def _of_card(card: Card, field: str) -> str | None:
    name, _, index = field.partition("/")
    if name == "mes_example":
        examples = split_examples(card.mes_example)
        return examples[int(index)] if int(index) < len(examples) else None
    if name == "depth_prompt":
        return card.depth_prompt.text if card.depth_prompt else None
    texts = {
        "system_prompt": card.system_prompt,
        "description": card.description,
        "personality": card.personality,
        "scenario": card.scenario,
        "post_history_instructions": card.post_history_instructions,
    }
    return texts.get(name) or None


def _of_settings(settings: GenerationSettings, name: str) -> str | None:
    texts = {
        "main_prompt": settings.main_prompt or MAIN_PROMPT,
        "post_history": settings.post_history,
        "prefill": settings.prefill,
        "authors_note": settings.authors_note.text,
    }
    return texts.get(name) or None


def _said(text: str, calls: Sequence[ToolCall]) -> str:
    return text or "\n".join(f"→ {call.name}({call.arguments})" for call in calls)


def sources_of(material: Material, request: Request) -> Sources:
    """The texts that one composition works from."""
    memories = material.memories
    known = [*memories.pinned, *memories.unpinned] if memories else []
    persona = material.persona
    own = dict(_OWN)
    if request.input is not None:
        own["input"] = request.input
    return Sources(
        messages={
            f"{line.number}/{line.active}": _said(line.text, line.tool_calls)
            for line in material.lines
        },
        memories={str(memory.id): memory.text for memory in known},
        summaries={node.name: node.text for node in material.summaries},
        entries={
            f"{book.book.id}/{number}": one.entry.content
            for book in material.books
            for number, one in book.ready.items()
        },
        cards={material.speaker_id or material.speaker.name: material.speaker},
        personas={persona.id: persona.description} if persona else {},
        settings=material.settings,
        own=own,
    )


def sources_now(connection: Connection, key: ChatKey, sources: Sequence[str]) -> Sources:
    """The texts that these sources name, as they are recorded now. Raises NotFound for no chat."""
    state = chat_rows.state(connection, key)
    named: dict[str, list[str]] = {}
    for source in sources:
        kind, _, name = source.partition(":")
        named.setdefault(kind, []).append(name)
    numbers = {int(name.partition("/")[0]) for name in named.get("message", ())}
    ids = {int(name) for name in named.get("memory", ()) if name.isdecimal()}
    places = {place_named(name) for name in named.get("summary", ())}
    owners = {name.partition("/")[0] for name in named.get("character", ())}
    cards = {
        owner: found.card
        for owner in owners
        if (found := character_rows.get(connection, key.account, owner)) is not None
    }
    personas = {
        name: persona.description
        for name in named.get("persona", ())
        if (persona := character_rows.get_persona(connection, key.account, name)) is not None
    }
    return Sources(
        messages={
            f"{message.number}/{swipe.index}": _said(swipe.text, swipe.tool_calls)
            for message in message_rows.there(connection, key, numbers)
            for swipe in message.swipes
        },
        memories={
            str(memory.id): memory.text
            for memory, present in memory_rows.those(connection, key.account, ids).values()
            if present
        },
        summaries={
            node.name: node.text for node in summary_rows.at(connection, key, places).values()
        },
        entries=_entries_now(
            connection, key.account, [*named.get("lore", ()), *named.get("entry", ())]
        ),
        cards=cards,
        personas=personas,
        settings=state.settings,
        own=_OWN,
    )


def _entries_now(connection: Connection, account: str, names: Sequence[str]) -> dict[str, str]:
    """The texts of entries, by ``book/number``."""
    found: dict[str, str] = {}
    for name in names:
        book, _, number = name.partition("/")
        row = entry_rows.get(connection, account, book, int(number)) if number else None
        if row is not None:
            found[name] = decorated(row.entry)[0].content
    return found
