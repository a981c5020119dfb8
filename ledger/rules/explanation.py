"""Why a bet was settled as it was: order, article and item, terms, the rule in our words, and every number of the calculation."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from ledger.money import MinorUnits, floor_to, format_plain, minor_digits
from ledger.rules.games.craps import COME_OUT, State
from ledger.rules.games.kernel import LOST, PUSH, STANDS, WON
from ledger.rules.model import OURS, UNVERIFIED, Assumption, Name
from ledger.rules.outcomes import Outcome
from ledger.rules.regulation import Regulation
from ledger.rules.resolutions import Resolution
from ledger.rules.spots import Spot

NOT_IN_SOURCES = "not in sources"


class Step(NamedTuple):
    """One line of an explanation."""

    heading: str
    text: str


class Explanation(NamedTuple):
    """An explanation step by step. Exact figures are fractions of minor units, as in the log."""

    regulation: Regulation
    outcome: Outcome
    resolution: Resolution
    steps: tuple[Step, ...]
    assumptions: tuple[Assumption, ...]
    note: str | None

    def lines(self) -> list[str]:
        """The explanation in English, a step a line."""
        return [f"{step.heading.lower()}: {step.text}" for step in self.steps]

    def to_json(self) -> dict[str, Any]:
        """The same as plain data: amounts as strings of minor units, exact figures as fractions."""
        regulation, outcome, resolution = self.regulation, self.outcome, self.resolution
        spot = resolution.wager.spot
        return {
            "regulation": regulation.order,
            "regulation_hash": regulation.sha256,
            "gazette": {"issue": regulation.gazette.issue, "pages": regulation.gazette.pages},
            "note": self.note,
            "outcome": {"raw": outcome.raw, "text": outcome.text, "shown": outcome.shown},
            "spot": spot.text,
            "numbers": list(spot.numbers),
            "names": {
                language: {"text": name.text, "official": name.unofficial is None, "from": name.unofficial}
                for language, name in spot.names.items()
            },
            "rule": spot.chance.rule,
            "article": resolution.cite,
            "result": resolution.result,
            "stake": str(resolution.wager.stake),
            "odds": str(resolution.odds),
            "prize_exact": str(resolution.prize_exact),
            "prize": str(resolution.prize),
            "commission": str(resolution.commission),
            "breakage": str(resolution.breakage),
            "net_prize": str(resolution.net_prize),
            "returned": str(resolution.returned),
            "net": str(resolution.net),
            "steps": [{"heading": step.heading, "text": step.text} for step in self.steps],
            "assumptions": [{"where": each.where, "reason": each.reason} for each in self.assumptions],
        }


def explain(
    regulation: Regulation,
    outcome: Outcome,
    resolution: Resolution,
    *,
    currency: str | None = None,
    payable_unit: MinorUnits = 1,
    state: State = COME_OUT,
    note: str | None = None,
) -> Explanation:
    """Explain a resolution that `settle` gave for this outcome.

    `currency` prints amounts as plain decimals, else they are minor units; `payable_unit` and, for craps, `state` are those that
    the bet was settled with; `note` says how the regulation applied (`Applied.note`). Raises ValueError where the resolution was
    not made with this payable unit.
    """
    payoff, wager = resolution.payoff, resolution.wager
    exact_net = payoff.net * wager.stake
    if resolution.net_prize != floor_to(exact_net, payable_unit):
        raise ValueError(f"the net prize {resolution.net_prize} is not {exact_net} floored to {payable_unit}")
    spot = wager.spot
    money = _Money(currency)
    used = _assumptions(regulation, resolution)
    steps = [
        Step("Bet", f"{spot.text}, stake {money.of(wager.stake)}: {_verdict(resolution, money)}{money.unit}"),
        Step("Regulation", _regulation(regulation)),
        Step("Applied", note or _in_effect(regulation)),
        Step("Outcome", f"{outcome.shown} (written {outcome.raw!r})"),
        Step("Chance", f"{spot.chance.code}, {_terms(spot)}"),
        Step("Rule", f"{_article(regulation, spot.chance.article_of(spot.selection))}: {spot.chance.rule}"),
        Step("Decision", regulation.kernel.reason(spot, outcome, payoff, state)),
        *_calculation(regulation, resolution, money, payable_unit),
        *(Step("Assumed", f"{each.where}: {each.reason}") for each in used),
    ]
    return Explanation(regulation, outcome, resolution, tuple(steps), used, note)


class _Money(NamedTuple):
    currency: str | None

    def of(self, minor: MinorUnits) -> str:
        return str(minor) if self.currency is None else f"{self.currency} {format_plain(minor, self.currency)}"

    def exact(self, minor: Fraction) -> str:
        if minor.denominator == 1:
            return self.of(minor.numerator)
        return str(minor) if self.currency is None else f"{self.currency} {minor / 10 ** minor_digits(self.currency)}"

    @property
    def unit(self) -> str:
        return "" if self.currency else " (amounts in minor units)"


def _calculation(regulation: Regulation, resolution: Resolution, money: _Money, unit: MinorUnits) -> list[Step]:
    """Every number from the stake to what is returned."""
    payoff, stake = resolution.payoff, resolution.wager.stake
    if payoff.result == LOST:
        return [Step("Returned", f"nothing: the stake of {money.of(stake)} goes to the bank")]
    if payoff.result == STANDS:
        return [Step("Returned", "nothing yet: the bet stands")]
    if payoff.result == PUSH:
        return [Step("Returned", f"the stake of {money.of(stake)}: a tie has neither prize nor commission")]
    chance = resolution.wager.spot.chance
    steps = [
        Step("Odds", f"{_article(regulation, chance.odds_article)}: {payoff.odds} to 1, on top of the stake"),
        Step(
            "Prize", _floored(f"{money.of(stake)} × {payoff.odds}", resolution.prize_exact, resolution.prize, money, "minor unit")
        ),
    ]
    commission = chance.commission or regulation.commission
    if commission is not None:
        taken = payoff.commission * stake
        always = ", which the stake contains" if commission.taken == "always" else ""
        what = f"{_article(regulation, commission.article)}: {commission.fraction} of the {commission.of}{always}"
        steps.append(Step("Commission", _floored(what, taken, resolution.commission, money, "minor unit")))
        what = f"{money.exact(resolution.prize_exact)} − {money.exact(taken)}"
        to = "minor unit" if unit == 1 else f"payable unit, {money.of(unit)}"
        steps.append(Step("Net prize", _floored(what, resolution.prize_exact - taken, resolution.net_prize, money, to)))
    elif resolution.net_prize != resolution.prize:
        steps.append(Step("Net prize", f"floored to the payable unit, {money.of(unit)}: {money.of(resolution.net_prize)}"))
    if resolution.breakage:
        parts = f"{money.of(resolution.prize)} − {money.of(resolution.commission)} − {money.of(resolution.net_prize)}"
        steps.append(Step("Breakage", f"{parts} = {money.of(resolution.breakage)}, kept apart"))
    total = f"{money.of(stake)} + {money.of(resolution.net_prize)} = {money.of(resolution.returned)}"
    return [*steps, Step("Returned", f"stake and net prize: {total}")]


def _floored(what: str, exact: Fraction, floored: MinorUnits, money: _Money, to: str) -> str:
    text = f"{what} = {money.exact(exact)}"
    return text if exact == floored else f"{text}, floored to the {to}: {money.of(floored)}"


def _verdict(resolution: Resolution, money: _Money) -> str:
    if resolution.result == WON:
        return f"won, net prize {money.of(resolution.net_prize)}, returned {money.of(resolution.returned)}"
    if resolution.result == PUSH:
        return f"tied, returned {money.of(resolution.returned)}"
    return resolution.result


def _regulation(regulation: Regulation) -> str:
    titles = " / ".join(name.text for language, name in regulation.title.items() if language != "en")
    pages = f"pages {regulation.gazette.pages}" if regulation.gazette.pages else f"pages {NOT_IN_SOURCES}"
    inferred = " (the issue inferred)" if any(each.where == "gazette, issue" for each in regulation.assumptions) else ""
    return f"{regulation.order}, {titles or regulation.title['en'].text}; {regulation.gazette.issue}{inferred}, {pages}"


def _in_effect(regulation: Regulation) -> str:
    dates = regulation.dates
    if dates.effective_to is None:
        return f"in effect from {dates.effective_from}, no repeal known"
    inferred = any(each.where == "dates, effective_to" for each in regulation.assumptions)
    return f"in effect {dates.effective_from} to {dates.effective_to}{', the last day inferred' if inferred else ''}"


def _terms(spot: Spot) -> str:
    return ", ".join(f"{language} {_term(spot.names.get(language))}" for language in ("pt", "zh", "en"))


def _term(name: Name | None) -> str:
    if name is None:
        return NOT_IN_SOURCES
    if name.unofficial is None:
        return name.text
    return f"{name.text} ({name.unofficial})" if name.unofficial == OURS else f"{name.text} (unofficial: {name.unofficial})"


def _article(regulation: Regulation, article: str | None) -> str:
    return f"{regulation.order} art. {article}" if article else f"no rule text in {regulation.order}"


def _assumptions(regulation: Regulation, resolution: Resolution) -> tuple[Assumption, ...]:
    """What is assumed of this chance, and of rounding where something was rounded."""
    chance = resolution.wager.spot.chance
    parts = [f"chance {chance.code}, "]
    exact = resolution.payoff.net * resolution.wager.stake
    if resolution.breakage or exact != resolution.net_prize:
        parts.append("rounding, ")
    found = [each for each in regulation.assumptions if each.where.startswith(tuple(parts))]
    if not chance.verified:
        found.insert(0, Assumption(regulation.order, f"chance {chance.code}", UNVERIFIED))
    return tuple(found)
