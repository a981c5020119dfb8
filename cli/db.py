"""`roundledger db`: the database. Its schema is made and migrated here and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cli.options import Form, Group, examples, output_options_without_amounts
from cli.output import emit_record, say
from cli.session import hint_at_variables

if TYPE_CHECKING:
    from ledger.store.embedded import EmbeddedPostgres


def _shown(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


_STATUS = ["origin", "state", "directory", "log", "pid", "kept", "used", "url", "server_version", "schema", "schema_needed"]
"""What is told of a database; some of it not of every one."""


@click.group(cls=Group)
def db() -> None:
    """Make, migrate, start, stop and look at the database.

    Which one: LEDGER_DSN, else libpq's own PGHOST, PGHOSTADDR, PGSERVICE or PGDATABASE, else an embedded Postgres in
    LEDGER_DATA_DIR (by default this user's data directory). The embedded one runs while any roundledger uses it; the last one out
    stops it.
    """


@db.command(
    epilog=examples(
        "roundledger db init",
        "LEDGER_DSN=postgresql://ledger@db.example/ledger roundledger db init",
        codes="0 the schema is current, 2 it could not be done.",
    )
)
@output_options_without_amounts
def init(form: Form) -> None:
    """Make the schema, or bring it up to this version.

    Safe to repeat, and safe when several do it at once. Nothing else ever changes the schema: a service that finds an older one
    refuses to start.
    """
    from ledger.store import migrate
    from ledger.store.server import server

    with server() as found:
        applied = migrate.init(found.dsn)
    names = [f"{one.version:04}_{one.name}" for one in applied]
    if emit_record({"origin": found.origin, "schema": migrate.LATEST, "applied": names}, form):
        return
    for name in names:
        click.echo(f"applied {name}")
    click.echo(f"schema version {migrate.LATEST}, " + ("made now" if applied else "was current already") + f" ({found.origin})")


@db.command(
    epilog=examples(
        "roundledger db status",
        "roundledger db status --json",
        codes="0 runs with the current schema, 1 does not run or has another schema, 2 could not look.",
    )
)
@output_options_without_amounts
@click.pass_context
def status(context: click.Context, form: Form) -> None:
    """Say which database is used and how it is.

    Whether it runs, and its schema's version. Starts and changes nothing.
    """
    from ledger.store import migrate, server

    found = server.named()
    told: dict[str, Any] = dict.fromkeys(_STATUS)
    if found is not None:
        told |= {"origin": found.origin, "state": "running"}
        dsn: str | None = found.dsn
    else:
        cluster = server.embedded()
        seen = cluster.status()
        told |= {"origin": "embedded", "state": seen.state, "directory": str(seen.directory), "log": str(seen.log)}
        told |= {"pid": seen.pid, "kept": seen.kept, "used": seen.used}
        dsn = cluster.conninfo() if seen.state == "running" else None
    if dsn is not None:
        with server.session(dsn) as connection:
            told |= {"url": server.url(dsn), "server_version": connection.info.parameter_status("server_version")}
        told["schema"] = migrate.current(dsn)
    told["schema_needed"] = migrate.LATEST
    if not emit_record(told, form):
        for name, value in told.items():
            if value is not None:
                click.echo(f"{name.replace('_', ' ')}:".ljust(16) + _shown(value))
        if told["state"] == "running" and told["schema"] < migrate.LATEST:
            say("type: roundledger db init")
    hint_at_variables()
    context.exit(0 if told["state"] == "running" and told["schema"] == migrate.LATEST else 1)


@db.command(
    epilog=examples(
        "roundledger db start",
        'roundledger db start && psql "$(roundledger db psql-url)"',
        codes="0 it runs, 2 it could not be done.",
    )
)
@output_options_without_amounts
def start(form: Form) -> None:
    """Start the embedded Postgres and keep it running.

    Other tools can use it then, until `roundledger db stop`. roundledger itself needs no such start. A crash or a reboot ends the
    keeping as well.
    """
    from ledger.store import server

    cluster = _own_cluster()
    cluster.start()
    url = server.url(cluster.conninfo())
    if not emit_record({"state": "running", "kept": True, "url": url}, form):
        click.echo(f"running until 'roundledger db stop': {url}")


@db.command(
    epilog=examples(
        "roundledger db stop",
        "roundledger db stop --now",
        codes="0 does not run any more, 1 runs on because it is in use, 2 it could not be done.",
    )
)
@click.option("--now", is_flag=True, help="Stop even while a roundledger uses it; that one loses its connections.")
@output_options_without_amounts
@click.pass_context
def stop(context: click.Context, now: bool, form: Form) -> None:
    """Stop the embedded Postgres, unless it is in use.

    This ends what `roundledger db start` began; while a roundledger still uses the server, it stops with the last of them.
    """
    cluster = _own_cluster()
    ran = cluster.status().state not in ("absent", "stopped")
    stopped = cluster.stop(now=now)
    if not emit_record({"state": "stopped" if stopped else "running", "kept": False, "ran": ran}, form):
        if not ran:
            click.echo("nothing to stop: the embedded Postgres does not run")
        else:
            click.echo("stopped" if stopped else "in use, or still stopping: it ends with the last roundledger that uses it")
    context.exit(0 if stopped else 1)


@db.command(
    "psql-url",
    epilog=examples(
        'psql "$(roundledger db psql-url)"',
        codes="0 printed, 1 printed, but the embedded Postgres does not run, 2 it could not be done.",
    ),
)
@output_options_without_amounts
@click.pass_context
def psql_url(context: click.Context, form: Form) -> None:
    """Print the database's URL, for psql and other tools.

    It never has a password in it; PGPASSWORD and PGPASSFILE give one.
    """
    from ledger.store import server

    found = server.named()
    running = True
    if found is None:
        cluster = server.embedded()
        running = cluster.status().state == "running"
        found = server.Server(cluster.conninfo(), "embedded")
    url = server.url(found.dsn)
    if not emit_record({"url": url, "origin": found.origin, "running": running if found.origin == "embedded" else None}, form):
        click.echo(url)
        if not running:
            say("it does not run; type: roundledger db start")
    context.exit(0 if running else 1)


def _own_cluster() -> EmbeddedPostgres:
    from ledger.errors import Refusal
    from ledger.store import server

    found = server.named()
    if found is not None:
        raise Refusal(
            "LGR-0519",
            "a server of your own is named, and roundledger starts and stops only the embedded one",
            field=found.origin,
            value=server.url(found.dsn),
            help=f"unset {found.origin} to use the embedded Postgres, or start and stop yours with its own tools",
        )
    return server.embedded()
