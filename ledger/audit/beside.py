"""What is beside the rounds: the streams of tables, properties and documents, and the slips of the cage."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from uuid import UUID

from ledger.audit.findings import Finding, finding
from ledger.events import (
    ChipsCounted,
    CreditRecorded,
    DropCounted,
    FillRecorded,
    Recorded,
    SlipCancelled,
    SlipConfirmed,
)

Written = ChipsCounted | FillRecorded | CreditRecorded | DropCounted


@dataclass
class _Slip:
    """A slip as far as it has gone."""

    written: Recorded
    kind: str
    table: str
    day: date
    """That it is about."""
    currency: str
    total: str
    author: str | None
    status: str = "open"
    """`open`, `confirmed`, `cancelling` (its cancellation waits for another person) or `cancelled`."""
    canceller: str | None = None


class Beside:
    """Gone through in the order of the log; remembers the slips, and the last version of each stream."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self._versions: dict[UUID, int] = {}
        self._slips: dict[UUID, _Slip] = {}
        self._numbers: dict[tuple[str, str, int], Recorded] = {}
        """House, kind, printed number → the slip that has it."""

    def take(self, events: Iterable[Recorded]) -> None:
        """The next of these events."""
        for recorded in events:
            self._verify_version(recorded)
            body = recorded.body
            if isinstance(body, Written):
                self._write(recorded, body)
            elif isinstance(body, SlipConfirmed):
                self._sign(recorded, body)
            elif isinstance(body, SlipCancelled):
                self._cancel(recorded, body)

    def _verify_version(self, recorded: Recorded) -> None:
        last = self._versions.get(recorded.stream, 0)
        if recorded.version != last + 1:
            code = "SEQ_GAP" if recorded.version > last else "SEQ_ORDER"
            what = f"version {recorded.version} of stream {recorded.stream} comes after version {last}"
            self.findings.append(
                finding(
                    code, what, stream=recorded.stream, expected=str(last + 1), found=str(recorded.version), evidence=[recorded]
                )
            )
        self._versions[recorded.stream] = max(last, recorded.version)

    def _write(self, recorded: Recorded, body: Written) -> None:
        if isinstance(body, DropCounted):
            total = int(body.cash) + int(body.vouchers)
        else:
            total = sum(int(each.value) * each.count for each in body.chips)
        if total != int(body.total):
            self._tell(recorded, body, "does not add up", amounts=(body.currency, total, int(body.total)))
        kind = body.kind if isinstance(body, ChipsCounted) else _KINDS[type(body)]
        if isinstance(body, FillRecorded | CreditRecorded):
            first = self._numbers.setdefault((body.property, kind, body.number), recorded)
            if first is not recorded:
                self._tell(recorded, body, f"has the number {body.number} of another {kind}", also=first)
        if (before := self._slips.get(body.slip)) is not None:
            self._tell(recorded, body, "is there already", also=before.written)
            return
        day = body.of_day or body.gaming_day
        self._slips[body.slip] = _Slip(recorded, kind, body.table, day, body.currency, body.total, body.by)

    def _sign(self, recorded: Recorded, body: SlipConfirmed) -> None:
        """A slip, or its cancellation, is signed: it moves what was written, and by another person's hand."""
        what, wanted = ("cancellation of it", "cancelling") if body.cancellation else ("slip", "open")
        slip = self._known(recorded, body)
        if slip is None:
            return
        if slip.status != wanted:
            self._tell(recorded, body, f"is {slip.status}, and this signs a {what}", also=slip.written)
        if body.by is None or body.by == (slip.canceller if body.cancellation else slip.author):
            who = "asked for its cancellation" if body.cancellation else "wrote it"
            self._tell(recorded, body, f"was signed by the person who {who}", also=slip.written)
        if (slip.currency, slip.total) != (body.currency, body.amount):
            amounts = (slip.currency, int(slip.total), int(body.amount))
            self._tell(recorded, body, "was written with another amount than was signed", also=slip.written, amounts=amounts)
        if not body.cancellation and slip.day != (body.of_day or body.gaming_day):
            self._tell(recorded, body, "was written for another gaming day than was signed", also=slip.written)
        slip.status = "cancelled" if body.cancellation else "confirmed"

    def _cancel(self, recorded: Recorded, body: SlipCancelled) -> None:
        """A slip is cancelled, or somebody asks for it where it was signed before."""
        slip = self._known(recorded, body)
        if slip is None:
            return
        if slip.status != ("confirmed" if body.confirmed else "open"):
            said = "as one that was signed" if body.confirmed else "as one that nobody had signed"
            self._tell(recorded, body, f"is {slip.status}, and is cancelled {said}", also=slip.written)
        slip.status, slip.canceller = "cancelling" if body.confirmed else "cancelled", body.by

    def _known(self, recorded: Recorded, body: SlipConfirmed | SlipCancelled) -> _Slip | None:
        slip = self._slips.get(body.slip)
        if slip is None:
            self._tell(recorded, body, "was never written")
        elif (slip.kind, slip.table) != (body.kind, body.table):
            what = f"is a {slip.kind} of table {slip.table}, and here a {body.kind} of table {body.table}"
            self._tell(recorded, body, what, also=slip.written)
        return slip

    def _tell(
        self,
        recorded: Recorded,
        body: Written | SlipConfirmed | SlipCancelled,
        what: str,
        *,
        also: Recorded | None = None,
        amounts: tuple[str, int, int] | None = None,
    ) -> None:
        """`amounts`: currency, expected and found."""
        currency, expected, found = amounts or (None, None, None)
        self.findings.append(
            finding(
                "SLIP_DIFF",
                f"slip {body.slip} {what}",
                stream=recorded.stream,
                table=body.table,
                currency=currency,
                expected=expected,
                found=found,
                evidence=[recorded] if also is None else [recorded, also],
                command=f"roundledger chips slips --table {body.table}",
            )
        )


_KINDS = {FillRecorded: "fill", CreditRecorded: "credit", DropCounted: "drop"}
"""Of the slips whose event says it."""
