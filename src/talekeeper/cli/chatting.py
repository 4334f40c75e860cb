"""``talekeeper rename`` and ``delete``: what is done to a chat as a whole."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from talekeeper.cli.asking import agreed
from talekeeper.cli.plain import counted, safe
from talekeeper.domain.chat import Chat
from talekeeper.domain.errors import InvalidInput
from talekeeper.keeper import Keeper
from talekeeper.store.keys import lookup_key

__all__ = ["Renamed", "confirm_deletion", "deleted", "deleted_json", "renamed"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Renamed:
    """A chat under its new title, the one before, and the ids of others of the same title."""

    chat: Chat
    before: str
    others: Sequence[str]

    def as_json(self) -> dict[str, Any]:
        """The documented JSON shape."""
        return {
            "id": self.chat.id,
            "title": self.chat.title,
            "before": self.before,
            "others": list(self.others),
        }


def confirm_deletion(chat: Chat) -> None:
    """Ask on standard error whether the chat may go. InvalidInput where the answer is not yes."""
    question = (
        f"Delete {safe(chat.title)} with its {counted(chat.messages, 'message')}? "
        "This cannot be undone."
    )
    if not agreed(question):
        raise InvalidInput(f"{chat.title!r} was not deleted. Answer yes, or add --yes.")


async def deleted(keeper: Keeper, chat: str) -> Chat:
    """Delete a chat; answers it as it was at the end."""
    found = await keeper.chats.get(chat)
    await keeper.chats.delete(chat)
    return found


def deleted_json(chat: Chat) -> dict[str, Any]:
    """The documented JSON shape of a deletion."""
    return {"id": chat.id, "title": chat.title, "messages": chat.messages}


async def renamed(keeper: Keeper, name: str, title: str) -> Renamed:
    """Give a chat another title."""
    found = await keeper.chats.find(name)
    chat = await keeper.chats.rename(found.id, title)
    key = lookup_key(chat.title)
    others = [
        other.id
        for other in await keeper.chats.list()
        if other.id != chat.id and lookup_key(other.title) == key
    ]
    return Renamed(chat=chat, before=found.title, others=others)
