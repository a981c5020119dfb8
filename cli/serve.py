"""`roundledger serve`: the HTTP service that terminals post to."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import click

from cli.options import FILE, examples, log_option
from cli.output import say
from cli.session import database
from ledger.logs import FORM

HOST, PORT, RATE = "127.0.0.1", 8044, 500.0
"""As `ledger.api.server` and `ledger.api.rate` have them, which are slow to import."""


@click.command(
    epilog=examples(
        "roundledger property example > house.toml; roundledger serve --property house.toml",
        "roundledger serve --port 0                        a free port; the address is printed",
        "roundledger serve --host 0.0.0.0 --tls-cert door.pem --tls-key door.key     others sign, or bear a token",
        "curl http://127.0.0.1:8044/healthz",
    )
)
@click.option("--host", default=HOST, show_default=True, help="Address to listen on.")
@click.option("--port", default=PORT, show_default=True, type=click.IntRange(0, 65535), help="Port; 0 takes a free one.")
@click.option("--property", "file", type=FILE, help="Apply this configuration first.")
@click.option(
    "--require-auth",
    is_flag=True,
    help="Terminals sign and people bear tokens on this machine too. On any other address they do anyway.",
)
@click.option("--tls-cert", type=FILE, help="Speak HTTPS with this certificate and its chain (PEM).")
@click.option("--tls-key", type=FILE, help="The certificate's private key (PEM, no password).")
@click.option(
    "--rate",
    default=RATE,
    show_default=True,
    type=click.FloatRange(1, 100_000),
    help="Requests a second of one terminal or person; of all who prove nothing at one address, ten times as many.",
)
@click.option(
    "--projections/--no-projections",
    default=True,
    show_default=True,
    help="Keep balances and reports up to date in a process beside this one; or leave that to `roundledger projections run`.",
)
@log_option
@click.option("--while-stdin", is_flag=True, hidden=True, help="Stop when stdin ends.")
def serve(
    host: str,
    port: int,
    file: Path | None,
    require_auth: bool,
    tls_cert: Path | None,
    tls_key: Path | None,
    rate: float,
    projections: bool,
    form: str,
    while_stdin: bool,
) -> None:
    """Take events from terminals over HTTP, until interrupted.

    What they post is decided and stored, and the projections are kept up to date, unless others do that. The address is printed
    on stdout when requests are answered. /openapi.json describes what is served.
    """
    from cli.property import apply_property, read_property
    from ledger import logs
    from ledger.api.serve import UNENCRYPTED, opened
    from ledger.api.server import Tls, is_loopback
    from ledger.store.pause import collect_seldom

    if (tls_cert is None) != (tls_key is None):
        raise click.UsageError("--tls-cert and --tls-key go together", click.get_current_context())
    tls = None if tls_cert is None or tls_key is None else Tls(tls_cert, tls_key)
    os.environ[FORM] = form  # the projections' process writes as this one does
    log = logs.begin()
    config = read_property(file) if file is not None else None
    with database() as dsn:
        if config is not None and apply_property(dsn, config):
            say(f"property {config.id}: applied")
        with opened(dsn, host=host, port=port, require_auth=require_auth, tls=tls, rate=rate, projections=projections) as server:
            if tls is None and not is_loopback(host, port):
                say(f"warning: {UNENCRYPTED}")
            if while_stdin:
                threading.Thread(target=_stop_with_stdin, args=(server.stop,), daemon=True).start()
            collect_seldom()
            server.run(click.echo)
    log.tell()
    say("stopped")


def _stop_with_stdin(stop: Callable[[], None]) -> None:
    """Whoever started this service holds the other end, and lets go of it however it ends."""
    sys.stdin.buffer.read()
    stop()
