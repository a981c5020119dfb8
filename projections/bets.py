"""The bets' part of the ledger's fold: each bet in each round in which it lies, decided once, and corrected from what it was."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from itertools import islice
from uuid import UUID

from ledger.events import BetPlaced, CarriedBet, LostBet, PayoutMade, Recorded, Standing
from projections.checks import Contradiction, amount, verify_standing
from projections.rows import BetRow

BetKey = tuple[UUID, UUID]
"""Round and bet."""


class Bets:
    """The bets that a run of events touched so far, on top of those known before it, which are never changed."""

    def __init__(self, known: Mapping[BetKey, BetRow]) -> None:
        self._known = known
        self.rows: dict[BetKey, BetRow] = {}
        self._of_round: dict[UUID, list[UUID]] | None = None
        self._listed = 0

    def find(self, round_: UUID, bet: UUID) -> BetRow | None:
        """The bet in the round, for looking only; None where this run knows of none."""
        key = round_, bet
        return self.rows.get(key) or self._known.get(key)

    def present(self, recorded: Recorded, bet: UUID) -> BetRow:
        """The bet in the event's round, to be changed. Raises Contradiction where there is none."""
        key = recorded.stream, bet
        row = self.rows.get(key)
        if row is None:
            known = self._known.get(key)
            if known is None:
                raise Contradiction(recorded, f"bet {bet} was never placed")
            row = self.rows[key] = copy(known)
        return row

    def open(self, recorded: Recorded, bet: UUID) -> BetRow:
        """The bet, which has to be undecided."""
        row = self.present(recorded, bet)
        if row.result != "open":
            raise Contradiction(recorded, f"bet {bet} was {row.result} before")
        return row

    def free(self, recorded: Recorded, bet: UUID) -> BetRow:
        """The bet, which has to be undecided and not locked by having been carried."""
        row = self.open(recorded, bet)
        if row.locked:
            raise Contradiction(recorded, f"bet {bet} is locked")
        return row

    def verify(self, recorded: Recorded, row: BetRow, player: str, spot: str, stake: str) -> None:
        """Raises Contradiction unless the bet is this player's, on this spot, of this stake."""
        if amount(recorded, stake) != row.stake:
            raise Contradiction(recorded, f"the stake of bet {row.bet} was {row.stake}, not {stake}")
        if player != row.player or spot != row.spot:
            raise Contradiction(recorded, f"bet {row.bet} was {row.player}'s on {row.spot}, not {player}'s on {spot}")

    def place(self, recorded: Recorded, body: BetPlaced, stake: int) -> BetRow:
        """A bet that was placed."""
        return self._new(
            recorded,
            BetRow(
                recorded.stream,
                body.bet,
                recorded.stream,
                recorded.position,
                body.player,
                body.seat,
                body.spot,
                body.chip,
                body.late,
                False,
                stake,
            ),
        )

    def take_over(self, recorded: Recorded, body: CarriedBet, stake: int, *, locked: bool) -> None:
        """A bet that the round has from the one before."""
        self._new(
            recorded,
            BetRow(
                recorded.stream,
                body.bet,
                body.placed_in,
                recorded.position,
                body.player,
                body.seat,
                body.spot,
                body.chip,
                False,
                locked,
                stake,
            ),
        )

    def _new(self, recorded: Recorded, row: BetRow) -> BetRow:
        key = row.round, row.bet
        if (self._known and key in self._known) or self.rows.setdefault(key, row) is not row:
            raise Contradiction(recorded, f"bet {row.bet} was placed before")
        return row

    def lose(self, recorded: Recorded, row: BetRow, line: LostBet) -> None:
        """The bet lost."""
        row.result, row.edge, row.article, row.resolved_position = "lost", line.edge, line.article, recorded.position

    def pay(self, recorded: Recorded, row: BetRow, body: PayoutMade) -> None:
        """The bet won or was pushed; the figures have been verified."""
        row.result, row.edge, row.article, row.resolved_position = body.result, body.edge, body.article, recorded.position
        row.odds, row.prize_exact = body.odds, body.prize_exact
        row.prize, row.net_prize, row.returned = int(body.prize), int(body.net_prize), int(body.returned)
        row.commission, row.breakage = int(body.commission), int(body.breakage)

    def end(self, recorded: Recorded, row: BetRow, result: str, *, returned: int = 0) -> None:
        """The bet leaves the round undecided."""
        row.result, row.returned, row.resolved_position = result, returned, recorded.position

    def carry_out(self, recorded: Recorded) -> int:
        """Every open bet of the event's round leaves it for the next; the sum of their stakes."""
        stream, stakes = recorded.stream, 0
        for bet in self._in(stream):
            row = self.present(recorded, bet)
            if row.result == "open":
                self.end(recorded, row, "carried")
                stakes += row.stake
        return stakes

    def _in(self, round_: UUID) -> list[UUID]:
        """The bets of a round. Few rounds are asked for theirs, so that they are listed when one is, and not as they come."""
        if self._of_round is None:
            self._of_round = {}
            for stream, bet in self._known:
                self._of_round.setdefault(stream, []).append(bet)
        for stream, bet in islice(self.rows, self._listed, None):
            if (stream, bet) not in self._known:
                self._of_round.setdefault(stream, []).append(bet)
        self._listed = len(self.rows)
        return self._of_round.get(round_, [])

    def verify_standing(self, recorded: Recorded, row: BetRow, before: Standing) -> None:
        """Raises Contradiction unless this is what is true of the bet until now."""
        if row.result in ("withdrawn", "carried"):
            raise Contradiction(recorded, f"bet {row.bet} was {row.result} before")
        verify_standing(recorded, before)
        for name in _WORDS:
            word, now = getattr(before, name), getattr(row, name)
            if word != now:
                raise Contradiction(recorded, f"the {name} of bet {row.bet} was {now!r}, not {word!r}")
        for name in _AMOUNTS:
            said, found = amount(recorded, getattr(before, name)), getattr(row, name)
            if said != found:
                raise Contradiction(recorded, f"the {name} of bet {row.bet} was {found}, not {said}")

    def correct(self, recorded: Recorded, row: BetRow, after: Standing) -> None:
        """From now on this is true of the bet."""
        verify_standing(recorded, after)
        for name in _WORDS:
            setattr(row, name, getattr(after, name))
        for name in _AMOUNTS:
            setattr(row, name, int(getattr(after, name)))
        row.article = after.article
        row.resolved_position = None if after.result == "open" else recorded.position
        row.corrections += 1


_WORDS = ("player", "spot", "result", "odds", "prize_exact", "edge")
_AMOUNTS = ("stake", "prize", "commission", "breakage", "net_prize", "returned")
