"""`roundledger replay`: the log folded afresh, as a whole or round by round, compared with the live tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import click

from cli import asked
from cli.options import DAY, Form, examples, output_options, processors
from cli.output import counted, emit_json, emit_lines, emit_record, plain, quiet, say
from cli.progress import Progress
from cli.session import database
from cli.writing import told_where

if TYPE_CHECKING:
    from projections.replay import Comparison


@click.command(
    epilog=examples(
        "roundledger replay",
        "roundledger replay --json | jq .equal",
        "roundledger replay --quiet || echo different",
        "roundledger replay --day 2026-11-29 --table R01",
        "roundledger replay --until 2026-11-29T22:30:00+08:00",
        "roundledger replay --rounds --resume night.state     goes on there after Ctrl-C",
        codes="0 equal, 1 different (the first difference is named), 2 could not run or nothing to compare.",
    )
)
@click.option("--day", type=DAY, help="Only rounds of this gaming day.")
@click.option("--table", help="Only rounds of this table.")
@click.option("--round", "round_", metavar="ID", help="Only this round, by as much of its id as is unambiguous.")
@click.option("--rounds", "one_by_one", is_flag=True, help="Every round by itself, without the sums over rounds.")
@click.option("--until", metavar="MOMENT", help="The log as it stood after a position, or at a time with its offset.")
@click.option(
    "--resume",
    "state",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Keep in this file how far it is. Every round by itself, as with --rounds: sums over rounds are not compared.",
)
@click.option("--jobs", type=click.IntRange(1, 256), help="Processes for rounds one by one; all processors without it.")
@output_options
def replay(
    day: date | None,
    table: str | None,
    round_: str | None,
    one_by_one: bool,
    until: str | None,
    state: Path | None,
    jobs: int | None,
    form: Form,
) -> int:
    """Fold the log afresh and compare with the live tables.

    The whole log is folded into tables of their own, and every row is compared. Nothing is appended to the log, nothing live is
    written: live tables that are behind the log are waited for a few seconds, and compared as far as they have come. Regulations
    and properties are read from the log alone. With --quiet nothing is printed where all is equal.

    Of a day, a table or a round, or with --rounds or --resume, each round is folded by itself and compared with its live rows, on
    all processors; balances and other sums over rounds are compared by `roundledger replay` alone. As of an earlier moment the
    movements up to it are compared, the only rows that keep their moment, and the balances that they come to are printed.
    """
    scoped = one_by_one or state is not None or until is not None or (day, table, round_) != (None, None, None)
    asked.until(until)  # what is no moment needs no database to be refused
    with database() as dsn:
        if scoped:
            found, upto = compare_rounds(dsn, day, table, round_, until, state, jobs)
        else:
            found, upto = compare(dsn), None
        totals = [] if upto is None else _totals(dsn, upto)
    if form == "json":
        emit_json(document(found) | ({} if upto is None else {"until": str(upto), "trial_balance": totals}))
    elif form == "csv":
        emit_record(record(found), form)
    elif exit_code(found) or not quiet():
        emit_lines([*verdict(found), *(_total(line) for line in totals)])
    return exit_code(found)


def compare(dsn: str) -> Comparison:
    """Compares the live tables, as far as they have come, with a fresh fold."""
    from projections.replay import replay as fold_afresh

    with Progress("replay", unit="positions") as folding, Progress("compare", unit="rows") as comparing:
        found = fold_afresh(dsn, folding.told, comparing=comparing.told)
    say(f"{counted(found.events, 'event')} folded afresh in {found.seconds:.1f} s, {found.rate:.0f}/s")
    return found


def compare_rounds(
    dsn: str,
    day: date | None,
    table: str | None,
    round_: str | None,
    until: str | None,
    state: Path | None,
    jobs: int | None,
) -> tuple[Comparison, int | None]:
    """The same, round by round, of some rounds or as of a moment; and the position that the moment is."""
    import psycopg

    from projections.moments import position_at
    from projections.replay_rounds import replay_rounds, rounds_of

    with psycopg.connect(dsn, autocommit=True) as conn:
        asked.verify_table(dsn, conn, table)
        one, when = asked.round_in(conn, round_), asked.until_in(conn, until)
        upto = position_at(conn, when) if isinstance(when, datetime) else when
    of_day = None if day is None else day.isoformat()
    rounds = rounds_of(dsn, day=of_day, table=table, round=one, upto=upto)
    kept = None if state is None else State.of(state, [of_day, table, None if one is None else str(one), upto], rounds)
    left = rounds if kept is None else rounds[kept.done :]
    with Progress("replay", unit="rounds") as progress:

        def tell(found: Comparison) -> None:
            if kept is not None:
                kept.keep(found, rounds)
            progress.update(found.rounds + (len(rounds) - len(left)), total=len(rounds))

        found = replay_rounds(dsn, left, tell, jobs=jobs or processors(), upto=upto)
    if kept is not None:
        found = kept.added_to(found)
        if found.equal:
            kept.forget()
    say(f"{counted(found.rounds, 'round')} folded afresh in {found.seconds:.1f} s")
    return found, upto


@dataclass
class State:
    """How far a replay of rounds is: how many of them were equal, and what that came to. Nothing of the log is in it."""

    path: Path
    scope: list[Any]
    done: int = 0
    last: str | None = None
    """The round that was compared last."""
    events: int = 0
    rows: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, path: Path, scope: list[Any], rounds: Sequence[UUID]) -> State:
        """What the file says; a beginning where there is none. Refuses (LGR-0742) one of another replay, or another ledger."""
        if not path.exists():
            return cls(path, scope)
        try:
            said = json.loads(path.read_text("utf-8"))
            found = cls(path, said["scope"], int(said["done"]), said["last"], int(said["events"]), dict(said["rows"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise _no_state(path, f"it cannot be read: {error}") from error
        if found.scope != scope:
            raise _no_state(path, f"it is of another scope: {found.scope}")
        if not 0 < found.done <= len(rounds) or found.last != str(rounds[found.done - 1]):
            raise _no_state(path, f"it is of other rounds: {found.done} up to {found.last}")
        found._before = found.done, found.events, dict(found.rows)
        return found

    def __post_init__(self) -> None:
        self._before: tuple[int, int, dict[str, int]] = (0, 0, {})

    def keep(self, found: Comparison, rounds: Sequence[UUID]) -> None:
        """Writes down what was equal by now."""
        done, events, rows = self._before
        if not found.equal:
            return
        self.done, self.events = done + found.rounds, events + found.events
        self.last = str(rounds[self.done - 1])
        self.rows = {name: rows.get(name, 0) + number for name, number in found.rows.items()}
        said = {"scope": self.scope, "done": self.done, "last": self.last, "events": self.events, "rows": self.rows}
        partial = self.path.with_name(self.path.name + ".new")
        with told_where("--resume", self.path):
            partial.write_text(json.dumps(said) + "\n", "utf-8")
            partial.replace(self.path)

    def added_to(self, found: Comparison) -> Comparison:
        """What was found, with what was compared before it was interrupted."""
        import msgspec

        done, events, rows = self._before
        names = {*rows, *found.rows}
        return msgspec.structs.replace(
            found,
            rounds=found.rounds + done,
            events=found.events + events,
            rows={name: rows.get(name, 0) + found.rows.get(name, 0) for name in sorted(names)},
        )

    def forget(self) -> None:
        """It is done."""
        self.path.unlink(missing_ok=True)


def _no_state(path: Path, detail: str) -> Exception:
    from ledger.errors import Refusal

    return Refusal(
        "LGR-0742",
        f"the replay cannot go on by this file: {detail}",
        field="--resume",
        value=str(path),
        help="name another file, or remove this one to begin anew",
    )


def _totals(dsn: str, upto: int) -> list[dict[str, Any]]:
    """The trial balance as of a position."""
    import msgspec
    import psycopg

    from projections.moments import balances_at, trial

    with psycopg.connect(dsn, autocommit=True) as conn:
        return [msgspec.structs.asdict(line) for line in trial(balances_at(conn, upto))]


def _total(line: dict[str, Any]) -> str:
    currency = line["currency"]
    return f"  {line['kind']}: {currency} {plain(line['balance'], 'amount', currency)} in {counted(line['accounts'], 'account')}"


SUMS = "balances and other sums over rounds are compared by `roundledger replay` alone"
"""What a replay round by round leaves out."""


def exit_code(found: Comparison) -> int:
    """0 equal, 1 different, 2 where something was not compared."""
    if not found.equal:
        return 1
    return 2 if found.stopped or found.behind != "0" or not found.events else 0


def verdict(found: Comparison) -> list[str]:
    """What a replay found, as people read it."""
    if found.difference is not None:
        return ["replay: DIFFERENT", f"  first difference: {found.difference}"]
    if not found.events and found.behind != "0":
        return [
            f"replay: nothing was compared: the live tables are {counted(int(found.behind), 'position')} behind the log",
            "  keep them up to date: roundledger serve, or roundledger projections run",
        ]
    if not found.events:
        return ["replay: no activity: the log has nothing of it, so nothing was compared"]
    at = max(found.positions.values(), key=int)
    rows, tables = counted(sum(found.rows.values()), "row"), counted(len(found.rows), "table")
    lines = [f"replay: equal: {rows} of {tables}, up to position {at}"]
    if found.rounds:
        lines.append(f"  not compared: {SUMS}")
    lines += [f"  not compared: projection {name} stands still: {reason}" for name, reason in found.stopped.items()]
    if found.behind != "0":
        lines.append(f"  not compared: the last {found.behind} positions, which the live tables have not come to")
    return lines


def document(found: Comparison) -> dict[str, object]:
    """The same for programs."""
    import msgspec

    fields: dict[str, object] = msgspec.to_builtins(found)
    return fields | {"sums_over_rounds": not found.rounds}


def record(found: Comparison) -> dict[str, object]:
    """The same in one record."""
    difference = found.difference
    return {
        "equal": found.equal,
        "compared": exit_code(found) != 2,
        "events": found.events,
        "rows": sum(found.rows.values()),
        "position": max(found.positions.values(), key=int, default="0"),
        "behind": found.behind,
        "sums_over_rounds": not found.rounds,
        "stopped": "; ".join(f"{name}: {reason}" for name, reason in found.stopped.items()),
        "table": difference and difference.table,
        "key": difference and " ".join(f"{name}={value}" for name, value in difference.key.items()),
        "column": difference and difference.column,
        "live": difference and difference.live,
        "replayed": difference and difference.replayed,
    }
