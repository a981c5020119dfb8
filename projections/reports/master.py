"""The master game report: what was counted at each table beside what the rounds came to, and what could be expected of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any

from projections.reports import queries
from projections.reports.columns import CURRENCY, DAY, PLACE, PROPERTY, TABLE, count, money, rounded_from
from projections.reports.filters import Filters
from projections.reports.model import EXACT, Column, Row, amount, minor, percent, root, rounded, two_decimals
from projections.reports.queries import Connection, Source
from projections.reports.theory import Theory

_KEY = (*PLACE, DAY, CURRENCY)
_ORDER = ("currency", "property", "gaming_day", "table", "game")


def _own(row: Mapping[str, Any]) -> Decimal:
    """The win on the bets of the day: what corrections of other days add has no part in its handle, drop or expectation."""
    return EXACT.subtract(row["win"], row["earlier"])


def _win_of_counted(row: Mapping[str, Any]) -> Decimal | None:
    return None if row["drop"] is None or row["foreign"] else row["own_of_table"]


def _drop_of_counted(row: Mapping[str, Any]) -> Decimal | None:
    """The drop that a win stands beside: none of it in a currency that the table does not deal in."""
    return None if row["foreign"] else row["drop"]


def _hold(row: Mapping[str, Any]) -> Decimal | None:
    """A hold is a share, and so of a drop that is more than nothing: what is posted back of a closed day can make it less."""
    drop = row["counted_drop"]
    return percent(row["counted_win"], drop) if drop is not None and drop > 0 else None


def _deviation(row: Mapping[str, Any]) -> Decimal | None:
    return None if row["square"] is None else rounded(root(row["square"]), row["currency"])


def _z(row: Mapping[str, Any]) -> Decimal | None:
    """By how many standard deviations the day's own win is off; None where there is none."""
    if not row["square"]:
        return None
    return two_decimals((minor(_own(row), row["currency"]) - row["theoretical_win_exact_minor"]) / root(row["square"]))


def _counting(key: str, title: str, *with_: str) -> Column:
    """Something counted, whose total stands where every row has it, or all of `with_`."""
    return money(key, title, if_any=True)._replace(whole=(key, *with_))


COLUMNS = (
    *_KEY,
    count("rounds", "rounds", below=2),
    count("bets", "bets", below=3),
    _counting("opener", "opener", "count_win"),
    _counting("fills", "fills", "count_win"),
    _counting("drop", "drop", "count_win"),
    _counting("credits", "credits", "count_win"),
    _counting("closer", "closer", "count_win"),
    _counting("count_win", "count win"),
    money("earlier", "earlier days", below=3, if_any=True),
    money("win", "ledger win"),
    _counting("variance", "variance"),
    Column("counted_win", "ledger win where counted", "amount", sums=True, whole=("drop",), hidden=True, derive=_win_of_counted),
    money("own_of_table", "own win of all lines of the table and day", sums=False, hidden=True),
    Column("foreign", "counted in a currency that the table does not deal in", "flag", hidden=True),
    Column(
        "counted_drop", "drop in the table's currency", "amount", sums=True, whole=("drop",), hidden=True, derive=_drop_of_counted
    ),
    Column("hold_percent", "hold %", "percent", derive=_hold, if_any=True),
    money("handle", "handle"),
    Column("win_percent", "win %", "percent", derive=lambda row: percent(_own(row), row["handle"])),
    Column("theoretical_win_exact_minor", "exact theo. win (minor units)", "exact", sums=True, drawn=False),
    Column("theoretical_win", "theo. win", "amount", derive=rounded_from("theoretical_win_exact_minor")),
    Column("square", "variance of the win (minor units squared)", "exact", sums=True, whole=("square",), hidden=True),
    Column("deviation", "std. dev.", "amount", derive=_deviation, below=1),
    Column("z", "z", "number", derive=_z, below=1),
    money("commission", "commission", below=4, if_any=True),
    money("breakage", "breakage", below=4, if_any=True),
    money("adjusted", "adjusted", below=3, if_any=True),
)

LEGEND = (
    "count win = closer + credits + drop − opener − fills, where there are a drop and a closer for each opener, or only what "
    "puts the count of a closed day right; variance = count win − ledger win; "
    "ledger win = stakes lost − net prizes, and what corrections of earlier, closed days add to it; "
    "own win = ledger win − earlier days; hold % = own win / drop, where that is above zero and in the currency that the table "
    "deals in; win % = own win / handle; "
    "theo. win = Σ stake × house edge, pushed stakes included; std. dev. is that of the win by the bets that were made; "
    "z = (own win − theo. win) / std. dev."
)
NOTES = (
    "a figure is left blank where nothing was counted or there is nothing to divide by",
    "totals of theoretical win, standard deviation, z and percentages are of exact sums, not of the lines above them",
    "adjusted: mispays put right and payments ex gratia; the tray has paid them, the ledger win does not have them",
)
APART = (
    "standard deviation of craps: each bet is taken by itself, as if bets were independent of each other; of any other game the "
    "bets of a round are taken together, over all its outcomes"
)

_SUMS = ("earlier", "win", "handle", "commission", "breakage", "adjusted")
_COUNTED_BY = ("property", "table", "shift", "currency")
_FIGURES = (
    *_KEY,
    count("rounds", ""),
    count("bets", ""),
    *(money(key, "") for key in _SUMS),
)
_COUNTED = ("opener", "fills", "drop", "credits", "closer")
_COUNTS = (
    PROPERTY,
    TABLE,
    DAY,
    CURRENCY,
    count("openers", ""),
    count("closers", ""),
    *(money(key, "", source=f'v."{key}"') for key in _COUNTED),
)


@dataclass
class _Line:
    """What is known of one table's day."""

    figures: dict[str, Any]
    theoretical: Fraction = Fraction(0)
    square: Fraction | None = Fraction(0)
    counted: dict[str, Decimal | None] = field(default_factory=dict)
    foreign: bool = False
    """Whether it is of a currency that the table does not deal in: a drop box may hold one."""
    beside: list[_Line] = field(default_factory=list)
    """Where the table has the day's other lines in its currency, it being moved to another pit or game: all of them."""

    def of_table(self, key: str) -> Decimal:
        """The sum of a figure over the lines of its table and day."""
        return reduce(EXACT.add, (Decimal(each.figures[key]) for each in self.beside or [self]))


def _in_order(key: Row) -> tuple[Any, ...]:
    property_, pit, table, game, day, currency = key
    return currency, property_, day, table, game or "", pit or ""


def _counted(amounts: dict[str, Decimal | None], line: _Line, openers: int, closers: int) -> dict[str, Decimal | None]:
    """What was counted of a table, with the count win, where there is one, and the variance."""
    found = dict(amounts)
    if openers == closers and _is_whole(amounts, line, openers):
        win = Decimal(0)
        for key, sign in (("closer", 1), ("credits", 1), ("drop", 1), ("opener", -1), ("fills", -1)):
            value = amounts[key]
            if value is not None:
                win = EXACT.add(win, value if sign > 0 else EXACT.minus(value))
        found |= {"count_win": win, "variance": EXACT.subtract(win, line.of_table("win"))}
    return found


def _is_whole(amounts: Mapping[str, Decimal | None], line: _Line, openers: int) -> bool:
    """Whether a count of as many closers as openers has a win, as `day status` has it.

    One with an opener needs the drop. Without one there is only what puts the count of a closed day right, and its win is the
    difference: none of a table that was played.
    """
    if openers == 0:
        counted = amounts["opener"] is not None or amounts["closer"] is not None
        return counted and not line.of_table("rounds") and not line.of_table("bets")
    return amounts["drop"] is not None


class Master:
    """Reads what the report shows. `notes` are complete once the rows were read."""

    def __init__(self, conn: Connection, filters: Filters, theory: Theory) -> None:
        self._conn = conn
        self._filters = filters
        self._theory = theory
        self.notes: list[str] = []
        self._moved: list[Row] = []

    def rows(self) -> Iterator[Row]:
        """One row a table, game, gaming day and currency."""
        lines = self._figures()
        self._count(lines)
        lines = {key: line for key, line in lines.items() if not self._leaves_out(key[1], key[3])}
        self._note_counts(lines)
        self._weigh(lines)
        for key, line in sorted(lines.items(), key=lambda each: _in_order(each[0])):
            known = dict(zip((column.key for column in _KEY), key, strict=True)) | line.figures | line.counted
            known |= {"theoretical_win_exact_minor": line.theoretical, "square": line.square, "foreign": line.foreign}
            known["own_of_table"] = EXACT.subtract(line.of_table("win"), line.of_table("earlier"))
            yield tuple(known.get(column.key) for column in COLUMNS if column.derive is None)

    def _figures(self) -> dict[Row, _Line]:
        """Of all pits and games: what was counted of a table is not known by these."""
        lines = {}
        source = Source("table_days", _ORDER, grouped=True, places=_COUNTED_BY)
        for row in queries.rows(self._conn, source, _FIGURES, self._filters):
            names = [column.key for column in _FIGURES[len(_KEY) :]]
            lines[row[: len(_KEY)]] = _Line(dict(zip(names, row[len(_KEY) :], strict=True)))
        return lines

    def _count(self, lines: dict[Row, _Line]) -> None:
        """The cage's side, beside the line of its table, day and currency; a table that dealt nothing has a line of its own."""
        source = Source("table_counts", ("property", "gaming_day", "table", "currency"), grouped=True, places=_COUNTED_BY)
        beside: dict[Row, list[Row]] = {}
        for key in lines:
            beside.setdefault((key[0], key[2], key[4], key[5]), []).append(key)
        placed = queries.tables(self._conn)
        for property_, table, day, currency, openers, closers, *amounts in queries.rows(
            self._conn, source, _COUNTS, self._filters
        ):
            keys = beside.get((property_, table, day, currency))
            if keys is None:
                known = placed.get((property_, table)) or queries.last_dealt(self._conn, property_, table)
                pit, game, dealt = known or (None, None, currency)
                key = (property_, pit, table, game, day, currency)
                lines[key] = _Line(
                    dict.fromkeys(("rounds", "bets"), 0) | dict.fromkeys(_SUMS, amount(0, currency)), foreign=dealt != currency
                )
            else:
                key = self._counted_at(keys, lines)
            lines[key].counted = _counted(dict(zip(_COUNTED, amounts, strict=True)), lines[key], openers, closers)

    def _counted_at(self, keys: list[Row], lines: dict[Row, _Line]) -> Row:
        """The line of a table's day that has what was counted: of several, after a move or a correction of before one, the one
        with the most rounds, and the win of all is held against it."""
        if len(keys) == 1:
            return keys[0]
        first = min(keys, key=lambda key: (-lines[key].figures["rounds"], -lines[key].figures["bets"], _in_order(key)))
        lines[first].beside = [lines[key] for key in keys]
        self._moved.append(first)
        return first

    def _note_counts(self, lines: dict[Row, _Line]) -> None:
        lacking = sum("count_win" not in line.counted for line in lines.values())
        if lacking and any(line.counted for line in lines.values()):
            self.notes.append(
                f"{lacking} of {len(lines)} lines have no whole count, by confirmed slips: a total of what was counted is left "
                "blank where it would not be of all its lines, and hold % where one of them has no drop"
            )
        elif lacking:
            self.notes.append("no counts, fills, credits or drops are confirmed for these days, so what was counted is blank")
        for property_, pit, table, game, day, currency in self._moved:
            self.notes.append(
                f"{table} ({property_}) has more than one line of {day} in {currency}, by pit or game: what was counted stands "
                f"in that of pit {pit} and {game} alone, with variance and hold % of the win of them all"
            )

    def _leaves_out(self, pit: str | None, game: str | None) -> bool:
        """Whether a line is none of those asked for."""
        asked = self._filters
        return (asked.pit is not None and asked.pit != pit) or (asked.game is not None and asked.game != game)

    def _weigh(self, lines: dict[Row, _Line]) -> None:
        """What was to be expected of the bets that were made: the win, and how far it may stray, round by round.

        Variances of rounds add, for rounds are independent.
        """
        staked: dict[Row, dict[str, int]] = {}
        unknown, apart = 0, False
        for place, regulation, spots, stakes, edges in queries.bets_by_round(self._conn, self._filters):
            by_edge = staked.setdefault(place, {})
            for edge, stake in zip(edges, stakes, strict=True):
                by_edge[edge] = by_edge.get(edge, 0) + stake
            line = lines[place]
            spread = self._theory.spread(regulation, list(zip(spots, stakes, strict=True)))
            if spread is None:
                unknown += 1
                line.square = None
                continue
            apart = apart or not spread.exact
            if line.square is not None:
                line.square += spread.variance
        for key, by_edge in staked.items():
            lines[key].theoretical = sum((Fraction(edge) * stake for edge, stake in by_edge.items()), Fraction(0))
        if apart:
            self.notes.append(APART)
        if unknown:
            self.notes.append(
                f"no standard deviation of tables with rounds under regulations that this program does not hold: {unknown} rounds"
            )
