"""What is no body is bounded in size and time, on a real socket."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterable, Iterator
from queue import Queue

import pytest
from starlette.types import Receive, Scope, Send

from ledger.api import heads
from ledger.api.server import Server

POST = b"POST / HTTP/1.1\r\nHost: x\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"


async def length(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the number of bytes of the body."""
    if scope["type"] == "lifespan":
        while (await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        await send({"type": "lifespan.shutdown.complete"})
        return
    total, more = 0, True
    while more:
        message = await receive()
        total += len(message.get("body", b""))
        more = message.get("more_body", False)
    said = b"%d bytes" % total
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(said))]})
    await send({"type": "http.response.body", "body": said})


@pytest.fixture
def address() -> Iterator[tuple[str, int]]:
    with Server(length, port=0) as server:
        ready: Queue[str] = Queue()
        thread = threading.Thread(target=server.run, args=(ready.put,))
        thread.start()
        host, port = ready.get(timeout=20).removeprefix("http://").split(":")
        yield host, int(port)
        server.stop()
        thread.join(20)
        assert not thread.is_alive()


def sent(address: tuple[str, int], parts: Iterable[bytes], *, end: bool = True) -> bytes:
    """What comes back until the connection is closed; `end`: this side sends no more after the last part."""
    answer = b""
    with socket.create_connection(address, timeout=20) as connection:
        try:
            for part in parts:
                connection.sendall(part)
            if end:
                connection.shutdown(socket.SHUT_WR)
            while said := connection.recv(65536):
                answer += said
        except (ConnectionResetError, BrokenPipeError):
            pass  # closed while there was more to send; what was said before may be lost with it
    return answer


@pytest.mark.parametrize(
    ("before", "piece"),
    [
        (POST + b"X-Long: ", b"a" * 16384),
        (POST, b"X-Many: a\r\n" * 1024),
        (b"GET /", b"a" * 16384),
        (CHUNKED + b"1;x=", b"a" * 16384),
        (CHUNKED + b"1\r\na\r\n0\r\n", b"X-Trailer: a\r\n" * 1024),
    ],
    ids=["one header", "many headers", "the target", "a chunk's extension", "trailers"],
)
def test_what_is_no_body_has_a_bound(address: tuple[str, int], before: bytes, piece: bytes) -> None:
    passed = 0

    def parts() -> Iterator[bytes]:
        nonlocal passed
        yield before
        for _ in range(2000):  # 32 MB
            yield piece
            passed += len(piece)

    answer = sent(address, parts())
    assert answer == b"" or answer.startswith(b"HTTP/1.1 400")
    assert passed < 16_000_000, "only what the sockets' buffers hold"
    assert sent(address, [POST + b"Content-Length: 2\r\nConnection: close\r\n\r\nab"]).endswith(b"2 bytes")


def test_a_body_is_not_taken_for_a_head_in_chunks_of_whatever_size(address: tuple[str, int]) -> None:
    small = [b"1\r\na\r\n" * 1000] * 200
    large = [b"10000\r\n" + b"a" * 65536 + b"\r\n"] * 100
    for chunks, size in ((small, 200_000), (large, 6_553_600)):
        head = CHUNKED.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
        assert sent(address, [head, *chunks, b"0\r\n\r\n"], end=False).endswith(b"%d bytes" % size)
    whole = POST + b"Content-Length: 5000000\r\nConnection: close\r\n\r\n"
    assert sent(address, [whole, b"a" * 5_000_000], end=False).endswith(b"5000000 bytes")


def test_requests_in_a_row_are_counted_each_by_itself(address: tuple[str, int]) -> None:
    one = POST + b"X: " + b"a" * 4000 + b"\r\nContent-Length: 2\r\n"
    answer = sent(address, [(one + b"\r\nab") * 100, one + b"Connection: close\r\n\r\nab"], end=False)
    assert answer.count(b"2 bytes") == 101


def test_a_connection_that_says_nothing_or_never_ends_its_head_is_closed(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heads, "HEAD_SECONDS", 0.3)
    for parts in ([], [b"GET / HT"], [POST], [POST + b"Content-Length: 2\r\n\r\nab", POST]):
        begun = time.monotonic()
        answer = sent(address, parts, end=False)
        assert answer.count(b"2 bytes") == (len(parts) == 2)
        assert 0.2 < time.monotonic() - begun < 5
    with socket.create_connection(address, timeout=20) as slow:
        slow.sendall(POST + b"Content-Length: 2\r\n\r\n")
        time.sleep(0.6)
        slow.sendall(b"ab")
        assert b"2 bytes" in slow.recv(1000), "the head was in time, and the body has its own deadline"
