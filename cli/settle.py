"""`roundledger rules settle`: what bets would be paid, and why. No database."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from cli.options import Form, examples, output_options
from cli.output import Column, Report, Sheet, emit, emit_json, emit_lines, say_lines
from cli.regulations import Unverified, held, notes, unverified_options
from ledger.errors import Refusal

if TYPE_CHECKING:
    from ledger.rules import Resolution

RESOLUTIONS = (
    Column("bet", "bet"),
    Column("currency", "currency"),
    Column("stake", "stake", "amount"),
    Column("result", "result"),
    Column("odds", "odds", "number"),
    Column("prize_exact", "exact prize", "exact", drawn=False),
    Column("prize", "prize", "amount"),
    Column("commission", "commission", "amount", if_any=True),
    Column("breakage", "breakage", "amount", if_any=True),
    Column("returned", "returned", "amount"),
    Column("net", "player's net", "amount"),
    Column("article", "article", below=1),
)


@click.command(
    epilog=examples(
        "roundledger rules settle 30/2003 17 straight:17=100 red=50.00",
        "roundledger rules settle 31/2003 2-2-2 total:6=10 any_triple=10 small=100",
        "roundledger rules settle 58/2004 23 nim:3/4=100 fan:1=20           the count of buttons, or its number",
        "roundledger rules settle 53/2010 6,void,6 pass=100 pass_odds=100   throws, by sum or by faces",
        "roundledger rules settle 53/2010 3-3,5-3 place:8=60 hard:8=10 --unverified",
    )
)
@click.argument("order", metavar="ORDER")
@click.argument("outcome", metavar="OUTCOME")
@click.argument("bets", metavar="BET=AMOUNT...", nargs=-1, required=True)
@click.option("--currency", default="MOP", show_default=True, help="Currency of the amounts.")
@click.option("--payable-unit", metavar="AMOUNT", help="Smallest amount that is paid out; by default the currency's minor unit.")
@click.option("--explain", "explained", is_flag=True, help="Say why, bet by bet.")
@unverified_options
@output_options
def settle(
    order: str,
    outcome: str,
    bets: tuple[str, ...],
    currency: str,
    payable_unit: str | None,
    explained: bool,
    unverified: Unverified | None,
    form: Form,
) -> None:
    """Say what bets would be paid, and store nothing.

    Losers come first, then payouts in the regulation's order of payment, then bets that still stand. BET is bet notation
    (`straight:17`, `split:17-20`, `total:9`), AMOUNT its stake in units of the currency. ORDER may be any regulation that is
    held, whatever its dates: this is a what-if. In craps the throws begin a round, and each bet is placed at the first moment at
    which it can be.
    """
    from ledger.money import parse_plain
    from ledger.rules import Wager, explain
    from ledger.rules import settle as settled

    found = held(order, unverified)
    unit = 1 if payable_unit is None else parse_plain(payable_unit, currency, field="--payable-unit")
    shown = found.outcome(outcome)
    wagers = [Wager(n, found.spot(spot), parse_plain(amount, currency, field=spot)) for n, spot, amount in _stakes(bets)]
    resolutions = settled(found, shown, wagers, payable_unit=unit)
    rows = [_row(each, currency) for each in resolutions]
    if form == "json":
        fields = [column.key for column in RESOLUTIONS if column.key != "currency"]
        emit_json([{key: row[key] for key in fields} for row in rows])
        return
    sums = {key: sum(int(row[key]) for row in rows) for key in ("stake", "prize", "commission", "breakage", "returned", "net")}
    sheet = Sheet(RESOLUTIONS, rows, name="bets", totals=[{"currency": currency, **sums}])
    emit(Report(f"{found.order} · {found.game}: {shown.shown}", [sheet], notes=notes([found], of_bets_off=False)), form)
    if explained:
        show = emit_lines if form == "table" else say_lines
        for each in resolutions:
            show(["", *explain(found, shown, each, currency=currency, payable_unit=unit).lines()])


def _stakes(bets: Iterable[str]) -> list[tuple[int, str, str]]:
    """Number, bet notation and amount of each BET=AMOUNT."""
    found = []
    for n, text in enumerate(bets):
        spot, equals, amount = text.rpartition("=")
        if not equals:
            raise Refusal(
                "LGR-0710", "a bet has no amount", field="bet", value=text, help="write BET=AMOUNT, for example straight:17=100"
            )
        found.append((n, spot, amount))
    return found


def _row(each: Resolution, currency: str) -> dict[str, Any]:
    return {
        "bet": each.wager.spot.text,
        "currency": currency,
        "stake": str(each.wager.stake),
        "result": each.result,
        "odds": str(each.odds),
        "prize_exact": str(each.prize_exact),
        "prize": str(each.prize),
        "commission": str(each.commission),
        "breakage": str(each.breakage),
        "returned": str(each.returned),
        "net": str(each.net),
        "article": each.cite,
    }
