"""`roundledger correct`: what was recorded wrongly is put right, by one person and with the approval of another."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import click

from cli.options import Form, Group, examples, output_options
from cli.output import Column, Report, Sheet, emit, emit_record, header, say
from cli.persons import person_options
from cli.session import database, position, reading

if TYPE_CHECKING:
    from cli.persons import Part, Speaker

Speaking = Callable[[], AbstractContextManager["Speaker"]]

KINDS = ("outcome", "bet", "bet_void", "late_bet", "return", "mispay", "ex_gratia")
CORRECTIONS = (
    Column("correction", "correction"),
    Column("round", "round"),
    Column("table", "table", below=4),
    Column("kind", "kind"),
    Column("reason", "reason"),
    Column("note", "note", below=1, if_any=True),
    Column("outcome", "outcome", below=2, if_any=True),
    Column("bet", "bet", below=2, if_any=True),
    Column("player", "player", below=2, if_any=True),
    Column("spot", "spot", below=2, if_any=True),
    Column("currency", "currency", below=2),
    Column("stake", "stake", "amount", below=2, if_any=True),
    Column("amount", "amount", "amount", below=2, if_any=True),
    Column("direction", "direction", below=2, if_any=True),
    Column("proposed_by", "asked by"),
    Column("proposed_at", "asked at", drawn=False),
    Column("approvals", "approvals", "number", below=3),
    Column("approvals_needed", "of", "number", below=3),
    Column("status", "status"),
    Column("approved_by", "approved by", below=1, if_any=True),
    Column("seconded_by", "and by", below=1, if_any=True),
    Column("declined_by", "declined by", below=1, if_any=True),
    Column("decided_at", "decided at", drawn=False),
)


@click.group(cls=Group)
def correct() -> None:
    """Put right what was recorded wrongly; it takes two persons.

    One proposes a correction, another approves it, and with the last approval needed it is made; ex gratia two others approve,
    so that it takes three. Nothing is edited: the round keeps both stories, and only differences move. Who you are says your
    token, in LEDGER_TOKEN or a file.

    The beginning of an id is enough, but a service (--url) knows rounds by their whole id.
    """


@correct.command(
    epilog=examples(
        "roundledger correct propose 01939f2a outcome --outcome 7 --reason miskeyed_outcome",
        "roundledger correct propose 01939f2a bet --bet 5d1c… --stake 500.00 --reason miskeyed_stake",
        "roundledger correct propose 01939f2a bet_void --bet 5d1c… --reason dispute_upheld",
        "roundledger correct propose 01939f2a mispay --bet 5d1c… --amount 50.00 --to-player --reason overpaid",
        codes="0 also where it waits for an approval, as it always does; 2 refused, or it could not be done.",
    )
)
@click.argument("round_id", metavar="ROUND")
@click.argument("kind", type=click.Choice(KINDS))
@click.option("--reason", required=True, help="The reason's code, for example miskeyed_outcome or dispute_upheld.")
@click.option("--note", help="The reason in words; no person's name, address or number of a document.")
@click.option("--hold", help="The hold whose review led to it.")
@click.option("--outcome", help="outcome: what the table showed indeed; of craps all throws, with commas between.")
@click.option("--bet", help="bet, bet_void, late_bet, mispay: the bet's id, or its beginning.")
@click.option("--player", help="bet: whose it is indeed. ex_gratia: who is paid.")
@click.option("--spot", help="bet: where it lay indeed. ex_gratia: where the chips lay.")
@click.option("--stake", help="bet: what was staked indeed. ex_gratia: the chips that lay there. In units, such as 500.00.")
@click.option("--amount", help="mispay: how much more or less than was due. ex_gratia: how much is paid. In units.")
@click.option("--to-player", "direction", flag_value="to_player", help="mispay: the player got so much beside what was due.")
@click.option(
    "--from-player", "direction", flag_value="from_player", help="mispay: the player got so much less, or gave it back."
)
@person_options
@output_options
def propose(round_id: str, kind: str, speaking: Speaking, form: Form, **fields: Any) -> None:
    """Ask for a correction of a round; nothing moves yet.

    A mispay is booked as it went: the books have what was due, and a mispay what was handed over beside it. A player who was
    overpaid got the difference (--to-player); if it comes back, that is a second one (--from-player). What was put right at the
    table before anybody left it is none. Ex gratia, the chips themselves are no part of the amount: the books never took them.
    """
    from ledger.events import CorrectionProposed
    from ledger.money import parse_plain
    from ledger.reports import type_of

    if kind == "mispay" and fields["direction"] is None:
        raise click.UsageError("a mispay needs --to-player or --from-player", click.get_current_context())
    correction = uuid4()
    with speaking() as speaker:
        round_ = speaker.round_of(round_id)
        data = {"kind": kind} | {name: str(value) for name, value in fields.items() if value is not None}
        for part in ("bet", "hold"):
            if part in data:
                data[part] = str(_named(speaker, round_, part, data[part]))
        for name in ("stake", "amount"):
            if name in data:
                data[name] = str(parse_plain(data[name], speaker.currency(round_), field=name))
        positions = speaker.say(type_of(CorrectionProposed), round_, data, correction)
    if not emit_record({"correction": str(correction), "round": str(round_), "positions": positions}, form):
        say(f"proposed: {correction}")
        who = "two other persons approve it" if kind == "ex_gratia" else "another person approves it"
        say(f"{who}: roundledger correct approve {round_} {correction}")


@correct.command(
    epilog=examples(
        "roundledger correct show 01939f2a 0f8e2a41      the beginning of an id is enough",
        "roundledger correct show 01939f2a 0f8e2a41 --json | jq .players",
    )
)
@click.argument("round_id", metavar="ROUND")
@click.argument("correction")
@output_options
def show(round_id: str, correction: str, form: Form) -> None:
    """Show what a correction that waits would change.

    Which bets, from what to what; what each player gets more or less; who asked for it, when and why; whether the stake is beyond
    the table's limits; and what else waits on the round. It is reckoned on the round as it is now.
    """
    from contextlib import closing

    import psycopg

    from cli.correction import preview
    from cli.ids import among, find_round, whole
    from ledger.application import Rounds

    # Only the log is read, so that a role that may write nothing sees it.
    with database() as dsn, psycopg.connect(dsn, autocommit=True) as conn, closing(Rounds(dsn)) as rounds:
        round_ = find_round(conn, round_id)
        found = whole(correction) or among(correction, "correction", rounds.round(round_).corrections)
        report = preview(rounds, round_, found)
    emit(report, form)


@correct.command(
    epilog=examples(
        "roundledger correct approve 01939f2a 0f8e2a41",
        "roundledger correct approve 01939f2a 0f8e2a41 --yes --json",
    )
)
@click.argument("round_id", metavar="ROUND")
@click.argument("correction")
@click.option("--yes", is_flag=True, help="Do not ask: you have seen what it changes (`correct show`).")
@person_options
@output_options
def approve(round_id: str, correction: str, yes: bool, speaking: Speaking, form: Form) -> None:
    """Approve a correction that another person proposed.

    What it would change is shown first, and you are asked. With the last approval needed it is made, on the round as it is then.
    A service (--url) does not show it: look with `correct show` beside the database, then approve with --yes.
    """
    from ledger.events import CorrectionApproved
    from ledger.reports import type_of

    with speaking() as speaker:
        round_ = speaker.round_of(round_id)
        found = _named(speaker, round_, "correction", correction)
        _see(speaker, round_, found, form, asked=not yes)
        correction = str(found)
        positions = speaker.say(type_of(CorrectionApproved), round_, {"correction": correction}, uuid4())
    made = len(positions) > 1
    record = {"correction": correction, "round": str(round_), "made": made, "positions": positions}
    if not emit_record(record, form):
        say(f"approved and made: {correction}" if made else f"approved; it takes one more person: {correction}")


def _see(speaker: Speaker, round_: UUID, correction: UUID, form: Form, *, asked: bool) -> None:
    """Shows people what would change, and goes on where they say yes. Raises click.UsageError where nobody can say it."""
    report = speaker.preview(round_, correction) if form == "table" and (not asked or sys.stdin.isatty()) else None
    if asked and report is None:
        look = f"look with `roundledger correct show {round_} {correction}`, then say --yes"
        raise click.UsageError(f"nobody can be shown here what it changes, and asked: {look}", click.get_current_context())
    if report is not None:
        emit(report, form)
    if asked:
        click.confirm("Approve it?", abort=True, err=True)


@correct.command(epilog=examples("roundledger correct decline 01939f2a 0f8e2a41 --note 'not so'"))
@click.argument("round_id", metavar="ROUND")
@click.argument("correction")
@click.option("--note", help="Why, in words; no person's name, address or number of a document.")
@person_options
@output_options
def decline(round_id: str, correction: str, note: str | None, speaking: Speaking, form: Form) -> None:
    """Decline a correction, or withdraw your own.

    It can never be approved then.
    """
    from ledger.events import CorrectionDeclined
    from ledger.reports import type_of

    with speaking() as speaker:
        round_ = speaker.round_of(round_id)
        correction = str(_named(speaker, round_, "correction", correction))
        data = {"correction": correction} | ({} if note is None else {"note": note})
        positions = speaker.say(type_of(CorrectionDeclined), round_, data, uuid4())
    if not emit_record({"correction": correction, "round": str(round_), "positions": positions}, form):
        say(f"declined: {correction}")


def _named(speaker: Speaker, round_: UUID, part: Part, text: str) -> UUID:
    """What a person named by its id or the beginning of it; a whole id is not looked up."""
    from cli.ids import among, whole

    return whole(text) or among(text, part, speaker.ids(round_, part))


@correct.command("list", epilog=examples("roundledger correct list", "roundledger correct list --round 01939f2a --all --json"))
@click.option("--round", "round_id", metavar="ROUND", help="Corrections of this round only.")
@click.option("--all", "decided", is_flag=True, help="Also those that were made or declined.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="At most so many.")
@output_options
def list_(round_id: str | None, decided: bool, limit: int, form: Form) -> None:
    """List the corrections that wait for an approval, the latest first."""
    import msgspec

    from cli.ids import find_round, shortened
    from projections.decisions import corrections

    with database() as dsn, reading(dsn) as conn:
        round_ = None if round_id is None else find_round(conn, round_id)
        found = corrections(conn, round_=round_, decided=decided, limit=limit)
        at, notes = position(conn, "ledger")
        short = shortened(conn, {each.round for each in found}) if form == "table" else {}
    rows = [msgspec.structs.asdict(each) for each in found]
    sheet = Sheet(CORRECTIONS, rows, name="corrections", mixed=True, for_people=lambda row: {**row, "round": short[row["round"]]})
    emit(Report("Corrections", [sheet], header(as_of_position=at), notes), form)
