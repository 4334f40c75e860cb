"""What a fake model server may do with a request: answers, errors, and answers that are broken.

Each function makes one :class:`Step`; :func:`delayed`, :func:`held` and :func:`cut` change one.
Steps that hold a completion are sent as JSON or, where the request asks for a stream, as
server-sent events.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

__all__ = [
    "ModelRequest",
    "Step",
    "answer",
    "calling",
    "cut",
    "delayed",
    "empty",
    "error",
    "events",
    "failing",
    "hanging",
    "held",
    "invalid_json",
    "json_body",
    "long_answer",
    "no_such_model",
    "null",
    "paced",
    "refusal",
    "thoughts",
    "too_many",
    "tool_calls",
    "unauthorized",
    "web_page",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelRequest:
    """A request as it arrived. Names of headers are in lower case; ``body`` is the parsed JSON."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]:
        """The conversation that the model was asked to answer."""
        found: Sequence[Mapping[str, Any]] = self.body.get("messages", ())
        return found

    @property
    def text(self) -> str:
        """All that the messages say, for a search in it."""
        return "\n".join(str(message.get("content") or "") for message in self.messages)


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """What the server does with one request.

    ``message`` is a completion's message, ``body`` stands in place of a completion. ``delay`` is in
    seconds, before anything is sent. ``hold`` waits until the server is told to go on; ``cut``
    breaks the connection off in the middle of the body; ``hang`` never answers. With a ``pace`` the
    body comes in pieces, one event of a stream or about a tenth of a document, so many seconds
    apart.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    message: Mapping[str, Any] | None = None
    finish: str = "stop"
    body: bytes = b""
    delay: float = 0.0
    hold: bool = False
    cut: bool = False
    hang: bool = False
    pace: float = 0.0

    def payload(self, request: ModelRequest, number: int) -> bytes:
        """The body to be sent for the request that came as the ``number``-th."""
        if self.message is None:
            return self.body
        model = request.body.get("model", "")
        head = {"id": f"chatcmpl-{number}", "created": 0, "model": model}
        usage = _usage(request, self.message)
        if not request.body.get("stream"):
            choice = {"index": 0, "message": self.message, "finish_reason": self.finish}
            whole = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
            return json.dumps(whole).encode()
        head["object"] = "chat.completion.chunk"
        events = [json.dumps({**head, "choices": [choice]}) for choice in self._deltas()]
        if (request.body.get("stream_options") or {}).get("include_usage"):
            events.append(json.dumps({**head, "choices": [], "usage": usage}))
        return "".join(f"data: {event}\n\n" for event in (*events, "[DONE]")).encode()

    def pieces(self, payload: bytes) -> list[bytes]:
        """The body as it goes out, piece by piece."""
        payload = payload[: len(payload) // 2] if self.cut else payload
        if not self.pace:
            return [payload]
        if payload.startswith(b"data: "):
            return [event + b"\n\n" for event in payload.split(b"\n\n") if event]
        size = max(1, len(payload) // 10)
        return [payload[at : at + size] for at in range(0, len(payload), size)]

    def sent_as(self, request: ModelRequest) -> str:
        """The content type of the body."""
        streamed = self.message is not None and request.body.get("stream")
        return "text/event-stream" if streamed else self.content_type

    def _deltas(self) -> Iterator[dict[str, Any]]:
        """The choices of a stream: the role, the text word by word, what else there is, the end."""
        assert self.message is not None
        content = self.message.get("content")
        yield _choice({"role": "assistant", "content": "" if content is not None else None})
        for piece in re.findall(r"\s*\S+\s*", content or ""):
            yield _choice({"content": piece})
        for index, call in enumerate(self.message.get("tool_calls") or ()):
            yield _choice({"tool_calls": [{"index": index, **call}]})
        if self.message.get("refusal"):
            yield _choice({"refusal": self.message["refusal"]})
        yield _choice({}, self.finish)


def _choice(delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": finish}


def _usage(request: ModelRequest, message: Mapping[str, Any]) -> dict[str, int]:
    """Words stand in for tokens."""
    read, written = len(request.text.split()), len(str(message.get("content") or "").split())
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def answer(text: str | None, *, finish: str = "stop", **more: Any) -> Step:
    """A completion with that text; ``more`` are further fields of its message."""
    return Step(message={"role": "assistant", "content": text, **more}, finish=finish)


def empty() -> Step:
    """A completion whose text is empty."""
    return answer("")


def null() -> Step:
    """A completion whose text is null."""
    return answer(None)


def refusal(text: str = "I can't help with that.") -> Step:
    """A completion whose message has a refusal in place of a text."""
    return answer(None, refusal=text)


def tool_calls(name: str = "add_memory", arguments: str = "{}") -> Step:
    """A completion that calls a tool, whether or not one was offered."""
    return calling((name, arguments))


def calling(
    *calls: tuple[str, str | Mapping[str, Any]], text: str | None = None, finish: str = "tool_calls"
) -> Step:
    """A completion that calls tools, perhaps after some text. Each call is a name and its
    arguments: an object, or a text that is sent as it is."""
    called = [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {
                "name": name,
                "arguments": given if isinstance(given, str) else json.dumps(given),
            },
        }
        for number, (name, given) in enumerate(calls, 1)
    ]
    return answer(text, finish=finish, tool_calls=called)


def events(*chunks: Mapping[str, Any] | str, done: bool = True) -> Step:
    """A stream of one's own making, one event a chunk: an object, or a text that is sent as it is.

    Without ``done`` it ends without ``[DONE]``.
    """
    told = [chunk if isinstance(chunk, str) else json.dumps(chunk) for chunk in chunks]
    told += ["[DONE]"] * done
    body = "".join(f"data: {event}\n\n" for event in told)
    return Step(content_type="text/event-stream; charset=utf-8", body=body.encode())


def long_answer(sentences: int = 400) -> Step:
    """A completion far longer than anybody asked for."""
    return answer(" ".join(f"Mira said number {n} of many things." for n in range(sentences)))


def thoughts(text: str, thought: str = "The user wants a summary. Let me see.") -> Step:
    """A completion that thinks aloud before its text."""
    return answer(f"<think>\n{thought}\n</think>\n\n{text}")


def json_body(value: object, *, status: int = 200) -> Step:
    """Any JSON document as the whole answer."""
    return Step(status=status, body=json.dumps(value).encode())


def error(
    status: int,
    message: str,
    *,
    code: str | None = None,
    param: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Step:
    """An error in OpenAI's shape."""
    said = {"message": message, "type": "error", "param": param, "code": code}
    return replace(json_body({"error": said}, status=status), headers=headers or {})


def too_many(retry_after: float | str | None = None) -> Step:
    """429; ``retry_after`` is in seconds, or a date as HTTP writes it."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return error(429, "Rate limit reached.", code="rate_limit_exceeded", headers=headers)


def failing(status: int = 500) -> Step:
    """A server that is broken inside."""
    return error(status, "The server had an error while processing your request.")


def unauthorized() -> Step:
    """401: the key is missing or wrong."""
    return error(401, "Incorrect API key provided.", code="invalid_api_key")


def no_such_model(name: str = "fake-model") -> Step:
    """404: the endpoint has no model of that name."""
    said = f"The model `{name}` does not exist or you do not have access to it."
    return error(404, said, code="model_not_found")


def invalid_json() -> Step:
    """200 and JSON that breaks off."""
    return Step(body=b'{"id": "chatcmpl-1", "choices": [{"index": 0, "mess')


def web_page() -> Step:
    """200 and a page for people, as where the base URL lacks its ``/v1``."""
    page = b"<!doctype html><html><head><title>Welcome</title></head><body>Welcome!</body></html>"
    return Step(content_type="text/html; charset=utf-8", body=page)


def hanging() -> Step:
    """Reads the request and never answers."""
    return Step(hang=True)


def delayed(step: Step, seconds: float) -> Step:
    """The same step after a while."""
    return replace(step, delay=seconds)


def paced(step: Step, seconds: float) -> Step:
    """The same step in pieces, with so many seconds between two of them."""
    return replace(step, pace=seconds)


def held(step: Step) -> Step:
    """The same step once :meth:`FakeModelServer.go_on` was called."""
    return replace(step, hold=True)


def cut(step: Step) -> Step:
    """The same step, broken off in the middle of its body or stream."""
    return replace(step, cut=True)
