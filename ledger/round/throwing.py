"""Craps, throw by throw: each is recorded with both faces, or as void; the one that decides the line settles the round."""

from __future__ import annotations

from typing import NamedTuple, Self

from ledger.errors import Refusal
from ledger.events import MovedBet, PayoutMade, RoundSettled, ThrowRecorded
from ledger.round.bets import Bet
from ledger.round.settling import lost_bets, payout, totals
from ledger.round.succession import Succession, Successor
from ledger.round.terms import Origin
from ledger.round.trying import succeeds
from ledger.rules import Outcome, Regulation, Resolution, State, Void, Wager, settle

_FACES = "write both faces, such as 6-2"


class Throw(NamedTuple):
    """A throw that may be recorded, with what it does; nothing where it is void."""

    outcome: Outcome
    state: State
    """After it."""
    void: Void | None = None
    lost: tuple[Resolution, ...] = ()
    paid: tuple[Resolution, ...] = ()
    moved: tuple[MovedBet, ...] = ()
    outlive: tuple[Bet, ...] = ()
    """The bets that stand when the line is decided."""


class Throwing(Succession):
    """What a throw makes of the bets."""

    __slots__ = ()

    def verify_throw(self, regulation: Regulation, *, dice: str | None, void: str | None, successor: Successor | None) -> Throw:
        """The throw and what it does; raises the reason why it cannot be recorded, otherwise."""
        self.verify_game(craps=True, help="report what the table showed (roundledger.OutcomeRecorded.v1)")
        if (dice is None) is (void is None):
            raise Refusal(
                "LGR-0108",
                "a throw has either its faces or the reason why it is void",
                field="dice",
                value=dice,
                help=f"{_FACES}, in `dice`, or the code of the void clause in `void`",
            )
        self.verify_undecided()
        if void is not None:
            return Throw(regulation.outcome("void"), self.state, self.verify_clause(regulation, void, field="void"))
        assert dice is not None
        outcome = _read(regulation, dice)
        wagers = [Wager(bet, regulation.spot_in_play(bet.spot), bet.stake) for bet in self.open_bets]
        resolutions = settle(regulation, outcome, wagers, payable_unit=int(self.terms.payable_unit), state=self.state)
        by_result: dict[str, list[Resolution]] = {"lost": [], "won": [], "push": [], "stands": []}
        for resolution in resolutions:
            by_result[resolution.result].append(resolution)
        after = self.state.after(outcome.throws[0])
        standing = by_result["stands"]
        moved = [(each.wager, each.payoff.moves_to) for each in standing]
        outlive = tuple(_bet(each) for each in standing) if after.decided else ()
        if outlive:
            spots = ", ".join(dict.fromkeys(bet.spot for bet in outlive))
            self.verify_successor(successor, f"with this throw the line is decided, while bets still stand: {spots}")
        return Throw(
            outcome,
            after,
            lost=tuple(by_result["lost"]),
            paid=tuple(each for each in resolutions if each.result in ("won", "push")),
            moved=tuple(MovedBet(bet=_bet_of(w).id, was=w.spot.text, spot=to) for w, to in moved if to is not None),
            outlive=outlive,
        )

    def can_throw(
        self, regulation: Regulation, *, dice: str | None = None, void: str | None = None, successor: Successor | None = None
    ) -> bool:
        """Whether `record_throw` would succeed."""
        return succeeds(self.verify_throw, regulation, dice=dice, void=void, successor=successor)

    def record_throw(
        self,
        regulation: Regulation,
        origin: Origin,
        *,
        dice: str | None = None,
        void: str | None = None,
        successor: Successor | None = None,
    ) -> Self | None:
        """Records one throw, with the bets that it decides, and settles the round where it decides the line.

        Bets of the unverified table can outlive the round: the successor, opened with them, is then the answer.
        """
        self.verify_after_bell(origin)
        throw = self.verify_throw(regulation, dice=dice, void=void, successor=successor)
        by, currency = origin._asdict(), self.terms.currency
        clause = throw.void
        self._happen(
            ThrowRecorded(
                **by,
                throw=len(self.throws) + 1,
                raw=throw.outcome.raw,
                outcome=throw.outcome.text,
                shown=throw.outcome.shown if clause is None else f"void: {clause.names['en'].text}",
                void=None if clause is None else clause.code,
                article=None if clause is None else regulation.cite(clause.article),
                point=throw.state.point,
                decided=throw.state.decided,
                currency=currency,
                lost=lost_bets(throw.lost),
                moved=throw.moved,
            )
        )
        for resolution in throw.paid:
            self._happen(PayoutMade(**by, **payout(resolution, currency)))
        if not throw.state.decided:
            return None
        following = successor if throw.outlive else None
        self._happen(
            RoundSettled(
                **by,
                currency=currency,
                **totals(bet.standing for bet in self.bets.values()),
                carried=str(sum(bet.stake for bet in throw.outlive)),
                successor=None if following is None else following.id,
            )
        )
        if following is None:
            return None
        begun = type(self)(following.id)
        begun._begin(self, following, origin)
        # A bet that moved with this very throw goes on from where it went.
        begun.take_over(
            regulation,
            origin,
            [self.gone[bet.id] for bet in throw.outlive],
            from_round=self.id,
            locked=False,
            article=None,
        )
        return begun

    def verify_clause(self, regulation: Regulation, code: str, *, field: str) -> Void:
        """The regulation's void clause with this code. Raises Refusal LGR-0219 where it has none."""
        for clause in regulation.voids:
            if clause.code == code:
                return clause
        known = ", ".join(f"{clause.code} (art. {clause.article})" for clause in regulation.voids)
        raise Refusal(
            "LGR-0219",
            f"{regulation.order} has no void clause {code}",
            field=field,
            value=code,
            help=f"its void clauses: {known}" if known else "under this regulation nothing makes a round void",
            cite=regulation.cite(regulation.articles.get("fragments")) if "fragments" in regulation.articles else None,
        )


def _read(regulation: Regulation, dice: str) -> Outcome:
    outcome = regulation.outcome(dice)
    if len(outcome.throws) != 1 or not outcome.values:
        raise Refusal(
            "LGR-0406",
            "a throw is recorded by itself and with both faces",
            field="dice",
            value=dice,
            help=_FACES,
            cite=regulation.cite(regulation.articles["result"]),
        )
    return outcome


def _bet_of(wager: Wager) -> Bet:
    assert isinstance(wager.key, Bet)
    return wager.key


def _bet(resolution: Resolution) -> Bet:
    return _bet_of(resolution.wager)
