"""What this process knows of rounds and tables, and when to doubt it.

The rounds in memory are believed until the database says otherwise: a table is written by the one process that has its lease, and
every append names the version of each stream that it was decided on.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from contextlib import closing
from uuid import UUID

from eventsourcing.persistence import IntegrityError

from ledger.application.group import Group
from ledger.cage import TableRecord
from ledger.days import Days
from ledger.errors import Refusal
from ledger.events import RoundOpened
from ledger.players import Players
from ledger.round import Round, Status
from ledger.sequences import Sequences
from ledger.store.lease import Leases
from ledger.store.pause import collector_paused
from ledger.store.recorder import Closing, Hindrance, LeaseLost, LedgerRecorder

_ROUNDS_KEPT = 4096
"""Rounds kept in memory: many times the tables of a large floor; the least recently used goes first."""
_EVENTS_KEPT = 500_000
"""Events that those rounds may have together when one more is loaded: late posts to long rounds, settled long since, do not add
up in memory. The rounds being played are as long as they are."""


class Memory:
    """Rounds, open rounds and staff, as last read or decided. Not thread-safe: the application holds it."""

    def __init__(self, recorder: LedgerRecorder, leases: Leases) -> None:
        self._recorder = recorder
        self._leases = leases
        self._rounds: OrderedDict[UUID, Round] = OrderedDict()
        self._open: dict[str, UUID | None] = {}
        """Table → its open round, for tables that have been asked about."""
        self._records: dict[str, TableRecord] = {}
        """What is on record of tables themselves."""
        self._days: dict[str, Days] = {}
        """Property → its gaming days."""
        self._players: Players | None = None
        self.sequences = Sequences(recorder.datastore.get_connection)
        """What was received of the tables' terminals."""

    # Rounds.

    def round(self, id: UUID) -> Round:
        """The round, from memory or else from the log. Raises Refusal LGR-0202 where there is none."""
        round_ = self._rounds.get(id)
        if round_ is None:
            round_ = self.load(id)
            self.keep(round_)
            while len(self._rounds) > 1 and sum([each.version for each in self._rounds.values()]) > _EVENTS_KEPT:
                self._rounds.popitem(last=False)
        else:
            self._rounds.move_to_end(id)
        return round_

    def knows(self, id: UUID) -> bool:
        """Whether the round is in memory."""
        return id in self._rounds

    def load(self, id: UUID) -> Round:
        """The round as the log has it now. Raises Refusal LGR-0202 where there is none."""
        round_ = Round(id)
        with closing(self._recorder.pieces(id)) as pieces, collector_paused():
            for happened in pieces:
                if not round_.version and not isinstance(happened[0], RoundOpened):
                    break  # a document or a table has a stream too, and is no round
                round_.fold(happened)
        if not round_.version:
            raise Refusal(
                "LGR-0202",
                "no round has this id",
                field="subject",
                value=str(id),
                help="open the round first, then send it again",
            )
        return round_

    def keep(self, round_: Round) -> None:
        """Believes the round from now on."""
        self._rounds[round_.id] = round_
        self._rounds.move_to_end(round_.id)
        while len(self._rounds) > _ROUNDS_KEPT:
            self._rounds.popitem(last=False)

    def drop(self, ended: Iterable[UUID]) -> None:
        """Rounds that are over are read again by whoever asks for one."""
        for id_ in ended:
            self._rounds.pop(id_, None)

    def exists(self, stream: UUID, *, after: int = 0) -> bool:
        """Whether the log has such a stream, or more of it than up to the version `after`."""
        return bool(self._recorder.select_events(stream, gt=after, limit=1))

    # Tables.

    def open_round(self, table: str) -> UUID | None:
        """The round that the table has open; None where it has none."""
        if table not in self._open:
            self._open[table] = self._recorder.open_rounds([table]).get(table)
        return self._open[table]

    def occupy(self, table: str, round_: UUID | None) -> None:
        """The table has this round open from now on, or none."""
        self._open[table] = round_

    def record(self, table: str) -> TableRecord:
        """What is on record of the table itself: who works there, its slips, its colour chips.

        Raises Refusal LGR-0609 where a round of an old log has the table's stream.
        """
        found = self._records.get(table)
        if found is None:
            found = TableRecord(table)
            happened = self._recorder.stream(found.id)
            if happened and isinstance(happened[0], RoundOpened):
                raise Refusal(
                    "LGR-0609",
                    f"what concerns table {table} would be in stream {found.id}, which is a round of table {happened[0].table}",
                    field="data.table",
                    value=table,
                    help="give the table another id in the property's configuration",
                )
            found.fold(happened)
            self._records[table] = found
        return found

    # Gaming days.

    def days(self, house: str) -> Days:
        """The gaming days of the property `house`."""
        found = self._days.get(house)
        if found is None:
            found = self._days[house] = Days(house)
            found.fold(self._recorder.stream(found.id))
        return found

    # Players.

    def players(self) -> Players:
        """What was decided about players' references."""
        found = self._players
        if found is None:
            found = Players()
            found.fold(self._recorder.stream(found.id))
            self._players = found
        return found

    def plays(self, player: str) -> UUID | None:
        """A round under way that names the player; None where there is none."""
        return self._recorder.round_under_way(player)

    # What the log knows of days and slips.

    def hindrances(self, closing: Closing) -> list[Hindrance]:
        """What keeps a gaming day from being closed."""
        return self._recorder.hindrances(closing)

    def slip_is_numbered(self, topic: str, house: str, number: int) -> bool:
        """Whether the property has used the number for such a slip."""
        return self._recorder.slip_is_numbered(topic, house, number)

    # When to believe, and when to doubt.

    def hold(self, table: str, group: Group) -> bool:
        """Makes sure that this process writes the table; True where it did not until now, so that what it knew is forgotten."""
        epoch = self._leases.epoch(table)
        if epoch is not None:
            group.leases[table] = epoch
            return False
        self._recorder.verify_may_wait()
        taken = self._leases.take(table)
        if table in group.leases:
            raise LeaseLost(f"table {table} passed on while a group was decided that writes it")
        group.leases[table] = taken.epoch
        self.sequences.taken(table, taken.epoch, taken.counted_to, written=taken.written)
        self._open.pop(table, None)
        self._records.pop(table, None)
        for id_ in [id_ for id_, round_ in self._rounds.items() if round_.terms.table == table]:
            del self._rounds[id_]
        return True

    def reread_round(self, id: UUID, group: Group) -> bool:
        """Reads what other writers have recorded of a round since, and of those that have its carried bets by now; True where it
        changes what is known. Raises as `_reread` does.
        """
        changed = False
        seen: set[UUID] = set()
        while id not in seen:
            seen.add(id)
            sitting = group.sittings.get(id)
            round_ = self._rounds.get(id) if sitting is None else sitting.round
            changed |= self._reread(round_, group)
            if round_ is None or round_.status is not Status.CARRIED or round_.successor is None:
                break
            id = round_.successor
        return changed

    def reread_table(self, table: str, group: Group) -> bool:
        """Reads which round the table has open by now; True where it changes what is known."""
        if table in group.opened:
            return False
        now = self._recorder.open_rounds([table]).get(table)
        if now in group.closed or now == self._open.get(table):
            return False
        self._open[table] = now
        return True

    def reread_record(self, table: str, group: Group) -> bool:
        """Reads what has come to the table's own stream since; True where it changes what is known. Raises as `_reread` does."""
        return self._reread(self._records.get(table), group)

    def reread_days(self, house: str | None, group: Group) -> bool:
        """Reads which gaming days were closed since; True where it changes what is known. Raises as `_reread` does."""
        return self._reread(None if house is None else self._days.get(house), group)

    def reread_players(self, group: Group) -> bool:
        """Reads what was decided about players since; True where it changes what is known. Raises as `_reread` does."""
        return self._reread(self._players, group)

    def _reread(self, known: Round | TableRecord | Days | Players | None, group: Group) -> bool:
        """Raises the library's IntegrityError where the group has decided events of the stream on what is not its end any more.

        What came meanwhile has no place after them, nor before: the group is decided again.
        """
        if known is None:
            return False
        own = group.made(known.id)
        if own:
            if self.exists(known.id, after=known.version - own):
                raise IntegrityError(f"stream {known.id} has gone on while a group was decided that adds to it")
            return False
        newer = self._recorder.stream(known.id, after=known.version)
        known.fold(newer)
        return bool(newer)

    def forget(self) -> None:
        """Believes nothing any more."""
        self._rounds.clear()
        self._open.clear()
        self._records.clear()
        self._days.clear()
        self._players = None
