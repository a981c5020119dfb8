"""`roundledger verify`: the ledger held against itself, three ways, and every difference named by a reason code."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

import click

from cli import asked
from cli.options import DAY, FILE, Form, examples, output_options, processors
from cli.output import Column, counted, emit_csv, emit_json, emit_lines, machine, plain, quiet
from cli.progress import Progress
from cli.session import database

if TYPE_CHECKING:
    from ledger.audit.findings import Finding
    from ledger.audit.run import Audited
    from ledger.audit.scope import Scope
    from projections.replay import Comparison, Difference

COLUMNS = (
    Column("id", "finding"),
    Column("code", "code"),
    Column("what", "what"),
    Column("stream", "round"),
    Column("table", "table"),
    Column("bet", "bet"),
    Column("currency", "currency"),
    Column("expected", "expected"),
    Column("found", "found"),
    Column("measure", "measure"),
    Column("difference", "difference", "number"),
    Column("positions", "positions"),
    Column("events", "event ids"),
    Column("next", "next"),
)
"""Of the CSV: a line for each finding."""

SHOWN = 20
"""Findings that people are shown; programs are given all."""


class Verified(NamedTuple):
    """What was held against what, and what came of it."""

    findings: list[Finding]
    audited: Audited
    compared: Comparison | None
    """None where only an export was there, or an earlier state."""

    @property
    def nothing(self) -> bool:
        """Whether there was nothing to check."""
        return not self.audited.tally.rounds and not self.findings

    @property
    def code(self) -> int:
        """0 clean, 1 differences, 2 nothing to check, or not all of it was compared."""
        if self.findings:
            return 1
        return 2 if self.nothing else 0


@click.command(
    epilog=examples(
        "roundledger verify",
        "roundledger verify --day 2026-11-29 --table R01",
        "roundledger verify --json | jq '.findings[] | {code, bet, expected, found}'",
        "roundledger feed > log.ndjson; roundledger verify --from log.ndjson",
        codes="0 clean, 1 something differs, 2 could not run or nothing to check.",
    )
)
@click.option("--day", type=DAY, help="Only rounds of this gaming day.")
@click.option("--table", help="Only rounds of this table.")
@click.option("--round", "round_", metavar="ID", help="Only this round, by as much of its id as is unambiguous.")
@click.option("--until", metavar="MOMENT", help="The log as it stood after a position, or at a time with its offset.")
@click.option("--from", "file", type=FILE, help="Check an export that roundledger feed wrote, plain or gzip, and no database.")
@click.option("--jobs", type=click.IntRange(1, 256), help="Processes to use; all processors without it.")
@output_options
def verify(
    day: date | None,
    table: str | None,
    round_: str | None,
    until: str | None,
    file: Path | None,
    jobs: int | None,
    form: Form,
) -> int:
    """Hold the ledger against itself.

    Three things are checked. Every round is recomputed from its bets, its outcome and the regulation that the log holds, by a way
    that shares nothing with the booking but the paytable. The live tables are compared with a fresh fold of the log, table by
    table. And the log itself: no event missing, every document as its hash says, every report whole.

    Each finding has a reason code, both values, the events by which it can be seen and the command to type next. Nothing is
    appended and nothing live is written: live tables that are behind the log are waited for a few seconds, and compared as far as
    they have come. An export has no live tables; an earlier state is not compared with those of now. With
    --quiet the findings alone are printed.
    """
    asked.until(until)  # what is no moment needs no database to be refused
    workers = jobs or processors()
    if file is not None:
        verified = of_export(file, _scope_of_export(file, day, table, round_, until), workers)
    else:
        with database() as dsn:
            verified = of_database(dsn, _scope(dsn, day, table, round_, until), workers)
    if form == "json":
        emit_json(document(verified))
    elif form == "csv":
        emit_csv(COLUMNS, [row(each) for each in verified.findings])
    else:
        emit_lines(lines(verified))
    return verified.code


def _scope(dsn: str, day: date | None, table: str | None, round_: str | None, until: str | None) -> Scope:
    import psycopg

    from ledger.audit.scope import Scope

    with psycopg.connect(dsn, autocommit=True) as conn:
        asked.verify_table(dsn, conn, table)
        return Scope(day, table, asked.round_in(conn, round_), asked.until_in(conn, until))


def _scope_of_export(file: Path, day: date | None, table: str | None, round_: str | None, until: str | None) -> Scope:
    from ledger.audit.scope import Scope

    asked.verify_table_of_export(file, table)
    return Scope(day, table, asked.round_of_export(file, round_), asked.until(until))


def of_export(file: Path, scope: Scope, jobs: int) -> Verified:
    """Checks what an export can show."""
    return Verified(*_audited(file, scope, jobs), None)


def _audited(where: str | Path, scope: Scope, jobs: int) -> tuple[list[Finding], Audited]:
    from ledger.audit.run import audit

    with Progress("verify", unit="parts") as progress:
        found = audit(where, scope, jobs=jobs, progress=progress.told)
    return found.findings, found


def of_database(dsn: str, scope: Scope, jobs: int) -> Verified:
    """Checks a ledger: its rounds, its live tables and its log."""
    findings, audited = _audited(dsn, scope, jobs)
    if scope.until is not None:
        return Verified(findings, audited, None)
    compared = _compared(dsn, scope, jobs)
    findings = [*findings, *_rows_that_differ(compared), *_unbalanced(dsn)]
    return Verified(findings, audited, compared)


def _compared(dsn: str, scope: Scope, jobs: int) -> Comparison:
    """The live tables, as far as they have come, beside a fresh fold."""
    from projections.replay import replay
    from projections.replay_rounds import replay_rounds, rounds_of

    if scope.whole:
        with Progress("tables", unit="positions") as folding, Progress("compare", unit="rows") as comparing:
            return replay(dsn, folding.told, comparing=comparing.told, every=True)
    with Progress("tables", unit="rounds") as progress:
        day = None if scope.day is None else scope.day.isoformat()
        rounds = rounds_of(dsn, day=day, table=scope.table, round=scope.round)
        return replay_rounds(dsn, rounds, lambda found: progress.update(found.rounds, total=len(rounds)), jobs=jobs)


def _rows_that_differ(compared: Comparison) -> list[Finding]:
    from ledger.audit.findings import finding

    found = [_row_that_differs(each) for each in compared.differences]
    found += [
        finding("NOT_FOLDED", f"projection {name} stands still: {reason}", command="roundledger doctor")
        for name, reason in compared.stopped.items()
    ]
    if compared.behind != "0" and not compared.stopped:
        what = f"the live tables are {counted(int(compared.behind), 'position')} behind, not compared"
        found.append(finding("NOT_FOLDED", what, command="roundledger doctor"))
    return found


def _row_that_differs(difference: Difference) -> Finding:
    from ledger.audit.findings import finding

    if difference.table == "positions":  # the fold stops, or the live one says that it has read what is not there
        what = f"a fresh fold does not come to where the live tables are: {difference.replayed}"
        return finding("NOT_FOLDED", what, command="roundledger doctor")
    code = "ROW_DIFF"
    if difference.column is None:
        code = "ROW_MISSING" if difference.live is None else "ROW_EXTRA"
    key = {name: value for name, value in difference.key.items() if value is not None}
    event = "" if difference.position is None else f" (event at position {difference.position})"
    return finding(
        code,
        f"{difference}{event}",
        stream=UUID(key["round"]) if "round" in key else None,
        bet=UUID(key["bet"]) if "bet" in key else None,
        expected=difference.replayed,
        found=difference.live,
        command="roundledger projections rebuild",
    )


def _unbalanced(dsn: str) -> list[Finding]:
    import psycopg

    from ledger.audit.findings import finding
    from projections.queries import trial_balance

    with psycopg.connect(dsn, autocommit=True) as conn:
        sums = trial_balance(conn)
    return [
        finding("BALANCE_DIFF", f"the balances in {currency} do not sum to zero", currency=currency, expected=0, found=total)
        for currency, total in sums.items()
        if total
    ]


# ------------------------------------------------------------------------------------------------------------------- the forms


def lines(verified: Verified) -> list[str]:
    """As people read it."""
    from cli.replay import SUMS
    from ledger.audit.run import by_code

    tally, audited = verified.audited.tally, verified.audited
    shown = [line for each in verified.findings[:SHOWN] for line in _said(each)]
    if len(verified.findings) > SHOWN:
        shown.append(f"… and {len(verified.findings) - SHOWN} more: --json or --csv has all")
    if quiet():
        return shown
    if verified.nothing:
        return ["verify: no activity: there is nothing to check"]
    verdict = "DIFFERENT" if verified.findings else "clean"
    head = [f"verify: {verdict}: {counted(tally.rounds, 'round')} recomputed, up to position {audited.position}"]
    head.append(f"  {counted(tally.events, 'event')}, {counted(tally.bets, 'bet')}, {counted(tally.payouts, 'payout')}")
    for currency, money in sorted(tally.money.items()):
        figures = ("handle", money.handle), ("win", money.win), ("at risk", money.escrow)
        head.append("  " + ", ".join(f"{name} {currency} {plain(minor, 'amount', currency)}" for name, minor in figures))
    compared = verified.compared
    if compared is not None:
        rows = counted(sum(compared.rows.values()), "row")
        head.append(f"  live tables: {rows} of {counted(len(compared.rows), 'table')} compared with a fresh fold")
        if compared.rounds:
            head.append(f"  not compared: {SUMS}")
    else:
        head.append("  live tables: not compared")
    head += [f"  {code}: {number}" for code, number in by_code(verified.findings).items()]
    return head + shown


def _said(finding: Finding) -> list[str]:
    where = f"{finding.table}: " if finding.table is not None else ""
    said = [f"{finding.code} {finding.id}  {where}{finding.what}"]
    told = finding.code.startswith("ROW_")  # both values stand in the words already
    if not told and (both := values(finding)):
        said.append(f"    {both.removeprefix(': ')}")
    if finding.evidence:
        said.append("    seen at " + ", ".join(f"position {each.position} {each.topic}" for each in finding.evidence[:4]))
    said.append(f"    next: {finding.next}")
    return said


def values(finding: Finding) -> str:
    """Both values of a finding behind a colon; nothing where it has none."""
    if finding.expected is None and finding.found is None:
        return ""
    return f": expected {_value(finding, finding.expected)}, found {_value(finding, finding.found)}{_by(finding)}"


def _value(finding: Finding, value: str | None) -> str:
    if value is None:
        return "nothing"
    return f"{finding.currency} {_measured(finding, value)}" if _is_money(finding) else value


def _by(finding: Finding) -> str:
    return "" if finding.difference is None else f", a difference of {_measured(finding, finding.difference)}"


def _is_money(finding: Finding) -> bool:
    return finding.measure == "amount" and finding.currency is not None


def _measured(finding: Finding, value: str | None) -> str | None:
    """A value as a plain decimal where it is an amount; else as it is."""
    return plain(value, "amount", finding.currency) if _is_money(finding) else value


def row(finding: Finding) -> dict[str, Any]:
    """A finding in one row of `COLUMNS`; amounts as plain decimals."""
    named = {column.key: getattr(finding, column.key, None) for column in COLUMNS}
    return named | {
        **{key: _measured(finding, named[key]) for key in ("expected", "found", "difference")},
        "positions": " ".join(each.position for each in finding.evidence),
        "events": " ".join(each.event for each in finding.evidence if each.event is not None),
    }


def document(verified: Verified) -> dict[str, Any]:
    """The same for programs."""
    import msgspec

    from ledger.audit.run import by_code

    tally = verified.audited.tally
    money = {currency: {**msgspec.structs.asdict(each), "win": each.win} for currency, each in sorted(tally.money.items())}
    compared = verified.compared
    return {
        "clean": verified.code == 0,
        "position": str(verified.audited.position),
        "events": tally.events,
        "rounds": tally.rounds,
        "open_rounds": tally.open,
        "bets": tally.bets,
        "payouts": tally.payouts,
        "money": {
            currency: {name: machine(minor, "amount") for name, minor in figures.items()} for currency, figures in money.items()
        },
        "live_tables": None if compared is None else {"rows": compared.rows, "positions": compared.positions},
        "by_code": by_code(verified.findings),
        "findings": [msgspec.to_builtins(each) for each in verified.findings],
        "seconds": round(verified.audited.seconds, 3),
    }
