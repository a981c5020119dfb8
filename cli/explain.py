"""`roundledger explain`: why a bet was paid what it was paid, from the log alone; and what a balance is made of."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

import click

from cli.happened import happened, when
from cli.options import Form, examples, output_options
from cli.output import NOTHING, Column, emit, emit_csv, emit_json, emit_lines, timestamp
from cli.session import database
from cli.stories import Story, Teller

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cli.contradicted import Contradicted
    from ledger.events import Recorded, RoundOpened
    from projections.views import BetView, RoundView


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
    Column("corrections", "corrections", "number"),
    Column("placed_in", "placed in"),
    Column("successor", "carried to"),
    Column("differences", "differences"),
)
"""Of the CSV: a line for each bet."""


@dataclass(frozen=True)
class Explained:
    """One bet in one round: what became of it and why, and where its events are."""

    found: RoundView
    opened: RoundOpened
    bet: BetView
    stories: list[Story]
    """Oldest first: as it was decided, and as each correction left it."""
    events: list[tuple[str, Recorded]]
    """What each event was to the bet, in order."""

    @property
    def differences(self) -> list[str]:
        """Where the log has other figures than the rules give."""
        return [difference for story in self.stories for difference in story.differences]

    def lines(self) -> list[str]:
        """As a person reads it."""
        opened, bet = self.opened, self.bet
        shown = [f"Bet {bet.bet} at table {opened.table}, round {self.found.round}"]
        if bet.placed_in != self.found.round:
            shown.append(f"  placed in round {bet.placed_in}")
        for story in self.stories:
            if len(self.stories) > 1:
                shown.append(f"  {_since(story)}:")
            indent = "    " if len(self.stories) > 1 else "  "
            shown += [f"{indent}{line}" for line in story.lines()]
        shown += [f"  logged: {opened.regulation}, sha256 {opened.regulation_hash}", "  events:"]
        for what, recorded in self.events:
            body: Any = recorded.body
            shown.append(f"    position {recorded.position}: {body.TOPIC}, {what}, {when(body)}")
        shown += [f"  DIFFERENT: {difference}" for difference in self.differences]
        return shown

    def document(self) -> dict[str, Any]:
        """The same for programs; `explanation` is that of the last story."""
        now = self.stories[-1]
        return {
            "bet": str(self.bet.bet),
            "round": str(self.found.round),
            "placed_in": str(self.bet.placed_in),
            "table": self.opened.table,
            "currency": self.opened.currency,
            "applied": self.opened.applied,
            "regulation_hash": self.opened.regulation_hash,
            "result": self.bet.result or "open",
            "explanation": None if now.explanation is None else now.explanation.to_json(),
            "stories": [story.document() for story in self.stories],
            "events": [
                {
                    "position": str(recorded.position),
                    "event": type(recorded.body).TOPIC,
                    "what": what,
                    **_times(recorded.body),
                }
                for what, recorded in self.events
            ],
            "differences": self.differences,
        }

    def row(self) -> dict[str, Any]:
        """The same in one row of `COLUMNS`."""
        bet, found, explanation = self.bet, self.found, self.stories[-1].explanation
        figures = {column.key: getattr(bet, column.key, None) for column in COLUMNS}
        # What the rules say of the outcome by which it was decided; of craps that is one throw of several.
        by_the_rules = {} if explanation is None else explanation.to_json()
        told = {column.key: by_the_rules[column.key] for column in COLUMNS if column.key in by_the_rules}
        decision = None if explanation is None else next(each.text for each in explanation.steps if each.heading == "Decision")
        return {
            **figures,
            **told,
            "round": found.round,
            "table": self.opened.table,
            "regulation": self.opened.regulation,
            "applied": self.opened.applied,
            "outcome": found.outcome if explanation is None else explanation.outcome.text,
            "shown": found.shown if explanation is None else explanation.outcome.shown,
            "currency": self.opened.currency,
            "result": bet.result or "open",
            "placed_position": bet.position,
            "reason": decision or self.stories[-1].words,
            "corrections": len(bet.corrections),
            "successor": found.successor if bet.result == "carried" else None,
            "differences": "; ".join(self.differences),
        }


def _times(body: Any) -> dict[str, str]:
    return {name: timestamp(getattr(body, name)) for name in ("occurred_at", "received_at")}


def _since(story: Story) -> str:
    """When and by whom a bet came to be what a story says."""
    correction = story.correction
    if correction is None:
        return "as it was"
    approved = " and ".join(each for each in (correction.approved_by, correction.seconded_by) if each is not None)
    why = ", ".join(each for each in (correction.kind, correction.reason, correction.note) if each is not None)
    who = f"asked for by {correction.proposed_by}, approved by {approved}"
    posted = f", posted to gaming day {correction.posted_day}" if correction.posted_day else ""
    return f"as corrected at position {story.position} ({why}), {who}{posted}"


@click.command(
    epilog=examples(
        "roundledger explain 01939f2a-b3c4-7a1f       the beginning of the id of a bet or of a round",
        "roundledger explain 01939f2a-b3c4-7a1f --csv       a line for each bet",
        "roundledger explain win/R01                        the balance of an account, by kind of movement",
        codes="0 explained, 1 the log has other figures than the rules give, 2 could not be done.",
    )
)
@click.argument("id_", metavar="BET|ROUND|ACCOUNT")
@output_options
def explain(id_: str, form: Form) -> int:
    """Say why a bet was paid so, or what a balance is made of.

    Of a round, each of its bets is told. Of an account, such as win/R01, what it is, its balance, and which kinds of movement,
    how many and of how much, make it up; `roundledger trace` shows each of them.

    Of a bet: outcome, chance, article with its official terms, arithmetic with exact fractions, rounding, and the events with
    their positions; by the regulation whose content the log holds, whatever the files of today say. Of what was corrected, both
    stories, with who asked for it, who approved it and why; a bet that was carried is followed from round to round. Where events
    were written over and do not add up any more, what they say is told, and what an audit of the round holds against it.
    """
    with database() as dsn:
        import psycopg

        from cli.balance import balance_explained
        from cli.ids import find

        if "/" in id_:
            emit(balance_explained(dsn, id_), form)
            return 0
        with psycopg.connect(dsn, autocommit=True) as conn:
            found = find(conn, id_)
        explained = _explained(dsn, found.round, found.bet)
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


def _explained(dsn: str, round_id: UUID, bet: UUID | None) -> Sequence[Explained | Contradicted]:
    """The bets of a round, or one in each round in which it lay; where the log contradicts itself, what it says of them."""
    from cli.contradicted import contradicted
    from ledger.errors import Refusal

    try:
        return round_explained(dsn, round_id) if bet is None else bet_followed(dsn, round_id, bet)
    except Refusal as refusal:
        if refusal.code != "LGR-0504":
            raise
        return contradicted(dsn, round_id, bet, refusal)


def bet_explained(dsn: str, bet: UUID) -> Explained:
    """One bet, explained where it was decided."""
    import psycopg

    from cli.ids import find

    with psycopg.connect(dsn, autocommit=True) as conn:
        found = find(conn, str(bet))
    return bet_followed(dsn, found.round, bet)[-1]


def bet_followed(dsn: str, round_id: UUID, bet: UUID) -> list[Explained]:
    """One bet, in each round in which it lay. Refuses (LGR-0709) where the first of them has no outcome yet."""
    explained = round_explained(dsn, round_id, bet)
    following = explained[-1].found.successor
    while explained[-1].bet.result == "carried" and following is not None:
        further = round_explained(dsn, following, bet, decided=False)
        explained += further
        # A bet received late goes at once to where the others have come by then, past the rounds between.
        following = further[-1].found.successor if further else _successor(dsn, following)
    return explained


def round_explained(dsn: str, round_id: UUID, only: UUID | None = None, *, decided: bool = True) -> list[Explained]:
    """The bets of a round, or `only` one of them, in the order in which they were decided.

    Refuses (LGR-0709) a round that has neither an outcome nor ended without one, unless `decided` is False or the bet itself is
    decided.
    """
    from ledger.application import Rounds
    from ledger.errors import Refusal
    from ledger.events import RoundOpened
    from projections.views import view

    with closing(Rounds(dsn)) as rounds:
        regulation = rounds.regulation_of(rounds.round(round_id))
    events = _events(dsn, round_id)
    found, opened = view(events), events[0].body
    assert found is not None
    assert isinstance(opened, RoundOpened)
    done = any(
        bet.bet == only and bet.result is not None for bet in found.bets
    )  # a void one, or of craps one that a throw decided
    if decided and not done and found.outcome is None and found.disposition is None:
        raise Refusal(
            "LGR-0709",
            f"the round is not settled yet: betting is {found.status}",
            field="round",
            value=str(round_id),
            help=f"roundledger rounds show {round_id}",
        )
    teller = Teller(events, found, opened, regulation)
    bets = sorted(found.bets, key=lambda bet: (bet.resolved_position is None, int(bet.resolved_position or 0)))
    return [
        Explained(found, opened, bet, teller.stories(bet), happened(events, bet.bet, _concerning(found, bet)))
        for bet in bets
        if only in (None, bet.bet)
    ]


def _events(dsn: str, round_id: UUID) -> list[Recorded]:
    import psycopg

    from ledger import erasure

    with psycopg.connect(dsn, autocommit=True) as conn:
        return erasure.stream(conn, round_id)


def _successor(dsn: str, round_id: UUID) -> UUID | None:
    from projections.views import view

    found = view(_events(dsn, round_id))
    return None if found is None else found.successor


def _concerning(found: RoundView, bet: BetView) -> set[UUID]:
    """The corrections that concern a bet: those that name it, and those that changed it."""
    named = {each.correction for each in found.corrections if each.bet == bet.bet}
    return named | {each.correction for each in bet.corrections}
