"""Following a file along a chat as it stands by now, message by message.

Chains know what a file said when it was imported. What was written, edited or deleted here since is
in no chain: an export of the chat that comes back is compared with the messages themselves. Knows
one chat; does not decide what a file is to it.
"""

from dataclasses import dataclass, field

from sqlalchemy import Connection

from talekeeper.domain.chat import Message
from talekeeper.formats.imported import ImportedLine, ImportedMessage
from talekeeper.record.texts import storable
from talekeeper.store import messages as rows
from talekeeper.store.keys import ChatKey

__all__ = ["Walk"]

_PAGE = 200


@dataclass(slots=True)
class Walk:
    """A walk along a chat. ``number`` is the last message up to which all agreed.

    ``half`` tells that the words of a message with tool calls were told, and its calls not yet:
    SillyTavern keeps the two in two lines.
    """

    key: ChatKey
    number: int = 0
    half: bool = False
    _ahead: list[Message] = field(default_factory=list)
    _read: int | None = None

    def take(self, connection: Connection, line: ImportedLine) -> list[Message] | None:
        """The next messages, if they say what the line says; None where they do not.

        A message whose words and calls stand in two lines is answered for the first of them.
        """
        if line.messages[0].tool_calls:
            return self._take_calls(connection, line)
        message, said = self._next(connection), line.messages[0]
        if message is None or self.half or message.role != said.role:
            return None
        if message.role == "tool" or message.speaker != storable(said.speaker):
            return None
        if message.text != storable(said.text) and not self._swiped_on(connection, message, said):
            return None
        if message.swipe.tool_calls:
            self.half = bool(message.text)
            return [message] if self.half else None
        self._pass([message])
        return [message]

    def at_end(self, connection: Connection) -> bool:
        """Whether the chat has no more messages."""
        return self._next(connection) is None

    def _take_calls(self, connection: Connection, line: ImportedLine) -> list[Message] | None:
        """A call and its results; a result that nobody gave is written as an empty one."""
        caller, passed = self._next(connection), list[Message]()
        if caller is None:
            return None
        if caller.role != "tool":  # the call of a result may be gone
            if not caller.swipe.tool_calls:
                return None
            if not self.half and caller.text != storable(line.messages[0].text):
                return None
            passed.append(caller)
        told = {one.tool_call_id: storable(one.text) for one in line.messages[1:]}
        while result := self._next(connection, len(passed)):
            if result.role != "tool" or result.tool_call_id not in told:
                break
            if told.pop(result.tool_call_id) != result.text:
                return None
            passed.append(result)
        taken = passed[1:] if self.half else passed
        if any(told.values()) or not taken:
            return None
        self.half = False
        self._pass(passed)
        return taken

    def _swiped_on(self, connection: Connection, message: Message, said: ImportedMessage) -> bool:
        """Whether the chat's last message only got another active swipe, and lost none."""
        if message.swipe.tool_calls or self._next(connection, 1) is not None:
            return False
        texts = {storable(swipe.text) for swipe in said.swipes}
        return {swipe.text for swipe in message.swipes} <= texts

    def _pass(self, messages: list[Message]) -> None:
        self.number = messages[-1].number
        del self._ahead[: len(messages)]

    def _next(self, connection: Connection, at: int = 0) -> Message | None:
        """The message ``at`` places ahead, None behind the last one."""
        while at >= len(self._ahead):
            after = self.number if self._read is None else self._read
            page = rows.after(connection, self.key, after, limit=_PAGE)
            if not page:
                return None
            self._ahead += page
            self._read = page[-1].number
        return self._ahead[at]
