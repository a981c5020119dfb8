"""What is refused, and how; what is explained, and how: every sentence, number and mark as a person reads it.

Each entry of `refused.txt` and `explained.txt` begins with what is asked; below it stands the answer. After a change of words on
purpose, `python -m tests.unit.rules.test_word_for_word` writes the answers anew: read the difference before it is committed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import seeds
from ledger import money, rules
from ledger.errors import Refusal
from ledger.rules import (
    COME_OUT,
    Explanation,
    Exposure,
    Regulation,
    State,
    Wager,
    assumptions,
    explain,
    regulation,
    regulation_for,
    settle,
    verify_placing,
)
from ledger.rules.loader import load
from tests.unit.rules.helpers import CRAPS, UNVERIFIED, wagers

HERE = Path(__file__).parent
FILES = ("refused.txt", "explained.txt")
REGULATIONS = Path(seeds.__file__).parent / "regulations"
ALWAYS = CRAPS.with_unverified(field_twelve="3", commission_taken="always")


def entries(file: str) -> list[tuple[str, str]]:
    """Each question with its answer."""
    parts = (HERE / file).read_text(encoding="utf-8").split("\n# ")
    return [(question, answer.strip("\n")) for question, _, answer in (part.partition("\n") for part in parts[1:])]


@pytest.mark.parametrize(("question", "answer"), [entry for file in FILES for entry in entries(file)])
def test_what_is_said(question: str, answer: str) -> None:
    assert said(question) == answer, "if that is meant: python -m tests.unit.rules.test_word_for_word"


def said(question: str) -> str:
    """The answer to `kind [argument, ...]`."""
    kind, _, arguments = question.partition(" ")
    try:
        return str(KINDS[kind](*json.loads(arguments)))
    except Refusal as refused:
        marks = [refused.field, f"{refused.span[0]}-{refused.span[1]}" if refused.span else None]
        return f"{refused.render()}\n  ({', '.join(mark for mark in marks if mark)})"
    except (ValueError, AttributeError) as error:
        return f"{type(error).__name__}: {error}"


def law(name: str) -> Regulation:
    return {"unverified": UNVERIFIED, "always": ALWAYS}.get(name) or regulation(name)


def state_at(point: int | str) -> State:
    return State(decided=True) if point == "decided" else State(int(point))


def placed(name: str, point: int | str, spot: str, *own: str) -> str:
    verify_placing(state_at(point), law(name).spot_in_play(spot), [law(name).spot_in_play(text) for text in own])
    return "can be placed"


def settled(name: str, outcome: str, point: int | str | None, *bets: str, **options: Any) -> str:
    state = None if point is None else state_at(point)
    resolved = settle(law(name), law(name).outcome(outcome), wagers(law(name), *bets), state=state, **options)
    return "\n".join(f"{each.wager.key} {each.result} {each.cite}" for each in resolved)


def applied(game: str, at: str, known: str | None = None, opt_ins: list[str] = []) -> str:  # noqa: B006 - never changed
    found = regulation_for(game, datetime.fromisoformat(at), datetime.fromisoformat(known) if known else None, opt_ins)
    return f"{found.regulation.order}, {found.note}"


def faulty(file: str, old: str, new: str) -> str:
    text = (REGULATIONS / file).read_text(encoding="utf-8")
    assert old in text
    return load(text.replace(old, new, 1), file).order


def explained(name: str, outcome: str, bet: str, options: dict[str, Any]) -> str:
    return "\n".join(_explanation(name, outcome, bet, options).lines())


def as_json(name: str, outcome: str, bet: str, options: dict[str, Any]) -> str:
    return json.dumps(_explanation(name, outcome, bet, options).to_json(), indent=1, ensure_ascii=False)


def _explanation(name: str, outcome: str, bet: str, options: dict[str, Any]) -> Explanation:
    """`options` are those of `explain`, the state by its point."""
    shown = law(name).outcome(outcome)
    state = state_at(options["state"]) if "state" in options else None
    [resolution] = settle(law(name), shown, wagers(law(name), bet), payable_unit=options.get("payable_unit", 1), state=state)
    return explain(law(name), shown, resolution, **(options | {"state": state or COME_OUT}))


def counted(name: str, spot: str, stake: Any) -> str:
    Exposure(regulation("30/2003")).add(law(name).spot(spot), stake)
    return "counted"


def staked(name: str, spot: str, stake: Any) -> str:
    settle(law("30/2003"), law("30/2003").outcome("1"), [Wager(1, law(name).spot(spot), stake)])
    return "settled"


def register(*opt_ins: str) -> str:
    return "\n".join(f"{each.order}, {each.where}: {each.reason}" for each in assumptions(opt_ins))


KINDS: dict[str, Callable[..., object]] = {
    "spot": lambda name, text: law(name).spot(text).text,
    "outcome": lambda name, raw: law(name).outcome(raw),
    "chance": lambda name, code: law(name).chance(code),
    "order": regulation,
    "applied": applied,
    "place": placed,
    "settle": settled,
    "settle_by": lambda name, outcome, unit: settled(name, outcome, None, payable_unit=unit),
    "fault": faulty,
    "toml": lambda text: load(text, "x.toml"),
    "content": Regulation.from_content,
    "sets": lambda sets: law("30/2003").with_nine_number_sets(sets),
    "unverified": lambda name, options: law(name).with_unverified(**options),
    "minor": lambda value: money.parse_minor(value, field="stake"),
    "amounts": lambda text: (money.parse_minor(text), money.parse_plain(text, "MOP")),
    "plain_amount": lambda text: money.parse_plain(text, "MOP"),
    "unit": money.verify_unit,
    "by_point": lambda name, spot: rules.analyse_by_point(law(name).spot(spot)),
    "plain": lambda value, currency: money.parse_plain(value, currency, field="stake"),
    "signed": lambda value, currency: money.parse_plain(value, currency, positive=False),
    "currency": money.minor_digits,
    "stake": staked,
    "exposure": counted,
    "explain": explained,
    "json": as_json,
    "register": register,
    "repr": lambda name, spot: [law(name), law(name).spot(spot), *dict.fromkeys(law(name).spot(spot).pays)],
    "outcomes": lambda name: "\n".join(map(str, law(name).outcomes())),
}


def rewrite() -> None:
    for file in FILES:
        head = (HERE / file).read_text(encoding="utf-8").split("\n# ")[0]
        text = "".join(f"\n# {question}\n{said(question)}\n" for question, _ in entries(file))
        (HERE / file).write_text(f"{head.rstrip()}\n{text}", encoding="utf-8")


if __name__ == "__main__":
    rewrite()
