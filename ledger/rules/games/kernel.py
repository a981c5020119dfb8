"""What every game kernel offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, NamedTuple

if TYPE_CHECKING:
    from ledger.rules.games.craps import State
    from ledger.rules.model import Chance
    from ledger.rules.outcomes import Outcome
    from ledger.rules.regulation import Regulation
    from ledger.rules.spots import Payoff, Spot

WON = "won"
LOST = "lost"
PUSH = "push"
STANDS = "stands"

PLAIN = ""
"""The case of a chance that has one figure of odds."""


class Decision(NamedTuple):
    """What an outcome does to a selection."""

    result: str
    """`won`, `lost`, `push` or `stands`."""
    case: str = PLAIN
    """Which of the chance's odds apply, where it has several (three army: "1", "2", "3")."""
    ground: str | None = None
    """The further article that decided, by its key in the regulation's `articles` ("zero", "triple", "tie")."""
    moves_to: str | None = None
    """Craps: the selection under which a bet that stands goes on (`come` becomes `come:6`)."""


class Selections(NamedTuple):
    """The legal selections of a chance: canonical text → numbers, and back from the sorted numbers."""

    by_text: Mapping[str, tuple[int, ...]]
    by_numbers: Mapping[tuple[int, ...], str]

    @classmethod
    def of(cls, by_text: Mapping[str, tuple[int, ...]]) -> Selections:
        return cls(by_text, {tuple(sorted(numbers)): text for text, numbers in by_text.items()})


NO_SELECTION = Selections({"": ()}, {})
"""Of a chance that is bet by its name alone."""


class Listed(NamedTuple):
    """How the data list the numbers of a chance: as one set, as sets with names, or as sets known by their numbers."""

    kind: str
    """`numbers`, `named` or `sets`."""
    size: int
    """How many numbers a set has."""
    among: range
    """The numbers that may stand in it."""
    names: tuple[str, ...] = ()


class Kernel(ABC):
    """One game under one regulation. Pure: the same questions always get the same answers."""

    game: ClassVar[str]
    chances: ClassVar[Mapping[str, tuple[str, ...]]]
    """Every chance code of the game, with the cases for which its data must state odds."""
    articles: ClassVar[tuple[str, ...]]
    """The further articles that its decisions name."""
    listed: ClassVar[Mapping[str, Listed]] = {}
    """The chances whose numbers stand in the data."""
    phases: ClassVar[tuple[int, ...]] = (0,)
    """The states of a round on which decisions depend: one, but for craps (no point, and each point)."""
    outcome_help: ClassVar[str]
    """How an outcome is written, for refusals."""

    def __init__(self, regulation: Regulation) -> None:
        self.regulation = regulation

    @abstractmethod
    def selections(self, chance: Chance) -> Selections:
        """The legal selections of a chance."""

    @abstractmethod
    def read_selection(self, chance: Chance, text: str, written: str) -> str:
        """The canonical text of a selection, or a refusal that points into `written`, the whole notation."""

    def travelled(self, chance: Chance) -> Mapping[str, tuple[int, ...]]:
        """Craps: the selections to which a bet may move while it stands; none of them can be bet."""
        return {}

    def covered(self, chance: Chance, numbers: tuple[int, ...]) -> tuple[int, ...]:
        """The numbers of a spot: those selected, or those of the chance itself."""
        return numbers

    @abstractmethod
    def outcomes(self) -> tuple[Outcome, ...]:
        """Every outcome that can be told apart, by index; `Outcome.weight` says how many equally likely ones it stands for."""

    @abstractmethod
    def read_outcome(self, raw: str) -> Outcome:
        """The outcome that a terminal or a person wrote, or a refusal (LGR-0406)."""

    @abstractmethod
    def decide(self, chance: Chance, numbers: tuple[int, ...], outcome: Outcome, phase: int) -> Decision:
        """What an outcome does to a selection, in a phase of the round where the game has several."""

    @abstractmethod
    def reason(self, spot: Spot, outcome: Outcome, payoff: Payoff, state: State) -> str:
        """Why the outcome decided as it did, in a sentence. `state` is that of craps before the throws."""
