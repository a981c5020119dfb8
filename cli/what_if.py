"""`roundledger what-if`: what would have been paid by another regulation, payable unit or rounding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli import asked
from cli.options import DAY, FILE, Form, examples, output_options
from cli.output import Column, Report, Row, Sheet, counted, emit, emit_csv, header, say, say_lines
from cli.progress import Progress
from cli.session import database, houses
from ledger.errors import Refusal

if TYPE_CHECKING:
    from ledger.audit.reading import Reading
    from ledger.audit.scope import Scope
    from ledger.audit.whatif import Apart, Compared, Left, Rules, Sum
    from ledger.rules import Regulation

ROUNDINGS = ("down", "half-even", "half-up", "up")
_BET = (
    Column("bet", "bet"),
    Column("round", "round", below=4),
    Column("property", "property", drawn=False),
    Column("table", "table"),
    Column("game", "game", drawn=False),
    Column("gaming_day", "gaming day", below=3),
    Column("regulation", "regulation", drawn=False),
    Column("player", "player", below=5),
    Column("spot", "spot"),
    Column("outcome", "outcome", below=3),
    Column("position", "placed at", "position", drawn=False),
    Column("currency", "currency"),
    Column("stake", "stake", "amount"),
    Column("old_result", "was", below=2),
)
BETS = (
    *_BET,
    Column("old_paid", "paid", "amount"),
    Column("new_result", "would", below=2),
    Column("new_odds", "odds", drawn=False),
    Column("new_net_prize", "net prize", "amount", drawn=False),
    Column("new_commission", "commission", "amount", drawn=False),
    Column("new_breakage", "breakage", "amount", drawn=False),
    Column("new_article", "article", drawn=False),
    Column("new_paid", "would be paid", "amount"),
    Column("difference", "difference", "amount"),
    Column("code", "code", drawn=False),
    Column("reason", "why", drawn=False),
)
"""Of a bet that is apart, nothing is known of what it would be, and code and reason say why; of any other these two are empty."""
APART = (*_BET, Column("old_paid", "paid", "amount"), Column("code", "code", below=1), Column("reason", "why", below=1))
SUMS = (
    Column("table", "table"),
    Column("gaming_day", "gaming day"),
    Column("currency", "currency"),
    Column("compared", "compared", "number", below=2),
    Column("differing", "differ", "number"),
    Column("apart", "apart", "number", below=1, if_any=True),
    Column("stakes", "stakes", "amount", below=3),
    Column("old", "paid", "amount"),
    Column("new", "would be paid", "amount"),
    Column("difference", "difference", "amount"),
    Column("apart_paid", "paid apart", "amount", below=1, if_any=True),
)
LEGEND = "paid is what left the table for a bet: the stake returned and the net prize; a difference is what would be paid more"


@dataclass
class Found:
    """What came of it, beside the bets that are listed."""

    sums: dict[tuple[str, date, str], Sum] = field(default_factory=dict)
    """By table, gaming day and currency."""
    left: Counter[Left] = field(default_factory=Counter)
    faulty: int = 0
    """Rounds of which something is wrong in the log."""

    def all_of(self, name: str) -> int:
        """The sum of a count over all tables and days."""
        return sum(getattr(each, name) for each in self.sums.values())


@click.command(
    "what-if",
    epilog=examples(
        "roundledger what-if --file my-rules.toml                       an edited paytable, on the whole log",
        "roundledger what-if --payable-unit 1.00 --day 2026-11-29 --csv",
        "roundledger what-if --rounding half-up --table F01",
        "roundledger what-if --regulation 30/2003 --round 01939f2a-b3c4-7a1f --all",
        codes="0 every bet would be paid the same; 1 some would not, or are apart; 2 could not be done, or nothing to compare.",
    ),
)
@click.option("--regulation", "orders", multiple=True, metavar="ORDER", help="This regulation for its game; may be repeated.")
@click.option("--file", "files", multiple=True, type=FILE, help="The regulation of this TOML file for its game; may be repeated.")
@click.option("--payable-unit", "unit", metavar="AMOUNT", help="Net prizes in whole units of this, in each bet's currency.")
@click.option("--rounding", type=click.Choice(ROUNDINGS), help="How a net prize becomes whole units; the ledger rounds down.")
@click.option("--day", type=DAY, help="Rounds of one gaming day only.")
@click.option("--table", help="Rounds of one table only.")
@click.option("--round", "round_", metavar="ID", help="One round only, by as much of its id as is unambiguous.")
@click.option("--until", metavar="MOMENT", help="The log as it stood at a position, or at a time with its offset.")
@click.option("--all", "everything", is_flag=True, help="List every bet that was compared, not only those that differ.")
@output_options
def what_if(
    orders: tuple[str, ...],
    files: tuple[Path, ...],
    unit: str | None,
    rounding: str | None,
    day: date | None,
    table: str | None,
    round_: str | None,
    until: str | None,
    everything: bool,
    form: Form,
) -> int:
    """Say what would have been paid by other rules.

    Each bet that is decided is given to another regulation, payable unit or rounding, with what the table showed, and what it
    would be paid is laid beside what it was, as corrected. Bets that the other regulation does not know are listed apart with
    the reason. Nothing is written. CSV has rows as the rounds end, those apart among them with their code and reason.

    A file is held to what the regulations of the seeds are held to; seeds/regulations/ shows how one looks.
    """
    asked.until(until)  # what is no moment needs no database to be refused
    rules, found = rules_of(orders, files, unit, rounding), Found()
    with database() as dsn:
        scope = _scope(dsn, day, table, round_, until)
        listed = _gone_through(dsn, scope, rules, found, everything=everything)
        if form == "csv":
            emit_csv(BETS, map(_row, listed))
            say_lines(f"note: {note}" for note in [*_notes(found), *_in_all(found)])
        else:
            bets = sorted(listed, key=lambda each: each.where.position)
            about = header(property=houses(dsn), rules=told(orders, files, unit, rounding), **_described(scope))
            emit(_report(dsn, bets, found, about, _notes(found), everything=everything, short=form == "table"), form)
    if not found.sums:
        say("nothing to compare")
        return 2
    return 1 if found.all_of("differing") or found.all_of("apart") else 0


def rules_of(orders: Sequence[str], files: Sequence[Path], unit: str | None, rounding: str | None) -> Rules:
    """What is tried instead. Refuses a file that is no regulation (LGR-0407), an order that is not held (LGR-0402), and two
    regulations of one game (LGR-0772)."""
    from ledger.audit.whatif import ROUNDINGS as BY_NAME
    from ledger.audit.whatif import Rules
    from ledger.money import parse_plain
    from ledger.rules import regulation
    from ledger.rules.loader import load_file

    if not (orders or files or unit or rounding):
        raise click.UsageError("nothing is to be otherwise: give --regulation, --file, --payable-unit or --rounding")
    found: dict[str, Regulation] = {}
    for each in [*map(regulation, orders), *map(load_file, files)]:
        if each.game in found:
            both = f"{found[each.game].order} and {each.order}"
            raise Refusal("LGR-0772", f"{both} are both of {each.game}", field="--regulation", help="try one of a game at a time")
        found[each.game] = each
    units = None if unit is None else lambda currency: parse_plain(unit, currency, field="--payable-unit")
    return Rules(found, units, BY_NAME[rounding or "down"])


def told(orders: Sequence[str], files: Sequence[Path], unit: str | None, rounding: str | None) -> str:
    """The rules that are tried, in words."""
    said = [*orders, *map(str, files)]
    said += [f"payable unit {unit}"] if unit else []
    return "; ".join([*said, *([f"rounding {rounding}"] if rounding else [])])


def _scope(dsn: str, day: date | None, table: str | None, round_: str | None, until: str | None) -> Scope:
    """What is gone through; up to the log's end of this moment, where no other is asked for."""
    import psycopg

    from cli.ids import find_round
    from ledger.audit.scope import Scope
    from ledger.store import log

    with psycopg.connect(dsn, autocommit=True) as conn:
        asked.verify_table(dsn, conn, table)
        found = None if round_ is None else find_round(conn, round_)
        end = log.head(conn) if until is None else asked.until_in(conn, until)
    return Scope(day, table, found, end)


def _described(scope: Scope) -> dict[str, Any]:
    until = {"received_by" if isinstance(scope.until, datetime) else "as_of_position": scope.until}
    return {"gaming_day": scope.day, "table": scope.table, "round": scope.round, **until}


def _gone_through(dsn: str, scope: Scope, rules: Rules, found: Found, *, everything: bool) -> Iterator[Compared | Apart]:
    """Goes through the log; gives the bets that are to be listed as they come, and keeps all else in `found`."""
    from ledger.audit.reading import reading
    from ledger.audit.whatif import Apart, Left, Sum, what_if

    with reading(dsn, scope) as log, Progress("what-if") as progress:
        for each in what_if(_watched(log, found, progress), rules):
            if isinstance(each, Left):
                found.left[each] += 1
                continue
            where = each.where
            key = where.table, where.gaming_day, where.currency
            found.sums[key] = found.sums.get(key, Sum()).with_bet(each)
            if everything or isinstance(each, Apart) or each.differs:
                yield each


def _watched(log: Reading, found: Found, progress: Progress) -> Iterator[Any]:
    for judgement in log.judgements():
        found.faulty += bool(judgement.findings)
        progress.update(log.events)
        yield judgement


def _notes(found: Found) -> list[str]:
    notes = [f"not compared: {counted(number, left.what)} {left.reason}" for left, number in sorted(found.left.items())]
    if found.faulty:
        notes.append(f"what the log says of {counted(found.faulty, 'round')} is not as it should be, by its own rules")
    return notes


def _in_all(found: Found) -> Iterator[str]:
    """What the rows of a CSV come to."""
    from ledger.money import format_plain

    for currency, total in sorted(_totals(found).items()):
        differ = f"{total['differing']} of {counted(total['compared'], 'bet')} would be paid otherwise"
        apart = f"; {counted(total['apart'], 'bet')} apart" if total["apart"] else ""
        yield f"{currency}: {differ}, {format_plain(total['difference'], currency)} in all{apart}"


def _report(
    dsn: str,
    listed: Sequence[Compared | Apart],
    found: Found,
    about: dict[str, Any],
    notes: list[str],
    *,
    everything: bool,
    short: bool,
) -> Report:
    rows = list(map(_row, listed))
    bets, apart = [row for row in rows if row["code"] is None], [row for row in rows if row["code"] is not None]
    for_people = _shortened(dsn, rows) if short else (lambda row: row)
    sums = _sums(found)
    title = "Bets" if everything else "Bets that would be paid otherwise"
    totals = list(_totals(found).values())
    sheets = [
        Sheet(BETS, bets, name="bets", title=title, for_people=for_people),
        Sheet(SUMS, sums, name="tables", title="By table and gaming day", totals=totals, legend=LEGEND),
        Sheet(APART, apart, name="apart", title="Apart", for_people=for_people, drawn=bool(apart)),
    ]
    return Report("What if", sheets, about, notes)


def _shortened(dsn: str, rows: Sequence[Row]) -> Any:
    import psycopg

    from cli.ids import shortened

    with psycopg.connect(dsn, autocommit=True) as conn:
        short = shortened(conn, {row[key] for row in rows for key in ("bet", "round")})
    return lambda row: {**row, "bet": short[row["bet"]], "round": short[row["round"]]}


def _row(found: Compared | Apart) -> dict[str, Any]:
    from ledger.audit.whatif import Apart

    row: dict[str, Any] = dict.fromkeys(column.key for column in BETS)
    row |= {column.key: getattr(found.where, column.key) for column in _BET} | {"old_paid": found.where.old_paid}
    if isinstance(found, Apart):
        return row | {"code": found.code, "reason": found.reason}
    new = found.new
    return row | {
        "new_result": new.result,
        "new_odds": None if new.payoff is None else str(new.payoff.odds),
        "new_net_prize": new.net_prize,
        "new_commission": new.commission,
        "new_breakage": new.breakage,
        "new_article": None if new.payoff is None else new.payoff.cite,
        "new_paid": new.returned,
        "difference": found.difference,
    }


def _sums(found: Found) -> list[dict[str, Any]]:
    return [
        {"table": table, "gaming_day": day, "currency": currency, **each._asdict(), "difference": each.new - each.old}
        for (table, day, currency), each in sorted(found.sums.items())
    ]


def _totals(found: Found) -> dict[str, dict[str, Any]]:
    """Currency → what all tables and days come to."""
    totals: dict[str, dict[str, Any]] = {}
    for row in _sums(found):
        total = totals.setdefault(row["currency"], {"currency": row["currency"]})
        for column in SUMS[3:]:
            total[column.key] = total.get(column.key, 0) + row[column.key]
    return totals
