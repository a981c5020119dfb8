"""What of the ledger a file can be compared with: columns over the stable views of the schema `report`, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

Kind = Literal["id", "text", "word", "amount", "number", "time", "date", "flag"]
"""What a field holds.

id      a UUID, compared in its canonical form; what is no UUID is compared as it stands.
text    any text, compared as it stands, without the blanks around it.
word    one of a few words; a file's own words are translated by the mapping's `values`.
amount  whole minor units of the row's currency. number: a whole number. flag: true or false.
time    an instant, to the microsecond. date: a day of the calendar.
"""


class Field(NamedTuple):
    """One field of a side."""

    kind: Kind
    source: str
    """SQL over the side's view, which is `v`, and what is joined to it."""
    said: str
    """What it is."""
    reason: str = "FIELD_DIFF"
    """The reason code where file and ledger differ."""
    words: Sequence[str] = ()
    """Of a word: those that the ledger has."""
    join: str = ""
    """What else has to be joined for it."""
    key_only: bool = False
    """Whether it finds rows, and a difference in it is none."""


@dataclass(frozen=True)
class Side:
    """One kind of rows of the ledger."""

    name: str
    said: str
    view: str
    fields: Mapping[str, Field]
    key: Sequence[str]
    """By what a row is spoken of."""
    amount: str
    """The field that a row is about."""
    where: str = "true"
    expected: str = "true"
    """Whether a file has to have the row, in SQL."""
    void: str = "false"
    """Whether the row is void, withdrawn or cancelled, in SQL."""
    order: str = "v.position"
    position: str = "v.position"
    """The position of the row's event, where it has one."""
    void_is_said: bool = False
    """Whether a row of a file that says nothing of it is meant to be in force."""
    next: str = ""
    """The command to type next, with the key as {0}, {1} …"""


def _place(*, pit: bool = True) -> dict[str, Field]:
    found = {"property": Field("text", "v.property", "id of the property")}
    if pit:
        found["pit"] = Field("text", "v.pit", "the pit")
        found["game"] = Field("text", "v.game", "the game")
    return found | {
        "table": Field("text", "v.table_id", "the table", "TABLE_DIFF"),
        "gaming_day": Field("date", "v.gaming_day", "the house's book day", "GAMING_DAY_DIFF"),
        "shift": Field("text", "v.shift", "the shift"),
        "currency": Field("text", "v.currency", "ISO 4217 code of the amounts", "CURRENCY_DIFF"),
    }


_CLOSED = "JOIN report.rounds AS r ON r.round = v.round"
_BETS = {
    "bet": Field("id", "v.bet", "id of the bet", "KEY_DIFF", key_only=True),
    "round": Field("id", "v.round", "id of the round", "ROUND_DIFF"),
    **_place(),
    "player": Field("text", "v.player", "reference of the player", "PLAYER_DIFF"),
    "seat": Field("number", "v.seat", "number of the player's place"),
    "spot": Field("text", "v.spot", "bet notation, such as straight:17", "SPOT_DIFF"),
    "stake": Field("amount", "v.stake", "the stake", "AMOUNT_DIFF"),
    "chip": Field("word", "v.chip", "kind of chip", "CHIP_DIFF", ("cash", "non_negotiable", "promotional", "colour")),
    "result": Field(
        "word", "v.result", "what became of it", "OUTCOME_DIFF", ("open", "lost", "won", "push", "void", "withdrawn")
    ),
    "late": Field("flag", "v.late", "whether it was placed late", "LATE_BET"),
    "regulation": Field("text", "v.regulation", "number of the order it was settled under", "RULE_VERSION_DIFF"),
    "prize": Field("amount", "v.prize", "the prize", "AMOUNT_DIFF"),
    "net_prize": Field("amount", "v.net_prize", "the prize after commission and breakage", "AMOUNT_DIFF"),
    "commission": Field("amount", "v.commission", "the commission kept", "AMOUNT_DIFF"),
    "returned": Field(
        "amount", "coalesce(v.returned, 0)", "what the player got in all, the stake included; the same as paid", "AMOUNT_DIFF"
    ),
    "stake_returned": Field("amount", "v.returned - v.net_prize", "what of the stake went back", "AMOUNT_DIFF"),
    "paid": Field(
        "amount",
        "coalesce(v.returned, 0)",
        "what left the table for the bet: net prize and stake returned",
        "AMOUNT_DIFF",
    ),
    "occurred_at": Field("time", "v.occurred_at", "when the terminal says that it was placed", "CLOCK_SKEW"),
    "terminal": Field("text", "v.terminal", "the terminal that reported it", "FIELD_DIFF"),
    "epoch": Field("number", "v.terminal_epoch", "which start of the terminal's numbers"),
    "sequence": Field("number", "v.terminal_sequence", "the terminal's own number of the event"),
    "event": Field("id", "v.event_id", "id of the terminal's event"),
    "closed_at": Field("time", "r.closed_at", "when betting closed", join=_CLOSED),
}
_OF_FILES = {name: field for name, field in _BETS.items() if name != "closed_at"}
_NOT_CARRIED = "v.result <> 'carried'"
_SLIP = "v.written_position"

SIDES: dict[str, Side] = {
    side.name: side
    for side in (
        Side(
            name="bets",
            said="bets, a row each, with what became of them",
            view="bets",
            fields=_OF_FILES,
            key=("bet",),
            amount="stake",
            where=_NOT_CARRIED,
            expected="v.result NOT IN ('void', 'withdrawn')",
            void="v.result IN ('void', 'withdrawn')",
            next="roundledger explain {0}",
        ),
        Side(
            name="payouts",
            said="payouts of bets: the stake returned and the net prize",
            view="bets",
            fields={**_OF_FILES, "paid": _BETS["paid"]},
            key=("bet",),
            amount="paid",
            where=_NOT_CARRIED,
            expected="v.result IN ('won', 'push')",
            void="v.result IN ('void', 'withdrawn')",
            next="roundledger explain {0}",
        ),
        Side(
            name="rounds",
            said="rounds with their outcomes and totals",
            view="rounds",
            fields={
                "round": Field("id", "v.round", "id of the round", "ROUND_DIFF", key_only=True),
                **_place(),
                "outcome": Field("text", "v.outcome", "the outcome in canonical form, such as 17 or 1-2-3", "OUTCOME_DIFF"),
                "status": Field(
                    "word",
                    "v.status",
                    "how it stands",
                    "VOID_MISMATCH",
                    ("open", "closed", "settled", "resettled", "voided"),
                ),
                "regulation": Field("text", "v.regulation", "number of the order", "RULE_VERSION_DIFF"),
                "bets": Field("number", "v.bets", "number of bets placed in it"),
                "stakes": Field("amount", "v.stakes", "sum of the stakes taken", "AMOUNT_DIFF"),
                "handle": Field("amount", "v.handle", "stakes that lost or won", "AMOUNT_DIFF"),
                "lost": Field("amount", "v.lost", "stakes that lost", "AMOUNT_DIFF"),
                "prizes": Field("amount", "v.prizes", "net prizes", "AMOUNT_DIFF"),
                "commission": Field("amount", "v.commission", "the commission kept", "AMOUNT_DIFF"),
                "win": Field("amount", "v.win", "stakes lost less net prizes", "AMOUNT_DIFF"),
                "opened_at": Field("time", "v.opened_at", "when the service received the opening", "CLOCK_SKEW"),
                "settled_at": Field("time", "v.settled_at", "when the service received the outcome", "CLOCK_SKEW"),
            },
            key=("round",),
            amount="win",
            void="v.status = 'voided'",
            order="v.first_position",
            position="v.last_position",
            next="roundledger rounds show {0}",
        ),
        Side(
            name="movements",
            said="postings to accounts: of players, tables and the cage",
            view="postings",
            fields={
                **_place(),
                "account": Field("text", "v.account", "the account, such as player/P-77"),
                "player": Field(
                    "text",
                    "CASE WHEN v.account LIKE 'player/%' THEN substr(v.account, 8) END",
                    "the player, where the account is one's",
                    "PLAYER_DIFF",
                ),
                "round": Field("id", "v.round", "the round", "ROUND_DIFF"),
                "bet": Field("id", "v.bet", "the bet", "KEY_DIFF"),
                "slip": Field("id", "v.slip", "the slip", "KEY_DIFF"),
                "position": Field("number", "v.position", "position of the event", "KEY_DIFF"),
                "direction": Field(
                    "word", "CASE WHEN v.amount < 0 THEN 'out' ELSE 'in' END", "in: credited; out: debited", words=("in", "out")
                ),
                "amount": Field("amount", "v.amount", "credited (positive) or debited (negative)", "AMOUNT_DIFF"),
            },
            key=("account", "bet", "slip", "position"),
            amount="amount",
            order="v.position, v.line, v.leg",
            next="roundledger trace {0}",
        ),
        Side(
            name="slips",
            said="fills and credits, by their numbered slips",
            view="slips",
            fields={
                "number": Field("text", "v.number", "number of the slip", "KEY_DIFF", key_only=True),
                "kind": Field("word", "v.kind", "fill or credit", words=("fill", "credit")),
                **_place(pit=False),
                "amount": Field("amount", "v.total", "its total", "AMOUNT_DIFF"),
                "status": Field(
                    "word", "v.status", "how it stands", "VOID_MISMATCH", ("open", "confirmed", "cancelling", "cancelled")
                ),
                "written_by": Field("text", "v.written_by", "who wrote it"),
                "confirmed_by": Field("text", "v.confirmed_by", "who signed it as the second"),
                "written_at": Field("time", "v.written_at", "when it was written", "CLOCK_SKEW"),
            },
            key=("kind", "number"),
            amount="amount",
            where="v.kind IN ('fill', 'credit')",
            expected="v.status <> 'cancelled'",
            void="v.status = 'cancelled'",
            order=_SLIP,
            position=_SLIP,
            void_is_said=True,
            next="roundledger chips slips --table {table}",
        ),
        Side(
            name="counts",
            said="openers and closers: the chips counted at a table",
            view="slips",
            fields={
                "kind": Field("word", "v.kind", "opener or closer", words=("opener", "closer")),
                **_place(pit=False),
                "amount": Field("amount", "v.total", "its total", "AMOUNT_DIFF"),
                "written_at": Field("time", "v.written_at", "when it was written", "CLOCK_SKEW"),
            },
            key=("table", "gaming_day", "shift", "kind"),
            amount="amount",
            where="v.kind IN ('opener', 'closer')",
            expected="v.status <> 'cancelled'",
            void="v.status = 'cancelled'",
            order=_SLIP,
            position=_SLIP,
            void_is_said=True,
            next="roundledger chips slips --table {table}",
        ),
        Side(
            name="drops",
            said="what was counted in drop boxes",
            view="slips",
            fields={
                **_place(pit=False),
                "box": Field("text", "v.box", "number of the box", "KEY_DIFF"),
                "amount": Field("amount", "v.total", "its total", "AMOUNT_DIFF"),
                "cash": Field("amount", "v.cash", "of it cash", "AMOUNT_DIFF"),
                "vouchers": Field("amount", "v.vouchers", "of it vouchers", "AMOUNT_DIFF"),
                "written_at": Field("time", "v.written_at", "when it was written", "CLOCK_SKEW"),
            },
            key=("table", "gaming_day", "shift", "box"),
            amount="amount",
            where="v.kind = 'drop'",
            expected="v.status <> 'cancelled'",
            void="v.status = 'cancelled'",
            order=_SLIP,
            position=_SLIP,
            void_is_said=True,
            next="roundledger chips slips --table {table}",
        ),
        Side(
            name="table_days",
            said="what each table did in a gaming day",
            view="table_days",
            fields={
                **_place(),
                "rounds": Field("number", "v.rounds", "rounds settled"),
                "handle": Field("amount", "v.handle", "stakes that lost or won", "AMOUNT_DIFF"),
                "lost": Field("amount", "v.lost", "stakes that lost", "AMOUNT_DIFF"),
                "prizes": Field("amount", "v.prizes", "net prizes", "AMOUNT_DIFF"),
                "commission": Field("amount", "v.commission", "the commission kept", "AMOUNT_DIFF"),
                "win": Field("amount", "v.win", "stakes lost less net prizes, with corrections of earlier days", "AMOUNT_DIFF"),
            },
            key=("table", "gaming_day"),
            amount="win",
            order="v.gaming_day, v.table_id",
            position="NULL",
            next="roundledger report master-game --day {gaming_day} --table {table}",
        ),
    )
}
"""Name → side."""
