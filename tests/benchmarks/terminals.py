"""Client processes of a benchmark: bets through the door or as raw SQL, as fast as one client can, and cheap to drive.

A client holds one connection of each kind, has one request under way at a time, and reads every answer.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, NamedTuple
from uuid import UUID

import psycopg

from ledger.events import BetPlaced
from ledger.reports import type_of

STAKE = 10_000
"""Minor units of each bet."""
_PATIENCE = 20.0
"""Seconds that an answer may take."""
_ORPHANED = 300.0
"""Seconds without an order after which a client ends."""


class Order(NamedTuple):
    """One leg: what every client does between two moments of the monotonic clock, which all processes share."""

    door: bool
    """Through the door, else as raw SQL."""
    bets: int
    """In one post or one INSERT."""
    table: str
    round: UUID
    start: float
    end: float


class Done(NamedTuple):
    """What one client did in a leg."""

    latencies: list[float]
    """Seconds of each request that was answered."""
    ids: bytes
    """The event ids of the bets that were acknowledged, 16 bytes each."""
    seconds: float


def client(parent: Connection) -> None:
    """The process: is told the door's port and the database, then obeys orders; sends what came of each, or the exception."""
    try:
        port, dsn = _told(parent)
        door = socket.create_connection(("127.0.0.1", port), _PATIENCE)
        door.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with door, psycopg.connect(dsn, autocommit=True, prepare_threshold=0) as conn:
            parent.send("ready")
            while True:
                order: Order = _told(parent)
                parent.send(_run(poster(door, order) if order.door else inserter(conn, order), order))
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        return
    except Exception as error:  # noqa: BLE001 - the parent raises it
        parent.send(error)


def _told(parent: Connection) -> Any:
    """The parent's next message; EOFError where it is gone, or says nothing for so long that it must be."""
    if not parent.poll(_ORPHANED):
        raise EOFError
    return parent.recv()


def _run(send: Callable[[list[str]], None], order: Order) -> Done:
    latencies, ids = [], []
    time.sleep(max(0.0, order.start - time.monotonic()))
    began = now = time.monotonic()
    while now < order.end:
        fresh = fresh_ids(order.bets)
        sent = time.monotonic()
        send(fresh)
        now = time.monotonic()
        latencies.append(now - sent)
        ids += fresh
    return Done(latencies, bytes.fromhex("".join(ids).replace("-", "")), now - began)


def fresh_ids(count: int) -> list[str]:
    """Fresh UUIDs of version 7, as terminals make them: the index takes them at its end."""
    now, random = f"{time.time_ns() // 1_000_000:012x}", os.urandom(9 * count).hex()
    head = f"{now[:8]}-{now[8:]}-7"
    return [f"{head}{random[n : n + 3]}-8{random[n + 3 : n + 6]}-{random[n + 6 : n + 18]}" for n in range(0, 18 * count, 18)]


def poster(door: socket.socket, order: Order) -> Callable[[list[str]], None]:
    """Posts bets as the text of a body that is ready but for their ids."""
    event = (
        f'{{"specversion":"1.0","id":"%s","source":"/terminals/T-{order.table}","type":"{type_of(BetPlaced)}",'
        f'"subject":"{order.round}","time":"2026-11-29T12:00:00Z","datacontenttype":"application/json",'
        f'"data":{{"player":"P-1001","spot":"straight:17","stake":"{STAKE}","currency":"MOP","seat":3}}}}'
    )
    batch = order.bets > 1
    body = f"[{','.join([event] * order.bets)}]" if batch else event
    length = len(body % tuple(["-" * 36] * order.bets))
    head = (
        "POST /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Content-Type: application/cloudevents{'-batch' if batch else ''}+json\r\nContent-Length: {length}\r\n\r\n"
    )
    request = head + body

    def send(ids: list[str]) -> None:
        door.sendall((request % tuple(ids)).encode())
        answer = _answer(door)
        if answer.count(b'"status":"accepted"') != order.bets:
            raise RuntimeError(f"the door did not accept {order.bets} bets: {answer[:500]!r}")

    return send


def _answer(door: socket.socket) -> bytes:
    """The body of an answer 200."""
    read = door.recv(65536)
    while b"\r\n\r\n" not in read:
        read += _more(door)
    head, _, body = read.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200 "):
        raise RuntimeError(f"the door answered {read[:500]!r}")
    _, _, length = head.lower().partition(b"content-length:")
    wanted = int(length.partition(b"\r\n")[0])
    while len(body) < wanted:
        body += _more(door)
    return body


def _more(door: socket.socket) -> bytes:
    more = door.recv(65536)
    if not more:
        raise RuntimeError("the door closed the connection")
    return more


RAW = """
CREATE SCHEMA raw;
CREATE TABLE raw.events (LIKE ledger.events INCLUDING INDEXES INCLUDING CONSTRAINTS INCLUDING STORAGE);
CREATE SEQUENCE raw.positions;
ALTER TABLE raw.events ALTER notification_id SET DEFAULT nextval('raw.positions');
"""
"""The log's own table, with its indexes and constraints and without its triggers and functions."""

_COLUMNS = "originator_id, originator_version, topic, state, cause, caused, fingerprint"


def inserter(conn: psycopg.Connection[Any], order: Order) -> Callable[[list[str]], None]:
    """Inserts the rows that the door would store for these bets, in one prepared statement with its own commit."""
    state = (
        f'{{"cause":"{order.round}","terminal":"T-{order.table}","occurred_at":"2026-11-29T12:00:00Z",'
        f'"received_at":"2026-11-29T12:00:00.123456Z","bet":"{order.round}","player":"P-1001","seat":3,"spot":"straight:17",'
        f'"numbers":[17],"stake":"{STAKE}","currency":"MOP"}}'
    ).encode()
    fingerprint, version = bytes(16), 0
    rows = ", ".join(["(%b, %b, %t, %b, %b, 1, %b)"] * order.bets)
    statement = f"INSERT INTO raw.events ({_COLUMNS}) VALUES {rows}"

    def send(ids: list[str]) -> None:
        nonlocal version
        parameters: list[Any] = []
        for id_ in ids:
            version += 1
            parameters += (order.round, version, BetPlaced.TOPIC, state, UUID(id_), fingerprint)
        conn.execute(statement, parameters, prepare=True)

    return send
