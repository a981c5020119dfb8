"""A regulation: the law of one game, with the spots that can be bet and the outcomes that can be shown under it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from ledger.errors import Refusal
from ledger.rules import notation
from ledger.rules.data import DataFault
from ledger.rules.games import KERNELS
from ledger.rules.games.kernel import Kernel
from ledger.rules.model import Chance
from ledger.rules.outcomes import Outcome, check_text
from ledger.rules.reading import read_law

if TYPE_CHECKING:
    from ledger.rules.spots import Spot


class Regulation:
    """One order of the gazette for one game. Immutable; equal where its content is equal.

    `content` is the canonical JSON of all its data and `sha256` the hex digest of that: what a round was played under is logged
    by them, and `Regulation.from_content` brings it back without the files.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        """Read the data strictly. Raises `DataFault`, with its place in the data."""
        law = read_law(data)
        self.content = canonical(data)
        self.sha256 = _hash(self.content)
        self.order = law.order
        self.game = law.game
        self.languages = law.languages
        self.title = law.title
        self.dates = law.dates
        self.gazette = law.gazette
        self.articles = law.articles
        self.commission = law.commission
        self.chances = law.chances
        self.unverified_chances = law.unverified_chances
        self.unverified_on = law.unverified_on
        self.payment_article = law.payment_article
        self.payment_order = law.payment_order
        self.voids = law.voids
        self.assumptions = law.assumptions
        self._by_code = {chance.code: chance for chance in self.chances + self.unverified_chances}
        self.kernel: Kernel = KERNELS[self.game](self)
        self._spots: dict[str, Spot] | None = None
        self._in_play: dict[str, Spot] = {}

    @classmethod
    def from_content(cls, text: str) -> Regulation:
        """The regulation whose `content` this is. Refuses (LGR-0407) what is not canonical content of a regulation."""
        try:
            regulation = cls(_parsed(text))
        except DataFault as fault:
            raise Refusal("LGR-0407", str(fault), field="content") from fault
        except (ValueError, RecursionError) as error:
            raise Refusal("LGR-0407", f"the content is not JSON: {error}", field="content") from error
        if regulation.content != text:
            raise Refusal("LGR-0407", "the content is not in canonical form, so its hash means nothing", field="content")
        return regulation

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Regulation) and self.content == other.content

    def __hash__(self) -> int:
        return hash(self.content)

    def __repr__(self) -> str:
        return f"<Regulation {self.order} {self.game} {self.sha256[:12]}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Regulation.from_content, (self.content,)

    # Chances, spots and outcomes

    @property
    def offered(self) -> tuple[Chance, ...]:
        """The chances that can be bet: those of the text, and the unverified ones where they are turned on."""
        return self.chances + self.unverified_chances if self.unverified_on else self.chances

    def chance(self, code: str) -> Chance:
        """The chance with this code. Refuses an unknown one (LGR-0404) and one without rule text (LGR-0403)."""
        return notation.find_chance(self, code, code)

    def find(self, code: str) -> Chance | None:
        """The chance with this code, offered or not; None where there is none."""
        return self._by_code.get(code)

    def spot(self, text: str) -> Spot:
        """The spot that bet notation names: `straight:17`, `split:20-17`, `red`. The same spot is always the same object.

        Refuses what is not notation (LGR-0405), an unknown chance (LGR-0404), a chance without rule text (LGR-0403) and a
        selection that is not legal (LGR-0412), naming the legal neighbours.
        """
        by_text = self._spots
        if by_text is None:  # asked here, for a call of a function is half of what a look-up costs
            by_text = self._spot_table()
        try:
            return by_text[text]
        except (KeyError, TypeError):
            return by_text[notation.canonical_text(self, text)]

    def spots(self) -> tuple[Spot, ...]:
        """Every spot on which a bet can be placed, in the order of the data."""
        return tuple(self._spot_table().values())

    def spot_in_play(self, text: str) -> Spot:
        """As `spot`, in canonical form only, and also where a bet has moved to while it stood (craps `come:6`)."""
        self._spot_table()
        return self._in_play.get(text) or self.spot(text)

    def outcome(self, raw: str) -> Outcome:
        """The outcome that was written: `17`, `2-2-2`, a count of buttons, throws. Refuses any that cannot be (LGR-0406)."""
        return self.kernel.read_outcome(check_text(raw, self.game, self.kernel.outcome_help))

    def outcomes(self) -> tuple[Outcome, ...]:
        """Every outcome of one launch, shake, count or throw that can be told apart, with its weight."""
        return self.kernel.outcomes()

    def cite(self, *articles: str | None) -> str:
        """`30/2003 art. 6(2), 7(2)`; without any article, that there is no rule text."""
        known = [article for article in articles if article]
        return f"{self.order} art. {', '.join(known)}" if known else f"no rule text in {self.order} (unverified)"

    def _spot_table(self) -> dict[str, Spot]:
        if self._spots is None:
            from ledger.rules.spots import make_spots

            self._spots, self._in_play = make_spots(self)
        return self._spots

    # Variants: a property's own choices, each with a content and hash of its own

    def with_unverified(self, *, field_twelve: str = "2", commission_taken: str = "wins") -> Regulation:
        """The same regulation with the unverified bets turned on, as its content then says.

        `field_twelve`: what the field pays on 12, "2" or "3". `commission_taken`: of buy and lay, "wins" or "always".
        """
        if field_twelve not in ("2", "3") or commission_taken not in ("wins", "always"):
            raise ValueError("field_twelve is '2' or '3', commission_taken 'wins' or 'always'")
        if not self.unverified_chances:
            raise Refusal("LGR-0403", f"{self.order} has no table of unverified bets", field="regulation", value=self.order)
        data = _parsed(self.content)
        data["unverified_bets"] = "on"
        for row in data["unverified"]:
            if row["code"] == "field":
                row["odds"]["12"] = field_twelve
            if "commission" in row:
                row["commission"]["taken"] = commission_taken
        return Regulation(data)

    def with_nine_number_sets(self, sets: Sequence[Collection[int]]) -> Regulation:
        """The same regulation with the nine-number sets that a property's layout prints (roulette, article 6(6)).

        Refuses (LGR-0407) sets that are not nine numbers of 1 to 36 each, and (LGR-0404) a regulation without that chance.
        """
        self.chance("sector9")
        data = _parsed(self.content)
        for row in data["chance"]:
            if row["code"] == "sector9":
                row["sets"] = [", ".join(str(number) for number in sorted(numbers)) for numbers in sets]
                row.setdefault("assumed", {})["sets"] = (
                    "Which nine numbers is not said: the sets that the property's layout prints"
                )
        try:
            return Regulation(data)
        except DataFault as fault:
            raise Refusal("LGR-0407", str(fault), field="sets", value=str(sets)) from fault


# json and hashlib are imported where they are used, so that the import of the rules core stays short.


def _parsed(text: str) -> Any:
    import json

    return json.loads(text)


def _hash(content: str) -> str:
    from hashlib import sha256

    return sha256(content.encode()).hexdigest()


def canonical(data: Mapping[str, Any]) -> str:
    """The one JSON text of a regulation's data: sorted keys, no spaces, dates as text."""
    import json

    return json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=date.isoformat)
