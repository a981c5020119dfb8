"""`roundledger publish`: the feed into the stream of a broker."""

from __future__ import annotations

from pathlib import Path

import click

from cli.feed import after_option, chosen, filters
from cli.options import FILE, examples, quiet_option
from cli.output import counted, say
from cli.session import database


@click.command(
    epilog=examples(
        "roundledger publish --nats nats://127.0.0.1:4222 --stream LEDGER             until interrupted",
        "roundledger publish --nats tls://nats.example.com --creds ledger.creds --stream LEDGER --once",
    )
)
@click.option("--nats", "url", required=True, envvar="LEDGER_NATS", metavar="URL", help="The broker; LEDGER_NATS without it.")
@click.option("--stream", required=True, help="The JetStream stream; it is made where there is none, for the subjects STREAM.>")
@click.option("--creds", type=FILE, help="Credentials for the broker.")
@filters(subject=False)
@after_option("Begin behind this position or cursor; where it was left without it.")
@click.option("--once", is_flag=True, help="End at the end of the log.")
@quiet_option
def publish(
    url: str,
    stream: str,
    creds: Path | None,
    types: tuple[str, ...],
    tables: tuple[str, ...],
    properties: tuple[str, ...],
    after: str | None,
    once: bool,
) -> None:
    """Publish the log to a stream of NATS JetStream.

    Each event becomes a message under STREAM.TYPE.TABLE, in order, with an id by which the stream drops duplicates. How far it
    came is kept in the database. Takes the extra `nats`.
    """
    import asyncio

    import psycopg

    from ledger.errors import Refusal
    from ledger.feed.source import Source, mark

    try:
        from ledger.feed import jetstream
    except ModuleNotFoundError:
        raise Refusal("LGR-0733", "nats-py is not installed", help="pip install 'round-ledger[nats]'") from None
    wanted = chosen(types, tables, properties)
    begin = None if after is None else mark(after, "--after")
    goal = jetstream.Goal(url, stream, creds)
    with database() as dsn, Source(dsn) as source, psycopg.connect(dsn, autocommit=True) as conn:
        number = asyncio.run(jetstream.publish(source, conn, goal, wanted, begin, follow=not once))
    say(f"{counted(number, 'event')} published to {stream}")
