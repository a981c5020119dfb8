"""`roundledger journal`: the postings for programs that are none of ours."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import click

from cli.options import DAY, Group, examples, quiet_option
from cli.output import NOTHING, counted, say
from cli.session import database, houses, position, reading
from cli.writing import OUT, written_whole

FORMATS = ("beancount", "hledger", "csv")


@click.group(cls=Group)
def journal() -> None:
    """The movements as a plain-text journal."""


@journal.command(
    epilog=examples(
        "roundledger journal export --format beancount --out november.beancount --month 2026-11",
        "roundledger journal export --format hledger --from 2026-11-01 --to 2026-11-15 | hledger -f - check --strict",
        "roundledger journal export --format csv --day 2026-11-29 > postings.csv",
        codes="0 also where nothing moved, which is said; 2 could not be done, or the books are out of balance (LGR-0520).",
    )
)
@click.option(
    "--format", "form", type=click.Choice(FORMATS), required=True, help="Whose journal: beancount's, hledger's, or a CSV."
)
@click.option("--day", type=DAY, help="One gaming day only; without any period, all of them.")
@click.option("--month", metavar="YYYY-MM", help="The gaming days of one month only.")
@click.option("--from", "first", type=DAY, help="Gaming days from this one on.")
@click.option("--to", "last", type=DAY, help="Gaming days up to this one, itself included.")
@click.option("--out", type=OUT, help="Write to this file and not to stdout.")
@quiet_option
def export(form: str, day: date | None, month: str | None, first: date | None, last: date | None, out: Path | None) -> None:
    """Write the postings as a journal for beancount or hledger.

    Both check it, balance it, and come to the balances of the ledger.

    A transaction for each event that moved something, under its gaming day, with position, event, round and bet; what was
    corrected once its day was closed is under the day to which it is posted. Every account is declared, each day ends in an
    assertion of the balances that moved on it, and the last in one of all. A period that does not begin with the log has opening
    balances. The same log gives the same journal.
    """
    from projections.journal import entries, forms
    from projections.reports.filters import Filters, described, period

    first, last = period(day=day, month=month, first=first, last=last)
    with database() as dsn, reading(dsn) as conn:
        at, stopped = position(conn, "ledger")
        about = {"property": houses(dsn), "period": described(Filters(first=first, last=last))["period"], "position": at}
        found = entries.journal(conn, first, last)
        with written_whole(out) as file:
            written = forms.write(found, form, about, file)
    for note in stopped:
        say(f"note: {note}")
    if not written.transactions:
        say(NOTHING)
        return
    told = (
        counted(written.transactions, "transaction"),
        counted(written.postings, "posting"),
        counted(written.assertions, "balance") + " asserted",
    )
    say(f"{', '.join(told)}, up to position {at}{f', in {out}' if out else ''}")
