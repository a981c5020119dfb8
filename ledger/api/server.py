"""The HTTP server around an application: uvicorn on a socket of our own, told when to stop and stopping cleanly."""

from __future__ import annotations

import ipaddress
import logging
import signal
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, Self

import uvicorn
from starlette.types import ASGIApp

from ledger.api.heads import BoundedHttp
from ledger.errors import Refusal

_log = logging.getLogger(__name__)

HOST = "127.0.0.1"
PORT = 8044
KEEP_ALIVE_SECONDS = 30
DRAIN_SECONDS = 20
"""How long requests in flight may take to end once the server was told to stop."""


class Tls(NamedTuple):
    """A certificate with its chain, and its private key: files in PEM form."""

    certificate: Path
    key: Path

    def verify(self) -> None:
        """Refuses files that cannot be read, are none or do not belong together (LGR-0713)."""
        try:
            # An encrypted key would ask for its password on the terminal, and a service has none.
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.certificate, self.key, password="")
        except (OSError, ValueError) as error:
            raise Refusal(
                "LGR-0713",
                f"the certificate and its key cannot be used: {getattr(error, 'strerror', None) or error}",
                field="tls-cert, tls-key",
                value=f"{self.certificate}, {self.key}",
                help="two files in PEM form: the certificate with its chain, and its private key without a password",
            ) from None


class Server:
    """One server on one address, which it holds from its making to the end of its `with`.

    `run` serves; `stop`, SIGTERM or SIGINT end that.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        host: str = HOST,
        port: int = PORT,
        tls: Tls | None = None,
        stopping: Callable[[], None] | None = None,
    ) -> None:
        """Listens on `host` and `port`; port 0 takes a free one. With `tls` it speaks HTTPS and nothing else. `stopping` is
        called in the loop once it was told to stop: it ends the answers that would not end by themselves.

        Refuses an address that cannot be had (LGR-0711) and a certificate that cannot be used (LGR-0713).
        """
        family, address = _address(host, port)
        if tls is not None:
            tls.verify()
        self._socket = _listen(family, address, host, port)
        config = uvicorn.Config(
            app,
            http=BoundedHttp,
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # nobody asks where a request came from
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=DRAIN_SECONDS,
            ssl_certfile=None if tls is None else tls.certificate,
            ssl_keyfile=None if tls is None else tls.key,
        )
        self._server = _Uvicorn(config)
        self._server.stopping = stopping
        shown = f"[{address[0]}]" if family == socket.AF_INET6 else address[0]
        self.url = f"{'http' if tls is None else 'https'}://{shown}:{self._socket.getsockname()[1]}"
        """Where it is reached, with the real port."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def run(self, ready: Callable[[str], None] | None = None) -> None:
        """Serve until stopped; `ready` is called with the URL once requests are answered.

        May run in any thread; signals reach it in the main one only.
        """

        def begun() -> None:
            _log.info("answering at %s", self.url)
            if ready is not None:
                ready(self.url)

        self._server.ready = begun
        self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        """Take no more connections, end the requests in flight, then return from `run`. From any thread."""
        self._server.should_exit = True


class _Uvicorn(uvicorn.Server):
    ready: Callable[[], None] | None = None
    stopping: Callable[[], None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.ready is not None:
            self.ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self.stopping is not None:
            self.stopping()
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # Not as uvicorn does, which raises the signal anew when it has stopped: whoever called `run` still has things to close.
        _log.info("told to stop by %s: nothing more is taken, what is under way is ended", signal.Signals(sig).name)
        self.force_exit = self.should_exit
        self.should_exit = True


def is_loopback(host: str, port: int) -> bool:
    """Whether only this machine reaches the address. Refuses one that cannot be had (LGR-0711)."""
    _, address = _address(host, port)
    return ipaddress.ip_address(address[0].partition("%")[0]).is_loopback


def _address(host: str, port: int) -> tuple[socket.AddressFamily, tuple[Any, ...]]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, OverflowError, UnicodeError) as error:
        raise _unavailable(host, port, str(error)) from None
    family, _, _, _, address = found[0]
    return family, address


def _listen(family: socket.AddressFamily, address: tuple[Any, ...], host: str, port: int) -> socket.socket:
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        # After a restart the old connections still linger; two servers that listen at once exclude each other all the same.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen()
    except (OSError, OverflowError) as error:
        listening.close()
        raise _unavailable(host, port, getattr(error, "strerror", None) or str(error)) from None
    return listening


def _unavailable(host: str, port: int, reason: str) -> Refusal:
    return Refusal(
        "LGR-0711",
        f"cannot listen there: {reason}",
        field="host:port",
        value=f"{host}:{port}",
        help="another --port, or --port 0 for a free one",
    )
