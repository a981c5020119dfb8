"""`roundledger rounds`: the rounds as a list, and one of them whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING, Any
from uuid import UUID

import click

from cli import corrected
from cli.happened import came_apart
from cli.options import DAY, Form, Group, examples, output_options
from cli.output import Amount, Column, Report, Row, Sheet, emit, exact, header, plain
from cli.session import database, position, reading, strange_table
from ledger import assumed

if TYPE_CHECKING:
    from ledger.events import Recorded
    from ledger.rules import Regulation
    from projections.views import BetView, RoundView, VoidView

ROUNDS = (
    Column("round", "round"),
    Column("position", "position", "position", below=5),
    Column("table", "table"),
    Column("game", "game", drawn=False),
    Column("regulation", "regulation", drawn=False),
    Column("applied", "applied", drawn=False),
    Column("gaming_day", "gaming day", drawn=False),
    Column("status", "status", below=3),
    Column("disposition", "disposition", below=3, if_any=True),
    Column("opened_at", "opened at", drawn=False),
    Column("settled_at", "settled at", drawn=False),
    Column("outcome", "outcome", drawn=False),
    Column("shown", "outcome", below=1),
    Column("predecessor", "predecessor", drawn=False),
    Column("successor", "successor", drawn=False),
    Column("bets", "bets", "number", below=4),
    Column("currency", "currency"),
    Column("stakes", "stakes", "amount"),
    Column("escrow", "in escrow", "amount", below=1, if_any=True),
    Column("lost", "lost", "amount", below=2),
    Column("prizes", "prizes", "amount", below=2),
    Column("win", "win", "amount"),
    Column("adjusted", "adjusted", "amount", below=3, if_any=True),
    Column("holds", "holds", "number", below=3, if_any=True),
    Column("corrections_pending", "pending", "number", below=3, if_any=True),
    Column("corrections", "corrected", "number", below=3, if_any=True),
)
BETS = (
    Column("bet", "bet"),
    Column("position", "placed at", "position", below=4),
    Column("resolved_position", "resolved at", "position", below=4),
    Column("player", "player", below=1),
    Column("seat", "seat", "number", drawn=False),
    Column("spot", "spot"),
    Column("numbers", "numbers", drawn=False),
    Column("chip", "chip", drawn=False),
    Column("currency", "currency"),
    Column("stake", "stake", "amount"),
    Column("result", "result"),
    Column("late", "late", below=1, if_any=True),
    Column("locked", "locked", drawn=False),
    Column("placed_in", "placed in", drawn=False),
    Column("corrected", "corrected", "number", below=1, if_any=True),
    Column("odds", "odds", "number", drawn=False),
    Column("arithmetic", "stake × odds", "number", below=2),
    Column("prize_exact", "exact prize", "exact", drawn=False),
    Column("prize", "prize", "amount", drawn=False),
    Column("commission", "commission", "amount", below=3, if_any=True),
    Column("breakage", "breakage", "amount", below=3, if_any=True),
    Column("net_prize", "net prize", "amount", drawn=False),
    Column("returned", "returned", "amount"),
    Column("article", "article", below=3),
)
EVENTS = (
    Column("position", "position", "position"),
    Column("version", "version", "number"),
    Column("event", "event"),
    Column("terminal", "terminal"),
    Column("sequence", "sequence", "number", drawn=False),
    Column("cause", "reported as", drawn=False),
    Column("occurred_at", "occurred at", below=1, if_any=True),
    Column("received_at", "received at"),
)
VOIDS = (
    Column("position", "position", "position"),
    Column("what", "void"),
    Column("number", "number", "number", if_any=True),
    Column("bet", "bet", if_any=True),
    Column("disposition", "stakes"),
    Column("reason", "reason"),
    Column("article", "article", if_any=True),
    Column("successor", "successor", below=2, if_any=True),
    Column("currency", "currency"),
    Column("stakes", "carried or returned", "amount", below=1),
    Column("declared_by", "by", if_any=True),
    Column("note", "note", below=3, if_any=True),
)
HOLDS = (
    Column("hold", "hold"),
    Column("position", "held at", "position"),
    Column("bet", "bet", if_any=True),
    Column("reason", "reason"),
    Column("held_by", "by"),
    Column("note", "note", below=2, if_any=True),
    Column("finding", "finding"),
    Column("correction", "correction", below=2, if_any=True),
    Column("released_by", "released by"),
    Column("released_position", "released at", "position"),
    Column("release_note", "note at release", below=3, if_any=True),
)
CORRECTIONS = (
    Column("correction", "correction"),
    Column("position", "proposed at", "position"),
    Column("kind", "kind"),
    Column("reason", "reason"),
    Column("currency", "currency"),
    Column("bet", "bet", below=2, if_any=True),
    Column("outcome", "outcome", if_any=True),
    Column("player", "player", if_any=True),
    Column("spot", "spot", if_any=True),
    Column("stake", "stake", "amount", if_any=True),
    Column("direction", "direction", if_any=True),
    Column("amount", "amount", "amount", if_any=True),
    Column("article", "article", below=2, if_any=True),
    Column("hold", "hold", below=3, if_any=True),
    Column("note", "note", below=3, if_any=True),
    Column("proposed_by", "proposed by"),
    Column("status", "status"),
    Column("approvals", "approvals", "number", drawn=False),
    Column("approvals_needed", "approvals needed", "number", below=3),
    Column("approved_by", "approved by", if_any=True),
    Column("seconded_by", "and by", if_any=True),
    Column("declined_by", "declined by", if_any=True),
    Column("decline_note", "why declined", below=3, if_any=True),
    Column("decided_position", "decided at", "position"),
    Column("posted_day", "posted to day", if_any=True),
)
LATE_BETS = (
    Column("position", "position", "position"),
    Column("player", "player"),
    Column("seat", "seat", "number", drawn=False),
    Column("spot", "spot"),
    Column("currency", "currency"),
    Column("stake", "stake", "amount"),
    Column("article", "article"),
    Column("recorded_by", "by", if_any=True),
    Column("note", "note", below=2, if_any=True),
)
_FIGURES = (
    *("stakes", "carried_in", "carried_out", "stakes_returned", "escrow"),
    *("handle", "lost", "prizes", "commission", "breakage", "win", "adjusted"),
)
_IF_ANY = ("carried_in", "carried_out", "stakes_returned", "escrow", "commission", "breakage", "adjusted")
LEGEND = "win = stakes lost − prizes, which are net of commission and breakage"


@click.group(cls=Group)
def rounds() -> None:
    """The rounds: a list of them, or one whole."""


@rounds.command(
    "list",
    epilog=examples(
        "roundledger rounds list",
        "roundledger rounds list --table R01 --limit 500 --csv",
        codes="0 also where there is no such round or table, which is said; 2 could not be done.",
    ),
)
@click.option("--table", help="Rounds of this table only.")
@click.option("--status", type=click.Choice(["open", "closed", "settled", "resettled", "voided"]), help="Rounds that stand so.")
@click.option("--day", type=DAY, help="Rounds of this gaming day.")
@click.option("--waiting", is_flag=True, help="Settled rounds with stakes still in escrow, of bets that were received late.")
@click.option("--before", type=click.IntRange(1), metavar="POSITION", help="Rounds opened before this position: the next page.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=20, show_default=True, help="At most so many.")
@output_options
def list_(
    table: str | None, status: str | None, day: date | None, waiting: bool, before: int | None, limit: int, form: Form
) -> None:
    """List rounds, the latest first."""
    import msgspec

    from cli.ids import shortened
    from projections import queries

    with database() as dsn, reading(dsn) as conn:
        found = queries.rounds_list(conn, table=table, status=status, day=day, before=before, waiting=waiting, limit=limit)
        at, notes = position(conn, "ledger")
        notes += strange_table(dsn, conn, table)
        resting = assumed.notes(conn, day=day, decided=False, within={"table": table}) if found else []
        short = shortened(conn, [row.round for row in found]) if form == "table" else {}
    notes += _waiting([row.round for row in found if row.settled_at is not None and row.escrow != "0"])
    more = [f"there may be more: --before {found[-1].position}"] if len(found) == limit else []
    facts = header(table=table, status=status, gaming_day=str(day) if day else None, as_of_position=at)
    notes += [*sorted({row.applied for row in found if row.applied}), *resting]
    sheet = Sheet(
        ROUNDS,
        [msgspec.structs.asdict(row) for row in found],
        name="rounds",
        legend=LEGEND,
        mixed=True,
        for_people=lambda row: {**row, "round": short[row["round"]]},
    )
    emit(Report("Rounds", [sheet], facts, [*notes, *more]), form)


_NAMED = 5
"""How many rounds a note names."""


def _waiting(rounds: Sequence[UUID]) -> list[str]:
    """What to do about rounds that are settled and have a stake still in escrow."""
    if not rounds:
        return []
    many = f"{len(rounds)} settled rounds have" if rounds[1:] else "a settled round has"
    named = ", ".join(str(each) for each in rounds[:_NAMED]) + (", …" if rounds[_NAMED:] else "")
    return [f"{many} stakes in escrow, of bets that were received late; corrections of kind late_bet settle them: {named}"]


@rounds.command(
    epilog=examples(
        "roundledger rounds show 01939f2a-b3c4-7a1f      the beginning of an id is enough",
        "roundledger rounds show 01939f2a-b3c4-7a1f --json",
    )
)
@click.argument("round_id", metavar="ROUND")
@output_options
def show(round_id: str, form: Form) -> None:
    """Show one round: its terms, bets, arithmetic and events.

    Every bet is shown with its article and what was reckoned, every event with its position in the log. Of what was corrected,
    both stories are shown, with who asked for it and who approved it.
    """
    from contextlib import closing

    from cli.ids import find_round, shortened
    from ledger import erasure
    from ledger.application import Rounds
    from ledger.events import OutcomeCorrected
    from projections.views import view

    regulation = None
    with database() as dsn, reading(dsn) as conn:
        events = erasure.stream(conn, find_round(conn, round_id))
        found = view(events)
        assert found is not None
        short = shortened(conn, [bet.bet for bet in found.bets]) if form == "table" else {}
        if found.throws and any(isinstance(each.body, OutcomeCorrected) for each in events):
            with closing(Rounds(dsn)) as rounds:
                regulation = rounds.regulation_of(rounds.round(found.round))
    emit(round_report(found, events, short, regulation), form)


def round_report(
    found: RoundView, events: Sequence[Recorded], short: Mapping[UUID, str], regulation: Regulation | None = None
) -> Report:
    """One round whole; `short` has what people are shown of each bet's id, `regulation` reads throws that were corrected."""
    import msgspec

    bets = [
        {
            **msgspec.structs.asdict(bet),
            "currency": found.currency,
            "arithmetic": arithmetic(bet, found.currency),
            "corrected": len(bet.corrections) or None,
        }
        for bet in found.bets
    ]
    outcomes, changed = corrected.outcomes(found, events), corrected.bets(found)
    both = ", as recorded and as corrected"
    figures = {key: Amount(int(getattr(found, key)), found.currency, key in _IF_ANY) for key in _FIGURES}
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
            disposition=found.disposition,
            predecessor=found.predecessor,
            successor=found.successor,
            outcome=found.outcome,
            shown=found.shown,
            corrected_from=outcomes[0]["shown"] if outcomes else None,
            void_launches=found.void_launches or None,
            shooter=found.shooter,
            point=found.point or None,
            holds_open=found.holds_open or None,
            corrections_pending=found.corrections_pending or None,
            currency=found.currency,
            **figures,
            first_position=found.first_position,
            last_position=found.last_position,
        ),
        notes=[
            *([found.applied] if found.applied else []),
            *assumed.notes_on(found.regulation, (bet.spot for bet in found.bets)),
        ],
        sheets=[
            Sheet(
                BETS,
                bets,
                name="bets",
                title="Bets",
                legend=f"{LEGEND}; handle = stakes lost and won",
                for_people=lambda row: {**row, "bet": short.get(row["bet"], row["bet"]), "late": "late" if row["late"] else None},
            ),
            *(
                _out_of_the_ordinary(columns, rows, name, title, found.currency, short)
                for columns, rows, name, title in (
                    (corrected.OUTCOMES, outcomes, "outcomes", f"Outcome{both}"),
                    (
                        corrected.THROWS,
                        corrected.throws(found, events, regulation),
                        "throws",
                        f"Throws{both if outcomes else ''}",
                    ),
                    (corrected.BETS, changed, "corrected_bets", f"Bets{both}"),
                    (VOIDS, [_void(each) for each in found.voids], "voids", "Voids"),
                    (HOLDS, found.holds, "holds", "Holds"),
                    (CORRECTIONS, found.corrections, "corrections", "Corrections"),
                    (LATE_BETS, found.late_bets, "late_bets", "Late bets, given back"),
                )
            ),
            Sheet(EVENTS, [_event(recorded) for recorded in events], name="events", title="Events", for_people=_event_for_people),
        ],
    )


def _out_of_the_ordinary(
    columns: Sequence[Column], rows: Sequence[Any], name: str, title: str, currency: str, short: Mapping[UUID, str]
) -> Sheet:
    """What most rounds have none of: people are shown it where there is some, and programs always."""
    import msgspec

    return Sheet(
        columns,
        [{**(row if isinstance(row, dict) else msgspec.structs.asdict(row)), "currency": currency} for row in rows],
        name=name,
        title=title,
        mixed=True,
        drawn=bool(rows),
        for_people=lambda row: {name: short.get(said, said) if isinstance(said, UUID) else said for name, said in row.items()},
    )


def _void(void: VoidView) -> dict[str, Any]:
    """A void, by what it was that had no result: of roulette the launch, for the round goes on."""
    import msgspec

    said = msgspec.structs.asdict(void)
    return {**said, "what": "launch"} if (void.what, void.disposition) == ("round", "stand") else said


def arithmetic(bet: BetView, currency: str) -> str | None:
    """How a prize was reckoned, in units of the currency: `100.00 × 35 = 3500.00`; nothing where there was none."""
    if bet.odds is None or bet.prize_exact is None or bet.result != "won":
        return None
    return f"{plain(bet.stake, 'amount', currency)} × {bet.odds} = {exact(Fraction(bet.prize_exact), currency)}"


def _event(recorded: Recorded) -> dict[str, Any]:
    body: Any = recorded.body
    return {
        "position": recorded.position,
        "version": recorded.version,
        "event": body.TOPIC,
        "terminal": body.terminal,
        "sequence": body.sequence,
        "cause": str(body.cause),
        "occurred_at": body.occurred_at,
        "received_at": body.received_at,
        "apart": came_apart(body),
    }


def _event_for_people(row: Row) -> Row:
    return row if row["apart"] else {**row, "occurred_at": None}
