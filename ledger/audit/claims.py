"""Reports and what they brought about: each says on its first event how many events that were, and they are all there.

So the loss of the last events of a stream shows, which leaves no gap behind. Only the log itself has this; an export has not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from uuid import UUID

from ledger.audit.findings import Finding, finding
from ledger.events import DocumentRecorded, Recorded


class Claimed(NamedTuple):
    """How much of a report is there."""

    first: Recorded | None
    """Its first event; None where only others have been seen."""
    claimed: int
    """How many events it says that it brought about; negative where its id is not that of its event."""
    there: int
    last: Recorded


class Claims:
    """Counts, report by report; one that is there as a whole is let go."""

    def __init__(self) -> None:
        self.left: dict[UUID, Claimed] = {}
        """Reports that are not there as a whole."""

    def take(self, recorded: Recorded, caused: int | None, report: UUID | None = None) -> None:
        """The next event, with what it claims; `report` brought it about where that is not the one that it names."""
        if caused == 1:
            return
        body = recorded.body
        if isinstance(body, DocumentRecorded):
            return
        cause = report or body.cause
        known = self.left.get(cause)
        if caused is not None:
            there = 1 if known is None else known.there + 1
            self._keep(cause, Claimed(recorded, caused, there, recorded))
        elif known is not None:
            self._keep(cause, known._replace(there=known.there + 1, last=recorded))
        else:
            self.left[cause] = Claimed(None, 0, 1, recorded)

    def add(self, left: Mapping[UUID, Claimed]) -> None:
        """What another part of the log has of reports that are not whole there."""
        for cause, more in left.items():
            known = self.left.get(cause)
            if known is None:
                self.left[cause] = more
                continue
            first, claimed = (known.first, known.claimed) if known.first is not None else (more.first, more.claimed)
            self._keep(cause, Claimed(first, claimed, known.there + more.there, more.last))

    def _keep(self, cause: UUID, claimed: Claimed) -> None:
        if claimed.claimed == claimed.there:
            self.left.pop(cause, None)
        else:
            self.left[cause] = claimed

    def finish(self) -> list[Finding]:
        """There are no more events."""
        found = []
        for cause, (first, claimed, there, last) in self.left.items():
            if claimed < 0 and first is not None:
                what, claimed, there = f"event {cause} stands in the log under another report's id", abs(claimed), there
            elif first is None:
                what = f"report {cause} brought events about, and its first is not in the log"
            else:
                what = f"report {cause} brought about {claimed} events, and {there} of them are in the log"
            evidence = [last] if first is None or first is last else [first, last]
            found.append(
                finding("CLAIM_DIFF", what, stream=evidence[0].stream, expected=str(claimed), found=str(there), evidence=evidence)
            )
        return found
