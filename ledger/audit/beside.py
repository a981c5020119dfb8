"""What is beside the rounds: the streams of tables, properties and documents, and the slips of the cage."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
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


class _Slip(NamedTuple):
    """A slip that was written and not signed yet."""

    written: Recorded
    author: str | None
    currency: str
    total: str


class Beside:
    """Gone through in the order of the log; remembers the slips that wait, and the last version of each stream."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self._versions: dict[UUID, int] = {}
        self._slips: dict[UUID, _Slip] = {}

    def take(self, events: Iterable[Recorded]) -> None:
        """The next of these events."""
        for recorded in events:
            self._verify_version(recorded)
            body = recorded.body
            if isinstance(body, ChipsCounted | FillRecorded | CreditRecorded | DropCounted):
                self._verify_sum(recorded, body)
                self._slips[body.slip] = _Slip(recorded, body.by, body.currency, body.total)
            elif isinstance(body, SlipConfirmed):
                self._verify_signed(recorded, body)
            elif isinstance(body, SlipCancelled) and not body.confirmed:
                self._slips.pop(body.slip, None)

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

    def _verify_sum(self, recorded: Recorded, body: ChipsCounted | FillRecorded | CreditRecorded | DropCounted) -> None:
        if isinstance(body, DropCounted):
            total = int(body.cash) + int(body.vouchers)
        else:
            total = sum(int(each.value) * each.count for each in body.chips)
        if total != int(body.total):
            self._tell(recorded, f"slip {body.slip} does not add up", body.table, body.currency, total, int(body.total))

    def _verify_signed(self, recorded: Recorded, body: SlipConfirmed) -> None:
        if body.cancellation:
            return
        slip = self._slips.pop(body.slip, None)
        if slip is None:
            self._tell(recorded, f"slip {body.slip} was signed, and nobody wrote it, or it was signed before", body.table)
        elif (slip.currency, slip.total) != (body.currency, body.amount):
            what = f"another amount was signed on slip {body.slip} than was written"
            self._tell(recorded, what, body.table, slip.currency, int(slip.total), int(body.amount), slip.written)
        elif body.by is None or body.by == slip.author:
            self._tell(recorded, f"slip {body.slip} was signed by its author", body.table, also=slip.written)

    def _tell(
        self,
        recorded: Recorded,
        what: str,
        table: str,
        currency: str | None = None,
        expected: int | None = None,
        found: int | None = None,
        also: Recorded | None = None,
    ) -> None:
        self.findings.append(
            finding(
                "SLIP_DIFF",
                what,
                stream=recorded.stream,
                table=table,
                currency=currency,
                expected=expected,
                found=found,
                evidence=[recorded] if also is None else [recorded, also],
                command=f"roundledger chips slips --table {table}",
            )
        )
