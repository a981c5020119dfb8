"""The reports that there are: what each one shows, of what it is made, and what a reader has to know of its figures."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Protocol

from ledger import __version__
from ledger.errors import Refusal
from projections.reports import fairness, master, queries
from projections.reports.columns import (
    CHANCE,
    CURRENCY,
    DAY,
    GAME,
    PIT,
    PLACE,
    PROPERTY,
    ROUND,
    SHIFT,
    TABLE,
    count,
    expected,
    money,
    numbers,
    text,
    win_percent,
)
from projections.reports.fairness import Fairness
from projections.reports.filters import PLACES, Filters, described
from projections.reports.master import Master
from projections.reports.model import Column, Report, Row, ratio
from projections.reports.queries import Connection, Source
from projections.reports.theory import Theory

IN_PLACE = ("property", "pit", "table", "game", "shift")
"""Filters of what happened at a table."""
OF_MONEY = (*IN_PLACE, "currency")
OF_CHANCES = PLACES

NO_HANDLE = "a percentage is left blank where there is nothing to divide by"
WIN = (
    "win = stakes lost − net prizes (commission and breakage are in it once); "
    "handle = stakes lost and won, pushed stakes not counted"
)
EXACTLY = (
    "the totals of theoretical win are of its exact value, rounded once, and so may differ from the sum of the rounded lines"
)
BY_OPENING = (
    "a round counts under the gaming day in which it opened, with what was corrected while that day was open; what is corrected "
    "once it is closed is posted to an open day, under earlier"
)

AS_CORRECTED = (
    "each round and bet is shown as it is corrected by now, under the day of its round: "
    "of a closed day that may differ from ggr, chances and master-game, which stay as they were"
)
UNDECIDED = (
    "stakes moved are those that were undecided; a decided bet that a correction declares void is in the register of corrections "
    "alone, and so is what a correction that ends a settled round gives back"
)
WITHOUT_SHIFT = (
    "what was corrected of days that were closed is posted to a day and to no shift: a shift leaves it out, "
    "and without one it is under earlier"
)


@dataclass(frozen=True)
class Asked:
    """A report that was asked for: about what, at what time, with what is known beside the database."""

    filters: Filters
    theory: Theory
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    notes: Sequence[str] = ()
    """Of the caller: what figures rest on that no regulation says."""
    thresholds: Mapping[str, Decimal] = field(default_factory=lambda: {"MOP": Decimal("500000.00")})
    """Exposure: from which amount a player's day is listed, each in its own currency."""


class Reading(Protocol):
    """What a report is made of, as it is read."""

    notes: list[str]
    """What there is to say of the rows; complete once they were read."""

    def rows(self) -> Iterator[Row]: ...


@dataclass
class Read:
    """The rows of a view, as they are."""

    conn: Connection
    source: Source
    columns: Sequence[Column]
    filters: Filters
    more: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of the source's own condition."""
    notes: list[str] = field(default_factory=list)

    def rows(self) -> Iterator[Row]:
        return queries.rows(self.conn, self.source, self.columns, self.filters, self.more)

    def copied(self) -> Generator[bytes, None, None]:
        """The same as the server's own CSV."""
        return queries.copied(self.conn, self.source, self.columns, self.filters, self.more)


Found = Callable[[Connection, "Definition", Asked], Reading]
"""How the rows of a report are read."""

Noted = Callable[[Connection, Filters], Sequence[str]]
"""What there is to say of what was asked for."""


def _read(conn: Connection, definition: Definition, asked: Asked) -> Read:
    return Read(conn, definition.source, definition.columns, asked.filters)


def _nothing(conn: Connection, filters: Filters) -> Sequence[str]:
    return ()


@dataclass(frozen=True)
class Definition:
    """A report: its name on the command line and in paths, its title, what it is for, its columns, and whence its rows."""

    name: str
    title: str
    purpose: str
    source: Source
    columns: Sequence[Column]
    legend: str = ""
    subtotal_by: Sequence[str] = ()
    notes: Sequence[str] = ()
    found: Found = _read
    figures: bool = True
    """Whether it shows sums of bets, and so has to say what these rest on."""
    signed: Sequence[str] = ()
    """Who signs it on paper."""
    plotted: bool = False
    """Whether it can be drawn."""
    options: Sequence[str] = ()
    """What may be asked besides filters."""
    noted: Noted = _nothing

    @property
    def filters(self) -> tuple[str, ...]:
        return tuple(self.source.places)


_LOG = Column("position", "position", "position", below=5)

_MONTH = "date_trunc('month', v.gaming_day)::date"

DEFINITIONS: dict[str, Definition] = {}


def _add(definition: Definition) -> None:
    DEFINITIONS[definition.name] = definition


def _master(conn: Connection, definition: Definition, asked: Asked) -> Master:
    return Master(conn, asked.filters, asked.theory)


_add(
    Definition(
        "master-game",
        "Master game report",
        "What was counted at each table beside what its rounds came to: drop, count win, ledger win, hold, expectation.",
        Source("table_days", (), places=OF_MONEY, posted=True),
        master.COLUMNS,
        legend=master.LEGEND,
        subtotal_by=("property", "gaming_day"),
        notes=[*master.NOTES, BY_OPENING],
        found=_master,
        signed=("Prepared by", "Reviewed by"),
        plotted=True,
    )
)

_add(
    Definition(
        "chances",
        "Chances",
        "What each chance did at each table in each gaming day: handle, win, theoretical win, counts.",
        Source(
            "chances",
            ("currency", "property", "table", "gaming_day", "game", "regulation", "chance", "edge"),
            grouped=True,
            places=OF_CHANCES,
            posted=True,
        ),
        (
            *PLACE,
            DAY,
            text("regulation", "regulation", below=4),
            CHANCE,
            Column("edge", "edge", "exact", below=4),
            CURRENCY,
            count("bets", "bets"),
            count("lost_bets", "lost", below=3),
            count("won_bets", "won", below=3),
            count("pushed_bets", "pushed", below=3),
            money("handle", "handle"),
            money("pushed", "pushed stakes", below=3, if_any=True),
            money("lost", "stakes lost", below=2),
            money("gross_prizes", "gross prizes", below=3),
            money("commission", "commission", below=3, if_any=True),
            money("breakage", "breakage", below=3, if_any=True),
            money("prizes", "net prizes", below=2),
            money("earlier", "earlier days", below=3, if_any=True),
            money("win", "win"),
            win_percent(),
            *expected(),
        ),
        legend=f"{WIN}; win % is without what earlier days add; {EXACTLY}; {NO_HANDLE}",
        subtotal_by=("property", "table", "gaming_day"),
        notes=[BY_OPENING],
    )
)

_add(
    Definition(
        "commission-breakage",
        "Commission and breakage",
        "What the house kept of prizes: gross prizes, commission, breakage, net prizes, by table, gaming day and chance.",
        Source(
            "commission_breakage",
            ("currency", "property", "table", "gaming_day", "game", "regulation", "chance"),
            grouped=True,
            places=OF_CHANCES,
            posted=True,
        ),
        (
            *PLACE,
            DAY,
            text("regulation", "regulation", below=4),
            CHANCE,
            CURRENCY,
            count("paid_bets", "bets paid"),
            money("gross_prizes", "gross prizes"),
            money("commission", "commission"),
            money("breakage", "breakage"),
            money("prizes", "net prizes"),
            money("earlier_gross_prizes", "earlier days, gross", below=3, if_any=True),
            money("earlier_commission", "earlier days, commission", below=2, if_any=True),
            money("earlier_breakage", "earlier days, breakage", below=2, if_any=True),
            money("earlier_prizes", "earlier days, net", below=3, if_any=True),
        ),
        legend="gross prizes − commission − breakage = net prizes; breakage is the exact prize less what could be paid; earlier "
        "days: what corrections of bets of closed days add to each of the four, which are without it",
        subtotal_by=("property", "table", "gaming_day"),
        notes=[BY_OPENING],
    )
)

_add(
    Definition(
        "voids",
        "Register of voids",
        "Every launch, shake, throw, bet and round declared void: by which article, who decided, what became of the stakes.",
        Source("voids", ("position",), places=OF_MONEY),
        (
            Column("position", "position", "position"),
            Column("declared_at", "declared", "time"),
            *PLACE,
            DAY,
            SHIFT,
            ROUND,
            text("what", "what"),
            Column("number", "number", "count", below=2),
            Column("bet", "bet", "id", below=3),
            text("reason", "reason"),
            text("article", "article"),
            text("disposition", "disposition"),
            Column("declared_by", "decided by", "id", below=1),
            Column("terminal", "terminal", "id", below=2),
            Column("correction", "correction", "id", below=3),
            Column("successor", "successor", "id", below=3),
            CURRENCY,
            money("stakes", "stakes moved"),
            text("note", "note", below=2),
        ),
        legend="stand: the stakes stay as they are; carry: the successor has them; return: they went back to their players",
        notes=[
            "a void of a launch, shake or throw is no refund: what becomes of the stakes, the article says",
            "decided by: the person who declared it, or else the terminal; the round log names dealer and supervisor",
            "the gaming day is that of the round, whenever the void was declared",
            UNDECIDED,
        ],
        figures=False,
    )
)

_add(
    Definition(
        "corrections",
        "Register of corrections",
        "Every correction: who asked for what and why, who else approved or declined it, what it changed.",
        Source("corrections", ("proposed_position",), places=OF_MONEY, days=("gaming_day", "posted_day")),
        (
            Column("proposed_position", "position", "position"),
            Column("proposed_at", "proposed", "time"),
            Column("correction", "correction", "id", below=1),
            *PLACE,
            DAY,
            Column("posted_day", "posted day", "date", below=1),
            SHIFT,
            ROUND,
            Column("bet", "bet", "id", below=3),
            text("kind", "kind"),
            text("reason", "reason"),
            text("status", "status"),
            text("outcome_before", "outcome was", below=2, if_any=True),
            text("outcome", "outcome is", below=2, if_any=True),
            Column("player", "player", "id", below=2, if_any=True),
            text("spot", "spot", below=2, if_any=True),
            CURRENCY,
            money("stake", "stake", sums=False, below=2, if_any=True),
            money("amount", "amount", sums=False, below=2, if_any=True),
            text("direction", "direction", below=2, if_any=True),
            count("bets_changed", "bets changed"),
            money("to_players", "moved to players"),
            text("article", "article", below=3, if_any=True),
            Column("hold", "hold", "id", below=3),
            Column("proposed_by", "author", "id"),
            Column("approvals_needed", "approvals needed", "count", below=3),
            Column("approvals", "approvals", "count", below=3),
            Column("approved_by", "approved by", "id"),
            Column("seconded_by", "seconded by", "id", below=1, if_any=True),
            Column("declined_by", "declined by", "id", below=1, if_any=True),
            Column("decided_at", "decided", "time", below=2),
            text("note", "note", below=4),
            text("decline_note", "why declined", below=4),
            Column("decided_position", "decided at position", "position", below=5),
        ),
        legend="moved to players: what players got by the correction less what they gave; a table that was owed has a minus",
        notes=[
            "the gaming day is that of the round, whenever it was corrected",
            "the posted day has what it changed: under earlier, where that of the round was closed; a period finds it by both",
        ],
        figures=False,
    )
)

_add(
    Definition(
        "disputes",
        "Disputes and reviews",
        "Every review of a round or bet: why, who held it, what was found.",
        Source("disputes", ("held_position",), places=OF_MONEY),
        (
            Column("held_position", "position", "position"),
            Column("held_at", "held", "time"),
            Column("hold", "hold", "id", below=1),
            *PLACE,
            DAY,
            SHIFT,
            ROUND,
            Column("bet", "bet", "id", below=2),
            text("reason", "reason"),
            Column("held_by", "held by", "id"),
            text("finding", "finding"),
            Column("released_by", "released by", "id"),
            Column("released_at", "released", "time", below=1),
            Column("correction", "correction", "id", below=3),
            CURRENCY,
            money("stake", "in question", sums=False),
            text("note", "note", below=3),
            text("release_note", "note at release", below=3),
        ),
        legend="in question: stakes that are undecided or were decided, without those that went back or on to another round; a "
        "finding that is blank: the review is open, and nothing settles what is held",
        figures=False,
    )
)

_add(
    Definition(
        "late-bets",
        "Late bets",
        "What came after the bell: chips that were given back, and bets that were placed in time and received late.",
        Source("late_bets", ("position",), places=OF_MONEY),
        (
            Column("position", "position", "position"),
            Column("received_at", "received", "time"),
            *PLACE,
            DAY,
            SHIFT,
            ROUND,
            text("treatment", "treatment"),
            Column("bet", "bet", "id", below=2),
            Column("player", "player", "id"),
            Column("seat", "seat", "count", below=3),
            text("spot", "spot"),
            CURRENCY,
            money("stake", "stake"),
            text("result", "result"),
            text("article", "article", below=1),
            Column("recorded_by", "recorded by", "id"),
            text("note", "note", below=3),
        ),
        legend="given_back: no bet, and no money moved; received_late: a bet, in time by its terminal's numbers",
        figures=False,
    )
)

_add(
    Definition(
        "terminal-gaps",
        "Gaps in terminals' numbers",
        "Numbers that a terminal has used and of which nothing was received, and those that a person has given up.",
        Source("terminal_gaps", ("terminal", "epoch", "missing_from"), by_day=False, places=("property", "pit", "table", "game")),
        (
            PROPERTY,
            PIT,
            TABLE,
            GAME,
            Column("terminal", "terminal", "id"),
            Column("epoch", "epoch", "position"),
            Column("missing_from", "from", "position"),
            Column("missing_to", "to", "position"),
            count("missing", "numbers"),
            Column("highest", "highest received", "position"),
            text("state", "state"),
            Column("given_up_by", "given up by", "id", below=1),
            Column("given_up_at", "given up", "time", below=2),
            text("reason", "reason", below=2),
            text("note", "note", below=3),
        ),
        legend="a terminal numbers its reports from 1 in each epoch. missing: it still has it, or it is lost; "
        "given_up: it will not come, by a person's word",
        figures=False,
    )
)

_add(
    Definition(
        "launches",
        "Launches beside rounds",
        "Launches, shakes, counts and throws beside rounds, and how many of them were void.",
        Source("launches", ("property", "table", "gaming_day", "game"), grouped=True, places=IN_PLACE),
        (
            *PLACE,
            DAY,
            count("rounds", "rounds"),
            count("settled", "settled"),
            count("voided", "ended void"),
            count("launches", "launches"),
            count("void_launches", "void"),
            count("results", "results"),
            Column("void_percent", "void %", "percent", derive=ratio("void_launches", "launches")),
        ),
        legend="launches: of the ball, shakes of dice, counts of buttons, throws; those that were void included",
        subtotal_by=("property", "table"),
        figures=False,
    )
)

_add(
    Definition(
        "assumptions",
        "Assumptions and opt-ins in force",
        "What figures rest on beyond the texts of regulations: what is assumed or inferred, opt-ins, choices of each property.",
        Source("assumptions", ("regulation", "kind", "property", "part"), by_day=False, places=("property",)),
        (
            text("regulation", "regulation"),
            text("kind", "kind"),
            PROPERTY,
            text("part", "part"),
            text("reason", "reason"),
            Column("approved_by", "approved by", "id"),
        ),
        legend="a regulation's parts stand under each property that played by it; the reason of a choice is what was chosen",
        figures=False,
    )
)

_add(
    Definition(
        "ggr",
        "Gross gaming revenue",
        "The monthly statement of gross gaming revenue by game and currency, with its identity.",
        Source("table_days", ("currency", "property", "month", "game"), grouped=True, places=OF_MONEY, posted=True),
        (
            PROPERTY,
            Column("month", "month", "date", source=_MONTH),
            GAME,
            CURRENCY,
            count("rounds", "rounds", below=2),
            count("bets", "bets", below=2),
            money("handle", "handle", below=1),
            money("lost", "stakes lost"),
            money("gross_prizes", "gross prizes", source="v.prizes + v.commission + v.breakage"),
            money("commission", "commission"),
            money("breakage", "breakage"),
            money("prizes", "net prizes"),
            money("earlier", "earlier months and days", if_any=True),
            money("ggr", "GGR", source="v.win"),
            Column(
                "identity",
                "lost − gross + comm. + break. + earlier",
                "amount",
                sums=True,
                below=2,
                derive=numbers("lost", "-gross_prizes", "commission", "breakage", "earlier"),
            ),
            money("adjusted", "adjusted", below=1, if_any=True),
        ),
        legend="GGR = stakes lost − net prizes, and net prizes = gross prizes − commission − breakage: so GGR = stakes lost − "
        "gross prizes + commission + breakage, and each of these two is in it once; earlier: what corrections of closed days add",
        subtotal_by=("property", "month"),
        notes=[
            BY_OPENING,
            "adjusted: mispays put right and payments ex gratia, which are no part of the revenue",
        ],
    )
)


def _exposure(conn: Connection, definition: Definition, asked: Asked) -> Read:
    source = definition.source._replace(
        where="EXISTS (SELECT FROM unnest(%(codes)s::text[], %(amounts)s::numeric[]) AS t(code, amount) "
        "WHERE t.code = v.currency AND (v.staked >= t.amount OR v.returned >= t.amount))"
    )
    given = {"codes": list(asked.thresholds), "amounts": list(asked.thresholds.values())}
    return Read(conn, source, definition.columns, asked.filters, given)


_HOUR = (
    "extract(hour FROM v.settled_at AT TIME ZONE "
    "(SELECT p.zone FROM report.properties AS p WHERE p.property = v.property))::bigint"
)


_add(
    Definition(
        "hours",
        "Win by hour",
        "What each table won in each hour of the day, by the property's clock.",
        Source(
            "rounds",
            ("currency", "property", "table", "game", "hour"),
            where="v.settled_at IS NOT NULL",
            grouped=True,
            places=OF_MONEY,
        ),
        (
            *PLACE,
            Column("hour", "hour", "count", source=_HOUR),
            CURRENCY,
            Column("rounds", "rounds", "count", sums=True, source="1"),
            count("resolved", "bets"),
            money("handle", "handle"),
            money("prizes", "net prizes", below=1),
            money("win", "win"),
            Column("win_percent", "win %", "percent", derive=ratio("win", "handle")),
        ),
        legend=f"{WIN}; hours are those in which the rounds were settled, as they are corrected by now",
        subtotal_by=("property", "hour"),
        plotted=True,
    )
)

_add(
    Definition(
        "exposure",
        "Players at or above the threshold",
        "Each player's gaming day in which the stakes or what was paid out reached the threshold, in its own currency.",
        Source("player_days", ("gaming_day", "property", "player", "currency"), places=("property", "currency")),
        (
            PROPERTY,
            DAY,
            Column("player", "player", "id"),
            CURRENCY,
            count("bets", "bets"),
            money("staked", "staked"),
            money("largest_stake", "largest stake", sums=False),
            money("lost", "stakes lost", below=1),
            money("prizes", "net prizes"),
            money("returned", "paid out"),
            Column("tables", "tables", "count", below=1),
        ),
        legend="staked: bets placed, without those withdrawn or declared void; paid out: stakes that went back and net prizes",
        notes=[AS_CORRECTED],
        found=_exposure,
        options=("threshold",),
        figures=False,
    )
)

_ROUND_FIGURES = (
    count("bets", "bets"),
    count("resolved", "resolved", below=4),
    money("stakes", "stakes"),
    money("carried_in", "carried in", below=5, if_any=True),
    money("carried_out", "carried out", below=5, if_any=True),
    money("returned", "returned", below=5, if_any=True),
    money("escrow", "undecided", below=5, if_any=True),
    money("handle", "handle", below=1),
    money("lost", "stakes lost", below=2),
    money("won", "stakes won", below=4),
    money("pushed", "stakes pushed", below=4, if_any=True),
    money("prizes", "net prizes", below=2),
    money("commission", "commission", below=3, if_any=True),
    money("breakage", "breakage", below=3, if_any=True),
    money("win", "win"),
    money("adjusted", "adjusted", below=3, if_any=True),
)

_add(
    Definition(
        "rounds",
        "Round log",
        "Each round with what a regulator asks of it.",
        Source("rounds", ("first_position",), places=OF_MONEY),
        (
            Column("first_position", "position", "position"),
            ROUND,
            *PLACE,
            DAY,
            SHIFT,
            text("status", "status"),
            text("disposition", "disposition", below=4, if_any=True),
            text("regulation", "regulation", below=4),
            text("applied", "applied", drawn=False),
            Column("regulation_hash", "regulation hash", "id", drawn=False),
            Column("property_hash", "property hash", "id", drawn=False),
            text("limits", "limits", drawn=False),
            Column("dealer", "dealer", "id", below=4),
            Column("supervisor", "supervisor", "id", below=4),
            Column("opened_at", "opened", "time", below=2),
            Column("closed_at", "closed", "time", below=5),
            Column("settled_at", "settled", "time", below=3),
            text("outcome_raw", "outcome as written", drawn=False),
            text("outcome", "outcome"),
            text("shown", "shown", below=4),
            Column("throws", "throws", "count", below=5, if_any=True),
            Column("void_launches", "void launches", "count", below=4, if_any=True),
            Column("predecessor", "predecessor", "id", below=6),
            Column("successor", "successor", "id", below=6),
            Column("previous", "previous", "id", drawn=False),
            Column("next", "next", "id", drawn=False),
            CURRENCY,
            *_ROUND_FIGURES,
            Column("holds", "open holds", "count", below=5, if_any=True),
            Column("corrections_pending", "corrections pending", "count", below=5, if_any=True),
            Column("corrections", "corrections", "count", below=5, if_any=True),
            Column("last_position", "last position", "position", drawn=False),
        ),
        legend=WIN,
        notes=[AS_CORRECTED],
    )
)

_add(
    Definition(
        "bets",
        "Bet log",
        "Each bet in each round in which it lay, with what became of it and by which article.",
        Source("bets", ("position", "bet"), places=OF_CHANCES),
        (
            Column("position", "position", "position"),
            Column("bet", "bet", "id", below=1),
            ROUND,
            Column("placed_in", "placed in", "id", drawn=False),
            *PLACE,
            DAY,
            SHIFT,
            text("regulation", "regulation", below=5),
            Column("player", "player", "id"),
            Column("seat", "seat", "count", below=4),
            text("spot", "spot"),
            text("chance", "chance", drawn=False),
            text("numbers", "numbers", drawn=False),
            CURRENCY,
            money("stake", "stake", sums=False),
            text("chip", "chip", below=5),
            Column("late", "late", "flag", below=5),
            Column("locked", "locked", "flag", below=5),
            text("result", "result"),
            Column("odds", "odds", "exact", below=3),
            Column("prize_exact_minor", "exact prize (minor units)", "exact", source="v.prize_exact", drawn=False),
            money("prize", "gross prize", below=4),
            money("commission", "commission", below=4, if_any=True),
            money("breakage", "breakage", below=4, if_any=True),
            money("net_prize", "net prize", below=2),
            money("returned", "paid out"),
            money("house_result", "house"),
            Column("edge", "edge", "exact", below=5),
            text("article", "article", below=4),
            Column("corrections", "corrections", "count", below=5, if_any=True),
            Column("terminal", "terminal", "id", drawn=False),
            Column("terminal_epoch", "epoch", "position", drawn=False),
            Column("terminal_sequence", "sequence", "position", drawn=False),
            Column("event_id", "event id", "id", drawn=False),
            Column("occurred_at", "occurred", "time", drawn=False),
            Column("received_at", "received", "time", drawn=False),
            Column("resolved_position", "resolved at", "position", drawn=False),
        ),
        legend="house: what the bet left with the house, the stake lost or the net prize with a minus; a carried bet has a row "
        "in each round of its chain, and is decided in the last",
        notes=[AS_CORRECTED],
    )
)


def _missing_slips(conn: Connection, filters: Filters) -> Sequence[str]:
    """Of all days and tables: a number belongs to none before it is used."""
    return [
        f"{property_}: missing numbers of {kind} slips, whatever the day and table: {', '.join(spans)}"
        for (property_, kind), spans in queries.missing_slips(conn, filters.property).items()
    ]


_add(
    Definition(
        "slips",
        "Slips of the cage",
        "Every opener, closer, fill, credit and drop with both its signatures, cancelled ones too: each number is accounted for.",
        Source("slip_days", ("written_position", "gaming_day"), places=("property", "table", "shift", "currency")),
        (
            Column("written_position", "position", "position"),
            Column("written_at", "written", "time"),
            Column("slip", "slip", "id", below=3),
            text("kind", "kind"),
            Column("number", "number", "count"),
            PROPERTY,
            TABLE,
            DAY,
            Column("of_day", "of day", "date", below=3, if_any=True),
            SHIFT,
            CURRENCY,
            money("total", "total", sums=False),
            money("posted", "posted", sums=False),
            money("cash", "cash", sums=False, below=2, if_any=True),
            money("vouchers", "vouchers", sums=False, below=2, if_any=True),
            text("box", "box", below=2, if_any=True),
            text("status", "status"),
            Column("written_by", "written by", "id"),
            Column("confirmed_by", "confirmed by", "id"),
            Column("confirmed_at", "confirmed", "time", below=2),
            Column("cancelled_by", "cancelled by", "id", below=1, if_any=True),
            Column("cancelled_at", "cancelled", "time", below=3, if_any=True),
            text("cancel_reason", "why", below=1, if_any=True),
            Column("reversed_by", "reversed by", "id", below=1, if_any=True),
            Column("reversed_day", "reversed on day", "date", below=1, if_any=True),
            text("note", "note", below=4),
            text("cancel_note", "note of the cancellation", below=4),
        ),
        legend="open: signed by one person, and nothing has moved; posted: what a slip adds to the gaming day, as in the master "
        "game report; one that is posted back on another day stands under both, on that one below zero",
        noted=_missing_slips,
        figures=False,
    )
)


def _fairness(conn: Connection, definition: Definition, asked: Asked) -> Fairness:
    return Fairness(conn, asked.filters, asked.theory)


_add(
    Definition(
        "fairness",
        "Fairness of outcomes",
        "Tests of what each table showed against what a fair game would show, with regard to how many tests there are.",
        Source("outcomes", (), places=IN_PLACE),
        fairness.COLUMNS,
        legend=fairness.LEGEND,
        notes=fairness.NOTES,
        found=_fairness,
        plotted=True,
        figures=False,
    )
)

_add(
    Definition(
        "trial-balance",
        "Trial balance",
        "The balance of every account; per currency they sum to zero.",
        Source("balances", ("currency", "account"), by_day=False, places=("currency",)),
        (
            text("account", "account"),
            text("kind", "kind", drawn=False),
            Column("holder", "holder", "id", drawn=False),
            CURRENCY,
            Column("debits", "debit", "amount", sums=True, source="greatest(-v.balance, 0 * v.balance)"),
            Column("credits", "credit", "amount", sums=True, source="greatest(v.balance, 0 * v.balance)"),
            money("balance", "balance"),
        ),
        legend="balance = credits less debits: negative for a player who lost, positive for a table that won",
    )
)


def _slips_left_out(conn: Connection, filters: Filters) -> Sequence[str]:
    given = [name for name in ("pit", "game") if getattr(filters, name) is not None]
    if not given:
        return ()
    return [f"what slips moved has no pit and no game: a {' or '.join(given)} leaves it out; a table or property does not"]


_add(
    Definition(
        "movements",
        "Movements",
        "Every amount that moved, from one account to another, event by event.",
        Source("movements", ("position", "line"), places=OF_MONEY),
        (
            Column("position", "position", "position"),
            Column("line", "line", "count"),
            ROUND,
            Column("bet", "bet", "id", below=2),
            Column("slip", "slip", "id", below=2, if_any=True),
            *PLACE,
            DAY,
            SHIFT,
            CURRENCY,
            text("debit", "from"),
            text("credit", "to"),
            money("amount", "amount"),
        ),
        notes=[
            "what a round moved stands under its day, and so does what a correction of it moved, whatever day that is posted to",
            "the register of corrections names the day to which each is posted; what a slip moved stands under that day",
        ],
        noted=_slips_left_out,
    )
)


def definition(name: str) -> Definition:
    """The report of this name. Raises Refusal LGR-0120."""
    found = DEFINITIONS.get(name)
    if found is None:
        raise Refusal(
            "LGR-0120", "there is no such report", field="name", value=name, help=f"there are: {', '.join(sorted(DEFINITIONS))}"
        )
    return found


def verify(found: Definition, filters: Filters) -> None:
    """Whether the report knows every filter that is set. Raises Refusal LGR-0121."""
    strange = [name for name in PLACES if getattr(filters, name) is not None and name not in found.filters]
    if (filters.first or filters.last) and not found.source.by_day:
        strange.append("period")
    if strange:
        known = ", ".join((*found.filters, *(("a period",) if found.source.by_day else ())))
        raise Refusal("LGR-0121", f"report {found.name} has no filter of this kind", field=strange[0], help=f"it takes: {known}")


def make(conn: Connection, name: str, asked: Asked) -> Report:
    """The report, over a connection in a REPEATABLE READ transaction; its rows are read while they are written.

    Raises Refusal LGR-0120 for an unknown one, LGR-0121 for a filter that it does not have.
    """
    found = definition(name)
    verify(found, asked.filters)
    at = queries.state(conn)
    about = described(asked.filters)
    notes = [*found.notes, *found.noted(conn, asked.filters), *at.notes]
    if found.source.posted and asked.filters.shift is not None:
        notes.append(WITHOUT_SHIFT)
    if found.figures:
        notes = [*queries.applied(conn, asked.filters), *asked.notes, *notes]
    if "threshold" in found.options:
        said = ", ".join(f"{code} {value:f}" for code, value in sorted(asked.thresholds.items()))
        about["filters"] = ", ".join([*([about["filters"]] if about["filters"] != "none" else []), f"threshold {said}"])
        notes.append(f"threshold: {said}; each in its own currency, never converted, so a currency without one is not listed")
    facts = {
        "property": queries.properties(conn, asked.filters.property),
        **about,
        "as_of_position": at.position,
        "generated_at": asked.now().astimezone(UTC).replace(microsecond=0),
        "software": f"roundledger {__version__}",
    }
    reading = found.found(conn, found, asked)
    return Report(
        name=found.name,
        title=found.title,
        facts=facts,
        columns=found.columns,
        found=reading.rows(),
        notes=notes,
        later=reading.notes,
        reading=reading,
        copied=reading.copied if isinstance(reading, Read) else None,
        signed=found.signed,
        legend=found.legend,
        subtotal_by=found.subtotal_by,
    )
