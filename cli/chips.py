"""`roundledger chips`: the cage's side of a table, slip by slip: counts, fills, credits and drops."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import date
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import UUID, uuid4

import click

from cli.options import DAY, Form, Group, examples, output_options
from cli.output import Column, Report, Sheet, emit, emit_record, header, say
from cli.persons import person_options, telling_of_tables
from cli.session import database, position, reading

if TYPE_CHECKING:
    from cli.persons import Speaker

Speaking = Callable[[], AbstractContextManager["Speaker"]]
Command = TypeVar("Command", bound=Callable[..., Any])

KINDS = ("opener", "closer", "fill", "credit", "drop")
SLIPS = (
    Column("slip", "slip"),
    Column("kind", "kind"),
    Column("number", "number", "number"),
    Column("box", "box", below=2, if_any=True),
    Column("property", "property", drawn=False),
    Column("table", "table"),
    Column("gaming_day", "day"),
    Column("of_day", "of day", below=2, if_any=True),
    Column("shift", "shift", below=2, if_any=True),
    Column("currency", "currency"),
    Column("total", "total", "amount"),
    Column("status", "status"),
    Column("written_by", "written by", below=1),
    Column("written_at", "written at", drawn=False),
    Column("confirmed_by", "confirmed by", below=1),
    Column("cancelled_by", "cancelled by", below=1, if_any=True),
    Column("cancel_reason", "reason", below=1, if_any=True),
    Column("reversed_by", "and by", below=1, if_any=True),
    Column("reversed_day", "posted back on", below=2, if_any=True),
    Column("note", "note", below=1, if_any=True),
)
GAPS = (Column("property", "property"), Column("kind", "kind"), Column("numbers", "missing numbers"))


class _Pieces(click.ParamType[tuple[str, int]]):
    """Chips of one denomination."""

    name = "VALUExCOUNT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        if isinstance(value, tuple):
            return cast(tuple[str, int], value)
        found = re.fullmatch(r"([0-9.]+)x([0-9]{1,10})", value, re.ASCII)
        if found is None:
            self.fail(f"{value!r} is no VALUExCOUNT: forty chips of 100 are 100x40", param, ctx)
        return found[1], int(found[2])


PIECES = _Pieces()


@click.group(cls=Group)
def chips() -> None:
    """Counts, fills, credits and drops of tables.

    Each slip takes two persons: one writes it, another signs it, and only then does it count. A wrong slip is cancelled: by one
    person as long as nobody has signed it, by two afterwards. Who you are says your token, in LEDGER_TOKEN or a file.
    """


def slip_options(command: Command) -> Command:
    """What every slip may say besides."""

    @functools.wraps(command)
    def with_more(*arguments: Any, currency: str, shift: str | None, day: date | None, note: str | None, **options: Any) -> Any:
        said = {"shift": shift, "gaming_day": None if day is None else day.isoformat(), "note": note}
        more = {"currency": currency} | {name: value for name, value in said.items() if value is not None}
        return command(*arguments, more=more, **options)

    for option in (
        click.option("--note", help="What there is to say; no person's name."),
        click.option("--day", type=DAY, help="The gaming day that it is about, where that is not the present one."),
        click.option("--shift", help="The shift that it belongs to."),
        click.option("--currency", required=True, help="Of the amounts, for example MOP."),
    ):
        with_more = option(with_more)
    return cast(Command, with_more)  # the wrapper takes what the command does


@chips.command(
    epilog=examples(
        "roundledger chips count R01 opener 100x40 1000x21 --currency MOP",
        "roundledger chips count R01 closer 100x35 1000x20 --currency MOP --day 2026-11-29 --shift night",
    )
)
@click.argument("table")
@click.argument("kind", type=click.Choice(KINDS[:2]))
@click.argument("pieces", type=PIECES, nargs=-1)
@slip_options
@person_options
@output_options
def count(table: str, kind: str, pieces: Sequence[tuple[str, int]], more: dict[str, str], speaking: Speaking, form: Form) -> None:
    """Record a count of a table's chips.

    100x40 is forty chips of 100.00.
    """
    from ledger.events import ChipsCounted

    _write(ChipsCounted, table, kind, {"kind": kind, **_tray(pieces, more["currency"])}, more, speaking, form)


@chips.command(epilog=examples("roundledger chips fill R01 4711 100x40 1000x21 --currency MOP"))
@click.argument("table")
@click.argument("number", type=click.IntRange(1, 999_999_999_999))
@click.argument("pieces", type=PIECES, nargs=-1, required=True)
@slip_options
@person_options
@output_options
def fill(
    table: str, number: int, pieces: Sequence[tuple[str, int]], more: dict[str, str], speaking: Speaking, form: Form
) -> None:
    """Record a fill: chips from the cage to the table."""
    from ledger.events import FillRecorded

    _write(FillRecorded, table, "fill", {"number": number, **_tray(pieces, more["currency"])}, more, speaking, form)


@chips.command(epilog=examples("roundledger chips credit R01 815 100x40 --currency MOP"))
@click.argument("table")
@click.argument("number", type=click.IntRange(1, 999_999_999_999))
@click.argument("pieces", type=PIECES, nargs=-1, required=True)
@slip_options
@person_options
@output_options
def credit(
    table: str, number: int, pieces: Sequence[tuple[str, int]], more: dict[str, str], speaking: Speaking, form: Form
) -> None:
    """Record a credit: chips from the table to the cage."""
    from ledger.events import CreditRecorded

    _write(CreditRecorded, table, "credit", {"number": number, **_tray(pieces, more["currency"])}, more, speaking, form)


@chips.command(
    epilog=examples("roundledger chips drop R01 R01-2 --cash 9500.00 --vouchers 500.00 --currency MOP --day 2026-11-29")
)
@click.argument("table")
@click.argument("box")
@click.option("--cash", default="0", show_default=True, help="Banknotes, in units.")
@click.option("--vouchers", default="0", show_default=True, help="Vouchers for chips, in units.")
@slip_options
@person_options
@output_options
def drop(table: str, box: str, cash: str, vouchers: str, more: dict[str, str], speaking: Speaking, form: Form) -> None:
    """Record what a table's drop box held.

    Two of the count team sign it.
    """
    from ledger.errors import Refusal
    from ledger.events import DropCounted
    from ledger.money import parse_plain

    for option, text in (("--cash", cash), ("--vouchers", vouchers)):
        if text.startswith("-"):
            raise Refusal("LGR-0104", "a box holds no less than nothing", field=option, value=text, help="count it again")
    found = {"cash": parse_plain(cash, more["currency"], field="--cash", positive=False)}
    found["vouchers"] = parse_plain(vouchers, more["currency"], field="--vouchers", positive=False)
    total = _total([*found.values()], more["currency"])
    said = {name: str(minor) for name, minor in found.items()} | {"total": total, "box": box}
    _write(DropCounted, table, "drop", said, more, speaking, form)


@chips.command(
    epilog=examples(
        "roundledger chips confirm R01 fill 0f8e2a41-6a0e-4d2b-9d55-0c6f2f0d5a11",
        "roundledger chips confirm R01 fill 0f8e2a41-6a0e-4d2b-9d55-0c6f2f0d5a11 --cancellation",
    )
)
@click.argument("table")
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("slip", type=click.UUID)
@click.option("--cancellation", is_flag=True, help="It is the slip's cancellation that you sign.")
@person_options
@output_options
def confirm(table: str, kind: str, slip: UUID, cancellation: bool, speaking: Speaking, form: Form) -> None:
    """Sign a slip that another person wrote: now it counts."""
    from ledger.events import SlipConfirmed
    from ledger.reports import type_of

    data = {"table": table, "slip": str(slip), "kind": kind} | ({"cancellation": True} if cancellation else {})
    with speaking() as speaker:
        positions = speaker.say(type_of(SlipConfirmed), table, data, uuid4())
    if not emit_record({"slip": str(slip), "table": table, "kind": kind, "positions": positions}, form):
        say(f"confirmed: {'the cancellation of ' if cancellation else ''}{kind} {slip}")


@chips.command(epilog=examples("roundledger chips cancel R01 fill 0f8e2a41-6a0e-4d2b-9d55-0c6f2f0d5a11 --reason wrong_total"))
@click.argument("table")
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("slip", type=click.UUID)
@click.option("--reason", required=True, help="The reason's code, for example wrong_total.")
@click.option("--note", help="The reason in words; no person's name.")
@person_options
@output_options
def cancel(table: str, kind: str, slip: UUID, reason: str, note: str | None, speaking: Speaking, form: Form) -> None:
    """Cancel a slip. Two persons, once it is signed."""
    from ledger.events import SlipCancelled
    from ledger.reports import type_of

    data = {"table": table, "slip": str(slip), "kind": kind, "reason": reason} | ({} if note is None else {"note": note})
    with speaking() as speaker:
        positions = speaker.say(type_of(SlipCancelled), table, data, uuid4())
    if not emit_record({"slip": str(slip), "table": table, "kind": kind, "positions": positions}, form):
        say(f"cancelled: {kind} {slip}")
        say(f"where it was confirmed before: roundledger chips confirm {table} {kind} {slip} --cancellation")


@chips.command(
    epilog=examples(
        "roundledger chips slips",
        "roundledger chips slips --waiting",
        "roundledger chips slips --day 2026-11-29 --table R01 --json",
        codes="0 all numbers are accounted for; 1 numbers are missing between others; 2 could not be done.",
    )
)
@click.option("--property", "house", help="One property only.")
@click.option("--table", help="One table only.")
@click.option("--day", type=DAY, help="One gaming day only; without it, all of them.")
@click.option("--waiting", is_flag=True, help="Only slips that wait for a signature.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="At most so many.")
@output_options
def slips(house: str | None, table: str | None, day: date | None, waiting: bool, limit: int, form: Form) -> int:
    """List slips, and the numbers that are missing."""
    import msgspec

    from projections import days

    with database() as dsn, reading(dsn) as conn:
        found = days.slips(conn, house=house, table=table, day=day, waiting=waiting, limit=limit)
        gaps = days.gaps(conn, house)
        at, notes = position(conn, "ledger")
    missing = [{"property": gap.property, "kind": gap.kind, "numbers": days.span(gap.first, gap.last)} for gap in gaps]
    sheets = [
        Sheet(SLIPS, [msgspec.structs.asdict(line) for line in found], name="slips", mixed=True),
        Sheet(GAPS, missing, name="gaps", title="Numbers of slips that are missing", drawn=bool(missing)),
    ]
    emit(Report("Slips", sheets, header(property=house, table=table, day=day, as_of_position=at), notes), form)
    return 1 if missing else 0


def _tray(pieces: Sequence[tuple[str, int]], currency: str) -> dict[str, Any]:
    """Chips as people write them, as a slip lists them, with what they come to."""
    from ledger.money import parse_plain

    values = [(parse_plain(value, currency, field="VALUExCOUNT"), number) for value, number in pieces]
    return {
        "chips": [{"value": str(value), "count": number} for value, number in values],
        "total": _total([value * number for value, number in values], currency),
    }


def _total(parts: Sequence[int], currency: str) -> str:
    """What a slip is over, in minor units. Raises Refusal LGR-0104 beyond what any slip can be."""
    from ledger.errors import Refusal
    from ledger.money import LARGEST, format_plain

    total = sum(parts)
    if total > LARGEST:
        raise Refusal(
            "LGR-0104",
            f"no slip is over more than {currency} {format_plain(LARGEST, currency)}",
            field="total",
            value=format_plain(total, currency),
            help="look at the values and the counts: the value of one chip stands before the x",
        )
    return str(total)


def _write(event: Any, table: str, kind: str, said: dict[str, Any], more: dict[str, str], speaking: Speaking, form: Form) -> None:
    from ledger.money import format_plain
    from ledger.reports import type_of

    slip = uuid4()
    with speaking() as speaker, telling_of_tables(table):
        positions = speaker.say(type_of(event), table, {"table": table, **said, **more}, slip)
    record = {"slip": str(slip), "table": table, "kind": kind, "total": said["total"], "currency": more["currency"]}
    if not emit_record(record | {"positions": positions}, form):
        say(f"recorded: {kind} {slip} over {more['currency']} {format_plain(int(said['total']), more['currency'])}")
        say(f"another person signs it: roundledger chips confirm {table} {kind} {slip}")
