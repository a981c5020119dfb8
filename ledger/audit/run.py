"""An audit of a log: every round of a scope gathered and judged, in one process or in several side by side."""

from __future__ import annotations

import pickle
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from functools import lru_cache, partial
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

import msgspec

from ledger import erasure
from ledger.audit.beside import Beside
from ledger.audit.chains import Chains
from ledger.audit.claims import Claimed, Claims
from ledger.audit.documents import Documents
from ledger.audit.findings import Finding, finding
from ledger.audit.from_export import ExportSource, Stretch, Survey, following, out_of_order
from ledger.audit.gathering import Gatherer, Row, Stream, readable, uuid
from ledger.audit.judging import Judgement, judge
from ledger.audit.placed import Placed, placed_twice
from ledger.audit.plain import Looking, Plain
from ledger.audit.scope import EVERYTHING, Scope
from ledger.audit.told import Link
from ledger.events import Recorded

if TYPE_CHECKING:
    from ledger.audit.from_log import LogSource  # and psycopg, which a process that reads an export has no use for

Progress = Callable[[int, int], None]
"""Called with the parts that are done, and how many there are."""

_PART_EVENTS = 20_000
"""Events of a part, about: small enough that progress shows, large enough that few rounds straddle."""
_PART_BYTES = 8 << 20
_FEW = 40_000
"""Below so many positions one process is sooner done than several have begun."""
_FEW_BYTES = 16 << 20


class Money(msgspec.Struct):
    """What the rounds came to in one currency, by the log; minor units."""

    handle: int = 0
    """Stakes that lost or won."""
    lost: int = 0
    prizes: int = 0
    commission: int = 0
    breakage: int = 0
    escrow: int = 0
    """Stakes of bets that nothing has decided."""

    @property
    def win(self) -> int:
        """Of the house: the stakes that lost less the prizes, and what it keeps of these."""
        return self.lost - self.prizes + self.commission + self.breakage


class Tally(msgspec.Struct):
    """What was gone through."""

    events: int = 0
    rounds: int = 0
    bets: int = 0
    """Each in the round in which it was placed."""
    payouts: int = 0
    open: int = 0
    """Rounds that have not ended."""
    money: dict[str, Money] = msgspec.field(default_factory=dict)
    """By currency."""

    def of(self, currency: str) -> Money:
        """What the rounds came to in a currency."""
        return self.money.setdefault(currency, Money())

    def plain(self, round_: Plain) -> None:
        """Adds a plain round."""
        self.rounds += 1
        self.bets += round_.bets
        self.payouts += round_.payouts
        money = self.of(round_.currency)
        money.handle += round_.handle
        money.lost += round_.lost
        money.prizes += round_.prizes
        money.commission += round_.commission
        money.breakage += round_.breakage

    def judged(self, judgement: Judgement) -> None:
        """Adds a round that was judged with care."""
        told = judgement.told
        self.rounds += 1
        self.open += not told.ended
        if told.opened is None:
            return
        money = self.of(told.opened.currency)
        for bet in told.bets.values():
            self.bets += bet.carried_from is None
            says = bet.standing
            if bet.left is not None or says.result == "void":
                continue
            if says.result == "open":
                money.escrow += bet.stake
                continue
            money.handle += 0 if says.result == "push" else bet.stake
            money.lost += bet.stake if says.result == "lost" else 0
            money.prizes += int(says.prize)
            money.commission += int(says.commission)
            money.breakage += int(says.breakage)
            self.payouts += says.result != "lost"

    def add(self, other: Tally) -> None:
        """Adds what another part came to."""
        for name in ("events", "rounds", "bets", "payouts", "open"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for currency, money in other.money.items():
            mine = self.of(currency)
            for name in Money.__struct_fields__:
                setattr(mine, name, getattr(mine, name) + getattr(money, name))


class Audited(NamedTuple):
    """What an audit found."""

    findings: list[Finding]
    """In the order of the log, as far as they have a place there."""
    tally: Tally
    position: int
    """Up to which the log was read."""
    seconds: float


class Work(NamedTuple):
    """What a process has to know to judge any part."""

    where: str | Path
    scope: Scope
    share: tuple[str, int] | None
    """Of a database: the snapshot, and up to which position it is read."""
    stop: int
    """Of an export: the byte behind the last line."""
    house: tuple[Recorded, ...]
    following: Mapping[UUID, int]
    erased: erasure.Names = erasure.NOBODY
    """The players that are shown no more, by the events of `house`."""


class Done(NamedTuple):
    """What came of one part."""

    tally: Tally
    findings: list[Finding]
    links: list[Link]
    beside: list[Row]
    left: list[Row]
    """What is not whole in this part."""
    placed: bytearray
    """The ids of the bets that were placed in its rounds (`ledger.audit.placed.raw`)."""
    following: Mapping[Stream, int]
    position: int
    claims: Mapping[UUID, Claimed] = {}
    first: int = 0
    """The position at which it begins; 0 where nothing is in it."""


def audit(
    where: str | Path,
    scope: Scope = EVERYTHING,
    *,
    jobs: int = 1,
    progress: Progress | None = None,
    part_size: int | None = None,
) -> Audited:
    """Judges every round of a scope, of the database with this connection string or of an export at this path.

    With `jobs` the parts are judged by so many processes; a small log by one all the same. `part_size` is for tests: events, or
    bytes, of a part. Raises psycopg.Error where the database cannot be used, and Refusal for what cannot be read at all.
    """
    began = time.monotonic()
    with _plan(where, scope, jobs, part_size) as plan, Placed() as placed:
        merging = _Merging(plan.work, placed)
        for n, done in enumerate(_judged(plan), 1):
            merging.take(done)
            if progress is not None:
                progress(n, len(plan.parts))
        merging.finish(plan.source, plan.parts)
    return Audited(_in_order(merging.findings), merging.tally, merging.position, time.monotonic() - began)


_Task = Callable[[Work, Any], Any]
"""What is done with a part; a function of a module."""
_Crew = Callable[[_Task, Work, Sequence[Any]], Iterator[Any]]
"""Does a task with each part, in this process or in several, and gives what comes of each, in order."""


class _Plan(NamedTuple):
    source: LogSource | ExportSource
    work: Work
    parts: list[Any]
    crew: _Crew | None
    """None where this process is to do it."""


@contextmanager
def _plan(where: str | Path, scope: Scope, jobs: int, size: int | None) -> Iterator[_Plan]:
    """What there is to do, while the state of the log that is read is held."""
    if isinstance(where, Path):
        export = ExportSource(where, scope)
        length = where.stat().st_size
        jobs = jobs if size or length > _FEW_BYTES else 1
        parts = export.parts(_number(length, size or _PART_BYTES, jobs))
        bare = Work(where, scope, None, export.stop, (), {})
        with _crew(jobs if len(parts) > 1 else 1) as crew:
            surveys: list[Survey] = list((crew or _in_turn)(_survey_part, bare, parts))
            house = tuple(each for survey in surveys for each in survey.house)
            erased = erasure.names_of(each.body for each in house)
            yield _Plan(export, bare._replace(house=house, following=following(surveys), erased=erased), parts, crew)
        return
    with _log_source(where, scope) as source:
        jobs = jobs if size or source.end > _FEW else 1
        house_events, follow = source.survey()
        erased = erasure.names_of(each.body for each in house_events)
        work = Work(where, scope, source.share(), -1, tuple(house_events), follow, erased)
        with _crew(jobs) as crew:
            yield _Plan(source, work, list(source.parts(_number(source.end, size or _PART_EVENTS, jobs))), crew)


def _judged(plan: _Plan) -> Iterator[Done]:
    """What comes of each part, in order."""
    if plan.crew is not None:
        yield from plan.crew(_judge_part, plan.work, plan.parts)
        return
    for part in plan.parts:
        yield _judge_rows(plan.work, plan.source.rows(part))


def _number(length: int, size: int, jobs: int) -> int:
    return max(1, jobs, -(-length // size))


def _in_turn(task: _Task, work: Work, parts: Sequence[Any]) -> Iterator[Any]:
    """The crew that is this process."""
    for part in parts:
        yield task(work, part)


@contextmanager
def _crew(jobs: int) -> Iterator[_Crew | None]:
    """So many processes, begun once for all that they are given to do; None for one, which needs none besides this."""
    if jobs == 1:
        yield None
        return
    with TemporaryDirectory(prefix="roundledger-") as folder, ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield partial(_side_by_side, pool, jobs, Path(folder))


def _side_by_side(
    pool: ProcessPoolExecutor, jobs: int, folder: Path, task: _Task, work: Work, parts: Sequence[Any]
) -> Iterator[Any]:
    """The crew that is several processes. No more parts are under way than these and one, so that results do not pile up.

    What holds for all parts may be large: each process reads it from a file, once.
    """
    told = folder / task.__name__
    told.write_bytes(pickle.dumps(work))
    waiting: list[Future[Any]] = []
    try:
        for part in parts:
            waiting.append(pool.submit(_told, task, told, part))
            if len(waiting) > jobs + 1:
                yield waiting.pop(0).result()
        while waiting:
            yield waiting.pop(0).result()
    finally:
        for future in waiting:
            future.cancel()


# In a process of its own.


def _told(task: _Task, told: Path, part: Any) -> Any:
    return task(_work(told), part)


@lru_cache(maxsize=1)
def _work(told: Path) -> Work:
    work = pickle.loads(told.read_bytes())  # noqa: S301 - of the process that began this one
    assert isinstance(work, Work)
    return work


def _log_source(dsn: str, scope: Scope, share: tuple[str, int] | None = None) -> LogSource:
    from ledger.audit.from_log import LogSource

    return LogSource(dsn, scope, share=share)


def _survey_part(work: Work, part: Stretch) -> Survey:
    assert isinstance(work.where, Path)
    return ExportSource(work.where, work.scope, stop=work.stop).survey_part(part)


@lru_cache(maxsize=1)
def _looking(house: tuple[Recorded, ...]) -> tuple[Documents, Looking]:
    documents = Documents.of_log(house)
    return documents, Looking(documents)


def _judge_part(work: Work, part: Any) -> Done:
    if isinstance(work.where, Path):
        return _judge_rows(work, ExportSource(work.where, work.scope, stop=work.stop).rows(part))
    with _log_source(work.where, work.scope, work.share) as source:
        return _judge_rows(work, source.rows(part))


def _judge_rows(work: Work, rows: Iterator[Row]) -> Done:
    documents, looking = _looking(work.house)
    done = Done(Tally(), [], [], [], [], bytearray(), {}, 0)
    gatherer = Gatherer(
        wanted=None if work.scope.whole else work.scope.takes, afterwards=work.following, beside=done.beside.append
    )
    claims = Claims()
    first = next(rows, None)
    for round_ in gatherer.whole(rows if first is None else chain([first], rows)):
        _judge(round_, documents, looking, done, claims, work.erased)
    done.tally.events = gatherer.events
    return done._replace(
        left=gatherer.left(),
        following=gatherer.following,
        position=gatherer.position,
        claims=claims.left,
        first=0 if first is None else first[0],
    )


def _judge(rows: list[Row], documents: Documents, looking: Looking, done: Done, claims: Claims, erased: erasure.Names) -> None:
    passed = looking.passes(rows)
    if passed is not None:
        done.tally.plain(passed)
        done.placed.extend(passed.placed)
        return
    events = readable(rows, done.findings, erased)
    judgement = judge(events, documents, uuid(rows[0][1]))
    for recorded, row in zip(events, rows, strict=False) if len(events) == len(rows) else ():
        claims.take(recorded, row[6], judgement.strays.get(recorded.position))
    done.tally.judged(judgement)
    done.findings.extend(judgement.findings)
    done.links.extend(judgement.links)
    done.placed.extend(b"".join(bet.id.bytes for bet in judgement.told.bets.values() if bet.carried_from is None))


class _Merging:
    """The parts put together, in the order of the log."""

    def __init__(self, work: Work, placed: Placed) -> None:
        self._work = work
        self._placed = placed
        self._documents, self._looking = _looking(work.house)
        self.findings = list(self._documents.findings)
        self.tally = Tally()
        self.position = 0
        self._reached = 0
        """Up to where the parts that were taken go."""
        self._chains = Chains()
        self._beside = Beside()
        self._claims = Claims()
        self._logged = isinstance(work.where, str)
        """Whether rows say what each report brought about: the log has that, an export has not."""
        self._gatherer = Gatherer(wanted=None if work.scope.whole else work.scope.takes, afterwards=work.following)

    def take(self, done: Done) -> None:
        """The next part."""
        if isinstance(self._work.where, Path) and done.first:  # of a database a part may be rounds from anywhere in it
            if done.first <= self._reached:
                raise out_of_order(self._work.where, done.first, self._reached)
            self._reached = done.position
        self.tally.add(done.tally)
        self.findings += done.findings
        self.position = max(self.position, done.position)
        self._chains.take(done.links)
        self._take_beside(done.beside)
        self._claims.add(done.claims)
        self._placed.add(done.placed)
        self._judge(self._gatherer.take_up(done.left, done.following))

    def finish(self, source: LogSource | ExportSource, parts: Iterable[Any]) -> None:
        """There are no more parts than these, of this source."""
        self._judge(self._gatherer.rest())
        if twice := self._placed.twice():
            self.findings += placed_twice((row for part in parts for row in source.rows(part)), twice, self._work.erased)
        if not self._work.scope.whole:
            self._follow(source)
        self.findings += self._chains.finish()
        if self._work.scope.whole:
            self.findings += self._beside.findings
            if not isinstance(source, ExportSource):
                self.findings += self._claims.finish()
                self.findings += _lost(source) if self._work.scope.until is None else []

    def _take_beside(self, rows: list[Row]) -> None:
        events = readable(rows, self.findings, self._work.erased)
        self._beside.take(events)
        if self._logged:
            for recorded, row in zip(events, rows, strict=False) if len(events) == len(rows) else ():
                self._claims.take(recorded, row[6])

    def _judge(self, rounds: Iterable[list[Row]]) -> None:
        done = Done(self.tally, self.findings, [], [], [], bytearray(), {}, 0)
        for rows in rounds:
            _judge(rows, self._documents, self._looking, done, self._claims, self._work.erased)
        self._chains.take(done.links)
        self._placed.add(done.placed)

    def _follow(self, source: LogSource | ExportSource) -> None:
        """What rounds outside of the scope say of the bets that went to them or came from them."""
        seen: set[UUID] = set()
        while wanted := self._chains.others() - seen:
            seen |= wanted
            gatherer = Gatherer(afterwards=self._work.following)
            rounds = [*gatherer.whole(source.whole_rounds(wanted)), *gatherer.rest()]
            for rows in rounds:
                self._chains.answer(judge(readable(rows, [], self._work.erased), self._documents, uuid(rows[0][1])))


def _lost(source: LogSource) -> list[Finding]:
    """Reports that were answered and are no longer there, though nothing else in the log shows it: whole rounds, for one."""
    found = []
    for terminal, epoch, table, spans in source.lost_numbers():
        numbers = ", ".join(str(first) if first == last else f"{first} to {last}" for first, last in spans[:10])
        more = f" and {len(spans) - 10} more spans" if len(spans) > 10 else ""
        what = f"terminal {terminal}, epoch {epoch}, was answered for {numbers}{more}, and the log has nothing of them"
        found.append(finding("NUMBER_LOST", what, table=table or None, found=numbers, command="roundledger terminals"))
    return found


def _in_order(findings: Sequence[Finding]) -> list[Finding]:
    """Each once, those with a place in the log by that."""
    once = {each.id: each for each in findings}
    return sorted(once.values(), key=lambda each: int(each.evidence[0].position) if each.evidence else 0)


def by_code(findings: Iterable[Finding]) -> dict[str, int]:
    """Reason code → findings."""
    return dict(sorted(Counter(each.code for each in findings).items()))
