"""The views for reports and BI: they say what the projections hold, in decimals, and their role may read nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest
from msgspec.structs import replace
from psycopg import errors, sql

from ledger.money import CURRENCIES
from ledger.reports import VoidBet, VoidRound
from projections import queries
from projections.runner import catch_up
from tests.integration.everything import play_everything
from tests.integration.projections.support import connected, raw
from tests.support import Terminal, accepted, codes, house

FIGURES = ("rounds", "bets", "handle", "lost", "pushed", "prizes", "commission", "breakage", "win", "adjusted")


@pytest.fixture
def conn(dsn: str) -> Iterator[psycopg.Connection[Any]]:
    """A day on which everything happened that can."""
    play_everything(dsn)
    with connected(dsn) as connection:
        catch_up(connection)
        yield connection


def rows(conn: psycopg.Connection[Any], view: str, *columns: str) -> list[tuple[Any, ...]]:
    wanted = sql.SQL(", ").join(map(sql.Identifier, columns)) if columns else sql.SQL("*")
    return conn.execute(sql.SQL("SELECT {} FROM {}").format(wanted, sql.Identifier("report", view))).fetchall()


def views(conn: psycopg.Connection[Any]) -> list[str]:
    return [name for (name,) in conn.execute("SELECT viewname FROM pg_views WHERE schemaname = 'report' ORDER BY 1").fetchall()]


def minor(amount: Decimal) -> int:
    """Of currencies with two decimals, which the day's are."""
    return int(amount * 100)


def test_no_view_is_empty_on_a_day_of_everything(conn: psycopg.Connection[Any]) -> None:
    assert [view for view in views(conn) if not rows(conn, view)] == []


def test_table_days_come_to_the_table_report(conn: psycopg.Connection[Any]) -> None:
    sums: Counter[tuple[str, ...]] = Counter()
    for table, regulation, applied, currency, *figures in rows(
        conn,
        "table_days",
        "table_id",
        "regulation",
        "applied",
        "currency",
        *FIGURES,
    ):
        for name, value in zip(FIGURES, figures, strict=True):
            sums[table, regulation, applied or "", currency, name] += value if name in ("rounds", "bets") else minor(value)
    report = queries.table_report(conn)
    assert report.lines
    for line in report.lines:
        for name in FIGURES:
            found = sums.pop((line.table, line.regulation, line.applied or "", line.currency, name), 0)
            assert found == int(getattr(line, name)), (line.table, name)
    assert not any(sums.values())


def test_table_days_are_those_of_the_projection_also_of_closed_days(conn: psycopg.Connection[Any]) -> None:
    names = ("handle", "rounds_win", "earlier", "ledger_win", "adjusted")
    sums: dict[tuple[Any, ...], list[int]] = {}
    for property_, table, day, currency, *figures in rows(
        conn, "table_days", "property", "table_id", "gaming_day", "currency", *(name.removeprefix("ledger_") for name in names)
    ):
        held = sums.setdefault((property_, table, day, currency), [0] * len(names))
        for n, value in enumerate(figures):
            held[n] += minor(value)
    found = conn.execute(
        "SELECT property, table_id, gaming_day, currency, handle, rounds_win, earlier, ledger_win, adjusted "
        "FROM projection.table_days"
    ).fetchall()
    assert sums == {row[:4]: [int(value) for value in row[4:]] for row in found}
    assert any(int(row[6]) for row in found), "something was corrected after its day was closed"


def test_counts_are_those_of_the_projection(conn: psycopg.Connection[Any]) -> None:
    names = ("opener", "fills", "credits", "drop", "closer")
    held = {}
    for row in rows(conn, "table_counts", "property", "table_id", "gaming_day", "shift", "currency", *names):
        held[row[:5]] = [None if value is None else minor(value) for value in row[5:]]
    found = conn.execute(
        'SELECT property, table_id, gaming_day, shift, currency, opener, fills, credits, "drop", closer '
        "FROM projection.shift_counts"
    ).fetchall()
    assert held == {row[:5]: [None if value is None else int(value) for value in row[5:]] for row in found} != {}


def test_chances_and_months_come_to_the_table_days(conn: psycopg.Connection[Any]) -> None:
    shared = ("handle", "lost", "prizes", "commission", "breakage")
    sums: dict[str, Counter[tuple[str, str]]] = {}
    for view, win in (("table_days", "win"), ("chances", "win"), ("ggr_months", "ggr")):
        sums[view] = Counter()
        for currency, *figures in rows(conn, view, "currency", *shared, win):
            for name, value in zip((*shared, "win"), figures, strict=True):
                sums[view][currency, name] += value
    assert sums["table_days"] == sums["chances"] == sums["ggr_months"]
    assert any(sums["chances"].values())


def test_theoretical_win_is_that_of_the_table_report_to_six_decimals(conn: psycopg.Connection[Any]) -> None:
    sums: Counter[str] = Counter()
    for currency, theoretical in rows(conn, "chances", "currency", "theoretical_win"):
        sums[currency] += theoretical
    for total in queries.table_report(conn).totals:
        numerator, _, denominator = total.theoretical_win_exact.partition("/")
        exact = Decimal(numerator) / Decimal(denominator or 1) / 100
        assert abs(sums[total.currency] - exact) < Decimal("0.0001")


def test_postings_sum_to_nothing_and_to_the_balances(conn: psycopg.Connection[Any]) -> None:
    balances: Counter[tuple[str, str]] = Counter()
    events: Counter[tuple[int, str]] = Counter()
    for position, account, currency, amount in rows(conn, "postings", "position", "account", "currency", "amount"):
        balances[account, currency] += amount
        events[position, currency] += amount
    assert events
    assert not any(events.values())
    assert {key: value for key, value in balances.items() if value} == {
        (account, currency): balance
        for account, currency, balance in rows(conn, "balances", "account", "currency", "balance")
        if balance
    }


def test_corrected_bets_move_what_the_corrections_say(conn: psycopg.Connection[Any]) -> None:
    differences: Counter[Any] = Counter()
    changed: Counter[Any] = Counter()
    for correction, difference in rows(conn, "corrected_bets", "correction", "difference"):
        differences[correction] -= difference
        changed[correction] += 1
    kinds = set()
    for correction, kind, status, bets, to_players in rows(
        conn, "corrections", "correction", "kind", "status", "bets_changed", "to_players"
    ):
        assert bets == changed[correction]
        if status == "approved" and kind == "outcome":
            assert to_players == differences[correction], kind
        if status != "approved":
            assert to_players == 0
        kinds.add(kind)
    assert {"outcome", "mispay", "ex_gratia", "return"} <= kinds


def test_the_registers_have_every_event_of_their_kind(conn: psycopg.Connection[Any]) -> None:
    kinds = Counter(kind for _, kind, _ in raw(conn))
    voided = sum(kind == "ThrowRecorded" and body["outcome"] == "void" for _, kind, body in raw(conn))
    assert len(rows(conn, "voids")) == kinds["RoundVoided"] + kinds["BetVoided"] + voided
    assert len(rows(conn, "corrections")) == kinds["CorrectionProposed"]
    assert len(rows(conn, "corrected_bets")) == kinds["BetCorrected"]
    assert len(rows(conn, "disputes")) == kinds["RoundHeld"]
    received_late = sum(kind == "BetPlaced" and body.get("late", False) for _, kind, body in raw(conn))
    assert len(rows(conn, "late_bets")) == kinds["LateBetRecorded"] + received_late
    assert len(rows(conn, "rounds")) == kinds["RoundOpened"]


def test_a_bet_names_its_report(conn: psycopg.Connection[Any]) -> None:
    placed = {body["bet"]: body for _, kind, body in raw(conn) if kind == "BetPlaced"}
    found = rows(conn, "bets", "bet", "round", "placed_in", "terminal", "event_id", "received_at", "seat", "chip")
    for bet, round_, placed_in, terminal, event_id, received_at, seat, chip in found:
        body = placed[str(bet)]
        if round_ == placed_in:
            assert (terminal, str(event_id), seat, chip) == (
                body["terminal"],
                body["cause"],
                body.get("seat"),
                body.get("chip", "cash"),
            )
            assert received_at.isoformat().startswith(body["received_at"][:19])
    assert {str(row[0]) for row in found} == set(placed)


def test_launches_stand_beside_rounds(conn: psycopg.Connection[Any]) -> None:
    events = raw(conn)
    games = {stream: body["game"] for stream, kind, body in events if kind == "RoundOpened"}
    void: Counter[str] = Counter()
    shown: Counter[str] = Counter()
    for stream, kind, body in events:
        if kind == "RoundVoided" and body["disposition"] != "return":
            void[games[stream]] += 1
        elif kind == "ThrowRecorded":
            (void if body["outcome"] == "void" else shown)[games[stream]] += 1
        elif kind == "OutcomeRecorded":
            shown[games[stream]] += 1
    found: dict[str, Counter[str]] = {"void": Counter(), "shown": Counter(), "rounds": Counter()}
    for game, rounds, voided, results in rows(conn, "launches", "game", "rounds", "void_launches", "results"):
        found["void"][game] += voided
        found["shown"][game] += results
        found["rounds"][game] += rounds
    assert found["void"] == void
    assert found["shown"] == shown
    assert found["rounds"] == Counter(games.values())


def test_outcomes_are_what_each_table_showed_as_last_corrected(conn: psycopg.Connection[Any]) -> None:
    tables: dict[str, str] = {}
    shown: dict[str, list[str]] = {}
    for stream, kind, body in raw(conn):
        if kind == "RoundOpened":
            tables[stream] = body["table"]
        elif kind == "OutcomeRecorded":
            shown[stream] = [body["outcome"]]
        elif kind == "ThrowRecorded":
            shown.setdefault(stream, []).append(body["outcome"])
        elif kind == "OutcomeCorrected":
            shown[stream] = body["outcome"].split(",")
    by_hand = Counter((tables[stream], one) for stream, all_ in shown.items() for one in all_ if one != "void")
    sums: Counter[tuple[str, str]] = Counter()
    for table, outcome, times in rows(conn, "outcomes", "table_id", "outcome", "times"):
        sums[table, outcome] += times
    assert sums == by_hand


def test_gaps_are_the_numbers_that_never_came(dsn: str) -> None:
    """B45: 1, 2, 4 is a gap, 3; a new epoch begins anew; what was rejected has been received."""
    terminal = Terminal("R01")
    with closing(house(dsn)) as rounds, connected(dsn) as conn:
        numbered = [terminal.open(sequence=1), terminal.bet("red", sequence=2), terminal.bet("black", sequence=4)]
        accepted(rounds.post(numbered))
        rejected = rounds.post([terminal.bet("no such spot", sequence=9)])
        assert codes(rejected) == ["LGR-0404"]
        accepted(rounds.post([terminal.close(sequence=1, epoch=2), terminal.outcome("17", sequence=2, epoch=2)]))
        columns = ("terminal", "epoch", "table_id", "property", "game", "missing_from", "missing_to", "missing", "highest")
        found = sorted(rows(conn, "terminal_gaps", *columns))
    assert found == [
        ("T-R01", 0, "R01", "DEMO", "roulette", 3, 3, 1, 9),
        ("T-R01", 0, "R01", "DEMO", "roulette", 5, 8, 4, 9),
    ]


def test_what_figures_rest_on_is_told(conn: psycopg.Connection[Any]) -> None:
    found = rows(conn, "assumptions", "kind", "property", "regulation", "part", "reason")
    assert {kind for kind, *_ in found} >= {"assumed", "inferred", "opt_in"}
    assert all(property_ for kind, property_, *_ in found if kind in ("opt_in", "choice"))
    assert len(found) == len(set(found))


def test_amounts_have_the_decimals_of_their_currency(dsn: str) -> None:
    with connected(dsn) as conn:
        for currency, digits in CURRENCIES.items():
            found = conn.execute("SELECT report.amount(9007199254740993::numeric, %s)", (currency,)).fetchone()
            assert found == (Decimal(9007199254740993).scaleb(-digits),)
            assert str(found[0]).partition(".")[2] == "9007199254740993"[16 - digits :]


def test_the_role_reads_the_views_and_nothing_else(conn: psycopg.Connection[Any], dsn: str) -> None:
    relations = conn.execute(
        "SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE c.relkind IN ('r', 'v', 'm', 'S', 'p', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')"
    ).fetchall()
    assert {schema for schema, _ in relations} >= {"ledger", "projection", "report"}
    # In a session of its own: one in which the owner has read plans by what the server looked up with the owner's rights.
    with psycopg.connect(dsn, autocommit=True, options="-c role=ledger_report") as reader:
        reads_the_views_and_nothing_else(reader, relations)


def reads_the_views_and_nothing_else(conn: psycopg.Connection[Any], relations: list[tuple[str, str]]) -> None:
    for schema, name in relations:
        statement = sql.SQL("SELECT * FROM {}").format(sql.Identifier(schema, name))
        if schema == "report":
            conn.execute(statement)
            with pytest.raises(psycopg.Error):
                conn.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(schema, name)))
        else:
            with pytest.raises(errors.InsufficientPrivilege):
                conn.execute(statement)
    with pytest.raises(errors.InsufficientPrivilege):
        conn.execute("CREATE TABLE report.mine (n int)")
    with pytest.raises(errors.InsufficientPrivilege):
        conn.execute("SELECT ledger.next_position()")
    assert conn.execute("SELECT rolcanlogin FROM pg_roles WHERE rolname = 'ledger_report'").fetchone() == (False,)


def test_a_correction_names_the_day_to_which_it_is_posted(conn: psycopg.Connection[Any]) -> None:
    """The same day as what it made: of corrected bets, adjustments and corrected outcomes; none where it was not approved."""
    made = {(one, day) for view in ("corrected_bets", "adjustments") for one, day in rows(conn, view, "correction", "posted_day")}
    said = rows(conn, "corrections", "correction", "status", "gaming_day", "posted_day")
    days = {correction: posted for correction, _, _, posted in said}
    assert made
    assert all(days[correction] == day for correction, day in made)
    assert all((posted is not None) == (status == "approved") for _, status, _, posted in said)
    assert any(posted not in (None, own) for _, _, own, posted in said), "one of a closed day"
    assert any(posted == own for _, _, own, posted in said), "one of an open day"


def test_the_register_of_voids_says_who_declared_each_and_no_person_is_a_terminal(dsn: str) -> None:
    """A person at a terminal, a person without one, and a terminal of which nobody said anything."""
    table = Terminal("R01")
    opened, bets = table.open(), [table.bet("red"), table.bet("black")]
    at_it, alone = (table.report(VoidBet(bet=bet.event_id, reason="miskeyed"), by="S-1") for bet in bets)
    alone = replace(alone, terminal="S-1", personal=True)
    with closing(house(dsn)) as rounds, connected(dsn) as conn:
        accepted(rounds.post([opened, *bets, at_it]))
        accepted(rounds.post([alone]))
        accepted(rounds.post([table.close(), table.report(VoidRound(reason="golpe_nulo"))]))
        catch_up(conn)
        found = [(what, who, terminal) for _, what, who, terminal in sorted(rows(conn, "voids", "position", *_DECLARED))]
    assert found == [
        ("bet", "S-1", "T-R01"),
        ("bet", "S-1", None),
        ("round", "T-R01", "T-R01"),
    ]


_DECLARED = ("what", "declared_by", "terminal")


def test_what_a_property_s_figures_rest_on_is_found_by_the_property(conn: psycopg.Connection[Any]) -> None:
    """What is assumed, inferred and unverified of the very rules that its rounds were played by, and no choice that is none."""
    found = rows(conn, "assumptions", "property", "kind", "regulation", "part", "reason")
    played = set(rows(conn, "rounds", "property", "regulation"))
    held = {(property_, order) for property_, kind, order, *_ in found if kind in ("assumed", "inferred", "unverified")}
    assert held
    assert held <= played
    for property_, kind, order, part, reason in found:
        if kind == "choice":
            assert reason not in ("[]", "false"), (order, part)
            assert not reason.startswith('"'), (order, part, reason)
            assert property_
    choices = {(order, part) for _, kind, order, part, _ in found if kind == "choice"}
    assert all(part != "nine_number_sets" or order == "30/2003" for order, part in choices)


def test_the_page_of_the_views_names_what_is_in_minor_units(conn: psycopg.Connection[Any]) -> None:
    said = conn.execute(
        "SELECT c.relname || '.' || a.attname, format_type(a.atttypid, NULL) "
        "FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid "
        "WHERE c.relnamespace = 'report'::regnamespace AND a.attnum > 0 AND col_description(c.oid, a.attnum) ~ 'minor units'"
    ).fetchall()
    head, *_ = (Path(__file__).parents[3] / "docs/reference/report-views.md").read_text(encoding="utf-8").partition("\n## ")
    assert said
    for column, kind in said:
        assert f"`{column}`" in head
        assert kind == "text"
