"""Bet notation: `code` or `code:selection`, read strictly, with refusals that show what is legal.

One spot has one canonical form; a selection that may be written in several ways (numbers in any order) is brought to it. Nothing
is guessed: look-alike digits, capitals, spaces and leading zeros are refused, pointing at them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ledger.errors import Refusal

if TYPE_CHECKING:
    from ledger.rules.model import Chance
    from ledger.rules.regulation import Regulation

LONGEST = 80
"""Characters of the longest notation that is read (twelve numbers of two digits and the code take less)."""

_SHOWN_SPOTS = 8


def canonical_text(regulation: Regulation, written: Any) -> str:
    """The canonical form of a bet in notation, or the refusal of it."""
    if not isinstance(written, str):
        raise _not_notation(written, f"a bet is written as text, not as {type(written).__name__}", _grammar(regulation))
    if len(written) > LONGEST:
        raise _not_notation(written, f"{len(written)} characters are no bet", _grammar(regulation))
    code, colon, selection = written.partition(":")
    chance = find_chance(regulation, code, written)
    selections = regulation.kernel.selections(chance)
    if "" in selections.by_text:
        if colon:
            detail = f"{code} is bet by its name alone, without a selection"
            raise _not_notation(written, detail, f"write {code}", span=(len(code), len(written)))
        return code
    if not selection:
        detail = f"{code} needs a selection"
        raise _not_notation(written, detail, f"write {_listed(code, selections.by_text)}", span=(len(written), len(written) + 1))
    return f"{code}:{regulation.kernel.read_selection(chance, selection, written)}"


def find_chance(regulation: Regulation, code: str, written: str) -> Chance:
    """The chance with this code; refuses an unknown one (LGR-0404) and one without rule text (LGR-0403)."""
    chance = regulation.find(code)
    if chance is None:
        raise _unknown_chance(regulation, code, written)
    if not chance.verified and not regulation.unverified_on:
        listed = _words(each.code for each in regulation.chances)
        raise Refusal(
            "LGR-0403",
            f"there is no rule text for {code} in {regulation.order} as held",
            field="spot",
            value=written,
            span=(0, len(code)),
            help=f"bet {listed}, or turn on the unverified bets for the property, on record",
            cite=f"{regulation.order}, whose text is held in part",
        )
    return chance


def cite_chance(regulation: Regulation, chance: Chance) -> str:
    """Order, article, official terms and the rule in our words: what a refused selection is held against."""
    terms = [name.text for language, name in chance.names.items() if language != "en"]
    named = f", {' / '.join(terms)}" if terms else ""
    return f"{regulation.cite(chance.bet_article)}{named}: {chance.rule}"


def illegal(
    regulation: Regulation,
    chance: Chance,
    written: str,
    detail: str,
    *,
    span: tuple[int, int] | None = None,
    near: Iterable[str] = (),
    help: str | None = None,
    cite: str | None = None,
) -> Refusal:
    """The refusal of a selection (LGR-0412). `near` are the legal selections to be named, where there is no other help."""
    start = len(chance.code) + 1
    return Refusal(
        "LGR-0412",
        detail,
        field="spot",
        value=written,
        span=span or (start, len(written)),
        help=help or f"legal is {_listed(chance.code, near)}",
        cite=cite or cite_chance(regulation, chance),
    )


def read_number(regulation: Regulation, chance: Chance, written: str, start: int, end: int) -> int:
    """The number at written[start:end]: ASCII digits without leading zeros, at most two of them."""
    text = written[start:end]
    if text.isascii() and text.isdigit() and len(text) <= 2 and (text == "0" or text[0] != "0"):
        return int(text)
    if not text:
        detail = "a number is missing here"
        end = start + 1
    elif text.isascii() and text.isdigit():
        bare = text.lstrip("0") or "0"
        detail = f"{text} is written {bare}" if len(bare) <= 2 else f"{_cut(text)} is out of range"
    elif text.strip() != text:
        detail = "there are no spaces in bet notation"
    elif not text.isascii():
        detail = f"{_cut(text)} is not written in the digits 0 to 9 of ASCII"
    else:
        detail = f"{_cut(text)} is not a number"
    near = regulation.kernel.selections(chance).by_text
    raise illegal(regulation, chance, written, detail, span=(start, end), near=near)


def pieces(text: str, start: int, separator: str) -> list[tuple[int, int]]:
    """The (from, to) of each part of written[start:] = text between separators."""
    spans = []
    for part in text.split(separator):
        spans.append((start, start + len(part)))
        start += len(part) + len(separator)
    return spans


def nearest(by_text: Iterable[tuple[str, tuple[int, ...]]], numbers: Iterable[int]) -> list[str]:
    """The legal selections that share most numbers with what was written, in their own order."""
    wanted = set(numbers)
    scored = [(len(wanted.intersection(legal)), text) for text, legal in by_text]
    best = max(score for score, _ in scored)
    return [text for score, text in scored if score == best]


def _listed(code: str, selections: Iterable[str]) -> str:
    texts = [f"{code}:{selection}" for selection in selections]
    if len(texts) > _SHOWN_SPOTS:
        return f"{', '.join(texts[: _SHOWN_SPOTS - 1])} ... {texts[-1]}"
    return _words(texts)


def _words(texts: Iterable[str]) -> str:
    items = list(texts)
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} or {items[-1]}"


def _grammar(regulation: Regulation) -> str:
    return f"write chance or chance:selection; the chances are {', '.join(chance.code for chance in regulation.offered)}"


def _not_notation(written: Any, detail: str, help: str, span: tuple[int, int] | None = None) -> Refusal:
    return Refusal("LGR-0405", detail, field="spot", value=written, help=help, span=span)


def _unknown_chance(regulation: Regulation, code: Any, written: Any) -> Refusal:
    shown = _cut(code) if isinstance(code, str) else repr(code)[:30]
    named = _bearing_the_name(regulation, code)
    if len(named) > 1:
        detail = f"{shown} names {len(named)} chances, so it cannot name one"
        help_text = f"write {_words(named)}"
    elif named:
        detail, help_text = f"{shown} is the name of a chance, not its code", f"write {named[0]}"
    elif not code:
        detail, help_text = "the chance is missing", _grammar(regulation)
    else:
        detail = f"{shown} is not a chance of {regulation.game} under {regulation.order}"
        close = _alike(str(code), [chance.code for chance in regulation.offered])
        help_text = f"did you mean {_words(close)}?" if close else _grammar(regulation)
    span = (0, max(1, len(code))) if isinstance(code, str) else None
    return Refusal("LGR-0404", detail, field="spot", value=written, help=help_text, span=span)


def _bearing_the_name(regulation: Regulation, name: Any) -> list[str]:
    """The notations that bear a name in any language: 小 is both `dozen:1` and `low` in roulette."""
    found = []
    for chance in regulation.offered:
        if any(name == term.text for term in chance.names.values()):
            found.append(chance.code)
        found += [
            f"{chance.code}:{selection}"
            for selection, item in chance.items.items()
            if any(name == term.text for term in item.names.values())
        ]
    return found


def _alike(code: str, codes: list[str]) -> list[str]:
    from difflib import get_close_matches  # slow to import, and only a refusal needs it

    return get_close_matches(code[:30].lower().strip(), codes, n=3)


def _cut(text: str) -> str:
    return text if len(text) <= 30 else text[:30] + "…"
