"""Writing an imported chat: in batches, into a chat that nobody sees until it is whole.

A new chat fills an invisible chat. A branch fills an invisible fork of its parent. A longer version
fills an invisible chat whose rows move to the chat that is there when all have been written. A
dead import leaves only an invisible chat, which the next import sweeps.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from talekeeper.domain.cell import Tail, grow, place
from talekeeper.domain.chat import Message
from talekeeper.domain.errors import Conflict, NotFound
from talekeeper.domain.limits import LIMITS
from talekeeper.domain.settings import AuthorsNote
from talekeeper.formats.imported import ImportedHeader, ImportedLine, ImportedMessage, SkippedLine
from talekeeper.record import forks, people
from talekeeper.record.casting import Casting
from talekeeper.record.imported_lines import header_in, line_row, swipes_of, user_in
from talekeeper.record.journal import refresh_units
from talekeeper.record.naming import naming
from talekeeper.record.relation import Digest, Relation
from talekeeper.record.report import ImportReport, Tally
from talekeeper.record.taking_over import CHANGED, Chained, adopt, overlay, reline
from talekeeper.record.texts import storable
from talekeeper.record.walk import Walk
from talekeeper.store import accounts as account_rows
from talekeeper.store import characters as character_rows
from talekeeper.store import chats as chat_rows
from talekeeper.store import lined_messages as lined_rows
from talekeeper.store import lines as line_rows
from talekeeper.store import live as live_rows
from talekeeper.store import messages as rows
from talekeeper.store import participants as participant_rows
from talekeeper.store import summaries as summary_rows
from talekeeper.store.chats import ChatState
from talekeeper.store.keys import ChatKey
from talekeeper.store.lines import ImportRow, LineRow
from talekeeper.store.message_rows import message_row, swipe_row
from talekeeper.store.statistics import take_stock
from talekeeper.text.tokens import Tokenizer, tokenizer_named

__all__ = ["ChatImport"]


@dataclass(slots=True)
class ChatImport:
    """One import under way: ``begin``, ``write`` each batch, ``finish`` or ``abandon``."""

    key: ChatKey
    file_name: str
    relation: Relation
    new_id: Callable[[], str]
    digest: Digest = field(default_factory=Digest)
    tally: Tally = field(default_factory=Tally)
    header: ImportedHeader | None = None
    title: str = ""
    added: int = 0
    _casting: Casting | None = None
    _tokenizer: Tokenizer | None = None
    _live_cap: int = 0
    _tail: Tail | None = None
    _number: int = 1
    _last_line: int = 0
    _old_note: AuthorsNote | None = None
    _unlined: Iterator[Sequence[tuple[int, bool]]] | None = None
    _walk: Walk | None = None
    _heard: int = 0
    _user: str | None = None
    _ends_with_newline: bool = False

    @property
    def target(self) -> ChatKey | None:
        """The chat that is there already, None for a new one."""
        return ChatKey(self.key.account, self.relation.chat) if self.relation.chat else None

    @property
    def _counter(self) -> Tokenizer:
        assert self._tokenizer is not None
        return self._tokenizer

    def look(self, connection: Connection) -> None:
        """Find out what the chat is called, and what is to be said of that."""
        named = naming(connection, self.key.account, self.file_name, self.relation)
        self.title = named.title
        self.tally.note(named.notices)

    def begin(self, connection: Connection, *, now: datetime) -> None:
        """Sweep dead imports and make the invisible chat."""
        self.look(connection)
        idle = timedelta(minutes=LIMITS.import_idle_minutes)
        chat_rows.sweep(connection, before=now - idle)
        base = self.target
        if base and chat_rows.state(connection, base, lock=True).version != self.relation.version:
            raise Conflict(CHANGED)
        if base and self.relation.kind == "branch":
            number = self.relation.number
            forks.fork(
                connection, base, self.key, number, now=now, title=self.title, importing=True
            )
            base = self.key
            line_rows.remove_after(connection, self.key, self.relation.line)
            if not self.relation.aligned:
                held = lined_rows.unline(connection, self.key)
                self._unlined = iter(held[: self.relation.lined])
        else:
            chat_rows.insert_chat(
                connection,
                self.key,
                title=self.title,
                channel="web",
                persona_id=None,
                settings={},
                now=now,
                importing=True,
            )
        self._continue(connection, base)

    def _continue(self, connection: Connection, base: ChatKey | None) -> None:
        """Take up where ``base`` ends: numbers, turn and cell, participants, settings."""
        self._casting = Casting(account=self.key.account, new_id=self.new_id)
        state = chat_rows.state(connection, base or self.key, importing=True)
        settings = state.settings
        self._tokenizer = tokenizer_named(settings.tokenizer)
        self._live_cap = settings.live_cap_tokens(state.plan)
        if base is None:
            return
        self._tail = live_rows.tail(connection, base)
        self._number = state.next_number
        self._casting.members = participant_rows.of_chat(connection, base)
        self._casting.main = self._casting.members[0].name if self._casting.members else None
        self._walk = Walk(base, number=self._walked_from(connection, base))
        if self.relation.shared > self.relation.lined:
            self._last_line = self.relation.line
        else:
            self._last_line = line_rows.last(connection, base)
        header = header_in(line_rows.page(connection, base, after=-1, limit=3))
        self._old_note = header.authors_note if header else None

    def _walked_from(self, connection: Connection, base: ChatKey) -> int:
        """The last message of the lines that agree: from there on messages themselves do."""
        if self.target is None:
            return 0
        return lined_rows.last_until(connection, self.target, self.relation.line).number

    def write(self, connection: Connection, batch: Sequence[Chained], *, now: datetime) -> None:
        """Write the next items of the file in one transaction."""
        self._still_there(connection)
        shared, walked, fresh = self._divide(batch)
        self._take_over(connection, shared, walked)
        messages: list[dict[str, Any]] = []
        swipes: list[dict[str, Any]] = []
        kept: list[LineRow] = []
        for item, chain in fresh:
            line = self._line_number(item)
            if item.raw:
                kept.append(line_row(line, item, chain))
            if isinstance(item, ImportedLine):
                for imported in item.messages:
                    message = self._message(connection, imported)
                    messages.append(
                        message_row(self.key, message, line=line, line_version=message.version)
                    )
                    swipes += (
                        swipe_row(self.key, message.number, swipe) for swipe in message.swipes
                    )
        rows.insert_many(connection, messages, swipes)
        line_rows.insert_lines(connection, self.key, kept)
        self.added += len(messages)
        chat_rows.change(connection, self.key, now=now, importing_since=now)

    def count(self, batch: Iterable[Chained]) -> None:
        """Take items into account without writing anything: a dry run."""
        _, _, fresh = self._divide(batch)
        self.added += sum(len(i.messages) for i, _ in fresh if isinstance(i, ImportedLine))

    def _divide(
        self, batch: Iterable[Chained]
    ) -> tuple[list[Chained], list[Chained], list[Chained]]:
        """What the chat's own file has, what only the chat itself has, what is new; counts all."""
        shared: list[Chained] = []
        walked: list[Chained] = []
        fresh: list[Chained] = []
        for item, chain in batch:
            self.tally.count(item)
            if isinstance(item, ImportedHeader):
                self._meet(item)
            if item.raw:
                self._ends_with_newline = item.raw.endswith(b"\n")
            if isinstance(item, ImportedLine):
                self._heard += 1
                self._user = self._user or user_in(item)
            if self.target is None or self._heard > self.relation.shared:
                fresh.append((item, chain))
            else:
                lined = self._heard <= self.relation.lined
                (shared if lined else walked).append((item, chain))
        return shared, walked, fresh

    def _take_over(
        self, connection: Connection, shared: Sequence[Chained], walked: Sequence[Chained]
    ) -> None:
        base = self.key if self.relation.kind == "branch" else self.target
        if base is None:
            return
        if self._unlined is not None:
            reline(connection, self.key, shared, self._unlined, self._counter)
        elif self.relation.aligned:
            overlay(connection, base, self.key, shared, self._counter)
        if walked and self._walk:
            lines = [(self._line_number(item), (item, chain)) for item, chain in walked]
            adopt(connection, self.key, self._walk, lines, self._counter)

    def _meet(self, header: ImportedHeader) -> None:
        self.header = header
        if self._casting and self.target is None:
            self._casting.group = header.group
        if self._casting and header.character_name and not header.group:
            self._casting.main = self._casting.main or storable(header.character_name)
        self._user = storable(header.user_name) if header.user_name else None

    def _line_number(self, item: ImportedHeader | ImportedLine | SkippedLine) -> int:
        if self.target is None or self.relation.aligned or self._unlined is not None:
            return item.line
        self._last_line += 1
        return self._last_line

    def _message(self, connection: Connection, imported: ImportedMessage) -> Message:
        assert self._casting is not None
        swipes = swipes_of(imported, self._counter)
        number, tokens = self._number, swipes[imported.active].tokens
        turn, cell = place(
            self._tail,
            number=number,
            role=imported.role,
            live_cap=self._live_cap,
            limits=LIMITS,
        )
        self._tail = grow(
            self._tail,
            turn=turn,
            cell=cell,
            role=imported.role,
            tokens=tokens,
            excluded=imported.excluded,
        )
        self._number += 1
        return Message(
            number=number,
            role=imported.role,
            speaker=storable(imported.speaker),
            character_id=self._casting.character_of(connection, imported),
            active=imported.active,
            turn=turn,
            cell=cell,
            version=1,
            swipes=swipes,
            excluded=imported.excluded,
            tool_call_id=imported.tool_call_id,
        )

    def finish(self, connection: Connection, *, now: datetime) -> ImportReport:
        """Make the chat visible, or move what is new to the chat that is there."""
        assert self._casting is not None
        self._still_there(connection)
        version = None  # Chats are locked before their account.
        if self.target and self.relation.kind == "longer":
            version = chat_rows.state(connection, self.target, lock=True).version
        account_rows.get(connection, self.key.account, lock=True)
        same_bytes = line_rows.with_digest(connection, self.key.account, self.digest.value)
        if same_bytes is not None:  # another import was faster
            self.abandon(connection)
            self.relation, self.added = replace(self.relation, kind="present", chat=same_bytes), 0
            self.title = chat_rows.state(connection, ChatKey(self.key.account, same_bytes)).title
            return self.report(same_bytes)
        key = self.key
        if self.target and self.relation.kind == "longer":
            key = self.target
            if version != self.relation.version:
                raise Conflict(CHANGED)
            rows.move(connection, self.key, key)
            walked = self.relation.shared > self.relation.lined
            if walked or self.added:  # what follows is told anew, or was deleted here
                line_rows.remove_after(connection, key, self.relation.line, only_told=not walked)
            line_rows.move(connection, self.key, key)
            chat_rows.remove(connection, self.key)
        if self.relation.kind == "new":
            self._casting.enter(connection)
        self.tally.note(self._casting.notices)
        self._casting.save(connection, key, now=now)
        self._save_import(connection, key, now)
        if self.relation.kind != "new":
            summary_rows.refresh_all(connection, key)
            refresh_units(connection, key)
        messages, excluded = rows.counts(connection, key)
        values: dict[str, Any] = {
            "messages": messages,
            "excluded": excluded,
            "next_number": self._number,
            "importing_since": None,
        }
        if self.relation.kind == "new":
            values |= self._settings(connection, now)
        else:
            values |= self._note(chat_rows.state(connection, key, importing=True))
        chat_rows.change(connection, key, now=now, **values)
        if self.added >= LIMITS.import_batch:
            take_stock(connection)
        return self.report(key.chat)

    def _still_there(self, connection: Connection) -> None:
        """Another import sweeps what made no progress for too long."""
        try:
            chat_rows.state(connection, self.key, lock=True, importing=True)
        except NotFound:
            raise Conflict(
                f"The import made no progress for {LIMITS.import_idle_minutes} minutes and was "
                "given up. Import the file again."
            ) from None

    def _settings(self, connection: Connection, now: datetime) -> dict[str, Any]:
        values: dict[str, Any] = {}
        if self._user:
            account, user = self.key.account, self._user
            persona = character_rows.persona_by_name(connection, account, user)
            persona = persona or people.add_persona(
                connection, account, user, "", new_id=self.new_id(), now=now
            )
            values["persona_id"] = persona.id
        if self.header and self.header.authors_note:
            note = self.header.authors_note.model_dump()
            values["settings"] = {"authors_note": {**note, "text": storable(note["text"])}}
        return values

    def _note(self, state: ChatState) -> dict[str, Any]:
        """The file's author's note, where the person did not change the one there was."""
        current = AuthorsNote.model_validate(state.chat_settings.get("authors_note") or {})
        note = (self.header and self.header.authors_note) or AuthorsNote()
        if current != (self._old_note or AuthorsNote()) or note == current:
            return {}
        text = storable(note.text)
        return {
            "settings": {
                **state.chat_settings,
                "authors_note": {**note.model_dump(), "text": text},
            }
        }

    def _save_import(self, connection: Connection, key: ChatKey, now: datetime) -> None:
        integrity = self.header.integrity if self.header else None
        row = ImportRow(
            format="sillytavern",
            file_name=storable(self.file_name),
            integrity=storable(integrity) if integrity else None,
            final_newline=self._ends_with_newline,
            imported_at=now,
        )
        line_rows.replace_import(connection, key, row, self.digest.value)

    def report(self, chat: str | None) -> ImportReport:
        """What came in, or would have."""
        changed = self.relation.kind == "longer" and not self.added
        return self.tally.report(
            file=self.file_name,
            outcome="updated" if changed else self.relation.kind,
            chat=chat,
            title=self.title,
            added=self.added,
        )

    def abandon(self, connection: Connection) -> None:
        """Take the invisible chat away again."""
        chat_rows.remove(connection, self.key)
