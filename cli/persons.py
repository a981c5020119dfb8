"""How a person says something to the ledger: through the running service, or straight to the database where none runs.

Either way it is the token that says who speaks. A name that is typed is at most compared with what the token says.
"""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, cast
from uuid import UUID

import click

from cli.near import did_you_mean
from cli.options import FILE
from cli.session import database
from ledger.errors import CODES, Refusal

if TYPE_CHECKING:
    import httpx
    import psycopg

    from cli.output import Report
    from ledger.application import Rounds

Command = TypeVar("Command", bound=Callable[..., Any])
_PATIENCE = 30.0
"""Seconds for which the service may think about one event."""


Part = Literal["bet", "correction", "hold"]
"""What a round has that a person may name by its id."""


class Speaker(Protocol):
    """A person who has proved to be the one, and what they can do."""

    def round_of(self, text: str) -> UUID:
        """The round with this id, or, where there is a database to look it up in, whose id begins so."""

    def ids(self, round_: UUID, what: Part) -> list[UUID]:
        """The ids of a round's bets, corrections or holds."""

    def currency(self, round_: UUID) -> str:
        """The currency of a round, for amounts as people write them."""

    def preview(self, round_: UUID, correction: UUID) -> Report | None:
        """What a correction would change; None where that cannot be seen from here."""

    def say(self, type_: str, subject: UUID | str, data: Mapping[str, Any], id_: UUID) -> list[str]:
        """Reports an event of this type about a round, a table or a property; the positions of what it brought about.

        Raises the Refusal otherwise.
        """


token_file_option = click.option("--token-file", type=FILE, help="File with your token, in place of LEDGER_TOKEN.")


def person_options(command: Command) -> Command:
    """The options by which a person is known and the ledger is reached; the command receives `ask`, which gives the Speaker."""

    @functools.wraps(command)
    def with_speaker(*arguments: Any, url: str | None, token_file: Path | None, person: str | None, **options: Any) -> Any:
        return command(*arguments, speaking=lambda: speaking(url, token_file, person), **options)

    for option in (
        click.option(
            "--person",
            envvar="LEDGER_PERSON",
            show_envvar=True,
            help="Your reference, which the service compares with your token; without a service the token alone says it.",
        ),
        token_file_option,
        click.option(
            "--url",
            envvar="LEDGER_URL",
            show_envvar=True,
            help="The running service. Without it the command writes to the database itself.",
        ),
    ):
        with_speaker = option(with_speaker)
    return cast(Command, with_speaker)  # the wrapper takes what the command does


def token_of(file: Path | None) -> str:
    """The token in a file, or else in LEDGER_TOKEN. Raises Refusal LGR-0801 where there is none."""
    token = (file.read_text("utf-8") if file else os.environ.get("LEDGER_TOKEN", "")).strip()
    if not token:
        raise Refusal(
            "LGR-0801",
            "no token says who you are",
            help="put your token into LEDGER_TOKEN, or name its file with --token-file",
        )
    return token


@contextmanager
def speaking(url: str | None, token_file: Path | None, person: str | None) -> Iterator[Speaker]:
    """The person whose token it is. Raises Refusal (08) where there is none, or where it is not theirs."""
    token = token_of(token_file)
    if url is not None:
        import httpx

        if person is None:
            raise click.UsageError(
                "the service (--url or LEDGER_URL) compares the token with whose it is: give --person or LEDGER_PERSON",
                click.get_current_context(),
            )
        headers = {"authorization": f"Bearer {token}"}
        with httpx.Client(base_url=url, headers=headers, timeout=_PATIENCE) as client:
            yield _OverHttp(client, person)
        return
    import psycopg

    from ledger.api.erasures import Erasures
    from ledger.application import Rounds
    from ledger.store.credentials import authenticate_token

    with (
        database() as dsn,
        psycopg.connect(dsn, autocommit=True) as conn,
        closing(Rounds(dsn, verify_player=Erasures(dsn, fold=True).verify)) as rounds,
    ):
        found = authenticate_token(conn, token)
        if person not in (None, found):
            raise Refusal("LGR-0804", f"the token is not that of {person}", field="person", value=person)
        yield _Straight(conn, rounds, found)


def _event(person: str, type_: str, subject: UUID | str, data: Mapping[str, Any], id_: UUID) -> bytes:
    """The CloudEvent, the same whichever way it goes: sent again the other way, it is the same event."""
    event = {
        "specversion": "1.0",
        "id": str(id_),
        "source": f"/people/{person}",
        "type": type_,
        "subject": str(subject),
        "time": datetime.now(UTC).isoformat(),
        "data": data,
    }
    return json.dumps(event).encode()


class _OverHttp:
    def __init__(self, client: httpx.Client, person: str) -> None:
        self._client = client
        self._person = person

    def round_of(self, text: str) -> UUID:
        try:
            return UUID(text)
        except ValueError:
            raise Refusal(
                "LGR-0701",
                "the service knows rounds by their whole id",
                field="id",
                value=text,
                help="beside the database `roundledger rounds list --json` shows whole ids",
            ) from None

    def ids(self, round_: UUID, what: Part) -> list[UUID]:
        return [UUID(each[what]) for each in self._asked("GET", f"/v1/rounds/{round_}")[f"{what}s"]]

    def currency(self, round_: UUID) -> str:
        return str(self._asked("GET", f"/v1/rounds/{round_}")["currency"])

    def preview(self, round_: UUID, correction: UUID) -> Report | None:
        return None

    def say(self, type_: str, subject: UUID | str, data: Mapping[str, Any], id_: UUID) -> list[str]:
        event = _event(self._person, type_, subject, data, id_)
        headers = {"content-type": "application/cloudevents+json"}
        [item] = self._asked("POST", "/v1/events", content=event, headers=headers)["items"]
        return list(item["positions"])

    def _asked(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        import httpx

        try:
            answer = self._client.request(method, path, **options)
        except httpx.TransportError as error:
            raise Refusal(
                "LGR-0706",
                f"the service does not answer: {str(error) or type(error).__name__}",
                value=str(self._client.base_url),
                help="list the corrections or slips before you ask again: it may have been taken",
            ) from error
        document: dict[str, Any] = answer.json()
        if answer.status_code != 200:
            raise _refusal(document)
        return document


@contextmanager
def telling_of_tables(table: str) -> Iterator[None]:
    """Says of a table that is not configured which one may be meant."""
    try:
        yield
    except Refusal as refusal:
        known = (refusal.help or "").removeprefix("tables: ").split(", ")
        near = did_you_mean(table, known) if refusal.code == "LGR-0602" else None
        if near is not None:
            refusal.help = f"{near} {refusal.help}"
        raise


_SOURCE = re.compile(r"write the source /people/(\S+)")
"""How the door says whose token it is; on the command line that is an option."""


def _refusal(problem: Mapping[str, Any]) -> Refusal:
    """The service's problem (RFC 9457) as a refusal of this side."""
    errors = problem.get("errors") or [{}]
    code, said, help = problem.get("code"), problem.get("detail") or problem.get("title"), problem.get("help")
    if help:
        help = _SOURCE.sub(r"say --person \1", help)
    return Refusal(
        code if code in CODES else "LGR-0509",
        str(said),
        field=errors[0].get("field"),
        value=errors[0].get("value"),
        help=help,
        cite=problem.get("cite"),
    )


class _Straight:
    def __init__(self, conn: psycopg.Connection[Any], rounds: Rounds, person: str) -> None:
        self._conn = conn
        self._rounds = rounds
        self._person = person

    def round_of(self, text: str) -> UUID:
        from cli.ids import find_round

        return find_round(self._conn, text)

    def ids(self, round_: UUID, what: Part) -> list[UUID]:
        round_has = self._rounds.round(round_)
        if what == "bet":
            return [*round_has.bets, *round_has.gone]
        return [*(round_has.corrections if what == "correction" else round_has.holds)]

    def currency(self, round_: UUID) -> str:
        return self._rounds.round(round_).terms.currency

    def preview(self, round_: UUID, correction: UUID) -> Report | None:
        from cli.correction import preview

        return preview(self._rounds, round_, correction)

    def say(self, type_: str, subject: UUID | str, data: Mapping[str, Any], id_: UUID) -> list[str]:
        from ledger.api import bodies, intake
        from ledger.reports import Caller, Verdict

        said = _event(self._person, type_, subject, data, id_)
        [item] = intake.read(said, bodies.ONE, datetime.now(UTC)).items
        verdict = item if isinstance(item, Verdict) else self._rounds.post([item.from_caller(Caller(person=self._person))])[0]
        if verdict.refusal is not None:
            raise verdict.refusal
        return [str(position) for position in verdict.positions]
