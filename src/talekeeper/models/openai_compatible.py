"""A ChatModel behind any endpoint that speaks OpenAI's chat completions.

Who calls decides about trying again. A question is asked once more only in another form: where the
endpoint wants other names for the same parameters, or where a model that thinks before it answers
had no room for that.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

import anyio

from talekeeper.domain.errors import ModelError, ToolsUnsupported
from talekeeper.models.chat_model import Answer, Endpoint
from talekeeper.models.streaming import Assembly, count_of, joined

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI

__all__ = ["OpenAICompatible"]

_PERMANENT = frozenset({301, 302, 303, 400, 401, 402, 403, 404, 405, 410, 413, 422, 501})
_UNUSABLE = frozenset({301, 302, 303, 401, 402, 403, 404, 405, 410, 501})
_NO_CREDIT = "insufficient_quota"
_MOST_WAIT = 3_600.0
_MOST_SAID = 300

_THOUGHTS = 2_048
"""Tokens that a model which thinks may write before its answer."""

_CALLING = r"(?:tools?|tool[ -](?:use|calling|calls)|functions?|function[ -](?:calling|calls))"
_NO_TOOLS = re.compile(
    rf"(?:not|n't|\bno [^.]{{0,40}}) support(?: for)? {_CALLING}\b"
    rf"|\b{_CALLING}[`'\"]? (?:(?:is|are) )?(?:not supported|unsupported)\b"
    r"|\btool[_ -]choice\b"
    r"|\b(?:unknown|unrecognized|unexpected|unsupported) (?:\w+ )?"
    r"(?:field|param|parameter|argument)s?(?: supplied)?\W{1,4}tools\b",
    re.IGNORECASE,
)
"""What endpoints say whose model takes no tools; other errors speak of tools too, as of what took
too much of the context."""

_LONGEST_TOKEN = 16
_ENDLESS = 20_000
"""Characters: beyond ``most_tokens`` long tokens and these thoughts a stream is not read."""

_FORMS = 3
"""A request can be wrong in the name of its bound, in its temperature, or in both."""


class OpenAICompatible:
    """See :class:`ChatModel`; the connection is made with the first question."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.name = endpoint.model
        self._bound = "max_tokens"
        self._tempered = True
        self._thinks = False
        self._counts = True

    @cached_property
    def _client(self) -> "AsyncOpenAI":
        # Imported here: reading the package takes longer than opening a database.
        from openai import AsyncOpenAI

        client = AsyncOpenAI(
            base_url=self.endpoint.base_url,
            api_key=self.endpoint.key.get_secret_value() or "none",
            default_headers=dict(self.endpoint.headers),
            timeout=self.endpoint.timeout,
            max_retries=0,
        )
        # Taken from the environment, they would tell any endpoint whose customer one is at OpenAI.
        client.organization = client.project = None
        return client

    async def complete(
        self, messages: Sequence[Mapping[str, str]], *, most_tokens: int, temperature: float
    ) -> Answer:
        asked: list[Any] = [dict(message) for message in messages]
        with self._errors():
            # The client's own time-out is for each read: an answer that trickles has no end.
            with anyio.fail_after(self.endpoint.timeout):
                answer = await self._ask(asked, most_tokens, temperature)
                if not self._thinks and _is_thought(answer):
                    self._thinks = True
                    answer = await self._ask(asked, most_tokens, temperature)
            text, usage = self._text(answer), getattr(answer, "usage", None)
            return Answer(
                text=text,
                prompt_tokens=count_of(usage, "prompt_tokens"),
                reply_tokens=count_of(usage, "completion_tokens"),
            )

    async def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        most_tokens: int,
        on_text: Callable[[str], None],
    ) -> Answer:
        assembly = Assembly(on_text)
        with self._errors(tools=bool(tools)):
            stream = await self._open(messages, tools, most_tokens)
            try:
                await self._read(stream, assembly, most_tokens)
            finally:
                with anyio.CancelScope(shield=True):
                    await stream.close()
        answer = assembly.answer()
        if assembly.refusal and not answer.text.strip():
            raise self._error(f"refused: {_short(assembly.refusal)}", permanent=True)
        if not answer.text.strip() and not answer.calls:
            if answer.finish == "content_filter":
                raise self._error("refused: its filter kept the answer back.", permanent=True)
            why = ": all the tokens it may write went into its thoughts" * bool(answer.reasoning)
            raise self._error(f"gave an empty answer{why}.")
        return answer

    async def _open(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], most: int
    ) -> Any:
        """The stream, asked for in the form that the endpoint takes."""
        from openai import BadRequestError

        form: dict[str, Any] = {
            "model": self.name,
            "messages": [dict(message) for message in messages],
            "stream": True,
        }
        if tools:
            form["tools"] = [dict(tool) for tool in tools]
        create: Any = self._client.chat.completions.create
        while True:
            if self._counts:
                form["stream_options"] = {"include_usage": True}
            try:
                with anyio.fail_after(self.endpoint.timeout):
                    return await create(**form, **{self._bound: most})
            except BadRequestError as error:
                if self._counts and "stream_options" in f"{error.param} {error.message}":
                    self._counts = False
                    del form["stream_options"]
                elif not (error.param == "max_tokens" and self._reformed(error)):
                    raise

    async def _read(self, stream: Any, assembly: Assembly, most_tokens: int) -> None:
        """Each chunk within the time-out; a server that never ends is left after a while.

        Some servers answer with a whole completion where a stream is asked for.
        """
        if "json" in stream.response.headers.get("content-type", ""):
            with anyio.fail_after(self.endpoint.timeout):
                assembly.take(json.loads(await stream.response.aread()))
            return
        # Closed here: left to the garbage collector, its end may come while it is read.
        async with aclosing(aiter(stream)) as chunks:
            while assembly.size < most_tokens * _LONGEST_TOKEN + _ENDLESS:
                with anyio.fail_after(self.endpoint.timeout):
                    try:
                        assembly.take(await anext(chunks))
                    except StopAsyncIteration:
                        return

    async def close(self) -> None:
        client = self.__dict__.pop("_client", None)
        if client is not None:
            await client.close()

    async def _ask(self, messages: list[Any], most_tokens: int, temperature: float) -> object:
        from openai import BadRequestError

        most_tokens += _THOUGHTS if self._thinks else 0
        for _ in range(_FORMS - 1):
            form: dict[str, Any] = {self._bound: most_tokens}
            if self._tempered:
                form["temperature"] = temperature
            try:
                return await self._client.chat.completions.create(
                    model=self.name, messages=messages, **form
                )
            except BadRequestError as error:
                if not self._reformed(error):
                    raise
        return await self._client.chat.completions.create(
            model=self.name, messages=messages, max_completion_tokens=most_tokens
        )

    def _reformed(self, error: "APIStatusError") -> bool:
        """Whether the endpoint wants the request in another form, which is used from now on."""
        if error.param == "max_tokens" and self._bound == "max_tokens":
            self._bound = "max_completion_tokens"
        elif error.param == "temperature" and self._tempered:
            self._tempered = False
        else:
            return False
        return True

    @contextmanager
    def _errors(self, *, tools: bool = False) -> Iterator[None]:
        """Turn all that can go wrong between here and the model into a ModelError.

        ``tools`` tells that some are offered: not all models take them.
        """
        import httpx2
        import openai

        try:
            yield
        except openai.APIStatusError as error:
            refused = self._refused(error)
            named = error.param in ("tools", "tool_choice") or _NO_TOOLS.search(error.message)
            if tools and refused.permanent and named:
                raise ToolsUnsupported(str(refused), permanent=True) from None
            raise refused from None
        except (openai.APITimeoutError, TimeoutError):
            raise self._error(f"gave no answer within {self.endpoint.timeout:g} seconds.") from None
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            why = str(cause) or type(cause).__name__
            raise self._error(f"could not be asked: {why}. Is it running there?") from None
        except httpx2.HTTPError as error:
            why = str(error) or type(error).__name__
            raise self._error(f"broke off its answer: {why}.") from None
        except openai.APIError as error:
            raise self._error(f"ended its answer with an error: {_short(error.message)}") from None
        except (openai.OpenAIError, ValueError, TypeError, RecursionError) as error:
            raise self._error(f"gave a broken answer: {error}") from None

    def _error(
        self,
        what: str,
        *,
        permanent: bool = False,
        unusable: bool = False,
        wait: float | None = None,
    ) -> ModelError:
        """An error without secrets: servers and libraries quote what they were sent.

        It is raised without the library's own one behind it, for the same reason.
        """
        secrets = [self.endpoint.key.get_secret_value(), *self.endpoint.headers.values()]
        for secret in sorted(filter(None, secrets), key=len, reverse=True):
            what = what.replace(secret, "***")
        what = f"The model {self.name!r} at {self.endpoint.where} {what}"
        what = what if what.endswith((".", "!", "?")) else f"{what}."
        return ModelError(what, permanent=permanent, unusable=unusable, wait=wait)

    def _refused(self, error: "APIStatusError") -> ModelError:
        said = error.message.removeprefix(f"Error code: {error.status_code}").lstrip(" -")
        return self._error(
            f"answered {error.status_code}: {_short(said) or 'no reason given'}",
            permanent=error.status_code in _PERMANENT or error.code == _NO_CREDIT,
            unusable=error.status_code in _UNUSABLE or error.code == _NO_CREDIT,
            wait=_wait(error.response.headers),
        )

    def _text(self, answer: object) -> str:
        """The answer's text. What servers send is not always what they promised."""
        if isinstance(answer, str):
            raise self._error(
                "answered with a page, not with a completion. Is the base URL right? "
                "Most end in /v1.",
                permanent=True,
                unusable=True,
            )
        choice = _choice(answer)
        message = getattr(choice, "message", None)
        if message is None:
            said = _short(_told(getattr(answer, "error", None)))
            raise self._error(f"gave an answer without a choice{said and f': {said}'}.")
        if getattr(message, "refusal", None):
            raise self._error(f"refused: {_short(str(message.refusal))}", permanent=True)
        text = joined(getattr(message, "content", None))
        if text.strip():
            return text
        finish = getattr(choice, "finish_reason", None)
        if finish == "content_filter":
            raise self._error("refused: its filter kept the answer back.", permanent=True)
        called = getattr(message, "tool_calls", None)
        why = ", but tool calls, though none were offered" if called else ""
        if finish == "length":
            why = ": all the tokens it may write went into its thoughts"
        raise self._error(f"gave an empty answer{why}.")


def _choice(answer: object) -> object:
    choices = getattr(answer, "choices", None)
    return choices[0] if isinstance(choices, list) and choices else None


def _is_thought(answer: object) -> bool:
    """Whether the model's bound came while it was still thinking."""
    choice = _choice(answer)
    if getattr(choice, "finish_reason", None) != "length":
        return False
    text = joined(getattr(getattr(choice, "message", None), "content", None)).lstrip().lower()
    return not text or (text.startswith("<think") and "</think" not in text)


def _told(error: object) -> str:
    """What an error that came with status 200 says."""
    said = error.get("message") if isinstance(error, dict) else error
    return said if isinstance(said, str) else ""


def _short(text: str) -> str:
    return " ".join(text.split())[:_MOST_SAID]


def _wait(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, told as a number or as a date; the date by the server's own clock."""
    told = headers.get("retry-after", "")
    try:
        seconds = float(told)
    except ValueError:
        try:
            until, now = (parsedate_to_datetime(text) for text in (told, headers.get("date", "")))
            seconds = (until - now).total_seconds()
        except (ValueError, TypeError):
            return None
    return min(seconds, _MOST_WAIT) if seconds > 0 else None
