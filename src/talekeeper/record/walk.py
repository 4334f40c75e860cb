"""Following a file along a chat as it stands by now, message by message.

Chains know what a file said when it was imported. What was written, edited or deleted here since is
in no chain: an export of the chat that comes back is compared with the messages themselves. Knows
one chat; does not decide what a file is to it.
"""

from dataclasses import dataclass, field

from sqlalchemy import Connection

from talekeeper.formats.imported import ImportedLine, ImportedMessage
from talekeeper.record.texts import storable
from talekeeper.store import lined_messages as rows
from talekeeper.store.keys import ChatKey
from talekeeper.store.lined_messages import LinedMessage

__all__ = ["Walk"]

_PAGE = 200


@dataclass(slots=True)
class Walk:
    """A walk along a chat. ``number`` is the last message up to which all agreed.

    It began behind ``lined`` lines that the file and the chat's own file share, the last of which
    is the chat's ``line``. ``half`` tells that the walk stands within a message: the words of one
    with tool calls were told, and its calls not yet, since SillyTavern keeps the two in two lines;
    or the file tells another swipe of the chat's last message, and the person chose one here.
    """

    key: ChatKey
    number: int = 0
    line: int = 0
    lined: int = 0
    half: bool = False
    _ahead: list[LinedMessage] = field(default_factory=list)
    _read: int | None = None

    def take(self, connection: Connection, line: ImportedLine) -> list[LinedMessage] | None:
        """The next messages, if they say what the line says; None where they do not.

        A message whose words and calls stand in two lines is answered for the first of them.
        """
        said = line.messages[0]
        if said.tool_calls:
            return self._take_calls(connection, line)
        lined = self._next(connection)
        if lined is None or self.half:
            return None
        message = lined.message
        if message.role == "tool" or message.role != said.role:
            return None
        if message.speaker != storable(said.speaker):
            return None
        if message.text != storable(said.text):
            if not self._swiped_on(connection, lined, said):
                return None
            self.half = not lined.untouched and len(said.swipes) <= len(message.swipes)
        elif message.swipe.tool_calls:
            self.half = bool(message.text)
            if not self.half:
                return None
        if not self.half:
            self._pass([lined])
        return [lined]

    def at_end(self, connection: Connection) -> bool:
        """Whether the chat has no more messages."""
        return self._next(connection) is None

    def _take_calls(self, connection: Connection, line: ImportedLine) -> list[LinedMessage] | None:
        """A call and its results; a result that nobody gave is written as an empty one."""
        lined, passed = self._next(connection), list[LinedMessage]()
        if lined is None:
            return None
        caller = lined.message
        if caller.role != "tool":  # the call of a result may be gone
            if not caller.swipe.tool_calls:
                return None
            if not self.half and caller.text != storable(line.messages[0].text):
                return None
            passed.append(lined)
        told = {one.tool_call_id: storable(one.text) for one in line.messages[1:]}
        while result := self._next(connection, len(passed)):
            if result.message.role != "tool" or result.message.tool_call_id not in told:
                break
            if told.pop(result.message.tool_call_id) != result.message.text:
                return None
            passed.append(result)
        taken = passed[1:] if self.half else passed
        if any(told.values()) or not taken:
            return None
        self.half = False
        self._pass(passed)
        return taken

    def _swiped_on(
        self, connection: Connection, lined: LinedMessage, said: ImportedMessage
    ) -> bool:
        """Whether the chat's last message only got another active swipe, and lost none."""
        message = lined.message
        if message.swipe.tool_calls or self._next(connection, 1) is not None:
            return False
        texts = {storable(swipe.text) for swipe in said.swipes}
        return {swipe.text for swipe in message.swipes} <= texts

    def _pass(self, passed: list[LinedMessage]) -> None:
        self.number = passed[-1].message.number
        del self._ahead[: len(passed)]

    def _next(self, connection: Connection, at: int = 0) -> LinedMessage | None:
        """The message ``at`` places ahead, None behind the last one."""
        while at >= len(self._ahead):
            after = self.number if self._read is None else self._read
            page = rows.after(connection, self.key, after, limit=_PAGE)
            if not page:
                return None
            self._ahead += page
            self._read = page[-1].message.number
        return self._ahead[at]
