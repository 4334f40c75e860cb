"""``talekeeper rename`` and ``delete``: what is done to a chat as a whole."""

from typing import Any

from rich.console import Console
from rich.prompt import Confirm

from talekeeper.cli.plain import counted, safe
from talekeeper.domain.chat import Chat
from talekeeper.domain.errors import InvalidInput

__all__ = ["confirm_deletion", "deleted_json", "renamed_json"]


def confirm_deletion(chat: Chat) -> None:
    """Ask on standard error whether the chat may go. InvalidInput where the answer is not yes."""
    question = (
        f"Delete {safe(chat.title)} with its {counted(chat.messages, 'message')}? "
        "This cannot be undone."
    )
    try:
        agreed = Confirm.ask(question, console=Console(stderr=True), default=False)
    except EOFError:
        agreed = False
    if not agreed:
        raise InvalidInput(f"{chat.title!r} was not deleted. Answer yes, or add --yes.")


def deleted_json(chat: Chat) -> dict[str, Any]:
    """The documented JSON shape of a deletion."""
    return {"id": chat.id, "title": chat.title, "messages": chat.messages}


def renamed_json(chat: Chat, before: str) -> dict[str, Any]:
    """The documented JSON shape of a new title."""
    return {"id": chat.id, "title": chat.title, "before": before}
