"""What was received of each terminal: which of its numbers, and which are missing.

A terminal numbers its reports from 1 in each of its epochs (a report without an epoch is of epoch 0). A number stands for one
report: it has been received once that was answered for good, accepted or rejected. The same number on another report is a fork.
A gap stops nothing but a round of craps, in which one report makes another thing of the next, and what is done to bets
(`Line.out_of_turn`); elsewhere it only keeps a refusal from being final where the missing reports could change it. Where there is
none, a report is judged for good (`weighed`). A number that a person has given up is as good as received: nothing waits for it.

The process that holds a table's lease knows what its terminals sent, and writes it down now and then (`ledger.store.sequences`).
"""

from __future__ import annotations

import logging
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
from eventsourcing.persistence import IntegrityError, OperationalError

from ledger.errors import Refusal
from ledger.reports import GiveUpNumbers, Received, Report
from ledger.store import sequences as store
from ledger.store.sequences import Span

_log = logging.getLogger(__name__)

SAVED_EVERY = 250
"""Numbers of a terminal after which they are written down."""
_BLOCK = 1000
"""Numbers of a terminal after which a row of its own begins, so that an event is soon found by its number."""
_SHOWN = 20
"""Gaps that an answer names, the lowest first."""
_ASK_AGAIN = 1.0
"""Seconds after which a gap that was only told of is looked for again among what other processes refused."""
_LINES = 4096
"""Epochs of terminals kept in memory after their table was given back."""


class Numbers:
    """A set of whole numbers that mostly follow each other, kept as spans."""

    __slots__ = ("_firsts", "_lasts")

    def __init__(self, spans: Iterable[Span] = ()) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        for first, last in spans:
            self._firsts.append(first)
            self._lasts.append(last)

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self._firsts, number) - 1
        return at >= 0 and number <= self._lasts[at]

    def add(self, number: int) -> None:
        """Put a number in."""
        firsts, lasts = self._firsts, self._lasts
        if lasts and number == lasts[-1] + 1:
            lasts[-1] = number
            return
        at = bisect_right(firsts, number)
        if at and number <= lasts[at - 1]:
            return
        before, after = at > 0 and lasts[at - 1] == number - 1, at < len(firsts) and firsts[at] == number + 1
        if before and after:
            lasts[at - 1] = lasts[at]
            del firsts[at], lasts[at]
        elif before:
            lasts[at - 1] = number
        elif after:
            firsts[at] = number
        else:
            firsts.insert(at, number)
            lasts.insert(at, number)

    def discard(self, number: int) -> None:
        """Take a number out, where it is in."""
        firsts, lasts = self._firsts, self._lasts
        at = bisect_right(firsts, number) - 1
        if at < 0 or number > lasts[at]:
            return
        first, last = firsts[at], lasts[at]
        del firsts[at], lasts[at]
        if number < last:
            firsts.insert(at, number + 1)
            lasts.insert(at, last)
        if first < number:
            firsts.insert(at, first)
            lasts.insert(at, number - 1)

    def free(self, first: int, last: int) -> bool:
        """Whether none from the first to the last is in."""
        at = bisect_right(self._firsts, last) - 1
        return at < 0 or self._lasts[at] < first

    def with_(self, spans: Iterable[Span]) -> Numbers:
        """These numbers and those of the spans."""
        joined: list[Span] = []
        for first, last in sorted([*self.spans, *spans]):
            if joined and first <= joined[-1][1] + 1:
                joined[-1] = (joined[-1][0], max(joined[-1][1], last))
            else:
                joined.append((first, last))
        return Numbers(joined)

    @property
    def spans(self) -> list[Span]:
        """The numbers as spans, in order."""
        return list(zip(self._firsts, self._lasts, strict=True))

    @property
    def contiguous(self) -> int:
        """The highest number up to which all from 1 are in; 0 where 1 is missing."""
        at = bisect_right(self._firsts, 1) - 1
        return max(self._lasts[at], 0) if at >= 0 and self._lasts[at] >= 1 else 0

    @property
    def last(self) -> int:
        """The highest number; 0 where there is none."""
        return self._lasts[-1] if self._lasts else 0

    @property
    def gaps(self) -> bool:
        """Whether any number from 1 up to the highest is missing."""
        return self.contiguous < self.last

    def missing(self, below: int | None = None, *, limit: int = _SHOWN) -> list[Span]:
        """The first `limit` spans missing from 1 up to the highest number, or to the one before `below`."""
        found: list[Span] = []
        expected = 1
        for first, last in zip(self._firsts, self._lasts, strict=True):
            if len(found) == limit or (below is not None and first >= below):
                break
            if first > expected:
                found.append((expected, first - 1))
            expected = max(expected, last + 1)
        if below is not None and expected < below and len(found) < limit:
            found.append((expected, below - 1))
        return found


class Line:
    """One epoch of one terminal."""

    __slots__ = ("asked", "epoch", "given_up", "in_block", "numbers", "passed", "recent", "seen", "since", "table", "terminal")

    def __init__(
        self, terminal: str, epoch: int, table: str, since: int, spans: Iterable[Span] = (), given_up: Iterable[Span] = ()
    ) -> None:
        self.terminal = terminal
        self.epoch = epoch
        self.table = table
        self.since = since
        """The position after which its present row begins."""
        self.in_block = 0
        self.numbers = Numbers(spans)
        self.given_up = Numbers().with_(given_up)
        """The numbers that will not come, as a person has put on record."""
        self.recent: dict[int, UUID] = {}
        """The numbers that are not written down yet, with their reports' event ids."""
        self.seen = 0
        """The highest number that came since this is in memory, also where it was turned away for now."""
        self.asked = 0.0
        """When the rejections were last read again, on the monotonic clock; seconds."""
        self.passed: set[int] = set()
        """The numbers that were turned away for now, though nothing before them had to come: what follows does not wait for them.
        Nobody writes them down; after a restart a terminal's next attempt brings them here again."""

    def receive(self, number: int, event_id: UUID) -> bool:
        """A report was answered for good; False where that was known."""
        if number in self.numbers:
            return False
        self.numbers.add(number)
        self.passed.discard(number)
        self.recent[number] = event_id
        return True

    @property
    def accounted(self) -> Numbers:
        """The numbers of which nothing is to come: received, or given up."""
        return self.numbers.with_(self.given_up.spans) if self.given_up.last else self.numbers

    def out_of_turn(self, number: int, after: int) -> Refusal | None:
        """The refusal, for now, of a report while one that its terminal numbered before it, above `after`, has not been seen."""
        accounted = self.accounted
        if accounted.contiguous >= number - 1:
            return None
        missing = [
            (max(first, after + 1), last)
            for first, last in accounted.missing(below=number, limit=number)
            if last > after and not self.passed.issuperset(range(max(first, after + 1), last + 1))
        ]
        if not missing:
            return None
        return Refusal(
            "LGR-0304",
            f"{_words(self.terminal, self.epoch, missing[:_SHOWN])}, and come before this one",
            field="sequence",
            value=str(number),
            help="send the missing events first, then this one again with the same id",
        )

    def undo(self, number: int, event_id: UUID) -> None:
        """It was not, after all."""
        if self.recent.get(number) == event_id:
            del self.recent[number]
            self.numbers.discard(number)

    def standing(self) -> Received:
        """As terminals are told."""
        return received(self.terminal, self.epoch, self.accounted)


def received(terminal: str, epoch: int, numbers: Numbers) -> Received:
    """What was received of one epoch of a terminal, as it is told."""
    return Received(terminal=terminal, epoch=epoch, contiguous=numbers.contiguous, missing=tuple(numbers.missing()))


def accounted(standing: store.Standing) -> Numbers:
    """The numbers of an epoch of which nothing is to come, as the database knows it: received, or given up."""
    return Numbers(standing.received).with_(standing.given_up)


class Before(NamedTuple):
    """What is known of what a terminal numbered before one of its reports, at the moment when that was decided."""

    terminal: str
    epoch: int
    missing: Sequence[Span] | None
    """The first spans of its numbers that are not here; None where nothing is known of this epoch."""
    behind: bool
    """Whether its sender says that events of an earlier epoch wait."""
    others: bool
    """Whether other terminals act for its table."""

    @property
    def whole(self) -> bool:
        """Whether nothing is missing."""
        return self.missing == [] and not self.behind

    def words(self) -> str:
        """What is missing."""
        if not self.missing:
            return f"events of an earlier epoch of terminal {self.terminal} wait to be sent again"
        return _words(self.terminal, self.epoch, self.missing)


def _words(terminal: str, epoch: int, missing: Iterable[Span]) -> str:
    return f"events {_named(missing)} of terminal {terminal}, epoch {epoch}, have not come"


def _named(spans: Iterable[Span]) -> str:
    return ", ".join(str(first) if first == last else f"{first} to {last}" for first, last in spans)


_UNSEEN = frozenset({"LGR-0202", "LGR-0304"})
"""Codes of what is turned away because something that comes before it has not come."""


class Sequences:
    """What was received of the terminals of the tables that this process writes. Not thread-safe: the application holds it."""

    def __init__(self, connection: Callable[[], AbstractContextManager[psycopg.Connection[Any]]]) -> None:
        self._connection = connection
        self._lines: dict[tuple[str, int], Line] = {}
        self._held: dict[str, int] = {}
        """Table → the epoch of its lease under which this process knows of it."""
        self._counted_to: dict[str, int] = {}
        """Table → the position up to which all is written down."""
        self._whole: set[str] = set()
        """Tables of whose terminals memory and rows together know all."""
        self.reached = 0
        """The last position that this process has appended."""

    # Holding a table.

    def taken(self, table: str, lease: int, counted_to: int, *, written: bool) -> None:
        """The table was taken. `written`: whoever had it before wrote all down up to `counted_to`."""
        if self._held.get(table) == lease - 1 and table in self._whole:
            self._held[table] = lease  # nobody had it in between; what was refused for good, anybody may have refused
            for line in self._lines.values():
                if line.table == table:
                    self._reread(line)
            return
        self._forget(table)
        self._held[table] = lease
        self._counted_to[table] = counted_to
        if written:
            self._whole.add(table)

    def left(self, table: str, position: int) -> bool:
        """The table is about to be given back: all is written down. False where that failed."""
        done = self.save(table, position, leaving=True)
        if len(self._lines) > _LINES:
            self._forget(table)
        return done

    def lost(self) -> None:
        """Nobody knows what became of the last append: what memory has is not to be believed."""
        self._lines.clear()
        self._whole.clear()

    def _forget(self, table: str) -> None:
        self._whole.discard(table)
        for key in [key for key, line in self._lines.items() if line.table == table]:
            del self._lines[key]

    # Reports.

    def line(self, report: Report, table: str, undecided: Iterable[tuple[Line, Report]] = ()) -> Line | None:
        """The epoch of the terminal to which a report of this table belongs; None where it has no number. The table is held.

        `undecided`: what the group that is decided has received so far. Raises the library's IntegrityError where some of it came
        from this epoch for another table: that is to be in the log first.
        """
        if report.sequence is None:
            return None
        if table not in self._whole:
            self._recover(table)
        key = (report.terminal, report.epoch or 0)
        line = self._lines.get(key)
        if line is None:
            with self._connection() as conn:
                line = self._load(conn, *key, table)
        elif line.table != table:
            self._move(line, table, undecided)
        line.seen = max(line.seen, report.sequence)
        if report.sequence < line.numbers.last and report.sequence not in line.numbers:
            self._reread(line)  # it fills a gap, unless that was refused by another process
        return line

    def _move(self, line: Line, table: str, undecided: Iterable[tuple[Line, Report]]) -> None:
        """The terminal reports of another table now. What it numbered before is written down first, for of a table's numbers that
        are not written down, only the log of that table tells.
        """
        if any(of is line for of, _ in undecided):
            raise IntegrityError(f"terminal {line.terminal} reports of tables {line.table} and {table} in one group")
        if line.recent and not self.save(line.table, self.reached):
            raise OperationalError(f"what terminal {line.terminal} numbered at table {line.table} could not be written down")
        line.table = table

    def known(self, report: Report) -> Line | None:
        """The same, where it is in memory."""
        return None if report.sequence is None else self._lines.get((report.terminal, report.epoch or 0))

    def turned_away(self, report: Report, refusal: Refusal) -> None:
        """A report was refused, for now at least, by its own reason: what follows it does not wait for it."""
        line = self.known(report)
        if (
            line is not None
            and report.sequence is not None
            and refusal.code not in _UNSEEN
            and not refusal.code.startswith(("LGR-05", "LGR-08"))  # whoever was not let in has said nothing yet
        ):
            line.passed.add(report.sequence)

    def before(self, report: Report, later: Iterable[int], *, others: bool) -> Before:
        """What was here of what a numbered report's terminal numbered before it, when it was decided.

        `later`: numbers of the same epoch that came after it, in the group that is decided.
        """
        assert report.sequence is not None
        line, missing = self.known(report), Numbers()
        if line is not None:
            missing = Numbers(line.accounted.missing(below=report.sequence))
            if missing.spans:
                self._reread(line)
                missing = Numbers(line.accounted.missing(below=report.sequence))
            for number in later:
                if number < report.sequence:
                    missing.add(number)
        elif report.sequence > 1:
            with self._connection() as conn:
                kept = store.kept(conn, report.terminal, report.epoch or 0)
                given_up = store.given_up(conn, report.terminal, report.epoch or 0)
            numbers = Numbers(kept.received).with_(given_up)
            for each in kept.rejected:
                numbers.add(each.sequence)
            missing = Numbers(numbers.missing(below=report.sequence))
        known = line is not None or not missing.spans  # what is not kept may stand in the log all the same
        return Before(report.terminal, report.epoch or 0, missing.spans if known else None, report.behind, others)

    def standing(self, line: Line) -> Received:
        """What was received of a terminal, as it is told; what another process refused for good is not called missing."""
        if line.accounted.gaps and time.monotonic() - line.asked > _ASK_AGAIN:
            self._reread(line)
        return line.standing()

    def _reread(self, line: Line) -> None:
        """Reads what was refused for good of a terminal: that takes no lease, so it may have been any process."""
        with self._connection() as conn:
            for report in store.rejected(conn, line.terminal, line.epoch, line.numbers.spans):
                line.receive(report.sequence, report.event_id)
        line.asked = time.monotonic()

    def _load(self, conn: psycopg.Connection[Any], terminal: str, epoch: int, table: str) -> Line:
        kept = store.kept(conn, terminal, epoch)
        since = self._counted_to[table] if kept.since is None else kept.since
        given_up = store.given_up(conn, terminal, epoch)
        line = self._lines[terminal, epoch] = Line(terminal, epoch, table, since, kept.received, given_up)
        for report in kept.rejected:
            line.receive(report.sequence, report.event_id)
        return line

    def _recover(self, table: str) -> None:
        """Reads in the log what came after all was written down last."""
        self._forget(table)
        with self._connection() as conn:
            for report in store.since(conn, self._counted_to[table], table):
                key = (report.terminal, report.epoch)
                line = self._lines.get(key) or self._load(conn, *key, table)
                line.receive(report.sequence, report.event_id)
        self._whole.add(table)

    # Numbers that will not come.

    def verify_missing(self, said: GiveUpNumbers) -> None:
        """Raises unless all these numbers are missing at this table, which is held: neither received nor given up.

        Refuses LGR-0305 where the terminal has numbered nothing of the epoch at the table, LGR-0308 where not all are missing.
        """
        terminal, epoch, first, last = said.of_terminal, said.of_epoch, said.first, said.last
        with self._connection() as conn:
            found = next((each for each in store.standings(conn, terminal) if each.epoch == epoch), None)
        line = self._lines.get((terminal, epoch))
        numbers = Numbers() if found is None else accounted(found)
        if line is not None:
            numbers = numbers.with_(line.numbers.spans)
        if said.table != (found.table if line is None and found is not None else line and line.table):
            raise Refusal(
                "LGR-0305",
                f"terminal {terminal} has numbered nothing of epoch {epoch} at table {said.table}",
                field="of_terminal",
                value=terminal,
                help="roundledger terminals shows the terminals with their epochs and tables",
            )
        highest = max(numbers.last, 0 if line is None else line.seen)
        if not first <= last < highest or not numbers.free(first, last):
            missing = numbers.missing(below=highest)
            raise Refusal(
                "LGR-0308",
                f"of the numbers {first} to {last} of terminal {terminal}, epoch {epoch}, not all are missing",
                field="first",
                value=str(first),
                help=f"missing: {_named(missing)}" if missing else f"none is missing below {highest}, the highest that was sent",
            )

    def gave_up(self, said: GiveUpNumbers) -> None:
        """These numbers have been given up."""
        line = self._lines.get((said.of_terminal, said.of_epoch))
        if line is not None:
            line.given_up = line.given_up.with_([(said.first, said.last)])

    def fork(self, report: Report) -> Refusal:
        """The refusal of a report whose number another one has, naming both."""
        line, number = self.known(report), report.sequence
        assert line is not None
        assert number is not None
        other = line.recent.get(number)
        if other is None:
            with self._connection() as conn:
                other = store.numbered(conn, line.terminal, line.epoch, number)
        return Refusal(
            "LGR-0303",
            f"terminal {line.terminal} gave number {number} of its epoch {line.epoch} to event "
            f"{other or 'that the log has'} already; this is event {report.event_id}",
            field="sequence",
            value=str(number),
            help="number each event once; a terminal that lost count begins a new epoch and numbers from 1",
        )

    # Writing down.

    def save_some(self, lines: Iterable[Line], position: int) -> None:
        """Writes down what came of the tables of these lines where it has become much."""
        for table in {line.table for line in lines if len(line.recent) >= SAVED_EVERY}:
            self.save(table, position)

    def save(self, table: str, position: int, *, leaving: bool = False) -> bool:
        """Writes down what came of the table up to `position`, the last one that this process has appended.

        False where that failed, which is only logged: the log has it all.
        """
        if table not in self._whole:
            return True
        position = max(position, self._counted_to[table])
        lines = [line for line in self._lines.values() if line.table == table and line.recent]
        rows = [store.Row(line.terminal, line.epoch, line.since, line.numbers.spans) for line in lines]
        try:
            with self._connection() as conn:
                store.keep(conn, table, self._held[table], rows, position, leaving=leaving)
        except Exception:  # noqa: BLE001 - whatever it was, the next time is as good
            _log.warning("what was received at table %s could not be written down", table, exc_info=True)
            return False
        self._counted_to[table] = position
        for line in lines:
            line.in_block += len(line.recent)
            line.recent.clear()
            if line.in_block >= _BLOCK:
                line.since, line.in_block = position, 0
        return True


_STATELESS = frozenset({"LGR-0203", "LGR-0207", "LGR-0208", "LGR-0209", "LGR-0217"})
_OF_STATE = frozenset({"LGR-0408", "LGR-0409", "LGR-0606", "LGR-0607", "LGR-0608"})


def weighed(report: Report, refusal: Refusal, before: Before) -> Refusal:
    """The refusal of a numbered report, for good or for now: by whether what its terminal numbered before it is all here.

    While something is missing that could change it, the report is to be sent again. Where nothing is, what was only refused
    because something might still be under way is refused for good: a report that waited would come true later, at a moment that
    it does not mean (an outcome that came before the bell would settle the bets that were placed after it).
    """
    if report.sequence is None or refusal.final:
        return refusal
    if refusal.meaning.early:
        # What is not there yet may be another terminal's, whose reports this one's numbers say nothing of.
        refusal.final = before.whole and not before.others
        return refusal
    of_state = refusal.code in _OF_STATE or (refusal.code.startswith("LGR-02") and refusal.code not in _STATELESS)
    if refusal.retryable or not of_state or before.whole or before.missing is None:
        return refusal
    return Refusal(
        "LGR-0304",
        f"{before.words()}; as things stand this one would be refused: {refusal.code}, {refusal.detail}",
        field=refusal.field,
        value=refusal.value,
        help="send the missing events, then this one again with the same id",
        cite=refusal.cite,
    )
