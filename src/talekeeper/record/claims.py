"""What a chat file says of itself, held against the chats that are there.

A file may carry the mark of a chat (``integrity``) and name the chat that it branched from
(``main_chat``). Knows nothing of what is said in them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlalchemy import Connection

from talekeeper.formats.imported import ImportedHeader
from talekeeper.record.marks import file_title, mark_of
from talekeeper.record.texts import storable
from talekeeper.store import lines as line_rows
from talekeeper.store.keys import ChatKey
from talekeeper.store.lines import ImportRow

__all__ = ["Claims"]


@dataclass(slots=True)
class Claims:
    """The claims of one file; what chats came from is read once."""

    account: str
    header: ImportedHeader | None
    _imports: dict[str, ImportRow | None] = field(default_factory=dict)
    _marked: list[str] | None = None

    @property
    def mark(self) -> str | None:
        """The mark that the file carries."""
        mark = self.header.integrity if self.header else None
        return None if mark is None else storable(mark)

    def marked(self, connection: Connection) -> list[str]:
        """The chats that carry the file's mark, or whose id it is; the oldest first."""
        if self._marked is None:
            mark = self.mark
            self._marked = line_rows.marked(connection, self.account, mark) if mark else []
        return self._marked

    def read(self, connection: Connection, chats: Iterable[str]) -> None:
        """Read what chats came from, all at once, since there may be many."""
        missing = [chat for chat in chats if chat not in self._imports]
        found = line_rows.imports_of(connection, self.account, missing)
        self._imports |= {chat: found.get(chat) for chat in missing}

    def same_file(self, connection: Connection, chat: str) -> bool:
        """Whether the mark says that both are one chat, or one a branch of the other."""
        if self.mark is None:
            return False
        found = self._import_of(connection, chat)
        return chat == self.mark or (found is not None and found.integrity == self.mark)

    def differ(self, connection: Connection, chat: str) -> bool:
        """Whether both carry a mark, and not the same one: SillyTavern says they are two chats."""
        if self.mark is None:
            return False
        found = self._import_of(connection, chat)
        marked = found is not None and found.integrity is not None
        return marked and not self.same_file(connection, chat)

    def branches_off(self, connection: Connection, chat: str) -> bool:
        """Whether the file says that it is a branch, and the chat is not that branch itself."""
        name = self.header.main_chat if self.header else None
        return (
            name is not None and mark_of(connection, ChatKey(self.account, chat)).main_chat != name
        )

    def names(self, connection: Connection, chat: str) -> bool:
        """Whether the file names this chat as the one it branched from."""
        name = self.header.main_chat if self.header else None
        found = self._import_of(connection, chat)
        return name is not None and found is not None and file_title(found) == name

    def preferred(self, connection: Connection, agreeing: Iterable[str]) -> str:
        """Among the chats that agree: the same one, the one it branched from, else the oldest."""
        chats = sorted(agreeing)
        self.read(connection, chats)
        same = [chat for chat in chats if self.same_file(connection, chat)]
        own = (chat for chat in same if not self.branches_off(connection, chat))
        parent = (chat for chat in chats if self.names(connection, chat))
        found = next(own, None) or next(parent, None)
        return found or (same[0] if same else chats[0])

    def _import_of(self, connection: Connection, chat: str) -> ImportRow | None:
        self.read(connection, [chat])
        return self._imports[chat]
