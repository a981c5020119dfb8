"""What the door answers, typed. Fields that a later service adds are passed over."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

import msgspec


class FieldError(msgspec.Struct, frozen=True, kw_only=True):
    """The part of the input that was refused, as a dotted path, and its value."""

    field: str
    value: str | None = None


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why something was refused: problem details (RFC 9457) with the ledger's own code."""

    title: str = ""
    status: int = 0
    """The HTTP status; within a batch, that with which the event alone would have been answered."""
    detail: str = ""
    code: str = ""
    """Stable, for example `LGR-0204`; empty where something between here and the ledger answered."""
    retryable: bool = False
    """Whether the very same event may be accepted later."""
    errors: tuple[FieldError, ...] = ()
    help: str | None = None
    cite: str | None = None
    """Order, article and item of the rule that refused."""

    def __str__(self) -> str:
        return f"{self.code or self.status}: {self.detail or self.title}"


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one event."""

    id: UUID | None
    status: Literal["accepted", "replayed", "rejected"]
    """`replayed`: it was accepted before, and this is its first answer again."""
    round: UUID | None = None
    positions: tuple[str, ...] = ()
    """Of the log's events that it caused, in order; none where it was rejected."""
    problem: Problem | None = None
    """Set where it was rejected."""

    @property
    def final(self) -> bool:
        """Whether sending it again cannot change the answer."""
        return self.status != "rejected" or (self.problem is not None and not self.problem.retryable)


class Sequence(msgspec.Struct, frozen=True, kw_only=True):
    """What the ledger has received of one epoch of a terminal: which of its numbers it has judged."""

    terminal: str
    epoch: int
    contiguous: int
    """The number up to which it has all from 1."""
    missing: tuple[tuple[int, int], ...] = ()
    """From, to: the first of the numbers that are missing below the highest that it has."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One item for each event of a post, in the same order."""

    items: tuple[Item, ...]
    sequences: tuple[Sequence, ...] = ()
    """What the ledger has received by now of each terminal and epoch that numbered events of the post."""


class Unanswered(Exception):
    """Nobody knows what became of a post: the link or the service failed. Sending the same events again finds out.

    `retry_after`: seconds that the service asked for, where it said so. `code`: that of the problem by which it refused for now;
    None where nothing of the ledger answered. `sent`: whether any of it may have left; False where no try had a connection.
    """

    def __init__(self, reason: str, *, retry_after: float | None = None, code: str | None = None, sent: bool = True) -> None:
        super().__init__(reason)
        self.sent = sent
        self.retry_after = retry_after
        self.code = code


class Refused(Exception):
    """A post was refused as a whole, and sending it again as it is would not help; nothing of it was judged."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem
        self.code = problem.code or None


_answer = msgspec.json.Decoder(Answer)
_problem = msgspec.json.Decoder(Problem)


def read_answer(body: bytes) -> Answer:
    """The answer that a body of status 200 holds. Raises Unanswered where it is none."""
    try:
        return _answer.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise Unanswered("what was answered is no answer of a ledger: is this its address?") from None


def read_problem(status: int, body: bytes) -> Problem:
    """The problem that an answer of this status holds; one with nothing but the status where something else answered."""
    try:
        found = _problem.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Problem(status=status, title="answered without a problem of the ledger", retryable=status in _PASSING)
    return msgspec.structs.replace(found, status=status) if found.code else _foreign(status, found)


_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses of whatever stands between that pass by themselves (RFC 9110, RFC 6585, RFC 8470)."""


def _foreign(status: int, found: Problem) -> Problem:
    changed: dict[str, Any] = {"status": status, "retryable": status in _PASSING}
    return msgspec.structs.replace(found, **changed)
