"""A round as the log tells it: its bets with all that became of them, beside what should have become of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple
from uuid import UUID

from ledger.audit.due import Due, Stage, by_one_sequence, by_outcome, by_throws
from ledger.events import CorrectionProposed, Recorded, RoundOpened, Standing
from ledger.money import MinorUnits
from ledger.rules import Outcome, Regulation
from ledger.rules.outcomes import Throw

CRAPS = "craps"


class Bet:
    """One bet in one round."""

    __slots__ = (
        "came",
        "carried_from",
        "id",
        "late",
        "left",
        "left_after",
        "locked",
        "placed",
        "player",
        "settled",
        "stages",
        "standing",
        "suspect",
        "want",
    )

    def __init__(self, id: UUID, player: str, first: Stage, placed: Recorded, came: int) -> None:
        self.id = id
        self.player = player
        self.placed = placed
        """The event by which it came into the round."""
        self.came = came
        """Its place among the bets of the round."""
        self.stages = [first]
        """How it lay, from its coming on."""
        self.late = False
        """Received after betting closed."""
        self.locked = False
        """Carried by an article that holds it fast."""
        self.carried_from: UUID | None = None
        self.left: Literal["withdrawn", "void", "carried"] | None = None
        """How it left the round undecided, where it did."""
        self.left_after = 0
        """Valid throws of the round before it left."""
        self.standing = Standing(player=player, spot=first.spot, stake=str(first.stake), result="open")
        """What is true of it by the log."""
        self.want = self.standing
        """What should be true of it."""
        self.settled: Recorded | None = None
        """The event that decided it last, by the log."""
        self.suspect = False
        """Whether something about it was found already, so that what follows from it is not told again."""

    @property
    def spot(self) -> str:
        """Where it lies now."""
        return self.standing.spot

    @property
    def stake(self) -> MinorUnits:
        """What is staked now."""
        return int(self.standing.stake)

    @property
    def open(self) -> bool:
        """Whether it lies in this round and nothing has decided it."""
        return self.left is None and self.standing.result == "open"

    def lies(self, player: str, spot: str, stake: MinorUnits) -> None:
        """From now on it lies so, undecided."""
        self.player = player
        self.standing = self.want = Standing(player=player, spot=spot, stake=str(stake), result="open")

    def indeed(self, player: str | None, spot: str | None, stake: MinorUnits | None) -> tuple[str, list[Stage]]:
        """Whose it would be and how it would have lain, had it been placed otherwise than is on record."""
        stages = list(self.stages)
        if spot is not None:
            last = max(n for n, stage in enumerate(stages) if stage.moved)
            stages[last] = stages[last]._replace(spot=spot)
            stages[last + 1 :] = [stage._replace(spot=spot) for stage in stages[last + 1 :]]
        if stake is not None:
            stages[-1] = stages[-1]._replace(stake=stake)
        return player or self.player, stages


class Correction:
    """A correction that somebody asked for, and how far it has come."""

    def __init__(self, asked: Recorded, proposed: CorrectionProposed) -> None:
        self.asked = asked
        self.proposed = proposed
        self.approved_by: list[str] = []
        self.declined = False
        self.made = False


class Link(NamedTuple):
    """A bet that goes from one round to another, as one of them says it."""

    out: bool
    """Whether the round that it leaves says so; else the one that takes it over."""
    before: UUID
    """The round that it leaves."""
    bet: UUID
    player: str
    spot: str
    stake: str
    said: Recorded
    """The event that says so."""
    round: UUID
    """The round that says so."""
    table: str | None
    after: UUID | None = None
    """The round that follows the one it leaves, where that one says so."""

    @property
    def key(self) -> tuple[UUID, UUID]:
        """By what both sides are known to be of one bet."""
        return self.before, self.bet


class Told:
    """One round after its events, in the order in which they are in the log."""

    def __init__(self, id: UUID) -> None:
        self.id = id
        self.opened: RoundOpened | None = None
        self.regulation: Regulation | None = None
        """That of the log; None where it is not there."""
        self.payable_unit: MinorUnits = 1
        self.status: Literal["betting", "closed", "settled", "carried", "returned"] = "betting"
        self.bets: dict[UUID, Bet] = {}
        """All that were ever in the round, in the order in which they came."""
        self.outcome: str | None = None
        """What the table showed, as last corrected; of craps the throws so far, with commas between."""
        self.throws: list[str] = []
        """Craps: the throws, void ones included; none where they came as one outcome."""
        self.valid: list[Throw] = []
        """Craps: the valid ones."""
        self.launches = 0
        self.corrections: dict[UUID, Correction] = {}
        self.carried_from: UUID | None = None
        self.successor: UUID | None = None
        self.shown_outcome: Outcome | None = None
        """Games of one outcome: what the table showed."""

    @property
    def table(self) -> str | None:
        """The table, where the opening is there to say so."""
        return None if self.opened is None else self.opened.table

    @property
    def ended(self) -> bool:
        """Whether the table has gone on to its next round."""
        return self.status not in ("betting", "closed")

    @property
    def lying(self) -> list[Bet]:
        """The bets that are open here."""
        return [bet for bet in self.bets.values() if bet.open]

    def due(
        self,
        bet: Bet,
        regulation: Regulation,
        payable_unit: MinorUnits,
        *,
        stages: Sequence[Stage] | None = None,
        outcome: Outcome | None = None,
    ) -> Due:
        """What a regulation, with a payable unit, gives a bet under what the table showed, or under another `outcome`.

        `stages`: how it lay, if otherwise than on record. Raises Refusal where the regulation does not know the spot.
        """
        stages = bet.stages if stages is None else stages
        if outcome is None and self.outcome is None:
            return Due("open", stages[-1].spot, stages[-1].stake)
        if self.opened is not None and self.opened.game == CRAPS:
            if self.throws:
                valid = self.valid if outcome is None else [throw for throw in outcome.throws if not throw.void]
                return by_throws(regulation, valid, stages, payable_unit)
            return self._by_one_sequence(bet, regulation, payable_unit, stages, outcome)
        shown = outcome or self.shown_outcome
        assert shown is not None
        return by_outcome(regulation, shown, stages[-1], payable_unit)

    def _by_one_sequence(
        self, bet: Bet, regulation: Regulation, payable_unit: MinorUnits, stages: Sequence[Stage], outcome: Outcome | None
    ) -> Due:
        """Of a round of craps whose throws came as one outcome: which bet could be placed when depends on the others."""
        shown = outcome or self.shown_outcome
        assert shown is not None
        others = [each for each in self.bets.values() if each is bet or (each.left is None and each.want.result != "void")]
        lay = [stages if each is bet else each.stages for each in others]
        return by_one_sequence(regulation, shown, lay, payable_unit)[others.index(bet)]

    def expected(self) -> dict[UUID, Standing]:
        """What should be true of each bet that is decided here, or was void."""
        return {bet.id: bet.want for bet in self.bets.values() if bet.left != "carried"}
