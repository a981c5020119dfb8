"""What is posted on the day of the golden log: every kind of event, and every way to it that leaves another one."""

from __future__ import annotations

from typing import Any

from ledger.events import (
    BetChanged,
    BettingReopened,
    BetVoided,
    BetWithdrawn,
    ChipsCounted,
    ChipsRestored,
    ColourChipsIssued,
    CorrectionApproved,
    CorrectionDeclined,
    CorrectionProposed,
    CreditRecorded,
    DropCounted,
    FillRecorded,
    GamingDayClosed,
    LateBetRecorded,
    NumbersGivenUp,
    PlayerErased,
    PlayerHeld,
    PlayerReleased,
    RoundHeld,
    RoundReleased,
    RoundVoided,
    ShooterChanged,
    SlipCancelled,
    SlipConfirmed,
    StaffSignedOff,
    StaffSignedOn,
)
from ledger.events import Event as LogEvent
from tests.golden.floor import Event, Floor, Post

ROULETTE = (
    *("straight:17", "straight:0", "split:17-20", "street:16-17-18", "corner:16-17-19-20", "six_line:16-21", "sector9:10-18"),
    *("sector12:A", "sector12:B", "column:2", "dozen:2", "even", "odd", "low", "high", "red", "black"),
)
CUSSEC = ("small", "big", "three_army:2", "triple:2", "any_triple", "total:6", "total:11")
FANTAN = ("fan:3", "nim:3/1", "nim:1/3", "kuoc:12", "nga:12/3", "nga:34/1", "sshong:123")


def play() -> list[Post]:
    """A day of every kind of event; at its end a round of each game is left open or closed."""
    floor = Floor()
    as_it_should_go(floor)
    around_the_bell(floor)
    late_bets(floor)
    put_right(floor)
    returned_by_the_house(floor)
    carried(floor)
    thrown(floor)
    at_the_cage(floor)
    forgotten(floor)
    left_open(floor)
    return floor.posts


def as_it_should_go(floor: Floor) -> None:
    """Wins, losses and pushes, refusals, large amounts."""
    # The last round of a gaming day, in posts of their own, with all that a terminal may say.
    floor.post(floor.open("R01", "roulette", shift="night", dealer="D-7", supervisor="S-2"))
    bets = [floor.bet("R01", spot, 10_000, seat=3, chip="promotional") for spot in ROULETTE]
    floor.post(*({**bet, "sequence": str(n)} for n, bet in enumerate(bets, 1)))
    floor.post(floor.close("R01"))
    floor.post(floor.outcome("R01", "17"))
    # Zero takes all but the straight on zero (30/2003 art. 8); a triple takes small and big (31/2003 art. 7).
    floor.whole("R01", "roulette", "MOP", [(spot, 5_000) for spot in ROULETTE], "0")
    floor.whole("C01", "cussec", "MOP", [(spot, 777) for spot in CUSSEC], "2-2-2")
    floor.whole("C01", "cussec", "MOP", [(spot, 1) for spot in CUSSEC], "6-1-4")
    # Commission, breakage and pushes.
    for shown in ("3", "1", "8"):
        floor.whole("F01", "fantan", "MOP", [(spot, 10_001) for spot in FANTAN], shown)
    # Amounts above 2^31 and 2^53, two currencies, a round without bets.
    floor.whole("R01", "roulette", "MOP", [("straight:36", 100_000_000), ("red", 10**15)], "36")
    floor.whole("R02", "roulette", "HKD", [("straight:7", 10**15), ("straight:7", 1), ("black", 10**15)], "7")
    floor.whole("R02", "roulette", "HKD", [], "26")
    # What is refused leaves its verdict and no event.
    floor.post(floor.open("C01", "cussec"), floor.bet("C01", "big", 5_000, "HKD"), floor.bet("C01", "total:3", 5_000))
    floor.post(floor.bet("C01", "big", 5_000), floor.close("C01"), floor.bet("C01", "small", 5_000))
    floor.post(floor.outcome("C01", "4-5-6"), floor.outcome("C01", "1-1-1"))


def around_the_bell(floor: Floor) -> None:
    """People at a table; bets taken back, moved, raised, lowered and declared void; void launches, a review, chips put back."""
    on, off = StaffSignedOn, StaffSignedOff
    floor.post(floor.staff("R01", on, "D-7", "dealer"), floor.staff("R01", on, "S-2", "supervisor"), by="S-2")
    floor.post(floor.staff("R01", on, "D-8", "dealer"), by="S-2")  # relieves D-7
    floor.post(floor.open("R01", "roulette"))
    bets = [floor.bet("R01", spot, 10_000, seat=1) for spot in ("straight:17", "red", "low", "even", "dozen:2")]
    floor.post(*bets)
    back, moved, raised, lowered, wrong = (bet["id"] for bet in bets)
    floor.post(
        floor.event("R01", BetWithdrawn, {"bet": back}),
        floor.event("R01", BetChanged, {"bet": moved, "spot": "split:17-20"}),
        floor.event("R01", BetChanged, {"bet": raised, "stake": "25000"}),
        floor.event("R01", BetChanged, {"bet": lowered, "spot": "odd", "stake": "2500"}),
    )
    floor.post(floor.event("R01", BetVoided, {"bet": wrong, "reason": "miskeyed", "note": "的 wrong seat"}), by="S-2")
    # A terminal whose clock is hours off.
    floor.post(floor.close("R01", time="2026-11-28T12:00:00+00:00"))
    for note in ({}, {"note": "the ball left the wheel"}):
        floor.post(floor.event("R01", RoundVoided, {"reason": "golpe_nulo", **note}))
    late = {"player": "P-1002", "spot": "red", "stake": "500", "currency": "MOP", "seat": 2}
    floor.post(floor.event("R01", LateBetRecorded, late), by="S-2")
    hold, of_bet = (floor.event("R01", RoundHeld, {"reason": "dispute", **more}) for more in ({}, {"bet": moved}))
    floor.post(hold, of_bet, by="S-2")
    for each in (hold, of_bet):
        floor.post(floor.event("R01", RoundReleased, {"hold": each["id"], "finding": "stands", "note": "seen"}), by="S-5")
    floor.post(floor.outcome("R01", "17"))
    chips = {"restored_by": "S-2", "source": "surveillance", "bets": [moved]}
    floor.post(floor.event("R01", ChipsRestored, chips, source="/people/S-2"), by="S-2")
    floor.post(floor.staff("R01", off, "D-8", "dealer"), floor.staff("R01", off, "S-2", "supervisor"), by="S-2")


def at_the_cage(floor: Floor) -> None:
    """The cage's side of a table: slips of every kind, signed, cancelled and posted back; colour chips; a day that is closed."""
    chips = [{"value": "10000", "count": 40}, {"value": "500", "count": 7}]
    said = {"table": "R01", "currency": "MOP", "shift": "night"}
    tray = {**said, "chips": chips, "total": "403500"}
    opener, closer = (slip(floor, ChipsCounted, {**tray, "kind": kind}) for kind in ("opener", "closer"))
    fill, wrong = (slip(floor, FillRecorded, {**tray, "number": number}) for number in (1, 2))
    credit = slip(floor, CreditRecorded, {**tray, "number": 1, "note": "的"})
    drop = slip(floor, DropCounted, {**said, "box": "R01-1", "cash": "9000", "vouchers": "1000", "total": "10000"})
    floor.post(opener, fill, wrong, credit, closer, by="S-2")
    floor.post(drop, by="A-1")
    for each, kind in ((opener, "opener"), (fill, "fill"), (wrong, "fill"), (closer, "closer")):
        floor.post(slip(floor, SlipConfirmed, {"table": "R01", "slip": each["id"], "kind": kind}), by="S-5")
    floor.post(slip(floor, SlipConfirmed, {"table": "R01", "slip": drop["id"], "kind": "drop"}), by="C-1")
    for each, kind in ((credit, "credit"), (wrong, "fill")):
        about = {"table": "R01", "slip": each["id"], "kind": kind}
        floor.post(slip(floor, SlipCancelled, {**about, "reason": "wrong_table"}), by="S-5")
    floor.post(slip(floor, SlipConfirmed, {"table": "R01", "slip": wrong["id"], "kind": "fill", "cancellation": True}), by="S-2")
    colours = {"table": "R01", "player": "P-1001", "colour": "green", "value": "500", "currency": "MOP"}
    floor.post(slip(floor, ColourChipsIssued, colours))
    day = {"property": "GOLDEN", "gaming_day": "2026-11-28", "as_of": "100", "figures": "0" * 64, "despite": ["missing_drop"]}
    floor.post(floor.event("R01", GamingDayClosed, day, subject="GOLDEN"), by="C-1")


def forgotten(floor: Floor) -> None:
    """A player whose reference is held, released, and erased."""
    opened, bet = floor.open("R01", "roulette"), floor.bet("R01", "red", 10_000, player="P-1777")
    floor.post(opened, bet, floor.close("R01"), floor.outcome("R01", "1"))
    player = {"property": "GOLDEN", "player": "P-1777"}
    for kind, reason in ((PlayerHeld, "inquiry"), (PlayerReleased, "inquiry"), (PlayerErased, "asked")):
        floor.post(floor.event("R01", kind, {**player, "reason": reason}, subject="GOLDEN"), by="A-1")


def slip(floor: Floor, kind: type[LogEvent], data: Any) -> Event:
    """What is reported of a table and of no round."""
    return floor.event("R01", kind, data, subject="R01")


def late_bets(floor: Floor) -> None:
    """Placed in time by the terminal's numbers: one arrives before the outcome and one after it; another was too late."""

    def numbered(event: Event, n: int) -> Event:
        return {**event, "sequence": str(n), "epoch": "2"}

    floor.post(numbered(floor.open("R02", "roulette"), 1), numbered(floor.bet("R02", "red", 700, "HKD"), 2))
    closed, settled = floor.bet("R02", "straight:7", 300, "HKD"), floor.bet("R02", "black", 400, "HKD")
    floor.post(numbered(floor.close("R02"), 5))
    floor.post(numbered(closed, 3), numbered(floor.outcome("R02", "7"), 6))
    floor.post(numbered(settled, 4))
    floor.post(numbered(floor.bet("R02", "odd", 900, "HKD"), 7))
    corrected(floor, "R02", kind="late_bet", bet=settled["id"])
    # A number that never comes, and a bet that its terminal placed after its bell and that is here before it.
    floor.post(numbered(floor.open("R02", "roulette"), 9))
    gone = {"table": "R02", "of_terminal": "T-R02", "of_epoch": 2, "first": 8, "last": 8, "reason": "lost_disk", "note": "的"}
    floor.post(floor.event("R02", NumbersGivenUp, gone, subject="R02"), by="S-2")
    floor.post(numbered(floor.bet("R02", "red", 700, "HKD"), 10), numbered(floor.bet("R02", "red", 900, "HKD"), 12))
    floor.post(numbered(floor.close("R02"), 11), numbered(floor.outcome("R02", "7"), 13))


def put_right(floor: Floor) -> None:
    """Corrections of every kind but the return, with their approvals; one declined, one withdrawn by its author."""
    bets = [("straight:17", 10_000), ("red", 5_000), ("black", 5_000), ("odd", 300), ("low", 400), ("dozen:2", 500)]
    straight, red, black, odd, low, dozen = (bet["id"] for bet in floor.whole("R01", "roulette", "MOP", bets, "17"))
    hold = floor.event("R01", RoundHeld, {"reason": "surveillance_review"})
    floor.post(hold, by="S-2")
    made = corrected(floor, "R01", kind="outcome", outcome="36", hold=hold["id"], note="the camera shows 36")
    floor.post(
        floor.event("R01", RoundReleased, {"hold": hold["id"], "finding": "corrected", "correction": made["id"]}), by="S-5"
    )
    corrected(floor, "R01", kind="bet", bet=straight, spot="straight:36")
    corrected(floor, "R01", kind="bet", bet=red, stake="7000", player="P-1009")
    corrected(floor, "R01", kind="bet", bet=odd, stake="100", spot="even")
    corrected(floor, "R01", kind="bet_void", bet=black)
    corrected(floor, "R01", kind="mispay", bet=low, direction="from_player", amount="150")
    corrected(floor, "R01", kind="mispay", bet=dozen, direction="to_player", amount="1000")
    corrected(
        floor, "R01", approvals=("S-5", "A-1"), kind="ex_gratia", player="P-1003", amount="5000", spot="straight:36", stake="200"
    )
    for person in ("A-1", "S-2"):
        asked = proposed(floor, "R01", kind="outcome", outcome="0")
        floor.post(floor.event("R01", CorrectionDeclined, {"correction": asked["id"], "note": "it was 36"}), by=person)
    # Who asked does not approve it: a refusal for good.
    asked = proposed(floor, "R01", kind="outcome", outcome="0")
    floor.post(floor.event("R01", CorrectionApproved, {"correction": asked["id"]}), by="S-2")
    # A push and a commission corrected: fantan.
    nim, _ = (bet["id"] for bet in floor.whole("F01", "fantan", "MOP", [("nim:1/3", 10_001), ("fan:1", 9_999)], "3"))
    corrected(floor, "F01", kind="outcome", outcome="1")
    corrected(floor, "F01", kind="bet", bet=nim, spot="nga:12/3")


def returned_by_the_house(floor: Floor) -> None:
    """The house gives stakes back by approval: before the outcome, and after it."""
    floor.post(floor.open("F01", "fantan"), floor.bet("F01", "fan:1", 4_000), floor.bet("F01", "kuoc:34", 1_000, seat=9))
    corrected(floor, "F01", kind="return", reason="table_closed")
    floor.whole("F01", "fantan", "MOP", [("fan:1", 4_001), ("fan:2", 100)], "1")
    corrected(floor, "F01", kind="return", reason="dispute_upheld", note="the buttons had been seen")


def carried(floor: Floor) -> None:
    """31/2003 art. 3(3): twice void, the bets carried and locked; one that arrives late goes on to where they are."""
    first = floor.open("C01", "cussec", sequence="1", epoch="2")
    small = floor.bet("C01", "small", 6_000, sequence="2", epoch="2")
    late = floor.bet("C01", "total:6", 200, "MOP", "P-1002", sequence="3", epoch="2")
    floor.post(first, small, floor.close("C01", sequence="4", epoch="2"))
    successor = floor.id()
    floor.post(floor.event("C01", RoundVoided, {"reason": "bridged_dice", "successor": successor, "note": "one leans"}))
    floor.post(late)
    floor.round = successor
    floor.post(floor.event("C01", BetWithdrawn, {"bet": small["id"]}))  # refused: it is locked
    floor.post(floor.bet("C01", "big", 500, seat=4), floor.close("C01"))
    successor = floor.id()
    floor.post(floor.event("C01", RoundVoided, {"reason": "bridged_dice", "successor": successor}))
    floor.round = successor
    floor.post(floor.bet("C01", "any_triple", 50), floor.close("C01"), floor.outcome("C01", "1-2-3"))
    corrected(floor, "C01", kind="outcome", outcome="1-1-4")


def thrown(floor: Floor) -> None:
    """Craps throw by throw: a void throw, bets between throws, a bet that moves, one that outlives its round; a correction."""
    floor.post(floor.open("X01", "craps"), floor.event("X01", ShooterChanged, {"shooter": "P-1001"}))
    passed = floor.bet("X01", "pass", 10_000)
    floor.post(passed, floor.bet("X01", "dont_pass", 3_000, player="P-1002"), floor.close("X01"), floor.throw("X01", "4-2"))
    reopen = floor.event("X01", BettingReopened, {})
    come, odds = floor.bet("X01", "come", 2_000), floor.bet("X01", "pass_odds", 10_000)
    place = floor.bet("X01", "place:8", 6_000, player="P-1003")
    floor.post(reopen, odds, come, place, floor.close("X01"))
    floor.post(floor.throw("X01", void="not_rolled"))
    floor.post(floor.event("X01", BettingReopened, {}), floor.event("X01", BetChanged, {"bet": odds["id"], "stake": "5000"}))
    floor.post(floor.close("X01"), floor.throw("X01", "5-3"))
    floor.post(floor.event("X01", ShooterChanged, {"shooter": "P-1003"}))
    first, successor = floor.round, floor.id()
    floor.post(floor.throw("X01", "3-3", successor=successor))
    floor.round = first
    corrected(floor, "X01", kind="outcome", outcome="2-4,void,3-5,2-4")
    corrected(floor, "X01", kind="bet", bet=passed["id"], stake="12000")
    floor.round = successor
    floor.post(floor.bet("X01", "pass", 1_000), floor.close("X01"), floor.throw("X01", "4-3"))


def left_open(floor: Floor) -> None:
    """Rounds whose betting is open, closed, and open again."""
    floor.post(floor.open("C01", "cussec"), floor.bet("C01", "any_triple", 200), floor.close("C01"))
    floor.post(floor.open("R02", "roulette"), floor.bet("R02", "straight:0", 300, "HKD"))
    floor.post(floor.open("X01", "craps"), floor.bet("X01", "pass", 5_000), floor.close("X01"), floor.throw("X01", "2-2"))
    floor.post(floor.event("X01", BettingReopened, {}), floor.bet("X01", "pass_odds", 5_000))


def proposed(floor: Floor, table: str, *, reason: str = "miskeyed", **asked: Any) -> Event:
    """S-2 asks for a correction of the floor's round."""
    event = floor.event(table, CorrectionProposed, {"reason": reason, **asked})
    floor.post(event, by="S-2")
    return event


def corrected(floor: Floor, table: str, *, approvals: tuple[str, ...] = ("S-5",), **asked: Any) -> Event:
    """S-2 asks for a correction and others approve it; what asked for it."""
    event = proposed(floor, table, **asked)
    for person in approvals:
        floor.post(floor.event(table, CorrectionApproved, {"correction": event["id"]}), by=person)
    return event
