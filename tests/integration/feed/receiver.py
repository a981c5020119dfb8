"""A webhook's receiver: a real HTTP server that answers as it is told, and keeps what it was sent."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self


class Message(NamedTuple):
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes
    status: int
    """As it was answered."""

    @property
    def event(self) -> Any:
        return json.loads(self.body)


class Receiver:
    """Listens during the block. `answer` says the status of each message, by its event; a redirect leads to /elsewhere."""

    def __init__(self, answer: Callable[[Any], int] = lambda _: 204, *, delay: float = 0.0) -> None:
        self.answer = answer
        self.delay = delay
        self.messages: list[Message] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                time.sleep(receiver.delay)
                status = receiver.answer(json.loads(body))
                headers = {name.lower(): value for name, value in self.headers.items()}
                receiver.messages.append(Message(self.path, headers, body, status))
                self.send_response(status)
                if status in (301, 302, 307, 308):
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/hook"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def taken(self) -> list[str]:
        """The ids of the events that were taken, in order, doubles included."""
        return [message.event["id"] for message in self.messages if message.status < 300]
