"""Bets settled per second, beside a naive winners-only loop in the same run; what the exposure and the import cost.

Rounds of roulette, cussec and fantan in turn, with random spots, stakes and payable units. Each round of the benchmark times, one
after the other, the settlement as a `Round` does it (from notation and stake to resolutions), the settlement of wagers made
beforehand, and a loop that knows only which spots pay and what, from the tables of the tests' oracle. Then every resolution is
held against the loop's payment and against the figures that a `Round` appends, bet by bet.

All times are CPU time of the process (`time.process_time`; user and system time of the fresh processes for the import), because
the machine may be shared: it is what one core does when nobody takes it away.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any, NamedTuple
from uuid import UUID

from ledger.events import OutcomeRecorded, PayoutMade
from ledger.round import Origin, Round, Terms
from ledger.rules import COME_OUT, Exposure, Outcome, Regulation, Resolution, Spot, State, Wager, regulation, settle
from tests import oracle

ROOT = Path(__file__).resolve().parents[2]
GAMES = ("roulette", "cussec", "fantan")
UNITS = (1, 10, 50, 100)
FEW, MANY = 100, 10_000
"""Open bets between which the cost of the exposure is compared."""

LEAST_RATE = 1_000_000.0
"""Bets settled per second."""
MOST_GROWTH = 1.2
"""Cost of keeping the exposure up per bet, at MANY open bets ÷ at FEW."""
MOST_IMPORT = 0.030
"""Seconds for the import of `ledger.rules`, less the bare start of the interpreter."""


class Bet(NamedTuple):
    """A bet as a round holds it."""

    id: UUID
    spot: str
    stake: int


class Played(NamedTuple):
    """One round to be settled."""

    regulation: Regulation
    outcome: Outcome
    bets: list[Bet]
    wagers: list[Wager]
    unit: int
    paying: dict[str, tuple[int, int]]
    """The spots by which a stake goes back on this outcome, with their net odds: all that the naive loop knows."""


def main(argv: Sequence[str]) -> int:
    options = _options(argv)
    print("CPU time throughout; one core\n")
    rng = random.Random(options.seed)
    rounds = _rounds(rng, options.bets)
    wrong: list[str] = []
    rate, ratio = _settling(rounds, options.rounds, wrong)
    growth = _exposures(rng, options.rounds, options.bets // 20, wrong)
    seconds = _importing(options.processes)
    return _conclude(rate, ratio, growth, seconds, wrong, check=options.check)


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="dev.py bench rules", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--short", action="store_true", help="a form of some seconds, whose figures say less")
    bars = f"{LEAST_RATE:,.0f} bets/s, exposure × {MOST_GROWTH}, import {MOST_IMPORT * 1000:.0f} ms"
    parser.add_argument("--check", action="store_true", help=f"exit code 1 where a bar is missed: {bars}")
    parser.add_argument("--seed", type=int, default=1, help="of the random bets; 1")
    options = parser.parse_args(argv)
    options.rounds, options.bets, options.processes = (4, 20_000, 5) if options.short else (9, 100_000, 21)
    return options


# ---------------------------------------------------------------------------------------------------------------- settlement


def _rounds(rng: random.Random, bets: int) -> list[Played]:
    """Rounds of the three games in turn, of 1 to 120 bets each, until there are so many bets."""
    laws = [regulation(oracle.ORDERS[game]) for game in GAMES]
    spots = {law.game: [spot.text for spot in law.spots()] for law in laws}
    found: list[Played] = []
    made = 0
    while made < bets:
        law = laws[len(found) % len(laws)]
        outcome = law.outcome(rng.choice(oracle.outcomes(law.game)))
        placed = [
            Bet(UUID(int=made + n), rng.choice(spots[law.game]), rng.choice((rng.randint(1, 10**6), 100 * rng.randint(1, 500))))
            for n in range(rng.randint(1, 120))
        ]
        made += len(placed)
        wagers = [Wager(bet.id, law.spot(bet.spot), bet.stake) for bet in placed]
        found.append(Played(law, outcome, placed, wagers, rng.choice(UNITS), _paying(law.game, outcome.text)))
    return found


def _paying(game: str, outcome: str) -> dict[str, tuple[int, int]]:
    kept = 1 - oracle.commission_rate(game)
    verdicts = {notation: oracle.verdict(game, notation, outcome) for notation in oracle.bets(game)}
    return {spot: (odds * kept).as_integer_ratio() for spot, (result, odds) in verdicts.items() if result != "lost"}


def _as_a_round_does(played: Played) -> list[Resolution]:
    law = played.regulation
    wagers = [Wager(id, law.spot(spot), stake) for id, spot, stake in played.bets]
    return settle(law, played.outcome, wagers, payable_unit=played.unit)


def _from_wagers(played: Played) -> list[Resolution]:
    return settle(played.regulation, played.outcome, played.wagers, payable_unit=played.unit)


def _winners_only(played: Played) -> list[tuple[UUID, int]]:
    paying, unit = played.paying, played.unit
    paid = []
    for id, spot, stake in played.bets:
        odds = paying.get(spot)
        if odds is not None:
            numerator, denominator = odds
            paid.append((id, stake + stake * numerator // (denominator * unit) * unit))
    return paid


LEGS: dict[str, Callable[[Played], Any]] = {
    "as a round settles, from notation": _as_a_round_does,
    "from wagers made beforehand": _from_wagers,
    "naive loop, winners only": _winners_only,
}


def _settling(rounds: list[Played], times: int, wrong: list[str]) -> tuple[float, float]:
    """Bets per second as a round settles them, and its ratio to the naive loop; medians."""
    bets = sum(len(played.bets) for played in rounds)
    rates: dict[str, list[float]] = {name: [] for name in LEGS}
    for _ in range(times):
        for name, leg in LEGS.items():
            gc.collect()
            began = process_time()
            for played in rounds:
                leg(played)
            rates[name].append(bets / (process_time() - began))
    print(f"Settlement: {bets:,} bets in {len(rounds):,} rounds of {', '.join(GAMES)}; medians of {times}, alternating")
    for name, found in rates.items():
        print(f"  {name:<36}{_millions(found)}")
    ours, _, naive = rates.values()
    ratio = median(one / other for one, other in zip(ours, naive, strict=True))
    print(f"  {'ratio, as a round ÷ naive':<36}{ratio:5.2f}")
    print(f"  {'the round with its events (no bar)':<36}{_verify(rounds, wrong) / 1e6:5.2f} M bets/s")
    return median(ours), ratio


def _millions(rates: list[float]) -> str:
    return f"{median(rates) / 1e6:5.2f} M bets/s   ({min(rates) / 1e6:.2f} to {max(rates) / 1e6:.2f})"


def _verify(rounds: list[Played], wrong: list[str]) -> float:
    """Hold every resolution against the naive loop and against what a round appends; bets per second of the latter."""
    bets, seconds = 0, 0.0
    for played in rounds:
        resolutions = _as_a_round_does(played)
        if resolutions != _from_wagers(played):
            wrong.append(f"{played.outcome.text}: the same wagers were settled otherwise the second time")
        paid = dict(_winners_only(played))
        got = {each.wager.key: (each.result == "lost", each.returned) for each in resolutions}
        for bet in played.bets:
            want = (bet.id not in paid, paid.get(bet.id, 0))
            if got.get(bet.id) != want:
                wrong.append(f"{bet.spot}={bet.stake} on {played.outcome.text}: {got.get(bet.id)}, by the naive loop {want}")
        round_ = _closed_round(played)
        began = process_time()
        round_.record_outcome(played.regulation, played.outcome.text, _ORIGIN)
        seconds += process_time() - began
        bets += len(played.bets)
        appended = _appended(round_)
        if appended != [_figures(each) for each in resolutions]:
            wrong.append(f"{played.outcome.text}: the round appends other figures than were settled")
    return bets / seconds


_ORIGIN = Origin(UUID(int=0), "BENCH", None, datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC))


def _closed_round(played: Played) -> Round:
    """A round with the bets on it and betting closed, its events taken off."""
    terms = Terms("BENCH", "", "A", "B01", "MOP", played.unit, played.regulation, None, date(2026, 1, 1))
    round_ = Round.open(UUID(int=0), terms, _ORIGIN)
    for bet in played.bets:
        stake = str(bet.stake)
        round_.place_bet(played.regulation, bet.id, _ORIGIN, player="P", spot=bet.spot, stake=stake, currency="MOP")
    round_.close_betting(played.regulation, _ORIGIN)
    round_.collect_events()
    return round_


def _figures(each: Resolution) -> tuple[object, ...]:
    if each.result == "lost":
        return each.wager.key, each.wager.spot.text, str(each.wager.stake), each.cite
    exact = str(each.odds), str(each.prize_exact)
    amounts = each.wager.stake, each.prize, each.commission, each.breakage, each.net_prize, each.returned
    return each.wager.key, each.wager.spot.text, each.result, *exact, *map(str, amounts), each.cite


def _appended(round_: Round) -> list[tuple[object, ...]]:
    """The same figures from the events, in their order: losers, then payouts."""
    found: list[tuple[object, ...]] = []
    for event in round_.collect_events():
        body = event.body
        if isinstance(body, OutcomeRecorded):
            found += [(line.bet, line.spot, line.stake, line.article) for line in body.lost]
        elif isinstance(body, PayoutMade):
            amounts = body.stake, body.prize, body.commission, body.breakage, body.net_prize, body.returned
            found.append((body.bet, body.spot, body.result, body.odds, body.prize_exact, *amounts, body.article))
    return found


# ------------------------------------------------------------------------------------------------------------------ exposure


def _exposures(rng: random.Random, times: int, bets: int, wrong: list[str]) -> float:
    """The worst growth of all games; craps with all its bets, and only because it is there: it costs more, but does not grow."""
    print(f"\nExposure: a bet counted in, the worst asked for, the bet counted out; at {FEW:,} and at {MANY:,} open bets")
    craps = regulation(oracle.ORDERS["craps"]).with_unverified()
    worst = 0.0
    for law, state, few in [
        *((regulation(oracle.ORDERS[game]), COME_OUT, bets) for game in GAMES),
        (craps, State(6), max(1, bets // 20)),
    ]:
        worst = max(worst, _growth(law, state, rng, times, few, wrong))
    return worst


def _growth(law: Regulation, state: State, rng: random.Random, times: int, bets: int, wrong: list[str]) -> float:
    spots = law.spots()
    books = {count: _book(law, state, [_random_bet(rng, spots) for _ in range(count)], wrong) for count in (FEW, MANY)}
    passing = [_random_bet(rng, spots) for _ in range(bets)]
    costs: dict[int, list[float]] = {count: [] for count in books}
    for _ in range(times):
        for count, book in books.items():
            began = process_time()
            for spot, stake in passing:
                book.add(spot, stake)
                _ = book.worst
                book.remove(spot, stake)
            costs[count].append((process_time() - began) / bets)
    growth = median(many / few for few, many in zip(costs[FEW], costs[MANY], strict=True))
    few, many = (median(costs[count]) * 1e6 for count in (FEW, MANY))
    print(f"  {law.game:<10}{few:8.2f} µs at {FEW:,} {many:8.2f} µs at {MANY:,}   × {growth:.2f}")
    return growth


def _random_bet(rng: random.Random, spots: tuple[Spot, ...]) -> tuple[Spot, int]:
    return rng.choice(spots), rng.randint(1, 10**6)


def _book(law: Regulation, state: State, bets: list[tuple[Spot, int]], wrong: list[str]) -> Exposure:
    """An exposure with these bets open, held against settling them on every outcome where a round has one."""
    book = Exposure(law, payable_unit=10, state=state)
    for spot, stake in bets:
        book.add(spot, stake)
    if law.game in GAMES:
        wagers = [Wager(n, spot, stake) for n, (spot, stake) in enumerate(bets)]
        settled = max(sum(each.net for each in settle(law, outcome, wagers, payable_unit=10)) for outcome in law.outcomes())
        if book.worst != settled:
            wrong.append(f"exposure of {law.game} at {len(bets):,} bets: {book.worst}, by settling every outcome {settled}")
    return book


# -------------------------------------------------------------------------------------------------------------------- import


def _importing(processes: int) -> float:
    """Seconds that the import takes in a fresh process: median, less the median of processes that do nothing."""
    with tempfile.TemporaryDirectory() as cache:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        environ |= {"PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": cache}
        _fresh("import ledger.rules", environ)  # leaves the bytecode that an installed package has
        bare, ours = [], []
        for _ in range(processes):
            bare.append(_fresh("pass", environ))
            ours.append(_fresh("import ledger.rules", environ))
    cpu, wall = (median(each[n] for each in ours) - median(each[n] for each in bare) for n in (0, 1))
    start = median(each[0] for each in bare)
    print(f"\nImport of ledger.rules, less the bare start of {start * 1000:.1f} ms: medians of {processes} fresh processes")
    print(f"  {cpu * 1000:.1f} ms of CPU, {wall * 1000:.1f} ms by the clock")
    return cpu


def _fresh(code: str, environ: dict[str, str]) -> tuple[float, float]:
    """User and system time of a process, and its time by the clock; seconds."""
    began = perf_counter()
    process = subprocess.Popen([sys.executable, "-c", code], env=environ, cwd=ROOT)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{sys.executable} -c {code!r} exited {process.returncode}")
    return usage.ru_utime + usage.ru_stime, perf_counter() - began


# ------------------------------------------------------------------------------------------------------------------- verdict


def _conclude(rate: float, ratio: float, growth: float, seconds: float, wrong: list[str], *, check: bool) -> int:
    """The one line that says it all, and the exit code."""
    print()
    for line in wrong[:20]:
        print(f"WRONG: {line}")
    bars = {
        f"{rate / 1e6:.2f} M bets/s (bar {LEAST_RATE / 1e6:.2f})": rate >= LEAST_RATE,
        f"exposure × {growth:.2f} (bar {MOST_GROWTH:.2f})": growth <= MOST_GROWTH,
        f"import {seconds * 1000:.1f} ms (bar {MOST_IMPORT * 1000:.0f})": seconds <= MOST_IMPORT,
    }
    if check:
        for said, held in bars.items():
            if not held:
                print(f"MISSED: {said}")
    verdict = f"{len(wrong)} WRONG" if wrong else "each bet as the naive loop and the round have it"
    print(f"rules: {', '.join(bars)}; {ratio:.2f} of the naive loop; {verdict}")
    return 1 if wrong or (check and not all(bars.values())) else 0
