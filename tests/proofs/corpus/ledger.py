"""Defects of the ledger itself: planted with a superuser's rights straight into its tables, or into an export of its log.

Each is what somebody could do who has the database, past every guard of the program: triggers are disabled, versions and
positions are moved where an event is put between others, and nothing that follows is made to agree.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import msgspec
import psycopg

from ledger.audit.findings import Finding
from ledger.audit.scope import Scope
from ledger.events import (
    BetChanged,
    BetCorrected,
    BetPlaced,
    BetsCarried,
    BettingClosed,
    BetVoided,
    BetWithdrawn,
    CorrectionApproved,
    CorrectionProposed,
    DocumentRecorded,
    Event,
    FillRecorded,
    OutcomeRecorded,
    PayoutMade,
    PlayerAdjusted,
    Recorded,
    RoundOpened,
    RoundSettled,
    RoundVoided,
    SlipCancelled,
    SlipConfirmed,
    ThrowRecorded,
)
from ledger.feed.source import Source
from ledger.store import codec, log
from projections.runner import catch_up
from tests.golden import RELEASES, load
from tests.proofs.corpus import Defect, Where

Connection = psycopg.Connection[Any]


def base(dsn: str) -> None:
    """Fills the empty ledger at `dsn` with a day on which all happens that can, folded."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        load(conn, RELEASES[-1])
        while catch_up(conn):
            pass


def export(dsn: str, path: Path) -> None:
    """The log of a ledger, as `roundledger feed` prints it."""
    with Source(dsn) as source, path.open("wb") as file:
        mark: Any = 0
        while (page := source.page(mark, patience=10)).items:
            file.writelines(item.json() + b"\n" for item in page.items)
            mark = page.cursor


def found(dsn: str) -> list[Where]:
    """What `roundledger verify` finds in a ledger whose live tables have come to the end of its log, or as far as they can."""
    from cli.verify import of_database

    with psycopg.connect(dsn, autocommit=True) as conn:
        catch_up(conn)
    return [where_of(each) for each in of_database(dsn, Scope(), 1).findings]


def found_in_export(path: Path) -> list[Where]:
    """What `roundledger verify --from` finds in an export."""
    from cli.verify import of_export

    return [where_of(each) for each in of_export(path, Scope(), 1).findings]


def where_of(finding: Finding) -> Where:
    """A finding as a place."""
    row = finding.what.partition(":")[0] if finding.code.startswith("ROW_") else None
    return Where(finding.code, finding.stream, finding.bet, row)


def is_there(planted: Where, seen: list[Where]) -> bool:
    """Whether what was planted is among what was seen."""
    return any(
        each.code == planted.code and planted.stream in (None, each.stream) and planted.bet in (None, each.bet) for each in seen
    )


# ------------------------------------------------------------------------------------------------------------------ the tools


class Place:
    """A ledger's log under the hands of somebody who may do anything to it."""

    def __init__(self, conn: Connection, rng: random.Random) -> None:
        self.conn = conn
        self.rng = rng
        self.events = list(log.read_all(conn))

    def some(self, kind: type[Event], wanted: Callable[[Any], bool] = lambda body: True) -> Any:
        """An event (Recorded) of a kind of which something is true."""
        return self.rng.choice([each for each in self.events if isinstance(each.body, kind) and wanted(each.body)])

    def round(self, stream: UUID) -> list[Recorded]:
        """The events of a round."""
        return [each for each in self.events if each.stream == stream]

    def plainly_settled(self, body: Any) -> bool:
        """Whether no correction concerns the round of the bet that this is about."""
        streams = {each.stream for each in self.events if isinstance(each.body, CorrectionProposed)}
        mine = next(each.stream for each in self.events if each.body is body)
        return mine not in streams

    @contextmanager
    def unguarded(self) -> Iterator[None]:
        """Without triggers."""
        with self.conn.transaction():
            self.conn.execute("SET LOCAL session_replication_role = replica")
            yield

    def change(self, target: Recorded, **values: Any) -> None:
        """Writes other values into an event."""
        body = msgspec.structs.replace(target.body, **values)
        with self.unguarded():
            self.conn.execute(
                "UPDATE ledger.events SET state = %s WHERE notification_id = %s", (codec.encode(body), target.position)
            )

    def remove(self, target: Recorded, *, cover: bool = False) -> None:
        """Deletes an event; with `cover` those behind it in its stream are moved up, so that no version is missing."""
        with self.unguarded():
            self.conn.execute("DELETE FROM ledger.events WHERE notification_id = %s", (target.position,))
            if cover:
                self._move(target.stream, target.version, -1)

    def insert(self, behind: Recorded, body: Event) -> None:
        """Puts an event behind another; all that comes after it in the log is moved on by one position."""
        with self.unguarded():
            self.conn.execute(
                "UPDATE ledger.events SET notification_id = -notification_id WHERE notification_id > %s", (behind.position,)
            )
            self.conn.execute("UPDATE ledger.events SET notification_id = 1 - notification_id WHERE notification_id < 0")
            self._move(behind.stream, behind.version, 1)
            self.conn.execute(
                "INSERT INTO ledger.events (originator_id, originator_version, notification_id, topic, state) "
                "VALUES (%s, %s, %s, %s, %s)",
                (behind.stream, behind.version + 1, behind.position + 1, body.TOPIC, codec.encode(body)),
            )
            self.conn.execute("SELECT setval('ledger.positions', max(notification_id)) FROM ledger.events")

    def _move(self, stream: UUID, behind: int, by: int) -> None:
        self.conn.execute(
            "UPDATE ledger.events SET originator_version = -originator_version "
            "WHERE originator_id = %s AND originator_version > %s",
            (stream, behind),
        )
        self.conn.execute(
            "UPDATE ledger.events SET originator_version = %s - originator_version "
            "WHERE originator_id = %s AND originator_version < 0",
            (by, stream),
        )

    def row(self, statement: str) -> None:
        """Changes a row of the live tables."""
        with self.unguarded():
            assert self.conn.execute(statement.encode()).rowcount == 1


def in_database(code: str) -> Callable[[Callable[[Place], Any]], Defect]:
    """Makes a defect of a function that plants it and gives the event, or the stream and the bet, where it lies."""

    def defect(plant: Callable[[Place], Any]) -> Defect:
        def planted(conn: Connection, rng: random.Random) -> Where:
            at = plant(Place(conn, rng))
            if isinstance(at, Recorded):
                return Where(code, at.stream, getattr(at.body, "bet", None))
            return Where(code, *(at or ()))

        return Defect(plant.__name__, code, planted)

    return defect


def _won(body: Any) -> bool:
    return bool(body.result == "won" and int(body.prize) > 1000)


# ------------------------------------------------------------------------------------------------------------ what a bet got


@in_database("AMOUNT_DIFF")
def edited_amount(place: Place) -> Recorded:
    paid: Recorded = place.some(PayoutMade, _won)
    body: Any = paid.body
    more = place.rng.randrange(2, 9) * 1000
    amounts = {name: str(int(getattr(body, name)) + more) for name in ("prize", "net_prize", "returned")}
    place.change(paid, **amounts)
    return paid


@in_database("ROUNDING_DIFF")
def rounded_up(place: Place) -> Recorded:
    paid: Recorded = place.some(PayoutMade, lambda body: int(body.breakage) > 0)
    body: Any = paid.body
    place.change(
        paid,
        breakage=str(int(body.breakage) - 1),
        net_prize=str(int(body.net_prize) + 1),
        returned=str(int(body.returned) + 1),
    )
    return paid


@in_database("RULE_VERSION_DIFF")
def paid_by_another_version_of_the_rules(place: Place) -> Recorded:
    """A version with other odds is logged, and a winner is paid by it, in a round that names the first."""
    document = place.some(DocumentRecorded, lambda body: body.name == "30/2003" and body.kind == "regulation")
    content = document.body.content.replace('"odds":"35"', '"odds":"36"')
    other = msgspec.structs.replace(document.body, content=content, sha256=hashlib.sha256(content.encode()).hexdigest())
    paid: Recorded = place.some(PayoutMade, lambda body: body.odds == "35" and place.plainly_settled(body))
    body: Any = paid.body
    prize = int(body.stake) * 36
    amounts = {"prize_exact": str(prize), "prize": str(prize), "net_prize": str(prize), "returned": str(prize + int(body.stake))}
    place.change(paid, odds="36", **amounts)
    with place.unguarded():
        place.conn.execute(
            "INSERT INTO ledger.events (originator_id, originator_version, topic, state) VALUES (%s, 1, %s, %s)",
            (uuid4(), other.TOPIC, codec.encode(other)),
        )
    return paid


@in_database("UNPAID_WIN")
def unpaid_win(place: Place) -> Recorded:
    paid: Recorded = place.some(PayoutMade, _won)
    place.remove(paid, cover=True)
    return paid


@in_database("UNPAID_WIN")
def push_kept(place: Place) -> Recorded:
    paid: Recorded = place.some(PayoutMade, lambda body: body.result == "push")
    place.remove(paid, cover=True)
    return paid


@in_database("PAID_TWICE")
def doubled_payout(place: Place) -> Recorded:
    paid: Recorded = place.some(PayoutMade, _won)
    place.insert(paid, paid.body)
    return paid


@in_database("PAID_TWICE")
def paid_again_after_the_round(place: Place) -> Recorded:
    paid: Recorded = place.some(PayoutMade, lambda body: _won(body) and place.plainly_settled(body))
    place.insert(place.round(paid.stream)[-1], paid.body)
    return paid


@in_database("PAID_TWICE")
def carried_bet_paid_where_it_came_from(place: Place) -> tuple[UUID, UUID]:
    void = place.some(RoundVoided, lambda body: body.disposition == "carry")
    bet: Any = next(each.body for each in place.round(void.stream) if isinstance(each.body, BetPlaced))
    paid = place.some(PayoutMade, _won).body
    body = msgspec.structs.replace(paid, bet=bet.bet, spot=bet.spot, player=bet.player, currency=bet.currency)
    place.insert(void, body)
    return void.stream, bet.bet


@in_database("PAID_ON_VOID")
def paid_on_void(place: Place) -> tuple[UUID, UUID]:
    gone = place.some(BetWithdrawn) if place.rng.random() < 0.5 else place.some(BetVoided)
    events = place.round(gone.stream)
    ended = next(each for each in events if isinstance(each.body, OutcomeRecorded | ThrowRecorded))
    paid = place.some(PayoutMade, _won).body
    place.insert(ended, msgspec.structs.replace(paid, bet=gone.body.bet, currency=gone.body.currency, player=gone.body.player))
    return gone.stream, gone.body.bet


@in_database("PAID_ON_LOSS")
def paid_on_loss(place: Place) -> tuple[UUID, UUID]:
    outcome = place.some(OutcomeRecorded, lambda body: len(body.lost) > 0)
    line = place.rng.choice(outcome.body.lost)
    paid = place.some(PayoutMade, _won).body
    changed = msgspec.structs.replace(
        paid, bet=line.bet, player=line.player, spot=line.spot, stake=line.stake, currency=outcome.body.currency
    )
    place.insert(outcome, changed)
    return outcome.stream, line.bet


@in_database("UNTAKEN_LOSS")
def loser_left_alone(place: Place) -> tuple[UUID, UUID]:
    outcome = place.some(OutcomeRecorded, lambda body: len(body.lost) > 1)
    line = place.rng.choice(outcome.body.lost)
    place.change(outcome, lost=tuple(each for each in outcome.body.lost if each is not line))
    return outcome.stream, line.bet


@in_database("STAKE_DIFF")
def changed_stake(place: Place) -> Recorded:
    placed_here = {(each.stream, each.body.bet) for each in place.events if isinstance(each.body, BetPlaced)}
    at = {id(each.body): each.stream for each in place.events}
    paid = place.some(PayoutMade, lambda body: _won(body) and (at[id(body)], body.bet) in placed_here)
    bet: Recorded = place.some(BetPlaced, lambda body: body.bet == paid.body.bet)
    place.change(bet, stake=str(int(paid.body.stake) * 10))
    return bet


@in_database("PLAYER_DIFF")
def swapped_player(place: Place) -> Recorded:
    paid: Recorded = place.some(PayoutMade, _won)
    place.change(paid, player="P-9999")
    return paid


@in_database("SPOT_DIFF")
def moved_bet(place: Place) -> Recorded:
    bet: Recorded = place.some(BetPlaced, lambda body: body.spot == "straight:17" and place.plainly_settled(body))
    place.change(bet, spot="straight:18", numbers=(18,))
    return bet


@in_database("CITE_DIFF")
def edited_article(place: Place) -> Recorded:
    paid: Recorded = place.some(PayoutMade)
    place.change(paid, article="30/2003 art. 99")
    return paid


@in_database("CURRENCY_DIFF")
def another_currency(place: Place) -> tuple[UUID]:
    paid: Recorded = place.some(PayoutMade)
    place.change(paid, currency="USD")
    return (paid.stream,)


@in_database("BET_TWICE")
def bet_placed_in_two_rounds(place: Place) -> tuple[UUID, UUID]:
    """The later of the two is accused."""
    one, other = place.some(BetPlaced), place.some(BetPlaced)
    while one.stream == other.stream:
        other = place.some(BetPlaced)
    place.change(other, bet=one.body.bet, cause=one.body.cause)
    return max(one, other, key=lambda each: each.position).stream, one.body.bet


# ---------------------------------------------------------------------------------------- what the table showed, and the order


@in_database("OUTCOME_DIFF")
def wrong_outcome_keyed(place: Place) -> tuple[UUID]:
    outcome = place.some(OutcomeRecorded, lambda body: body.outcome == "17" and len(body.lost) > 2)
    place.change(outcome, raw="20", outcome="20", shown="20, black")
    return (outcome.stream,)


@in_database("OUTCOME_DIFF")
def raw_outcome_edited(place: Place) -> tuple[UUID]:
    outcome = place.some(OutcomeRecorded, lambda body: body.outcome == "17")
    place.change(outcome, raw="18")
    return (outcome.stream,)


@in_database("PAY_ORDER")
def paid_out_of_order(place: Place) -> tuple[UUID]:
    def swap(stream: UUID) -> bool:
        paid = [each for each in place.round(stream) if isinstance(each.body, PayoutMade)]
        players = [getattr(each.body, "player", "") for each in paid]
        if len(paid) < 2 or len(set(players)) < len(players):
            return False
        place.change(paid[0], **msgspec.structs.asdict(paid[1].body))
        place.change(paid[1], **msgspec.structs.asdict(paid[0].body))
        return True

    streams = sorted({each.stream for each in place.events if isinstance(each.body, OutcomeRecorded)})
    place.rng.shuffle(streams)
    return (next(stream for stream in streams if swap(stream)),)


@in_database("LATE_BET")
def late_bet_honoured_without_approval(place: Place) -> tuple[UUID, UUID]:
    closed = place.some(BettingClosed)
    bet: Any = next(each.body for each in place.round(closed.stream) if isinstance(each.body, BetPlaced))
    new = uuid4()
    place.insert(closed, msgspec.structs.replace(bet, bet=new, cause=new, sequence=None))
    return closed.stream, new


@in_database("LATE_BET")
def late_bet_without_its_number(place: Place) -> Recorded:
    bet: Recorded = place.some(BetPlaced, lambda body: body.late)
    place.change(bet, sequence=None)
    return bet


@in_database("OUT_OF_PLACE")
def changed_stake_after_the_close(place: Place) -> tuple[UUID, UUID]:
    closed = place.some(BettingClosed)
    bet: Any = next(each.body for each in place.round(closed.stream) if isinstance(each.body, BetPlaced))
    some = place.some(BetChanged).body
    raised = msgspec.structs.replace(
        some,
        bet=bet.bet,
        player=bet.player,
        was_spot=bet.spot,
        was_stake=bet.stake,
        spot=bet.spot,
        numbers=bet.numbers,
        stake=bet.stake + "0",
        currency=bet.currency,
        sequence=None,
    )
    place.insert(closed, raised)
    return closed.stream, bet.bet


@in_database("TOTALS_DIFF")
def edited_totals(place: Place) -> tuple[UUID]:
    settled = place.some(RoundSettled, lambda body: int(body.handle) > 0)
    place.change(settled, handle=str(int(settled.body.handle) + 100))
    return (settled.stream,)


@in_database("VOID_DIFF")
def void_carried_instead_of_standing(place: Place) -> tuple[UUID]:
    void = place.some(RoundVoided, lambda body: body.disposition == "stand")
    place.change(void, disposition="carry")
    return (void.stream,)


@in_database("RETURN_DIFF")
def more_returned_than_taken(place: Place) -> Recorded:
    gone: Recorded = place.some(BetWithdrawn)
    body: Any = gone.body
    place.change(gone, stake=body.stake + "0")
    return gone


@in_database("CHAIN_DIFF")
def carried_bet_lowered_on_the_way(place: Place) -> tuple[UUID]:
    carried = place.some(BetsCarried)
    first, *others = carried.body.bets
    place.change(carried, bets=(msgspec.structs.replace(first, stake=first.stake[:-1] or "1"), *others))
    return (carried.stream,)


# ------------------------------------------------------------------------------------------------------------------ corrections


@in_database("SELF_APPROVED")
def correction_approved_by_its_author(place: Place) -> tuple[UUID]:
    approval = place.some(CorrectionApproved)
    asked = place.some(CorrectionProposed, lambda body: body.correction == approval.body.correction)
    place.change(approval, by=asked.body.by)
    return (approval.stream,)


@in_database("UNAPPROVED_CORRECTION")
def correction_without_approval(place: Place) -> tuple[UUID]:
    made = place.some(BetCorrected)
    place.remove(place.some(CorrectionApproved, lambda body: body.correction == made.body.correction), cover=True)
    return (made.stream,)


@in_database("UNAPPROVED_CORRECTION")
def ex_gratia_with_one_approval(place: Place) -> tuple[UUID]:
    made = place.some(PlayerAdjusted, lambda body: body.kind == "ex_gratia")
    place.remove(place.some(CorrectionApproved, lambda body: body.correction == made.body.correction), cover=True)
    return (made.stream,)


@in_database("CORRECTION_DIFF")
def mispay_edited(place: Place) -> tuple[UUID]:
    made = place.some(PlayerAdjusted)
    place.change(made, amount=made.body.amount + "0")
    return (made.stream,)


@in_database("CORRECTION_DIFF")
def correction_that_gives_more(place: Place) -> Recorded:
    made: Recorded = place.some(BetCorrected, lambda body: int(body.after.returned) > 0)
    body: Any = made.body
    after = body.after
    place.change(made, after=msgspec.structs.replace(after, returned=after.returned + "0"))
    return made


# ------------------------------------------------------------------------------------------------------ the log and its documents


@in_database("SEQ_GAP")
def lost_event(place: Place) -> tuple[UUID]:
    bet = place.some(BetPlaced)
    place.remove(bet)
    return (bet.stream,)


def _without_its_end(place: Place) -> tuple[UUID]:
    """A settled round loses its last event, which leaves no gap behind."""
    rounds = [place.round(each.stream) for each in place.events if isinstance(each.body, RoundSettled)]
    last = place.rng.choice([events[-1] for events in rounds if isinstance(events[-1].body, RoundSettled)])
    place.remove(last)
    return (last.stream,)


@in_database("CLAIM_DIFF")
def lost_end_of_a_report(place: Place) -> tuple[UUID]:
    return _without_its_end(place)


@in_database("HALF_SETTLED")
def lost_settlement(place: Place) -> tuple[UUID]:
    return _without_its_end(place)


@in_database("REPORT_DIFF")
def payout_of_another_report(place: Place) -> Recorded:
    paid: Recorded = place.some(PayoutMade)
    place.change(paid, cause=place.some(BettingClosed).body.cause)
    return paid


@in_database("REPORT_DIFF")
def correction_made_by_another_report(place: Place) -> Recorded:
    made: Recorded = place.some(BetCorrected)
    place.change(made, cause=place.some(BetPlaced).body.cause)
    return made


@in_database("REPORT_DIFF")
def payout_received_before_its_outcome(place: Place) -> Recorded:
    paid: Recorded = place.some(PayoutMade)
    body: Any = paid.body
    place.change(paid, received_at=body.received_at - timedelta(seconds=place.rng.uniform(0.001, 30)))
    return paid


@in_database("REPORT_DIFF")
def stakes_taken_over_by_another_report(place: Place) -> tuple[UUID]:
    carried = place.some(BetsCarried)
    place.change(carried, cause=place.some(BettingClosed).body.cause)
    return (carried.stream,)


@in_database("DOCUMENT_ALTERED")
def altered_document(place: Place) -> tuple[UUID]:
    document = place.some(DocumentRecorded, lambda body: body.kind == "regulation")
    place.change(document, content=document.body.content.replace('"odds":"', '"odds":"1', 1))
    return (document.stream,)


@in_database("DOCUMENT_MISSING")
def lost_document(place: Place) -> None:
    place.remove(place.some(DocumentRecorded, lambda body: body.kind == "regulation"))


@in_database("TERMS_DIFF")
def payable_unit_changed(place: Place) -> tuple[UUID]:
    opened = place.some(RoundOpened, lambda body: body.game == "roulette")
    place.change(opened, payable_unit="1000")
    return (opened.stream,)


@in_database("SLIP_DIFF")
def slip_signed_for_more(place: Place) -> tuple[UUID]:
    signed = place.some(SlipConfirmed, lambda body: not body.cancellation)
    place.change(signed, amount=signed.body.amount + "0")
    return (signed.stream,)


@in_database("SLIP_DIFF")
def slip_signed_as_another_kind(place: Place) -> tuple[UUID]:
    signed = place.some(SlipConfirmed, lambda body: body.kind == "fill")
    place.change(signed, kind="credit")
    return (signed.stream,)


@in_database("SLIP_DIFF")
def slip_signed_for_another_table(place: Place) -> tuple[UUID]:
    signed = place.some(SlipConfirmed)
    place.change(signed, table=signed.body.table + "X")
    return (signed.stream,)


@in_database("SLIP_DIFF")
def cancellation_signed_by_who_asked(place: Place) -> tuple[UUID]:
    signed = place.some(SlipConfirmed, lambda body: body.cancellation)
    asked = place.some(SlipCancelled, lambda body: body.confirmed and body.slip == signed.body.slip)
    place.change(signed, by=asked.body.by)
    return (signed.stream,)


@in_database("SLIP_DIFF")
def cancellation_of_more(place: Place) -> tuple[UUID]:
    signed = place.some(SlipConfirmed, lambda body: body.cancellation)
    place.change(signed, amount=signed.body.amount + "00")
    return (signed.stream,)


@in_database("SLIP_DIFF")
def signature_made_a_cancellation(place: Place) -> tuple[UUID]:
    signed = place.some(SlipConfirmed, lambda body: not body.cancellation)
    place.change(signed, cancellation=True)
    return (signed.stream,)


@in_database("SLIP_DIFF")
def fill_that_does_not_add_up(place: Place) -> tuple[UUID]:
    fill = place.some(FillRecorded)
    place.change(fill, total=fill.body.total + "0")
    return (fill.stream,)


@in_database("UNREADABLE")
def payload_written_over(place: Place) -> tuple[UUID]:
    bet = place.some(BetPlaced)
    with place.unguarded():
        place.conn.execute("UPDATE ledger.events SET state = '{}' WHERE notification_id = %s", (bet.position,))
    return (bet.stream,)


# ------------------------------------------------------------------------------------------------------------------ live tables


@in_database("ROW_DIFF")
def projection_row_edited(place: Place) -> None:
    place.row("UPDATE projection.balances SET balance = balance + 1 WHERE account = 'win/R01' AND currency = 'MOP'")


@in_database("ROW_MISSING")
def projection_row_missing(place: Place) -> None:
    place.row("DELETE FROM projection.late_bets WHERE position = (SELECT min(position) FROM projection.late_bets)")


@in_database("BALANCE_DIFF")
def money_made_up(place: Place) -> None:
    place.row("UPDATE projection.balances SET balance = balance + 5000 WHERE account = 'player/P-1001' AND currency = 'MOP'")


# ---------------------------------------------------------------------------------------------------------------------- exports


def in_export(code: str) -> Callable[[Callable[[list[Any], random.Random], Any]], Defect]:
    """Makes a defect of a function that changes the lines of an export and gives the stream and the bet where it lies."""

    def defect(plant: Callable[[list[Any], random.Random], Any]) -> Defect:
        def planted(path: Path, rng: random.Random) -> Where:
            lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
            at = plant(lines, rng)
            text = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)
            path.write_text(text, "utf-8")
            stream, bet = (*map(UUID, at), None)[:2]
            return Where(code, stream, bet)

        return Defect(plant.__name__, code, planted, "export")

    return defect


def _line(lines: list[Any], rng: random.Random, kind: str, **values: Any) -> Any:
    named = [line for line in lines if line["type"] == f"roundledger.{kind}.v1"]
    return rng.choice([line for line in named if all(line["data"].get(key) == value for key, value in values.items())])


@in_export("AMOUNT_DIFF")
def amount_edited_in_an_export(lines: list[Any], rng: random.Random) -> tuple[str, str]:
    paid = _line(lines, rng, "PayoutMade", result="won")
    paid["data"] |= {name: paid["data"][name] + "0" for name in ("prize", "net_prize", "returned")}
    return paid["subject"], paid["data"]["bet"]


@in_export("SEQ_GAP")
def line_lost_from_an_export(lines: list[Any], rng: random.Random) -> tuple[str]:
    bet = _line(lines, rng, "BetPlaced")
    lines.remove(bet)
    return (bet["subject"],)


@in_export("OUTCOME_DIFF")
def outcome_edited_in_an_export(lines: list[Any], rng: random.Random) -> tuple[str]:
    outcome = _line(lines, rng, "OutcomeRecorded", outcome="17")
    outcome["data"]["raw"] = "7"
    return (outcome["subject"],)


@in_export("BET_TWICE")
def bet_placed_in_two_rounds_of_an_export(lines: list[Any], rng: random.Random) -> tuple[str, str]:
    one = _line(lines, rng, "BetPlaced")
    other = rng.choice([line for line in lines if line["type"] == one["type"] and line["subject"] != one["subject"]])
    other["data"] |= {"bet": one["data"]["bet"], "cause": one["data"]["cause"]}
    return max(one, other, key=lambda line: int(line["position"]))["subject"], one["data"]["bet"]


@in_export("REPORT_DIFF")
def payout_of_another_report_in_an_export(lines: list[Any], rng: random.Random) -> tuple[str, str]:
    paid = _line(lines, rng, "PayoutMade")
    paid["data"]["cause"] = _line(lines, rng, "BettingClosed")["data"]["cause"]
    return paid["subject"], paid["data"]["bet"]


@in_export("REPORT_DIFF")
def totals_of_another_report_in_an_export(lines: list[Any], rng: random.Random) -> tuple[str]:
    settled = _line(lines, rng, "RoundSettled")
    settled["data"]["cause"] = _line(lines, rng, "BetPlaced")["data"]["cause"]
    return (settled["subject"],)


@in_export("REPORT_DIFF")
def payout_received_before_its_outcome_in_an_export(lines: list[Any], rng: random.Random) -> tuple[str, str]:
    paid = _line(lines, rng, "PayoutMade")
    received = datetime.fromisoformat(paid["data"]["received_at"]) - timedelta(seconds=rng.uniform(0.001, 30))
    paid["data"]["received_at"] = received.isoformat()
    return paid["subject"], paid["data"]["bet"]


@in_export("REPORT_DIFF")
def bet_received_at_another_hour_in_an_export(lines: list[Any], rng: random.Random) -> tuple[str, str]:
    """By more than the house tolerates, and not flagged."""
    bet = rng.choice([line for line in lines if "BetPlaced" in line["type"] and "flags" not in line["data"]])
    bet["data"]["received_at"] = (datetime.fromisoformat(bet["data"]["received_at"]) - timedelta(hours=1)).isoformat()
    return bet["subject"], bet["data"]["bet"]


DEFECTS: tuple[Defect, ...] = tuple(each for each in list(globals().values()) if isinstance(each, Defect))
"""Every kind, in the order above."""
