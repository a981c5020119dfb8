"""What the door answers: every body as a struct, from which the OpenAPI document is built.

Amounts are strings of minor units of the currency beside them, positions strings of digits: a reader in JavaScript or jq rounds
numbers above 2^53 without a word.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Literal, Protocol
from uuid import UUID

import msgspec

Amount = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^-?[0-9]+$", description='Minor units of the currency beside it: MOP 100.00 is "10000".', examples=["10000"]
    ),
]
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


class BetView(View, frozen=True, kw_only=True):
    """One bet, and what came of it once the round is settled."""

    bet: UUID
    player: str
    seat: int | None = None
    spot: str
    stake: Amount
    result: Literal["won", "lost", "push"] | None = None
    odds: str | None = None
    prize: Amount | None = None
    commission: Amount | None = None
    breakage: Amount | None = None
    net_prize: Amount | None = None
    returned: Amount | None = None
    article: str | None = None
    position: Position
    """Of the event that placed it."""


class RoundView(View, frozen=True, kw_only=True):
    """One round as the read side knows it."""

    position: Position
    """Up to where the read side had read."""
    round: UUID
    table: str
    game: str
    currency: str
    regulation: str
    applied: str | None = None
    """Set where the regulation is applied beyond its repeal."""
    gaming_day: date
    status: Literal["open", "closed", "settled"]
    outcome: str | None = None
    shown: str | None = None
    bets: tuple[BetView, ...]


class Balance(View, frozen=True, kw_only=True):
    """Credits less debits of one account: a player who lost 100 has −100, the house's win account +100."""

    account: str
    currency: str
    balance: Amount


class Balances(View, frozen=True, kw_only=True):
    """Accounts in order of their name."""

    position: Position
    balances: tuple[Balance, ...]
    after: str | None = None
    """Where more follow: the value of `after` for the next page."""


class TableReport(View, frozen=True, kw_only=True):
    """One table, game and currency. Win = handle won and lost less prizes given; theoretical win = Σ stake × house edge."""

    table: str
    game: str
    currency: str
    rounds: int
    handle: Amount
    prizes: Amount
    commission: Amount
    breakage: Amount
    win: Amount
    win_percent: str | None = None
    """Of the handle, as a decimal; left out where nothing was bet."""
    theoretical_win: str
    """Minor units as an exact fraction or decimal."""


class TableReports(View, frozen=True, kw_only=True):
    """Tables in order of their name. Amounts of different currencies are never added up."""

    position: Position
    tables: tuple[TableReport, ...]
    notes: tuple[str, ...] = ()
    """What every reader of the report must know, such as regulations applied beyond their repeal."""


class Health(View, frozen=True, kw_only=True):
    """The service can read and write."""

    status: Literal["ok"]
    position: Position
    """Up to where the read side has read."""
    waiting: int
    """Events that wait for the next commit."""


class Time(View, frozen=True, kw_only=True):
    """The service's clock, for terminals to set theirs by."""

    time: datetime


class Reader(Protocol):
    """The read side, as the door needs it. Calls block; each sees one consistent state, whose position it names."""

    def position(self) -> int:
        """The last position that every projection has read."""

    def round(self, round_id: UUID) -> RoundView | None: ...

    def balances(self, *, account: str | None, currency: str | None, after: str | None, limit: int) -> Balances:
        """Accounts whose name is `account` or lies below it (`player` has `player/P-1`), at most `limit` after `after`."""

    def tables(self, *, table: str | None, game: str | None, day: date | None) -> TableReports: ...
