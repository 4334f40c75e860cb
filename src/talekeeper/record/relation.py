"""How a chat file relates to the chats that are there: new, the same, longer, or a branch.

Conversations are compared by their content: each line that holds messages has a *chain*, a hash of
its role, speaker and active text together with the chain before it. Two files that share a chain
share the whole conversation up to there.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Literal

from sqlalchemy import Connection

from talekeeper.formats.imported import ImportedHeader, ImportedLine, SkippedLine
from talekeeper.record.claims import Claims
from talekeeper.record.exporting import export_chat
from talekeeper.record.imported_lines import first_changed
from talekeeper.record.texts import storable
from talekeeper.record.walk import Walk
from talekeeper.store import chats as chat_rows
from talekeeper.store import lined_messages as lined_rows
from talekeeper.store import lines as line_rows
from talekeeper.store import messages as rows
from talekeeper.store.keys import ChatKey
from talekeeper.store.lined_messages import LastUntil

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

    ``claimed`` is a chat that the file says it is, and left all the same at its line ``parted``.
    ``gone`` messages of those that the file shares were deleted in the chat.
    """

    kind: Literal["new", "present", "longer", "branch"]
    chat: str | None = None
    shared: int = 0
    lined: int = 0
    line: int = 0
    number: int = 0
    aligned: bool = False
    version: int = 0
    claimed: str | None = None
    parted: int | None = None
    gone: int = 0


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

    ``candidates`` are chats whose own file has the same lines, each with its last one of them: that
    is told by chains. ``walks`` lead along chats that carry the file's mark, and whose own file has
    other lines, or none: they are compared as they stand by now, since the file may be an export of
    theirs.
    """

    account: str
    header: ImportedHeader | None = None
    candidates: dict[str, int] = field(default_factory=dict)
    walks: dict[str, Walk] = field(default_factory=dict)
    shared: int = 0
    heard_user: bool = False
    heard_reply: bool = False
    misaligned: set[str] = field(default_factory=set)
    last: ImportedLine | None = None
    _heard_at: list[int] = field(default_factory=list)
    _claims: Claims | None = None

    @property
    def claims(self) -> Claims:
        """What the file's header says of it."""
        if self._claims is None:
            self._claims = Claims(self.account, self.header)
        return self._claims

    def follow(
        self, connection: Connection, batch: Sequence[tuple[ImportedLine, bytes]]
    ) -> Relation | None:
        """Compare the next lines; the relation as soon as it is certain before the file's end."""
        known: dict[bytes, dict[str, int]] = {}
        if self.candidates or not self.shared:
            known = line_rows.positions(connection, self.account, [chain for _, chain in batch])
        for line, chain in batch:
            found = known.get(chain, {})
            if self.shared:
                found = {chat: found[chat] for chat in self.candidates if chat in found}
            self._set_out(connection, found)
            walks = {
                chat: walk
                for chat, walk in self.walks.items()
                if walk.take(connection, line) is not None
            }
            if not found and not walks:
                return self._diverged(connection, line)
            self.candidates, self.walks = found, walks
            self.misaligned |= {chat for chat, number in found.items() if number != line.line}
            self._heard(line)
        return None

    def _heard(self, line: ImportedLine) -> None:
        self.shared += 1
        self.last = line
        self._heard_at.append(line.line)
        roles = {message.role for message in line.messages}
        self.heard_reply |= self.heard_user and "assistant" in roles
        self.heard_user |= "user" in roles

    def _set_out(self, connection: Connection, found: Collection[str]) -> None:
        """Begin to walk along chats whose own file does not go on as this one does."""
        left = [
            chat
            for chat in self.claims.marked(connection)
            if chat not in found and (chat in self.candidates or not self.shared)
        ]
        if self.shared and not (left or found or self.walks):
            chat = self.claims.preferred(connection, self.candidates)
            if self._enough(connection, chat) and not self.claims.differ(connection, chat):
                left = [chat]
        for chat in left:
            key, at = ChatKey(self.account, chat), self.candidates.get(chat, 0)
            if first_changed(connection, key, at) is None:
                number = lined_rows.last_until(connection, key, at).number
                self.walks[chat] = Walk(key, number=number, line=at, lined=self.shared)

    def ended(self, connection: Connection, digest: bytes) -> Relation:
        """The relation of a file that agreed to its end; ``digest`` is that of all its bytes."""
        same_bytes = line_rows.with_digest(connection, self.account, digest)
        if same_bytes is not None:
            return self._relation(connection, "present", same_bytes)
        if not self.shared:
            return Relation(kind="new")
        chat = self.claims.preferred(connection, {*self.candidates, *self.walks})
        if chat in self.walks:
            return self._ended_walking(connection, chat, digest)
        if not self._enough(connection, chat):
            return Relation(kind="new")
        newer = self.claims.same_file(connection, chat) or self._more_swipes(connection, chat)
        if newer and self._last(connection, chat).is_last:
            return self._relation(connection, "longer", chat)
        return self._relation(connection, "present", chat)

    def _ended_walking(self, connection: Connection, chat: str, digest: bytes) -> Relation:
        """The relation of a file that agreed to its end with a chat as it stands."""
        walk, own = self.walks[chat], Digest()
        if walk.half or not walk.at_end(connection):
            return self._relation(connection, "present", chat)
        export_chat(connection, walk.key, own)
        kind: Literal["present", "longer"] = "present" if own.value == digest else "longer"
        return self._relation(connection, kind, chat, number=walk.number)

    def _more_swipes(self, connection: Connection, chat: str) -> bool:
        """Whether the file's last message, the chat's last too, was swiped on since."""
        last = self._last(connection, chat)
        if self.last is None or not (last.untouched and last.line == self.candidates[chat]):
            return False
        known = rows.get(connection, ChatKey(self.account, chat), last.number)
        return len(self.last.messages[-1].swipes) > len(known.swipes)

    def _diverged(self, connection: Connection, line: ImportedLine) -> Relation:
        """What a file is that agreed with chats up to a line, and goes on differently."""
        if not self.shared:
            empty = (c for c, walk in self.walks.items() if walk.at_end(connection))
            chat = next(empty, None)
            return (
                self._relation(connection, "longer", chat)
                if chat
                else self._apart(connection, line.line)
            )
        chat = self.claims.preferred(connection, {*self.candidates, *self.walks})
        if chat in self.walks:
            return self._left_walking(connection, chat, line)
        if not self._enough(connection, chat):
            return self._apart(connection, line.line)
        reswiped = self._perhaps_reswiped(connection, line)
        if reswiped:
            return reswiped
        last = self._last(connection, chat)
        other = self.claims.differ(connection, chat) or self.claims.branches_off(connection, chat)
        if last.is_last and not other:
            return self._relation(connection, "longer", chat, number=last.number)
        key = ChatKey(self.account, chat)
        changed = first_changed(connection, key, self.candidates[chat])
        if changed is not None:  # a fork would copy what was changed into what the file tells
            self.shared, self.candidates[chat] = line_rows.told_before(connection, key, changed)
        return self._branch(connection, chat, self._last(connection, chat).number, line)

    def _left_walking(self, connection: Connection, chat: str, line: ImportedLine) -> Relation:
        """The same, where the last chat to agree did so as it stands."""
        walk = self.walks[chat]
        if walk.half:  # nothing can part within a message
            self.shared -= 1
        elif walk.at_end(connection) and not self.claims.branches_off(connection, chat):
            return self._relation(connection, "longer", chat, number=walk.number)
        return self._branch(connection, chat, walk.number, line)

    def _branch(
        self, connection: Connection, chat: str, number: int, line: ImportedLine
    ) -> Relation:
        """A branch of a chat at a message, the last that both share, if there is one."""
        parted = (*self._heard_at, line.line)[self.shared]
        if not number:
            return self._apart(connection, parted)
        return self._relation(connection, "branch", chat, number=number, parted=parted)

    def _apart(self, connection: Connection, line: int) -> Relation:
        """A chat of its own, though perhaps it carries the mark of another."""
        marked = self.claims.marked(connection)
        own = (chat for chat in marked if not self.claims.branches_off(connection, chat))
        claimed = next(own, None)
        return Relation(kind="new", claimed=claimed, parted=line if claimed else None)

    def _perhaps_reswiped(self, connection: Connection, line: ImportedLine) -> Relation | None:
        """The same chat, whose last message got another active swipe before it went on."""
        for chat, at in self.candidates.items():
            if not self.claims.same_file(connection, chat) or chat in self.misaligned:
                continue
            key = ChatKey(self.account, chat)
            last = lined_rows.last_until(connection, key, at + 1)
            texts = {storable(swipe.text) for message in line.messages for swipe in message.swipes}
            if last.line != at + 1 or not last.is_last or not last.untouched:
                continue
            if rows.get(connection, key, last.number).text in texts:
                self.shared += 1
                self.candidates[chat] = at + 1
                return self._relation(connection, "longer", chat, number=last.number)
        return None

    def _last(self, connection: Connection, chat: str) -> LastUntil:
        """The last message of a candidate in the lines that agree, those that are gone left out."""
        return lined_rows.last_until(connection, ChatKey(self.account, chat), self.candidates[chat])

    def _relation(
        self,
        connection: Connection,
        kind: Literal["present", "longer", "branch"],
        chat: str,
        *,
        number: int = 0,
        parted: int | None = None,
    ) -> Relation:
        key = ChatKey(self.account, chat)
        left = (
            parted is not None
            and self.claims.same_file(connection, chat)
            and not self.claims.branches_off(connection, chat)
        )
        walk = self.walks.get(chat)
        line = walk.line if walk else self.candidates.get(chat, 0)
        return Relation(
            kind=kind,
            chat=chat,
            shared=self.shared,
            lined=walk.lined if walk else self.shared,
            line=line,
            number=number,
            aligned=chat not in self.misaligned,
            version=chat_rows.state(connection, key).version,
            claimed=chat if left else None,
            parted=parted if left else None,
            gone=0 if kind == "branch" else lined_rows.gone(connection, key, line),
        )

    def _enough(self, connection: Connection, chat: str) -> bool:
        """Whether the common prefix proves anything.

        Every chat with a character begins with the same greeting, and many go on with the same
        "Hi"; only an answer to it is written once. Where both files carry a mark and the marks
        differ, SillyTavern says that they are two chats, and an answer is not enough.
        """
        if self.claims.branches_off(connection, chat) or self.shared >= _EVIDENCE_LINES:
            return True
        if self.claims.differ(connection, chat):
            return False
        return self.heard_reply or self.claims.same_file(connection, chat)
