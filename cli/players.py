"""`roundledger players`: references that are erased, and legal holds that keep them from it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import uuid4

import click

from cli.options import Form, Group, examples, output_options, output_options_without_amounts
from cli.output import Column, Report, Sheet, counted, emit, emit_record, header, say
from cli.persons import person_options
from cli.session import database, position, reading

if TYPE_CHECKING:
    from cli.persons import Speaker

Speaking = Callable[[], AbstractContextManager["Speaker"]]
Command = TypeVar("Command", bound=Callable[..., Any])

REGISTER = (
    Column("position", "position", "number"),
    Column("at", "at"),
    Column("what", "what"),
    Column("player", "player"),
    Column("reason", "reason"),
    Column("standing", "stands", if_any=True),
    Column("by", "by", below=1),
    Column("property", "property", below=2),
    Column("note", "note", below=1, if_any=True),
)


@click.group(cls=Group)
def players() -> None:
    """Erase players' references, or hold them from it.

    The ledger knows players by references of the house's own making. To forget a guest, the house deletes in its own identity
    store whose reference it is, and erases the reference here. Who you are says your token, in LEDGER_TOKEN or a file.
    """


def deciding_options(command: Command) -> Command:
    """What every decision about a player says besides."""

    @functools.wraps(command)
    def with_more(*arguments: Any, house: str, reason: str, note: str | None, **options: Any) -> Any:
        more = {"property": house, "reason": reason} | ({} if note is None else {"note": note})
        return command(*arguments, more=more, **options)

    for option in (
        click.option("--note", help="What there is to say; no person's name, and no reference of a player."),
        click.option("--reason", required=True, help="Why, by a code of the house, such as request or aml_2026_17."),
        click.option(
            "--property", "house", required=True, help="The property by whose right it is done: you are an admin of it."
        ),
    ):
        with_more = option(with_more)
    return cast(Command, with_more)  # the wrapper takes what the command does


@players.command(epilog=examples("roundledger players erase P-1001 --property DEMO --reason request"))
@click.argument("player")
@deciding_options
@person_options
@output_options
def erase(player: str, more: dict[str, str], speaking: Speaking, form: Form) -> None:
    """Show a player's reference no more.

    From then on whatever is shown of rounds, bets, balances and reports, also of days gone by, has erased-… in its place, the
    same everywhere; no amount changes. It cannot be undone, and nothing new is taken under the reference. The log itself keeps
    it, for whoever repeats the calculation.

    Refused as long as the player is held, is in a round that is not settled, or in one with a hold or a correction that waits.
    """
    from ledger.events import PlayerErased

    _decide(PlayerErased, player, more, speaking, form, f"erased; delete in the identity store of {more['property']} whose it is")


@players.command(epilog=examples("roundledger players hold P-1001 --property DEMO --reason aml_2026_17"))
@click.argument("player")
@deciding_options
@person_options
@output_options
def hold(player: str, more: dict[str, str], speaking: Speaking, form: Form) -> None:
    """Keep a player's reference from being erased.

    For a duty to keep, or a case under way. A player may be held for several reasons, each with a code of its own.
    """
    from ledger.events import PlayerHeld

    _decide(PlayerHeld, player, more, speaking, form, f"held for {more['reason']}: {player}")


@players.command(epilog=examples("roundledger players release P-1001 --property DEMO --reason aml_2026_17"))
@click.argument("player")
@deciding_options
@person_options
@output_options
def release(player: str, more: dict[str, str], speaking: Speaking, form: Form) -> None:
    """End a reason for which a player is held."""
    from ledger.events import PlayerReleased

    _decide(PlayerReleased, player, more, speaking, form, f"no longer held for {more['reason']}: {player}")


@players.command(
    "list",
    epilog=examples(
        "roundledger players list",
        "roundledger players list --held",
        "roundledger players list --json | jq '.players[] | select(.what == \"erased\")'",
    ),
)
@click.option("--held", is_flag=True, help="Only holds that stand.")
@output_options_without_amounts
def list_(held: bool, form: Form) -> None:
    """List erasures and holds, in the order of the log.

    An erased player is shown here as everywhere.
    """
    import msgspec

    from projections.players import register

    with database() as dsn, reading(dsn) as conn:
        found = [each for each in register(conn) if each.standing or not held]
        at, _ = position(conn, "ledger")
    rows = [{**msgspec.structs.asdict(each), "standing": each.standing or None} for each in found]
    notes = [f"{counted(sum(each.standing for each in found), 'hold')} in force"] if rows else []
    emit(Report("Players", [Sheet(REGISTER, rows, name="players")], header(as_of_position=at), notes), form)


def _decide(event: Any, player: str, more: dict[str, str], speaking: Speaking, form: Form, done: str) -> None:
    from ledger.reports import type_of

    with speaking() as speaker:
        positions = speaker.say(type_of(event), more["property"], {"player": player, **more}, uuid4())
    if not emit_record({**more, "positions": positions}, form):
        say(done)
