"""`roundledger rules page`: the page of a game for the documents, made from the regulations' data and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.options import examples
from cli.output import say
from cli.regulations import NOT_IN_SOURCES, Unverified, inferred, offered, percent, pick, unverified_options, worth
from cli.writing import told_where

if TYPE_CHECKING:
    from ledger.rules import Analysis, Chance, Name, Regulation, Spot

MADE_BY = "python3 dev.py run -- roundledger rules page --into docs/reference/games"

_DATES = {
    "dated": "dated",
    "published": "published",
    "in_force_from": "in force from",
    "effective_from": "in effect from",
    "effective_to": "in effect to",
}
_DISPOSITIONS = {"stand": "stand for the repetition", "carry": "are carried into the next round, locked"}
_LONGEST_RUN = 3
"""Numbers in a row from which on they are written by first and last."""


@click.command(
    epilog=examples(
        "roundledger rules page fantan                            the page, as Markdown",
        "roundledger rules page --into docs/reference/games       one file a game",
        "roundledger rules page craps --unverified",
    )
)
@click.argument("game", metavar="[GAME|ORDER]", required=False)
@click.option(
    "--into", "folder", type=click.Path(file_okay=False, path_type=Path), help="Write a file for each game into this folder."
)
@unverified_options
def page(game: str | None, folder: Path | None, unverified: Unverified | None) -> None:
    """Print the page of a game for the documents.

    Chance codes, official terms, numbers, odds, articles, edges, and all that is assumed.
    """
    by_game: dict[str, list[Regulation]] = {}
    for each in pick(game, unverified):
        by_game.setdefault(each.game, []).append(each)
    for name, found in by_game.items():
        text = game_page(name, found)
        if folder is None:
            click.echo(text, nl=False)
        else:
            with told_where("--into", folder):
                folder.mkdir(parents=True, exist_ok=True)
                (folder / f"{name}.md").write_text(text, encoding="utf-8")
            say(f"{folder / name}.md")


def game_page(game: str, found: Sequence[Regulation]) -> str:
    """The page of a game, whose regulations are `found`."""
    lines = [
        f"# {game.capitalize()}",
        "",
        f"<!-- Made from seeds/regulations, not to be edited: {MADE_BY} -->",
        "",
        "Odds are to one and on top of the stake, which stays the winner's. House edges are exact: the part of a stake that the",
        "bank keeps on average, over every outcome, before any rounding. English terms are ours; the law has none.",
        "",
    ]
    for each in found:
        lines += _Page(each).lines()
    return "\n".join(lines).rstrip() + "\n"


class _Page:
    """The part of a page that is about one regulation; a mark beside an entry leads to what is assumed of it."""

    def __init__(self, found: Regulation) -> None:
        self.found = found
        self.marks = {each.where: n for n, each in enumerate(found.assumptions, 1)}

    def lines(self) -> list[str]:
        found = self.found
        sections = {
            f"Order {found.order}": self._order(),
            "Chances": self._chances(),
            "Rules in our words": self._rules(),
            "Selections": self._selections(),
            "Exact figures": self._figures(),
            "Bets without rule text": self._unverified(),
            "Settlement": self._settlement(),
            "Void results": self._voids(),
            "Assumed": [f"{n}. {each.where}: {each.reason}" for n, each in enumerate(found.assumptions, 1)],
        }
        lines: list[str] = []
        for title, body in sections.items():
            if body:
                lines += [f"## {title}" if title.startswith("Order") else f"### {title}", "", *body, ""]
        return lines

    # Entries

    def mark(self, *places: str) -> str:
        """` [2] [5]`: what is assumed of these parts of the data."""
        return "".join(f" [{self.marks[place]}]" for place in places if place in self.marks)

    def term(self, name: Name | None) -> str:
        from ledger.rules.model import OURS

        if name is None:
            return f"*{NOT_IN_SOURCES}*"
        return name.text if name.unofficial in (None, OURS) else f"{name.text} *(unofficial: {name.unofficial})*"

    def terms(self, names: Mapping[str, Name]) -> list[str]:
        return [self.term(names.get(language)) for language in ("pt", "zh", "en")]

    # Sections

    def _order(self) -> list[str]:
        found, dates = self.found, self.found.dates
        pages = f"pages {found.gazette.pages}" if found.gazette.pages else f"pages *{NOT_IN_SOURCES}*"
        rows = [[f"title ({language})", self.term(found.title.get(language))] for language in ("pt", "zh", "en")]
        rows.append(["gazette", f"{found.gazette.issue}{self.mark('gazette, issue')}, {pages}{self.mark('gazette, pages')}"])
        for key, title in _DATES.items():
            value = getattr(dates, key) or "no repeal known"
            guessed = ", inferred" if inferred(found, key) else ""
            rows.append([title, f"{value}{guessed}{self.mark(f'dates, {key}')}"])
        rows.append(["revokes", ", ".join(dates.revokes)])
        if dates.revoked_by:
            rows.append(["repealed by", f"{dates.revoked_by}, whose text is not held: applied beyond the repeal only by opt-in"])
        rows.append(["text held in", ", ".join(found.languages)])
        rows.append(["sha256 of the data", f"`{found.sha256}`"])
        return [*_table(["", ""], rows), "", f"How to give an outcome: {found.kernel.outcome_help}."]

    def _chances(self) -> list[str]:
        rows = []
        for chance, spots in _verified(self.found):
            assumed = self.mark(*(f"chance {chance.code}, {part}" for part in chance.assumed))
            for spot in spots if chance.items else spots[:1]:
                articles = [chance.article_of(spot.selection), chance.odds_article]
                rows.append(
                    [
                        f"`{spot.text if chance.items else chance.code}`{assumed}",
                        *self.terms(spot.names if chance.items else chance.names),
                        "1" if chance.items else str(len(spots)),
                        _odds(chance),
                        ", ".join(article for article in articles if article),
                        _edges([spot] if chance.items else spots),
                    ]
                )
        head = ["chance", "Portuguese", "Chinese", "English", "bets", "odds", "articles", "house edge"]
        return _table(head, rows, numbers=("bets",))

    def _rules(self) -> list[str]:
        return [f"- `{chance.code}`: {chance.rule}" for chance in self.found.chances]

    def _selections(self) -> list[str]:
        rows = []
        for chance, spots in _verified(self.found):
            between = "; " if any(_covered(spot) for spot in spots) else " "
            legal = between.join(f"`{spot.text}`{_covered(spot)}" for spot in spots)
            rows.append([f"`{chance.code}`", str(len(spots)), legal])
        return _table(["chance", "bets", "every legal selection"], rows, numbers=("bets",))

    def _figures(self) -> list[str]:
        return _figures(_verified(self.found))

    def _unverified(self) -> list[str]:
        found = self.found
        if not found.unverified_chances:
            return []
        turned_on = found if found.unverified_on else found.with_unverified()
        rows = [row for row in offered(turned_on) if not row[0].verified]
        off = "They are off: a bet on one is refused for want of a rule text, unless a property turns them on."
        lines = [
            "No source of the regulation holds these bets: every row is **unverified**, with the rule and odds usual elsewhere.",
            "They are turned on here, and the hash of the data says so." if found.unverified_on else off,
            "",
        ]
        table = [
            [f"`{chance.code}`", self.term(chance.names["en"]), str(len(spots)), _odds(chance), chance.rule + _fee(chance)]
            for chance, spots in rows
        ]
        lines += _table(["chance", "English", "bets", "odds", "rule"], table, numbers=("bets",))
        return [*lines, "", *_figures(rows)]

    def _settlement(self) -> list[str]:
        found = self.found
        lines = []
        if found.commission:
            fee = found.commission
            lines.append(f"- Commission, art. {fee.article}: {fee.fraction} of the {fee.of}; a tie carries none.")
        else:
            lines.append("- Commission: none.")
        order = "; ".join(", ".join(f"`{code}`" for code in group) for group in found.payment_order)
        cited = f", art. {found.payment_article}" if found.payment_article else ""
        paid = f"losing bets first, then winners: {order or 'in the order in which the bets were placed'}"
        lines.append(f"- Order of payment{cited}: {paid}.{self.mark('payment, order')}")
        rounding = "prize and commission are floored to the minor unit, the net prize to the payable unit; the rest is breakage"
        lines.append(f"- Rounding, bet by bet: {rounding}.{self.mark('rounding, rule')}")
        lines += [f"- Art. {article}: {_GROUNDS[key]}." for key, article in found.articles.items()]
        return lines

    def _voids(self) -> list[str]:
        rows = []
        for void in self.found.voids:
            named = f"`{void.code}`{self.mark(*(part for part in self.marks if part.startswith(f'void {void.code}, ')))}"
            stakes = _DISPOSITIONS[void.disposition]
            betting = "may be opened again" if void.reopens_betting else "stays closed"
            rows.append([named, *self.terms(void.names), void.article, void.cause, void.consequence, stakes, betting])
        head = ["void", "Portuguese", "Chinese", "English", "article", "when", "then", "stakes", "betting"]
        return _table(head, rows) if rows else []


_GROUNDS = {
    "closing": "when betting closes",
    "result": "what counts as the result",
    "zero": "what nought does",
    "triple": "what three dice alike do to bets on big and small",
    "fragments": "fragments of broken buttons leave the count",
    "tie": "stakes of ties go back whole",
}


def _verified(found: Regulation) -> list[tuple[Chance, list[Spot]]]:
    """The chances of the text, with their spots."""
    return [row for row in offered(found) if row[0].verified]


def _covered(spot: Spot) -> str:
    """` = 1–18`: the numbers of a spot whose notation does not name them all."""
    numbers = spot.numbers or spot.chance.sets.get("", ())
    return f" = {_numbers(numbers)}" if sum(map(str.isdigit, spot.selection)) < len(numbers) else ""


def _odds(chance: Chance) -> str:
    """One figure, or one a case, those that pay alike together: `4, 17: 50; 5, 16: 18`."""
    by_odds: dict[object, list[str]] = {}
    for case, odds in chance.odds.items():
        by_odds.setdefault(odds, []).append(case)
    if len(chance.odds) == 1:
        return str(*by_odds)
    return "; ".join(f"{', '.join(cases)}: {odds}" for odds, cases in by_odds.items())


def _fee(chance: Chance) -> str:
    if chance.commission is None:
        return ""
    taken = "on winning bets" if chance.commission.taken == "wins" else "always, the stake contains it"
    return f"; commission {chance.commission.fraction} of the {chance.commission.of}, {taken}"


def _edges(spots: Iterable[Spot]) -> str:
    found = sorted({spot.edge for spot in spots})
    return ", ".join(str(edge) for edge in found) if len(found) <= 2 else f"{found[0]} to {found[-1]}"


def _numbers(numbers: Iterable[int]) -> str:
    """Numbers with runs by first and last: 1–18; 1, 3, 5."""
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) >= _LONGEST_RUN else ", ".join(map(str, run)) for run in _runs(numbers))


def _runs(numbers: Iterable[int]) -> Iterator[list[int]]:
    run: list[int] = []
    for number in numbers:
        if run and number != run[-1] + 1:
            yield run
            run = []
        run.append(number)
    if run:
        yield run


def _figures(rows: Iterable[tuple[Chance, list[Spot]]]) -> list[str]:
    """What every spot is worth; those of a chance that are worth the same share a line."""
    table = []
    for chance, spots in rows:
        alike: dict[Analysis, list[str]] = {}
        for spot in spots:
            for point, figures in worth(spot).items():
                alike.setdefault(figures, []).append(f"`{spot.text}`{f' at point {point}' if point else ''}")
        for figures, named in alike.items():
            bet = ", ".join(named) if len(alike) > 1 else f"`{chance.code}`"
            shares = [figures.win, figures.push, figures.edge, percent(figures.edge), figures.edge_resolved]
            table.append([bet, str(len(named)), *map(str, shares)])
    head = ["bet", "bets", "won", "tied", "house edge", "%", "ties ignored"]
    return _table(head, table, numbers=head[1:])


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[str] = ()) -> list[str]:
    """A Markdown table."""
    rules = ["--:" if title in numbers else "---" for title in head]
    cells = [head, rules, *rows]
    return [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in cells]
