"""A terminal's side of the door, as a Python package: events, the door, and an outbox that loses nothing.

    from ledger.client import Door, Outbox, flush, happened
    from ledger.reports import CloseBetting, OpenRound

    with Outbox(Path("T-R01.outbox"), terminal="T-R01") as outbox, Door("http://127.0.0.1:8044") as door:
        opening = happened(OpenRound(table="R01", game="roulette"), terminal="T-R01")
        outbox.put(opening)                                            # on disk when this returns
        outbox.put(happened(CloseBetting(), terminal="T-R01", round=opening.round))
        flush(outbox, door)                                            # now, or whenever the link is up

What a person decides does not wait in an outbox: `act` sends it, with that person's token.

The bodies are those of `ledger.reports`, one struct for each type of event. Nothing of the store, the round or the rules is
imported: this is what a terminal needs and no more.
"""

from ledger.client.acts import act
from ledger.client.answers import Answer, FieldError, Item, Problem, Refused, Sequence, Unanswered
from ledger.client.door import TIMEOUT, Door
from ledger.client.flush import Flushed, flush
from ledger.client.happenings import BATCH_TYPE, Event, batch, happened, uuid7
from ledger.client.outbox import Failure, Outbox, Queued, Standing, TurnedAway
from ledger.client.retry import Retry, retry_after
from ledger.client.sender import Sender, Sent
from ledger.client.signing import Signing

__all__ = [
    "BATCH_TYPE",
    "TIMEOUT",
    "Answer",
    "Door",
    "Event",
    "Failure",
    "FieldError",
    "Flushed",
    "Item",
    "Outbox",
    "Problem",
    "Queued",
    "Refused",
    "Retry",
    "Sender",
    "Sent",
    "Sequence",
    "Signing",
    "Standing",
    "TurnedAway",
    "Unanswered",
    "act",
    "batch",
    "flush",
    "happened",
    "retry_after",
    "uuid7",
]
