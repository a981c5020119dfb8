"""What the commands of `roundledger report` share: their options, and the writing of a report in every form."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli import output
from cli.options import DAY, Group, examples, output_options
from cli.output import Sheet, say
from cli.session import database, reading
from cli.writing import OUT, written_whole

if TYPE_CHECKING:
    import psycopg

    from projections.reports.catalog import Asked, Definition
    from projections.reports.model import Report, Row

FORMS = ("table", "csv", "ndjson", "json", "xlsx", "parquet", "html")
_KINDS: dict[str, output.Kind] = {"amount": "amount", "exact": "text", "count": "number", "position": "position"}
_SAID = {
    "property": "One property only.",
    "pit": "One pit only.",
    "table": "One table only.",
    "game": "One game only.",
    "chance": "One chance only, by its code.",
    "shift": "One shift only.",
    "currency": "Amounts in this currency only.",
}


def command(definition: Definition) -> click.Command:
    """The command that prints a report."""

    def run(**given: Any) -> None:
        with database() as dsn:
            print_report(dsn, definition, given)

    callback: Callable[..., Any] = run
    for option in reversed(_options(definition)):
        callback = option(callback)
    shown = [f"roundledger report {definition.name}"]
    if definition.source.by_day:
        shown += [
            f"roundledger report {definition.name} --day 2026-11-29",
            f"roundledger report {definition.name} --month 2026-11 --format xlsx --out {definition.name}.xlsx",
        ]
    else:
        shown.append(f"roundledger report {definition.name} --format csv --out {definition.name}.csv")
    help_ = f"{definition.title}.\n\n{definition.purpose}\n\n{_sentence(definition.legend)}".strip()
    return click.command(definition.name, help=help_, epilog=examples(*shown))(callback)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _options(definition: Definition) -> list[Callable[..., Any]]:
    found: list[Callable[..., Any]] = []
    if definition.source.by_day:
        found += [
            click.option("--day", type=DAY, help="One gaming day only; without any period, all of them."),
            click.option("--month", metavar="YYYY-MM", help="The gaming days of one month only."),
            click.option("--from", "first", type=DAY, help="Gaming days from this one on."),
            click.option("--to", "last", type=DAY, help="Gaming days up to this one, itself included."),
        ]
    found += [click.option(f"--{name}", metavar=name.upper(), help=_SAID[name]) for name in definition.filters]
    if "threshold" in definition.options:
        found.append(
            click.option(
                "--threshold",
                multiple=True,
                metavar="CURRENCY=AMOUNT",
                help="From which amount a player's day is listed; once for each currency. MOP=500000.00 where none is given.",
            )
        )
    found += [
        output_options,
        click.option(
            "--format",
            "named",
            type=click.Choice(FORMS),
            help="The form: a table where none is named; --json and --csv name two. Spreadsheets open xlsx; csv is for programs.",
        ),
        click.option("--out", type=OUT, help="Write to this file and not to the screen."),
    ]
    if definition.plotted:
        found.append(click.option("--plot", type=OUT, help="Draw it as well, into this .svg or .png file."))
    return found


def print_report(dsn: str, definition: Definition, given: dict[str, Any]) -> None:
    """Makes the report that the options ask for, and writes it."""
    from projections.reports import catalog

    out = given["out"]
    form = form_of(given["form"], given["named"], out)
    with reading(dsn) as conn:
        wanted = asked(conn, definition, given)
        report = catalog.make(conn, definition.name, wanted)
        report.notes = [*strange(conn, wanted), *report.notes]
        if given.get("plot") is not None:
            draw(report, wanted, given["plot"])
        if form == "table":
            output.emit(drawn(report), "table")
            return
        write(report, form, out)
    if form == "csv":
        tell(report)


def form_of(form: str, named: str | None, out: Path | None) -> str:
    """The form that --json, --csv or --format names; refuses two of them, and a place that cannot hold it."""
    if named is not None:
        if form not in ("table", named):
            raise click.UsageError(f"--{form} and --format {named} were both given: choose one")
        form = named
    verify_place(form, out)
    return form


def strange(conn: psycopg.Connection[Any], wanted: Asked) -> list[str]:
    """A note, with what may be meant, for each value of a filter that is none: a report without rows would not say so."""
    from cli.near import did_you_mean
    from projections.reports import queries
    from projections.reports.filters import PLACES

    asked_for = {name: value for name in PLACES if (value := getattr(wanted.filters, name)) is not None}
    places = {**queries.places(conn), "chance": wanted.theory.codes()} if asked_for else {}
    notes = []
    for name, value in asked_for.items():
        known = places[name]
        if value not in known:
            there_are = f"there are: {', '.join(sorted(known)) or 'none'}"
            notes.append(f"no {name} {value} is known; {did_you_mean(value, known) or there_are}")
    return notes


def draw(report: Report, wanted: Asked, path: Path) -> None:
    """Draws a report, whose rows are kept to be written as well."""
    from projections.reports.plots import plot

    report.found = list(report.found)
    with written_whole(path, "--plot") as file:
        lacking = plot(report, wanted.theory, path, file)
    say(f"drawn in {path}")
    if lacking:
        say(f"no font of this machine has {lacking}, which the plot shows as boxes; install one, such as Noto Sans CJK")


def verify_place(form: str, out: Path | None) -> None:
    """Refuses to put on a terminal what none can show, a table into a file, and a form whose package is missing (LGR-0732)."""
    if form == "table" and out is not None:
        raise click.UsageError("a table is for people: give another --format for the file, or leave --out away")
    if form in ("xlsx", "parquet") and out is None and sys.stdout.isatty():
        raise click.UsageError(f"no terminal can show {form}: give --out FILE")
    if form == "parquet":
        from projections.reports.writers import extra

        extra("pyarrow", "Parquet")


def asked(conn: psycopg.Connection[Any], definition: Definition, given: dict[str, Any]) -> Asked:
    """What the options ask for."""
    import msgspec

    from ledger import assumed, worth
    from projections.reports.catalog import Asked
    from projections.reports.filters import Filters, period, thresholds

    first, last = period(day=given.get("day"), month=given.get("month"), first=given.get("first"), last=given.get("last"))
    filters = Filters(**{name: given.get(name) for name in definition.filters}, first=first, last=last)
    within, posted = msgspec.structs.asdict(filters), definition.source.posted
    notes = assumed.notes(conn, within=within, posted=posted) if definition.figures else []
    found = Asked(filters, worth.of_log(conn), notes=notes)
    return replace(found, thresholds=thresholds(given["threshold"])) if given.get("threshold") else found


def write(report: Report, form: str, out: Path | None) -> None:
    """Writes a report to a file, which is there whole or not at all, or to stdout."""
    from projections.reports import writers

    with written_whole(out) as file:
        writers.write(report, form, file)
    if out is not None:
        say(f"{output.counted(report.count, 'row')} in {out}")


def tell(report: Report) -> None:
    """On stderr, what stands around the rows of a CSV."""
    from projections.reports import writers
    from projections.reports.model import plain

    for total in report.totals:
        named = "; ".join(
            f"{column.title} {plain(value)}"
            for column, value in zip(report.shown, total.values, strict=True)
            if value is not None and column.key != "currency"
        )
        say(f"{writers.named(total)}: {named}")
    for note in writers.closing(report):
        say(f"note: {note}")


def drawn(report: Report) -> output.Report:
    """The report as a table for people: rows, then subtotals, with the totals under them."""
    from projections.reports import writers

    columns = [
        output.Column(
            column.key,
            column.title,
            _KINDS.get(column.kind, "number" if column.kind in ("percent", "number", "probability") else "text"),
            drawn=column.drawn,
            below=column.below,
            if_any=column.if_any,
        )
        for column in report.shown
    ]
    rows = [_row(report, row) for row in report.rows()]
    sheets = [
        Sheet(columns, rows, name="rows", totals=[_row(report, total.values) for total in report.totals], legend=report.legend)
    ]
    if len(report.subtotals) > 1 and len(report.subtotals) < len(rows):
        summed = [column for column, of in zip(columns, report.shown, strict=True) if of.sums or of.derive is not None]
        name = output.Column("of", "subtotal of")
        subtotals = [{"of": writers.named(total), **_row(report, total.values)} for total in report.subtotals]
        sheets.append(Sheet([name, output.Column("currency", "currency"), *summed], subtotals, name="subtotals"))
    notes = [note for note in writers.closing(report) if note not in (report.legend, output.NOTHING)]
    return output.Report(report.title, sheets, report.facts, notes)


def _row(report: Report, values: Row) -> dict[str, Any]:
    from projections.reports.model import minor, plain

    found = dict(zip((column.key for column in report.shown), values, strict=True))
    currency = found.get("currency")
    for column in report.shown:
        value = found[column.key]
        if column.kind == "amount" and value is not None and currency is not None:
            found[column.key] = minor(value, currency)
        elif column.kind in ("percent", "number", "probability", "exact", "date") and value is not None:
            found[column.key] = plain(value)
    return found


class Reports(Group):
    """The group of all reports: those of the catalogue, besides the commands that it is given."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *sorted(self._catalogue())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        found = self._catalogue().get(cmd_name)
        return None if found is None else command(found)

    @staticmethod
    @functools.cache
    def _catalogue() -> dict[str, Definition]:
        from projections.reports.catalog import DEFINITIONS

        return DEFINITIONS
