"""Sends what waits in an outbox, in order, and keeps what the ledger says of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ledger.client.answers import Refused, Unanswered
from ledger.client.door import Door
from ledger.client.outbox import Outbox, Queued

BATCH = 200
"""Events of one post."""
BATCH_BYTES = 1 << 19
"""Bytes of one post: half of what the door reads."""


@dataclass
class Flushed:
    """What one flush came to."""

    posts: int = 0
    accepted: int = 0
    replayed: int = 0
    """Accepted already, by an earlier try or another process."""
    rejected: int = 0
    """For good; the outbox has the reasons."""
    waiting: int = 0
    """Left in the outbox, to be sent again."""
    failure: Unanswered | Refused | None = None
    """What ended it before everything was sent; nothing is lost."""

    @property
    def judged(self) -> int:
        """Events with a final answer."""
        return self.accepted + self.replayed + self.rejected


def flush(outbox: Outbox, door: Door, *, batch: int = BATCH, stop: Callable[[], bool] = lambda: False) -> Flushed:
    """Sends all that waits, up to `batch` events in a post, until each has its final answer or nothing moves any more.

    A post without an answer is repeated as the door's `retry` says before anything later is sent. An event that is turned away
    for now (its round is not open yet, another process has the table) does not hold up those after it: the ledger judges each by
    its number and the state of its round. It is sent again in the next pass, for as long as passes bring something about. Ends
    early where `stop` says so. Raises what the outbox refuses.
    """
    done = Flushed()
    try:
        while not stop():
            before = done.judged
            left = _pass(outbox, door, batch, stop, done)
            if not left or done.judged == before:
                break
    except (Unanswered, Refused) as failure:
        done.failure = failure
    done.waiting = outbox.standing().waiting
    return done


def _pass(outbox: Outbox, door: Door, size: int, stop: Callable[[], bool], done: Flushed) -> int:
    """Sends each event that waits once, in order; how many were turned away for now."""
    after = left = 0
    while not stop() and (events := outbox.waiting(after=after, limit=size, most=BATCH_BYTES)):
        try:
            left += _post(outbox, door, events, done)
        except Refused as refused:
            if refused.problem.status != 413 or len(events) == 1:
                raise
            size = len(events) // 2  # somebody in between takes less than the ledger does
            continue
        after = events[-1].n
    return left


def _post(outbox: Outbox, door: Door, events: list[Queued], done: Flushed) -> int:
    answer = door.post([event.body for event in events])
    done.posts += 1
    answered = list(zip(events, answer.items, strict=True))
    if any(item.id != event.id for event, item in answered):
        raise Unanswered("the answer is about other events than those that were sent")
    outbox.answered(answered)
    for _, item in answered:
        if item.status == "accepted":
            done.accepted += 1
        elif item.status == "replayed":
            done.replayed += 1
        elif item.final:
            done.rejected += 1
    return sum(not item.final for _, item in answered)
