"""What is told of a bet that cannot be explained because the log contradicts itself: what it says, and what it should say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from cli.happened import happened, when
from cli.output import timestamp

if TYPE_CHECKING:
    from ledger.audit.findings import Finding
    from ledger.errors import Refusal
    from ledger.events import Recorded


@dataclass(frozen=True)
class Contradicted:
    """One bet of a round whose events do not add up, so that no fold of them believes what they say."""

    round: UUID
    table: str
    currency: str
    bet: UUID
    contradiction: str
    """What no reader of the round believes, and at which position."""
    events: list[tuple[str, Recorded]]
    """What each event was to the bet, in order."""
    findings: list[Finding]
    """What an audit of the round holds against the bet, or against the round as a whole."""

    @property
    def differences(self) -> list[str]:
        """Where the log has other figures than the rules give."""
        from cli.verify import values

        return [self.contradiction, *(f"{each.code}: {each.what}{values(each)}" for each in self.findings)]

    def lines(self) -> list[str]:
        """As a person reads it."""
        shown = [
            f"Bet {self.bet} at table {self.table}, round {self.round}",
            "  the log contradicts itself; it says:",
            "  events:",
        ]
        for what, recorded in self.events:
            body: Any = recorded.body
            shown.append(f"    position {recorded.position}: {body.TOPIC}, {what}, {when(body)}")
        return shown + [f"  DIFFERENT: {difference}" for difference in self.differences]

    def document(self) -> dict[str, Any]:
        """The same for programs."""
        import msgspec

        return {
            "bet": str(self.bet),
            "round": str(self.round),
            "table": self.table,
            "currency": self.currency,
            "contradiction": self.contradiction,
            "explanation": None,
            "stories": [],
            "events": [_event(what, recorded) for what, recorded in self.events],
            "findings": [msgspec.to_builtins(each) for each in self.findings],
            "differences": self.differences,
        }

    def row(self) -> dict[str, Any]:
        """The same in one row of the columns of `roundledger explain`."""
        said = {"bet": self.bet, "round": self.round, "table": self.table, "currency": self.currency}
        return {**said, "reason": "the log contradicts itself", "differences": "; ".join(self.differences)}


def _event(what: str, recorded: Recorded) -> dict[str, Any]:
    body: Any = recorded.body
    times = {name: timestamp(getattr(body, name)) for name in ("occurred_at", "received_at")}
    return {"position": str(recorded.position), "event": body.TOPIC, "what": what, **times}


def contradicted(dsn: str, round_id: UUID, only: UUID | None, refusal: Refusal) -> list[Contradicted]:
    """The bets of a round that no fold believes, or `only` one. Raises the refusal where its events cannot be read at all."""
    import psycopg

    from ledger import erasure
    from ledger.audit.reading import reading
    from ledger.audit.scope import Scope
    from ledger.events import BetPlaced, BetsCarried, RoundOpened

    with psycopg.connect(dsn, autocommit=True) as conn:
        events = erasure.stream(conn, round_id)
    opened = events[0].body if events else None
    if not isinstance(opened, RoundOpened):
        raise refusal
    with reading(dsn, Scope(round=round_id)) as source:
        found = [each for judgement in source.judgements() for each in judgement.findings]
    if not found:
        raise refusal
    bets: dict[UUID, None] = {}
    for each in events:
        if isinstance(each.body, BetPlaced):
            bets[each.body.bet] = None
        elif isinstance(each.body, BetsCarried):
            bets |= dict.fromkeys(carried.bet for carried in each.body.bets)
    return [
        Contradicted(
            round_id,
            opened.table,
            opened.currency,
            bet,
            refusal.detail,
            happened(events, bet, ()),
            [each for each in found if each.bet in (None, bet)],
        )
        for bet in bets
        if only in (None, bet)
    ]
