"""How a chat file relates to the chats that are there: new, the same, longer, or a branch.

Conversations are compared by their content: each line that holds messages has a *chain*, a hash of
its role, speaker and active text together with the chain before it. Two files that share a chain
share the whole conversation up to there.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import PurePath
from typing import Literal

from sqlalchemy import Connection

from talekeeper.formats.imported import ImportedHeader, ImportedLine, SkippedLine
from talekeeper.record.texts import storable
from talekeeper.store import chats as chat_rows
from talekeeper.store import lined_messages as lined_rows
from talekeeper.store import lines as line_rows
from talekeeper.store import messages as rows
from talekeeper.store.keys import ChatKey
from talekeeper.store.lines import ImportRow

__all__ = ["Digest", "Follower", "Relation", "chained"]

_EVIDENCE_LINES = 8
"""So many equal lines make a common prefix even where nobody answers the user in them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Relation:
    """What a file is to ``chat``: its first ``shared`` message lines are that chat's too.

    ``number`` is the chat's last message in them. ``aligned`` tells that line numbers agree, so
    that lines which changed can be replaced one by one. ``version`` is the chat's as compared.
    """

    kind: Literal["new", "present", "longer", "branch"]
    chat: str | None = None
    shared: int = 0
    number: int = 0
    aligned: bool = False
    version: int = 0


class Digest:
    """The hash of a file's bytes, taken while it streams by."""

    def __init__(self) -> None:
        self._hash = blake2b(digest_size=16)

    def take(self, raw: bytes) -> None:
        """Take the next bytes into account."""
        self._hash.update(raw)

    @property
    def value(self) -> bytes:
        """The hash of what was taken so far."""
        return self._hash.digest()


def chained(
    items: Iterable[ImportedHeader | ImportedLine | SkippedLine], digest: Digest
) -> Iterator[tuple[ImportedHeader | ImportedLine | SkippedLine, bytes | None]]:
    """Each item of a chat file with its chain, None for items that hold no message."""
    before = b""
    for item in items:
        digest.take(item.raw)
        if not isinstance(item, ImportedLine):
            yield item, None
            continue
        mark = blake2b(before, digest_size=16)
        for message in item.messages:
            for part in (message.role, message.speaker, message.text):
                mark.update(storable(part).encode())
                mark.update(b"\x00")
        before = mark.digest()
        yield item, before


@dataclass(slots=True)
class Follower:
    """Follows a file line by line as long as some chat agrees with it."""

    account: str
    header: ImportedHeader | None = None
    candidates: dict[str, int] = field(default_factory=dict)
    shared: int = 0
    heard_user: bool = False
    heard_reply: bool = False
    misaligned: set[str] = field(default_factory=set)
    last: ImportedLine | None = None
    imports: dict[str, ImportRow] = field(default_factory=dict)

    def follow(
        self, connection: Connection, batch: Sequence[tuple[ImportedLine, bytes]]
    ) -> Relation | None:
        """Compare the next lines; the relation as soon as it is certain before the file's end."""
        known = line_rows.positions(connection, self.account, [chain for _, chain in batch])
        for line, chain in batch:
            found = known.get(chain, {})
            if self.shared:
                found = {chat: found[chat] for chat in self.candidates if chat in found}
            if not found:
                return self._diverged(connection, line)
            self.candidates = found
            self.misaligned |= {chat for chat, number in found.items() if number != line.line}
            self.shared += 1
            self.last = line
            roles = {message.role for message in line.messages}
            self.heard_reply |= self.heard_user and "assistant" in roles
            self.heard_user |= "user" in roles
        return None

    def ended(self, connection: Connection, digest: bytes) -> Relation:
        """The relation of a file that agreed to its end; ``digest`` is that of all its bytes."""
        twin = line_rows.with_digest(connection, self.account, digest)
        if twin is not None:
            return Relation(kind="present", chat=twin, shared=self.shared)
        if not self.shared:
            return Relation(kind="new")
        chat = self._preferred(connection)
        if not self._enough(connection, chat):
            return Relation(kind="new")
        last = lined_rows.last_of_line(
            connection, ChatKey(self.account, chat), self.candidates[chat]
        )
        if last is None:
            return Relation(kind="new")
        newer = self._same_file(connection, chat) or self._more_swipes(connection, chat)
        if last.is_last and newer:
            return self._relation(connection, "longer", chat)
        return self._relation(connection, "present", chat)

    def _more_swipes(self, connection: Connection, chat: str) -> bool:
        """Whether the file's last message, the chat's last too, was swiped on since."""
        key = ChatKey(self.account, chat)
        last = lined_rows.last_of_line(connection, key, self.candidates[chat])
        if self.last is None or last is None or not (last.is_last and last.untouched):
            return False
        known = rows.get(connection, key, last.number)
        return len(self.last.messages[-1].swipes) > len(known.swipes)

    def _diverged(self, connection: Connection, line: ImportedLine) -> Relation:
        if not self.shared:
            return self._perhaps_reswiped(connection, line) or Relation(kind="new")
        chat = self._preferred(connection)
        if not self._enough(connection, chat):
            return Relation(kind="new")
        reswiped = self._perhaps_reswiped(connection, line)
        if reswiped:
            return reswiped
        key = ChatKey(self.account, chat)
        last = lined_rows.last_of_line(connection, key, self.candidates[chat])
        same = self._same_file(connection, chat) or not self._marked(connection, chat)
        if last and last.is_last and same and not self._branches_off():
            return self._relation(connection, "longer", chat, number=last.number)
        if last and lined_rows.pristine_until(connection, key, self.candidates[chat]):
            return self._relation(connection, "branch", chat, number=last.number)
        return Relation(kind="new")

    def _perhaps_reswiped(self, connection: Connection, line: ImportedLine) -> Relation | None:
        """The same chat, whose last message got another active swipe before it went on."""
        for chat, at in self.candidates.items():
            if not self._same_file(connection, chat) or chat in self.misaligned:
                continue
            key = ChatKey(self.account, chat)
            last = lined_rows.last_of_line(connection, key, at + 1)
            texts = {swipe.text for message in line.messages for swipe in message.swipes}
            if last is None or not last.is_last or not last.untouched:
                continue
            if rows.get(connection, key, last.number).text in texts:
                self.shared += 1
                return self._relation(connection, "longer", chat, number=last.number)
        return None

    def _preferred(self, connection: Connection) -> str:
        """Among the chats that agree: the same one, the one it branched from, else the oldest."""
        chats = sorted(self.candidates)
        same = (chat for chat in chats if self._same_file(connection, chat))
        parent = (chat for chat in chats if self._is_parent(connection, chat))
        return next(same, None) or next(parent, None) or chats[0]

    def _relation(
        self,
        connection: Connection,
        kind: Literal["present", "longer", "branch"],
        chat: str,
        *,
        number: int = 0,
    ) -> Relation:
        return Relation(
            kind=kind,
            chat=chat,
            shared=self.shared,
            number=number,
            aligned=chat not in self.misaligned,
            version=chat_rows.state(connection, ChatKey(self.account, chat)).version,
        )

    def _enough(self, connection: Connection, chat: str) -> bool:
        """Whether the common prefix proves anything.

        Every chat with a character begins with the same greeting, and many go on with the same
        "Hi"; only an answer to it is written once. Where both files carry a mark and the marks
        differ, SillyTavern says that they are two chats, and an answer is not enough.
        """
        if self._branches_off() or self.shared >= _EVIDENCE_LINES:
            return True
        if self._marked(connection, chat):
            return self._same_file(connection, chat)
        return self.heard_reply

    def _branches_off(self) -> bool:
        return self.header is not None and self.header.main_chat is not None

    def _same_file(self, connection: Connection, chat: str) -> bool:
        """Whether SillyTavern's own mark says that both are one chat."""
        mark = self.header.integrity if self.header else None
        found = self._import_of(connection, chat)
        return mark is not None and found is not None and found.integrity == mark

    def _is_parent(self, connection: Connection, chat: str) -> bool:
        """Whether the file names this chat as the one it branched from."""
        name = self.header.main_chat if self.header else None
        found = self._import_of(connection, chat)
        return name is not None and found is not None and PurePath(found.file_name).stem == name

    def _marked(self, connection: Connection, chat: str) -> bool:
        """Whether both carry a mark, so that different marks mean different chats."""
        if self.header is None or self.header.integrity is None:
            return False
        found = self._import_of(connection, chat)
        return found is not None and found.integrity is not None

    def _import_of(self, connection: Connection, chat: str) -> ImportRow | None:
        """Where a candidate came from; read for all candidates at once, since there may be many."""
        if chat not in self.imports:
            self.imports |= line_rows.imports_of(connection, self.account, list(self.candidates))
        return self.imports.get(chat)
