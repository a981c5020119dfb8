"""A month of a house of all four games, made up from a seed: voids, corrections, slips, closed days and all."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID, uuid4

import psycopg

from ledger.application import Rounds
from ledger.property import Choice, OptIn, Property, Table
from ledger.reports import (
    ApproveCorrection,
    CancelSlip,
    ChangeBet,
    ChipsOf,
    CloseDay,
    ConfirmSlip,
    CountChips,
    CountDrop,
    DeclineCorrection,
    GiveUpNumbers,
    HoldRound,
    OpenRound,
    PlaceBet,
    ProposeCorrection,
    RecordCredit,
    RecordFill,
    RecordLateBet,
    ReleaseRound,
    Report,
    VoidBet,
    VoidRound,
    WithdrawBet,
    days_stream,
    table_stream,
)
from tests.support import Terminal, accepted

FIRST = date(2026, 11, 1)
TABLES = (
    Table("R01", "A", "roulette", "MOP", "0.01"),
    Table("R02", "A", "roulette", "HKD", "0.01"),
    Table("C01", "B", "cussec", "MOP", "0.01"),
    Table("F01", "B", "fantan", "HKD", "0.10"),
    Table("X01", "B", "craps", "MOP", "1"),
)
HOUSE = Property(
    id="PROOF",
    name="Proof",
    zone="Asia/Macau",
    gaming_day_start="06:00",
    tables=TABLES,
    opt_ins=(OptIn("30/2003", "a proof", "nobody"), OptIn("31/2003", "a proof", "nobody")),
    choices=(Choice(regulation="53/2010", unverified_bets=True),),
)
SPOTS = {
    "roulette": ("straight:17", "straight:0", "split:17-20", "corner:16-17-19-20", "dozen:2", "column:1", "red", "black", "even"),
    "cussec": ("small", "big", "three_army:2", "triple:2", "any_triple", "total:6", "total:11"),
    "fantan": ("fan:3", "nim:3/1", "kuoc:12", "nga:12/3", "sshong:123"),
    "craps": ("pass",),
}
SHIFTS = ("day", "night")


class Month:
    """What is played, day by day."""

    def __init__(self, rounds: Rounds, dsn: str, days: int, a_day: int, seed: int) -> None:
        self._rounds = rounds
        self._dsn = dsn
        self._days = days
        self._a_day = a_day
        self._random = Random(seed)
        self._now = datetime(2026, 11, 1, tzinfo=UTC)
        self._number = 0
        self._settled: list[tuple[Terminal, UUID, str, list[UUID]]] = []
        """Table, round, game and bets of what can be corrected."""
        self._numbers: dict[str, tuple[int, int]] = {}
        """Table → its terminal's epoch, and the last number that it used for a bet or a bell."""
        self._skipped: list[tuple[int, int, int]] = []
        """Epoch, first and last number that the terminal never sends, of the round that is played."""

    def play(self) -> None:
        """Plays it all."""
        for n in range(self._days):
            day = FIRST + timedelta(days=n)
            # 06:30 in Macau: the gaming day has begun.
            self._now = datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(hours=1, minutes=30)
            for table in TABLES:
                self._at(table)
            self._afterwards()
            if n and n % 2 == 0:
                self._close(day - timedelta(days=2), day - timedelta(days=1))

    def _post(self, *reports: Report) -> None:
        accepted(self._rounds.post(list(reports)))

    def _then(self) -> dict[str, Any]:
        """The next moment, for what is reported."""
        self._now += timedelta(milliseconds=self._random.randrange(100, 9000))
        return {"occurred_at": self._now, "received_at": self._now}

    def _numbered(self, at: Terminal, skipped: int = 0) -> dict[str, Any]:
        """The terminal's next number, or one after so many that it never sends, and when that is."""
        epoch, number = self._numbers[at.table]
        if skipped:
            self._skipped.append((epoch, number + 1, number + skipped))
        self._numbers[at.table] = epoch, number + skipped + 1
        return {"epoch": epoch, "sequence": number + skipped + 1, **self._then()}

    def _at(self, table: Table) -> None:
        at, random = Terminal(table.id, table.game, table.currency), self._random
        epoch, number = self._numbers.get(table.id, (0, 0))
        self._numbers[table.id] = (epoch, number) if random.random() < 0.7 and epoch else (epoch + 1, 0)  # it was restarted
        counted = table.game != "craps"
        if counted:
            self._slip(at, CountChips(kind="opener", **self._chips(at, 400)))
        for n in range(self._a_day):
            self._round(at, table.game, SHIFTS[n * 2 // self._a_day])
        if counted:
            self._number += 1
            self._slip(at, RecordFill(number=self._number, **self._chips(at, 50)))
            self._slip(at, RecordCredit(number=self._number, **self._chips(at, 20)))
            cash = random.randrange(1, 10**6)
            drop: dict[str, Any] = {"table": at.table, "currency": at.currency, "box": "1", "cash": str(cash), "vouchers": "500"}
            self._slip(at, CountDrop(total=str(cash + 500), **drop))
            if random.random() < 0.8:
                self._slip(at, CountChips(kind="closer", **self._chips(at, random.randrange(300, 500))))

    def _chips(self, at: Terminal, count: int) -> dict[str, Any]:
        chips = (ChipsOf(value="10000", count=count),)
        return {"table": at.table, "currency": at.currency, "chips": chips, "total": str(10000 * count)}

    def _slip(self, at: Terminal, body: Any) -> None:
        kind: Any = getattr(body, "kind", None) or _KINDS[type(body)]
        random = self._random
        slip = at.report(body, round=table_stream(at.table), by="C-1", **self._then())
        signed = ConfirmSlip(table=at.table, slip=slip.event_id, kind=kind)
        confirmed = [] if random.random() < 0.1 and kind == "credit" else [
            at.report(signed, round=table_stream(at.table), by="C-2", **self._then())
        ]  # fmt: skip
        self._post(slip, *confirmed)
        if kind in ("fill", "credit") and random.random() < 0.2:
            no = CancelSlip(table=at.table, slip=slip.event_id, kind=kind, reason="wrong_total", note="counted anew")
            self._post(at.report(no, round=table_stream(at.table), by="C-1", **self._then()))
            if confirmed:
                signed = ConfirmSlip(table=at.table, slip=slip.event_id, kind=kind, cancellation=True)
                self._post(at.report(signed, round=table_stream(at.table), by="C-2", **self._then()))

    def _round(self, at: Terminal, game: str, shift: str) -> None:
        random = self._random
        at.round = uuid4()
        opened = at.report(OpenRound(table=at.table, game=game, shift=shift), **self._then())
        bets = [self._bet(at, game) for _ in range(random.randrange(5))]
        self._post(opened, *bets)
        left = [bet.event_id for bet in bets]
        if left and random.random() < 0.1:
            self._post(at.report(WithdrawBet(bet=left.pop()), **self._then()))
        if left and random.random() < 0.05:
            self._post(at.report(VoidBet(bet=left.pop(), reason="miskeyed", note="two chips"), by="S-1", **self._then()))
        if left and random.random() < 0.1:
            spot, stake = random.choice(SPOTS[game]), str(100 * random.randrange(1, 5000))
            self._post(at.report(ChangeBet(bet=left[0], spot=spot, stake=stake), **self._then()))
        if random.random() < 0.1 and game != "craps":  # it comes after the bell, and by its number it was before
            late = self._bet(at, game)
            self._post(at.close(**self._numbered(at)), late)
            left.append(late.event_id)
        else:
            self._post(at.close(**self._numbered(at)))
        if random.random() < 0.1 and game != "craps":
            chips = RecordLateBet(player="P-9", spot=SPOTS[game][0], stake="700", currency=at.currency, seat=3, note="given back")
            self._post(at.report(chips, by="S-1", **self._then()))
        if random.random() < 0.1:
            about = random.choice(left) if left and random.random() < 0.5 else None
            hold = at.report(HoldRound(reason="dispute", bet=about, note="the player points at it"), by="S-1", **self._then())
            self._post(hold, at.report(ReleaseRound(hold=hold.event_id, finding="stands"), by="S-2", **self._then()))
        round_ = at.round
        if game == "craps":
            self._throw(at)
        else:
            if game == "roulette" and random.random() < 0.2:
                self._post(at.report(VoidRound(reason="golpe_nulo"), **self._then()))
            if game == "cussec" and random.random() < 0.2:
                successor = uuid4()
                self._post(at.report(VoidRound(reason="bridged_dice", successor=successor), **self._then()))
                at.round = round_ = successor
                self._post(at.close(**self._then()))
            self._post(at.outcome(self._outcome(game), **self._then()))
        for epoch, first, last in self._skipped:
            if random.random() < 0.4:
                lost: dict[str, Any] = {"of_terminal": at.name, "of_epoch": epoch, "first": first, "last": last}
                said = GiveUpNumbers(table=at.table, reason="lost_disk", note="the disk was read" if first % 2 else None, **lost)
                self._post(at.report(said, round=table_stream(at.table), by="S-1", **self._then()))
        self._skipped.clear()
        self._settled.append((at, round_, game, left))

    def _bet(self, at: Terminal, game: str) -> Report:
        random = self._random
        stake = str(100 * random.randrange(1, 5000)) if game == "craps" else str(random.randrange(1, 500_000))
        body = PlaceBet(
            player=f"P-{random.randrange(20)}",
            spot=random.choice(SPOTS[game]),
            stake=stake,
            currency=at.currency,
            seat=random.choice((None, 1, 2, 7)),
            chip=random.choice((None, None, "promotional", "non_negotiable")),
        )
        return at.report(body, **self._numbered(at, skipped=2 if random.random() < 0.05 and game != "craps" else 0))

    def _outcome(self, game: str) -> str:
        random = self._random
        match game:
            case "roulette":
                return str(random.randrange(37))
            case "cussec":
                return "-".join(str(random.randrange(1, 7)) for _ in range(3))
        return str(random.randrange(1, 5))

    def _throw(self, at: Terminal) -> None:
        """Throws until the line is decided."""
        point = 0
        while True:
            one, other = self._random.randrange(1, 7), self._random.randrange(1, 7)
            if self._random.random() < 0.1:
                self._post(at.throw(void="off_layout", **self._then()))
            self._post(at.throw(f"{one}-{other}", **self._then()))
            total = one + other
            if (not point and total in (2, 3, 7, 11, 12)) or (point and total in (7, point)):
                return
            point = point or total

    def _afterwards(self) -> None:
        """Corrections of some of the rounds, also of days that were closed since."""
        random = self._random
        for at, round_, game, bets in random.sample(self._settled, min(16, len(self._settled))):
            what: dict[str, Any]
            match random.randrange(6):
                case 0 if game in ("roulette", "fantan"):
                    what = {"kind": "outcome", "outcome": self._outcome(game)}
                case 1 if bets:
                    what = {"kind": "bet", "bet": random.choice(bets), "stake": str(100 * random.randrange(1, 9999))}
                case 2 if bets:
                    direction = random.choice(("to_player", "from_player"))
                    what = {"kind": "mispay", "bet": random.choice(bets), "amount": "1300", "direction": direction}
                case 3 if bets:
                    what = {"kind": "bet_void", "bet": random.choice(bets), "note": "never laid"}
                case 4:
                    what = {"kind": "return"}
                case _ if game != "craps":
                    chips = {"spot": SPOTS[game][0], "stake": "100"}
                    what = {"kind": "ex_gratia", "player": "P-3", "amount": str(random.randrange(1, 9999)), **chips}
                case _:
                    continue
            self._correct(at, round_, what)

    def _correct(self, at: Terminal, round_: UUID, what: dict[str, Any]) -> None:
        asked = at.report(ProposeCorrection(reason="miskeyed", **what), round=round_, by="S-1", **self._then())
        (answer,) = self._rounds.post([asked])
        if answer.refusal is not None:  # it would change nothing, or the bet is gone
            return
        if self._random.random() < 0.2:
            self._post(at.report(DeclineCorrection(correction=asked.event_id), round=round_, by="S-2", **self._then()))
            return
        for person in ("S-2", "S-3"):
            approval = at.report(ApproveCorrection(correction=asked.event_id), round=round_, by=person, **self._then())
            (answer,) = self._rounds.post([approval])
            if answer.refusal is not None:
                return

    def _close(self, *days: date) -> None:
        for day in days:
            at = Terminal(TABLES[0].id)
            body = CloseDay(property=HOUSE.id, gaming_day=day, as_of=str(self._head()), figures="0" * 64, despite=_EVERYTHING)
            self._rounds.post([at.report(body, round=days_stream(HOUSE.id), by="C-1", **self._then())])

    def _head(self) -> int:
        with psycopg.connect(self._dsn) as conn:
            row = conn.execute("SELECT max(position) FROM ledger.log").fetchone()
            assert row is not None
            return int(row[0])


_KINDS: dict[Any, str] = {RecordFill: "fill", RecordCredit: "credit", CountDrop: "drop"}
_EVERYTHING = ("missing_counts", "missing_drop", "open_slips", "pending_corrections", "open_holds")
