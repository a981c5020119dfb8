"""`roundledger demo`: a day of a made-up house through the real system, and what came of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import click

from cli.options import FILE, Form, examples, output_options
from cli.output import Column, Report, Sheet, as_json, counted, emit, emit_csv, emit_json, emit_lines, say, say_lines
from cli.progress import Progress
from cli.session import database, reading
from ledger.errors import Refusal

if TYPE_CHECKING:
    from cli.demo_day import OpenRound, Played, TableDay
    from ledger.property import Property, Table

SEED = 302003
"""Of the first run in a ledger; each later run has the next one, so that it plays another day."""
ROUNDS = 40
_LOCK = 0x64656D6F
"""Advisory lock of the one demo that plays on a database."""
_RECORDED = "REC"
"""The pit of tables that a file names."""
_RECORDED_AT_ONCE = 25
"""Rounds that a terminal posts together when it has a file of them."""


@dataclass(frozen=True)
class Plan:
    """What this run plays: tables with their outcomes, and where those come from in one sentence."""

    config: Property
    days: Sequence[TableDay]
    origin: str
    seed: int
    at_once: int


@click.command(
    epilog=examples(
        "roundledger demo",
        "roundledger demo --seed 7 --rounds 200 --table R01",
        "printf 'seq,outcome,table\\n1,17,T1\\n2,0,T1\\n' > recorded.csv",
        "roundledger demo --outcomes recorded.csv        recorded outcomes in place of made-up ones",
        codes="0 played and the replay equal, 1 a difference was found, 2 could not be done.",
    )
)
@click.option("--seed", type=int, help=f"Makes outcomes and bettors: same seed, same day. By default {SEED} plus earlier runs.")
@click.option("--rounds", type=click.IntRange(1), help=f"Rounds at each table; {ROUNDS} unless a file has more.")
@click.option("--table", "tables", multiple=True, help="Play at this table of the demo property only; may be repeated.")
@click.option("--outcomes", type=FILE, help="Play the roulette outcomes of a CSV file.")
@click.option("--currency", default="MOP", show_default=True, help="Currency of the tables that a file's outcomes are played at.")
@output_options
def demo(seed: int | None, rounds: int | None, tables: tuple[str, ...], outcomes: Path | None, currency: str, form: Form) -> int:
    """Play a day and see what comes out.

    Terminals of several tables post rounds over HTTP to a real service, all at once; rounds are stored in Postgres, outcomes
    become payouts by the article. Then come the table report, the balances, one bet explained, and a replay of the whole log.
    Outcomes and bettors are made up from a seed, unless a file of recorded outcomes is given. It can be run again and again: each
    run adds the rounds of another day, whose figures are told from the total by its number. It never touches a ledger that holds
    another property. With --csv it prints what each table did in this run.
    """
    if outcomes is not None and tables:
        raise click.UsageError("--table is for the made-up day; a file of outcomes names its own", click.get_current_context())
    plan_of = _recorded(outcomes, rounds, currency) if outcomes is not None else _made_up(rounds or ROUNDS, tables)
    with database(schema=False) as dsn, _alone(dsn):
        _make_schema(dsn)
        before = _runs_before(dsn)
        plan = plan_of(SEED + before if seed is None else seed)
        _prepare(dsn, plan.config)
        run = f"demo-{before + 1}"
        played = _play(dsn, plan, run)
        return _show(dsn, plan, run, played, form)


# ----------------------------------------------------------------------------------------------------------------------- plan


def _house() -> Property:
    from importlib.resources import as_file, files

    from cli.property import read_property

    with as_file(files("seeds") / "demo" / "property.toml") as path:
        return read_property(path)


def _made_up(rounds: int, tables: Sequence[str]) -> Callable[[int], Plan]:
    """The plan by the seed that makes it up."""
    config = _house()
    known = {table.id: table for table in config.tables}
    for name in tables:
        if name not in known:
            raise Refusal(
                "LGR-0602", "the demo property has no such table", field="--table", value=name, help=f"tables: {', '.join(known)}"
            )
    chosen = [known[name] for name in dict.fromkeys(tables)] if tables else config.tables

    def plan(seed: int) -> Plan:
        from random import Random

        from cli.demo_day import TableDay
        from cli.demo_outcomes import made_up

        days = [
            TableDay(
                table.id,
                table.game,
                table.currency,
                made_up(table.game, Random(f"{seed}/{table.id}/outcomes"), rounds),  # noqa: S311 - a demo, not a draw
                _spots(config, table.game),
            )
            for table in chosen
        ]
        return Plan(config, days, f"outcomes and bettors are made up from seed {seed}", seed, at_once=1)

    return plan


def _recorded(path: Path, rounds: int | None, currency: str) -> Callable[[int], Plan]:
    """The plan by the seed that makes its bettors up; the file is read now."""
    from cli.demo_day import TableDay
    from cli.demo_outcomes import read_recorded
    from ledger.money import format_plain
    from ledger.property import Table, verify

    config, recorded = _house(), read_recorded(path)[:rounds]
    names = list(dict.fromkeys(outcome.table for outcome in recorded))
    new = [Table(_table_id(name), _RECORDED, "roulette", currency, format_plain(1, currency)) for name in names]
    config = _with_tables(config, (*config.tables, *new))
    verify(config)
    spots = _spots(config, "roulette")
    days = [
        TableDay(table.id, "roulette", currency, [each.outcome for each in recorded if each.table == name], spots)
        for name, table in zip(names, new, strict=True)
    ]
    origin = f"outcomes are those recorded in {path.name}; bettors are made up from seed "
    return lambda seed: Plan(config, days, f"{origin}{seed}", seed, at_once=_RECORDED_AT_ONCE)


def _with_tables(config: Property, tables: tuple[Table, ...]) -> Property:
    """The property with these tables, and the pit of those that a file brought."""
    import msgspec

    from ledger.property import Pit

    pits = {pit.id: pit for pit in config.pits}
    if any(table.pit == _RECORDED for table in tables):
        pits[_RECORDED] = Pit(_RECORDED, "Recorded outcomes")
    return msgspec.structs.replace(config, tables=tables, pits=tuple(pits.values()))


def _table_id(name: str) -> str:
    """The demo's table for a table that a file names."""
    return "REC-" + (re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:60] or "-")


def _spots(config: Property, game: str) -> list[list[str]]:
    """Every legal spot of the game, chance by chance."""
    from datetime import UTC, datetime

    from ledger.rules import regulation_for

    applied = regulation_for(game, datetime.now(UTC), opt_ins=config.regulations_opted_in)
    chances: dict[str, list[str]] = {}
    for spot in applied.regulation.spots():
        chances.setdefault(spot.chance.code, []).append(spot.text)
    return list(chances.values())


# ----------------------------------------------------------------------------------------------------------------------- play


@contextmanager
def _alone(dsn: str) -> Iterator[None]:
    """One demo at a time: two would open rounds at each other's tables."""
    import psycopg

    with psycopg.connect(dsn, autocommit=True) as conn:
        row = conn.execute("SELECT pg_try_advisory_lock(%s)", (_LOCK,)).fetchone()
        if row != (True,):
            raise Refusal("LGR-0708", "another demo is playing on this database", help="wait for its end")
        yield


def _make_schema(dsn: str) -> None:
    from ledger.store import migrate

    for applied in migrate.init(dsn):
        say(f"db init: {applied.version:04}_{applied.name}")


def _runs_before(dsn: str) -> int:
    """The number of the latest demo run in this ledger: each names itself as the shift of its rounds."""
    with reading(dsn) as conn:
        latest = conn.execute("SELECT max(substring(shift FROM '^demo-([0-9]{1,6})$')::int) FROM projection.rounds").fetchone()
    return latest[0] if latest and latest[0] else 0


def _prepare(dsn: str, config: Property) -> None:
    """The demo property; refuses a ledger that is somebody's."""
    from cli.property import apply_property, properties

    held = properties(dsn)
    others = [house.id for house in held if house.id != config.id]
    if others:
        raise Refusal(
            "LGR-0707",
            "this ledger holds another property; the demo would put made-up rounds into its books",
            field="property",
            value=", ".join(others),
            help="unset LEDGER_DSN, or name an empty database or another LEDGER_DATA_DIR",
        )
    # Tables that earlier files brought stay configured: a broken run may have left a round open at one.
    kept = {table.id: table for house in held for table in house.tables} | {table.id: table for table in config.tables}
    apply_property(dsn, _with_tables(config, tuple(kept.values())))


def _play(dsn: str, plan: Plan, run: str) -> Played:
    from cli.demo_day import play
    from cli.demo_service import service

    total = sum(len(day.outcomes) for day in plan.days)
    say(f"run {run}: {counted(total, 'round')} at {counted(len(plan.days), 'table')}; {plan.origin}")
    say(f"the same day again: --seed {plan.seed}, with the other options as they are now")
    left = _left_open(dsn, plan)
    with service(dsn) as url:
        say(f"service at {url}")
        with Progress("playing", total, "rounds") as progress:
            return play(url, plan.days, run=run, seed=plan.seed, at_once=plan.at_once, left_open=left, progress=progress.update)


def _left_open(dsn: str, plan: Plan) -> dict[str, OpenRound]:
    """Rounds that a run which was killed left open at the tables that are to be played."""
    import psycopg

    from cli.demo_day import OpenRound
    from projections import queries

    tables = [day.table for day in plan.days]
    found = {}
    with psycopg.connect(dsn, autocommit=True) as conn:
        for table, round_ in conn.execute("SELECT table_id, round FROM ledger.open_rounds WHERE table_id = ANY (%s)", (tables,)):
            view = queries.round_view(conn, round_)
            assert view is not None
            found[table] = OpenRound(round_, betting=view.status == "open")
    return found


# ----------------------------------------------------------------------------------------------------------------------- show


def _show(dsn: str, plan: Plan, run: str, played: Played, form: Form) -> int:
    """Prints what came of it; returns the exit code."""
    from cli.balances import balances_report
    from cli.explain import bet_explained
    from cli.replay import compare, document, exit_code, verdict
    from cli.report import shift_sheet, tables_report

    posted = f"{counted(len(played.rounds), 'round')}, {counted(played.bets, 'bet')}, {counted(played.events, 'event')} posted"
    say(f"{posted} in {played.seconds:.1f} s")
    first = run == "demo-1"
    note = f"figures are of this run, {run}" if first else f"figures are of every run in this ledger, of which {run} is the last"
    report, of_run = tables_report(dsn, notes=[f"{plan.origin}; {note}"]), shift_sheet(dsn, run)
    balances = balances_report(dsn)
    counts, expected = _counts(dsn, run, played), Counter(outcome for day in plan.days for outcome in day.outcomes)
    bet = _winning_bet(dsn, played)
    explanation = bet_explained(dsn, bet) if bet is not None else None
    replayed = compare(dsn)
    code = max(exit_code(replayed), 0 if counts == expected else 1)
    if form == "json":
        emit_json(
            {
                "run": run,
                "seed": str(plan.seed),
                "origin": plan.origin,
                "rounds": len(played.rounds),
                "bets": played.bets,
                "events": played.events,
                "position": str(played.position),
                "counts": {outcome: counts[outcome] for outcome in sorted(counts, key=_in_order)},
                "counts_equal": counts == expected,
                "of_this_run": _document(Report(f"Run {run}", [of_run])),
                "report": _document(report),
                "balances": _document(balances),
                "explained": explanation.document() if explanation else None,
                "replay": document(replayed),
            }
        )
        return code
    if form == "csv":
        emit_csv((Column("run", "run"), *of_run.columns), [{"run": run, **row} for row in of_run.rows])
        say_lines(verdict(replayed))
        return code
    if not first:
        emit(Report(f"Run {run}", [of_run], notes=[plan.origin, "figures are of this run alone"]), form)
        click.echo()
    for part in (report, balances):
        emit(part, form)
        click.echo()
    if plan.at_once > 1 or counts != expected:
        emit(_counts_report(run, counts, expected), form)
        click.echo()
    emit_lines([*([*explanation.lines(), ""] if explanation is not None else []), *verdict(replayed)])
    _next(played, bet)
    return code


def _counts(dsn: str, run: str, played: Played) -> Counter[str]:
    """How often each outcome came in this run, by what the read side holds."""
    with reading(dsn) as conn:
        rows = conn.execute(
            "SELECT outcome, count(*) FROM projection.rounds WHERE shift = %s AND round = ANY (%s) AND status = 'settled' "
            "GROUP BY outcome",
            (run, played.rounds),
        )
        return Counter(dict(rows.fetchall()))


def _counts_report(run: str, counts: Counter[str], expected: Counter[str]) -> Report:
    rows = [
        {"outcome": outcome, "count": counts[outcome], "source": expected[outcome]}
        for outcome in sorted(counts | expected, key=_in_order)
    ]
    columns = (
        Column("outcome", "number", "number"),
        Column("count", "rounds", "number"),
        Column("source", "in the source", "number"),
    )
    verdict = "equal to" if counts == expected else "DIFFERENT from"
    rounds = counted(sum(counts.values()), "round")
    return Report(f"Outcomes of {run}: {rounds}, {verdict} the source's counts", [Sheet(columns, rows)])


def _in_order(outcome: str) -> list[int]:
    return [int(part) for part in outcome.split("-")]


def _winning_bet(dsn: str, played: Played) -> UUID | None:
    """The bet with the longest odds among the winners of the latest round that had any."""
    from fractions import Fraction

    from projections import queries

    with reading(dsn) as conn:
        for round_ in reversed(played.rounds):
            view = queries.round_view(conn, round_)
            won = [bet for bet in view.bets if bet.result == "won"] if view else []
            if won:
                return max(won, key=lambda bet: Fraction(bet.odds or 0)).bet
    return None


def _document(report: Report) -> Any:
    import json

    return json.loads(as_json(report))


def _next(played: Played, bet: UUID | None) -> None:
    """What to type next, on stderr."""
    from cli.typed import ROOT, from_here, program

    example = ROOT / "docs" / "how-to" / "post-a-round.md"
    how = f"see {from_here(example)}" if example.exists() else "/openapi.json describes what it takes"
    commands = [
        f"rounds show {played.rounds[-1]}",
        *([f"explain {bet}"] if bet is not None else []),
        "report tables --csv",
        "balances win/",
        "rules settle 30/2003 17 straight:17=100 red=50.00",
        f"serve     # then post a round to it: {how}",
    ]
    say("\nWhat to type next:")
    say_lines(f"  {program()} {command}" for command in commands)
