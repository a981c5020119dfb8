"""What a person decides, sent while that person is there.

The outbox sends what happened at the table whenever it can, for facts are nobody's. A decision is somebody's: it goes with that
person's token, which is stored nowhere, and so it never waits to be sent later, when another person's token may be at hand. It
has no number either: one that was refused for want of a right would leave a gap that nothing closes.
"""

from __future__ import annotations

import msgspec

from ledger.client.answers import Item, Unanswered
from ledger.client.door import Door
from ledger.client.happenings import Event
from ledger.errors import Refusal

NO_PERSON = "LGR-0801"
OF_RIGHTS = frozenset({NO_PERSON, "LGR-0804"})
"""Refusals of the person, not of the moment: the ledger would take the event later, but only from somebody else."""


def act(door: Door, event: Event, token: str) -> Item:
    """Sends a person's act with that person's token, now or never; what the ledger says of it.

    While the ledger turns it away for the moment only (another process has the table), it is sent again as the door's `retry`
    says; then the refusal is its last. Raises Unanswered where nobody knows whether it was taken: look before doing it again.
    Raises Refused where nothing was judged, and ValueError for what is no person's act, or was numbered.
    """
    if not event.persons or event.sequence is not None:
        raise ValueError(f"not a fresh act of a person: {event}")
    failures = 0
    while True:
        item = _judged(door, event, token)
        failures += 1
        if item.final or _of_rights(item) or failures >= door.retry.tries:
            return item
        door.rest(failures)


def _judged(door: Door, event: Event, token: str) -> Item:
    [item] = door.post([event], token=token).items
    if item.id != event.id:
        raise Unanswered("the answer is about another event than the one that was sent")
    return item


def _of_rights(item: Item) -> bool:
    return item.problem is not None and item.problem.code in OF_RIGHTS


def for_good(item: Item) -> Item:
    """The answer as an outbox keeps it: what takes a person (LGR-0801) is rejected, for an outbox has nobody's token to send."""
    problem = item.problem
    if problem is None or problem.code != NO_PERSON:
        return item
    help = (
        "a person's act does not wait: its person sends it anew, with their token (`terminal send TYPE`, or `ledger.client.act`)"
    )
    return msgspec.structs.replace(item, problem=msgspec.structs.replace(problem, retryable=False, help=help))


def never_waits(event: Event) -> Refusal:
    """Refusal LGR-0723."""
    return Refusal(
        "LGR-0723",
        f"{event.type} is a person's act",
        field="type",
        value=event.type,
        help="send it by itself, while its person is there: `terminal send TYPE`, or `ledger.client.act`",
    )
