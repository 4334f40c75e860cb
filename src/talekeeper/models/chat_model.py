"""What Talekeeper asks of a language model, and where one is to be found."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from talekeeper.domain.chat import ToolCall

__all__ = ["Answer", "ChatModel", "Endpoint"]


class Endpoint(BaseModel):
    """An OpenAI-compatible endpoint and a model of it.

    ``base_url`` ends where ``/chat/completions`` begins: ``http://127.0.0.1:11434/v1`` for Ollama.
    ``timeout`` is in seconds, for one whole answer. ``headers`` are sent with every request; like
    the key they are secrets, shown nowhere.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    base_url: str
    model: Annotated[str, Field(min_length=1)]
    key: SecretStr = SecretStr("")
    headers: Mapping[str, str] = Field(default_factory=dict, repr=False)
    timeout: Annotated[float, Field(gt=0, le=3_600)] = 120.0

    @field_validator("base_url")
    @classmethod
    def _web_address(cls, value: str) -> str:
        address, value = "begin with http:// or https:// and name a host", value.strip()
        try:
            parts = urlsplit(value)
            usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:
            usable = False
        if not usable or not _sendable(value) or " " in value:
            raise ValueError(f"the base URL must {address}, as in http://127.0.0.1:11434/v1")
        return value

    @field_validator("key")
    @classmethod
    def _one_line(cls, value: SecretStr) -> SecretStr:
        key = value.get_secret_value().strip()
        if not _sendable(key) or " " in key:
            raise ValueError("the key holds characters that no key has; copy it again")
        return SecretStr(key)

    @field_validator("headers")
    @classmethod
    def _sendable_headers(cls, value: Mapping[str, str]) -> Mapping[str, str]:
        if not all(_sendable(f"{name}{text}") and name.strip() for name, text in value.items()):
            raise ValueError("names and values of headers are plain ASCII without line breaks")
        return value

    @property
    def where(self) -> str:
        """The address as it may be shown: without a password or a query."""
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What a model said in one go.

    ``calls`` are tools it wants called; their arguments are JSON as the model wrote it.
    ``reasoning`` is what it thought before. ``finish`` is why it ended: ``stop``, ``length``,
    ``tool_calls`` or what else the server calls it. The counts of tokens are the server's, None
    where it does not tell.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    finish: str = "stop"
    prompt_tokens: int | None = None
    reply_tokens: int | None = None


class ChatModel(Protocol):
    """Answers a conversation with a text. One instance serves many callers at once."""

    name: str
    """The model's name, as it is told to the endpoint."""

    async def complete(
        self, messages: Sequence[Mapping[str, str]], *, most_tokens: int, temperature: float
    ) -> Answer:
        """One answer, its text at most about ``most_tokens`` long; no tools are offered.

        What a model thinks before it answers may come before the text, in ``<think>`` tags, and is
        not counted.

        Raises ModelError: ``permanent`` where the same request cannot succeed later (no such
        model, no access, refused), else where it may (overload, time-out, a broken answer, an
        empty one). Its text is never empty.
        """

    async def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        most_tokens: int,
        on_text: Callable[[str], None],
    ) -> Answer:
        """One answer, of which ``on_text`` is told the text piece by piece as it comes.

        Messages and tools have the shape of OpenAI chat completions. Cancelling it ends the
        request. An answer without text or calls is an error, not an answer.

        Raises ModelError as :meth:`complete` does, also after some of the text has come, and
        ToolsUnsupported where tools are offered and the model takes none.
        """

    async def close(self) -> None:
        """Let go of connections."""


def _sendable(text: str) -> bool:
    return text.isascii() and (text.isprintable() or not text)
