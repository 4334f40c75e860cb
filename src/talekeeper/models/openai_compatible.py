"""A ChatModel behind any endpoint that speaks OpenAI's chat completions.

Tries once: who calls decides about trying again.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from talekeeper.domain.errors import ModelError
from talekeeper.models.chat_model import Endpoint

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI

__all__ = ["OpenAICompatible"]

_PERMANENT = frozenset({400, 401, 403, 404, 405, 410, 413, 422})
_MOST_WAIT = 3_600.0


class OpenAICompatible:
    """See :class:`ChatModel`; the connection is made with the first question."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.name = endpoint.model

    @cached_property
    def _client(self) -> "AsyncOpenAI":
        # Imported here: reading the package takes longer than opening a database.
        from openai import AsyncOpenAI

        return AsyncOpenAI(
            base_url=self.endpoint.base_url,
            api_key=self.endpoint.key.get_secret_value() or "none",
            default_headers=dict(self.endpoint.headers),
            timeout=self.endpoint.timeout,
            max_retries=0,
        )

    async def complete(
        self, messages: Sequence[Mapping[str, str]], *, most_tokens: int, temperature: float
    ) -> str:
        import openai

        asked: list[Any] = [dict(message) for message in messages]
        try:
            answer = await self._client.chat.completions.create(
                model=self.name,
                messages=asked,
                max_tokens=most_tokens,
                temperature=temperature,
            )
        except openai.APIStatusError as error:
            raise _refused(self.endpoint, error) from error
        except openai.APITimeoutError as error:
            raise ModelError(
                f"{self._where} gave no answer within {self.endpoint.timeout:g} seconds.",
                permanent=False,
            ) from error
        except openai.APIConnectionError as error:
            raise ModelError(
                f"{self._where} cannot be reached: {error.__cause__ or error}. Is it running?",
                permanent=False,
            ) from error
        except (openai.OpenAIError, ValueError, TypeError) as error:
            raise ModelError(f"{self._where} gave a broken answer: {error}", permanent=False) from (
                error
            )
        return self._text(answer)

    async def close(self) -> None:
        if "_client" in self.__dict__:
            await self._client.close()

    @property
    def _where(self) -> str:
        return f"The model {self.name!r} at {self.endpoint.base_url}"

    def _text(self, answer: object) -> str:
        """The answer's text. What servers send is not always what they promised."""
        choices = getattr(answer, "choices", None)
        message = getattr(choices[0], "message", None) if choices else None
        if message is None:
            raise ModelError(f"{self._where} gave an answer without a choice.", permanent=False)
        if getattr(message, "refusal", None):
            raise ModelError(f"{self._where} refused: {message.refusal}", permanent=True)
        text = getattr(message, "content", None)
        if not isinstance(text, str) or not text.strip():
            called = " but tool calls, though none were offered" if message.tool_calls else ""
            raise ModelError(f"{self._where} gave an empty answer{called}.", permanent=False)
        return text


def _refused(endpoint: Endpoint, error: "APIStatusError") -> ModelError:
    said = str(getattr(error, "message", error)).splitlines()[0][:300]
    return ModelError(
        f"The model {endpoint.model!r} at {endpoint.base_url} answered {error.status_code}: {said}",
        permanent=error.status_code in _PERMANENT,
        wait=_wait(error.response.headers.get("retry-after")),
    )


def _wait(told: str | None) -> float | None:
    try:
        seconds = float(told or "")
    except ValueError:
        return None
    return min(seconds, _MOST_WAIT) if seconds > 0 else None
