"""Sends what waits in an outbox, in order, and keeps what the ledger says of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile

from ledger.client.acts import for_good
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

    Always the oldest first: a post without an answer is repeated as the door's `retry` says before anything later is sent, and
    whenever something was judged, those that had been turned away for now (their round was not open yet, another process had the
    table) come first again. They hold up nothing else: what is turned away is passed over until something moves. Ends early where
    `stop` says so. Raises what the outbox refuses.
    """
    done = Flushed()
    size, past = batch, 0
    try:
        while not stop() and (events := outbox.waiting(after=past, limit=size, most=BATCH_BYTES)):
            behind = outbox.behind(events)
            first = events[0].n in behind
            # What is said of a post is said of each of its events, so it ends where another thing would have to be said.
            events = list(takewhile(lambda event: (event.n in behind) is first, events))  # noqa: B023 - used up at once
            try:
                judged = _post(outbox, door, events, done, behind=first)
            except Refused as refused:
                if refused.problem.status != 413 or len(events) == 1:
                    raise
                size = len(events) // 2  # something in between takes less than the ledger does
                continue
            past = 0 if judged else events[-1].n
    except (Unanswered, Refused) as failure:
        done.failure = failure
        outbox.failed(failure)
    done.waiting = outbox.backlog
    return done


def _post(outbox: Outbox, door: Door, events: list[Queued], done: Flushed, *, behind: bool) -> int:
    """Posts these, and keeps the answers; how many were judged for good."""
    answer = door.post([event.body for event in events], behind=behind)
    done.posts += 1
    answered = list(zip(events, map(for_good, answer.items), strict=True))
    if any(item.id != event.id for event, item in answered):
        raise Unanswered("the answer is about other events than those that were sent")
    outbox.answered(answered, answer.sequences)
    before = done.judged
    for _, item in answered:
        if item.status == "accepted":
            done.accepted += 1
        elif item.status == "replayed":
            done.replayed += 1
        elif item.final:
            done.rejected += 1
    return done.judged - before
