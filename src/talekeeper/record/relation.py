"""How a chat file relates to the chats that are there: new, the same, longer, or a branch.

Conversations are compared by their content: each line that holds messages has a *chain*, a hash of
its role, speaker and active text together with the chain before it. Two files that share a chain
share the whole conversation up to there.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Literal

from sqlalchemy import Connection

from talekeeper.formats.imported import ImportedHeader, ImportedLine, SkippedLine
from talekeeper.record.exporting import export_chat
from talekeeper.record.marks import file_title, mark_of
from talekeeper.record.texts import storable
from talekeeper.record.walk import Walk
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

    Of these the first ``lined`` agree with lines of the chat's own file, the last of them its line
    ``line``; the others agree with its messages as they are by now. ``number`` is the chat's last
    message in them. ``aligned`` tells that line numbers agree, so that lines which changed can be
    replaced one by one. ``version`` is the chat's as compared.

    ``twin`` is a chat that the file says it is, and left all the same at its line ``parted``.
    """

    kind: Literal["new", "present", "longer", "branch"]
    chat: str | None = None
    shared: int = 0
    lined: int = 0
    line: int = 0
    number: int = 0
    aligned: bool = False
    version: int = 0
    twin: str | None = None
    parted: int | None = None


class Digest:
    """The hash of a file's bytes, taken while it streams by."""

    def __init__(self) -> None:
        self._hash = blake2b(digest_size=16)

    def write(self, raw: bytes) -> int:
        """Take the next bytes into account; answers how many they are."""
        self._hash.update(raw)
        return len(raw)

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
        digest.write(item.raw)
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
    """Follows a file line by line as long as some chat agrees with it.

    First by chains. Where no chain is known any more, chats that carry the file's mark are followed
    as they stand by now, since the file may be an export of theirs.
    """

    account: str
    header: ImportedHeader | None = None
    candidates: dict[str, int] = field(default_factory=dict)
    shared: int = 0
    lined: int = 0
    heard_user: bool = False
    heard_reply: bool = False
    misaligned: set[str] = field(default_factory=set)
    last: ImportedLine | None = None
    imports: dict[str, ImportRow | None] = field(default_factory=dict)
    walks: dict[str, Walk] = field(default_factory=dict)
    marked: list[str] = field(default_factory=list)

    def follow(
        self, connection: Connection, batch: Sequence[tuple[ImportedLine, bytes]]
    ) -> Relation | None:
        """Compare the next lines; the relation as soon as it is certain before the file's end."""
        known: dict[bytes, dict[str, int]] = {}
        if not self.walks:
            known = line_rows.positions(connection, self.account, [chain for _, chain in batch])
        for line, chain in batch:
            found = known.get(chain, {})
            if self.shared:
                found = {chat: found[chat] for chat in self.candidates if chat in found}
            if self.walks or not found:
                relation = self._walk_on(connection, line)
                if relation:
                    return relation
            else:
                self.candidates = found
                self.misaligned |= {chat for chat, number in found.items() if number != line.line}
                self.lined += 1
            self._heard(line)
        return None

    def _heard(self, line: ImportedLine) -> None:
        self.shared += 1
        self.last = line
        roles = {message.role for message in line.messages}
        self.heard_reply |= self.heard_user and "assistant" in roles
        self.heard_user |= "user" in roles

    def _walk_on(self, connection: Connection, line: ImportedLine) -> Relation | None:
        """Follow the chats as they stand; the relation where the last of them leaves the file."""
        walking = bool(self.walks)
        if not walking:
            self._set_out(connection)
        alive = {
            chat: walk
            for chat, walk in self.walks.items()
            if walk.take(connection, line) is not None
        }
        if alive:
            self.walks = alive
            return None
        if walking:
            return self._parted(connection, line)
        empty = [chat for chat, walk in self.walks.items() if not walk.number]
        for chat in empty:
            if not self.shared and self.walks[chat].at_end(connection):
                return self._relation(connection, "longer", chat)
        return self._diverged(connection, line)

    def _set_out(self, connection: Connection) -> None:
        """Begin to follow chats where the lines of their files end to agree."""
        mark = self.header.integrity if self.header else None
        self.marked = line_rows.marked(connection, self.account, storable(mark)) if mark else []
        if not self.shared:
            self.walks = {chat: Walk(ChatKey(self.account, chat)) for chat in self.marked}
            return
        chats = [chat for chat in self.candidates if chat in self.marked]
        preferred = self._preferred(connection)
        if not chats and not self._marked(connection, preferred):
            chats = [preferred] if self._enough(connection, preferred) else []
        for chat in chats:
            key, at = ChatKey(self.account, chat), self.candidates[chat]
            last = lined_rows.last_of_line(connection, key, at)
            if last and lined_rows.pristine_until(connection, key, at):
                self.walks[chat] = Walk(key, number=last.number)

    def _parted(self, connection: Connection, line: ImportedLine) -> Relation:
        """What a file is that agreed with chats as they stand, and goes on differently."""
        chat = self._preferred(connection)
        walk = self.walks[chat]
        if walk.half:  # the words of a call are no place to part at
            self.shared -= 1
        if not walk.number:
            return self._apart(connection, line)
        if walk.at_end(connection) and not self._branches_off(connection, chat):
            return self._relation(connection, "longer", chat, number=walk.number)
        return self._relation(connection, "branch", chat, number=walk.number, at=line)

    def ended(self, connection: Connection, digest: bytes) -> Relation:
        """The relation of a file that agreed to its end; ``digest`` is that of all its bytes."""
        twin = line_rows.with_digest(connection, self.account, digest)
        if twin is not None:
            return Relation(kind="present", chat=twin, shared=self.shared)
        if self.walks:
            return self._walked(connection, digest)
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

    def _walked(self, connection: Connection, digest: bytes) -> Relation:
        """The relation of a file that agreed to its end with a chat as it stands."""
        chat = self._preferred(connection)
        walk, own = self.walks[chat], Digest()
        if walk.half or not walk.at_end(connection):
            return self._relation(connection, "present", chat)
        export_chat(connection, walk.key, own)
        kind: Literal["present", "longer"] = "present" if own.value == digest else "longer"
        return self._relation(connection, kind, chat, number=walk.number)

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
            return self._apart(connection, line)
        chat = self._preferred(connection)
        if not self._enough(connection, chat):
            return self._apart(connection, line)
        reswiped = self._perhaps_reswiped(connection, line)
        if reswiped:
            return reswiped
        key = ChatKey(self.account, chat)
        last = lined_rows.last_of_line(connection, key, self.candidates[chat])
        same = self._same_file(connection, chat) or not self._marked(connection, chat)
        if last and last.is_last and same and not self._branches_off(connection, chat):
            return self._relation(connection, "longer", chat, number=last.number)
        if last and lined_rows.pristine_until(connection, key, self.candidates[chat]):
            return self._relation(connection, "branch", chat, number=last.number, at=line)
        return self._apart(connection, line)

    def _apart(self, connection: Connection, line: ImportedLine) -> Relation:
        """A chat of its own, though perhaps it carries the mark of another."""
        twins = (chat for chat in self.marked if not self._branches_off(connection, chat))
        twin = next(twins, None)
        return Relation(kind="new", twin=twin, parted=line.line if twin else None)

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
                self.lined += 1
                self.candidates[chat] = at + 1
                return self._relation(connection, "longer", chat, number=last.number)
        return None

    def _preferred(self, connection: Connection) -> str:
        """Among the chats that agree: the same one, the one it branched from, else the oldest."""
        chats = sorted(self.walks or self.candidates)
        same = [chat for chat in chats if self._same_file(connection, chat)]
        own = (chat for chat in same if not self._branches_off(connection, chat))
        parent = (chat for chat in chats if self._is_parent(connection, chat))
        found = next(own, None) or next(parent, None)
        return found or (same[0] if same else chats[0])

    def _relation(
        self,
        connection: Connection,
        kind: Literal["present", "longer", "branch"],
        chat: str,
        *,
        number: int = 0,
        at: ImportedLine | None = None,
    ) -> Relation:
        left = (
            at is not None
            and self._same_file(connection, chat)
            and not self._branches_off(connection, chat)
        )
        return Relation(
            kind=kind,
            chat=chat,
            shared=self.shared,
            lined=self.lined,
            line=self.candidates.get(chat, 0),
            number=number,
            aligned=chat not in self.misaligned,
            version=chat_rows.state(connection, ChatKey(self.account, chat)).version,
            twin=chat if left else None,
            parted=at.line if at and left else None,
        )

    def _enough(self, connection: Connection, chat: str) -> bool:
        """Whether the common prefix proves anything.

        Every chat with a character begins with the same greeting, and many go on with the same
        "Hi"; only an answer to it is written once. Where both files carry a mark and the marks
        differ, SillyTavern says that they are two chats, and an answer is not enough.
        """
        if self._branches_off(connection, chat) or self.shared >= _EVIDENCE_LINES:
            return True
        if self._marked(connection, chat):
            return self._same_file(connection, chat)
        return self.heard_reply

    def _branches_off(self, connection: Connection, chat: str) -> bool:
        """Whether the file says that it is a branch, and the chat is not that branch itself."""
        name = self.header.main_chat if self.header else None
        return (
            name is not None and mark_of(connection, ChatKey(self.account, chat)).main_chat != name
        )

    def _same_file(self, connection: Connection, chat: str) -> bool:
        """Whether the mark says that both are one chat, or one a branch of the other."""
        mark = self.header.integrity if self.header else None
        if mark is None:
            return False
        found = self._import_of(connection, chat)
        return chat == mark or (found is not None and found.integrity == storable(mark))

    def _is_parent(self, connection: Connection, chat: str) -> bool:
        """Whether the file names this chat as the one it branched from."""
        name = self.header.main_chat if self.header else None
        found = self._import_of(connection, chat)
        return name is not None and found is not None and file_title(found) == name

    def _marked(self, connection: Connection, chat: str) -> bool:
        """Whether both carry a mark, so that different marks mean different chats."""
        if self.header is None or self.header.integrity is None:
            return False
        found = self._import_of(connection, chat)
        return found is not None and found.integrity is not None

    def _import_of(self, connection: Connection, chat: str) -> ImportRow | None:
        """Where a candidate came from; read for all candidates at once, since there may be many."""
        if chat not in self.imports:
            chats = {*self.candidates, *self.walks, chat}
            found = line_rows.imports_of(connection, self.account, list(chats))
            self.imports |= {one: found.get(one) for one in chats}
        return self.imports[chat]
