"""The parts of a regulation: names, dates, chances, voids, assumptions. Plain records, read by `ledger.rules.reading`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from fractions import Fraction
from typing import NamedTuple

LANGUAGES = ("pt", "zh", "en")
"""Languages of names: the two official ones, and English, which is always ours."""


OURS = "our translation"
"""Where English names come from: no regulation has any."""

UNVERIFIED = "no source of the regulation holds this bet; rule and odds are those usual elsewhere, turned on by the property"
"""What every explanation says of a bet of the unverified table."""


class Name(NamedTuple):
    """A term in one language."""

    text: str
    unofficial: str | None
    """None if the term stands in the text of the regulation as held; else where it comes from."""


class Dates(NamedTuple):
    """When a regulation counts. Days are those of Macau; `effective_from` is the first day in effect, `effective_to` the last."""

    dated: date
    published: date
    in_force_from: date
    effective_from: date
    effective_to: date | None
    revokes: tuple[str, ...]
    revoked_by: str | None


class Gazette(NamedTuple):
    issue: str
    pages: str | None
    """None: not in the sources."""


class Commission(NamedTuple):
    """What the bank keeps: a fraction of the prize or of the stake."""

    fraction: Fraction
    of: str
    """`prize` or `stake`."""
    taken: str
    """`wins`: on winning bets. `always`: the stake as bet contains it, and a losing bet has lost it as well."""
    article: str | None


class Void(NamedTuple):
    """A launch, shake or throw without result, and what becomes of the stakes."""

    code: str
    article: str
    names: Mapping[str, Name]
    cause: str
    consequence: str
    disposition: str
    """`stand`: the stakes stay for the repetition. `carry`: the next round takes them over, locked."""
    ends_round: bool
    reopens_betting: bool


class Item(NamedTuple):
    """One selection of a chance that has an article item and names of its own (dozen 1: 6(9), pequeno)."""

    article: str
    names: Mapping[str, Name]


class Assumption(NamedTuple):
    """Something that the text does not say and the data decide all the same; or a date that is inferred."""

    order: str
    where: str
    """The part of the data: `chance sector9, sets`."""
    reason: str


class Chance(NamedTuple):
    """A kind of bet that a regulation lists."""

    code: str
    names: Mapping[str, Name]
    bet_article: str | None
    """None in the unverified table: no article is known."""
    odds_article: str | None
    odds: Mapping[str, Fraction]
    """Prize for one unit staked, to one, by case; one figure stands under the empty case."""
    rule: str
    """The rule in our own words."""
    sets: Mapping[str, tuple[int, ...]]
    """The numbers that the data list: by name (dozen "1"), in order ("0", "1", ... of sector9) or as one set under ""."""
    items: Mapping[str, Item]
    commission: Commission | None
    assumed: Mapping[str, str]
    """Which parts of the entry are assumed, and why."""
    verified: bool

    def names_of(self, selection: str) -> Mapping[str, Name]:
        item = self.items.get(selection)
        return item.names if item else self.names

    def article_of(self, selection: str) -> str | None:
        item = self.items.get(selection)
        return item.article if item else self.bet_article


class Law(NamedTuple):
    """All that a regulation's data say, read and checked."""

    order: str
    game: str
    languages: tuple[str, ...]
    """The official languages in which the text is held, at least in part."""
    title: Mapping[str, Name]
    dates: Dates
    gazette: Gazette
    articles: Mapping[str, str]
    """Further articles that decide, by key: on zero, on triples, on ties."""
    commission: Commission | None
    chances: tuple[Chance, ...]
    unverified_chances: tuple[Chance, ...]
    unverified_on: bool
    payment_article: str | None
    payment_order: tuple[tuple[str, ...], ...]
    """Groups of chances in the order in which winners are paid; none where the text sets no order."""
    voids: tuple[Void, ...]
    assumptions: tuple[Assumption, ...]
