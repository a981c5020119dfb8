"""Made-up rounds as events: consistent with themselves, faithful to no regulation. For tests of what reads the log."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
import psycopg

from ledger.events import (
    BetPlaced,
    BettingClosed,
    DocumentRecorded,
    Event,
    LostBet,
    OutcomeRecorded,
    PayoutMade,
    Recorded,
    RoundOpened,
    RoundSettled,
)

NOON = datetime(2026, 11, 29, 4, tzinfo=UTC)
DAY = date(2026, 11, 29)
DOCUMENT = DocumentRecorded(kind="regulation", name="30/2003", sha256="0" * 64, content="{}", recorded_at=NOON)

Stream = tuple[UUID, list[Event]]


class Bet(NamedTuple):
    """A bet and its fate; 5% commission and a payable unit of 10 where `commission` is set."""

    player: str
    stake: int
    fate: str = "lost"
    odds: int = 0
    edge: str = "1/37"
    commission: bool = False


def uuid(rng: random.Random) -> UUID:
    return UUID(int=rng.getrandbits(128))


def made_round(
    bets: Sequence[Bet],
    *,
    rng: random.Random,
    table: str = "T-R01",
    game: str = "roulette",
    regulation: str = "30/2003",
    currency: str = "MOP",
    outcome: str = "17",
    applied: str | None = None,
    day: date = DAY,
    until: str = "settled",
) -> Stream:
    """One round's events, from its opening to `until`: open, closed or settled."""

    def common() -> dict[str, Any]:
        moment = NOON + timedelta(seconds=rng.randrange(86400))
        return {"cause": uuid(rng), "terminal": f"{table}-t", "occurred_at": moment, "received_at": moment}

    events: list[Event] = [
        RoundOpened(
            **common(),
            property="demo",
            pit="P1",
            table=table,
            game=game,
            currency=currency,
            payable_unit="1",
            regulation=regulation,
            regulation_hash="a" * 64,
            property_hash="b" * 64,
            applied=applied,
            gaming_day=day,
        )
    ]
    ids = [uuid(rng) for _ in bets]
    events += [
        BetPlaced(**common(), bet=id_, player=bet.player, spot="straight:17", stake=str(bet.stake), currency=currency)
        for id_, bet in zip(ids, bets, strict=True)
    ]
    if until == "open":
        return uuid(rng), events
    events.append(BettingClosed(**common()))
    if until == "closed":
        return uuid(rng), events
    placed = list(zip(ids, bets, strict=True))
    lost = tuple(
        LostBet(bet=id_, player=bet.player, spot="straight:17", stake=str(bet.stake), edge=bet.edge, article="5")
        for id_, bet in placed
        if bet.fate == "lost"
    )
    events.append(
        OutcomeRecorded(**common(), raw=outcome, outcome=outcome, shown=f"{outcome}, black", currency=currency, lost=lost)
    )
    paid = [_payout(id_, bet, currency, common()) for id_, bet in placed if bet.fate != "lost"]
    events += paid
    events.append(
        RoundSettled(
            **common(),
            currency=currency,
            bets=len(bets),
            handle=str(sum(bet.stake for bet in bets if bet.fate != "push")),
            prizes=str(sum(int(event.prize) for event in paid)),
            commission=str(sum(int(event.commission) for event in paid)),
            breakage=str(sum(int(event.breakage) for event in paid)),
            returned=str(sum(int(event.returned) for event in paid)),
        )
    )
    return uuid(rng), events


def _payout(id_: UUID, bet: Bet, currency: str, common: dict[str, Any]) -> PayoutMade:
    prize = bet.stake * bet.odds if bet.fate == "won" else 0
    commission, breakage = 0, 0
    if bet.commission:
        commission = prize * 5 // 100
        breakage = (prize - commission) % 10
    net = prize - commission - breakage
    return PayoutMade(
        **common,
        bet=id_,
        player=bet.player,
        spot="straight:17",
        result=bet.fate,
        currency=currency,
        stake=str(bet.stake),
        odds=str(bet.odds),
        prize_exact=str(prize),
        prize=str(prize),
        commission=str(commission),
        breakage=str(breakage),
        net_prize=str(net),
        returned=str(bet.stake + net),
        edge=bet.edge,
        article="5",
    )


def in_place(streams: Iterable[Stream], rng: random.Random | None = None) -> Iterator[tuple[UUID, int, Event]]:
    """The events with stream and version: round after round, or mixed by `rng`, each round in its order."""
    left = [(stream, iter(enumerate(events, 1))) for stream, events in streams]
    while left:
        place = rng.randrange(len(left)) if rng else 0
        stream, rest = left[place]
        step = next(rest, None)
        if step is None:
            del left[place]
        else:
            yield stream, step[0], step[1]


def recorded(streams: Iterable[Stream], rng: random.Random | None = None) -> list[Recorded]:
    """The events as a log without a database would hold them."""
    return [Recorded(position, *event) for position, event in enumerate(in_place(streams, rng), 1)]


def store(conn: psycopg.Connection[Any], events: Iterable[tuple[UUID, int, Event]]) -> None:
    """Appends events to the log as they are, past every decision of the write side."""
    with (
        conn.transaction(),
        conn.cursor() as cursor,
        cursor.copy("COPY ledger.events (originator_id, originator_version, topic, state) FROM STDIN (FORMAT BINARY)") as copy,
    ):
        copy.set_types(["uuid", "int8", "text", "bytea"])
        for stream, version, body in events:
            copy.write_row((stream, version, body.TOPIC, msgspec.json.encode(body)))


def made_day(seed: int, rounds: int, *, bets: int = 8, tables: int = 4, day: date = DAY) -> list[Stream]:
    """Rounds of two games and two currencies at several tables: wins, losses, pushes, commission, a few left open."""
    rng = random.Random(seed)
    made = []
    for number in range(rounds):
        table = rng.randrange(tables)
        roulette = table % 2 == 0
        made.append(
            made_round(
                [
                    Bet(
                        player=f"P-{rng.randrange(1000, 1040)}",
                        stake=rng.randrange(1, 100) * 100 + rng.randrange(3),
                        fate=rng.choices(("lost", "won", "push"), (6, 3, 1))[0],
                        odds=rng.choice((1, 2, 8, 35)),
                        edge="1/37" if roulette else rng.choice(("1/36", "17/216", "67/216")),
                        commission=not roulette,
                    )
                    for _ in range(rng.randrange(bets + 1))
                ],
                rng=rng,
                table=f"T-{table:02}",
                game="roulette" if roulette else "cussec",
                regulation="30/2003" if roulette else "31/2003",
                applied="30/2003, repealed by 60/2004, applied by opt-in" if roulette else None,
                currency="HKD" if table % 3 == 2 else "MOP",
                outcome=str(rng.randrange(37)) if roulette else "-".join(str(rng.randrange(1, 7)) for _ in range(3)),
                day=day + timedelta(days=number % 2),
                until="settled" if rng.random() < 0.95 else rng.choice(("open", "closed")),
            )
        )
    return made


def exact(text: str) -> Fraction:
    return Fraction(text)
