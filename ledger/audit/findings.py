"""Findings: what an audit holds against the log, each under a stable reason code.

A code never changes its meaning; a finding keeps its id from run to run as long as the same thing is wrong at the same place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, Literal
from uuid import UUID

import msgspec

from ledger.events import Recorded

CODES: dict[str, str] = {
    # What a bet got.
    "UNPAID_WIN": "The bet won or was a push, and nothing was paid on it.",
    "UNTAKEN_LOSS": "The bet lost, and its stake was not collected.",
    "PAID_TWICE": "The bet was paid more than once, or in more than one round.",
    "PAID_ON_LOSS": "The bet lost, and was paid.",
    "RESULT_DIFF": "The bet is on record under another result than the regulation gives it, and got what it had to get.",
    "PAID_ON_VOID": "The bet was void, taken back or in a void round, and was paid.",
    "PAID_WITHOUT_BET": "A payout or a loss is booked for a bet that was never placed in the round.",
    "AMOUNT_DIFF": "An amount is not what the regulation gives.",
    "ROUNDING_DIFF": "An amount differs from what the regulation gives by its rounding alone.",
    "RULE_VERSION_DIFF": "The amounts are those of another regulation, another version of it, or another payable unit.",
    "CITE_DIFF": "The article or the house edge on record is not that of the bet.",
    "STAKE_DIFF": "The stake that was settled or returned is not the one that was placed.",
    "PLAYER_DIFF": "The player who was settled with is not the one who placed the bet.",
    "SPOT_DIFF": "The spot that was settled is not the one on which the bet lies.",
    "CURRENCY_DIFF": "An amount is in another currency than the round.",
    "ILLEGAL_BET": "The regulation does not know the spot, or the stake is no amount.",
    "BET_TWICE": "The same bet is placed more than once.",
    # What the table showed, and in which order things happened.
    "OUTCOME_DIFF": "The outcome does not follow from what was written, or the payouts are those of another outcome.",
    "PAY_ORDER": "Bets were settled in another order than the regulation says; the payouts of one player in a row have none.",
    "LATE_BET": "A bet was taken after the close, and no number of its terminal shows that it was placed before.",
    "OUT_OF_PLACE": "An event stands where it cannot have happened.",
    "ON_HOLD": "The round was settled while it, or a bet of it, was held for review.",
    "HALF_SETTLED": "The outcome is on record, and the settlement is not complete.",
    "TOTALS_DIFF": "The totals of the settlement are not those of its bets.",
    "VOID_DIFF": "A void does to the stakes what its clause does not say.",
    # What was put right afterwards.
    "UNAPPROVED_CORRECTION": "Something was corrected without the approvals that it takes.",
    "SELF_APPROVED": "A correction was approved by its author, or twice by one person.",
    "CORRECTION_DIFF": "What a correction did is not what was asked and approved.",
    # Money over rounds.
    "RETURN_DIFF": "More or less went back undecided than had been staked.",
    "CHAIN_DIFF": "The stakes that a round handed on are not those that its successor took over.",
    "LOCKED_BET": "A bet that the law holds fast was taken back, changed or returned.",
    # What the rounds were played under.
    "TERMS_DIFF": "The terms of the round are not those of the configuration that it names.",
    "NOT_IN_EFFECT": "The regulation of the round was not in effect on its day, and nobody opted into it.",
    "DOCUMENT_ALTERED": "The content of a document is not what its hash says.",
    "DOCUMENT_MISSING": "The log does not hold a document that a round names.",
    # The log itself.
    "SEQ_GAP": "An event is missing from its stream.",
    "SEQ_ORDER": "An event stands before one that came earlier in its stream, or twice.",
    "CLAIM_DIFF": "A report brought about more or fewer events than it says.",
    "REPORT_DIFF": "An event says otherwise than is so which report brought it about, or when that was made or received.",
    "NUMBER_LOST": "A terminal's report was received and answered, and neither an event nor a rejection has its number.",
    "UNREADABLE": "An event cannot be read.",
    # What is made of the log.
    "ROW_DIFF": "A row of the live tables is not what the log folds to.",
    "ROW_MISSING": "A row that the log folds to is not in the live tables.",
    "ROW_EXTRA": "The live tables have a row that the log does not fold to.",
    "BALANCE_DIFF": "The balances of a currency do not sum to zero.",
    "NOT_FOLDED": "The live tables stand still, or have not come to the log's end.",
    "SLIP_DIFF": "A slip does not add up, or what was signed or cancelled is not what was written, or not by whom it has to be.",
}
"""Reason code → what it means."""


Measure = Literal["amount", "count"]


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """An event of the log by which a finding can be seen."""

    position: str
    version: str
    topic: str
    event: str | None
    """Id of the report that brought it about; none of a document."""

    @classmethod
    def of(cls, recorded: Recorded) -> Evidence:
        """The event as evidence."""
        cause: UUID | None = getattr(recorded.body, "cause", None)
        return cls(
            position=str(recorded.position),
            version=str(recorded.version),
            topic=type(recorded.body).TOPIC,
            event=None if cause is None else str(cause),
        )


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong, with both values and where to see it."""

    id: str
    code: str
    """A key of `CODES`."""
    what: str
    """In words."""
    stream: UUID | None = None
    """The round, or the stream of a table, a property or a document."""
    table: str | None = None
    bet: UUID | None = None
    currency: str | None = None
    measure: Measure | None = None
    """What `expected` and `found` are: minor units of `currency`, or numbers of things; none where they are words."""
    expected: str | None = None
    """As it should be."""
    found: str | None = None
    """As the log has it."""
    difference: str | None = None
    """Found less expected, where they have a measure."""
    evidence: tuple[Evidence, ...] = ()
    next: str
    """The command to type next."""


def finding(
    code: str,
    what: str,
    *,
    stream: UUID | None = None,
    table: str | None = None,
    bet: UUID | None = None,
    currency: str | None = None,
    expected: object = None,
    found: object = None,
    measure: Measure = "amount",
    evidence: Iterable[Recorded] = (),
    command: str | None = None,
) -> Finding:
    """A finding with its id, its difference and the command to type next. Two whole numbers are of the measure.

    Values that are equal show nothing and are left away: the words say what is wrong.
    """
    assert code in CODES, code
    seen = tuple(Evidence.of(each) for each in evidence)
    measured = isinstance(expected, int) and isinstance(found, int)
    if _said(expected) == _said(found):
        expected = found = None
        measured = False
    return Finding(
        id=_id(code, stream, bet, seen[0].position if seen else what),
        code=code,
        what=what,
        stream=stream,
        table=table,
        bet=bet,
        currency=currency,
        measure=measure if measured else None,
        expected=_said(expected),
        found=_said(found),
        difference=_said(_less(found, expected)) if measured else None,
        evidence=seen,
        next=command or _next(stream, bet, table),
    )


def _id(*parts: object) -> str:
    """Twelve hexadecimal digits by which the same finding is known again."""
    return "F-" + hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()[:12]


def _said(value: object) -> str | None:
    return None if value is None else str(value)


def _less(found: Any, expected: Any) -> int:
    return int(found) - int(expected)


def _next(stream: UUID | None, bet: UUID | None, table: str | None) -> str:
    if bet is not None:
        return f"roundledger explain {bet}"
    if stream is not None and table is not None:
        return f"roundledger rounds show {stream}"
    return f"roundledger feed --round {stream}" if stream is not None else "roundledger doctor"
