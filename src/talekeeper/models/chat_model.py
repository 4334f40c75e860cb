"""What Talekeeper asks of a language model, and where one is to be found."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Protocol

from pydantic import BaseModel, ConfigDict, Field, SecretStr

__all__ = ["ChatModel", "Endpoint"]


class Endpoint(BaseModel):
    """An OpenAI-compatible endpoint and a model of it.

    ``base_url`` ends where ``/chat/completions`` begins: ``http://127.0.0.1:11434/v1`` for Ollama.
    ``timeout`` is in seconds, for one whole answer. ``headers`` are sent with every request.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    base_url: str
    model: Annotated[str, Field(min_length=1)]
    key: SecretStr = SecretStr("")
    headers: Mapping[str, str] = Field(default_factory=dict)
    timeout: Annotated[float, Field(gt=0, le=3_600)] = 120.0


class ChatModel(Protocol):
    """Answers a conversation with a text. One instance serves many callers at once."""

    name: str
    """The model's name, as it is told to the endpoint."""

    async def complete(
        self, messages: Sequence[Mapping[str, str]], *, most_tokens: int, temperature: float
    ) -> str:
        """The text of one answer, at most about ``most_tokens`` long; no tools are offered.

        Raises ModelError: ``permanent`` where the same request cannot succeed later (no such
        model, no access, refused), else where it may (overload, time-out, a broken answer, an
        empty one). Never returns an empty text.
        """

    async def close(self) -> None:
        """Let go of connections."""
