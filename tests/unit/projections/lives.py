"""Made-up lives of rounds: all that may come between and afterwards, consistent with itself, faithful to no regulation.

What each bet comes to is kept here as standings, without the fold: its tests compare the two.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec

from ledger.events import (
    BetChanged,
    BetCorrected,
    BetPlaced,
    BetsCarried,
    BettingClosed,
    BettingReopened,
    BetVoided,
    BetWithdrawn,
    CarriedBet,
    Chips,
    ChipsCounted,
    ChipsRestored,
    ColourChipsIssued,
    CorrectionApproved,
    CorrectionDeclined,
    CorrectionProposed,
    CreditRecorded,
    DropCounted,
    Event,
    FillRecorded,
    GamingDayClosed,
    LateBetRecorded,
    LostBet,
    MovedBet,
    NumbersGivenUp,
    OutcomeCorrected,
    OutcomeRecorded,
    PayoutMade,
    PlayerAdjusted,
    PlayerErased,
    PlayerHeld,
    PlayerReleased,
    Recorded,
    ReturnedBet,
    RoundHeld,
    RoundOpened,
    RoundReleased,
    RoundResettled,
    RoundSettled,
    RoundVoided,
    ShooterChanged,
    SlipCancelled,
    SlipConfirmed,
    StaffSignedOff,
    StaffSignedOn,
    Standing,
    ThrowRecorded,
)
from ledger.reports import days_stream, table_stream
from projections.days import fingerprint
from tests.unit.projections.made import DAY, NOON, uuid

Placed = tuple[UUID, int, Event]
"""Stream, version, event."""

EVERYTHING = 15
"""A seed under which every kind of event comes, every disposition of a void, and a decided bet that is open again for a while."""

_SLIPS: dict[str, tuple[type[Event], str]] = {
    "opener": (ChipsCounted, "kind"),
    "closer": (ChipsCounted, "kind"),
    "fill": (FillRecorded, "number"),
    "credit": (CreditRecorded, "number"),
    "drop": (DropCounted, ""),
}
_MOVES = {
    "opener": ("tray/{0}", "float/{0}"),
    "closer": ("float/{0}", "tray/{0}"),
    "fill": ("cage/{1}", "float/{0}"),
    "credit": ("float/{0}", "cage/{1}"),
    "drop": ("float/{0}", "drop/{0}"),
}
GAMES = {"roulette": "30/2003", "cussec": "31/2003", "craps": "53/2010"}
RESOLVED = ("lost", "won", "push")


class Round:
    """What is true of one round."""

    def __init__(self, id_: UUID) -> None:
        self.id = id_
        self.bets: dict[UUID, Standing] = {}
        """Those that lie in it, whatever became of them; what went on to another round is there."""
        self.placed_in: dict[UUID, UUID] = {}
        self.locked: set[UUID] = set()
        self.outcome: str | None = None
        self.throws = 0
        self.launches = 0
        self.settled = False
        self.over = False

    def open(self) -> list[UUID]:
        """The bets that nothing has decided."""
        return [id_ for id_, bet in self.bets.items() if bet.result == "open"]


class Lane:
    """One table and all that happens at it, in order, as `rng` has it."""

    def __init__(self, rng: random.Random, table: str, game: str, currency: str = "MOP") -> None:
        self.rng = rng
        self.table = table
        self.game = game
        self.currency = currency
        self.events: list[Placed] = []
        self.rounds: list[Round] = []
        self.adjusted: Counter[str] = Counter()
        """Account → what adjustments leave on it."""
        self._versions: Counter[UUID] = Counter()

    # The parts of a life.

    def live(self, rounds: int) -> Lane:
        """Plays so many rounds, and those that take over from them."""
        self._staff()
        self._slips()
        now: Round | None = None
        for _ in range(rounds):
            now = self._open() if now is None else now
            self._bet(now)
            self._interrupt(now)
            after = self._decide(now)
            if now.over:
                self._afterwards(now)
            now = after
        if now is not None:
            self._bet(now)
        return self

    def _staff(self) -> None:
        for role, person in (("dealer", "S-1"), ("supervisor", "S-2"), ("dealer", "S-3")):
            self._say(table_stream(self.table), StaffSignedOn, table=self.table, person=person, role=role)
        self._say(table_stream(self.table), StaffSignedOff, table=self.table, person="S-2", role="supervisor")

    def _slips(self) -> None:
        """All that becomes of slips, in a house of the table's own, a day of that house that is closed before, and players."""
        house, rng = f"house-{self.table}", random.Random(self.table)
        self.rng, kept = rng, self.rng  # so that a seed has the rounds that it has without slips
        said = {"table": self.table, "property": house, "gaming_day": DAY}
        self._say(
            days_stream(house),
            GamingDayClosed,
            by="C-1",
            property=house,
            gaming_day=DAY - timedelta(1),
            as_of="0",
            figures=fingerprint(house, DAY - timedelta(1), []),
        )
        self._say(
            table_stream(self.table),
            ColourChipsIssued,
            table=self.table,
            player="P-1",
            colour="red",
            value="5",
            currency=self.currency,
        )
        gone: dict[str, Any] = {"of_terminal": "T-1", "of_epoch": 1, "first": 3, "last": 4, "reason": "lost_disk"}
        self._say(table_stream(self.table), NumbersGivenUp, table=self.table, **gone, by="S-2")
        for kind, fate in (
            ("opener", ""),
            ("fill", ""),
            ("fill", "back"),
            ("credit", "never"),
            ("drop", ""),
            ("closer", "waits"),
            ("closer", ""),
        ):
            slip, values = uuid(rng), rng.sample(range(1, 500), 3)
            chips = tuple(Chips(value=str(value), count=rng.randrange(1, 9)) for value in values)
            minor = sum(int(each.value) * each.count for each in chips)
            event, more = _SLIPS[kind]
            own: dict[str, Any] = {"number": rng.randrange(1, 10**9)} if more == "number" else {"kind": kind}
            own |= {"chips": chips}
            if event is DropCounted:
                own = {"box": "B-1", "cash": str(minor - 1), "vouchers": "1"}
            stream, about = table_stream(self.table), {"slip": slip, "table": self.table, "kind": kind}
            self._say(
                stream,
                event,
                by="C-1",
                slip=slip,
                **said,
                **own,
                currency=self.currency,
                total=str(minor),
                shift=rng.choice((None, "day")),
            )
            signed = about | said | {"currency": self.currency, "amount": str(minor)}
            if fate != "never":
                self._say(stream, SlipConfirmed, by="C-2", **signed)
                if fate != "back":
                    debit, credit = (account.format(self.table, house) for account in _MOVES[kind])
                    self.adjusted.update({debit: -minor, credit: minor})
            if fate:
                self._say(stream, SlipCancelled, by="C-2", **about, confirmed=fate != "never", reason="wrong_total")
            if fate == "back":
                self._say(stream, SlipConfirmed, by="C-1", **signed, cancellation=True)
        self._players()
        self.rng = kept

    def _players(self) -> None:
        """What is decided about a player who is at no table. In a stream of the lane's own: two lanes may come into one log."""
        stream = days_stream(f"players of {self.table}")
        said = {"property": "demo", "player": f"P-{self.table}", "reason": "aml_17", "by": "A-1"}
        self._say(stream, PlayerHeld, **said)
        self._say(stream, PlayerReleased, **said)
        self._say(stream, PlayerErased, **said, shown=f"erased-{self.table}")

    def _open(self, id_: UUID | None = None) -> Round:
        round_ = Round(id_ or uuid(self.rng))
        self.rounds.append(round_)
        self._say(
            round_.id,
            RoundOpened,
            property="demo",
            pit="P1",
            table=self.table,
            game=self.game,
            currency=self.currency,
            payable_unit="1",
            regulation=GAMES[self.game],
            regulation_hash="a" * 64,
            property_hash="b" * 64,
            gaming_day=DAY + timedelta(days=self.rng.randrange(2)),
            dealer="S-3",
        )
        return round_

    def _bet(self, round_: Round) -> None:
        """A time of betting: bets come, change and go."""
        rng = self.rng
        for _ in range(rng.randrange(1, 6)):
            self._place(round_)
        for id_ in [id_ for id_ in round_.open() if id_ not in round_.locked]:
            bet, luck = round_.bets[id_], rng.random()
            said: dict[str, Any] = {"bet": id_, "player": bet.player, "currency": self.currency}
            if luck < 0.1:
                self._say(round_.id, BetWithdrawn, **said, spot=bet.spot, stake=bet.stake)
                del round_.bets[id_]
            elif luck < 0.2:
                self._say(round_.id, BetVoided, **said, spot=bet.spot, stake=bet.stake, reason="spilled")
                del round_.bets[id_]
            elif luck < 0.4:
                stake, spot = str(rng.randrange(1, 20_000)), rng.choice((bet.spot, "spot:x"))
                self._say(round_.id, BetChanged, **said, was_spot=bet.spot, was_stake=bet.stake, spot=spot, stake=stake)
                round_.bets[id_] = msgspec.structs.replace(bet, spot=spot, stake=stake)
        self._say(round_.id, BettingClosed)

    def _place(self, round_: Round, *, late: bool = False) -> UUID:
        id_, stake = uuid(self.rng), str(self.rng.randrange(1, 20_000))
        bet = Standing(player=f"P-{self.rng.randrange(5)}", spot=f"spot:{self.rng.randrange(9)}", stake=stake, result="open")
        said: dict[str, Any] = {"bet": id_, "player": bet.player, "spot": bet.spot, "stake": stake, "currency": self.currency}
        self._say(round_.id, BetPlaced, **said, seat=self.rng.choice((None, 3)), late=late)
        round_.bets[id_], round_.placed_in[id_] = bet, round_.id
        return id_

    def _interrupt(self, round_: Round) -> None:
        """Between the bell and the outcome."""
        rng = self.rng
        if rng.random() < 0.3:
            self._place(round_, late=True)
        if rng.random() < 0.3:
            said: dict[str, Any] = {"player": "P-9", "spot": "spot:1", "stake": "700", "currency": self.currency}
            self._say(round_.id, LateBetRecorded, **said, article=f"{GAMES[self.game]} art. 3", by="S-2")
        if rng.random() < 0.3:
            self._review(round_)
        while self.game == "roulette" and rng.random() < 0.3:
            round_.launches += 1
            self._void(round_, "stand")

    def _review(self, round_: Round, bet: UUID | None = None) -> None:
        hold = uuid(self.rng)
        self._say(round_.id, RoundHeld, hold=hold, bet=bet, reason="dispute", by="S-2")
        self._say(round_.id, RoundReleased, hold=hold, finding="stands", by="S-2")

    def _void(self, round_: Round, disposition: str, **more: Any) -> None:
        said: dict[str, Any] = {"disposition": disposition, "reason": "null", "article": "2(2)", "launch": round_.launches}
        self._say(round_.id, RoundVoided, **said, currency=self.currency, **more)

    def _decide(self, round_: Round) -> Round | None:
        """The outcome, or a void that carries; the round that follows already, where one does."""
        if self.game == "cussec" and self.rng.random() < 0.4:
            round_.launches += 1
            left = round_.open()
            stakes = sum(int(round_.bets[id_].stake) for id_ in left)
            after = Round(uuid(self.rng))
            self._void(round_, "carry", successor=after.id, carried=str(stakes))
            following = self._carry(round_, after.id, locked=True)
            if self.rng.random() < 0.3:
                self._late_under_carry(round_, following)
            return following
        if self.game == "craps":
            return self._throws(round_)
        round_.outcome = str(self.rng.randrange(37))
        self._resolve(round_, round_.open(), OutcomeRecorded, raw=round_.outcome, outcome=round_.outcome, shown="so")
        self._settle(round_)
        return None

    def _throws(self, round_: Round) -> Round | None:
        rng = self.rng
        self._say(round_.id, ShooterChanged, shooter="P-1")
        decided = False
        while not decided:
            round_.throws += 1
            void, decided = rng.random() < 0.2, rng.random() < 0.4
            face = "void" if void else "-".join(sorted(str(rng.randrange(1, 7)) for _ in range(2)))
            round_.outcome = face if round_.outcome is None else f"{round_.outcome},{face}"
            said: dict[str, Any] = {"throw": round_.throws, "raw": face, "outcome": face, "shown": "so"}
            if void:
                decided = False
                said |= {"void": "off_layout", "article": "3", "currency": self.currency}
                self._say(round_.id, ThrowRecorded, **said)
                continue
            some = [id_ for id_ in round_.open() if rng.random() < 0.4]
            moved = [id_ for id_ in round_.open() if id_ not in some and rng.random() < 0.2]
            moves = tuple(MovedBet(bet=id_, was=round_.bets[id_].spot, spot="come:6") for id_ in moved)
            self._resolve(round_, some, ThrowRecorded, **said, moved=moves, decided=decided)
            for id_ in moved:
                round_.bets[id_] = msgspec.structs.replace(round_.bets[id_], spot="come:6")
            if not decided and rng.random() < 0.5:
                self._say(round_.id, BettingReopened)
                self._bet(round_)
        left = round_.open()
        if not left:
            self._settle(round_)
            return None
        after = uuid(rng)
        self._settle(round_, carried=str(sum(int(round_.bets[id_].stake) for id_ in left)), successor=after)
        return self._carry(round_, after, locked=False)

    def _resolve(self, round_: Round, some: list[UUID], kind: type[Event], **said: Any) -> None:
        fates = {id_: self._fate(round_.bets[id_]) for id_ in some}
        lost = tuple(
            LostBet(bet=id_, player=bet.player, spot=bet.spot, stake=bet.stake, edge=bet.edge, article="6")
            for id_, bet in fates.items()
            if bet.result == "lost"
        )
        self._say(round_.id, kind, **said, currency=self.currency, lost=lost)
        for id_, bet in fates.items():
            if bet.result != "lost":
                self._say(round_.id, PayoutMade, bet=id_, currency=self.currency, **msgspec.structs.asdict(bet))
        round_.bets |= fates

    def _fate(self, bet: Standing, result: str | None = None) -> Standing:
        """The bet decided at random."""
        rng = self.rng
        result = result or rng.choice(RESOLVED)
        stake, odds = int(bet.stake), rng.choice((1, 2, 8)) if result == "won" else 0
        prize = stake * odds
        commission = prize // 20 if rng.random() < 0.5 else 0
        breakage = (prize - commission) % 10
        net = prize - commission - breakage
        return Standing(
            player=bet.player,
            spot=bet.spot,
            stake=bet.stake,
            result=result,
            odds=str(odds),
            prize_exact=str(prize),
            prize=str(prize),
            commission=str(commission),
            breakage=str(breakage),
            net_prize=str(net),
            returned=str(stake + net if result != "lost" else 0),
            edge="1/37",
            article="6",
        )

    def _settle(self, round_: Round, **more: Any) -> None:
        self._say(round_.id, RoundSettled, currency=self.currency, **self._totals(round_), **more)
        round_.settled = round_.over = True

    def _totals(self, round_: Round) -> dict[str, Any]:
        resolved = [bet for bet in round_.bets.values() if bet.result in RESOLVED]
        sums = {
            name: sum(int(getattr(bet, name)) for bet in resolved) for name in ("prize", "commission", "breakage", "returned")
        }
        handle = sum(int(bet.stake) for bet in resolved if bet.result != "push")
        return {
            "bets": len(resolved),
            "handle": str(handle),
            "prizes": str(sums["prize"]),
            "commission": str(sums["commission"]),
            "breakage": str(sums["breakage"]),
            "returned": str(sums["returned"]),
        }

    def _carry(self, round_: Round, after: UUID, *, locked: bool) -> Round:
        following = self._open(after)
        self._take_over(round_, following, round_.open(), locked=locked)
        return following

    def _take_over(self, round_: Round, following: Round, bets: list[UUID], *, locked: bool) -> None:
        carried = tuple(
            CarriedBet(
                bet=id_,
                player=round_.bets[id_].player,
                spot=round_.bets[id_].spot,
                stake=round_.bets[id_].stake,
                placed_in=round_.placed_in[id_],
            )
            for id_ in bets
        )
        said: dict[str, Any] = {"from_round": round_.id, "locked": locked, "article": "3(3)", "currency": self.currency}
        self._say(following.id, BetsCarried, **said, bets=carried)
        for id_ in bets:
            following.bets[id_], following.placed_in[id_] = round_.bets.pop(id_), round_.placed_in[id_]
            if locked:
                following.locked.add(id_)

    def _late_under_carry(self, round_: Round, following: Round) -> None:
        self._take_over(round_, following, [self._place(round_, late=True)], locked=True)

    # What is put right afterwards.

    def _afterwards(self, round_: Round) -> None:
        rng = self.rng
        if rng.random() < 0.2:
            self._say(round_.id, ChipsRestored, restored_by="S-2", source="ledger", article="5(3)")
        if rng.random() < 0.3:
            late = self._place(round_, late=True)
            if rng.random() < 0.7:
                self._correct(round_, "late_bet", {late: self._fate(round_.bets[late])})
        for kind in rng.sample(["outcome", "bet", "bet_void", "mispay", "ex_gratia", "declined", "return"], rng.randrange(4)):
            if round_.over and not (kind == "return" and (round_.locked or round_.open())):
                self._put_right(round_, kind)

    def _put_right(self, round_: Round, kind: str) -> None:
        rng = self.rng
        decided = [id_ for id_, bet in round_.bets.items() if bet.result in RESOLVED]
        some = rng.choice(decided) if decided else None
        if kind == "declined":
            self._propose(round_, "bet", approvers=())
        elif kind == "ex_gratia":
            correction = self._propose(round_, kind, approvers=("S-5", "S-6"), approvals=2)
            self._adjust(round_, correction, "ex_gratia", "P-9", None, "to_player")
        elif kind == "outcome":
            self._correct(round_, kind, {id_: self._fate(round_.bets[id_]) for id_ in decided if rng.random() < 0.6})
        elif kind == "return":
            self._correct(round_, kind, {id_: self._voided(round_.bets[id_]) for id_ in decided})
        elif some is None:
            return
        elif kind == "mispay":
            correction = self._propose(round_, kind)
            player, direction = round_.bets[some].player, rng.choice(("to_player", "from_player"))
            self._adjust(round_, correction, "mispay", player, some, direction)
        elif kind == "bet_void":
            self._correct(round_, kind, {some: self._voided(round_.bets[some])})
        else:
            if rng.random() < 0.3:  # undecided for a while, as a bet received late is
                bet = round_.bets[some]
                self._correct(round_, kind, {some: Standing(player=bet.player, spot=bet.spot, stake=bet.stake, result="open")})
            indeed = msgspec.structs.replace(round_.bets[some], player="P-8", spot="spot:y", stake=str(rng.randrange(1, 20_000)))
            self._correct(round_, kind, {some: self._fate(indeed)})

    def _voided(self, bet: Standing) -> Standing:
        return Standing(player=bet.player, spot=bet.spot, stake=bet.stake, result="void", returned=bet.stake)

    def _propose(self, round_: Round, kind: str, approvers: tuple[str, ...] = ("S-5",), approvals: int = 1) -> UUID:
        correction = uuid(self.rng)
        said: dict[str, Any] = {"correction": correction, "kind": kind, "reason": "dispute_upheld", "approvals": approvals}
        self._say(round_.id, CorrectionProposed, **said, currency=self.currency, by="S-4")
        for number, person in enumerate(approvers, 1):
            self._say(round_.id, CorrectionApproved, correction=correction, approval=number, by=person)
        if not approvers:
            self._say(round_.id, CorrectionDeclined, correction=correction, by="S-4")
        return correction

    def _correct(self, round_: Round, kind: str, after: dict[UUID, Standing]) -> None:
        correction = self._propose(round_, kind)
        if kind == "outcome":
            assert round_.outcome is not None
            faces = ",".join(["1-2"] * (round_.outcome.count(",") + 1)) if self.game == "craps" else str(self.rng.randrange(37))
            was = {
                "was": round_.outcome,
                "was_shown": "so",
                "raw": faces,
                "outcome": faces,
                "shown": "otherwise",
            }
            self._say(round_.id, OutcomeCorrected, correction=correction, **was)
            round_.outcome = faces
        for id_, bet in after.items():
            said = {"before": round_.bets[id_], "after": bet, "currency": self.currency}
            self._say(round_.id, BetCorrected, correction=correction, bet=id_, **said)
            round_.bets[id_] = bet
        self._say(round_.id, RoundResettled, correction=correction, currency=self.currency, **self._totals(round_))
        if kind == "return":
            returned = tuple(
                ReturnedBet(bet=id_, player=bet.player, spot=bet.spot, stake=bet.stake)
                for id_, bet in round_.bets.items()
                if bet.result == "open"
            )
            void = {"disposition": "return", "reason": "house", "launch": 0, "currency": self.currency}
            self._say(round_.id, RoundVoided, **void, returned=returned, correction=correction)
            round_.over = False

    def _adjust(self, round_: Round, correction: UUID, kind: str, player: str, bet: UUID | None, direction: str) -> None:
        minor = self.rng.randrange(1, 5_000)
        said: dict[str, Any] = {"kind": kind, "player": player, "bet": bet, "direction": direction, "amount": str(minor)}
        self._say(round_.id, PlayerAdjusted, correction=correction, currency=self.currency, **said)
        signed = minor if direction == "to_player" else -minor
        self.adjusted[f"player/{player}"] += signed
        self.adjusted[f"{kind}/{self.table}"] -= signed

    # What is left of it.

    def _say(self, stream: UUID, event: type[Event], /, **said: Any) -> None:
        moment = NOON + timedelta(seconds=self.rng.randrange(86400))
        self._versions[stream] += 1
        common: dict[str, Any] = {
            "cause": uuid(self.rng),
            "terminal": f"{self.table}-t",
            "occurred_at": moment,
            "received_at": moment,
        }
        self.events.append((stream, self._versions[stream], event(**common, **said)))

    def balances(self) -> Counter[tuple[str, str]]:
        """What the final standings of all bets, and the adjustments, leave on each account."""
        left = Counter(self.adjusted)
        for bet in (bet for round_ in self.rounds for bet in round_.bets.values()):
            player, stake = f"player/{bet.player}", int(bet.stake)
            match bet.result:
                case "open":
                    left.update({player: -stake, f"escrow/{self.table}": stake})
                case "lost":
                    left.update({player: -stake, f"win/{self.table}": stake})
                case "won":
                    left.update(
                        {
                            player: int(bet.net_prize),
                            f"commission/{self.table}": int(bet.commission),
                            f"breakage/{self.table}": int(bet.breakage),
                            f"win/{self.table}": -int(bet.prize),
                        }
                    )
        return Counter({(account, self.currency): minor for account, minor in left.items()})


def lived(seed: int, rounds: int = 4) -> list[Lane]:
    """Three tables, one of each game, in two currencies; other seeds have other tables."""
    rng = random.Random(f"lives {seed}")
    games = (("roulette", "MOP"), ("cussec", "HKD"), ("craps", "MOP"))
    return [Lane(rng, f"{game}-{seed}", game, currency).live(rounds) for game, currency in games]


def mingled(lanes: Iterable[Lane], seed: int) -> Iterator[Placed]:
    """The events of the tables mixed, each table's in its order."""
    rng = random.Random(seed)
    left = [iter(lane.events) for lane in lanes]
    while left:
        lane = rng.choice(left)
        event = next(lane, None)
        if event is None:
            left.remove(lane)
        else:
            yield event


def life(seed: int, rounds: int = 4) -> list[Recorded]:
    """The same as a log without a database would hold it."""
    return [Recorded(position, *placed) for position, placed in enumerate(mingled(lived(seed, rounds), seed), 1)]
