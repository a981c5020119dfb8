"""Who may do what: one matrix of what is reported, one of what is read.

A person acts by the roles that a property gives, in its configuration in force; a terminal for the table that this names. Which
property that is, the round says: it stays that of the property under which it was opened, whoever has its table by now. What is
about a table and no round goes by the property that has the table now. Four eyes are no right but a rule of the round: who may
approve may still not approve what is their own.

What is refused here uses no event id up: whoever was not let in has not said anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, get_args

from ledger.errors import Refusal
from ledger.property import Property, Role
from ledger.reports import (
    TYPES,
    ApproveCorrection,
    Caller,
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
    Malformed,
    OfAProperty,
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
    Report,
    RestoreChips,
    SignOff,
    SignOn,
    VoidBet,
    VoidRound,
    WithdrawBet,
)

Who = Literal["terminal"] | Role
"""A terminal (of the table that it is about), or a person in a role."""

_THE_TABLE: tuple[Who, ...] = ("terminal",)
_A_SUPERVISOR: tuple[Who, ...] = ("supervisor",)
_THE_STAFF: tuple[Who, ...] = ("terminal", "dealer", "supervisor")
_THE_OFFICE: tuple[Who, ...] = ("supervisor", "auditor", "admin")
_A_CAGE: tuple[Who, ...] = ("supervisor", "cage")
_A_COUNT: tuple[Who, ...] = ("cage", "admin")
_AN_ADMIN: tuple[Who, ...] = ("admin",)
EVERYBODY: tuple[Who, ...] = ("terminal", *get_args(Role))
"""All there are."""

ACTS: Mapping[type[Data], tuple[Who, ...]] = {
    OpenRound: _THE_TABLE,
    PlaceBet: _THE_TABLE,
    WithdrawBet: _THE_TABLE,
    ChangeBet: _THE_TABLE,
    CloseBetting: _THE_TABLE,
    ReopenBetting: _THE_TABLE,
    ChangeShooter: _THE_TABLE,
    RecordOutcome: _THE_TABLE,
    RecordThrow: _THE_TABLE,
    VoidRound: _THE_TABLE,  # by a clause of the regulation; what the house returns by its own will is a correction
    SignOn: _THE_STAFF,  # a dealer for nobody else
    SignOff: _THE_STAFF,
    GiveUpNumbers: _A_SUPERVISOR,
    VoidBet: _A_SUPERVISOR,
    RecordLateBet: _A_SUPERVISOR,
    RestoreChips: _A_SUPERVISOR,
    HoldRound: _A_SUPERVISOR,
    ReleaseRound: _A_SUPERVISOR,
    ProposeCorrection: ("dealer", "supervisor", "admin"),
    ApproveCorrection: ("supervisor", "admin"),
    DeclineCorrection: ("supervisor", "admin"),
    CountChips: _A_CAGE,
    RecordFill: _A_CAGE,
    RecordCredit: _A_CAGE,
    CountDrop: _A_COUNT,
    ConfirmSlip: ("dealer", "supervisor", "cage", "admin"),  # of a drop, the count team alone
    CancelSlip: ("supervisor", "cage", "admin"),  # of a drop, the count team alone
    IssueColourChips: _THE_STAFF,
    CloseDay: _A_COUNT,
    ErasePlayer: _AN_ADMIN,
    HoldPlayer: _AN_ADMIN,
    ReleasePlayer: _AN_ADMIN,
}
"""What is reported → who may report it. An auditor is nowhere in it."""
OF_ONES_OWN: Mapping[type[Data], tuple[Who, ...]] = {
    DeclineCorrection: ACTS[ProposeCorrection],  # whoever may ask for a correction may withdraw it
}
"""What is reported of what one has oneself proposed → who may report that."""

RESOLVES: tuple[Who, ...] = _THE_OFFICE
"""Who may resolve an exception of a recorded reconciliation: no dealer and no cage, whose own acts it may be about."""

READS: Mapping[str, tuple[Who, ...]] = {
    "/v1/rounds/": EVERYBODY,  # a terminal those of its own table
    "/v1/terminals/": ("terminal", *_THE_OFFICE),  # a terminal what was received of itself
    "/v1/balances": _THE_OFFICE,
    "/v1/tables": _THE_OFFICE,
    "/v1/reports/": _THE_OFFICE,
    "/v1/time": EVERYBODY,
    "/time": EVERYBODY,
    "/openapi.json": EVERYBODY,
    "/asyncapi.json": EVERYBODY,
    "/metrics": ("auditor", "admin"),
}
"""Beginning of a path → who may read it."""
UNLISTED: tuple[Who, ...] = ("auditor", "admin")
"""Who may read what is not listed."""
_OF_ONE = ("/v1/rounds/", "/v1/terminals/")
"""What belongs to one property: it takes the role there (`verify_reads_round`, `verify_reads_terminal`)."""
_OF_NONE = ("/v1/time", "/time", "/openapi.json", "/asyncapi.json")
"""What belongs to none: a role anywhere will do. All else is told of all properties together, and takes the role in each."""


def goes_by(path: str) -> Literal["one", "any", "all"]:
    """Of how many properties whoever reads what is at `path` needs the role: of the one it belongs to, of any one, of all."""
    return "one" if path.startswith(_OF_ONE) else "any" if path.startswith(_OF_NONE) else "all"


def verify_source(report: Report) -> None:
    """Whether a report says truly whose it is. Raises Refusal LGR-0801 or LGR-0804."""
    caller = report.caller
    if caller is None:
        return
    if report.personal:
        if caller.person is None:
            raise _nobody()
        if caller.person != report.terminal:
            raise _not_allowed(
                f"the token is that of {caller.person}", f"/people/{report.terminal}", f"write the source /people/{caller.person}"
            )
    elif caller.terminal is None:
        if not caller.trusts_terminals:
            help = f"have the terminal sign the request; a person's own event has the source /people/{caller.person}"
            raise _not_allowed("the request is not signed by this terminal", f"/terminals/{report.terminal}", help)
    elif caller.terminal != report.terminal:
        help = f"each terminal posts its own events: write the source /terminals/{caller.terminal}"
        raise _not_allowed(f"the request is signed by terminal {caller.terminal}", f"/terminals/{report.terminal}", help)


def verify_act(report: Report, table: str, house: Property | None, played: Property | None = None, *, own: bool = False) -> None:
    """Whether whoever sent a report may do what it says at `table`, or in the property of this id where it is about one.

    `house` is the configuration in force of the property by which that goes, `played` the one under which the round was opened.
    `own`: it is about what the person has proposed.

    Raises Refusal LGR-0801 where it takes a person and none has proved who they are, LGR-0804 where it takes somebody else. A
    report without a caller comes from within the program and was judged there.
    """
    caller, body = report.caller, report.body
    if caller is None:
        return
    may = _A_COUNT if isinstance(body, ConfirmSlip | CancelSlip) and body.kind == "drop" else _who_may(report)
    if own and not isinstance(body, Malformed):
        may = OF_ONES_OWN.get(type(body), may)
    if not report.personal:
        if caller.terminal is not None and caller.terminal not in terminals_of(table, house, played):
            raise _not_allowed(
                f"terminal {caller.terminal} is not one of {'property' if isinstance(body, OfAProperty) else 'table'} {table}",
                f"/terminals/{caller.terminal}",
                "a terminal acts for its own table; the property's configuration names the terminals of each",
            )
        if "terminal" in may:
            return
    if caller.person is None:
        raise _nobody()
    roles = roles_of(caller.person, () if house is None else (house,)).intersection(may)
    if not roles:
        where = f"in property {table}" if isinstance(body, OfAProperty) else f"at table {table}"
        raise _not_allowed(f"{caller.person} may not do this {where}", caller.person, _takes(may))
    if isinstance(body, SignOn | SignOff) and roles == {"dealer"} and (body.person, body.role) != (caller.person, "dealer"):
        raise _not_allowed("a dealer signs on and off as dealer, and for nobody else", caller.person, "have a supervisor do it")


def verify_act_somewhere(report: Report, properties: Iterable[Property]) -> None:
    """Whether whoever sent a report may do such a thing anywhere: of one that cannot be read, and does not say where.

    Raises Refusal LGR-0801 or LGR-0804 as `verify_act` does.
    """
    caller = report.caller
    if caller is None:
        return
    may, properties = _who_may(report), tuple(properties)
    if not report.personal:
        named = (terminal for house in properties for table in house.tables for terminal in table.terminals)
        if caller.terminal is not None and caller.terminal not in named:
            raise _not_allowed(
                f"terminal {caller.terminal} is at no table",
                f"/terminals/{caller.terminal}",
                "the property's configuration names the terminals of each table",
            )
        if "terminal" in may:
            return
    if caller.person is None:
        raise _nobody()
    if roles_of(caller.person, properties).isdisjoint(may):
        raise _not_allowed(f"{caller.person} may not do this anywhere", caller.person, _takes(may))


def _who_may(report: Report) -> tuple[Who, ...]:
    """Who may report such a thing; what a report is about stands in its type, and so also of one whose data cannot be read."""
    return ACTS[TYPES[report.type] if isinstance(report.body, Malformed) else type(report.body)]


def takes_role(report: Report) -> bool:
    """Whether it is by a person's role that a report is let in, and not by its terminal."""
    if report.caller is None or isinstance(report.body, Malformed):
        return False
    return report.personal or "terminal" not in ACTS[type(report.body)]


def verify_read(caller: Caller, path: str, properties: Iterable[Property]) -> None:
    """Whether a caller may read what is at `path`. Raises Refusal LGR-0804."""
    may = next((who for start, who in READS.items() if path.startswith(start)), UNLISTED)
    if caller.terminal is not None and "terminal" in may:
        return
    if caller.person is not None:
        has_role = [not roles_of(caller.person, (house,)).isdisjoint(may) for house in properties]
        if any(has_role) and (all(has_role) or goes_by(path) != "all"):
            return
    raise _not_allowed("this is not for who asks", caller.person or caller.terminal, _takes(may))


def verify_reads_round(caller: Caller, table: str, house: Property | None) -> None:
    """Whether a caller who may read rounds may read one that was played at `table` under the property `house`.

    Raises Refusal LGR-0804.
    """
    if caller.trusts_terminals or caller.terminal in terminals_of(table, house):
        return
    if caller.person is None:
        raise _not_allowed(f"terminal {caller.terminal} is not one of table {table}", caller.terminal, "it reads its own table")
    if house is None or not roles_of(caller.person, (house,)):
        raise _not_allowed(f"{caller.person} has no role in the property of the round", caller.person, "ask somebody who has")


def verify_reads_terminal(caller: Caller, terminal: str, properties: Iterable[Property]) -> None:
    """Whether a caller who may read of terminals may read of this one. Raises Refusal LGR-0804.

    It takes the role in the property that has the terminal, or in each where none has it any more.
    """
    if caller.trusts_terminals or caller.terminal == terminal:
        return
    if caller.person is None:
        raise _not_allowed(f"this is terminal {caller.terminal}", terminal, "it reads what was received of itself")
    properties = tuple(properties)
    having = [house for house in properties if any(terminal in table.terminals for table in house.tables)] or properties
    if not having or not all(roles_of(caller.person, (house,)).intersection(_THE_OFFICE) for house in having):
        raise _not_allowed(
            f"{caller.person} has no such role in the property of terminal {terminal}", caller.person, _takes(_THE_OFFICE)
        )


def verify_resolves(person: str, table: str | None, properties: Iterable[Property]) -> None:
    """Whether a person may resolve an exception that is about a table, or about none that is known. Raises Refusal LGR-0804.

    It takes the role in the property that has the table, or in each where none has it.
    """
    properties = tuple(properties)
    having = [house for house in properties if any(each.id == table for each in house.tables)] or properties
    if not having or not all(roles_of(person, (house,)).intersection(RESOLVES) for house in having):
        where = "" if table is None else f" of table {table}"
        raise Refusal(
            "LGR-0804", f"{person} may not resolve an exception{where}", field="token", value=person, help=_takes(RESOLVES)
        )


def roles_of(person: str, properties: Iterable[Property]) -> frozenset[Role]:
    """All roles that a person has in these properties."""
    return frozenset(role for house in properties for each in house.people if each.id == person for role in each.roles)


def terminals_of(table: str, house: Property | None, played: Property | None = None) -> frozenset[str]:
    """The terminals that act for a table: those that `house` names, or those of `played` where it has the table no more.

    So what a terminal kept while offline is still taken after its table has gone; one that is to say no more loses its key.
    """
    tables = [each for config in (house, played) if config is not None for each in config.tables if each.id == table]
    return frozenset(tables[0].terminals if tables else ())


def _takes(may: tuple[Who, ...]) -> str:
    names = [
        "a terminal of the table, by its signature" if who == "terminal" else f"{_article(who)} {who}, by token" for who in may
    ]
    return f"it takes {' or '.join(names)}"


def _article(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"


def _nobody() -> Refusal:
    return Refusal(
        "LGR-0801",
        "nobody has proved who they are",
        field="source",
        help="send the person's token besides: Authorization: Bearer rlt_...",
    )


def _not_allowed(detail: str, value: object, help: str) -> Refusal:
    return Refusal("LGR-0804", detail, field="source", value=value, help=help)
