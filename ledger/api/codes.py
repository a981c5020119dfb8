"""Which codes each operation of the door can answer with: what a client of it has to be ready for, and no more."""

from __future__ import annotations

EVENT = (
    *("LGR-0103", "LGR-0104", "LGR-0105", "LGR-0106", "LGR-0107", "LGR-0108"),
    *("LGR-0201", "LGR-0202", "LGR-0203", "LGR-0204", "LGR-0205", "LGR-0206", "LGR-0208"),
    *(f"LGR-02{n}" for n in (*range(10, 28), *range(40, 51))),
    *("LGR-0301", "LGR-0303", "LGR-0304"),
    *("LGR-0401", "LGR-0403", "LGR-0404", "LGR-0405", "LGR-0406", "LGR-0408", "LGR-0409", "LGR-0412"),
    *("LGR-0503", "LGR-0504", "LGR-0521", "LGR-0524"),
    *("LGR-0601", "LGR-0602", "LGR-0603"),
    *("LGR-0605", "LGR-0606", "LGR-0607", "LGR-0608", "LGR-0609"),
    *("LGR-0801", "LGR-0804"),
)
"""Of one event: the answer where it was posted alone, else its item's problem."""

_ANY = ("LGR-0108", "LGR-0306", "LGR-0509")
_GUARD = ("LGR-0802", "LGR-0803", "LGR-0804", "LGR-0501")
_KNOWN = (*_ANY, *_GUARD)

OPERATIONS: dict[str, tuple[str, ...]] = {
    "postEvents": (
        *("LGR-0101", "LGR-0102", "LGR-0109", "LGR-0110", "LGR-0113"),
        *EVENT,
        "LGR-0505",
        *_KNOWN,
    ),
    "getRound": (*_KNOWN, "LGR-0202", "LGR-0504"),
    "getBalances": (*_KNOWN, "LGR-0518"),
    "getTableReports": (*_KNOWN, "LGR-0518"),
    "getTerminal": (*_KNOWN, "LGR-0305"),
    "getTerminalTime": _KNOWN,
    "getTime": _KNOWN,
    "getHealth": ("LGR-0108", "LGR-0509"),
    "getReadiness": (*_ANY, "LGR-0501", "LGR-0502", "LGR-0505", "LGR-0510", "LGR-0511", "LGR-0523"),
    "getMetrics": _KNOWN,
    "getOpenapi": _KNOWN,
    "getAsyncapi": _KNOWN,
    "getProblem": ("LGR-0108", "LGR-0111", "LGR-0306", "LGR-0509"),
}
"""`operationId` → codes. Any path answers LGR-0112 to a method that is not its own, and any other path LGR-0111."""

ALL = frozenset({"LGR-0111", "LGR-0112"}.union(*OPERATIONS.values()))
"""Every code that comes over HTTP."""
