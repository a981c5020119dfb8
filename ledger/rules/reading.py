"""From a regulation's data to its parts: strictly, so that a slip of the pen is a refusal and not a payout.

Content that stands in a log is read by every later release: a key that is added here must be one that may be missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ledger.rules.data import DataFault, Path, Table, read_numbers
from ledger.rules.games import KERNELS
from ledger.rules.games.kernel import PLAIN, Kernel, Listed
from ledger.rules.model import LANGUAGES, OURS, Assumption, Chance, Commission, Dates, Gazette, Item, Law, Name, Void


def read_law(data: Mapping[str, Any]) -> Law:
    """The parts that the data describe. Raises `DataFault`, with the place in the data."""
    top = Table(data)
    reader = _Reader(top)
    kernel = KERNELS[reader.game]
    chances = tuple(reader.chance(table, kernel) for table in top.tables("chance"))
    unverified = tuple(reader.chance(table, kernel) for table in top.tables("unverified"))
    _check_codes(chances, unverified)
    payment_article, payment_order = reader.payment(top.table("payment"), chances)
    reader.rounding(top.table("rounding"))
    law = Law(
        order=reader.order,
        game=reader.game,
        languages=reader.languages,
        title=reader.names(top.texts_by_key("title"), {}, ("title",)),
        dates=reader.dates(top.table("dates")),
        gazette=reader.gazette(top.table("gazette")),
        articles=_articles(top.table("articles"), kernel),
        commission=reader.commission(top.table("commission"), article=True) if top.has("commission") else None,
        chances=chances,
        unverified_chances=unverified,
        unverified_on=bool(unverified) and top.choice("unverified_bets", ("off", "on")) == "on",
        payment_article=payment_article,
        payment_order=payment_order,
        voids=tuple(reader.void(table) for table in top.tables("void")),
        assumptions=(),
    )
    top.done()
    return law._replace(assumptions=tuple(reader.assumptions))


class _Reader:
    """What the entries of one regulation share while they are read."""

    def __init__(self, top: Table) -> None:
        self.order = top.text("order")
        self.game = top.choice("game", tuple(KERNELS))
        self.languages = top.texts("languages")
        for language in self.languages:
            if language not in ("pt", "zh"):
                raise DataFault(("languages",), f"{language!r} is not an official language (pt, zh)")
        self.assumptions: list[Assumption] = []

    def assume(self, where: str, table: Table, subjects: tuple[str, ...], key: str = "assumed") -> dict[str, str]:
        reasons = table.texts_by_key(key)
        for subject, reason in reasons.items():
            if subject not in subjects:
                raise DataFault((*table.path, key, subject), f"{subject} is not a part of this entry")
            self.assumptions.append(Assumption(self.order, f"{where}, {subject}", reason))
        return reasons

    def names(self, names: Mapping[str, str], unofficial: Mapping[str, str], path: Path) -> dict[str, Name]:
        if "en" not in names:
            raise DataFault(path, "en is missing: everything named has an English name")
        for language in (*names, *unofficial):
            if language not in LANGUAGES:
                raise DataFault(path, f"{language!r} is not a language of names (pt, zh, en)")
        for language in unofficial:
            if language not in names or language == "en":
                raise DataFault(path, f"unofficial names {language!r}, for which there is no official place")
        for language in names:
            if language != "en" and language not in self.languages and language not in unofficial:
                raise DataFault(path, f"the text is not held in {language!r}, so the term must be marked as unofficial")
        return {language: Name(text, OURS if language == "en" else unofficial.get(language)) for language, text in names.items()}

    def dates(self, table: Table) -> Dates:
        dates = Dates(
            table.day("dated"),
            table.day("published"),
            table.day("in_force_from"),
            table.day("effective_from"),
            table.optional_day("effective_to"),
            table.texts("revokes"),
            table.optional_text("revoked_by"),
        )
        if not dates.dated <= dates.published <= dates.in_force_from:
            raise DataFault((*table.path, "published"), "dated, published and in_force_from do not follow each other")
        if dates.effective_from > dates.in_force_from:
            raise DataFault((*table.path, "effective_from"), "effect begins after the order is in force")
        if dates.effective_to is not None and dates.effective_to < dates.in_force_from:
            raise DataFault((*table.path, "effective_to"), "effect ends before the order is in force")
        if (dates.effective_to is None) != (dates.revoked_by is None):
            raise DataFault(table.path, "effective_to and revoked_by stand together or not at all")
        self.assume("dates", table, Dates._fields, "inferred")
        table.done()
        return dates

    def gazette(self, table: Table) -> Gazette:
        gazette = Gazette(table.text("issue"), table.optional_text("pages"))
        self.assume("gazette", table, Gazette._fields, "inferred")
        table.done()
        return gazette

    def commission(self, table: Table, *, article: bool) -> Commission:
        commission = Commission(
            table.fraction("fraction"),
            table.choice("of", ("prize", "stake")),
            "wins" if article else table.choice("taken", ("wins", "always")),
            table.text("article") if article else None,
        )
        if commission.fraction >= 1:
            raise DataFault((*table.path, "fraction"), "a commission is less than the whole")
        table.done()
        return commission

    def chance(self, table: Table, kernel: type[Kernel]) -> Chance:
        code = table.text("code")
        if code not in kernel.chances:
            raise DataFault((*table.path, "code"), f"{code!r} is not a chance of {self.game}")
        verified = table.path[0] == "chance"
        bet_article = odds_article = None
        if verified:
            articles = table.table("article")
            bet_article, odds_article = articles.text("bet"), articles.text("odds")
            articles.done()
        names = self.names(table.texts_by_key("names"), table.texts_by_key("unofficial"), (*table.path, "names"))
        sets = _read_sets(table, kernel.listed.get(code))
        chance = Chance(
            code,
            names,
            bet_article,
            odds_article,
            _read_odds(table, kernel.chances[code]),
            table.text("rule"),
            sets,
            self.items(table, sets),
            self.commission(table.table("commission"), article=False) if table.has("commission") else None,
            self.assume(f"chance {code}", table, ("odds", "rule", "sets", "numbers", "names")),
            verified,
        )
        table.done()
        return chance

    def items(self, table: Table, sets: Mapping[str, tuple[int, ...]]) -> dict[str, Item]:
        items: dict[str, Item] = {}
        rows = table.optional_table("items")
        for key in rows.keys():  # noqa: SIM118 - a Table is not a mapping
            row = rows.table(key)
            if key not in sets:
                raise DataFault(row.path, f"{key!r} is not a selection of this chance")
            items[key] = Item(row.text("bet"), self.names(row.texts_by_key("names"), {}, (*row.path, "names")))
            row.done()
        if items and set(items) != set(sets):
            raise DataFault(rows.path, "some selections have an item of their own, others have none")
        return items

    def payment(self, table: Table, chances: tuple[Chance, ...]) -> tuple[str | None, tuple[tuple[str, ...], ...]]:
        groups = table.raw("order")
        if not isinstance(groups, list) or not all(isinstance(group, list) and group for group in groups):
            raise DataFault((*table.path, "order"), "expected a list of lists of chances")
        codes = [code for group in groups for code in group]
        if codes and sorted(map(str, codes)) != sorted(chance.code for chance in chances):
            raise DataFault((*table.path, "order"), "the order of payment does not name every chance once")
        article = table.text("article") if codes else None
        self.assume("payment", table, ("order",))
        table.done()
        return article, tuple(tuple(group) for group in groups)

    def void(self, table: Table) -> Void:
        void = Void(
            table.text("code"),
            table.text("article"),
            self.names(table.texts_by_key("names"), {}, (*table.path, "names")),
            table.text("cause"),
            table.text("consequence"),
            table.choice("disposition", ("stand", "carry")),
            table.flag("ends_round"),
            table.flag("reopens_betting"),
        )
        self.assume(f"void {void.code}", table, Void._fields)
        table.done()
        return void

    def rounding(self, table: Table) -> None:
        self.assume("rounding", table, ("rule",))
        table.done()


def _articles(table: Table, kernel: type[Kernel]) -> dict[str, str]:
    articles = {key: table.text(key) for key in kernel.articles}
    table.done()
    return articles


def _check_codes(chances: tuple[Chance, ...], unverified: tuple[Chance, ...]) -> None:
    if not chances:
        raise DataFault((), "the regulation has no chance")
    seen: set[str] = set()
    for key, rows in (("chance", chances), ("unverified", unverified)):
        for position, chance in enumerate(rows):
            if chance.code in seen:
                raise DataFault((key, position, "code"), f"{chance.code} stands twice")
            seen.add(chance.code)


def _read_odds(table: Table, cases: tuple[str, ...]) -> dict[str, Fraction]:
    if cases == (PLAIN,):
        return {PLAIN: table.fraction("odds")}
    rows = table.table("odds")
    odds = {case: rows.fraction(case) for case in cases}
    rows.done()
    return odds


def _read_sets(table: Table, listed: Listed | None) -> dict[str, tuple[int, ...]]:
    if listed is None:
        return {}
    if listed.kind == "numbers":
        return {"": _read_set(table.raw("numbers"), (*table.path, "numbers"), listed)}
    path = (*table.path, "sets")
    if listed.kind == "named":
        rows = table.table("sets")
        sets = {name: _read_set(rows.raw(name), (*path, name), listed) for name in listed.names}
        rows.done()
    else:
        sets = {str(index): _read_set(text, path, listed) for index, text in enumerate(table.texts("sets"))}
    if not sets or len(set(sets.values())) != len(sets):
        raise DataFault(path, "no set is listed, or one twice")
    return sets


def _read_set(value: Any, path: Path, listed: Listed) -> tuple[int, ...]:
    numbers = read_numbers(value, path)
    if len(numbers) != listed.size or any(number not in listed.among for number in numbers):
        first, last = listed.among[0], listed.among[-1]
        raise DataFault(path, f"{value!r} is not {listed.size} numbers of {first} to {last}")
    return numbers
