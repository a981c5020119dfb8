"""`roundledger webhooks`: the addresses to which the feed is sent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.credentials import connected, hand_over, into_file, verify_free
from cli.feed import after_option, chosen, filters, head_of
from cli.options import Form, Group, examples, output_options_without_amounts
from cli.output import Column, Report, Sheet, counted, emit, emit_record, header, say

if TYPE_CHECKING:
    from ledger.feed.webhooks import Webhook

_COLUMNS = (
    Column("webhook", "webhook"),
    Column("url", "url"),
    Column("state", "state"),
    Column("types", "types", below=2, if_any=True),
    Column("tables", "tables", below=2, if_any=True),
    Column("properties", "properties", below=2, if_any=True),
    Column("position", "up to", "position"),
    Column("delivered", "delivered", "number"),
    Column("dead", "dead", "number"),
    Column("failures", "tries", "number", if_any=True),
    Column("retry_at", "next try", below=1, if_any=True),
    Column("failure", "last failure", below=3, if_any=True),
    Column("stopped", "stopped because", below=3, if_any=True),
    Column("added_at", "added", drawn=False),
    Column("delivered_at", "last", below=1),
)
_DEAD = (
    Column("webhook", "webhook"),
    Column("position", "position", "position"),
    Column("type", "type"),
    Column("tries", "tries", "number"),
    Column("failure", "failure", below=1),
    Column("died_at", "sent last", below=1),
    Column("again", "sent again", if_any=True),
)


@click.group(cls=Group)
def webhooks() -> None:
    """The addresses to which events are sent.

    A running service sends them. Each event is posted as a CloudEvent, signed, one after the other in the order of the log, until
    it is taken.
    """


@webhooks.command(
    epilog=examples(
        "roundledger webhooks add https://example.com/ledger --out ledger.webhook",
        "roundledger webhooks add https://example.com/paid --type PayoutMade --table R01 --table R02",
        "roundledger webhooks add http://127.0.0.1:9000/ --plain --private --after 0     all that ever was",
    )
)
@click.argument("url")
@filters(subject=False)
@after_option("Send what comes behind this position or cursor; what comes from now on without it.")
@click.option("--plain", is_flag=True, help="Send without TLS too.")
@click.option("--private", is_flag=True, help="Send to this machine or a private network too.")
@into_file
@output_options_without_amounts
def add(
    url: str,
    types: tuple[str, ...],
    tables: tuple[str, ...],
    properties: tuple[str, ...],
    after: str | None,
    plain: bool,
    private: bool,
    out: Path | None,
    form: Form,
) -> None:
    """Send events to URL.

    The secret by which they are signed is shown once. URL is reached by HTTPS and in the public network, unless the options say
    otherwise.
    """
    from ledger import houses
    from ledger.feed import webhooks as kept

    verify_free(out)
    wanted = chosen(types, tables, properties)
    with connected() as conn:
        known = houses.in_force(conn)
        strange = [f"table {each}" for each in tables if each not in {table.id for config in known for table in config.tables}]
        strange += [f"property {each}" for each in properties if each not in {config.id for config in known}]
        for each in strange:
            say(f"note: no {each} is configured by now")
        _verify_reachable(url, plain=plain, private=private)
        added, secret = kept.add(conn, url, wanted, head_of(conn, after), plain=plain, private=private)
        hand_over({"webhook": added.id, "url": added.url, "position": added.cursor, "secret": secret}, form, out)


@webhooks.command("list", epilog=examples("roundledger webhooks list", "roundledger webhooks list --json"))
@output_options_without_amounts
def list_(form: Form) -> None:
    """List the webhooks and how far each has come."""
    from ledger.feed import webhooks as kept

    with connected() as conn:
        dead = [letter.webhook for letter in kept.dead_letters(conn)]
        rows = [_row(each, dead.count(each.id)) for each in kept.webhooks(conn)]
    emit(Report("Webhooks", [Sheet(_COLUMNS, rows, name="webhooks")], facts=header(), notes=[]), form)


@webhooks.command(epilog=examples("roundledger webhooks remove wh_7k3xq9ve"))
@click.argument("webhook")
@output_options_without_amounts
def remove(webhook: str, form: Form) -> None:
    """Send nothing more to a WEBHOOK.

    What it did not take is forgotten.
    """
    from ledger.feed import webhooks as kept

    with connected() as conn:
        removed = kept.remove(conn, webhook)
    if not emit_record({"webhook": removed.id, "url": removed.url}, form):
        say(f"webhook {removed.id}: removed")


@webhooks.command(
    epilog=examples(
        "roundledger webhooks retry wh_7k3xq9ve",
        "roundledger webhooks retry wh_7k3xq9ve --after 1200      after the log was restored to an earlier point",
    )
)
@click.argument("webhook")
@after_option("Go on behind this position or cursor instead.")
@output_options_without_amounts
def retry(webhook: str, after: str | None, form: Form) -> None:
    """Send to a WEBHOOK what it did not take.

    Its dead letters are sent again at once. It goes on behind them though it was stopped.
    """
    from ledger.feed import webhooks as kept

    with connected() as conn:
        found = kept.retry(conn, webhook, None if after is None else head_of(conn, after))
        letters = len(kept.dead_letters(conn, webhook))
    if not emit_record({"webhook": found.id, "dead": letters, "position": found.cursor}, form):
        say(f"webhook {found.id}: {counted(letters, 'dead letter')} to be sent again; it goes on after {found.cursor}")


@webhooks.command(epilog=examples("roundledger webhooks dead", "roundledger webhooks dead wh_7k3xq9ve --csv"))
@click.argument("webhook", required=False)
@output_options_without_amounts
def dead(webhook: str | None, form: Form) -> None:
    """List the events that were not taken.

    Of all webhooks, or of one WEBHOOK. `roundledger webhooks retry` sends them again.
    """
    import msgspec

    from ledger.feed import webhooks as kept

    with connected() as conn:
        if webhook is not None:
            kept.webhook(conn, webhook)
        rows = [msgspec.structs.asdict(letter) for letter in kept.dead_letters(conn, webhook)]
    emit(Report("Dead letters", [Sheet(_DEAD, rows, name="dead_letters")], facts=header(), notes=[]), form)


def _verify_reachable(url: str, *, plain: bool, private: bool) -> None:
    """Refuses (LGR-0730) what nothing may be sent to. A name that nobody knows yet may be known when something is sent."""
    import asyncio

    from ledger.feed import targets

    target = targets.target(url, plain=plain)
    try:
        asyncio.run(targets.address(target, private=private))
    except OSError as error:
        say(f"note: {target.host} is not known at the moment ({error.strerror or error}); it is looked up for each message")


def _row(each: Webhook, dead: int) -> dict[str, Any]:
    from ledger.feed.source import position_of

    return {
        "webhook": each.id,
        "url": each.url,
        "state": each.state,
        "types": each.types,
        "tables": each.tables,
        "properties": each.properties,
        "position": position_of(each.after),
        "delivered": each.delivered,
        "dead": dead,
        "failures": each.failures or None,
        "retry_at": each.retry_at,
        "failure": each.failure,
        "stopped": each.stopped,
        "added_at": each.added_at,
        "delivered_at": each.delivered_at,
    }
