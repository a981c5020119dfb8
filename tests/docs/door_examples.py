"""The examples of the door's contract, made by posting them to a real door; `python -m tests.docs.references` writes them.

Every type of event is posted once as an example, and accepted, by whoever may post it: terminals of three tables, and two people
with their tokens. The clock stands still and the ids are fixed, so that the same door gives the same examples.
"""

from __future__ import annotations

import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest import mock

import anyio
import httpx
import msgspec
import psycopg

from ledger.api.access import Access
from ledger.api.app import create_app
from ledger.api.bodies import BATCH, ONE
from ledger.api.feed import Feed
from ledger.api.metrics import Metrics
from ledger.api.reader import SqlReader
from ledger.application import Rounds
from ledger.feed.source import Mark, Source
from ledger.property import Choice, Table
from ledger.reports import TYPES
from ledger.store import credentials, log
from projections.runner import catch_up
from tests.support import DEMO

NOW = datetime(2026, 11, 29, 12, 0, 1, tzinfo=UTC)
ROUND = "01937787-d400-7000-8000-00000000aa01"
CUSSEC, SUCCESSOR = ROUND[:-4] + "bb01", ROUND[:-4] + "bb02"
CRAPS = ROUND[:-4] + "cc01"
HOUSE = msgspec.structs.replace(
    DEMO,
    tables=(*DEMO.tables, Table(id="X01", pit="B", game="craps", currency="MOP", payable_unit="0.01", terminals=("T-X01",))),
    choices=(*DEMO.choices, Choice(regulation="53/2010", unverified_bets=True)),
)


def event(
    number: int, kind: str, data: dict[str, Any], *, table: str = "R01", subject: str = ROUND, **more: str
) -> dict[str, Any]:
    return {
        "specversion": "1.0",
        "id": f"01937787-d400-7000-8000-{number:012}",
        "source": f"/terminals/T-{table}",
        "type": f"roundledger.{kind}.v1",
        "subject": subject,
        "time": f"2026-11-29T20:00:{number % 60:02}+08:00",
        "sequence": str(number % 100),
        "datacontenttype": "application/json",
        "data": data,
    } | more


def bet(number: int, spot: str, *, table: str = "R01", subject: str = ROUND, **data: Any) -> dict[str, Any]:
    said = {"player": "P-1001", "spot": spot, "stake": "10000", "currency": "MOP", **data}
    return event(number, "BetPlaced", said, table=table, subject=subject)


def person(number: int, who: str, kind: str, data: dict[str, Any], subject: str = ROUND) -> dict[str, Any]:
    """What a person reports at a desk: it has no number, for no terminal numbers it."""
    said = event(number, kind, data, subject=subject, source=f"/people/{who}")
    del said["sequence"]
    return said


OPEN = event(1, "RoundOpened", {"table": "R01", "game": "roulette", "shift": "swing", "dealer": "D-11", "supervisor": "S-7"})
STRAIGHT = bet(2, "straight:17", seat=3)
RED = bet(3, "red", player="P-1002", seat=5)
WRONG = bet(4, "split:17-19")
CLOSE = event(5, "BettingClosed", {})
OUTCOME = event(6, "OutcomeRecorded", {"outcome": "17"})
LATE = bet(7, "black")

SIGN_ON = event(101, "StaffSignedOn", {"table": "C01", "person": "D-11", "role": "dealer"}, table="C01", subject="C01")
SMALL = bet(103, "small", table="C01", subject=CUSSEC)
BIG = bet(104, "big", table="C01", subject=CUSSEC, player="P-1002")
TOTAL = bet(105, "total:9", table="C01", subject=CUSSEC, player="P-1003")
WITHDRAW = event(106, "BetWithdrawn", {"bet": BIG["id"]}, table="C01", subject=CUSSEC)
CHANGE = event(107, "BetChanged", {"bet": SMALL["id"], "stake": "20000"}, table="C01", subject=CUSSEC)
VOID_BET = person(151, "S-7", "BetVoided", {"bet": TOTAL["id"], "reason": "misplaced", "note": "It lay on the line."}, CUSSEC)
VOID = event(109, "RoundVoided", {"reason": "bridged_dice", "successor": SUCCESSOR}, table="C01", subject=CUSSEC)
SIGN_OFF = event(110, "StaffSignedOff", {"table": "C01", "person": "D-11", "role": "dealer"}, table="C01", subject="C01")

SHOOTER = event(203, "ShooterChanged", {"shooter": "P-1004"}, table="X01", subject=CRAPS)
THROW = event(205, "ThrowRecorded", {"dice": "4-2"}, table="X01", subject=CRAPS)
REOPEN = event(206, "BettingReopened", {}, table="X01", subject=CRAPS)

LATE_BET = person(
    51, "S-7", "LateBetRecorded", {"player": "P-1005", "spot": "black", "stake": "10000", "currency": "MOP", "seat": 2}
)
RESTORE = person(52, "S-7", "ChipsRestored", {"restored_by": "S-7", "source": "surveillance", "bets": [STRAIGHT["id"]]})
HOLD = person(53, "S-7", "RoundHeld", {"reason": "dispute", "bet": RED["id"], "note": "The player says black."})
PROPOSE = person(54, "S-7", "CorrectionProposed", {"kind": "outcome", "reason": "found_wrong", "outcome": "19"})
APPROVE = person(55, "S-8", "CorrectionApproved", {"correction": PROPOSE["id"]})
RELEASE = person(56, "S-8", "RoundReleased", {"hold": HOLD["id"], "finding": "corrected", "correction": PROPOSE["id"]})
SECOND = person(57, "S-7", "CorrectionProposed", {"kind": "bet", "reason": "found_wrong", "bet": RED["id"], "stake": "5000"})
DECLINE = person(58, "S-8", "CorrectionDeclined", {"correction": SECOND["id"], "note": "The stake is on the film."})

TRAY = [{"value": "10000", "count": 40}, {"value": "100000", "count": 21}]
OPENER = person(
    61, "S-7", "ChipsCounted", {"table": "R01", "kind": "opener", "chips": TRAY, "total": "2500000", "currency": "MOP"}, "R01"
)
FILL = person(
    62,
    "C-1",
    "FillRecorded",
    {"table": "R01", "number": 4711, "chips": TRAY[:1], "total": "400000", "currency": "MOP", "shift": "swing"},
    "R01",
)
CREDIT = person(
    63, "C-1", "CreditRecorded", {"table": "R01", "number": 815, "chips": TRAY[1:], "total": "2100000", "currency": "MOP"}, "R01"
)
DROP = person(
    64,
    "C-1",
    "DropCounted",
    {"table": "R01", "box": "R01-2", "cash": "950000", "vouchers": "50000", "total": "1000000", "currency": "MOP"},
    "R01",
)
CONFIRM = person(65, "S-7", "SlipConfirmed", {"table": "R01", "slip": FILL["id"], "kind": "fill"}, "R01")
CANCEL = person(
    66,
    "C-1",
    "SlipCancelled",
    {"table": "R01", "slip": CREDIT["id"], "kind": "credit", "reason": "wrong_table", "note": "It was for R02."},
    "R01",
)
COLOURS = event(
    9,
    "ColourChipsIssued",
    {"table": "R01", "player": "P-1001", "colour": "green", "value": "500", "currency": "MOP"},
    subject="R01",
)
GIVEN_UP = person(
    68,
    "S-7",
    "NumbersGivenUp",
    {"table": "R01", "of_terminal": "T-R01", "of_epoch": 0, "first": 8, "last": 8, "reason": "lost_disk"},
    "R01",
)
CLOSE_DAY = person(
    67,
    "C-1",
    "GamingDayClosed",
    {
        "property": "DEMO",
        "gaming_day": "2026-11-28",
        "as_of": "1",
        "figures": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "totals": [{"currency": "MOP", "handle": "0", "win": "0", "earlier": "0", "adjusted": "0", "drop": "0"}],
        "despite": ["missing_drop"],
    },
    "DEMO",
)
HOLD_PLAYER = person(
    69, "S-8", "PlayerHeld", {"property": "DEMO", "player": "P-1005", "reason": "aml_2026_17", "note": "Asked by letter."}, "DEMO"
)
RELEASE_PLAYER = person(70, "S-8", "PlayerReleased", {"property": "DEMO", "player": "P-1005", "reason": "aml_2026_17"}, "DEMO")
ERASE = person(71, "S-8", "PlayerErased", {"property": "DEMO", "player": "P-1005", "reason": "request"}, "DEMO")

EVENTS = (
    *(OPEN, STRAIGHT, CLOSE, OUTCOME),
    *(SIGN_ON, WITHDRAW, CHANGE, VOID_BET, VOID, SIGN_OFF),
    *(SHOOTER, THROW, REOPEN),
    *(LATE_BET, RESTORE, HOLD, PROPOSE, APPROVE, RELEASE, DECLINE),
    *(OPENER, FILL, CREDIT, DROP, CONFIRM, CANCEL, COLOURS, GIVEN_UP, CLOSE_DAY),
    *(HOLD_PLAYER, RELEASE_PLAYER, ERASE),
)
"""One of each type."""


def made(dsn: str) -> dict[str, Any]:
    """Events, answers and problems by operation, and the log's events, from a new ledger at `dsn`."""
    return anyio.run(_made, dsn)


async def _made(dsn: str) -> dict[str, Any]:
    with (
        closing(Rounds(dsn)) as rounds,
        SqlReader(dsn) as reader,
        Source(dsn) as source,
        psycopg.connect(dsn, autocommit=True) as conn,
    ):
        rounds.apply_property(HOUSE)
        tokens = {who: credentials.issue_token(conn, who, lasts=timedelta(days=1))[1] for who in ("S-7", "S-8", "C-1")}
        feed = Feed(source, Metrics())
        app = create_app(rounds, reader, now=lambda: NOW, access=Access(reader.register, required=False), feed=feed)
        transport = httpx.ASGITransport(app)
        async with app.router.lifespan_context(app), httpx.AsyncClient(transport=transport, base_url="http://door") as door:

            async def post(body: Any, media: str = ONE, who: str | None = None) -> Any:
                token = {} if who is None else {"Authorization": f"Bearer {tokens[who]}"}
                return (await door.post("/v1/events", json=body, headers={"Content-Type": media} | token)).json()

            async def accepted(*events: dict[str, Any]) -> None:
                for one in events:
                    who = one["source"].removeprefix("/people/") if one["source"].startswith("/people/") else None
                    (item,) = (await post([one], BATCH, who))["items"]
                    assert item["status"] == "accepted", (one, item)

            async def get(path: str) -> Any:
                return (await door.get(path)).json()

            early = await get(f"/v1/rounds/{ROUND}")
            unplayed = await get("/v1/tables/R09/liability")
            answers = {
                "one event": await post(OPEN),
                "the same event again": await post(OPEN),
                "a batch, of which one event is refused": await post([STRAIGHT, RED, WRONG], BATCH),
            }
            catch_up(conn)
            held = await get("/v1/tables/R01/liability")
            answers |= {
                "an outcome, and what it brought about": await post([CLOSE, OUTCOME], BATCH),
            }
            catch_up(conn)
            settled = await get("/v1/tables")
            refused = {
                "400": {"no JSON": await post(None, ONE)},
                "404": {"the round is not open": await post(bet(8, "red") | {"subject": ROUND[:-1] + "9"})},
                "409": {"a bet after the bell": await post(LATE)},
                "415": {"not JSON by its media type": await post("junk", "text/plain")},
                "422": {"an illegal selection": await post(WRONG)},
            }
            catch_up(conn)
            reads = {
                "getRound": {"a settled round": await get(f"/v1/rounds/{ROUND}")},
                "getBalances": {"all balances": await get("/v1/balances"), "as of a position": await get("/v1/balances?at=3")},
                "getLiabilities": {"all tables": settled},
                "getLiability": {"with bets on it": held},
                "getTrialBalance": {"now": await get("/v1/balances/trial")},
                "getTableReports": {"all days": await get("/v1/reports/tables")},
                "getReport": {"gross gaming revenue": _report(await get("/v1/reports/ggr?month=2026-11"))},
                "getTerminal": {"a terminal that has numbered its events": await get("/v1/terminals/T-R01")},
                "getHealth": {"all is well": _still(await get("/healthz"))},
                "getReadiness": {"ready": await get("/readyz")},
                "getTime": {"now": await get("/time")},
                "getFeed": {"a page": (await door.get(f"/v1/feed?subject={ROUND}&limit=2")).text},
                "getTerminalTime": {"now": await get("/v1/time")},
            }
            unknown = await get("/v1/balances?account=win/R01")
            await accepted(SIGN_ON, event(102, "RoundOpened", {"table": "C01", "game": "cussec"}, table="C01", subject=CUSSEC))
            await accepted(SMALL, BIG, TOTAL, WITHDRAW, CHANGE, VOID_BET)
            await accepted(event(108, "BettingClosed", {}, table="C01", subject=CUSSEC), VOID, SIGN_OFF)
            await accepted(event(201, "RoundOpened", {"table": "X01", "game": "craps"}, table="X01", subject=CRAPS))
            await accepted(bet(202, "pass", table="X01", subject=CRAPS), SHOOTER)
            await accepted(event(204, "BettingClosed", {}, table="X01", subject=CRAPS), THROW, REOPEN)
            await accepted(LATE_BET, RESTORE, HOLD, PROPOSE, APPROVE, RELEASE, SECOND, DECLINE)
            await accepted(OPENER, FILL, CREDIT, DROP, CONFIRM, CANCEL, COLOURS, GIVEN_UP, CLOSE_DAY)
            await accepted(HOLD_PLAYER, RELEASE_PLAYER)
            with mock.patch("secrets.token_hex", return_value="3f9a0c2d71be"):  # what is drawn is drawn anew each time
                await accepted(ERASE)
            return {
                "events": {TYPES[one["type"]].__name__: one for one in EVENTS},
                "batches": {"bets, of which one is refused": [STRAIGHT, RED, WRONG], "the end of a round": [CLOSE, OUTCOME]},
                "answers": {"postEvents": answers, **reads},
                "problems": {
                    "postEvents": refused,
                    "getRound": {"404": {"no such round": early}},
                    "getBalances": {"422": {"an unknown parameter": unknown}},
                    "getLiability": {"422": {"no such table": unplayed}},
                    "getTerminal": {"404": {"no such terminal": await get("/v1/terminals/T-R09")}},
                },
                "log": _logged(source, log.head(conn)),
            }


def _report(report: Any) -> Any:
    """With the moment of its making fixed."""
    return {**report, "generated_at": "2026-11-29T12:00:00Z"}


def _still(health: Any) -> Any:
    for projection in health["projections"]:
        projection["updated_at"] = "2026-11-29T12:00:00Z"
    return health


def _logged(source: Source, end: int) -> dict[str, Any]:
    """The first event of each kind in the log, as the feed has it."""
    found: dict[str, Any] = {}
    deadline = time.monotonic() + 30
    # The log is read as far as nothing older is still being written, by whomever: for a moment that may be short of its end.
    while _position((page := source.page(0, limit=10_000)).cursor) < end:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    for _, each in page.items:
        name = type(each.data).__name__
        if name != "DocumentRecorded" and name not in found:  # a document is as long as an order
            found[name] = msgspec.to_builtins(each)
    return found


def _position(mark: Mark) -> int:
    return mark if isinstance(mark, int) else mark.position
