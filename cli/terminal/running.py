"""`roundledger terminal run`: plays rounds as a table's terminal would, and says how the ledger kept up."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from cli.options import Form, examples, output_options_without_amounts
from cli.output import counted, emit_lines, emit_record, say, visible
from cli.progress import Progress
from cli.terminal.options import door, door_options, outbox_options
from ledger.errors import Refusal

if TYPE_CHECKING:
    from cli.terminal.play import Play
    from ledger.client import Outbox, Sender, Sent, Standing

KEPT = timedelta(days=30)
"""How long acknowledged events stay in the outbox."""


class _Played(NamedTuple):
    rounds: int
    bets: int
    events: int
    seconds: float


@click.command(
    epilog=examples(
        "roundledger terminal run --table R01 --outbox T-R01.outbox --rounds 20 --rate 5",
        "roundledger terminal run --table C01 --game cussec --outbox T-C01.outbox --seconds 60 --rate 0 --json",
        "roundledger terminal run --table R01 --outbox T-R01.outbox       until Ctrl-C",
        codes="0 all was accepted, 1 something still waits or was rejected, 2 could not be done.",
    )
)
@outbox_options
@click.option("--table", required=True, help="The table to play at.")
@click.option(
    "--game",
    default="roulette",
    show_default=True,
    type=click.Choice(["roulette", "cussec", "fantan", "craps"]),
    help="The game that the table deals.",
)
@click.option("--currency", default="MOP", show_default=True, help="The table's currency.")
@click.option("--stake", "stakes", multiple=True, help="What bettors stake, in units of the currency; may be repeated.")
@click.option("--rounds", type=click.IntRange(1), help="End after so many rounds.")
@click.option("--seconds", type=click.FloatRange(min=0, min_open=True), help="End after so long.")
@click.option("--rate", default=1.0, show_default=True, type=click.FloatRange(0), help="Rounds a second; 0 as fast as it can.")
@click.option("--seed", type=int, help="Makes outcomes and bettors; another one each time unless given.")
@click.option(
    "--drain", default=30.0, show_default=True, type=click.FloatRange(0), help="Seconds to send what still waits at the end."
)
@door_options
@output_options_without_amounts
def run(
    path: Path,
    name: str | None,
    table: str,
    game: str,
    currency: str,
    stakes: tuple[str, ...],
    rounds: int | None,
    seconds: float | None,
    rate: float,
    seed: int | None,
    drain: float,
    url: str,
    key: Path | None,
    packed: bool,
    form: Form,
) -> int:
    """Play made-up rounds as a table's terminal would.

    Bettors and outcomes are made up from a seed. Each event goes into the outbox when it happens, and a second thread sends what
    is there; while the link is down the table plays on. A round that an earlier run opened and left is ended first; one that
    something else put into this outbox gets no made-up outcome: while it is open, nothing is played (LGR-0725). Without --rounds
    and --seconds it plays until interrupted, and ends with the round it is at. With --rate 0 it drives the load that one table
    can make.
    """
    from cli.terminal.play import CHIPS, Play
    from ledger.client import Outbox, Sender

    seed = int.from_bytes(os.urandom(4)) if seed is None else seed
    with Outbox(path, terminal=_named(path, name, table)) as outbox, door(url, key, packed, tries=1) as found, _told() as told:
        outbox.forget(KEPT)
        _verify_left(outbox)
        start = outbox.end
        play = Play(
            terminal=outbox.terminal,
            table=table,
            game=game,
            currency=currency,
            stakes=stakes or CHIPS,
            random=Random(seed),  # noqa: S311 - made up, not drawn
        )
        with Sender(outbox, found, drain=drain) as sender:
            played = _play(outbox, sender, play, told, rounds, seconds, rate)
        stands, delays = outbox.standing(), sorted(outbox.delays(after=start))
    figures = _figures(table, seed, played, sender.sent, stands, delays)
    if not emit_record(figures, form):
        emit_lines(_lines(figures))
        if sender.sent.failure is not None:
            say(f"last failure: {visible(str(sender.sent.failure))}")
        if stands.waiting or stands.rejected:
            reason = f"the oldest event waits: {visible(stands.last_problem)}; " if stands.last_problem else ""
            say(f"{reason}why each waits or was rejected: roundledger terminal status --outbox {path}")
    return 1 if stands.waiting or sender.sent.rejected else 0


def _named(path: Path, name: str | None, table: str) -> str | None:
    """The terminal of a new outbox is called after its table, unless it is named."""
    return name or (None if path.exists() else f"T-{table}")


def _verify_left(outbox: Outbox) -> None:
    """Raises Refusal LGR-0725 where the outbox's last round is open and was not opened by `terminal run`."""
    from cli.terminal.play import opened, standing
    from ledger.reports import OpenRound

    left = outbox.latest_round(_type_of(OpenRound))
    if left and not standing(left).over and not outbox.made_up(opened(left)):
        raise Refusal(
            "LGR-0725",
            "the last round of this outbox is open, and it was not opened to be made up",
            field="round",
            value=str(opened(left)),
            help="end it as the table did, with `terminal send`; or play with an outbox of its own",
        )


def _play(
    outbox: Outbox,
    sender: Sender,
    play: Play,
    told: threading.Event,
    rounds: int | None,
    seconds: float | None,
    rate: float,
) -> _Played:
    from cli.terminal.play import opened, standing
    from ledger.client import Event
    from ledger.reports import OpenRound

    events = 0

    def happen(event: Event) -> None:
        nonlocal events
        outbox.put(event)
        sender.wake()
        events += 1

    began, waits = time.monotonic(), False
    if left := outbox.latest_round(_type_of(OpenRound)):
        for event in play.rest(opened(left), standing(left)):
            happen(event)
    done = 0
    with Progress("terminal run", rounds, "rounds") as progress:
        while not told.is_set() and done != rounds and (seconds is None or time.monotonic() - began < seconds):
            for event in play.round():
                if isinstance(event.data, OpenRound):
                    outbox.make_up(event.round)
                happen(event)
            done += 1
            progress.update(done)
            if sender.sent.stuck and not waits:
                stands = outbox.standing()
                say(f"events begin to wait in the outbox, {stands.waiting} by now: {visible(stands.last_problem or 'not sent')}")
            waits = sender.sent.stuck
            if rate and done != rounds:
                until = began + done / rate
                told.wait(max(0.0, min(until, began + (seconds or 1e9)) - time.monotonic()))
    return _Played(done, play.bets, events, time.monotonic() - began)


def _type_of(model: type[Any]) -> str:
    from ledger.reports import TYPES

    return next(name for name, body in TYPES.items() if body is model)


@contextmanager
def _told() -> Iterator[threading.Event]:
    """Set by the first Ctrl-C or SIGTERM, for whoever plays to end with its round; the second one ends it where it is."""
    told = threading.Event()

    def tell(number: int, _: object) -> None:
        if told.is_set():
            raise KeyboardInterrupt
        told.set()
        say("ending with this round; once more to leave at once")

    before = {number: signal.signal(number, tell) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield told
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _figures(table: str, seed: int, played: _Played, sent: Sent, stands: Standing, delays: list[float]) -> dict[str, Any]:
    def part(share: float) -> int | None:
        return round(1000 * delays[min(len(delays) - 1, int(share * len(delays)))]) if delays else None

    return {
        "terminal": stands.terminal,
        "table": table,
        "seed": seed,
        "rounds": played.rounds,
        "bets": played.bets,
        "events": played.events,
        "milliseconds": round(1000 * played.seconds),
        "posts": sent.posts,
        "accepted": sent.accepted,
        "replayed": sent.replayed,
        "rejected": sent.rejected,
        "waiting": stands.waiting,
        "failures": sent.failures,
        "longest_silence_ms": round(1000 * sent.silence),
        "answered_p50_ms": part(0.5),
        "answered_p99_ms": part(0.99),
        "epoch": stands.epoch,
        "last": stands.last,
        "contiguous": stands.contiguous,
    }


def _lines(figures: dict[str, Any]) -> list[str]:
    seconds, silence = figures["milliseconds"] / 1000, figures["longest_silence_ms"] / 1000
    waiting = f"{figures['waiting']} waiting"
    lines = [
        f"{figures['terminal']} at table {figures['table']}: {counted(figures['rounds'], 'round')}, seed {figures['seed']}",
        f"put in: {counted(figures['events'], 'event')}, {figures['bets']} of them bets, in {seconds:.1f} s",
        f"sent: {figures['accepted']} accepted, {figures['replayed']} replayed, {figures['rejected']} rejected, {waiting}",
        f"link: {counted(figures['posts'], 'post')}, {counted(figures['failures'], 'failure')}, longest silence {silence:.1f} s",
        f"numbers: epoch {figures['epoch']}, up to {figures['last']}, judged without a gap up to {figures['contiguous']}",
    ]
    if figures["answered_p50_ms"] is not None:
        lines.append(f"answered: median {figures['answered_p50_ms']} ms, 99 % {figures['answered_p99_ms']} ms")
    return lines
