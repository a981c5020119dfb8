"""`roundledger reconcile`: the ledger beside files of others, and every difference named."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli import output
from cli.options import DAY, Form, Group, examples, output_options
from cli.output import Column, Report, Sheet, emit, emit_lines, emit_record, header, say
from cli.persons import token_file_option, token_of
from cli.session import database
from cli.writing import OUT
from ledger.errors import Refusal

if TYPE_CHECKING:
    from projections.reconcile.engine import Leg, Result

FORMS = ("table", "csv", "ndjson", "json", "xlsx", "parquet", "html")
_TITLES = 30
"""Columns of a file that are named."""
SHOWN = 50
"""Exceptions that a table shows where --limit says nothing else."""
_CODES = "0 clean, 1 differences, 2 could not run or had nothing to compare."


class _FilesOrCommand(Group):
    """A group whose first argument may be a file: then the command `files` is meant."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["files", *args]
        return super().parse_args(ctx, args)


@click.group(
    cls=_FilesOrCommand,
    epilog=examples(
        "roundledger reconcile journal.csv --mapping terminal-bets",
        "roundledger reconcile fills.csv --mapping cage-slips --day 2026-11-29 --record",
        "roundledger reconcile journal.csv counts.csv drops.csv                three ways",
        "roundledger reconcile files --help                                    all options",
        codes=_CODES,
    ),
)
def reconcile() -> None:
    """Lay the ledger beside files of others.

    Journals of terminals, cage and wallet files, chip counts and drops. `roundledger reconcile FILE...` is short for `roundledger
    reconcile files FILE...`. A mapping says what the columns of a file mean. Rows find each other by key; what is there twice is
    an exception, never the first one right; every difference has a reason code, its evidence and the command to type next.
    """


@reconcile.command(
    epilog=examples(
        "roundledger reconcile files journal.csv",
        "roundledger reconcile journal.csv.gz --mapping my-terminals.toml --month 2026-11 --format xlsx --out november.xlsx",
        "roundledger reconcile bets.ndjson --mapping cloudevents-bets --json | jq '.rows[] | {reason, what}'",
        "roundledger reconcile journal.csv counts.csv --mapping terminal-bets --mapping chip-counts",
        codes=_CODES,
    )
)
@click.argument("paths", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--mapping",
    "mappings",
    multiple=True,
    metavar="NAME|PATH",
    help="What the columns mean: once for all files, or once for each, in their order. Without it, the one ready mapping whose "
    "columns the file has.",
)
@click.option("--day", type=DAY, help="One gaming day only; without any period, the days of the files.")
@click.option("--month", metavar="YYYY-MM", help="The gaming days of one month.")
@click.option("--from", "first", type=DAY, help="Gaming days from this one on.")
@click.option("--to", "last", type=DAY, help="Gaming days up to this one, itself included.")
@click.option("--property", "property_", metavar="PROPERTY", help="Rows of one property only.")
@click.option("--pit", metavar="PIT", help="Rows of one pit only.")
@click.option("--table", metavar="TABLE", help="Rows of one table only.")
@click.option("--game", metavar="GAME", help="Rows of one game only.")
@click.option("--lines", type=click.IntRange(0), metavar="N", help="How many lines the sender says that the file has.")
@click.option("--record", is_flag=True, help="Keep what was found in the database, for its state over days.")
@click.option("--empty-is-difference", is_flag=True, help="Exit with 1 and not 2 where there is nothing to compare.")
@click.option(
    "--limit", type=click.IntRange(0), default=SHOWN, show_default=True, help="Exceptions that a table shows; 0 shows all."
)
@click.option("--memory", default="512MB", show_default=True, help="What sorting and joining may take; the rest goes to disk.")
@output_options
@click.option(
    "--format", "named", type=click.Choice(FORMS), help="The form: a table where none is named; --json and --csv name two."
)
@click.option("--out", type=OUT, help="Write to this file and not to the screen.")
def files(paths: Sequence[Path], mappings: Sequence[str], form: Form, named: str | None, out: Path | None, **given: Any) -> int:
    """Compare FILES with the ledger.

    CSV, NDJSON, XLSX and Parquet are read, CSV and NDJSON also as gzip. The summary stands first: what was compared, then how
    many exceptions of each reason. Filters hold for the ledger's rows and for those of the files, by their table where they say
    nothing else; how many were left out is printed. Nothing is written to the database without --record, and nothing ever to the
    log. With --quiet there is no table either: the exit code says it.
    """
    from cli.reporting import verify_place
    from projections.reconcile.result import differences, none_compared
    from projections.reports.filters import period

    chosen = _form(form, named)
    verify_place(chosen, out)
    first, last = period(day=given["day"], month=given["month"], first=given["first"], last=given["last"])
    legs = _legs(paths, mappings)
    quiet = output.quiet()
    with _found(legs, given, first, last, quiet=quiet) as (result, dsn):
        if none_compared(result):
            return _nothing(given["empty_is_difference"])
        if given["record"]:
            _record(dsn, result, quiet=quiet)
        _print(result, chosen, out, given["limit"], quiet=quiet)
        return 1 if differences(result) else 0


def _form(form: Form, named: str | None) -> str:
    if named is not None and form not in ("table", named):
        raise click.UsageError(f"--{form} and --format {named} were both given: choose one")
    return named or form


def _nothing(is_difference: bool) -> int:
    refusal = Refusal(
        "LGR-0756",
        "there is nothing to compare: the files have no row in the period",
        help="see the files and the period; --empty-is-difference ends with 1 in place of 2",
    )
    if not is_difference:
        raise refusal
    say(refusal.render())
    return 1


def _legs(paths: Sequence[Path], named: Sequence[str]) -> list[Leg]:
    """The files under their mappings, those of one mapping together."""
    from projections.reconcile.engine import Leg
    from projections.reconcile.mapping import load

    if len(named) not in (0, 1, len(paths)):
        raise click.UsageError(f"--mapping was given {len(named)} times for {len(paths)} files: once for all, or once for each")
    for path in paths:
        if not path.is_file():
            raise Refusal("LGR-0753", "there is no such file", field="FILE", value=str(path))
    names = list(named) * (len(paths) if len(named) == 1 else 1) or [_recognised(path) for path in paths]
    together: dict[str, list[Path]] = {}
    for name, path in zip(names, paths, strict=True):
        together.setdefault(name, []).append(path)
    return [Leg(load(name), found) for name, found in together.items()]


def _recognised(path: Path) -> str:
    """The one ready mapping all of whose columns the file has. Raises Refusal LGR-0754."""
    from projections.reconcile.files import form_by_name, header_of
    from projections.reconcile.mapping import OTHER_ENCODING, read, ready

    form = form_by_name(path)
    titles = header_of(path, form)
    there = set(titles)
    known = {name: read(text, name) for name, text in ready().items()}
    fits = [name for name, one in known.items() if one.form in (None, form)]
    fits = [name for name in fits if set(known[name].columns.values()) <= there]
    if len(fits) == 1:
        say(f"{path.name}: mapping {fits[0]}, by its columns")
        return fits[0]
    said = f"several mappings fit: {', '.join(fits)}"
    if not fits:
        said = f"no ready mapping has the columns of this file: {', '.join(titles[:_TITLES])}" if titles else "it has no columns"
    encoding = f". {OTHER_ENCODING}" if "\ufffd" in "".join(titles) else ""
    raise Refusal(
        "LGR-0754",
        said,
        field="FILE",
        value=str(path),
        help=f"name one with --mapping; ready ones: {', '.join(known)}{encoding}",
    )


@contextmanager
def _found(
    legs: Sequence[Leg], given: dict[str, Any], first: date | None, last: date | None, *, quiet: bool
) -> Iterator[tuple[Result, str]]:
    from projections.reconcile import engine, ledger, state

    names = (("property", "property_"), ("pit", "pit"), ("table", "table"), ("game", "game"))
    filters = tuple((name, given[option]) for name, option in names if given[option] is not None)
    asked = engine.Asked(first, last, filters, given["lines"])
    live = sys.stderr.isatty() and not quiet
    with database(schema=False) as dsn:
        notes = _caught_up(dsn)
        with (
            ledger.one_state(dsn) as conn,
            _at_known_table(conn, given["table"]),
            engine.reconciled(
                conn,
                legs,
                asked,
                memory=given["memory"],
                progress=(lambda text: say(f"{text} …")) if live else (lambda text: None),
            ) as result,
        ):
            result.notes.extend(notes)
            state.recall(conn, result)
            yield result, dsn


@contextmanager
def _at_known_table(conn: Any, table: str | None) -> Iterator[None]:
    """Refuses (LGR-0602) a table that is none."""
    from cli.asked import unknown_table
    from projections.reconcile import ledger

    if table is not None and table not in (known := ledger.known_tables(conn)):
        raise unknown_table(table, known)
    yield


def _caught_up(dsn: str) -> list[str]:
    """Has the projections read the whole log, where this role may; else a note that says so. Refuses another schema."""
    import psycopg

    from ledger.store.migrate import require_current
    from projections.runner import catch_up

    try:
        require_current(dsn)
        with closing(psycopg.connect(dsn, autocommit=True)) as conn:
            catch_up(conn)
    except psycopg.errors.InsufficientPrivilege:
        pass
    except Refusal as refusal:
        if refusal.code != "LGR-0517":
            raise
    else:
        return []
    return ["this role may only read: what the log has beyond the position above is not compared"]


def _record(dsn: str, result: Result, *, quiet: bool) -> None:
    import psycopg

    from projections.reconcile.state import record

    with closing(psycopg.connect(dsn, autocommit=True)) as conn:
        run = record(conn, result)
    if not quiet:
        say(f"recorded as run {run}")


def _print(result: Result, form: str, out: Path | None, limit: int, *, quiet: bool) -> None:
    from cli.reporting import tell, write
    from projections.reconcile.result import report

    made = report(result, header())
    if form == "table":
        if not quiet:
            emit(_drawn(result, limit or None), "table")
        return
    write(made, form, out)
    if form == "csv" and not quiet:
        for reason, number, rows in result.by_reason():
            say(f"{reason}: {number} exceptions, {rows} rows")
        tell(made)


_REASONS = (
    Column("reason", "reason"),
    Column("exceptions", "exceptions", "number"),
    Column("rows", "rows", "number"),
    Column("meaning", "meaning", below=1),
)
_COMPARED = (
    Column("compared_with", "with"),
    Column("mapping", "mapping", below=2),
    Column("lines", "lines", "number"),
    Column("ledger_rows", "rows", "number"),
    Column("matched", "matched", "number"),
    Column("by_key", "by", below=3),
    Column("currency", "currency"),
    Column("file_total", "in the files", "amount"),
    Column("ledger_total", "in the ledger", "amount"),
    Column("difference", "difference", "amount"),
)
_WAYS = (
    Column("table", "table"),
    Column("gaming_day", "day"),
    Column("currency", "currency"),
    Column("by_terminal", "by the terminals", "amount"),
    Column("by_ledger", "by the ledger", "amount"),
    Column("by_count", "by the counts", "amount"),
    Column("alone", "alone"),
)
_EXCEPTIONS = (
    Column("reason", "reason"),
    Column("what", "what", below=1),
    Column("field", "field", below=5),
    Column("in_file", "in the file", "number"),
    Column("in_ledger", "in the ledger", "number"),
    Column("difference", "difference", "number"),
    Column("currency", "currency", below=4),
    Column("lines", "line", below=3),
    Column("table", "table", below=4),
    Column("gaming_day", "day", below=4),
    Column("positions", "position", below=5),
    Column("state", "state", below=2),
    Column("id", "exception", below=6),
    Column("detail", "detail", below=6, if_any=True),
    Column("next", "next", below=6),
    Column("file", "file", below=6, if_any=True),
    Column("first_seen", "first seen", below=6, if_any=True),
    Column("resolved_by", "resolved by", below=6, if_any=True),
    Column("why", "why", below=6, if_any=True),
)


def _drawn(result: Result, limit: int | None) -> Report:
    """The run for people: the summary, then the first exceptions."""
    from projections.reconcile import result as results
    from projections.reconcile.reasons import REASONS

    reasons = [
        {"reason": reason, "exceptions": number, "rows": rows, "meaning": REASONS[reason].meaning}
        for reason, number, rows in result.by_reason()
    ]
    compared = [row | {"currency": row.get("currency") or ""} for leg in result.legs for row in results.by_leg(leg)]
    keys = [column.key for column in results.COLUMNS]
    shown = [dict(zip(keys, row, strict=True)) for row in results.rows(result, limit)]
    for row in shown:
        row["difference"] = None if row["difference"] is None else format(row["difference"], "f")
    number = sum(reason["exceptions"] for reason in reasons if isinstance(reason["exceptions"], int))
    more = number - len(shown)
    notes = [*result.notes, *([f"{more} exceptions more: --limit 0 shows all, --format csv writes them"] if more > 0 else [])]
    sheets = [
        Sheet(_COMPARED, [row for row in compared if row["currency"]], name="compared", title="What was compared", mixed=True)
    ]
    if result.ways:
        sheets.append(Sheet(_WAYS, result.ways, name="ways", title="Win by each side", mixed=True))
    if reasons:
        sheets.append(Sheet(_REASONS, reasons, name="reasons", title="Exceptions by reason"))
        sheets.append(
            Sheet(_EXCEPTIONS, shown, name="exceptions", title="Exceptions", mixed=True, legend="difference = file less ledger")
        )
    return Report("Reconciliation", sheets, header(**results.facts(result)), notes)


# ---------------------------------------------------------------------------------------------------------------- state over days


@reconcile.command(
    epilog=examples('roundledger reconcile resolve X3f2a91bc --why "slip 1042 was written by hand, see the cage book"')
)
@click.argument("exception", metavar="ID")
@click.option("--why", required=True, help="Why it is resolved, in words; no person's name, address or number of a document.")
@token_file_option
@output_options
def resolve(exception: str, why: str, token_file: Path | None, form: Form) -> None:
    """Resolve an exception of a recorded run.

    It is named by its id, or by the beginning of that. Who resolves it is said by the token in LEDGER_TOKEN or --token-file: a
    supervisor, an auditor or an admin of the property. It holds for the values that were found: with others the exception is open
    again. The ledger itself is corrected by `roundledger correct` and not here.
    """
    import psycopg

    from cli.property import properties
    from ledger.rights import verify_resolves
    from ledger.store.credentials import authenticate_token
    from projections.reconcile import state

    token = token_of(token_file)
    with database() as dsn, closing(psycopg.connect(dsn, autocommit=True)) as conn:
        person, houses = authenticate_token(conn, token), properties(dsn)
        done = state.resolve(conn, exception, why, person, lambda table: verify_resolves(person, table, houses))
    if not emit_record(done, form):
        say(f"resolved: {done['exception']}, {done['reason']} of {done['what']}, by {person}")


_NONE_OPEN = "no exception is open: no recorded run found any, or all are resolved or gone (--all shows those)"
_NONE = "no exception is recorded: roundledger reconcile FILE --record keeps what it finds"
LISTED = (
    Column("exception", "exception"),
    Column("state", "state"),
    Column("reason", "reason"),
    Column("what", "what", below=1),
    Column("field", "field", below=3),
    Column("in_file", "in the file", below=3),
    Column("in_ledger", "in the ledger", below=3),
    Column("currency", "currency", below=4),
    Column("difference", "difference", "amount", below=3),
    Column("file", "file", below=4),
    Column("lines", "line", below=4),
    Column("table_id", "table", below=4),
    Column("gaming_day", "day", below=4),
    Column("first_seen", "first seen", below=2),
    Column("last_seen", "last seen", below=4),
    Column("times", "runs", "number", below=4),
    Column("resolved_by", "resolved by", below=3, if_any=True),
    Column("why", "why", below=3, if_any=True),
    Column("next", "next", below=5),
)


@reconcile.command("list", epilog=examples("roundledger reconcile list", "roundledger reconcile list --all --json"))
@click.option("--all", "everything", is_flag=True, help="Also those that are resolved, or that a later run had no more.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="At most so many.")
@output_options
def list_(everything: bool, limit: int, form: Form) -> None:
    """List the open exceptions, the latest first.

    They are those of recorded runs.
    """
    import psycopg

    from projections.reconcile import state

    with database(schema=False) as dsn, closing(psycopg.connect(dsn, autocommit=True)) as conn:
        found = state.exceptions(conn, everything=everything, limit=limit)
    if not found and form == "table":
        emit_lines([_NONE if everything else _NONE_OPEN])
        return
    for row in found:
        if row["currency"] is None:
            row["difference"] = None
    emit(Report("Exceptions", [Sheet(LISTED, found, name="exceptions", mixed=True)], header()), form)


# ----------------------------------------------------------------------------------------------------------------------- mappings


@reconcile.group(cls=Group)
def mappings() -> None:
    """The mappings that come with the program."""


@mappings.command("list", epilog=examples("roundledger reconcile mappings list", "roundledger reconcile mappings list --json"))
@output_options
def list_mappings(form: Form) -> None:
    """List the ready mappings."""
    from projections.reconcile.mapping import read, ready

    rows = []
    for name, text in ready().items():
        one = read(text, name)
        by = one.exact or one.composite or one.aggregate
        rows.append({"mapping": name, "compared_with": one.side.name, "unit": one.unit, "key": ", ".join(by), "title": one.title,
                     "columns": ", ".join(one.columns.values())})  # fmt: skip
    columns = (
        Column("mapping", "mapping"),
        Column("compared_with", "compared with"),
        Column("unit", "unit"),
        Column("key", "by"),
        Column("title", "what it is for", below=1),
        Column("columns", "columns", below=2),
    )
    emit(Report("Mappings", [Sheet(columns, rows, name="mappings")]), form)


@mappings.command("show", epilog=examples("roundledger reconcile mappings show terminal-bets > mine.toml"))
@click.argument("name")
def show_mapping(name: str) -> None:
    """Print a ready mapping: the beginning of one of your own."""
    from projections.reconcile.mapping import load, ready

    found = ready().get(name)
    click.echo((found if found is not None else load(name).text).rstrip("\n"))
