"""What rounds are played under: the properties' configurations and the regulations, as the log holds them.

Both are documents: their canonical content is logged once, before its first use, so that a replay needs no file. Documents have
streams of their own beside those of the rounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from itertools import count
from typing import Any, NamedTuple, cast
from uuid import UUID, uuid5

import msgspec
import psycopg
from eventsourcing.persistence import EventStore, IntegrityError

from ledger import property as property_
from ledger.errors import Refusal
from ledger.events import DocumentRecorded, RoundOpened
from ledger.property import Property, Table
from ledger.round import RoundEvent
from ledger.rules import Applied, Regulation, regulation_for
from ledger.store.recorder import LedgerRecorder, Occupied

_DOCUMENTS = UUID("6f0d3c7e-5b0a-5a53-9d36-5d8a6c2f1b10")
"""Namespace of the streams that hold documents; any fixed value does."""
_PROPERTIES = uuid5(_DOCUMENTS, "properties")
_TRIES = 4


class House(NamedTuple):
    """A table and the property it belongs to, as configured now."""

    property: Property
    table: Table


class Houses:
    """The configurations and regulations that are known. Not thread-safe: the application holds it."""

    def __init__(self, events: EventStore[UUID], recorder: LedgerRecorder) -> None:
        self._events = events
        self._recorder = recorder
        self._houses: dict[str, House] = {}
        self._properties: dict[str, Property] = {}
        """Id → configuration in force."""
        self._since: dict[str, date] = {}
        """Id → the gaming day in which the property was first configured."""
        self._configurations: dict[str, Property] = {}
        """Hash → configuration, of all that were ever logged."""
        self._played: dict[tuple[str, str], House] = {}
        """Hash of a configuration and table → that table as it was configured then."""
        self._version = 0
        self._regulations: dict[str, Regulation] = {}
        self._as_played: dict[tuple[str, str], Regulation] = {}
        """Hashes of a property and of a regulation as held → that regulation with the property's choices."""
        self._logged: set[str] = set()
        """Hashes of the regulations whose content is in the log."""

    # Properties.

    @property
    def premise(self) -> dict[UUID, int]:
        """What is decided by the configurations holds as long as their stream has no later version than this.

        An append that names it comes before the next configuration or is turned away: what stands in the log was decided by the
        configuration in force at its position.
        """
        return {_PROPERTIES: self._version}

    def read(self) -> bool:
        """Reads the configurations logged since the last time; True where there are any."""
        newer = cast(list[RoundEvent], list(self._events.get(_PROPERTIES, gt=self._version)))
        for event in newer:
            assert isinstance(event.body, DocumentRecorded)
            config = self._configurations[event.body.sha256] = property_.from_content(event.body.content)
            self._properties[config.id] = config
            self._since.setdefault(config.id, config.gaming_day(event.body.recorded_at))
            self._houses = {id_: house for id_, house in self._houses.items() if house.property.id != config.id}
            self._houses |= {table.id: House(config, table) for table in config.tables}
            self._version = event.originator_version
        return bool(newer)

    def properties(self) -> dict[str, Property]:
        """The properties as last read, by id."""
        return {key: self._properties[key] for key in sorted(self._properties)}

    def apply(self, config: Property, at: datetime | None = None) -> bool:
        """Logs the configuration, as applied now if no time is named; False where it is the one in force.

        Raises Refusal LGR-0604 for another property's table or terminal, and LGR-0611 where a table would be given up that has a
        round open. Openings name the configuration as their premise, so none comes in between.
        """
        property_.verify(config)
        for _ in range(_TRIES):
            self.read()
            held = self._properties.get(config.id)
            if held is not None and held.sha256 == config.sha256:
                return False
            self._verify_tables(config)
            body = _document("property", config.id, config.sha256, config.content, at)
            stored = self._events.mapper.to_stored_event(RoundEvent(_PROPERTIES, self._version + 1, body))
            given_up = [] if held is None else _given_up(held, config)
            try:
                self._recorder.insert_premise(stored, unoccupied=given_up)
            except Occupied as occupied:
                raise _in_play(occupied.rounds) from occupied
            except IntegrityError:
                continue
            self.read()
            return True
        raise Refusal("LGR-0503", "others keep changing the configuration", help="try again")

    def verify_apply(self, config: Property) -> None:
        """Raises what `apply` would raise, as things are now."""
        property_.verify(config)
        self.read()
        self._verify_tables(config)
        held = self._properties.get(config.id)
        occupied = {} if held is None else self._recorder.open_rounds(_given_up(held, config))
        if occupied:
            raise _in_play({table: occupied[table] for table in sorted(occupied)})

    def _verify_tables(self, config: Property) -> None:
        for table in config.tables:
            other = self._houses.get(table.id)
            if other is not None and other.property.id != config.id:
                raise Refusal("LGR-0604", f"property {other.property.id} has a table of this id", value=table.id)
        self._verify_terminals(config)

    def _verify_terminals(self, config: Property) -> None:
        """Raises Refusal LGR-0604 where another property names one of the terminals: one is at one table, wherever that is."""
        elsewhere = {
            terminal: house
            for house in self._houses.values()
            if house.property.id != config.id
            for terminal in house.table.terminals
        }
        for n, table in enumerate(config.tables):
            for m, terminal in enumerate(table.terminals):
                if terminal in elsewhere:
                    other = elsewhere[terminal]
                    raise Refusal(
                        "LGR-0604",
                        f"this terminal posts for table {other.table.id} of property {other.property.id} already",
                        field=f"tables[{n}].terminals[{m}]",
                        value=terminal,
                        help=f"take it out of the configuration of {other.property.id} first",
                    )

    def configured(self, house: str) -> Property:
        """The property with this id. Raises Refusal LGR-0612 where none is configured."""
        found = self._properties.get(house)
        if found is None:
            known = ", ".join(sorted(self._properties)) or "none"
            raise Refusal(
                "LGR-0612", f"no property {house} is configured", field="data.property", value=house, help=f"properties: {known}"
            )
        return found

    def since(self, house: str) -> date:
        """The gaming day in which the property `house`, which is configured, was so for the first time."""
        return self._since[house]

    def property_of(self, table: str) -> Property | None:
        """The property to which a table belongs, as last read."""
        house = self._houses.get(table)
        return None if house is None else house.property

    def in_force(self, opened: RoundOpened) -> Property | None:
        """The configuration in force, as last read, of the property that a round was opened under."""
        return self._properties.get(opened.property)

    def shared(self, terminal: str) -> bool:
        """Whether others may report of this terminal's table: it has other terminals, too, or no table names this one."""
        known = [house.table.terminals for house in self._houses.values() if terminal in house.table.terminals]
        return not known or any(len(terminals) > 1 for terminals in known)

    def house(self, table: str, game: str) -> House:
        """The table's house. Raises Refusal (06) where the table is unknown or deals another game."""
        house = self.table(table)
        if house.table.game != game:
            raise Refusal(
                "LGR-0603",
                f"table {table} deals {house.table.game}",
                field="data.game",
                value=game,
                help=f"open it with game {house.table.game}",
            )
        return house

    def table(self, table: str) -> House:
        """The table's house, whatever it deals. Raises Refusal (06) where the table is unknown."""
        if not self._houses:
            raise Refusal(
                "LGR-0601",
                "no property is configured",
                field="data.table",
                value=table,
                help="roundledger property apply FILE",
            )
        house = self._houses.get(table)
        if house is None:
            raise Refusal(
                "LGR-0602",
                f"no table {table} is configured",
                field="data.table",
                value=table,
                help=f"tables: {', '.join(sorted(self._houses))}",
            )
        return house

    def verify_works(self, table: str, person: str, role: str, *, field: str) -> None:
        """Raises Refusal LGR-0610 unless the property that has the table knows the person in this role; `field` named them."""
        config = self.table(table).property
        roles = next((each.roles for each in config.people if each.id == person), None)
        if roles is None or role not in roles:
            known = "nobody of this reference" if roles is None else f"{person} as {', '.join(roles)} and not as {role}"
            raise Refusal(
                "LGR-0610",
                f"property {config.id} knows {known}",
                field=field,
                value=person,
                help="declare the person with that role in the property's configuration, or correct the reference",
            )

    def verify_at_table(self, opened: RoundOpened, person: str, *, field: str) -> None:
        """Raises Refusal LGR-0610 unless the round's property knows the person as a dealer or a supervisor."""
        config = self.in_force(opened) or self.played_under(opened).property
        if not any(each.id == person and {"dealer", "supervisor"}.intersection(each.roles) for each in config.people):
            raise Refusal(
                "LGR-0610",
                f"property {config.id} knows nobody of this reference who works at tables",
                field=field,
                value=person,
                help="declare the person as dealer or supervisor in the property's configuration, or correct the reference",
            )

    def played_under(self, opened: RoundOpened) -> House:
        """The configuration that a round was opened under, whichever is in force now. Raises Refusal LGR-0504."""
        key = (opened.property_hash, opened.table)
        found = self._played.get(key)
        if found is None:
            self.read()
            config = self._configurations.get(opened.property_hash)
            tables = [] if config is None else [table for table in config.tables if table.id == opened.table]
            if config is None or not tables:
                raise Refusal(
                    "LGR-0504",
                    f"the log does not hold the configuration of table {opened.table} that the round names",
                    value=opened.property_hash,
                )
            found = self._played[key] = House(config, tables[0])
        return found

    def tolerance(self, table: str) -> timedelta | None:
        """By how much a clock at the table may be off, as configured now; None where nothing is said of it."""
        house = self._houses.get(table)
        return None if house is None else house.property.tolerance

    def gaming_day(self, opened: RoundOpened, at: datetime) -> date:
        """The gaming day to which the instant belongs by the clock of the property under which a round was opened."""
        house = self.in_force(opened) or self.played_under(opened).property
        return house.gaming_day(at)

    # Regulations.

    def applied(self, house: House, game: str, at: datetime) -> Applied:
        """The regulation by which a round of the house that opens at `at` is played, with the property's choices."""
        applied = regulation_for(game, at, opt_ins=house.property.regulations_opted_in)
        key = (house.property.sha256, applied.regulation.sha256)
        played = self._as_played.get(key)
        if played is None:
            played = self._as_played[key] = house.property.as_played(applied.regulation)
            self._regulations[played.sha256] = played
        return Applied(played, applied.note)

    def regulation(self, sha256: str) -> Regulation:
        """The regulation with this content hash, from the log where it is not the one on disk. Raises Refusal LGR-0504."""
        found = self._regulations.get(sha256)
        if found is None:
            _, logged = self._find(sha256)
            if logged is None:
                raise Refusal("LGR-0504", f"the log does not hold the regulation {sha256}", value=sha256)
            found = self._regulations[sha256] = Regulation.from_content(logged.content)
        return found

    def to_log(self, regulation: Regulation) -> RoundEvent | None:
        """The event that puts the regulation's content into the log; None where the log has it."""
        sha256 = regulation.sha256
        if sha256 in self._logged:
            return None
        stream, logged = self._find(sha256)
        if logged is not None:
            self._logged.add(sha256)
            return None
        return RoundEvent(stream, 1, _document("regulation", regulation.order, sha256, regulation.content))

    def was_logged(self, sha256: str) -> None:
        """The event of `to_log` is stored."""
        self._logged.add(sha256)

    def _find(self, sha256: str) -> tuple[UUID, DocumentRecorded | None]:
        """The stream of the regulation's content, and the content where the log has it.

        Terminals choose the ids of rounds. In an old log one may have that of this stream: the document is then in the next.
        """
        for n in count():
            stream = _regulation_stream(sha256, n)
            event = cast("RoundEvent | None", next(iter(self._events.get(stream, limit=1)), None))
            if event is None:
                return stream, None
            if isinstance(event.body, DocumentRecorded) and event.body.sha256 == sha256:
                return stream, event.body
        raise AssertionError("count() has no end")


# For whoever asks without the application.


def in_force(conn: psycopg.Connection[Any]) -> list[Property]:
    """The properties in force as the log has them now, by id."""
    found = {config.id: config for _, config in configurations(conn)}
    return [found[key] for key in sorted(found)]


def configurations(conn: psycopg.Connection[Any]) -> list[tuple[int, Property]]:
    """Every configuration that was ever logged, with its position, the oldest first."""
    return [(position, property_.from_content(logged.content)) for position, logged in _logged(conn, _PROPERTIES)]


def since(conn: psycopg.Connection[Any], house: str) -> date | None:
    """The gaming day in which the property was first configured; None where it never was."""
    for _, logged in _logged(conn, _PROPERTIES):
        config = property_.from_content(logged.content)
        if config.id == house:
            return config.gaming_day(logged.recorded_at)
    return None


def configuration(conn: psycopg.Connection[Any], sha256: str) -> Property:
    """The configuration with this hash, whether or not it is in force. Raises Refusal LGR-0504."""
    for _, logged in _logged(conn, _PROPERTIES):
        if logged.sha256 == sha256:
            return property_.from_content(logged.content)
    raise Refusal("LGR-0504", f"the log does not hold the configuration {sha256}", value=sha256)


def regulation(conn: psycopg.Connection[Any], sha256: str) -> Regulation:
    """The regulation with this content hash, from the log. Raises Refusal LGR-0504."""
    for n in count():
        found = _logged(conn, _regulation_stream(sha256, n))
        if not found:
            raise Refusal("LGR-0504", f"the log does not hold the regulation {sha256}", value=sha256)
        if found[0][1].sha256 == sha256:
            return Regulation.from_content(found[0][1].content)
    raise AssertionError("count() has no end")


def _logged(conn: psycopg.Connection[Any], stream: UUID) -> list[tuple[int, DocumentRecorded]]:
    """The documents of a stream with their positions, oldest first; what is no document counts as one without content."""
    rows = conn.execute(
        "SELECT notification_id, topic, state FROM ledger.events WHERE originator_id = %s ORDER BY originator_version", (stream,)
    ).fetchall()
    nothing = DocumentRecorded(kind="", name="", sha256="", content="", recorded_at=datetime.fromtimestamp(0, UTC))
    return [
        (position, msgspec.json.decode(state, type=DocumentRecorded) if topic == DocumentRecorded.TOPIC else nothing)
        for position, topic, state in rows
    ]


def _regulation_stream(sha256: str, n: int) -> UUID:
    return uuid5(_DOCUMENTS, f"regulation:{sha256}" if n == 0 else f"regulation:{sha256}/{n}")


def _given_up(held: Property, config: Property) -> list[str]:
    """The tables at which nobody could go on under `config`: those that it lacks, and those that lose all their terminals."""
    kept = {table.id: table for table in config.tables}
    return [table.id for table in held.tables if table.id not in kept or (table.terminals and not kept[table.id].terminals)]


def _in_play(rounds: Mapping[str, UUID]) -> Refusal:
    [first, *others] = rounds
    more = f", and {', '.join(others)} too" if others else ""
    return Refusal(
        "LGR-0611",
        f"table {first} has round {rounds[first]} open{more}",
        field="tables",
        value=first,
        help="end the round first: record its outcome, or have its stakes returned by a correction; then apply the file again",
    )


def _document(kind: str, name: str, sha256: str, content: str, at: datetime | None = None) -> DocumentRecorded:
    return DocumentRecorded(kind=kind, name=name, sha256=sha256, content=content, recorded_at=at or datetime.now(UTC))
