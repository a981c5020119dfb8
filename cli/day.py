"""`roundledger day`: how a gaming day stands, and its closing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import click

from cli.options import DAY, Form, Group, examples, output_options
from cli.output import Column, Report, Sheet, counted, emit, emit_record, header, say
from cli.persons import person_options
from cli.session import database, reading

if TYPE_CHECKING:
    from collections.abc import Callable

    from cli.persons import Speaker
    from ledger.property import Property
    from projections.days import Closed, TableDay, Unfinished

    Speaking = Callable[[], AbstractContextManager[Speaker]]

TABLES = (
    Column("table", "table"),
    Column("currency", "currency"),
    Column("opener", "opener", "amount", below=1),
    Column("fills", "fills", "amount", below=1),
    Column("credits", "credits", "amount", below=1),
    Column("drop", "drop", "amount"),
    Column("closer", "closer", "amount", below=1),
    Column("count_win", "count win", "amount"),
    Column("handle", "handle", "amount", below=2),
    Column("rounds_win", "win of the day", "amount", below=2),
    Column("earlier", "earlier days", "amount", below=2, if_any=True),
    Column("ledger_win", "win", "amount"),
    Column("adjusted", "adjusted", "amount", below=2, if_any=True),
    Column("variance", "variance", "amount"),
    Column("hold_percent", "hold %", "number", below=2),
)
LEGEND = (
    "count win = closer + credits + drop − opener − fills; variance = count win − win; hold % = win of the day / drop, "
    "where that is above zero and in the table's currency; blank where one of the figures is missing"
)
UNFINISHED = (Column("code", "unfinished"), Column("table", "table"), Column("what", "which"))


class _State(NamedTuple):
    """A gaming day of a property as it stands at one position."""

    house: Property
    day: date
    now: date
    """The gaming day by the property's clock."""
    begun: date
    """The first that the property's ledger has."""
    closed: Closed | None
    last: date | None
    """The last day that is closed."""
    figures: list[TableDay]
    unfinished: list[Unfinished]
    position: str
    notes: list[str]

    @property
    def fingerprint(self) -> str:
        """Of its figures."""
        from projections import days

        return days.fingerprint(self.house.id, self.day, self.figures)

    @property
    def standing(self) -> str:
        """In words."""
        if self.closed is not None:
            return f"closed by {self.closed.closed_by}"
        if self.day < self.begun:
            return f"none: the ledger begins with {self.begun}"
        if self.last is not None and self.day <= self.last:
            return f"closed with {self.last}"
        if self.day > self.now:
            return f"to come: it is {self.now}"
        return "open" if self.day == self.now else "ended, and not closed"


@click.group(cls=Group)
def day() -> None:
    """Close gaming days, and show how they stand.

    After its closing nothing is posted to a day: what is corrected of it goes to the day that is open then, and names it.
    """


@day.command(
    epilog=examples(
        "roundledger day status                         the next day to close",
        "roundledger day status 2026-11-29 --json",
        codes="0 also where something is unfinished, which is said; 1 the figures of a closed day are not those it was closed "
        "with; 2 could not be done.",
    )
)
@click.argument("gaming_day", type=DAY, required=False)
@click.option("--property", "house", help="The property, where there is more than one.")
@output_options
def status(gaming_day: date | None, house: str | None, form: Form) -> int:
    """Show a gaming day: its figures, and what is unfinished."""
    with database() as dsn:
        state = _read(dsn, house, gaming_day)
    return _show(state, form)


@day.command(
    epilog=examples(
        "roundledger day close 2026-11-29",
        "roundledger day close 2026-11-29 --despite missing_drop --note 'no box was out'",
        codes="0 closed; 1 something is unfinished that was not acknowledged, and nothing was closed; 2 could not be done.",
    )
)
@click.argument("gaming_day", type=DAY)
@click.option("--property", "house", help="The property, where there is more than one.")
@click.option("--despite", multiple=True, metavar="CODE", help="Something unfinished that is acknowledged; as often as needed.")
@click.option("--note", help="What there is to say; no person's name.")
@person_options
@output_options
def close(gaming_day: date, house: str | None, despite: Sequence[str], note: str | None, speaking: Speaking, form: Form) -> int:
    """Close a gaming day, with its figures as they are now.

    Days are closed in order, each once it has ended. A round that is open keeps its day open; anything else that is unfinished
    has to be acknowledged by its code. It needs a database to read the figures from, also where a service writes.
    """
    from ledger.days import verify_begun
    from ledger.errors import Refusal
    from ledger.events import GamingDayClosed
    from ledger.reports import type_of
    from projections import days

    for code in despite:
        if code == days.OPEN_ROUND or code not in days.UNFINISHED:
            known = ", ".join(each for each in days.UNFINISHED if each != days.OPEN_ROUND)
            raise click.BadParameter(f"{code!r} cannot be acknowledged; codes: {known}", param_hint="--despite")
    with database() as dsn:
        state = _read(dsn, house, gaming_day)
    if gaming_day >= state.now:
        raise Refusal(
            "LGR-0270",
            f"by the property's clock it is gaming day {state.now}",
            field="GAMING_DAY",
            value=gaming_day.isoformat(),
            help="close it once it has ended",
        )
    verify_begun(gaming_day, state.begun)
    left = days.unacknowledged(state.unfinished, despite)
    if left and state.closed is None:
        _show(state._replace(unfinished=left), form)
        again = " ".join(f"--despite {code}" for code in dict.fromkeys(each.code for each in left) if code != days.OPEN_ROUND)
        say("not closed: settle the open rounds first" if not again else f"not closed; what is acknowledged: {again}")
        return 1
    data: dict[str, Any] = {
        "property": state.house.id,
        "gaming_day": gaming_day.isoformat(),
        "as_of": state.position,
        "figures": state.fingerprint,
        "totals": days.totals(state.figures),
        "despite": list(dict.fromkeys(each.code for each in state.unfinished)),
    }
    with speaking() as speaker:
        positions = speaker.say(
            type_of(GamingDayClosed), state.house.id, data | ({} if note is None else {"note": note}), uuid4()
        )
    if not emit_record(data | {"positions": positions}, form):
        say(f"closed: gaming day {gaming_day} of property {state.house.id}, figures {state.fingerprint}")
    return 0


def _show(state: _State, form: Form) -> int:
    import msgspec

    dealt = {(table.id, table.currency) for table in state.house.tables}
    rows = [
        msgspec.structs.asdict(line) | {"hold_percent": line.hold_percent(dealt=(line.table, line.currency) in dealt)}
        for line in state.figures
    ]
    open_ = [] if state.closed is not None else [msgspec.structs.asdict(each) for each in state.unfinished]
    notes = list(state.notes)
    differs = state.closed is not None and state.closed.figures != state.fingerprint
    if differs:
        notes.append("the figures are not those with which the day was closed")
    if open_:
        notes.append(f"{counted(len(open_), 'thing')} unfinished")
    facts = header(
        property=f"{state.house.name} ({state.house.id})",
        gaming_day=state.day,
        standing=state.standing,
        closed_at=state.closed.closed_at if state.closed else None,
        despite=state.closed.despite or None if state.closed else None,
        note=state.closed.note if state.closed else None,
        figures=state.fingerprint,
        as_of_position=state.position,
    )
    sheets = [
        Sheet(TABLES, rows, name="tables", legend=LEGEND if rows else ""),
        Sheet(UNFINISHED, open_, name="unfinished", title="Unfinished", drawn=bool(open_)),
    ]
    emit(Report("Gaming day", sheets, {key: value for key, value in facts.items() if value is not None}, notes), form)
    return 1 if differs else 0


def _read(dsn: str, house: str | None, day: date | None) -> _State:
    from ledger import houses
    from ledger.days import earliest
    from projections import days, queries

    config = _property(dsn, house)
    now = config.gaming_day(datetime.now(UTC))
    with reading(dsn) as conn:
        last = days.closed(conn, config.id)
        begun = earliest(houses.since(conn, config.id) or now)
        first = days.first_day(conn, config.id, begun)
        asked = day or (last.gaming_day + timedelta(1) if last else first or now)
        begun = min(begun, first or begun)
        found = queries.positions(conn)
        figures = days.table_days(conn, config.id, asked)
        unfinished = days.unfinished(conn, config.id, asked, {table.id for table in config.tables})
        closed = days.closed(conn, config.id, asked)
    stopped = [f"figures end before position {each.stopped_by}: {each.stop_reason}" for each in found if each.stopped_by]
    at = str(min(int(each.position) for each in found))
    unfinished = unfinished if begun <= asked <= now else []
    return _State(config, asked, now, begun, closed, last.gaming_day if last else None, figures, unfinished, at, stopped)


def _property(dsn: str, house: str | None) -> Property:
    from cli.property import properties
    from ledger.errors import Refusal

    held = properties(dsn)
    if not held:
        raise Refusal("LGR-0601", "no property is configured", help="roundledger property apply FILE")
    known = ", ".join(config.id for config in held)
    if house is None and len(held) > 1:
        raise click.UsageError(f"there is more than one property: choose with --property ({known})", click.get_current_context())
    for config in held:
        if house in (None, config.id):
            return config
    raise Refusal("LGR-0612", f"no property {house} is configured", field="--property", value=house, help=f"properties: {known}")
