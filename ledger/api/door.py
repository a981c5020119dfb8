"""The door's endpoints. What blocks runs in threads: posts in the one writer, reads in a few of their own."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from functools import cached_property
from tempfile import SpooledTemporaryFile
from typing import NamedTuple, TypeVar
from uuid import UUID

import anyio
import anyio.to_thread
import msgspec
import psycopg
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope

from ledger import logs
from ledger.api import asyncapi, auth, bodies, intake, metrics, openapi, problems, views
from ledger.api.feed import Feed
from ledger.api.metrics import Metrics
from ledger.api.parameters import REPORT_FORMS, digits, one_day, parameters, report_form
from ledger.api.strictjson import printable
from ledger.api.tracing import Tracing
from ledger.api.views import Answer, AskedReport, Health, Item, Reader, Ready, Run, Time
from ledger.errors import Refusal
from ledger.pages import page
from ledger.reports import Caller, Report, Verdict
from ledger.store.server import UNFIT
from ledger.writer import Writer
from projections import queries
from projections.moments import Moment, moment, verify_in_log
from projections.queries import ProjectionPosition
from projections.reports import catalog
from projections.reports.filters import Filters, period, thresholds

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

CATCH_UP_SECONDS = 2.0
"""How long a read with `at_least` waits for the read side."""
PAGE = 1000
"""Balances in one answer, where the request asks for no fewer."""
AT_ONCE = 1 << 14
"""Bytes of a body that are read in the event loop whatever they hold: some milliseconds at worst."""
LOGGED = 5
"""Events of one post that were refused of which each has its line in the log."""
HEALTH_SECONDS = 2.0
"""How long the database may take to say how it is."""
BEHIND_SECONDS = 10.0
"""How old an event may be that is not folded yet, before the read side counts as behind."""
_encode = msgspec.json.Encoder().encode
_SPOOLED = 1 << 20
"""Bytes of a report beyond which it is kept on disk, and of one part in which it is sent."""
_READERS = 8
_LOOKERS = 2
_CATCH_UP_PAUSE = 0.01


class Noted(NamedTuple):
    """Where a door notes what it does."""

    metrics: Metrics
    tracing: Tracing | None = None


class Door:
    """The endpoints and what they share."""

    def __init__(
        self,
        reader: Reader,
        writer: Writer,
        now: Callable[[], datetime],
        body_seconds: float,
        noted: Noted,
        feed: Feed | None = None,
        *,
        projections: bool = True,
    ) -> None:
        self.writer = writer
        self._reader = reader
        self._now = now
        self._body_seconds = body_seconds
        self._metrics, self._tracing = noted
        self._feed = feed
        self._runs_projections = projections
        self._projections_run: Run = "here" if projections else "not here"

    async def post_events(self, scope: Scope, receive: Receive) -> Response:
        """The answer to a post, of which the head was read and nothing of the body. Of all endpoints this one has to be quick."""
        behind = bool(scope["query_string"]) and _behind(Request(scope))
        head = Headers(scope=scope)
        media_type = bodies.check_media_type(head.get("content-type"))
        compressed = bodies.check_encoding(head.get("content-encoding"))
        raw = await bodies.received(head, receive, self._body_seconds)
        sender = auth.admitted(scope)
        sender.verify_body(raw)  # as it was sent: that is what its Content-Digest is of
        read, single = await self._items(bodies.inflated(raw) if compressed else raw, media_type, sender.caller)
        items = [sender.vouch(item) if isinstance(item, Report) else item for item in read]
        reports = [item for item in items if isinstance(item, Report)]
        if behind:
            reports = [msgspec.structs.replace(report, behind=True) for report in reports]
        decided = iter(await self._written(scope, reports) if reports else ())
        verdicts = [item if isinstance(item, Verdict) else next(decided) for item in items]
        self._metrics.judged(verdicts)
        self._log_refused(scope, items, verdicts)
        sequences = _sequences(verdicts)
        if single and verdicts[0].refusal is not None:
            headers = auth.challenge(verdicts[0].refusal)
            return problems.response(verdicts[0].refusal, verdicts[0].event_id, headers, sequences=sequences)
        return _json(Answer(items=tuple([_answer(verdict) for verdict in verdicts]), sequences=sequences))

    async def _items(self, raw: bytes, media_type: str, caller: Caller | None) -> intake.Intake:
        """What a body holds. One that takes long to read is read in a thread, and the others are answered meanwhile."""
        now = self._now()
        if len(raw) <= AT_ONCE:
            return intake.read(raw, media_type, now, caller)
        plain = intake.read_plain(raw, media_type, now, caller)
        if plain is not None:
            return plain
        return await anyio.to_thread.run_sync(intake.read_careful, raw, media_type, now, caller, limiter=self._one_careful)

    async def _written(self, scope: Scope, reports: Sequence[Report]) -> list[Verdict]:
        # What was taken is written even if this request ends here.
        if self._tracing is None:
            return await self.writer.write(reports)
        with self._tracing.append(scope, reports) as span:
            verdicts = await self.writer.write(reports)
            span.written(verdicts)
        return verdicts

    def _log_refused(self, scope: Scope, items: Sequence[Report | Verdict], verdicts: Sequence[Verdict]) -> None:
        """A line for each event that was refused, up to `LOGGED`; and for every one for want of a proof or a right."""
        told = left = 0
        for item, verdict in zip(items, verdicts, strict=True):
            refusal = verdict.refusal
            if refusal is None:
                continue
            terminal = item.terminal if isinstance(item, Report) else None
            about = logs.on(terminal=terminal, round=verdict.round, event=verdict.event_id)
            if refusal.meaning.status in (401, 403):
                self._metrics.turned_away(refusal.code)
                auth.log_refused(scope, refusal, auth.name_of(auth.admitted(scope).caller), about)
            elif told < LOGGED:
                told += 1
                _log.info("%s: %s", refusal.code, refusal.detail, extra=about)
            else:
                left += 1
        if left:
            _log.info("%d more events of this post were refused", left)

    async def get_feed(self, request: Request) -> Response:
        if self._feed is None:
            raise Refusal("LGR-0501", "no log stands behind this door")
        return await self._feed.answer(request)

    async def get_round(self, request: Request) -> Response:
        parameters(request)
        text = request.path_params["id"]
        try:
            round_id = UUID(text)
        except ValueError:
            raise Refusal("LGR-0108", "a round's id is a UUID", field="id", value=printable(text)) from None
        found = await self._read(lambda: self._reader.round(round_id))
        if found is None:
            raise Refusal(
                "LGR-0202",
                "no round has this id",
                field="id",
                value=text,
                help="it may not have been opened yet",
            )
        auth.admitted(request).verify_reads_round(found.property, found.table)
        return _json(found)

    async def get_terminal(self, request: Request) -> Response:
        parameters(request)
        terminal = request.path_params["id"]
        auth.admitted(request).verify_reads_terminal(terminal)
        found = await self._read(lambda: self._reader.terminal(terminal)) if terminal.isprintable() else None
        if found is None:
            raise Refusal("LGR-0305", "no terminal of this id has numbered an event", field="id", value=printable(terminal))
        return _json(found)

    async def get_balances(self, request: Request) -> Response:
        given = parameters(request, "at", "at_least", "prefix", "currency", "after", "limit")
        limit = digits(given, "limit", PAGE)
        if not 1 <= limit <= PAGE:
            raise Refusal("LGR-0108", f"a page holds 1 to {PAGE} balances", field="limit", value=given["limit"])
        at = await self._moment(given)
        await self._caught_up(given)
        prefix, currency, after = (given.get(name) for name in ("prefix", "currency", "after"))
        return _json(
            await self._read(lambda: self._reader.balances(prefix=prefix, currency=currency, after=after, limit=limit, at=at))
        )

    async def get_liabilities(self, request: Request) -> Response:
        given = parameters(request, "at_least")
        await self._caught_up(given)
        return _json(await self._read(lambda: self._reader.liabilities(table=None)))

    async def get_liability(self, request: Request) -> Response:
        given = parameters(request, "at_least")
        table = request.path_params["id"]
        await self._caught_up(given)
        found = await self._read(lambda: self._reader.liabilities(table=table)) if table.isprintable() else None
        if found is None or not found.tables:
            raise Refusal(
                "LGR-0602", "no table of this id is configured", field="id", value=printable(table), help="GET /v1/tables"
            )
        return _json(found)

    async def get_trial(self, request: Request) -> Response:
        given = parameters(request, "at", "at_least")
        at = await self._moment(given)
        await self._caught_up(given)
        return _json(await self._read(lambda: self._reader.trial(at=at)))

    async def get_tables(self, request: Request) -> Response:
        given = parameters(request, "at_least", "day")
        day = one_day(given, "day")
        await self._caught_up(given)
        return _json(await self._read(lambda: self._reader.tables(day=day)))

    async def get_report(self, request: Request) -> Response:
        definition = catalog.definition(printable(request.path_params["name"][:64]))
        days = ("day", "month", "from", "to") if definition.source.by_day else ()
        given = parameters(request, "at_least", "format", *days, *definition.filters, *definition.options)
        form = report_form(given, request.headers.get("accept", ""))
        first, last = period(
            day=one_day(given, "day"), month=given.get("month"), first=one_day(given, "from"), last=one_day(given, "to")
        )
        filters = Filters(**{name: given.get(name) for name in definition.filters}, first=first, last=last)
        named = thresholds(given["threshold"].split(",")) if "threshold" in given else None
        await self._caught_up(given)
        # On disk where it is long: a month of bets takes the memory of a part of it.
        spool = SpooledTemporaryFile(max_size=_SPOOLED)  # noqa: SIM115 - the answer closes it
        try:
            await self._read(lambda: self._reader.report(AskedReport(definition.name, form, filters, named), spool))
        except BaseException:
            spool.close()
            raise
        spool.seek(0)
        return StreamingResponse(_parts(spool), media_type=REPORT_FORMS[form], headers={"Cache-Control": "no-store"})

    async def get_health(self, request: Request) -> Response:
        parameters(request)
        return _json(await self._health())

    async def _health(self) -> Health:
        """How the service is; it lives also while its database does not answer."""
        waiting = self.writer.waiting
        try:
            with anyio.fail_after(HEALTH_SECONDS):
                projections, end, age, beyond = await self._look(self._standing)
        except (TimeoutError, psycopg.OperationalError, *UNFIT):
            return Health(status="away", waiting=waiting, projections_run=self._projections_run)
        late = age is None or age > BEHIND_SECONDS or beyond or any(projection.stopped_at for projection in projections)
        return Health(
            status="behind" if late and self._runs_projections else "ok",
            position=str(_reached(projections)),
            log=str(end),
            waiting=waiting,
            projections_run=self._projections_run,
            projections=projections,
        )

    def _standing(self) -> metrics.Standing:
        end = self._reader.end()  # first, so that what was read meanwhile does not show as missing
        projections = self._reader.projections()
        reached = _reached(projections)
        age = self._reader.age(reached) if reached < end else 0.0
        drawn = max(end, self._reader.drawn())  # last, so that what was folded meanwhile does not show as beyond
        return metrics.Standing(projections, end, age, frozenset(queries.beyond(projections, drawn)))

    async def get_ready(self, request: Request) -> Response:
        parameters(request)
        if self.writer.closing:
            raise Refusal("LGR-0505", "the service is stopping", help="ask another one")
        try:
            with anyio.fail_after(HEALTH_SECONDS):
                await self._look(self._reader.verify_schema)
                projections = await self._look(self._reader.projections) if self._runs_projections else []
        except TimeoutError:
            raise Refusal("LGR-0501", "the database did not answer", help="ask again in a moment") from None
        for projection in projections:
            if projection.stopped_at:
                raise Refusal(
                    "LGR-0523",
                    f"projection {projection.name} stands still at position {projection.stopped_by}: {projection.stop_reason}",
                    help="posts are taken all the same; start the service again once what stopped it is repaired",
                )
        return _json(Ready(status="ready", projections_run=self._projections_run))

    async def get_metrics(self, request: Request) -> Response:
        parameters(request)
        standing = None
        with contextlib.suppress(TimeoutError, psycopg.OperationalError, *UNFIT), anyio.fail_after(HEALTH_SECONDS):
            standing = await self._look(self._standing)
        following, webhooks = ((), {}) if self._feed is None else (self._feed.positions(), self._feed.webhooks())
        text = self._metrics.exposition(
            self.writer.waiting, standing, following, webhooks, projections_run=self._runs_projections
        )
        return Response(text, headers={"Cache-Control": "no-store", "Content-Type": metrics.MEDIA_TYPE})

    async def get_time(self, request: Request) -> Response:
        parameters(request)
        return _json(Time(time=self._now()))

    async def get_openapi(self, request: Request) -> Response:
        parameters(request)
        return _json(openapi.document())

    async def get_asyncapi(self, request: Request) -> Response:
        parameters(request)
        return _json(asyncapi.document())

    async def get_problem(self, request: Request) -> Response:
        parameters(request)
        text = page(request.path_params["code"])
        if text is None:
            raise Refusal("LGR-0111", "there is no such code", field="code", value=printable(request.path_params["code"]))
        return Response(text, media_type="text/plain; charset=utf-8")

    @cached_property
    def _limiter(self) -> anyio.CapacityLimiter:
        # Of its own: reads that wait for a slow database must not take the threads of anything else.
        return anyio.CapacityLimiter(_READERS)

    async def _read(self, call: Callable[[], _T]) -> _T:
        return await anyio.to_thread.run_sync(call, limiter=self._limiter)

    @cached_property
    def _lookers(self) -> anyio.CapacityLimiter:
        # Whoever watches the service has to be answered when everybody waits for the database.
        return anyio.CapacityLimiter(_LOOKERS)

    async def _look(self, call: Callable[[], _T]) -> _T:
        """As `_read`, for those who watch: nobody waits for a look that takes too long."""
        return await anyio.to_thread.run_sync(call, limiter=self._lookers, abandon_on_cancel=True)

    @cached_property
    def _one_careful(self) -> anyio.CapacityLimiter:
        # One body at a time: however many are made to take long, they take one thread of the processor.
        return anyio.CapacityLimiter(1)

    async def _moment(self, given: dict[str, str]) -> Moment | None:
        """The moment that the request asks of, once the read side has reached it: of a time, all that is in the log by now.

        Refuses LGR-0108 for a time that is still to come, and for a position beyond the log's end: to wait would not help.
        """
        if "at" not in given:
            return None
        at = moment(given["at"], self._now(), "at")
        end = await self._read(self._reader.end)
        if isinstance(at, int):
            verify_in_log(at, end, "at")
        await self._reached(at if isinstance(at, int) else end, "at")
        return at

    async def _caught_up(self, given: dict[str, str]) -> None:
        """Wait until the read side has reached the position that the request names."""
        if wanted := digits(given, "at_least", 0):
            await self._reached(wanted, "at_least")

    async def _reached(self, wanted: int, field: str) -> None:
        end = time.monotonic() + CATCH_UP_SECONDS
        while (position := _reached(await self._read(self._reader.projections))) < wanted:
            if time.monotonic() >= end:
                raise Refusal(
                    "LGR-0518", f"the read side is at position {position}", field=field, value=str(wanted), help="ask again"
                )
            await anyio.sleep(_CATCH_UP_PAUSE)


def _behind(request: Request) -> bool:
    """Whether a post says that events of earlier epochs wait. Refuses LGR-0108."""
    given = parameters(request, "earlier")
    if given and given["earlier"] != "waiting":
        raise Refusal("LGR-0108", "the parameter is `waiting`, or left out", field="earlier", value=printable(given["earlier"]))
    return bool(given)


def _reached(projections: Sequence[ProjectionPosition]) -> int:
    """The position that every projection has read."""
    return min((int(projection.position) for projection in projections), default=0)


async def _parts(spool: SpooledTemporaryFile[bytes]) -> AsyncIterator[bytes]:
    """What was written, part by part; the file goes with its last one."""
    with spool:
        while part := await anyio.to_thread.run_sync(spool.read, _SPOOLED):
            yield part


def _answer(verdict: Verdict) -> Item:
    refusal = verdict.refusal
    return Item(
        id=verdict.event_id,
        status=verdict.status,
        round=verdict.round,
        positions=tuple([str(position) for position in verdict.positions]),
        problem=None if refusal is None else problems.problem(refusal, verdict.event_id),
    )


def _sequences(verdicts: Sequence[Verdict]) -> tuple[views.Sequence, ...]:
    """What was received of each terminal and epoch of a post; the last word on each counts."""
    told = {(each.terminal, each.epoch): each for verdict in verdicts if (each := verdict.received) is not None}
    return tuple(map(views.sequence, told.values()))


def _json(body: object) -> Response:
    return Response(_encode(body), media_type="application/json", headers={"Cache-Control": "no-store"})
