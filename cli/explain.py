"""`roundledger explain`: why a bet was paid what it was paid, from the log alone."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

import click

from cli.options import Form, examples, output_options
from cli.output import NOTHING, Column, emit_csv, emit_json, emit_lines, to_the_second
from cli.session import database

if TYPE_CHECKING:
    from ledger.events import Recorded, RoundOpened
    from ledger.rules import Explanation, Resolution


COLUMNS = (
    Column("bet", "bet"),
    Column("round", "round"),
    Column("table", "table"),
    Column("player", "player"),
    Column("regulation", "regulation"),
    Column("applied", "applied"),
    Column("outcome", "outcome"),
    Column("shown", "shown"),
    Column("spot", "spot"),
    Column("article", "article"),
    Column("currency", "currency"),
    Column("stake", "stake", "amount"),
    Column("result", "result"),
    Column("odds", "odds", "number"),
    Column("prize_exact", "exact prize", "exact"),
    Column("prize", "prize", "amount"),
    Column("commission", "commission", "amount"),
    Column("breakage", "breakage", "amount"),
    Column("net_prize", "net prize", "amount"),
    Column("returned", "returned", "amount"),
    Column("placed_position", "placed at", "position"),
    Column("resolved_position", "resolved at", "position"),
    Column("reason", "reason"),
    Column("differences", "differences"),
)
"""Of the CSV: a line for each bet."""


@dataclass(frozen=True)
class Explained:
    """One bet: what the rules say of it, where its events are, and whether the log has the figures that the rules give."""

    round: UUID
    opened: RoundOpened
    bet: UUID
    explanation: Explanation
    events: list[tuple[str, Recorded]]
    """What each event was to the bet, in order."""
    differences: list[str]

    def lines(self) -> list[str]:
        """As a person reads it."""
        opened = self.opened
        shown = [
            f"Bet {self.bet} at table {opened.table}, round {self.round}",
            *(f"  {line}" for line in self.explanation.lines()),
            f"  logged: {opened.regulation}, sha256 {opened.regulation_hash}",
            "  events:",
        ]
        for what, recorded in self.events:
            body: Any = recorded.body
            event = body.TOPIC
            shown.append(f"    position {recorded.position}: {event}, {what}, {to_the_second(body.received_at)}")
        shown += [f"  DIFFERENT: {difference}" for difference in self.differences]
        return shown

    def document(self) -> dict[str, Any]:
        """The same for programs."""
        return {
            "bet": str(self.bet),
            "round": str(self.round),
            "table": self.opened.table,
            "currency": self.opened.currency,
            "applied": self.opened.applied,
            "regulation_hash": self.opened.regulation_hash,
            "explanation": self.explanation.to_json(),
            "events": [
                {"position": str(recorded.position), "event": type(recorded.body).TOPIC, "what": what}
                for what, recorded in self.events
            ],
            "differences": self.differences,
        }

    def row(self) -> dict[str, Any]:
        """The same in one row of `COLUMNS`."""
        from ledger.events import BetPlaced

        told = self.explanation.to_json()
        position, player = next((at.position, at.body.player) for _, at in self.events if isinstance(at.body, BetPlaced))
        return {
            **{column.key: told.get(column.key) for column in COLUMNS},
            "bet": self.bet,
            "round": self.round,
            "table": self.opened.table,
            "player": player,
            "applied": self.opened.applied,
            "outcome": told["outcome"]["text"],
            "shown": told["outcome"]["shown"],
            "currency": self.opened.currency,
            "placed_position": position,
            "resolved_position": self.resolved_position,
            "reason": next((step.text for step in self.explanation.steps if step.heading == "Decision"), None),
            "differences": "; ".join(self.differences),
        }

    @property
    def resolved_position(self) -> int | None:
        """Of the event that paid the bet, or by whose outcome it was lost."""
        from ledger.events import OutcomeRecorded, PayoutMade

        found = [recorded.position for _, recorded in self.events if isinstance(recorded.body, PayoutMade | OutcomeRecorded)]
        return max(found, default=None)


@click.command(
    epilog=examples(
        "roundledger explain 01939f2a-b3c4-7a1f       the beginning of the id of a bet or of a round",
        "roundledger explain 01939f2a-b3c4-7a1f --csv       a line for each bet",
        codes="0 explained, 1 the log has other figures than the rules give, 2 could not be done.",
    )
)
@click.argument("id_", metavar="BET|ROUND")
@output_options
def explain(id_: str, form: Form) -> int:
    """Say why a bet, or each bet of a round, was paid so.

    Outcome, chance, article with its official terms, arithmetic with exact fractions, rounding, and the events with their
    positions; by the regulation whose content the log holds, whatever the files of today say.
    """
    with database() as dsn:
        import psycopg

        from cli.ids import find

        with psycopg.connect(dsn, autocommit=True) as conn:
            found = find(conn, id_)
        explained = round_explained(dsn, found.round, found.bet)
    if form == "json":
        emit_json([each.document() for each in explained])
    elif form == "csv":
        emit_csv(COLUMNS, [each.row() for each in explained])
    else:
        for n, each in enumerate(explained):
            emit_lines([*[""] * bool(n), *each.lines()])
        if not explained:
            emit_lines([f"{NOTHING}: the round has no bets"])
    return 1 if any(each.differences for each in explained) else 0


def bet_explained(dsn: str, bet: UUID) -> Explained:
    """One bet, explained."""
    import psycopg

    from cli.ids import find

    with psycopg.connect(dsn, autocommit=True) as conn:
        found = find(conn, str(bet))
    [explained] = round_explained(dsn, found.round, bet)
    return explained


def round_explained(dsn: str, round_id: UUID, only: UUID | None = None) -> list[Explained]:
    """The bets of a round, or `only` one of them, in the order of settlement. Refuses (LGR-0709) a round that is not settled."""
    import psycopg

    from ledger.application import Rounds
    from ledger.errors import Refusal
    from ledger.events import OutcomeRecorded
    from ledger.rules import Wager, settle
    from ledger.rules import explain as by_the_rules
    from ledger.store import log

    with closing(Rounds(dsn)) as rounds:
        round_ = rounds.round(round_id)
        regulation = rounds.regulation_of(round_)
    if round_.outcome is None:
        raise Refusal(
            "LGR-0709",
            f"the round is not settled yet: {round_.status.value}",
            field="round",
            value=str(round_id),
            help=f"roundledger rounds show {round_id}",
        )
    with psycopg.connect(dsn, autocommit=True) as conn:
        events = log.stream(conn, round_id)
    # As the terminal wrote it: a count of 8 buttons, not the 4 that follows from it.
    outcome = regulation.outcome(next(event.body.raw for event in events if isinstance(event.body, OutcomeRecorded)))
    wagers = [Wager(bet.id, regulation.spot(bet.spot), bet.stake) for bet in round_.bets.values()]
    opened = round_.terms
    unit = int(opened.payable_unit)
    return [
        Explained(
            round=round_id,
            opened=opened,
            bet=cast(UUID, resolution.wager.key),
            explanation=by_the_rules(
                regulation, outcome, resolution, currency=opened.currency, payable_unit=unit, note=opened.applied
            ),
            events=_events(events, resolution.wager.key),
            differences=_differences(events, resolution),
        )
        for resolution in settle(regulation, outcome, wagers, payable_unit=unit)
        if only in (None, resolution.wager.key)
    ]


def _events(events: list[Recorded], bet: Any) -> list[tuple[str, Recorded]]:
    """The events that a bet's fate rests on, with what each was to it."""
    from ledger.events import BetPlaced, BettingClosed, OutcomeRecorded, PayoutMade, RoundOpened, RoundSettled

    found = []
    for recorded in events:
        body = recorded.body
        if isinstance(body, RoundOpened):
            found.append(("the round opened", recorded))
        elif isinstance(body, BetPlaced) and body.bet == bet:
            found.append(("the bet was placed", recorded))
        elif isinstance(body, BettingClosed):
            found.append(("betting closed", recorded))
        elif isinstance(body, OutcomeRecorded):
            lost = any(line.bet == bet for line in body.lost)
            found.append((f"the table showed {body.shown}{'; the stake was lost' if lost else ''}", recorded))
        elif isinstance(body, PayoutMade) and body.bet == bet:
            found.append(("the stake was returned" if body.result == "push" else "the bet was paid", recorded))
        elif isinstance(body, RoundSettled):
            found.append(("the round was settled", recorded))
    return found


def _differences(events: list[Recorded], resolution: Resolution) -> list[str]:
    """Where the log has another figure than the rules give for the bet; none, unless somebody's hands were in it."""
    from ledger.events import OutcomeRecorded, PayoutMade

    bet = resolution.wager.key
    given = {
        "result": resolution.result,
        "stake": str(resolution.wager.stake),
        "odds": str(resolution.odds),
        "prize_exact": str(resolution.prize_exact),
        "prize": str(resolution.prize),
        "commission": str(resolution.commission),
        "breakage": str(resolution.breakage),
        "net_prize": str(resolution.net_prize),
        "returned": str(resolution.returned),
        "article": resolution.cite,
    }
    for recorded in events:
        body = recorded.body
        logged: dict[str, str] | None = None
        if isinstance(body, PayoutMade) and body.bet == bet:
            logged = {name: getattr(body, name) for name in given}
        elif isinstance(body, OutcomeRecorded):
            logged = next(
                ({"result": "lost", "stake": line.stake, "article": line.article} for line in body.lost if line.bet == bet), None
            )
        if logged is not None:
            return [
                f"{name} is {value} at position {recorded.position}, and {given[name]} by the rules"
                for name, value in logged.items()
                if value != given[name]
            ]
    return ["the log has no resolution of this bet"]
