"""Every way to name something of another account."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from talekeeper import Keeper, NewMessage, NewSwipe, Use
from talekeeper.domain.draft import Draft
from talekeeper.record.memory_files import Destination

__all__ = ["FOREIGN", "OWN", "Theirs"]


@dataclass(frozen=True, kw_only=True)
class Theirs:
    """Ids of another account, and a chat of one's own. ``title`` only the other account has.

    Of her memories ``memory`` is there and ``deleted`` in the trash; ``run`` is a deeper pass that
    made another. One's own memory is 1, one's own lorebook is ``Own``.
    """

    chat: str
    number: int
    title: str
    character: str
    persona: str
    own: str
    memory: int
    deleted: int
    run: str
    book: str


_NEW = NewMessage(role="user", swipes=(NewSwipe(text="Hello."),))
_BOOK = b'{"entries": {"0": {"uid": 0, "key": ["x"], "content": "X"}}}'
_MEMORIES = b'{"format": "talekeeper-memories", "version": 1, "memories": []}'

FOREIGN: Mapping[str, Callable[[Keeper, Theirs], Coroutine[Any, Any, object]]] = {
    "record": lambda me, it: me.record(it.chat, "Hello."),
    "record as": lambda me, it: me.record(it.own, "Hi.", role="assistant", speaker=it.character),
    "reply": lambda me, it: me.reply(it.chat),
    "reply with input": lambda me, it: me.reply(it.chat, "Hello."),
    "reply replacing": lambda me, it: me.reply(it.chat, replacing=it.number),
    "reply for": lambda me, it: me.reply(it.own, speaker=it.character),
    "compose": lambda me, it: me.compose(it.chat),
    "compose replacing": lambda me, it: me.compose(it.chat, replacing=it.number),
    "compose for": lambda me, it: me.compose(it.own, speaker=it.character),
    "chats.start": lambda me, it: me.chats.start(it.character),
    "chats.get": lambda me, it: me.chats.get(it.chat),
    "chats.find": lambda me, it: me.chats.find(it.chat),
    "chats.find prefix": lambda me, it: me.chats.find(it.chat[:-4]),
    "chats.find title": lambda me, it: me.chats.find(it.title),
    "chats.rename": lambda me, it: me.chats.rename(it.chat, "Mine"),
    "chats.set_persona": lambda me, it: me.chats.set_persona(it.chat, "Carla"),
    "chats.join": lambda me, it: me.chats.join(it.chat, it.character),
    "chats.join own": lambda me, it: me.chats.join(it.own, it.character),
    "chats.leave": lambda me, it: me.chats.leave(it.chat, it.character),
    "chats.leave own": lambda me, it: me.chats.leave(it.own, it.character),
    "chats.fork": lambda me, it: me.chats.fork(it.chat, it.number),
    "chats.rewind": lambda me, it: me.chats.rewind(it.chat, 0),
    "chats.delete": lambda me, it: me.chats.delete(it.chat),
    "messages.add": lambda me, it: me.messages.add(it.chat, _NEW),
    "messages.get": lambda me, it: me.messages.get(it.chat, it.number),
    "messages.list": lambda me, it: me.messages.list(it.chat),
    "messages.add_swipe": lambda me, it: me.messages.add_swipe(it.chat, it.number, "Hi."),
    "messages.choose_swipe": lambda me, it: me.messages.choose_swipe(it.chat, it.number, 0),
    "messages.edit": lambda me, it: me.messages.edit(it.chat, it.number, "Hi."),
    "messages.exclude": lambda me, it: me.messages.exclude(it.chat, it.number),
    "messages.exclude none": lambda me, it: me.messages.exclude(it.chat),
    "messages.include": lambda me, it: me.messages.include(it.chat, it.number),
    "messages.forget": lambda me, it: me.messages.forget(it.chat, it.number),
    "messages.unforget": lambda me, it: me.messages.unforget(it.chat, it.number),
    "messages.delete": lambda me, it: me.messages.delete(it.chat, it.number),
    "messages.delete_turn": lambda me, it: me.messages.delete_turn(it.chat, it.number),
    "characters.get": lambda me, it: me.characters.get(it.character),
    "characters.update": lambda me, it: me.characters.update(it.character, name="Mine"),
    "characters.delete": lambda me, it: me.characters.delete(it.character),
    "characters.learn": lambda me, it: me.characters.learn(it.character, False),
    "personas.update": lambda me, it: me.personas.update(it.persona, name="Mine"),
    "personas.delete": lambda me, it: me.personas.delete(it.persona),
    "settings.get": lambda me, it: me.settings.get(it.chat),
    "settings.origins": lambda me, it: me.settings.origins(it.chat),
    "settings.change": lambda me, it: me.settings.change(it.chat, prefill="Well,"),
    "summaries.show": lambda me, it: me.summaries.show(it.chat),
    "summaries.get": lambda me, it: me.summaries.get(it.chat, "recent-0"),
    "summaries.edit": lambda me, it: me.summaries.edit(it.chat, "recent-0", "Mine."),
    "summaries.rebuild": lambda me, it: me.summaries.rebuild(it.chat),
    "summaries.rebuild one": lambda me, it: me.summaries.rebuild(it.chat, "recent-0"),
    "summaries.settle": lambda me, it: me.summaries.settle(it.chat),
    "summaries.catch_up": lambda me, it: me.summaries.catch_up(it.chat),
    "summaries.catch_up pause": lambda me, it: me.summaries.catch_up(it.chat, "pause"),
    "summaries.retry": lambda me, it: me.summaries.retry(it.chat),
    "memories.list": lambda me, it: me.memories.list(it.character),
    "memories.get": lambda me, it: me.memories.get(it.memory),
    "memories.add": lambda me, it: me.memories.add("Mine.", character=it.character),
    "memories.edit": lambda me, it: me.memories.edit(it.memory, "Mine."),
    "memories.delete": lambda me, it: me.memories.delete(it.memory),
    "memories.pin": lambda me, it: me.memories.pin(it.memory),
    "memories.unpin": lambda me, it: me.memories.unpin(it.memory),
    "memories.pinned_warning": lambda me, it: me.memories.pinned_warning(it.character),
    "memories.move": lambda me, it: me.memories.move(it.memory, None),
    "memories.move own": lambda me, it: me.memories.move(1, it.character),
    "memories.clear": lambda me, it: me.memories.clear(it.character),
    "memories.clear pinned": lambda me, it: me.memories.clear(it.character, pinned=True),
    "memories.restore": lambda me, it: me.memories.restore(it.deleted),
    "memories.purge": lambda me, it: me.memories.purge(it.deleted),
    "memories.history": lambda me, it: me.memories.history(it.memory),
    "memories.undo": lambda me, it: me.memories.undo(it.memory),
    "memories.undo one": lambda me, it: me.memories.undo(it.memory, 1),
    "memories.undo_turn": lambda me, it: me.memories.undo_turn(it.chat, it.number),
    "memories.undo_run": lambda me, it: me.memories.undo_run(it.run),
    "memories.deeper": lambda me, it: me.memories.deeper(it.chat),
    "memories.generate": lambda me, it: me.memories.generate("Tea.", character=it.character),
    "memories.draft": lambda me, it: me.memories.draft(it.chat, [it.number]),
    "memories.draft for": lambda me, it: me.memories.draft(it.own, [1], character=it.character),
    "memories.as_is": lambda me, it: me.memories.as_is(it.chat, [it.number]),
    "memories.as_is for": lambda me, it: me.memories.as_is(it.own, [1], character=it.character),
    "memories.save_drafts": lambda me, it: me.memories.save_drafts(
        [Draft(text="Mine.", character=it.character)]
    ),
    "memories.export": lambda me, it: me.memories.export([it.character]),
    "memories.import_file": lambda me, it: me.memories.import_file(
        _MEMORIES, into=Destination(character=it.character)
    ),
    "receipts.list": lambda me, it: me.receipts.list(it.chat),
    "receipts.get": lambda me, it: me.receipts.get(it.chat, it.number),
    "receipts.seen": lambda me, it: me.receipts.seen(it.chat, it.number),
    "receipts.diff": lambda me, it: me.receipts.diff(it.chat, it.number, it.number),
    "receipts.since": lambda me, it: me.receipts.since(it.chat, it.number),
    "receipts.since again": lambda me, it: me.receipts.since(it.chat, it.number, again=True),
    "receipts.compare": lambda me, it: me.receipts.compare(it.chat),
    "receipts.compare persona": lambda me, it: me.receipts.compare(
        it.own, persona_after=it.persona
    ),
    "lore.get": lambda me, it: me.lore.get(it.book),
    "lore.add": lambda me, it: me.lore.add("X", uses=[Use(kind="chat", target=it.chat)]),
    "lore.update": lambda me, it: me.lore.update(it.book, name="Mine"),
    "lore.delete": lambda me, it: me.lore.delete(it.book),
    "lore.use": lambda me, it: me.lore.use(it.book, "global"),
    "lore.use own": lambda me, it: me.lore.use("Own", "character", it.character),
    "lore.use own persona": lambda me, it: me.lore.use("Own", "persona", it.persona),
    "lore.unuse": lambda me, it: me.lore.unuse(it.book, "global"),
    "lore.add_entry": lambda me, it: me.lore.add_entry(it.book, content="X", keys=["x"]),
    "lore.update_entry": lambda me, it: me.lore.update_entry(it.book, 1, content="X"),
    "lore.delete_entry": lambda me, it: me.lore.delete_entry(it.book, 1),
    "lore.import_file": lambda me, it: me.lore.import_file(
        _BOOK, "book.json", uses=[Use(kind="character", target=it.character)]
    ),
    "lore.export": lambda me, it: me.lore.export(it.book),
    "entries.list": lambda me, it: me.entries.list(it.character),
    "entries.add": lambda me, it: me.entries.add("X", "x", character=it.character),
    "entries.update": lambda me, it: me.entries.update(1, character=it.character, content="X"),
    "entries.delete": lambda me, it: me.entries.delete(1, character=it.character),
    "files.export_chat": lambda me, it: me.files.export_chat(it.chat, BytesIO()),
    "files.export_card": lambda me, it: me.files.export_card(it.character),
}
"""What must not be found, by the method and, after a space, the way it is called."""

OWN = frozenset(
    {
        "chats.list",
        "characters.add",
        "characters.list",
        "personas.add",
        "personas.list",
        "settings.define_plan",
        "settings.delete_plan",
        "settings.plan",
        "settings.plans",
        "settings.usage",
        "settings.set_plan",
        "files.import_file",
        "summaries.failures",
        "lore.list",
        "files.import_stream",
        "memories.scopes",
        "memories.trash",
        "memories.empty_trash",
    }
)
"""Methods that take no name of anything that exists."""
