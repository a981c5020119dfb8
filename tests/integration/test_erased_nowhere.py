"""An erased player's reference is looked for wherever something is shown: in tables, views, reports, commands, and at the door.

Each of them is also asked before the erasure: what named the player then has to show the drawn name in the same place
afterwards, and so proves that it would have been found.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import click
import httpx
import psycopg
import pyarrow.parquet  # type: ignore[import-untyped]  # it has no stubs
import pytest
from click.testing import CliRunner
from psycopg import sql

from cli.main import roundledger
from ledger import worth
from ledger.api.access import Access
from ledger.api.app import create_app
from ledger.api.reader import SqlReader
from ledger.application import Rounds
from projections.reports import writers
from projections.reports.catalog import DEFINITIONS, Asked, make
from projections.reports.filters import Filters
from projections.runner import catch_up
from tests.integration.test_erasure import erase, finished, names

PLAYER = "P-1001"
NOW = datetime(2026, 12, 1, 3, tzinfo=UTC)

SHOWN = (
    "rounds list",
    "rounds show {round}",
    "explain {round}",
    "explain player/{player}",
    "tables",
    "balances",
    "balances player/",
    "trace player/{player}",
    "trace escrow/R01",
    "report tables",
    "report outcomes",
    "report bets --format csv",
    "report bets --format table",
    "journal export --format beancount",
    "journal export --format hledger",
    "journal export --format csv",
    "what-if --all --csv --payable-unit 1.00",
    "correct list --all",
    "verify",
    "replay",
    "chips slips",
    "day status",
    "terminals",
    "players list",
    "doctor",
)
"""Commands that show something of the ledger, as they are typed."""
VERBATIM = {"feed", "publish", "webhooks add", "webhooks dead", "webhooks list", "webhooks remove", "webhooks retry"}
"""Those that give the log as it is, or send it; whoever repeats a calculation needs that."""
OF_NO_PLAYER = {
    *("demo", "serve", "terminal run", "terminal send", "terminal status"),
    *("projections diff", "projections drop", "projections rebuild", "projections resume", "projections run"),
    *("projections status", "projections switch"),
    *(
        "rules assumptions",
        "rules chances",
        "rules check",
        "rules edge",
        "rules list",
        "rules page",
        "rules settle",
        "rules show",
    ),
    *("correct approve", "correct decline", "correct propose"),
    *("chips cancel", "chips confirm", "chips count", "chips credit", "chips drop", "chips fill", "day close"),
    *("players erase", "players hold", "players release"),
    *("property apply", "property check", "property example", "property show"),
    *("keys issue", "keys list", "keys revoke", "keys rotate"),
    *("tokens issue", "tokens list", "tokens revoke", "tokens rotate"),
    *("db init", "db psql-url", "db start", "db status", "db stop", "doctor tail", "help", "completion", "man"),
}
"""Those that show nothing of what was played: they write, or are about the program, the rules, keys and the database."""
OF_WHAT_WAITS = {"correct show"}
"""What keeps a player from being erased while it waits; what is asked for afterwards is in test_erasure.py."""
OF_FILES = {"reconcile files", "reconcile list", "reconcile mappings list", "reconcile mappings show", "reconcile resolve"}
"""Those that show what files of others say: tests/integration/reconcile/test_command.py."""


def leaves(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Every command that does something, by its whole name."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from leaves(below, (*path, name))
        if not command.invoke_without_command:
            return
    yield " ".join(path)


def test_every_command_is_one_that_is_looked_at_or_shows_no_player() -> None:
    every = {name for name in leaves(roundledger) if name and not name.startswith("report ")}
    looked_at = {name for name in every if any(f"{each} ".startswith(f"{name} ") for each in SHOWN)}
    assert every - looked_at == VERBATIM | OF_NO_PLAYER | OF_WHAT_WAITS | OF_FILES


def shown_by_sql(conn: psycopg.Connection[Any]) -> Iterator[tuple[str, str]]:
    """Every table of the projections and every report view, as a whole."""
    found = conn.execute(
        "SELECT n.nspname, c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace "
        "WHERE c.relkind IN ('r', 'v', 'm') AND n.nspname IN ('projection', 'report') ORDER BY 1, 2"
    ).fetchall()
    for schema, name in found:
        rows = conn.execute(sql.SQL("SELECT x::text FROM {} AS x").format(sql.Identifier(schema, name))).fetchall()
        yield f"{schema}.{name}", "\n".join(row for (row,) in rows)


def shown_by_reports(conn: psycopg.Connection[Any]) -> Iterator[tuple[str, str]]:
    """Every report of the catalogue in every form."""
    asked = Asked(Filters(), worth.of_log(conn), now=lambda: NOW, thresholds={"MOP": Decimal(1), "HKD": Decimal(1)})
    for name in DEFINITIONS:
        for form in writers.FORMS:
            out = io.BytesIO()
            writers.write(make(conn, name, asked), form, out)
            yield f"report {name} as {form}", text_of(form, out.getvalue())


def text_of(form: str, data: bytes) -> str:
    if form == "xlsx":
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            return "\n".join(packed.read(name).decode("utf-8", "replace") for name in packed.namelist())
    if form == "parquet":
        table = pyarrow.parquet.read_table(io.BytesIO(data))
        return f"{table.schema}\n{table.to_pylist()}"
    return data.decode()


def shown_by_commands(dsn: str, player: str) -> Iterator[tuple[str, str]]:
    """Every command that shows something, in each of its forms."""
    with psycopg.connect(dsn) as conn:
        found = conn.execute(
            "SELECT stream::text FROM ledger.log WHERE topic = 'LateBetRecorded.v1' AND body ->> 'player' = %s", (PLAYER,)
        ).fetchone()
    assert found is not None
    for typed in SHOWN:
        words = typed.format(round=found[0], player=player).split()
        for form in _forms(words):
            result = CliRunner().invoke(roundledger, [*words, *form])
            assert result.exit_code in (0, 1), (words, result.output)
            assert not result.exception or isinstance(result.exception, SystemExit), (words, result.exception)
            yield f"{typed} {' '.join(form)}".strip(), result.output


def _forms(words: list[str]) -> list[list[str]]:
    """In which forms a command is asked: in one of what is typed with it, or where it is known to name no player at all."""
    if {"--csv", "--format"} & {*words}:
        return [[]]
    return (
        [["--json"]] if words[0] in ("tables", "verify", "replay", "doctor", "day", "terminals") else [[], ["--json"], ["--csv"]]
    )


def shown_by_the_door(dsn: str) -> dict[str, str]:
    """What the door answers to whoever reads of the ledger, but for the feed."""

    async def asked() -> dict[str, str]:
        with closing(Rounds(dsn)) as rounds, SqlReader(dsn) as reader, psycopg.connect(dsn) as conn:
            streams = conn.execute("SELECT stream::text FROM ledger.log WHERE body ->> 'player' = %s GROUP BY 1", (PLAYER,))
            paths = [f"/v1/rounds/{stream}" for (stream,) in streams if stream[14] != "5"]
            paths += ["/v1/balances", "/v1/tables", "/v1/reports/bets?format=json", "/v1/reports/exposure?threshold=MOP=1"]
            app = create_app(rounds, reader, now=lambda: NOW, access=Access(reader.register, required=False))
            async with app.router.lifespan_context(app):
                transport = httpx.ASGITransport(app)
                async with httpx.AsyncClient(transport=transport, base_url="http://door") as door:
                    return {path: (await door.get(path)).text for path in paths}

    return anyio.run(asked)


def everything_shown(dsn: str, player: str) -> dict[str, str]:
    """Where something is shown → what is."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        catch_up(conn)
        found = dict(shown_by_sql(conn))
        with conn.transaction():
            found |= dict(shown_by_reports(conn))
    return {**found, **dict(shown_by_commands(dsn, player)), **shown_by_the_door(dsn)}


def test_b47_what_named_a_player_shows_the_drawn_name_and_nothing_names_the_player(
    dsn: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    finished(dsn)
    monkeypatch.setenv("LEDGER_DSN", dsn)
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.chdir(tmp_path)
    before = everything_shown(dsn, PLAYER)
    named = {where for where, text in before.items() if PLAYER in text}
    assert named >= {
        *("projection.bets", "projection.movements", "projection.balances", "projection.balance_changes"),
        *("projection.late_bets", "projection.corrections"),
        *("report.bets", "report.corrected_bets", "report.adjustments", "report.late_bets", "report.player_days"),
        *(f"report {name} as {form}" for name in ("bets", "exposure", "trial-balance", "movements") for form in writers.FORMS),
        *("rounds show {round}", "explain player/{player} --json", "explain {round} --csv"),
        *("what-if --all --csv --payable-unit 1.00", "journal export --format beancount", "/v1/balances"),
    }
    with closing(Rounds(dsn)) as rounds:
        [verdict] = rounds.post([erase(PLAYER, "GOLDEN")])
    assert verdict.status == "accepted"
    shown = names(dsn)[PLAYER]
    after = everything_shown(dsn, shown)
    assert {where for where, text in after.items() if PLAYER in text} == set()
    of_the_erasure = {"report.players", *(f"players list {form}".strip() for form in ("", "--json", "--csv"))}
    assert {where for where, text in after.items() if shown in text} == named | of_the_erasure
