"""What a service says of itself: lines that a person reads and a program sorts."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator

import pytest

from ledger import logs


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def log(stream: io.StringIO, clock: Clock) -> Iterator[logging.Logger]:
    handler = logs.Collapsing(stream, window=10, now=clock)
    logger = logging.getLogger("ledger.store.test_logs")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    yield logger
    logger.removeHandler(handler)
    handler.close()


def lines(stream: io.StringIO) -> list[str]:
    """The lines without their times."""
    return [line.split(" ", 1)[1] for line in stream.getvalue().splitlines()]


def away(log: logging.Logger, n: int) -> None:
    log.warning("the database is away, try %d", n)


def test_a_line_begins_with_the_time_in_utc(log: logging.Logger, stream: io.StringIO) -> None:
    log.info("begun")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z INFO store: begun\n", stream.getvalue())
    record = logging.makeLogRecord({"name": "x", "levelname": "INFO", "msg": "m", "created": 0.5})
    assert logs.Lines().format(record) == "1970-01-01T00:00:00.500Z INFO x: m"


@pytest.mark.parametrize(
    ("logger", "part"),
    [
        ("uvicorn.error", "service"),
        ("ledger.api.app", "service"),
        ("ledger.store.watch", "postgres"),
        ("ledger.store.recorder", "store"),
        ("psycopg.pool", "database"),
        ("somebody.else", "somebody.else"),
    ],
)
def test_who_speaks_is_named_as_an_operator_knows_it(logger: str, part: str) -> None:
    record = logging.makeLogRecord({"name": logger, "levelname": "INFO", "msg": "m"})
    assert logs.Lines().format(record).endswith(f" INFO {part}: m")


def test_a_warning_is_one_line_whatever_it_quotes(log: logging.Logger, stream: io.StringIO) -> None:
    try:
        raise ConnectionError("refused\n\tis it running?")
    except ConnectionError:
        log.warning("the database\nis away", exc_info=True)
    assert lines(stream) == ["WARNING store: the database is away: ConnectionError: refused is it running?"]


def test_a_fault_comes_with_its_traceback_each_time(log: logging.Logger, stream: io.StringIO) -> None:
    for _ in range(2):
        try:
            raise KeyError("x")
        except KeyError:
            log.exception("a fault")
    assert stream.getvalue().count("ERROR store: a fault\nTraceback") == 2


def test_what_is_said_again_is_counted_and_told_in_one_line(log: logging.Logger, stream: io.StringIO, clock: Clock) -> None:
    for n in range(1, 6):
        away(log, n)
    log.info("something else is told at once")
    clock.seconds = 10
    away(log, 6)
    assert lines(stream) == [
        "WARNING store: the database is away, try 1",
        "INFO store: something else is told at once",
        "WARNING store: the database is away, try 5 (4 more in 0 s)",
    ]
    clock.seconds = 40
    log.warning("another")
    assert lines(stream)[3:] == ["WARNING store: the database is away, try 6 (1 more in 0 s)", "WARNING store: another"]
    clock.seconds = 60
    away(log, 7)
    assert lines(stream)[5:] == ["WARNING store: the database is away, try 7"], "after a pause it is news again"


def test_a_count_is_told_at_the_end_and_by_itself_after_a_while(stream: io.StringIO) -> None:
    handler = logs.Collapsing(stream, window=0.05)
    record = logging.makeLogRecord({"name": "x", "levelno": logging.WARNING, "levelname": "WARNING", "msg": "away"})
    handler.handle(record)
    handler.handle(record)
    handler.close()
    assert lines(stream)[1:] == ["WARNING x: away (1 more in 0 s)"]


def test_a_count_is_told_though_nothing_more_is_said(stream: io.StringIO) -> None:
    from tests.integration.homes import eventually

    handler = logs.Collapsing(stream, window=0.05)
    record = logging.makeLogRecord({"name": "x", "levelno": logging.WARNING, "levelname": "WARNING", "msg": "away"})
    handler.handle(record)
    handler.handle(record)
    assert eventually(lambda: len(lines(stream)) == 2)
    handler.close()
