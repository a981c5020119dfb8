"""What is told of a bet: as it was decided, as each correction left it, and whether the rules say the same."""

from __future__ import annotations

import json
import random
from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest

from cli.explain import COLUMNS, Explained
from cli.happened import happened
from cli.output import as_json
from cli.rounds import round_report
from cli.stories import Teller
from ledger.events import (
    BetCorrected,
    BetPlaced,
    BetsCarried,
    BettingClosed,
    CarriedBet,
    CorrectionApproved,
    CorrectionProposed,
    Event,
    LostBet,
    OutcomeCorrected,
    OutcomeRecorded,
    PayoutMade,
    Recorded,
    RoundOpened,
    RoundResettled,
    RoundSettled,
    RoundVoided,
    Standing,
    ThrowRecorded,
)
from ledger.rules import State, Wager, regulation, settle
from projections.views import view
from tests.unit.projections.made import DAY, NOON, uuid

CURRENCY = {"currency": "MOP"}
TOTALS = {"prizes": "0", "commission": "0", "breakage": "0", "returned": "0"}


class Table:
    """Events of one round under a regulation, with the figures that the rules give."""

    def __init__(self, order: str, seed: int = 1) -> None:
        self.law = regulation(order)
        self.rng = random.Random(seed)
        self.round = uuid(self.rng)
        self.log: list[Recorded] = []
        self.say(
            RoundOpened,
            property="demo",
            pit="P1",
            table="T-1",
            game=self.law.game,
            **CURRENCY,
            payable_unit="1",
            regulation=order,
            regulation_hash=self.law.sha256,
            property_hash="b" * 64,
            gaming_day=DAY,
        )

    def say(self, event: type[Event], /, **said: Any) -> None:
        moment = NOON + timedelta(seconds=len(self.log))
        common: dict[str, Any] = {"cause": uuid(self.rng), "terminal": "t", "occurred_at": moment, "received_at": moment}
        at = len(self.log) + 1
        self.log.append(Recorded(at, self.round, at, event(**common, **said)))

    def bet(self, spot: str, stake: int) -> UUID:
        id_ = uuid(self.rng)
        self.say(BetPlaced, bet=id_, player="P-1", spot=spot, stake=str(stake), **CURRENCY)
        return id_

    def decided(self, spot: str, stake: int, outcome: str, state: State | None = None) -> Standing:
        """What the rules make of a bet."""
        law = self.law
        [resolution] = settle(law, law.outcome(outcome), [Wager(1, law.spot_in_play(spot), stake)], state=state)
        return Standing(
            player="P-1",
            spot=spot,
            stake=str(stake),
            result=resolution.result,
            edge=str(resolution.wager.spot.edge),
            article=resolution.cite,
            **{
                name: str(getattr(resolution, name))
                for name in ("odds", "prize_exact", "prize", "commission", "breakage", "net_prize", "returned")
            },
        )

    def paid(self, bet: UUID, standing: Standing) -> None:
        said = msgspec.structs.asdict(standing)
        self.say(PayoutMade, bet=bet, **CURRENCY, **said)

    def line(self, bet: UUID, standing: Standing) -> LostBet:
        assert standing.article is not None
        return LostBet(
            bet=bet, player="P-1", spot=standing.spot, stake=standing.stake, edge=standing.edge, article=standing.article
        )

    def told(self, bet: UUID) -> Explained:
        found, opened = view(self.log), self.log[0].body
        assert found is not None
        assert isinstance(opened, RoundOpened)
        as_json(round_report(found, self.log, {}))
        row = next(each for each in found.bets if each.bet == bet)
        stories = Teller(self.log, found, opened, self.law).stories(row)
        concerning = {each.correction for each in row.corrections}
        explained = Explained(found, opened, row, stories, happened(self.log, bet, concerning))
        assert set(explained.row()) == {column.key for column in COLUMNS}
        msgspec.json.encode(explained.document())
        return explained


@pytest.fixture
def corrected() -> tuple[Table, UUID]:
    """Red lost on 17, which is black; it was 18 indeed."""
    table = Table("30/2003")
    bet = table.bet("red", 10_000)
    lost, won = table.decided("red", 10_000, "17"), table.decided("red", 10_000, "18")
    table.say(BettingClosed)
    lines = (table.line(bet, lost),)
    table.say(OutcomeRecorded, raw="17", outcome="17", shown="17, black", **CURRENCY, lost=lines)
    table.say(RoundSettled, bets=1, handle="10000", **TOTALS, **CURRENCY)
    correction = uuid(table.rng)
    said: dict[str, Any] = {"kind": "outcome", "reason": "miskeyed_outcome", "note": "camera 4", "outcome": "18"}
    table.say(CorrectionProposed, correction=correction, **said, **CURRENCY, by="S-1")
    table.say(CorrectionApproved, correction=correction, approval=1, by="S-2")
    said = {"was": "17", "was_shown": "17, black", "raw": "18", "outcome": "18", "shown": "18, red"}
    table.say(OutcomeCorrected, correction=correction, **said)
    before = msgspec.structs.replace(lost, returned="0", odds="0", prize_exact="0")
    table.say(BetCorrected, correction=correction, bet=bet, before=before, after=won, **CURRENCY)
    totals = TOTALS | {"prizes": "10000", "returned": "20000"}
    table.say(RoundResettled, correction=correction, bets=1, handle="10000", **totals, **CURRENCY)
    return table, bet


def test_both_stories_of_a_corrected_bet_are_told_with_who_asked_and_who_approved(corrected: tuple[Table, UUID]) -> None:
    table, bet = corrected
    explained = table.told(bet)
    assert explained.differences == []
    lines = explained.lines()
    assert "  as it was:" in lines
    since = "as corrected at position 9 (outcome, miskeyed_outcome, camera 4), asked for by S-1, approved by S-2"
    assert f"  {since}:" in lines
    outcomes = [line.strip() for line in lines if line.strip().startswith("outcome:")]
    assert outcomes == ["outcome: 17, black (written '17')", "outcome: 18, red (written '18')"]
    assert [story["standing"]["result"] for story in explained.document()["stories"]] == ["lost", "won"]
    assert any("S-2 approved it" in line for line in lines)
    assert any("the outcome was put right: 18, red, not 17, black" in line for line in lines)


def shown(table: Table) -> dict[str, list[dict[str, Any]]]:
    """What `roundledger rounds show --json` has of the table's round."""
    found = view(table.log)
    assert found is not None
    document: dict[str, list[dict[str, Any]]] = json.loads(as_json(round_report(found, table.log, {}, table.law)))
    return document


def test_a_round_shows_outcome_and_bets_as_recorded_and_as_corrected(corrected: tuple[Table, UUID]) -> None:
    table, bet = corrected
    document = shown(table)
    recorded, put_right = document["outcomes"]
    assert (recorded["outcome"], recorded["shown"], recorded["correction"]) == ("17", "17, black", None)
    assert (put_right["outcome"], put_right["shown"], put_right["struck_by"]) == ("18", "18, red", None)
    assert recorded["struck_by"] == put_right["correction"] is not None
    assert (put_right["proposed_by"], put_right["approved_by"]) == ("S-1", "S-2")
    [changed] = document["corrected_bets"]
    assert changed["bet"] == str(bet)
    assert [(changed[f"{name}_was"], changed[name]) for name in ("result", "stake", "returned")] == [
        ("lost", "won"),
        ("10000", "10000"),
        ("0", "20000"),
    ]
    assert (changed["spot_was"], changed["spot"], changed["approved_by"]) == (None, None, "S-2")


def test_a_round_shows_throws_as_recorded_and_as_corrected_with_their_points() -> None:
    table = Table("53/2010")
    bet = table.bet("pass", 10_000)
    table.say(BettingClosed)
    table.say(ThrowRecorded, throw=1, raw="6-2", outcome="2-6", shown="8", point=8, **CURRENCY)
    lost = table.decided("pass", 10_000, "3-4", State(8))
    lines = (table.line(bet, lost),)
    table.say(ThrowRecorded, throw=2, raw="3-4", outcome="3-4", shown="7", decided=True, **CURRENCY, lost=lines)
    table.say(RoundSettled, bets=1, handle="10000", **TOTALS, **CURRENCY)
    assert [throw["struck_by"] for throw in shown(table)["throws"]] == [None, None]
    correction = uuid(table.rng)
    said: dict[str, Any] = {"kind": "outcome", "reason": "miskeyed_outcome", "outcome": "2-4,void,3-4"}
    table.say(CorrectionProposed, correction=correction, **said, **CURRENCY, by="S-1")
    table.say(CorrectionApproved, correction=correction, approval=1, by="S-2")
    said = {"was": "2-6,3-4", "was_shown": "8, 7", "raw": "2-4,void,3-4", "outcome": "2-4,void,3-4", "shown": "6, void, 7"}
    table.say(OutcomeCorrected, correction=correction, **said)
    table.say(RoundResettled, correction=correction, bets=1, handle="10000", **TOTALS, **CURRENCY)
    throws = shown(table)["throws"]
    assert [(throw["outcome"], throw["point"]) for throw in throws] == [
        ("2-6", 8),
        ("3-4", 0),
        ("2-4", 6),
        ("void", 6),
        ("3-4", 0),
    ]
    assert [throw["struck_by"] for throw in throws] == [str(correction)] * 2 + [None] * 3
    assert [throw["correction"] for throw in throws] == [None] * 2 + [str(correction)] * 3


def test_a_bet_whose_result_a_correction_leaves_is_not_said_to_be_another(corrected: tuple[Table, UUID]) -> None:
    table, bet = corrected
    at = next(at for at, each in enumerate(table.log) if isinstance(each.body, BetCorrected))
    body: Any = table.log[at].body
    before = msgspec.structs.replace(body.after, stake="5000")
    told = [msgspec.structs.replace(table.log[at], body=msgspec.structs.replace(body, before=before))]
    [(words, _)] = happened(told, bet, ())
    assert words == "the bet was put right: it is won as before; stake 100.00, not 50.00"


def test_a_correction_that_the_rules_do_not_give_is_named(corrected: tuple[Table, UUID]) -> None:
    table, bet = corrected
    at = next(at for at, each in enumerate(table.log) if isinstance(each.body, OutcomeCorrected))
    table.log[at] = msgspec.structs.replace(table.log[at], body=msgspec.structs.replace(table.log[at].body, raw="20"))
    assert "result is won at position 9, and lost by the rules" in table.told(bet).differences


def test_53_2010_art_5_a_pass_bet_is_told_throw_by_throw_with_the_point() -> None:
    table = Table("53/2010")
    bet = table.bet("pass", 10_000)
    table.say(BettingClosed)
    table.say(ThrowRecorded, throw=1, raw="6-2", outcome="2-6", shown="8", point=8, **CURRENCY)
    void: dict[str, Any] = {"raw": "void", "outcome": "void", "shown": "void", "void": "off_layout", "article": "53/2010 art. 3"}
    table.say(ThrowRecorded, throw=2, **void, point=8, **CURRENCY)
    table.say(ThrowRecorded, throw=3, raw="5-3", outcome="3-5", shown="8", decided=True, **CURRENCY)
    table.paid(bet, table.decided("pass", 10_000, "5-3", State(8)))
    totals = TOTALS | {"prizes": "10000", "returned": "20000"}
    table.say(RoundSettled, bets=1, handle="10000", **totals, **CURRENCY)
    explained = table.told(bet)
    assert explained.differences == []
    lines = explained.lines()
    assert any("throw 1 showed 8; the point is 8" in line for line in lines)
    assert any("throw 2 was void: off_layout (53/2010 art. 3)" in line for line in lines)
    assert any("throw 3 showed 8; the line is decided" in line for line in lines)
    assert explained.row()["result"] == "won"
    assert explained.found.outcome == "2-6,void,3-5"


def test_31_2003_art_3_a_carried_bet_says_where_it_went_and_where_it_came_from() -> None:
    table = Table("31/2003")
    bet = table.bet("big", 5_000)
    table.say(BettingClosed)
    after = UUID(int=5)
    said: dict[str, Any] = {"disposition": "carry", "reason": "bridged_dice", "article": "31/2003 art. 3(3)", "launch": 1}
    table.say(RoundVoided, **said, successor=after, carried="5000", **CURRENCY)
    lines = table.told(bet).lines()
    assert f"  carried: it lies in a later round with its stake of MOP 50.00, first in {after}" in lines
    assert any(f"the round was void: bridged_dice (31/2003 art. 3(3)); round {after} has its bets" in line for line in lines)

    following = Table("31/2003", seed=2)
    carried = CarriedBet(bet=bet, player="P-1", spot="big", stake="5000", placed_in=table.round)
    said = {"from_round": table.round, "locked": True, "article": "31/2003 art. 3(3)"}
    following.say(BetsCarried, **said, bets=(carried,), **CURRENCY)
    lines = following.told(bet).lines()
    assert f"  placed in round {table.round}" in lines
    assert any(
        f"the bet came from round {table.round} (31/2003 art. 3(3)), to stay until it is decided" in line for line in lines
    )
    assert "  open: nothing has decided it, and its stake of MOP 50.00 is in escrow" in lines
