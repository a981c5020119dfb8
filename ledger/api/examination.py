"""What `roundledger doctor` looks at: the database, the log's readers, terminals, credentials, and what waits for somebody.

Each check looks at one thing and changes nothing; what it finds has a code that stays, and the command that mends it. A check
that does not apply says why; one that fails is told as such, and is no clean bill.
"""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, NamedTuple

import httpx
import msgspec
import psycopg

from ledger.errors import Refusal
from ledger.feed import webhooks
from ledger.sequences import accounted
from ledger.store import credentials, log, migrate
from ledger.store.sequences import set_back, standings
from ledger.store.standing import oldest_writing
from ledger.store.wake import Bell, Listener
from projections import closed_days, queries
from projections.runner import APPLICATION

Connection = psycopg.Connection[Any]

FINDINGS = {
    "DR-01": "The server is not one that a ledger should be on",
    "DR-02": "The server may lose what it has acknowledged",
    "DR-03": "The schema is not this release's",
    "DR-04": "A projection stands still",
    "DR-05": "A projection is late",
    "DR-06": "The balances do not sum to zero",
    "DR-07": "A wake-up was not heard",
    "DR-08": "The clocks differ",
    "DR-09": "The disk is nearly full",
    "DR-10": "Events of a terminal are missing",
    "DR-11": "A key or token ends soon",
    "DR-12": "A hold has waited long",
    "DR-13": "A correction has waited long",
    "DR-14": "A dead process holds a table",
    "DR-15": "Somebody keeps others waiting",
    "DR-16": "The service does not come along",
    "DR-17": "A terminal's epochs go back",
    "DR-18": "A closed gaming day has other figures",
    "DR-19": "Something is posted to a closed gaming day",
    "DR-20": "A webhook is not sent to, or does not take what it is sent",
    "DR-21": "A projection is beyond the log's end",
    "DR-22": "The log's sequence is behind the log",
}
"""Every code with what was found."""

OLDEST_SERVER = 170000
LATE = 10.0
"""Seconds: the age of an event that is not folded yet; how long a transaction may write, and somebody wait for a lock."""
SKEW = 1.0
"""Seconds by which two clocks may differ."""
ROOM, ROOM_SHARE = 1 << 30, 0.05
"""Bytes, and the part of the disk, that have to be free."""
SOON = timedelta(days=14)
WAITS_LONG = timedelta(hours=24)
LONG_AGO = timedelta(days=14)
"""After which nobody is told of a terminal's higher epoch any more: no round has anything of it."""
OVERDUE = 60.0
"""Seconds by which a webhook's next try may be late: longer than a message takes, and a service that is started again."""
FAILURES = 8
"""Tries in a row that a webhook may not have taken: some minutes of them."""
QUEUE = 1000
"""Reports that may wait for the next commit."""
_HEARD = 2.0
_SERVICE = 1.0


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is not as it should be."""

    code: str
    """A key of `FINDINGS`."""
    title: str
    detail: str
    fix: str
    """What to type, or to do."""


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one check."""

    name: str
    result: Literal["ok", "found", "left out", "failed"]
    detail: str
    """What was seen; why it was left out, or failed."""
    findings: list[Finding] = []


class Examination(NamedTuple):
    """What the checks share."""

    conn: Connection
    dsn: str
    service: str | None
    """The URL of the service, where one is to be asked."""
    now: Callable[[], datetime] = lambda: datetime.now(UTC)


class _LeftOutError(Exception):
    """The check does not apply here."""


Found = Iterator[Finding | str]
"""What is wrong, and in words what was seen."""


def examine(dsn: str, *, service: str | None = None) -> Iterator[Checked]:
    """Does one check after the other, as they are asked for.

    Raises psycopg.OperationalError or Refusal LGR-0501 where the database cannot be reached at all.
    """
    with psycopg.connect(dsn, autocommit=True, application_name="roundledger doctor") as conn:
        conn.execute("SET statement_timeout = '20s'")
        conn.execute("SET lock_timeout = '5s'")
        asked = Examination(conn, dsn, service)
        whole = True
        for name, check, needs_schema in _CHECKS:
            if needs_schema and not whole:
                yield Checked(name=name, result="left out", detail="it needs the schema of this release")
                continue
            done = _done(name, check, asked)
            if check is _schema and done.result != "ok":
                whole = False
            yield done


def _done(name: str, check: Callable[[Examination], Found], asked: Examination) -> Checked:
    findings: list[Finding] = []
    said: list[str] = []
    try:
        for each in check(asked):
            if isinstance(each, Finding):
                findings.append(each)
            else:
                said.append(each)
    except _LeftOutError as why:
        return Checked(name=name, result="left out", detail=str(why))
    except (psycopg.Error, OSError, Refusal) as error:
        if asked.conn.broken:
            raise
        return Checked(name=name, result="failed", detail=" ".join(str(error).split()), findings=findings)
    return Checked(name=name, result="found" if findings else "ok", detail="; ".join(said), findings=findings)


def _finding(code: str, detail: str, fix: str) -> Finding:
    return Finding(code=code, title=FINDINGS[code], detail=detail, fix=fix)


def _rows(conn: Connection, query: Any, *parameters: object) -> list[tuple[Any, ...]]:
    return conn.execute(query, parameters).fetchall()


# ----------------------------------------------------------------------------------------------------------------- the server


def _server(asked: Examination) -> Found:
    [(version, text, encoding, standby)] = _rows(
        asked.conn,
        "SELECT current_setting('server_version_num')::int, current_setting('server_version'), "
        "current_setting('server_encoding'), pg_is_in_recovery()",
    )
    yield f"Postgres {text}"
    if version < OLDEST_SERVER:
        yield _finding("DR-01", f"it is Postgres {text}, and the oldest one tried is 17", "move the database to a newer server")
    if encoding != "UTF8":
        yield _finding("DR-01", f"its encoding is {encoding}", "CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0")
    if standby:
        yield _finding("DR-01", "it stands by for another and takes no events", "name the server that writes in LEDGER_DSN")


def _durable(asked: Examination) -> Found:
    wanted = {
        "fsync": ("on",),
        "full_page_writes": ("on",),
        "synchronous_commit": ("on", "remote_write", "remote_apply", "local"),
    }
    rows = _rows(asked.conn, "SELECT name, setting, source FROM pg_settings WHERE name = ANY (%s) ORDER BY name", list(wanted))
    for name, setting, source in rows:
        yield f"{name} {setting}"
        if setting not in wanted[name]:
            yield _finding(
                "DR-02",
                f"{name} is {setting} (by {source}): what was acknowledged may be gone after a crash of the machine",
                f"ALTER SYSTEM SET {name} = on; SELECT pg_reload_conf()",
            )


def _schema(asked: Examination) -> Found:
    try:
        migrate.verify_current(asked.conn)
    except Refusal as refusal:
        yield _finding("DR-03", f"{refusal.code}: {refusal.detail}", (refusal.help or "").removeprefix("type: "))
        return
    yield f"version {migrate.LATEST}"


def _clock(asked: Examination) -> Found:
    best: tuple[float, float] | None = None
    for _ in range(5):  # the quickest answer says most precisely when it was given
        before = asked.now()
        [(there,)] = _rows(asked.conn, "SELECT clock_timestamp()")
        after = asked.now()
        took = (after - before).total_seconds()
        skew = (there - before).total_seconds() - took / 2
        if best is None or took < best[0]:
            best = took, skew
    assert best is not None
    took, skew = best
    yield f"the database's is {abs(skew) * 1000:.0f} ms {'ahead' if skew >= 0 else 'behind'}, give or take {took * 500:.0f} ms"
    if abs(skew) - took / 2 > SKEW:
        who = "ahead of" if skew > 0 else "behind"
        yield _finding(
            "DR-08",
            f"the database's clock is {abs(skew):.1f} s {who} this machine's",
            "have both keep the time of one server: timedatectl set-ntp true",
        )


def _disk(asked: Examination) -> Found:
    try:
        [(directory,)] = _rows(asked.conn, "SELECT current_setting('data_directory')")
    except psycopg.errors.InsufficientPrivilege:
        raise _LeftOutError("the role may not ask where the data are (pg_read_all_settings)") from None
    host = asked.conn.info.host
    if not (host.startswith("/") or host in ("localhost", "127.0.0.1", "::1")) or not _readable(Path(directory)):
        raise _LeftOutError(f"the data are on another machine or out of sight: {directory}")
    usage = shutil.disk_usage(directory)
    yield f"{usage.free / 2**30:.1f} GiB free of {usage.total / 2**30:.1f} at {directory}"
    if usage.free < ROOM or usage.free < usage.total * ROOM_SHARE:
        yield _finding(
            "DR-09",
            f"{usage.free / 2**20:.0f} MiB are free of {usage.total / 2**30:.1f} GiB at {directory}",
            "free space or move the data to a larger disk; events are refused (LGR-0513) once it is full",
        )


def _readable(directory: Path) -> bool:
    try:
        return directory.exists()
    except PermissionError:
        return False


def _waiting(asked: Examination) -> Found:
    writing = oldest_writing(asked.conn)
    yield "nobody writes" if writing is None else f"the oldest writing transaction has run for {writing.seconds:.1f} s"
    if writing is not None and writing.seconds > LATE:
        pid = writing.session.removeprefix("process ")
        fix = f"SELECT pg_terminate_backend({pid})" if pid.isdigit() else "COMMIT PREPARED or ROLLBACK PREPARED it"
        who = ", ".join(filter(None, (writing.database, writing.user, writing.application, writing.state)))
        yield _finding(
            "DR-15",
            f"{writing.session} ({who}) has been writing for {writing.seconds:.0f} s; readers of the log wait for it",
            fix,
        )
    for pid, blockers, seconds in _rows(
        asked.conn,
        "SELECT pid, pg_blocking_pids(pid), extract(epoch FROM clock_timestamp() - min(waitstart))::float8 "
        "FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE NOT granted AND datname = current_database() "
        "AND clock_timestamp() - waitstart > make_interval(secs => %s) GROUP BY pid ORDER BY pid",
        LATE,
    ):
        by = ", ".join(map(str, blockers)) or "nobody any more"
        fix = f"SELECT pg_terminate_backend({blockers[0]})" if blockers else "look again"
        yield _finding("DR-15", f"process {pid} has waited for a lock for {seconds:.0f} s, held by process {by}", fix)


# ---------------------------------------------------------------------------------------------------------------- the readers


def _log(asked: Examination) -> Found:
    end = log.last(asked.conn)
    yield f"up to position {end}"
    try:
        log.verify_sequence(asked.conn)
    except Refusal as refusal:
        yield _finding("DR-22", f"{refusal.detail}: no event can be appended where one is already", refusal.help or "")


def _projections(asked: Examination) -> Found:
    end = log.last(asked.conn)
    [(running,)] = _rows(
        asked.conn,
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = %s",
        APPLICATION,
    )
    yield f"run by {running} process{'es' * (running > 1)}" if running else "run by nobody just now"
    projections = queries.positions(asked.conn)
    drawn = max(end, log.drawn(asked.conn))  # last, so that what was folded meanwhile does not show as beyond
    beyond = queries.beyond(projections, drawn)
    for each in projections:
        behind = max(0, end - int(each.position))
        yield f"{each.name} at {each.position}, {'beyond the end' if each.name in beyond else f'{behind} behind'}"
        if each.name in beyond:
            yield _finding(
                "DR-21",
                f"{each.name} is at position {each.position}, and the last one that was drawn is {drawn}: what comes up to there "
                "is passed over, so its tables are of another log, or its position was changed by hand",
                "roundledger projections rebuild --switch",
            )
        if each.stopped_at is not None:
            yield _finding(
                "DR-04",
                f"{each.name} stands still before position {each.stopped_by}: {each.stop_reason}",
                "repair what it says or install the release that can fold it, then: roundledger projections resume",
            )
        elif behind:
            age = log.age(asked.conn, int(each.position))
            if age is None or age > LATE:
                old = "cannot be read" if age is None else f"is {age:.0f} s old"
                yield _finding(
                    "DR-05",
                    f"{each.name} is {behind} positions behind; the first event that it lacks {old}",
                    "see the log of roundledger serve, or of roundledger projections run, whichever runs them"
                    if running
                    else "nobody runs the projections: roundledger serve, or roundledger projections run beside it",
                )


def _books(asked: Examination) -> Found:
    sums = queries.trial_balance(asked.conn)
    yield ", ".join(f"{currency} {total}" for currency, total in sums.items()) or "nothing has moved yet"
    for currency, total in sums.items():
        if total:
            yield _finding(
                "DR-06",
                f"all balances in {currency} come to {total} minor units",
                "roundledger replay, which names the difference",
            )


def _bell(asked: Examination) -> Found:
    [(listening,)] = _rows(
        asked.conn,
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'roundledger listener'",
    )
    heard = threading.Event()
    with Listener(asked.dsn, heard.set):
        if not heard.wait(_HEARD):
            raise OSError("no session that listens came about")
        heard.clear()
        bell, began = Bell(asked.dsn), time.monotonic()
        try:
            bell.ring()
            came = heard.wait(_HEARD)
        finally:
            bell.close()
    if came:
        yield f"heard after {(time.monotonic() - began) * 1000:.0f} ms; {listening} others listen"
    else:
        yield _finding(
            "DR-07",
            f"a bell was rung, and not heard within {_HEARD:g} s: readers in other processes come by their own looks alone",
            "connect to Postgres itself, or to a pooler by the session: one by the transaction passes no LISTEN on",
        )


def _service(asked: Examination) -> Found:
    if asked.service is None:
        raise _LeftOutError("no service was named (--service)")
    try:
        answer = httpx.get(f"{asked.service.rstrip('/')}/healthz", timeout=_SERVICE)
        health = answer.raise_for_status().json()
        status, waiting = str(health["status"]), int(health["waiting"])
        elsewhere = health.get("projections_run", "here") != "here"
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError) as error:
        yield _finding("DR-16", f"{asked.service} does not say how it is: {type(error).__name__}: {error}", "roundledger serve")
        return
    yield f"{status}, {waiting} reports wait" + ", projections are not run here" * elsewhere
    if status != "ok":
        yield _finding("DR-16", f"{asked.service} says that it is {status}", "see the other findings, and the service's log")
    if waiting > QUEUE:
        yield _finding(
            "DR-16",
            f"{waiting} reports wait at {asked.service} for the next commit",
            "see the disk's and the server's load; roundledger_append_seconds of /metrics says what a commit takes",
        )


def _webhooks(asked: Examination) -> Found:
    rows = webhooks.webhooks(asked.conn)
    states = Counter(each.state for each in rows)
    yield ", ".join(f"{states[state]} {state}" for state in sorted(states)) or "there are none"
    for each in rows:
        overdue = None if each.retry_at is None else (asked.now() - each.retry_at).total_seconds()
        if each.stopped is not None:
            yield _finding(
                "DR-20",
                f"webhook {each.id} to {each.url} is sent nothing any more: {each.stopped}",
                f"roundledger webhooks retry {each.id}, or remove",
            )
        elif overdue is not None and overdue > OVERDUE:
            yield _finding(
                "DR-20",
                f"the next try of webhook {each.id} to {each.url} was due {overdue:.0f} s ago; the last one: {each.failure}",
                "see the log of roundledger serve; where none runs, nobody sends: roundledger serve",
            )
        elif each.failures >= FAILURES:
            yield _finding(
                "DR-20",
                f"webhook {each.id} to {each.url} did not take an event in {each.failures} tries; the last one: {each.failure}",
                f"have its receiver answer with a 2xx, then: roundledger webhooks retry {each.id}",
            )


# ----------------------------------------------------------------------------------------------------------- what people do


def _terminals(asked: Examination) -> Found:
    epochs = 0
    for each in standings(asked.conn, None):
        epochs += 1
        if missing := accounted(each).missing():
            spans = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in missing)
            yield _finding(
                "DR-10",
                f"of terminal {each.terminal}, epoch {each.epoch}, at table {each.table or 'unknown'}: {spans}",
                "roundledger terminal status at the terminal shows what its outbox still holds; what is lost, a supervisor "
                "gives up (NumbersGivenUp)",
            )
    for back in set_back(asked.conn, LONG_AGO):
        yield _finding(
            "DR-17",
            f"terminal {back.terminal} reports under epoch {back.epoch}, and before that did under {back.highest}: a bet that "
            "comes after the bell of the higher one has no proof that it was in time (LGR-0210)",
            "where the terminal's clock is behind, set it and open the outbox anew, which draws its epoch from the clock; where "
            f"it was ahead before and is right now, nothing is to be done, and this is told for {LONG_AGO.days} days",
        )
    yield f"{epochs} epochs"


def _credentials(asked: Examination) -> Found:
    now = asked.now()
    live = 0
    owners = (
        ("key", "terminal", [(key.id, key.terminal, key.state(now), key.expires) for key in credentials.keys(asked.conn)]),
        (
            "token",
            "person",
            [(token.id, token.person, token.state(now), token.expires) for token in credentials.tokens(asked.conn)],
        ),
    )
    for thing, owner, rows in owners:
        last: dict[str, tuple[str, datetime]] = {}
        for id_, whose, state, expires in rows:
            live += state == "live"
            if state in ("live", "pending") and (whose not in last or expires > last[whose][1]):
                last[whose] = id_, expires
        for whose, (id_, expires) in sorted(last.items()):
            if expires - now < SOON:
                yield _finding(
                    "DR-11",
                    f"{thing} {id_} of {owner} {whose} ends on {expires.astimezone(UTC):%Y-%m-%d}, and there is no later one",
                    f"roundledger {thing}s rotate {whose if thing == 'key' else id_} --out FILE",
                )
    yield f"{live} live"


def _holds(asked: Examination) -> Found:
    rows = _rows(
        asked.conn,
        "SELECT hold, round, reason, held_at FROM projection.holds WHERE released_position IS NULL ORDER BY held_position",
    )
    yield f"{len(rows)} open"
    for hold, round_, reason, since in rows:
        if (waited := asked.now() - since) > WAITS_LONG:
            yield _finding(
                "DR-12",
                f"hold {hold} on round {round_} ({reason}) has been open for {waited.total_seconds() / 3600:.0f} h",
                f"roundledger rounds show {round_}, then post RoundReleased with what was found",
            )


def _corrections(asked: Examination) -> Found:
    rows = _rows(
        asked.conn,
        "SELECT correction, round, kind, proposed_by, proposed_at FROM projection.corrections WHERE status = 'proposed' "
        "ORDER BY proposed_position",
    )
    yield f"{len(rows)} undecided"
    for correction, round_, kind, by, since in rows:
        if (waited := asked.now() - since) > WAITS_LONG:
            yield _finding(
                "DR-13",
                f"correction {correction} ({kind}) of round {round_}, proposed by {by}, has waited for "
                f"{waited.total_seconds() / 3600:.0f} h",
                f"roundledger correct approve {correction}, or decline",
            )


def _days(asked: Examination) -> Found:
    with asked.conn.transaction():
        asked.conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        found = closed_days.held(asked.conn)
    yield f"{found.closings} closed"
    for closing, figures in found.others:
        yield _finding(
            "DR-18",
            f"{_day(closing)} was closed by {closing.closed_by} at position {closing.position} with figures {closing.figures}, "
            f"as of position {closing.as_of}; nothing came to it later, and its figures are {figures}",
            "roundledger replay, for the live tables, and roundledger verify, for the log; where both are in order, the closing "
            "named others, or events before it were changed since, which a copy of the log from then shows; the figures of now: "
            f"roundledger day status {closing.gaming_day} --property {closing.property}",
        )
    for late in found.later:
        see = f"rounds show {late.id}" if late.what == "round" else "chips slips"
        yield _finding(
            "DR-19",
            f"{late.what} {late.id} of table {late.table} posts to {_day(late)} at position {late.position}, and the closing at "
            f"position {late.closed_at} has figures from before that",
            f"see roundledger {see}; the day stays closed, and what is put right of it now is posted to the open day",
        )
    if found.unjudged:
        raise Refusal(
            "LGR-0505",
            "one projection is behind the other, so nobody can say yet why these days have other figures than they were closed "
            f"with: {', '.join(map(_day, found.unjudged))}",
        )


def _day(of: closed_days.Closing | closed_days.Later) -> str:
    return f"gaming day {of.gaming_day} of property {of.property}"


def _leases(asked: Examination) -> Found:
    rows = _rows(
        asked.conn,
        "SELECT l.table_id, l.holder, l.counted_in IS NOT DISTINCT FROM l.epoch, k.pid FROM ledger.leases AS l LEFT JOIN ("
        "    SELECT (classid::bigint << 32) | objid::bigint AS key, pid FROM pg_locks WHERE locktype = 'advisory' AND granted "
        "    AND objsubid = 1 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        ") AS k ON k.key = hashtextextended('round-ledger table ' || l.table_id, 0) ORDER BY l.table_id",
    )
    held = [row for row in rows if row[3] is not None]
    left = [table for table, _, written, pid in rows if pid is None and not written]
    yield f"{len(held)} held"
    if left:
        yield f"{len(left)} left by a process that was killed, which the next post makes good: {', '.join(left)}"
    for table, holder, _, pid in held:
        if _is_dead(holder):
            yield _finding(
                "DR-14",
                f"table {table} is held by {holder}, which has ended; its session is still there as process {pid}",
                f"SELECT pg_terminate_backend({pid})",
            )


def _is_dead(holder: str) -> bool:
    """Whether a holder, written `host process 123`, was a process of this machine and is none any more."""
    host, _, process = holder.rpartition(" process ")
    if host != socket.gethostname() or not process.isdigit():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


_CHECKS: tuple[tuple[str, Callable[[Examination], Found], bool], ...] = (
    ("server", _server, False),
    ("durability", _durable, False),
    ("schema", _schema, False),
    ("clock", _clock, False),
    ("disk", _disk, False),
    ("transactions and locks", _waiting, False),
    ("wake-ups", _bell, False),
    ("log", _log, True),
    ("projections", _projections, True),
    ("webhooks", _webhooks, True),
    ("balances", _books, True),
    ("terminals", _terminals, True),
    ("keys and tokens", _credentials, True),
    ("holds", _holds, True),
    ("corrections", _corrections, True),
    ("gaming days", _days, True),
    ("leases", _leases, True),
    ("service", _service, False),
)
"""Name, check, and whether it needs the schema of this release."""
