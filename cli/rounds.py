"""`roundledger rounds`: the rounds as a list, and one of them whole."""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from cli.output import Amount, Column, Form, Report, Sheet, emit, examples, header, output_options, plain, timestamp
from cli.session import database, position, reading

if TYPE_CHECKING:
    from ledger.events import Recorded
    from projections.views import RoundView

ROUNDS = (
    Column("round", "round"),
    Column("position", "position", "position"),
    Column("table", "table"),
    Column("game", "game", drawn=False),
    Column("regulation", "regulation", drawn=False),
    Column("applied", "applied", drawn=False),
    Column("gaming_day", "gaming day", drawn=False),
    Column("status", "status"),
    Column("opened_at", "opened at", drawn=False),
    Column("settled_at", "settled at", drawn=False),
    Column("outcome", "outcome", drawn=False),
    Column("shown", "outcome"),
    Column("currency", "currency"),
    Column("bets", "bets", "number"),
    Column("stakes", "stakes", "amount"),
    Column("prizes", "prizes", "amount"),
    Column("win", "win", "amount"),
)
BETS = (
    Column("bet", "bet"),
    Column("position", "placed at", "position"),
    Column("resolved_position", "resolved at", "position"),
    Column("player", "player"),
    Column("seat", "seat", "number", drawn=False),
    Column("spot", "spot"),
    Column("numbers", "numbers", drawn=False),
    Column("chip", "chip", drawn=False),
    Column("currency", "currency"),
    Column("stake", "stake", "amount"),
    Column("result", "result"),
    Column("odds", "odds", drawn=False),
    Column("arithmetic", "stake × odds", "number"),
    Column("prize_exact", "exact prize in minor units", drawn=False),
    Column("prize", "prize", "amount", drawn=False),
    Column("commission", "commission", "amount"),
    Column("breakage", "breakage", "amount"),
    Column("net_prize", "net prize", "amount", drawn=False),
    Column("returned", "returned", "amount"),
    Column("article", "article"),
)
EVENTS = (
    Column("position", "position", "position"),
    Column("version", "version", "number"),
    Column("event", "event"),
    Column("terminal", "terminal"),
    Column("sequence", "sequence", "number", drawn=False),
    Column("cause", "reported as", drawn=False),
    Column("occurred_at", "occurred at"),
    Column("received_at", "received at"),
)
_FIGURES = ("stakes", "handle", "prizes", "commission", "breakage", "win")


@click.group()
def rounds() -> None:
    """The rounds: a list of them, or one whole."""


@rounds.command(
    "list",
    epilog=examples("roundledger rounds list", "roundledger rounds list --table R01 --limit 500 --csv"),
)
@click.option("--table", help="Rounds of this table only.")
@click.option("--status", type=click.Choice(["open", "closed", "settled"]), help="Rounds that stand so.")
@click.option("--day", type=click.DateTime(["%Y-%m-%d"]), help="Rounds of this gaming day.")
@click.option("--before", type=click.IntRange(1), metavar="POSITION", help="Rounds opened before this position: the next page.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=20, show_default=True, help="At most so many.")
@output_options
def list_(table: str | None, status: str | None, day: datetime | None, before: int | None, limit: int, form: Form) -> None:
    """List rounds, the latest first."""
    import msgspec

    from projections import queries

    with database() as dsn, reading(dsn) as conn:
        found = queries.rounds_list(conn, table=table, status=status, day=day.date() if day else None, before=before, limit=limit)
        at, notes = position(conn, "ledger")
    more = [f"there may be more: --before {found[-1].position}"] if len(found) == limit else []
    shown = header(table=table, status=status, gaming_day=str(day.date()) if day else None, as_of_position=at)
    rows = [msgspec.structs.asdict(row) for row in found]
    notes += sorted({row.applied for row in found if row.applied})
    emit(Report("Rounds", [Sheet(ROUNDS, rows, name="rounds")], shown, [*notes, *more]), form)


@rounds.command(
    epilog=examples(
        "roundledger rounds show 01939f2a-b3c4-7a1f      the beginning of an id is enough",
        "roundledger rounds show 01939f2a-b3c4-7a1f --json",
    )
)
@click.argument("round_id", metavar="ROUND")
@output_options
def show(round_id: str, form: Form) -> None:
    """Show one round: what it was played under, its bets with article and arithmetic, its events with their positions."""
    from cli.ids import find_round
    from ledger.store import log
    from projections.views import view

    with database() as dsn, reading(dsn) as conn:
        events = log.stream(conn, find_round(conn, round_id))
    found = view(events)
    assert found is not None
    emit(round_report(found, events), form)


def round_report(found: RoundView, events: list[Recorded]) -> Report:
    """One round whole."""
    import msgspec

    bets = [
        {**msgspec.structs.asdict(bet), "currency": found.currency, "arithmetic": arithmetic(bet, found.currency)}
        for bet in found.bets
    ]
    figures = {key: Amount(int(getattr(found, key)), found.currency) for key in _FIGURES}
    return Report(
        title=f"Round {found.round}",
        facts=header(
            property=found.property,
            pit=found.pit,
            table=found.table,
            game=found.game,
            regulation=found.regulation,
            gaming_day=str(found.gaming_day),
            shift=found.shift,
            dealer=found.dealer,
            supervisor=found.supervisor,
            status=found.status,
            outcome=found.outcome,
            shown=found.shown,
            currency=found.currency,
            **figures,
            first_position=found.first_position,
            last_position=found.last_position,
        ),
        notes=[found.applied] if found.applied else [],
        sheets=[
            Sheet(BETS, bets, name="bets", title="Bets"),
            Sheet(EVENTS, [_event(recorded) for recorded in events], name="events", title="Events"),
        ],
    )


def arithmetic(bet: Any, currency: str) -> str | None:
    """How a prize was reckoned, in units of the currency: `100.00 × 35 = 3500.00`; nothing where there was none."""
    if bet.odds is None or bet.prize_exact is None or bet.result != "won":
        return None
    return f"{plain(bet.stake, 'amount', currency)} × {bet.odds} = {exact(Fraction(bet.prize_exact), currency)}"


def exact(minor: Fraction, currency: str) -> str:
    """An exact figure of minor units in units of the currency: a plain decimal where it is one, else a fraction."""
    from ledger.money import format_plain, minor_digits

    return format_plain(int(minor), currency) if minor.denominator == 1 else str(minor / 10 ** minor_digits(currency))


def _event(recorded: Recorded) -> dict[str, Any]:
    body: Any = recorded.body
    return {
        "position": recorded.position,
        "version": recorded.version,
        "event": body.TOPIC,
        "terminal": body.terminal,
        "sequence": body.sequence,
        "cause": str(body.cause),
        "occurred_at": timestamp(body.occurred_at),
        "received_at": timestamp(body.received_at),
    }
