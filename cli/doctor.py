"""`roundledger doctor`: examinations of the user's own database, which leave it as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli.options import Form, Group, examples, output_options_without_amounts
from cli.output import Column, counted, emit_csv, emit_json, emit_lines, emit_record, quiet, visible
from cli.progress import Progress
from cli.session import database

if TYPE_CHECKING:
    from ledger.api.examination import Checked
    from ledger.store.standing import Standing
    from ledger.store.trial import Trial


@click.group(
    cls=Group,
    invoke_without_command=True,
    epilog=examples(
        "roundledger doctor",
        "roundledger doctor --service http://127.0.0.1:8044",
        "roundledger doctor --json | jq '.findings[] | {code, fix}'",
        codes="0 nothing was found, 1 something was, 2 could not look, or not at everything.",
    ),
)
@click.option("--service", metavar="URL", help="Ask this service as well how it is.")
@output_options_without_amounts
@click.pass_context
def doctor(context: click.Context, service: str | None, form: Form) -> int | None:
    """Examine the ledger and its database, changing nothing.

    The server and what it promises, the schema, clocks and disk, who keeps others waiting, projections and wake-ups, terminals
    with gaps or epochs that go back, keys and tokens that end, what waits for a person, and whether closed gaming days have the
    figures that they were closed with. Each finding has a code and what to do. With --quiet nothing is printed where nothing is
    found.
    """
    if context.invoked_subcommand is not None:
        return None
    from ledger.api.examination import examine

    with database(schema=False) as dsn:
        done = list(examine(dsn, service=service))
    code = 1 if any(check.findings for check in done) else 2 if any(check.result == "failed" for check in done) else 0
    if code or form != "table" or not quiet():
        _emit(done, form)
    return code


_FOUND = (
    Column("check", "check"),
    Column("code", "code"),
    Column("title", "title"),
    Column("detail", "detail"),
    Column("fix", "fix"),
)


def _emit(done: list[Checked], form: Form) -> None:
    import msgspec

    found = [{"check": check.name, **msgspec.structs.asdict(finding)} for check in done for finding in check.findings]
    if form == "csv":
        emit_csv(_FOUND, found)
    elif form == "json":
        checks = [{"name": check.name, "result": check.result, "detail": check.detail} for check in done]
        emit_json({"clean": not found, "findings": found, "checks": checks})
    else:
        width = max(len(check.name) for check in done)
        lines = []
        for check in done:
            lines.append(f"{check.name.ljust(width)}  {check.result}{': ' if check.detail else ''}{visible(check.detail)}")
            for finding in check.findings:
                lines += [
                    f"  {finding.code}  {finding.title}: {visible(finding.detail)}",
                    f"         fix: {visible(finding.fix)}",
                ]
        number = counted(len(found), "finding")
        failed = [check.name for check in done if check.result == "failed"]
        lines.append(
            f"doctor: {number if found else 'nothing was found'}{'; not looked at: ' + ', '.join(failed) if failed else ''}"
        )
        emit_lines(lines)


@doctor.command(
    epilog=examples(
        "roundledger doctor tail",
        "roundledger doctor tail --seconds 30 --writers 16",
        "roundledger doctor tail --json | jq .trial.missed",
        codes="0 no reader skips, 1 one did or the log's parts are not as they must be, 2 could not be tried.",
    )
)
@click.option("--seconds", default=3.0, show_default=True, type=click.FloatRange(0.5, 600), help="How long writers write.")
@click.option("--writers", default=4, show_default=True, type=click.IntRange(2, 64), help="Connections that write at once.")
@output_options_without_amounts
def tail(seconds: float, writers: int, form: Form) -> int:
    """Prove here that no reader of the log skips an event.

    Copies the log's sequence, functions and table into a scratch schema, writes there from several connections with late commits,
    rollbacks and inverted order, reads along by the code that reads the log, and counts. The log itself is not touched; its
    readers may lag by some hundredths of a second meanwhile. A naive reader runs beside and has to miss events, or the trial says
    that it proved nothing.

    Also tells where the log ends, whether its end is final, and which transaction of the cluster has been writing for longest.
    """
    from ledger.store.standing import standing
    from ledger.store.trial import try_tail

    with database() as dsn:
        stands = standing(dsn)
        with Progress("doctor tail") as progress:
            found = try_tail(dsn, seconds=seconds, writers=writers, progress=progress.update)
    if form == "json":
        emit_json(_document(stands, found))
    elif form == "csv":
        document = _document(stands, found)
        emit_record({f"{part}_{name}": value for part in document for name, value in document[part].items()}, form)
    else:
        emit_lines([*_standing(stands), *_trial(found)])
    if not found.holds:
        return 1
    return 0 if found.tried else 2


def _standing(found: Standing) -> list[str]:
    final = f"final after {found.waited * 1000:.0f} ms" if found.final else f"NOT final after {found.waited:.1f} s"
    lines = [f"log: last position drawn {found.drawn}, last stored {found.stored}; {final}"]
    oldest = found.oldest
    if oldest is None:
        return [*lines, "oldest writing transaction: none"]
    who = f"{oldest.session} ({', '.join(filter(None, (oldest.database, oldest.user, oldest.application, oldest.state)))})"
    return [*lines, f"oldest writing transaction: {visible(who)}, for {oldest.seconds:.1f} s; readers wait for it"]


def _trial(found: Trial) -> list[str]:
    lines = [f"parts: {part}" for part in found.parts] or ["parts: sequence, default and functions are those of this release"]
    lines.append(
        f"trial: {found.events} events in {found.transactions} transactions, {found.inverted} of them in inverted order, "
        f"{found.rolled_back} rolled back; the horizon stood still for {found.longest_wait:.2f} s at most"
    )
    lines.append(
        f"reader: {found.missed} missed, {found.twice} twice, {found.backwards} out of order, {found.unstored} not stored"
    )
    lines.append(f"naive reader beside it: {found.naive_missed} missed")
    if not found.holds:
        verdict = "FAILED"
    elif not found.tried:
        verdict = "not tried: the naive reader missed nothing either; more --writers or --seconds"
    else:
        verdict = "no reader skips"
    return [*lines, f"doctor tail: {verdict} ({found.seconds:.1f} s)"]


def _document(stands: Standing, found: Trial) -> dict[str, dict[str, object]]:
    import msgspec

    trial = {**msgspec.to_builtins(found), "holds": found.holds, "tried": found.tried}
    return {"log": msgspec.to_builtins(stands), "trial": trial}
