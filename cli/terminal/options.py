"""What the terminal's commands have in common: its outbox, and the door it posts to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.options import FILE
from cli.output import say
from ledger.errors import Refusal

if TYPE_CHECKING:
    from ledger.client import Door

URL = "http://127.0.0.1:8044"


def outbox_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--outbox and --terminal."""
    named = click.option("--terminal", "name", help="Id of the terminal. Needed once, when its outbox is made.")
    file = click.option(
        "--outbox",
        "path",
        required=True,
        envvar="LEDGER_OUTBOX",
        show_envvar=True,
        type=click.Path(dir_okay=False, path_type=Path),
        help="The terminal's outbox; made where there is none.",
    )
    return file(named(command))


def key_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """--key."""
    return click.option(
        "--key",
        envvar="LEDGER_KEY",
        show_envvar=True,
        type=FILE,
        help="File with the terminal's signing key, as `roundledger keys issue TERMINAL --out FILE` writes it. It is read "
        "again where the service refuses its signature.",
    )(command)


def door_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--url, --key and --packed."""
    url = click.option("--url", envvar="LEDGER_URL", show_envvar=True, default=URL, show_default=True, help="The service.")
    packed = click.option("--packed", is_flag=True, help="Send larger posts with gzip.")
    return url(key_option(packed(command)))


def door(url: str, key: Path | None, packed: bool, *, tries: int) -> Door:
    """The door that the options name. Refuses a key that cannot be read (LGR-0722) and what is no address (LGR-0706)."""
    import httpx

    from ledger.client import Door, Retry, Signing

    if key is not None and key.stat().st_mode & 0o077:
        say(f"warning: others on this machine can read the key in {key}: chmod 600 {key}")
    auth = None if key is None else Signing.of_file(key)
    try:
        return Door(url, auth=auth, packed=packed, retry=Retry(tries=tries, longest=5.0))
    except (ValueError, httpx.InvalidURL) as error:
        raise Refusal("LGR-0706", str(error), field="--url", value=url, help=f"for example {URL}") from error
