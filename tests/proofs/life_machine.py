"""Random lives of rounds, played in the real application and in the model, and compared after every step."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from ledger.reports import (
    ApproveCorrection,
    Body,
    Caller,
    ChangeBet,
    ChangeShooter,
    DeclineCorrection,
    HoldRound,
    ProposeCorrection,
    RecordLateBet,
    ReleaseRound,
    ReopenBetting,
    Report,
    Verdict,
    VoidBet,
    VoidRound,
    WithdrawBet,
)
from ledger.store import log
from projections.fold import NOTHING, Known, keep_books
from tests.proofs.life_model import ANYTIME, CLAUSES, SPOTS, UNITS, Coup, Reasons, may
from tests.proofs.life_place import ANYBODY, CURRENCY, GAMES, KINDS, NUMBER, PEOPLE, ROUNDS_OF_CRAPS, SHOWN, STAKE, Place, verify
from tests.support import Terminal


class Life(RuleBasedStateMachine):
    """One table from its first round on."""

    place: Place

    @initialize(game=st.sampled_from(GAMES))
    def begin(self, game: str) -> None:
        """A table of the game, free, and a first round."""
        self.game, self.failed = game, True
        self.trail: list[tuple[str, Report, list[str]]] = []
        self.place.trail = self.trail
        self.terminal = Terminal(f"{game}-{self.place.taken[game]}", game, CURRENCY[game])
        self.epoch, self.sequence = self.place.lives, 0
        self.place.lives += 1
        self.coups: dict[UUID, Coup] = {}
        self.known: Known = NOTHING
        self.versions: Counter[UUID] = Counter()
        self.accounts: Counter[tuple[str, str]] = Counter()
        self.before: list[tuple[Report, Verdict]] = []
        self.kept_back: list[tuple[Report, Coup, int]] = []
        self.open()

    # What a table reports.

    @rule(n=NUMBER)
    def open(self, n: int = 0) -> None:
        """The next round; refused while one is open."""
        if self.hopeless(n, bool(self.coups) and not self.coup.ended):
            return
        before, report = self.terminal.round, self.terminal.open()
        free = not self.coups or self.coups[before].ended
        if self.post("open", report, set() if free else {"LGR-0201"}):
            self.coups[report.round] = Coup(self.game)
        else:
            self.terminal.round = before
        self.compare()

    @rule(n=NUMBER, stake=STAKE)
    def bet(self, n: int, stake: int) -> None:
        if self.hopeless(n, self.coup.status != "betting"):
            return
        player, spot = f"P-{n % 3}", self.pick(SPOTS[self.game], n)
        report = self.terminal.bet(spot, str(stake), player)
        self.act("bet", report, partial(self.coup.place, report.event_id, player, spot, stake))

    @rule(n=NUMBER, stake=STAKE)
    def another_bet(self, n: int, stake: int) -> None:
        """Bets are more frequent than all else."""
        self.bet(n, stake)

    @rule(n=NUMBER, stake=STAKE)
    def keep_back(self, n: int, stake: int) -> None:
        """A bet that its terminal has numbered and cannot send."""
        if self.coup.status == "betting":
            spots = ANYTIME if self.game == "craps" else SPOTS[self.game]
            report = self.numbered(self.terminal.bet(self.pick(spots, n), str(stake), f"P-{n % 3}"))
            self.kept_back.append((report, self.coup, len(self.coup.bells)))

    @rule(n=NUMBER)
    def deliver(self, n: int) -> None:
        """It arrives, whatever has happened since."""
        if self.kept_back:
            # In craps they come in their order: the others are turned away until then.
            report, coup, bells = self.kept_back.pop(0 if self.game == "craps" else n % len(self.kept_back))
            body: Any = report.body
            late = bells < len(coup.bells)
            self.act(
                "late bet" if late else "delayed bet",
                report,
                lambda: coup.place(report.event_id, body.player, body.spot, int(body.stake), bells),
            )

    @rule(n=NUMBER)
    def withdraw(self, n: int) -> None:
        if self.hopeless(n, self.coup.status != "betting" or not self.coup.bets):
            return
        bet = self.some_bet(n)
        self.act("withdraw", self.terminal.report(WithdrawBet(bet=bet)), lambda: self.coup.take_back(bet))

    @rule(n=NUMBER, moved=st.booleans(), stake=st.none() | STAKE)
    def change(self, n: int, moved: bool, stake: int | None) -> None:
        if self.hopeless(n, self.coup.status != "betting" or not self.coup.bets):
            return
        bet, spot = self.some_bet(n), self.pick(SPOTS[self.game], n // 3) if moved else None
        if spot is None and stake is None:
            stake = 500
        report = self.terminal.report(ChangeBet(bet=bet, spot=spot, stake=None if stake is None else str(stake)))
        self.act("change", report, lambda: self.coup.change(bet, spot, stake))

    @rule(n=NUMBER, by=st.sampled_from(ANYBODY))
    def void_bet(self, n: int, by: str | None) -> None:
        if self.hopeless(n, self.coup.status != "betting" or not self.coup.bets):
            return
        bet = self.some_bet(n)
        report = self.terminal.report(VoidBet(bet=bet, reason="miskeyed"), by=by)
        self.act("void bet", report, lambda: self.coup.take_back(bet), personal=True)

    @rule(n=NUMBER)
    def close(self, n: int = 0) -> None:
        if self.hopeless(n, self.coup.status != "betting"):
            return
        self.act("close", self.in_turn(self.terminal.close()), self.coup.close)

    @rule(n=NUMBER)
    def reopen(self, n: int) -> None:
        if self.hopeless(n, not self.coup.thrown or self.coup.status != "closed"):
            return
        self.act("reopen", self.in_turn(self.terminal.report(ReopenBetting())), self.coup.reopen)

    @rule(n=NUMBER)
    def decide(self, n: int) -> None:
        """The outcome, or one throw."""
        if self.hopeless(n, self.coup.status != "closed"):
            return
        coup, shown = self.coup, self.pick(SHOWN[self.game], n)
        if self.game != "craps":
            self.act("outcome", self.terminal.outcome(shown), lambda: coup.show(shown))
            return
        heir, successor = (Coup(self.game), uuid4()) if n % 4 else (None, None)
        how = {"void": "not_rolled"} if shown == "void" else {"dice": shown}
        report = self.terminal.throw(**how, successor=successor)
        done = self.act("throw" if shown != "void" else "void throw", report, lambda: coup.throw(shown, heir), heir)
        if done and coup.heir is not None:
            self.place.seen["outlive"] += 1

    @rule(n=NUMBER)
    def on(self, n: int) -> None:
        """The round goes on: the bell, what the table shows, and betting again."""
        self.close(n)
        self.decide(n)
        if self.game == "craps" and n % 8:
            self.reopen(n)

    @rule(n=NUMBER, stake=STAKE)
    def straggler(self, n: int, stake: int) -> None:
        """A bet that arrives after the bell, or after the outcome."""
        self.keep_back(n, stake)
        self.close(n)
        if n % 4:
            self.decide(n // 4)
        self.deliver(n)

    @rule(n=NUMBER, stake=STAKE)
    def overtake(self, n: int, stake: int) -> None:
        """A bet, a change and a withdrawal that the terminal numbered after its bell arrive before it, and then once more."""
        if self.coup.status != "betting" or (self.game == "craps" and self.kept_back):
            return
        coup, other, waits = self.coup, self.some_bet(n), {"LGR-0304"}
        bell, spot = self.numbered(self.terminal.close()), self.pick(ANYTIME if self.game == "craps" else SPOTS[self.game], n)
        bet = self.numbered(self.terminal.bet(spot, str(stake), "P-1"))
        taken = self.act(
            "early bet", bet, lambda: waits if self.game == "craps" else coup.place(bet.event_id, "P-1", spot, stake)
        )
        change = self.numbered(self.terminal.report(ChangeBet(bet=other, stake=str(stake))))
        withdrawal = self.numbered(self.terminal.report(WithdrawBet(bet=other)))
        for each in (change, withdrawal):
            self.act("in turn", each, lambda: waits)
        self.act("close", bell, lambda: coup.close(after=[bet.event_id]))
        if not taken and self.game == "craps":
            self.act("bet", bet, lambda: coup.place(bet.event_id, "P-1", spot, stake))
        self.act("change", change, lambda: coup.change(other, None, stake))
        self.act("withdraw", withdrawal, lambda: coup.take_back(other))

    @rule(n=NUMBER, stake=STAKE)
    def afterthought(self, n: int, stake: int) -> None:
        """A change and a withdrawal that the terminal numbered before its bell arrive after it, or after the outcome."""
        if self.coup.status != "betting" or not self.coup.bets or self.kept_back or self.game == "craps":  # there the bell waits
            return
        coup, bells, one, other = self.coup, len(self.coup.bells), self.some_bet(n), self.some_bet(n // 4)
        spot = self.pick(SPOTS[self.game], n // 3) if n % 2 else None
        change = self.numbered(self.terminal.report(ChangeBet(bet=one, spot=spot, stake=str(stake))))
        withdrawal = self.numbered(self.terminal.report(WithdrawBet(bet=other)))
        self.close(n)
        if n % 8 == 7:
            self.decide(n // 8)
        self.act("late change", change, lambda: coup.change(one, spot, stake, bells))
        self.act("late withdrawal", withdrawal, lambda: coup.take_back(other, bells))

    @rule(n=NUMBER)
    def void(self, n: int) -> None:
        """A launch or shake without result, mostly after the bell."""
        if self.game in CLAUSES and n % 8:
            self.close(n)
        if self.hopeless(n, self.coup.status != "closed" or self.game not in CLAUSES):
            return
        heir = Coup(self.game) if (self.game == "cussec") is bool(n % 8) else None
        reason = CLAUSES.get(self.game, "nothing")
        report = self.terminal.report(VoidRound(reason=reason, successor=None if heir is None else uuid4()))
        self.act("carry" if self.game == "cussec" else "void launch", report, partial(self.coup.void, heir), heir)

    @rule(n=NUMBER)
    def shooter(self, n: int) -> None:
        """The dice go on; no money moves."""
        if self.hopeless(n, self.game != "craps" or self.coup.ended):
            return
        coup, shooter = self.coup, f"P-{n % 3}"
        no = {"LGR-0217"} if self.game != "craps" else {"LGR-0223"} if coup.ended else set()
        if self.game == "craps" and getattr(coup, "shooter", None) == shooter:
            no |= {"LGR-0222"}
        if self.act("shooter", self.terminal.report(ChangeShooter(shooter=shooter)), lambda: no):
            coup.shooter = shooter  # type: ignore[attr-defined]

    # What people decide.

    @rule(n=NUMBER, by=st.sampled_from(ANYBODY), of_bet=st.booleans())
    def hold(self, n: int, by: str | None, of_bet: bool) -> None:
        coup, bet = self.some_coup(n), None
        if of_bet:
            bet = self.some_bet(n, coup)
        report = self.terminal.report(HoldRound(reason="dispute", bet=bet), round=self.id_of(coup), by=by)
        self.act("hold", report, lambda: coup.hold(report.event_id, bet), personal=True)

    @rule(n=NUMBER, by=st.sampled_from(PEOPLE))
    def release(self, n: int, by: str) -> None:
        coup = self.some_coup(n)
        if self.hopeless(n, not coup.holds.keys() - coup.released):
            return
        hold = self.pick([*(coup.holds.keys() - coup.released), *coup.holds, uuid4()], n // 8)
        report = self.terminal.report(ReleaseRound(hold=hold, finding="stands"), round=self.id_of(coup), by=by)
        self.act("release", report, lambda: coup.release(hold))

    @rule(n=NUMBER, by=st.sampled_from(ANYBODY))
    def late_chips(self, n: int, by: str | None) -> None:
        """Chips that came after the bell are given back: no money moves."""
        if self.hopeless(n, self.coup.status == "betting"):
            return
        spot, coup = SPOTS[self.game][0], self.coup
        body = RecordLateBet(player="P-1", spot=spot, stake="100", currency=self.terminal.currency)
        no = {"LGR-0221"} if coup.status == "betting" else set()
        self.act("late chips", self.terminal.report(body, by=by), lambda: no, personal=True)

    @rule(kind=st.sampled_from(KINDS), n=NUMBER, stake=STAKE, by=st.sampled_from(ANYBODY[:-1]), approved=st.integers(0, 7))
    def correct(self, kind: str, n: int, stake: int, by: str, approved: int) -> None:
        """Somebody asks for a correction; mostly, others approve or decline it at once."""
        coup = self.some_coup(n)
        if kind == "late_bet":  # they are few: one that waits, in whichever round
            coup = next((each for each in self.coups.values() if each.ended and each.open_bets()), coup)
        elif kind == "outcome":
            coup = next((each for each in self.coups.values() if each.status == "settled"), coup) if n % 2 else coup
        if self.hopeless(n, not coup.bets and kind not in ("outcome", "return", "ex_gratia")):
            return
        if self.hopeless(n, not coup.ended and kind in ("outcome", "late_bet")) or (kind == "return" and n % 4):
            return
        asked: dict[str, Any] = {}
        if kind == "outcome":
            asked["outcome"] = self.pick(ROUNDS_OF_CRAPS if self.game == "craps" else SHOWN[self.game], n // 3)
        if kind in ("bet", "bet_void", "late_bet", "mispay"):
            waiting = [bet.id for bet in coup.bets.values() if bet.now[0] == "open" and not bet.left]
            asked["bet"] = waiting[n % len(waiting)] if kind == "late_bet" and waiting else self.some_bet(n, coup)
        if kind == "bet":
            spots = ANYTIME if self.game == "craps" and n % 4 else SPOTS[self.game]
            wrong = {"player": f"P-{n % 3}", "spot": self.pick(spots, n // 3), "stake": stake}
            asked |= {name: value for bit, (name, value) in enumerate(wrong.items()) if (n // 7 % 7 + 1) >> bit & 1}
        if kind in ("mispay", "ex_gratia"):
            asked["amount"] = stake
        if kind == "mispay":
            asked["direction"] = self.pick(("to_player", "from_player"), n)
        if kind == "ex_gratia":
            asked |= {"player": f"P-{n % 3}", "spot": SPOTS[self.game][0], "stake": stake if n % 4 else 100}
            asked["amount"] -= asked["amount"] % UNITS[self.game] if n % 8 > 1 and asked["amount"] > UNITS[self.game] else 0
        said = {name: str(value) if isinstance(value, int) else value for name, value in asked.items()}
        body = ProposeCorrection(kind=kind, reason="miskeyed", **said)  # type: ignore[arg-type]
        report = self.terminal.report(body, round=self.id_of(coup), by=by)
        if self.act(f"ask {kind}", report, lambda: coup.propose(report.event_id, kind, asked, by)) and approved:
            if approved % 2:  # the author may not
                self.decided(coup, report.event_id, by, approve=True)
            for person in [each for each in PEOPLE if each != by][: approved // 4 + 1]:
                self.decided(coup, report.event_id, person, approve=approved > 1)

    @rule(n=NUMBER, by=st.sampled_from(ANYBODY[:-1]), approve=st.booleans())
    def decide_correction(self, n: int, by: str, approve: bool) -> None:
        """A correction that waits, one that was decided, or one that nobody asked for."""
        coup = self.some_coup(n)
        if self.hopeless(n, not coup.asked):
            return
        waiting = [id for id, case in coup.asked.items() if not case[4]]
        self.decided(coup, self.pick([*waiting, *coup.asked, uuid4()], n // 8), by, approve=approve)

    def decided(self, coup: Coup, correction: Any, by: str, *, approve: bool) -> None:
        """One person approves or declines a correction."""
        body = ApproveCorrection(correction=correction) if approve else DeclineCorrection(correction=correction)
        kind = coup.asked[correction][0] if correction in coup.asked else "unknown"
        how: Callable[[], Reasons] = (lambda: coup.approve(correction, by)) if approve else (lambda: coup.decline(correction))
        self.act(f"approve {kind}" if approve else "decline", self.terminal.report(body, round=self.id_of(coup), by=by), how)

    # Retries.

    @rule(n=NUMBER)
    def again(self, n: int) -> None:
        """The same id with the same body: the first answer, and nothing happens."""
        if self.before and n % 2:
            self.failed = True
            report, first = self.before[-1 - n % min(len(self.before), 8)]
            [verdict] = self.place.rounds.post([report])
            if first.refusal is None:
                assert (verdict.status, verdict.positions) == ("replayed", first.positions), verdict
            else:
                assert verdict.refusal is not None
                assert verdict.refusal.code == first.refusal.code, (verdict.refusal, first.refusal)
            self.place.accepted["again"] += 1
            self.compare()

    @rule(n=NUMBER)
    def twin(self, n: int) -> None:
        """The same id with another body is refused, and nothing happens."""
        if self.before and n % 2:
            self.failed = True
            report, _ = self.before[-1 - n % min(len(self.before), 8)]
            other: Body = VoidRound(reason="another")
            twin = self.terminal.report(other, round=report.round, event_id=report.event_id, by=report.by)
            [verdict] = self.place.rounds.post([twin])
            assert verdict.refusal is not None
            assert verdict.refusal.code == "LGR-0301", verdict.refusal
            self.place.refused["LGR-0301"] += 1
            self.place.accepted["twin"] += 1
            self.compare()

    @rule(n=NUMBER)
    def forget(self, n: int) -> None:
        """The application goes on with what the log has, and nothing else."""
        if n % 4:
            return
        self.place.rounds._memory.forget()
        self.place.seen["forget"] += 1

    # How it is done.

    @property
    def coup(self) -> Coup:
        """The table's round."""
        return self.coups[self.terminal.round]

    def hopeless(self, n: int, against: bool) -> bool:
        """Whether to leave out what will be refused: mostly, for lives would consist of little else."""
        return against and n % 16 != 5  # not 0, which comes too often

    def pick(self, choice: Any, n: int) -> Any:
        """The n-th of them, round and round."""
        return choice[n % len(choice)]

    def some_coup(self, n: int) -> Coup:
        """Mostly the table's round, else an earlier one."""
        return self.coup if n % 4 else self.pick(list(self.coups.values()), n // 4)

    def some_bet(self, n: int, coup: Coup | None = None) -> Any:
        """Mostly a bet of the round, seldom one that it never had."""
        bets = list((coup or self.coup).bets)
        return self.pick(bets, n // 4) if bets and n % 16 != 5 else uuid4()

    def id_of(self, coup: Coup) -> UUID:
        return next(id for id, each in self.coups.items() if each is coup)

    def numbered(self, report: Report) -> Report:
        """The report with the terminal's next number."""
        self.sequence += 1
        return msgspec.structs.replace(report, sequence=self.sequence, epoch=self.epoch)

    def in_turn(self, report: Report) -> Report:
        """The report with its number, once it may come: in craps it is turned away while numbered ones before it are missing."""
        report = self.numbered(report)
        if self.game == "craps" and self.kept_back:
            [verdict] = self.place.rounds.post([report])
            assert verdict.refusal is not None, "it came before what its terminal had numbered before it"
            assert verdict.refusal.code == "LGR-0304", verdict.refusal
            while self.kept_back:
                self.deliver(0)
        return report

    def act(
        self, name: str, report: Report, in_model: Callable[[], Reasons], heir: Coup | None = None, *, personal: bool = False
    ) -> bool:
        """Does it in both, and compares; whether it was done."""
        no: Reasons = set()
        if personal or report.by is not None:
            report = report.from_caller(Caller(person=report.by, trusts_terminals=True))
            no = may(report.by)
        no = no or in_model()
        done = self.post(name, report, no)
        if done and heir is not None and self.coups[report.round].heir is heir:
            self.terminal.round = report.body.successor  # type: ignore[assignment,union-attr]
            self.coups[self.terminal.round] = heir
        self.compare()
        return done

    def post(self, name: str, report: Report, no: Reasons) -> bool:
        """Posts it; whether it was accepted, which it has to be if and only if nothing speaks against it."""
        self.failed = True
        self.trail.append((name, report, sorted(no)))
        [verdict] = self.place.rounds.post([report])
        if verdict.refusal is None:
            assert not no, f"{name} was accepted, and should be refused: {no}"
            self.place.accepted[name] += 1
        else:
            assert no, f"{name} was refused, and should be accepted: {verdict.refusal}"
            early = {"LGR-0304"} if report.sequence is not None else set()
            assert verdict.refusal.code in no | early, f"{name} was refused for {verdict.refusal}, and should be for {no}"
            self.place.refused[verdict.refusal.code] += 1
        if verdict.refusal is None or not verdict.refusal.retryable:
            self.before.append((report, verdict))
        return verdict.refusal is None

    # What has to hold after every step.

    def compare(self) -> None:
        """The log as the projections fold it, the round as it is read from the log, and the model say the same."""
        fresh = [recorded for id in self.coups for recorded in self.read(id)]
        books = keep_books(sorted(fresh, key=lambda recorded: recorded.position), self.known)
        self.known = books.onto(self.known)
        self.accounts.update(books.balances)
        assert not sum(self.accounts.values()), self.accounts
        assert {name: n for name, n in self.accounts.items() if n} == {name: n for name, n in self.money().items() if n}
        for id in {recorded.stream for recorded in fresh}:
            verify(self.place.rounds, id, self.coups[id])
        self.failed = False

    def read(self, id: UUID) -> list[Any]:
        """What a round's stream has that was not read yet."""
        rows = self.place.conn.execute(
            log._SELECT + "WHERE originator_id = %s AND originator_version > %s ORDER BY originator_version",
            (id, self.versions[id]),
            binary=True,
        ).fetchall()
        self.versions[id] += len(rows)
        return list(map(log._recorded, rows))

    def money(self) -> Counter[tuple[str, str]]:
        """What the model says of every account."""
        said: Counter[tuple[str, str]] = Counter()
        for coup in self.coups.values():
            for account, amount in coup.money().items():
                name = account if account.startswith("player/") else f"{account}/{self.terminal.table}"
                said[name, self.terminal.currency] += amount
        return said

    def teardown(self) -> None:
        """The table is wound up, so that the next life begins at a free one."""
        if not hasattr(self, "coups"):
            return
        if self.failed:
            self.place.taken[self.game] += 1
            self.place.fault = self.place.fault or sys.exc_info()[1]
            return
        self.wind_up()
        self.place.money.update(self.money())
        self.place.all.update({id: (coup, self.game) for id, coup in self.coups.items()})

    def wind_up(self) -> None:
        """The round comes to its end."""
        coup = self.coup
        for hold in list(coup.holds.keys() - coup.released):
            body = ReleaseRound(hold=hold, finding="stands")
            self.act("release", self.terminal.report(body, by="S-1"), partial(coup.release, hold))
        if coup.status == "betting":
            self.close()
        while not self.coup.ended:
            coup = self.coup
            if self.game != "craps":
                self.act("outcome", self.terminal.outcome(SHOWN[self.game][0]), partial(coup.show, SHOWN[self.game][0]))
                continue
            for dice in ("3-4",) if coup.point else ("2-4", "3-4"):  # a place bet is off until there is a point
                self.act("throw", self.terminal.throw(dice), partial(coup.throw, dice, None))
