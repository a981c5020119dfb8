"""What the door answers beyond what the projections offer: structs, from which the OpenAPI document is built.

Amounts are strings of minor units of the currency beside them, positions strings of digits: a reader in JavaScript or jq rounds
numbers above 2^53 without a word.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import IO, Annotated, Literal, NamedTuple, Protocol
from uuid import UUID

import msgspec

from ledger.application.liability import Liability
from ledger.reports import Received
from projections.moments import Moment, TrialLine
from projections.queries import Balance, ProjectionPosition, TableReport
from projections.reports.filters import Filters
from projections.views import RoundView

Position = Annotated[
    str, msgspec.Meta(pattern=r"^[0-9]+$", description="A place in the log's one order of events.", examples=["12"])
]


class View(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A body, or a part of one. Fields that say nothing are left out."""


class FieldError(View, frozen=True, kw_only=True):
    """The part of the input that was refused."""

    field: str
    """A dotted path within the event."""
    value: str | None = None
    """As it was sent, cut to 200 characters."""


class Sequence(View, frozen=True, kw_only=True):
    """What was received of one epoch of a terminal: which of its numbers were answered for good."""

    terminal: str
    epoch: int
    """0 where the terminal names none."""
    contiguous: int
    """The highest number up to which all from 1 were received."""
    missing: tuple[tuple[int, int], ...]
    """From, to: the lowest numbers below the highest received one that were not received; twenty spans at most."""


def sequence(received: Received) -> Sequence:
    """What was received, as the door says it."""
    return Sequence(terminal=received.terminal, epoch=received.epoch, contiguous=received.contiguous, missing=received.missing)


class Problem(View, frozen=True, kw_only=True):
    """RFC 9457 problem details."""

    type: str
    """A page about the code, relative to this service."""
    title: str
    status: int
    detail: str
    instance: str | None = None
    """The event that was refused, as a URN, where it gave its id."""
    code: str
    retryable: bool
    """Whether the very same request may succeed later."""
    errors: tuple[FieldError, ...] = ()
    help: str | None = None
    cite: str | None = None
    """Order, article and item of the rule that refused."""
    sequences: tuple[Sequence, ...] = ()
    """Of an event that was posted alone: as in Answer."""


class Item(View, frozen=True, kw_only=True):
    """What became of one event of a post."""

    id: UUID | None
    """The event's id; null where it could not be read."""
    status: Literal["accepted", "replayed", "rejected"]
    round: UUID | None
    positions: tuple[Position, ...]
    """Of the events that it caused, in order; none where it was rejected."""
    problem: Problem | None = None


class Answer(View, frozen=True, kw_only=True):
    """One item for each event of the post, in the same order."""

    items: tuple[Item, ...]
    sequences: tuple[Sequence, ...] = ()
    """What was received, after this post, of each terminal and epoch that numbered events of it."""


class Balances(View, frozen=True, kw_only=True):
    """Balances in order of account and currency."""

    position: Position
    """As of where in the log they are: up to where it is known, or the position asked for, or that of the time asked for."""
    at: datetime | None = None
    """The time asked for: by then the events up to the position had been received."""
    balances: list[Balance]
    after: str | None = None
    """Where more follow: the parameter `after` of the next page."""


class Trial(View, frozen=True, kw_only=True):
    """The trial balance: all accounts by kind. In each currency the balances sum to zero."""

    position: Position
    """As in Balances."""
    at: datetime | None = None
    """As in Balances."""
    lines: list[TrialLine]
    sums: dict[str, str]
    """Currency → sum of all its balances in minor units: "0", or the books are broken."""


class Liabilities(View, frozen=True, kw_only=True):
    """What tables may still have to pay."""

    position: Position
    """As of where in the log."""
    tables: list[Liability]
    """By table, a line for each currency: one, but where the table held stakes in another before."""


Run = Literal["here", "not here"]
"""Where the projections are run: by this service, or by whoever else."""


class Health(View, frozen=True, kw_only=True):
    """The service lives. `behind`: a projection stands still or is more than ten seconds late, so that reads miss what came
    after, or stands beyond the log's end, so that it will pass over what comes. `away`: the database does not answer, and
    nothing more is known. Of projections that are not run here `ok` says nothing; how far they are stands in `projections`
    all the same."""

    status: Literal["ok", "behind", "away"]
    position: Position | None = None
    """Up to where every projection has read the log."""
    log: Position | None = None
    """The last event in the log: what lies between is on its way into the projections."""
    waiting: int
    """Events that wait for the next commit."""
    projections_run: Run = "here"
    """`not here`: this service was told to run none, and another process has to (`roundledger projections run`)."""
    projections: list[ProjectionPosition] = []


class Ready(View, frozen=True, kw_only=True):
    """The service takes posts and answers questions: its database answers with the schema of this release, every projection goes
    on as far as they are run here, and it was not told to stop."""

    status: Literal["ready"]
    projections_run: Run = "here"
    """As in Health."""


class TerminalView(View, frozen=True, kw_only=True):
    """A terminal's epochs, the latest first."""

    terminal: str
    table: str
    """The table that it last reported of; empty where that is not written down yet."""
    sequences: tuple[Sequence, ...]


class Time(View, frozen=True, kw_only=True):
    """The service's clock, for terminals to set theirs by."""

    time: datetime


class AskedReport(NamedTuple):
    """A report that was asked for."""

    name: str
    form: str
    """`json`, `ndjson` or `csv`."""
    filters: Filters
    thresholds: Mapping[str, Decimal] | None
    """Where any are named."""


class Reader(Protocol):
    """The read side, as the door needs it. Calls block; each sees one state."""

    def projections(self) -> list[ProjectionPosition]:
        """How far each projection has read the log."""

    def end(self) -> int:
        """The position of the last event in the log."""

    def drawn(self) -> int:
        """The last position that was ever given out."""

    def age(self, position: int) -> float | None:
        """Seconds since the first event behind a position was received; 0 where there is none, None where it cannot be read."""

    def verify_schema(self) -> None:
        """Whether the database has this release's schema. Raises what `ledger.store.migrate.require_current` does."""

    def round(self, round_id: UUID) -> RoundView | None:
        """The round as the log has it now."""

    def terminal(self, terminal: str) -> TerminalView | None:
        """What was received of a terminal that has numbered an event."""

    def balances(self, *, prefix: str | None, currency: str | None, after: str | None, limit: int, at: Moment | None) -> Balances:
        """At most `limit` balances after `after`, of accounts whose name begins with `prefix`; now, or as of a moment."""

    def liabilities(self, *, table: str | None) -> Liabilities:
        """What tables may still have to pay; of all, or of one, with no line where it is unknown."""

    def trial(self, *, at: Moment | None) -> Trial:
        """The trial balance now, or as of a moment."""

    def tables(self, *, day: date | None) -> TableReport:
        """The table report of one gaming day, or of all."""

    def report(self, asked: AskedReport, out: IO[bytes]) -> None:
        """Writes a report. Raises Refusal LGR-0121 for what it cannot be asked."""
