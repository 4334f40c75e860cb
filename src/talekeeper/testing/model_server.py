"""A language model for tests: an OpenAI-compatible server on loopback that follows a script.

It runs in threads of its own, so that tests of any kind can ask it: with or without an event loop,
from this process or from another.
"""

import asyncio
import json
import socket
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Condition, Event, Thread
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from talekeeper.testing.steps import ModelRequest, Step, answer, error, json_body

__all__ = ["FakeModelServer", "Script"]

Script = Sequence[Step] | Callable[[ModelRequest], Step]
"""Steps served in order, of which the last one is served again and again; or who chooses one."""


class FakeModelServer:
    """``with`` or ``async with`` it; ask at ``base_url``; look at ``requests``.

    ::

        async with FakeModelServer([steps.too_many(30), steps.answer("They met.")]) as server:
            model = OpenAICompatible(Endpoint(base_url=server.base_url, model="fake-model"))

    Chat completions follow the script, streamed where the request says so. ``/models`` lists
    ``models``; anything else is not found. Only requests for completions are recorded.
    """

    def __init__(
        self, script: Script | None = None, *, models: Sequence[str] = ("fake-model",)
    ) -> None:
        self.requests: list[ModelRequest] = []
        self.models = models
        self._server: _Server | None = None
        self._arrived = Condition()
        self._goes_on = Event()
        self._script: Script = ()
        self._next = 0
        self.play(script if script is not None else [answer("They talked.")])

    def play(self, script: Script) -> None:
        """Follow another script from the next request on."""
        if not callable(script) and not script:
            raise ValueError("A script has at least one step.")
        with self._arrived:
            self._script, self._next = script, 0

    @property
    def base_url(self) -> str:
        """Where it listens, as an Endpoint wants it. Only while it runs."""
        if self._server is None:
            raise RuntimeError("The server runs only within its `with` block.")
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def go_on(self) -> None:
        """Let requests that are held, and those to come, have their answers."""
        self._goes_on.set()

    def wait_for(self, count: int, *, seconds: float = 10.0) -> None:
        """Wait until ``count`` requests have arrived. Raises TimeoutError."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: len(self.requests) >= count, seconds):
                raise TimeoutError(
                    f"{len(self.requests)} of {count} requests arrived within {seconds:g} seconds."
                )

    async def asked(self, count: int, *, seconds: float = 10.0) -> None:
        """:meth:`wait_for` without blocking the event loop."""
        await asyncio.to_thread(self.wait_for, count, seconds=seconds)

    def __enter__(self) -> Self:
        self._goes_on.clear()
        self._server = _Server(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.stop()

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.__exit__, kind, error, trace)

    def _take(self, request: ModelRequest) -> tuple[Step, int]:
        """What to do with a request, and the how manieth it is."""
        with self._arrived:
            self.requests.append(request)
            number, script = len(self.requests), self._script
            at, self._next = self._next, self._next + 1
            self._arrived.notify_all()
        return (script(request) if callable(script) else script[min(at, len(script) - 1)]), number


class _Server(ThreadingHTTPServer):
    """Its threads end with it, whatever they are waiting for."""

    daemon_threads = False

    def __init__(self, fake: FakeModelServer) -> None:
        self.fake = fake
        self.ended = Event()
        self._open: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), _Handler)
        self._thread = Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def stop(self) -> None:
        """End, and break off what is under way."""
        self.ended.set()
        self.fake.go_on()
        self.shutdown()
        self._thread.join()
        for connection in list(self._open):
            _break(connection)
        self.server_close()

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self._open.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is nothing to write to the terminal about."""


def _break(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # It is closed already.


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        listed = [{"id": name, "object": "model"} for name in self.server.fake.models]
        step = json_body({"object": "list", "data": listed})
        self._play(step if self._path == "/v1/models" else _NOT_FOUND, self._request({}), 0)

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        if not isinstance(body, dict):
            step = error(400, "The body of the request is no JSON object.")
            self._play(step, self._request({}), 0)
        elif self._path != "/v1/chat/completions":
            self._play(_NOT_FOUND, self._request(body), 0)
        else:
            request = self._request(body)
            self._play(*self._chosen(request))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Tests read ``requests``; nothing is printed."""

    @property
    def _path(self) -> str:
        return urlsplit(self.path).path

    def _request(self, body: dict[str, Any]) -> ModelRequest:
        headers = {name.lower(): value for name, value in self.headers.items()}
        return ModelRequest(method=self.command, path=self._path, headers=headers, body=body)

    def _chosen(self, request: ModelRequest) -> tuple[Step, ModelRequest, int]:
        step, number = self.server.fake._take(request)
        return step, request, number

    def _play(self, step: Step, request: ModelRequest, number: int) -> None:
        self.close_connection = True
        fake, ended = self.server.fake, self.server.ended
        if step.hang or ended.wait(step.delay):
            ended.wait()
            return
        if step.hold:
            fake._goes_on.wait()
        payload = step.payload(request, number)
        self.send_response(step.status)
        self.send_header("Content-Type", step.sent_as(request))
        for name, value in step.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(payload)))
        self.send_header("Connection", "close")
        self.end_headers()
        for piece in step.pieces(payload):
            self.wfile.write(piece)
            if step.pace and ended.wait(step.pace):
                return


_NOT_FOUND = error(404, "Not found.")
