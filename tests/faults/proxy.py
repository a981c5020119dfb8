"""Networks that can be cut: a TCP proxy between the service and Postgres, or between a terminal and the service."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Self

from psycopg import conninfo


class Cut:
    """Passes bytes on, until told otherwise."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._cut: re.Pattern[bytes] | None = None
        self._away = False
        self.cuts = 0
        """How many answers were withheld."""
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_the_answer_to(self, request: re.Pattern[bytes]) -> None:
        """The next request in which this is found reaches the server; its answer does not come back, and the connection is gone.

        A statement that commits by itself is answered after its commit, so that is where the cut falls.
        """
        self._cut = request

    def go_away(self) -> None:
        """Cuts all connections and refuses new ones, until `come_back`."""
        with self._lock:
            self._away = True
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            _close(*pair)

    def come_back(self) -> None:
        """Lets everybody through again."""
        self._away = False

    def close(self) -> None:
        """Ends it all."""
        self.go_away()
        self._listener.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _reach(self) -> socket.socket:
        """A connection to what is behind."""
        raise NotImplementedError

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self._away:
                    client.close()
                    continue
                server = self._reach()
                armed = threading.Event()
                with self._lock:
                    self._pairs.append((client, server))
                for pump in (self._to_server, self._to_client):
                    threading.Thread(target=pump, args=(client, server, armed), daemon=True).start()

    def _to_server(self, client: socket.socket, server: socket.socket, armed: threading.Event) -> None:
        with suppress(OSError):
            while data := client.recv(65536):
                if self._cut is not None and self._cut.search(data):
                    self._cut = None
                    armed.set()
                server.sendall(data)
        _close(client, server)

    def _to_client(self, client: socket.socket, server: socket.socket, armed: threading.Event) -> None:
        with suppress(OSError):
            while data := server.recv(65536):
                if armed.is_set():
                    self.cuts += 1
                    break
                client.sendall(data)
        _close(client, server)


class Proxy(Cut):
    """In front of a Postgres' socket."""

    def __init__(self, dsn: str) -> None:
        given = conninfo.conninfo_to_dict(dsn)
        self._behind = f"{given['host']}/.s.PGSQL.{given['port']}"
        super().__init__()
        self.dsn = conninfo.make_conninfo(dsn, host="127.0.0.1", port=self.port, sslmode="disable")
        """The same database, through the proxy."""

    def _reach(self) -> socket.socket:
        server = socket.socket(socket.AF_UNIX)
        server.connect(self._behind)
        return server


POST = re.compile(rb"POST /v1/events")
"""A post of events, where the cut of a link may fall."""


class Link(Cut):
    """In front of a service: the network of the floor."""

    def __init__(self, url: str) -> None:
        host, _, port = url.removeprefix("http://").rpartition(":")
        self._behind = (host, int(port))
        super().__init__()
        self.url = f"http://127.0.0.1:{self.port}"
        """The same service, over the link."""

    def _reach(self) -> socket.socket:
        return socket.create_connection(self._behind)


def _close(*sockets: socket.socket) -> None:
    for one in sockets:
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()


@contextmanager
def proxied(dsn: str) -> Iterator[Proxy]:
    """A proxy before the database at `dsn`, for the length of the block."""
    with Proxy(dsn) as proxy:
        yield proxy
