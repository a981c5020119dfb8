"""Who asks: some decisions are a person's, and a terminal's word is not enough."""

from __future__ import annotations

from ledger.errors import Refusal
from ledger.round.terms import Origin


def verify_person(origin: Origin) -> str:
    """The person who reported it, as an opaque reference. Raises Refusal LGR-0801 where nobody has proved to be the one."""
    if origin.by is None:
        raise Refusal(
            "LGR-0801",
            "this is a person's to decide, and no person has proved to have sent it",
            help="send it with the bearer token of the person who decides",
        )
    return origin.by
