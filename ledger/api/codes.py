"""Which codes each operation of the door can answer with: what a client of it has to be ready for, and no more."""

from __future__ import annotations

from collections.abc import Mapping

from ledger.reports import (
    ApproveCorrection,
    CancelSlip,
    ChangeBet,
    ChangeShooter,
    CloseBetting,
    CloseDay,
    ConfirmSlip,
    CountChips,
    CountDrop,
    Data,
    DeclineCorrection,
    ErasePlayer,
    GiveUpNumbers,
    HoldPlayer,
    HoldRound,
    IssueColourChips,
    OpenRound,
    PlaceBet,
    ProposeCorrection,
    RecordCredit,
    RecordFill,
    RecordLateBet,
    RecordOutcome,
    RecordThrow,
    ReleasePlayer,
    ReleaseRound,
    ReopenBetting,
    RestoreChips,
    SignOff,
    SignOn,
    VoidBet,
    VoidRound,
    WithdrawBet,
)

ANY_EVENT = (
    *("LGR-0103", "LGR-0106", "LGR-0107", "LGR-0108", "LGR-0122", "LGR-0123", "LGR-0124"),
    *("LGR-0301", "LGR-0303", "LGR-0304", "LGR-0307"),
    *("LGR-0503", "LGR-0504", "LGR-0521", "LGR-0524"),
    *("LGR-0801", "LGR-0804"),
)
"""Of an event, whatever its type."""

_NO_ROUND = "LGR-0202"
_OPEN_BET = (_NO_ROUND, "LGR-0204", "LGR-0212", "LGR-0213", "LGR-0214", "LGR-0215")
_UNDECIDED = (_NO_ROUND, "LGR-0205", "LGR-0206", "LGR-0215", "LGR-0217", "LGR-0223")
_SUCCESSOR = ("LGR-0203", "LGR-0216")
_SPOT = ("LGR-0403", "LGR-0404", "LGR-0405", "LGR-0412")
_PLACED = (*_SPOT, "LGR-0408", "LGR-0605", "LGR-0606", "LGR-0607", "LGR-0608")
_MONEY = ("LGR-0104", "LGR-0105", "LGR-0208")
_TABLE = ("LGR-0601", "LGR-0602", "LGR-0609")
_WRITTEN = (*_TABLE, "LGR-0104", "LGR-0105", "LGR-0260", "LGR-0264", "LGR-0272", "LGR-0276")
_AS_IT_WAS = ("LGR-0240", "LGR-0241", "LGR-0242", "LGR-0244", "LGR-0245", "LGR-0408", "LGR-0409")

BY_REPORT: Mapping[type[Data], tuple[str, ...]] = {
    OpenRound: ("LGR-0201", "LGR-0203", "LGR-0401", *_TABLE, "LGR-0603", "LGR-0610"),
    PlaceBet: (_NO_ROUND, "LGR-0210", "LGR-0211", "LGR-0223", "LGR-0265", *_MONEY, *_PLACED),
    WithdrawBet: _OPEN_BET,
    ChangeBet: (*_OPEN_BET, "LGR-0104", "LGR-0222", *_PLACED),
    CloseBetting: (_NO_ROUND, "LGR-0204"),
    ReopenBetting: (_NO_ROUND, "LGR-0217", "LGR-0218", "LGR-0221", "LGR-0223"),
    ChangeShooter: (_NO_ROUND, "LGR-0217", "LGR-0222", "LGR-0223"),
    RecordOutcome: (*_UNDECIDED, "LGR-0406"),
    RecordThrow: (*_UNDECIDED, *_SUCCESSOR, "LGR-0219", "LGR-0406"),
    VoidRound: (*_UNDECIDED, *_SUCCESSOR, "LGR-0219"),
    VoidBet: _OPEN_BET,
    RecordLateBet: (_NO_ROUND, "LGR-0221", *_MONEY, *_SPOT),
    RestoreChips: (_NO_ROUND, "LGR-0212", "LGR-0217", "LGR-0220", "LGR-0610"),
    HoldRound: (_NO_ROUND, "LGR-0212", "LGR-0241"),
    ReleaseRound: (_NO_ROUND, "LGR-0224", "LGR-0225", "LGR-0226"),
    ProposeCorrection: (
        *(_NO_ROUND, "LGR-0104", "LGR-0212", "LGR-0224", "LGR-0246", "LGR-0247", "LGR-0251", "LGR-0252", "LGR-0406"),
        *(*_AS_IT_WAS, *_SPOT),
    ),
    ApproveCorrection: (_NO_ROUND, "LGR-0243", "LGR-0248", "LGR-0249", "LGR-0250", "LGR-0251", "LGR-0252", *_AS_IT_WAS),
    DeclineCorrection: (_NO_ROUND, "LGR-0243", "LGR-0248"),
    SignOn: (*_TABLE, "LGR-0222", "LGR-0610"),
    SignOff: (*_TABLE, "LGR-0227"),
    GiveUpNumbers: (*_TABLE, "LGR-0305", "LGR-0308"),
    CountChips: _WRITTEN,
    RecordFill: (*_WRITTEN, "LGR-0261"),
    RecordCredit: (*_WRITTEN, "LGR-0261"),
    CountDrop: _WRITTEN,
    ConfirmSlip: (*_TABLE, "LGR-0249", "LGR-0262", "LGR-0263"),
    CancelSlip: (*_TABLE, "LGR-0262", "LGR-0263"),
    IssueColourChips: (*_TABLE, "LGR-0104", "LGR-0105", "LGR-0222", "LGR-0264"),
    CloseDay: ("LGR-0270", "LGR-0271", "LGR-0273", "LGR-0274", "LGR-0275", "LGR-0276", "LGR-0612", "LGR-0277"),
    ErasePlayer: ("LGR-0280", "LGR-0281", "LGR-0282", "LGR-0612"),
    HoldPlayer: ("LGR-0222", "LGR-0280", "LGR-0612"),
    ReleasePlayer: ("LGR-0283", "LGR-0612"),
}
"""What a report says → with which codes it can be refused, beside those of `ANY_EVENT`."""

EVENT = tuple(sorted({*ANY_EVENT, *(code for codes in BY_REPORT.values() for code in codes)}))
"""Of one event: the answer where it was posted alone, else its item's problem."""

_ANY = ("LGR-0108", "LGR-0306", "LGR-0509")
_GUARD = ("LGR-0802", "LGR-0803", "LGR-0804", "LGR-0501")
_KNOWN = (*_ANY, *_GUARD)

OPERATIONS: dict[str, tuple[str, ...]] = {
    "postEvents": (
        *("LGR-0101", "LGR-0102", "LGR-0109", "LGR-0110", "LGR-0113"),
        *EVENT,
        *("LGR-0505", "LGR-0525"),
        *_KNOWN,
    ),
    "getFeed": (*_KNOWN, "LGR-0504", "LGR-0505", "LGR-0522"),
    "getRound": (*_KNOWN, "LGR-0202", "LGR-0504"),
    "getBalances": (*_KNOWN, "LGR-0518"),
    "getTrialBalance": (*_KNOWN, "LGR-0518"),
    "getLiabilities": (*_KNOWN, "LGR-0504", "LGR-0518"),
    "getLiability": (*_KNOWN, "LGR-0504", "LGR-0518", "LGR-0602"),
    "getTableReports": (*_KNOWN, "LGR-0518"),
    "getReport": (*_KNOWN, "LGR-0104", "LGR-0105", "LGR-0518", "LGR-0120", "LGR-0121"),
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
