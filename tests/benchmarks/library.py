"""What the ledger is compared with: an application of the stock `eventsourcing` library, with the same events.

Ordinary aggregates with their events, the default mapper, the stock recorder and projection runner, all in their default modes,
on the same server. Only the size of the connection pool is set: to what its callers can use.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar
from uuid import UUID

import psycopg
from eventsourcing.application import Application
from eventsourcing.dispatch import singledispatchmethod
from eventsourcing.domain import Aggregate, event
from eventsourcing.persistence import Tracking
from eventsourcing.postgres import PostgresDatastore, PostgresTrackingRecorder
from eventsourcing.projection import Projection, ProjectionRunner
from psycopg.conninfo import conninfo_to_dict

from tests.benchmarks.play import SPOTS, STAKE, uuid7

_WINNERS = {"straight:17": 35, "low": 1}


class TableRound(Aggregate):
    """A round as one would write it with the library; each event has the fields of the ledger's event of the same name."""

    class Opened(Aggregate.Created):
        cause: UUID
        terminal: str
        occurred_at: datetime
        received_at: datetime
        property: str
        pit: str
        table: str
        game: str
        currency: str
        payable_unit: str
        regulation: str
        regulation_hash: str
        property_hash: str
        gaming_day: str

    class BetPlaced(Aggregate.Event):
        cause: UUID
        terminal: str
        occurred_at: datetime
        received_at: datetime
        bet: UUID
        player: str
        seat: int
        spot: str
        numbers: list[int]
        stake: str
        currency: str

    class BettingClosed(Aggregate.Event):
        cause: UUID
        terminal: str
        occurred_at: datetime
        received_at: datetime

    class OutcomeRecorded(Aggregate.Event):
        cause: UUID
        terminal: str
        occurred_at: datetime
        received_at: datetime
        raw: str
        outcome: str
        shown: str
        currency: str
        lost: list[dict[str, str]]

    class PayoutMade(Aggregate.Event):
        cause: UUID
        terminal: str
        occurred_at: datetime
        received_at: datetime
        bet: UUID
        player: str
        spot: str
        result: str
        currency: str
        stake: str
        odds: str
        prize_exact: str
        prize: str
        commission: str
        breakage: str
        net_prize: str
        returned: str
        edge: str
        article: str

    class Settled(Aggregate.Event):
        cause: UUID
        terminal: str
        occurred_at: datetime
        received_at: datetime
        currency: str
        bets: int
        handle: str
        prizes: str
        commission: str
        breakage: str
        returned: str

    @event(Opened)
    def __init__(self, table: str, **_: Any) -> None:
        self.table = table
        self.bets: dict[UUID, tuple[str, str, int]] = {}
        self.status = "open"
        self.outcome = ""

    @event(BetPlaced)
    def _bet(self, bet: UUID, player: str, spot: str, stake: str) -> None:
        self.bets[bet] = player, spot, int(stake)

    @event(BettingClosed)
    def _close(self) -> None:
        self.status = "closed"

    @event(OutcomeRecorded)
    def _show(self, outcome: str) -> None:
        self.outcome = outcome

    @event(PayoutMade)
    def _pay(self) -> None:
        pass

    @event(Settled)
    def _settle(self) -> None:
        self.status = "settled"

    @classmethod
    def open(cls, table: str) -> TableRound:
        return cls._create(
            cls.Opened,
            **_origin(uuid7(), table),
            property="BENCH",
            pit="A",
            table=table,
            game="roulette",
            currency="MOP",
            payable_unit="1",
            regulation="30/2003",
            regulation_hash="0" * 64,
            property_hash="0" * 64,
            gaming_day="2026-11-29",
        )

    def place_bet(self, spot: str = "straight:17", player: str = "P-1001", seat: int = 3) -> None:
        if self.status != "open":
            raise ValueError("betting is over")
        bet = uuid7()
        self.trigger_event(
            self.BetPlaced,
            **_origin(bet, self.table),
            bet=bet,
            player=player,
            seat=seat,
            spot=spot,
            numbers=[17],
            stake=str(STAKE),
            currency="MOP",
        )

    def end(self, outcome: str) -> None:
        """Betting is closed, the outcome shown, winners are paid."""
        self.trigger_event(self.BettingClosed, **_origin(uuid7(), self.table))
        by = _origin(uuid7(), self.table) | {"currency": "MOP"}
        lost = [(id_, bet) for id_, bet in self.bets.items() if bet[1] not in _WINNERS]
        lines = [
            {"bet": str(id_), "player": player, "spot": spot, "stake": str(stake), "edge": "1/37", "article": "30/2003 art. 7"}
            for id_, (player, spot, stake) in lost
        ]
        self.trigger_event(self.OutcomeRecorded, **by, raw=outcome, outcome=outcome, shown="17, black", lost=lines)
        prizes = 0
        for id_, (player, spot, stake) in self.bets.items():
            odds = _WINNERS.get(spot)
            if odds is None:
                continue
            prize = stake * odds
            prizes += prize
            self.trigger_event(
                self.PayoutMade,
                **by,
                bet=id_,
                player=player,
                spot=spot,
                result="won",
                stake=str(stake),
                odds=str(odds),
                prize_exact=str(prize),
                prize=str(prize),
                commission="0",
                breakage="0",
                net_prize=str(prize),
                returned=str(stake + prize),
                edge="1/37",
                article="30/2003 art. 7",
            )
        self.trigger_event(
            self.Settled,
            **by,
            bets=len(self.bets),
            handle=str(STAKE * len(self.bets)),
            prizes=str(prizes),
            commission="0",
            breakage="0",
            returned=str(prizes),
        )

    @classmethod
    def whole(cls, table: str) -> TableRound:
        """A round of 20 events, none of them saved."""
        round_ = cls.open(table)
        for seat, spot in enumerate(SPOTS):
            round_.place_bet(spot, f"P-{1001 + seat}", seat)
        round_.end("17")
        return round_


def _origin(cause: UUID, table: str) -> dict[str, Any]:
    now = datetime.now(UTC)
    return {"cause": cause, "terminal": f"T-{table}", "occurred_at": now, "received_at": now}


class Library(Application[UUID]):
    """The stock application; its events are in `public.library_events`."""

    name = "library"


def environment(dsn: str, *, connections: int = 1, create: bool = False) -> Mapping[str, str]:
    """What the library reads its settings from. With `create` it makes its tables, which only one process may do at a time."""
    parts = conninfo_to_dict(dsn)
    return {
        "PERSISTENCE_MODULE": "eventsourcing.postgres",
        "POSTGRES_DBNAME": str(parts["dbname"]),
        "POSTGRES_HOST": str(parts["host"]),
        "POSTGRES_PORT": str(parts.get("port", 5432)),
        "POSTGRES_USER": str(parts["user"]),
        "POSTGRES_PASSWORD": "none is asked for",
        "POSTGRES_POOL_SIZE": str(connections),
        "CREATE_TABLE": "y" if create else "n",
    }


FORGET = """
DROP TABLE IF EXISTS public.library_rounds, public.library_postings, public.library_balances, public.library_report,
                     public.library_books_tracking
"""
"""Takes the library's projection back to the beginning: its runner makes the tables again."""


# The read side: postings, balances and a table's report, one transaction an event, as the library's runner has it.


class View(PostgresTrackingRecorder):
    """The tables of the projection, written in the transaction that moves its position."""

    _TABLES: ClassVar[str] = """
        CREATE TABLE IF NOT EXISTS public.library_rounds (round uuid PRIMARY KEY, table_id text NOT NULL);
        CREATE TABLE IF NOT EXISTS public.library_postings (
            position bigint, line int, round uuid, debit text, credit text, currency text, amount numeric,
            PRIMARY KEY (position, line));
        CREATE TABLE IF NOT EXISTS public.library_balances (
            account text, currency text, balance numeric, PRIMARY KEY (account, currency));
        CREATE TABLE IF NOT EXISTS public.library_report (
            table_id text, currency text, rounds bigint, bets bigint, lost numeric, won numeric, prizes numeric,
            PRIMARY KEY (table_id, currency));
    """

    def __init__(self, datastore: PostgresDatastore, **kwargs: Any) -> None:
        super().__init__(datastore, **kwargs)
        self.tables: dict[UUID, str] = {}

    def create_table(self) -> None:
        super().create_table()
        with self.datastore.transaction(commit=True) as cursor:
            cursor.execute(self._TABLES.encode())

    def write(
        self,
        tracking: Tracking,
        round_: UUID,
        postings: list[tuple[str, str, int]] = [],  # noqa: B006 - never changed
        *,
        opened: str | None = None,
        report: tuple[int, int, int, int, int] | None = None,
    ) -> None:
        """All that one event changes."""
        with self.datastore.transaction(commit=True) as cursor:
            self._insert_tracking(cursor, tracking)
            if opened is not None:
                self.tables[round_] = opened
                cursor.execute("INSERT INTO public.library_rounds VALUES (%s, %s)", (round_, opened), prepare=True)
            for line, (debit, credit, amount) in enumerate(postings):
                cursor.execute(
                    "INSERT INTO public.library_postings VALUES (%s, %s, %s, %s, %s, 'MOP', %s)",
                    (tracking.notification_id, line, round_, debit, credit, amount),
                    prepare=True,
                )
                cursor.execute(
                    "INSERT INTO public.library_balances AS b VALUES (%s, 'MOP', %s), (%s, 'MOP', %s) "
                    "ON CONFLICT (account, currency) DO UPDATE SET balance = b.balance + excluded.balance",
                    (debit, -amount, credit, amount),
                    prepare=True,
                )
            if report is not None:
                cursor.execute(
                    "INSERT INTO public.library_report AS r VALUES (%s, 'MOP', %s, %s, %s, %s, %s) "
                    "ON CONFLICT (table_id, currency) DO UPDATE SET rounds = r.rounds + excluded.rounds, "
                    "bets = r.bets + excluded.bets, lost = r.lost + excluded.lost, won = r.won + excluded.won, "
                    "prizes = r.prizes + excluded.prizes",
                    (self.tables[round_], *report),
                    prepare=True,
                )


class Books(Projection[View]):
    """Folds the events as the ledger's projections do."""

    name = "library_books"

    def __init__(self, view: View) -> None:
        super().__init__(view)
        self.moments: list[float] = []
        """When each event was processed."""

    def process_event(self, domain_event: Any, tracking: Tracking) -> None:
        self._fold(domain_event, tracking)
        self.moments.append(time.perf_counter())

    @singledispatchmethod
    def _fold(self, domain_event: Any, tracking: Tracking) -> None:
        self.view.write(tracking, domain_event.originator_id)

    @_fold.register
    def _(self, happened: TableRound.Opened, tracking: Tracking) -> None:
        self.view.write(tracking, happened.originator_id, opened=happened.table)

    @_fold.register
    def _(self, happened: TableRound.BetPlaced, tracking: Tracking) -> None:
        table = self.view.tables[happened.originator_id]
        self.view.write(tracking, happened.originator_id, [(f"player/{happened.player}", f"escrow/{table}", int(happened.stake))])

    @_fold.register
    def _(self, happened: TableRound.OutcomeRecorded, tracking: Tracking) -> None:
        table = self.view.tables[happened.originator_id]
        lost = [int(line["stake"]) for line in happened.lost]
        postings = [(f"escrow/{table}", f"win/{table}", stake) for stake in lost]
        self.view.write(tracking, happened.originator_id, postings, report=(0, len(lost), sum(lost), 0, 0))

    @_fold.register
    def _(self, happened: TableRound.PayoutMade, tracking: Tracking) -> None:
        table, player = self.view.tables[happened.originator_id], f"player/{happened.player}"
        stake, prize = int(happened.stake), int(happened.net_prize)
        postings = [(f"escrow/{table}", player, stake), (f"win/{table}", player, prize)]
        self.view.write(tracking, happened.originator_id, postings, report=(0, 1, 0, stake, prize))

    @_fold.register
    def _(self, happened: TableRound.Settled, tracking: Tracking) -> None:
        self.view.write(tracking, happened.originator_id, report=(1, 0, 0, 0, 0))


def caught_up(application: Library, admin: psycopg.Connection[Any]) -> float:
    """Events a second from the first that its runner processes to the last of the log, with tables that it makes anew."""
    admin.execute(FORGET.encode())
    env = dict(environment(admin.info.dsn, connections=2, create=True))
    with ProjectionRunner(application_class=Library, projection_class=Books, view_class=View, env=env) as runner:
        runner.wait(application.recorder.max_notification_id(), timeout=120)
        assert isinstance(runner.projection, Books)
        moments = runner.projection.moments
    return (len(moments) - 1) / (moments[-1] - moments[0])
