"""What tests of a terminal's side need: events, and a service that answers what it is told to."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from uuid import UUID

from ledger.client import Event, happened
from ledger.reports import CloseBetting, Data

TERMINAL = "T-R01"
ROUND = UUID("01937787-d400-7000-8000-00000000aa01")


def event(data: Data | None = None, **changes: Any) -> Event:
    return happened(data or CloseBetting(), terminal=TERMINAL, round=ROUND, **changes)


class Told(NamedTuple):
    """One answer: status, header fields, body. None as the body accepts everything that was posted."""

    status: int = 200
    headers: dict[str, str] = {}  # noqa: RUF012 - never written
    body: bytes | None = None


class Asked(NamedTuple):
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    body: bytes


class Scripted:
    """A service on a real socket that answers by a script, and the last line of it for ever."""

    def __init__(self, *told: Told) -> None:
        self.told = list(told)
        self.asked: list[Asked] = []
        self.url = ""

    def answer(self, asked: Asked) -> Told:
        self.asked.append(asked)
        told = self.told.pop(0) if len(self.told) > 1 else self.told[0]
        if told.body is not None:
            return told
        items = [
            {"id": each["id"], "status": "accepted", "round": each["subject"], "positions": ["1"]}
            for each in json.loads(asked.body)
        ]
        return told._replace(body=json.dumps({"items": items}).encode())


@contextmanager
def scripted(*told: Told) -> Iterator[Scripted]:
    """The service, for the length of the block."""
    service = Scripted(*(told or (Told(),)))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = service.answer(Asked(self.path, headers, self.rfile.read(length)))
            assert answer.body is not None
            self.send_response(answer.status)
            for name, value in {**answer.headers, "Content-Length": str(len(answer.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.body)

        def do_GET(self) -> None:
            self.do_POST()

        def log_message(self, *_: Any) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    service.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
