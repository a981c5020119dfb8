"""A second opinion of the life of a round: what each report comes to, by the regulations alone. No code of the ledger is in it.

Every act answers with the codes of all the reasons against it; where there is none, it is done. Money is whole minor units, odds
are fractions, each beside its article.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import Any
from uuid import UUID

Id = UUID
Reasons = set[str]

RED = {1, 3, 5, 7, 9, 12, 14, 16, 18, 19, 21, 23, 25, 27, 30, 32, 34, 36}
TRUE = {4: Fraction(2), 5: Fraction(3, 2), 6: Fraction(6, 5), 8: Fraction(6, 5), 9: Fraction(3, 2), 10: Fraction(2)}
ROULETTE = {  # 30/2003 art. 6 and 7; art. 8: zero takes all but the straight on it, for no other set has it
    "straight:17": ({17}, Fraction(35)),  # 7(1)
    "straight:0": ({0}, Fraction(35)),  # 7(1)
    "split:17-20": ({17, 20}, Fraction(17)),  # 7(2)
    "dozen:2": (set(range(13, 25)), Fraction(2)),  # 7(7)
    "red": (RED, Fraction(1)),  # 7(8)
    "low": (set(range(1, 19)), Fraction(1)),  # 7(8)
}
FANTAN = {  # 58/2004 art. 6 and 7: what wins, what ties (art. 8), the odds; 1/20 of the prize is kept (art. 9)
    "fan:1": ({1}, set[int](), Fraction(3)),  # 7(1)(1)
    "nim:1/3": ({1}, {3}, Fraction(2)),  # 7(1)(2)
    "kuoc:12": ({1, 2}, set[int](), Fraction(1)),  # 7(2)
    "nga:12/3": ({1, 2}, {3}, Fraction(1, 2)),  # 7(1)(3)
    "sshong:123": ({1, 2, 3}, set[int](), Fraction(1, 3)),  # 7(1)(4)
}
SPOTS = {
    "roulette": list(ROULETTE),
    "cussec": ["small", "big", "three_army:2", "total:6", "any_triple"],
    "fantan": list(FANTAN),
    "craps": ["pass", "pass_odds", "come", "place:6", "place:8", "field"],
}
ANYTIME = ["field", "place:6", "place:8"]
"""Craps: the spots that depend on no point and no other bet."""
CLAUSES = {"roulette": "golpe_nulo", "cussec": "bridged_dice"}
HIGHEST = {
    "roulette": Fraction(35),  # straight, 30/2003 art. 7(1)
    "cussec": Fraction(150),  # three alike, named, 31/2003 art. 6(4)
    "fantan": Fraction(57, 20),  # fan, 58/2004 art. 7(1)(1) less art. 9
    "craps": Fraction(30),  # two and twelve, of the unverified table
}
"""The most that a chance brings on a stake, beside it."""
UNITS = {"roulette": 1, "cussec": 1, "fantan": 10, "craps": 100}
"""Minor units of the smallest amount paid out."""


LIMITS = {"roulette": (2_000, 35_000, 300_000)}
"""Minor units: the least and the most that a player has on a spot, and the most that the table may lose on the open bets."""
STRANGER = "X-1"
"""A supervisor of another house."""


def may(by: str | None) -> Reasons:
    """Whether a person may decide something at a table: the house's supervisors may."""
    return {"LGR-0801"} if by is None else {"LGR-0804"} if by == STRANGER else set()


def worst(lying: Iterable[tuple[str, int]]) -> int:
    """Roulette: the most that the table can lose, over the pockets, on these spots with their stakes."""
    bets = [(*ROULETTE[spot], stake) for spot, stake in lying]
    return max(sum(int(odds) * n if pocket in numbers else -n for numbers, odds, n in bets) for pocket in range(37))


def odds_of(game: str, spot: str, shown: str) -> Fraction | None:
    """What a spot pays on an outcome; zero where it ties, None where it loses. Craps is thrown."""
    if game == "roulette":
        numbers, odds = ROULETTE[spot]
        return odds if int(shown) in numbers else None
    if game == "fantan":
        wins, ties, odds = FANTAN[spot]
        rest = int(shown) % 4 or 4  # art. 5(1)
        return odds if rest in wins else Fraction(0) if rest in ties else None
    dice = [int(face) for face in shown.split("-")]
    total, alike = sum(dice), len(set(dice)) == 1
    return {  # 31/2003 art. 5 to 7: three alike take small and big
        "small": Fraction(1) if 4 <= total <= 10 and not alike else None,  # 6(1)
        "big": Fraction(1) if 11 <= total <= 17 and not alike else None,  # 6(2)
        "three_army:2": Fraction(dice.count(2)) or None,  # 6(3)
        "any_triple": Fraction(24) if alike else None,  # 6(5)
        "total:6": Fraction(14) if total == 6 else None,  # 6(6)
    }[spot]


def thrown(spot: str, point: int, total: int) -> Fraction | str | None:
    """Craps: what a throw does to a spot: odds, None where it loses, or the spot on which it stands from now on.

    53/2010 art. 5(2)(1) and (2); article 6 is not held, nor are the others: the usual odds.
    """
    name, _, number = spot.partition(":")
    if name == "field":
        return {2: Fraction(2), 12: Fraction(2)}.get(total, Fraction(1)) if total in (2, 3, 4, 9, 10, 11, 12) else None
    if name == "place" and not point:
        return spot
    sought = int(number) if number else point if name in ("pass", "pass_odds") else 0
    if not sought:
        if total in (7, 11):
            return Fraction(1)
        return None if total in (2, 3, 12) else spot if name == "pass" else f"come:{total}"
    if total == sought:
        return {"pass_odds": TRUE[sought], "place": Fraction(7, 6)}.get(name, Fraction(1))
    return None if total == 7 else spot


def point_after(point: int, total: int) -> tuple[int, bool]:
    """The point after a throw, and whether the line is decided."""
    if point:
        return (0, True) if total in (point, 7) else (point, False)
    return (total, False) if total in TRUE else (0, True)


def sums(throws: Iterable[str]) -> list[int]:
    """The sums of the throws that were not void."""
    return [int(one[0]) + int(one[2]) for one in throws if one != "void"]


def cannot_lie(spot: str, point: int, own: Iterable[str]) -> bool:
    """Craps: whether a spot cannot be bet at this moment beside the player's other bets."""
    if spot == "pass":
        return bool(point)
    return spot.startswith("come:") or (spot == "come" and not point) or (spot == "pass_odds" and not (point and "pass" in own))


class Bet:
    """A bet in one round: how it lay, and what is true of it."""

    def __init__(self, id: Id, player: str, spot: str, stake: int, after: int, *, carried: bool = False, locked: bool = False):
        self.id, self.player, self.carried, self.locked = id, player, carried, locked
        self.stages: list[tuple[int, str | None, int]] = [(after, spot, stake)]
        """Throws before it came to lie so, where it came to lie (None: where it was), its stake."""
        self.left: str | None = None
        self.left_after = 0
        self.now: tuple[str, str, int, Fraction] = ("open", spot, stake, Fraction(0))
        """Result, spot, stake, odds."""

    def be(self, result: str, odds: Fraction = Fraction(0), spot: str | None = None) -> None:
        """Decides it, or moves it."""
        self.now = (result, spot or self.now[1], self.now[2], odds)

    def decide(self, odds: Fraction | None) -> None:
        """By the odds that it pays."""
        self.be("lost" if odds is None else "won" if odds else "push", odds or Fraction(0))

    def indeed(self, player: str | None, spot: str | None, stake: int | None) -> Bet:
        """The same bet as it was in truth, its last place or stake being wrong on record."""
        stages = list(self.stages)
        if spot:
            n = max(n for n, stage in enumerate(stages) if stage[1])
            stages[n] = (stages[n][0], spot, stages[n][2])
        if stake:
            stages[-1] = (*stages[-1][:2], stake)
        made = Bet(self.id, player or self.player, stages[0][1] or "", stages[0][2], 0, carried=self.carried, locked=self.locked)
        made.stages, made.left, made.left_after, made.now = stages, self.left, self.left_after, self.now
        return made

    @property
    def lay(self) -> tuple[str, int]:
        """Where it was put last, and with what stake."""
        return next(spot for _, spot, _ in reversed(self.stages) if spot), self.stages[-1][2]

    def money(self, game: str) -> dict[str, int]:
        """What it leaves on each account; of prize, commission, breakage and net prize each is rounded down once."""
        result, _, stake, odds = self.now
        if self.left or result in ("void", "push"):
            return {}
        if result in ("open", "lost"):
            return {f"player/{self.player}": -stake, "escrow" if result == "open" else "win": stake}
        exact = stake * odds
        kept = exact / 20 if game == "fantan" else Fraction(0)
        net = (exact - kept) // UNITS[game] * UNITS[game]
        parts = {f"player/{self.player}": net, "commission": kept // 1, "breakage": exact // 1 - kept // 1 - net}
        return {**{name: int(part) for name, part in parts.items()}, "win": -int(exact // 1)}


class Coup:
    """One round."""

    def __init__(self, game: str) -> None:
        self.game = game
        self.status = "betting"
        self.bets: dict[Id, Bet] = {}
        self.shown: list[str] = []
        """The outcome, or the throws."""
        self.point = 0
        self.bells: list[int] = []
        """Throws before each time that betting closed."""
        self.thrown = False
        self.holds: dict[Id, Id | None] = {}
        self.released: set[Id] = set()
        self.asked: dict[Id, tuple[str, dict[str, Any], str, list[str], list[str]]] = {}
        """Kind, what is asked, author, approved by, how it was decided."""
        self.seen: dict[Id, object] = {}
        """What the author of each saw."""
        self.adjusted: Counter[str] = Counter()
        self.mispaid: Counter[tuple[Id, str]] = Counter()
        """What each player got beside what was due on a bet."""
        self.heir: Coup | None = None

    ended = property(lambda self: self.status not in ("betting", "closed"))
    throws = property(lambda self: len(sums(self.shown)) if self.game == "craps" else 0)

    def money(self) -> Counter[str]:
        """What the round leaves on each account."""
        left = Counter(self.adjusted)
        for bet in self.bets.values():
            left.update(bet.money(self.game))
        return left

    def figures(self) -> tuple[int, int]:
        """Handle and prizes of what is settled."""
        held = [bet for bet in self.bets.values() if not bet.left]
        won = [bet for bet in held if bet.now[0] == "won"]
        return sum(b.now[2] for b in held if b.now[0] in ("lost", "won")), sum(int(b.now[2] * b.now[3] // 1) for b in won)

    def open_bets(self) -> list[Bet]:
        return [bet for bet in self.bets.values() if not bet.left and bet.now[0] == "open"]

    def own(self, player: str, but: Bet | None = None) -> list[str]:
        return [bet.now[1] for bet in self.open_bets() if bet.player == player and bet is not but]

    # Bets.

    def place(self, id: Id, player: str, spot: str, stake: int, bells: int | None = None) -> Reasons:
        """`bells`: how often betting had closed when it was placed, of a bet that was kept back."""
        late = bells is not None and bells < len(self.bells)
        if late and self._last().status == "returned":
            return {"LGR-0223"}
        if late and not self.ended and self.bells[bells or 0] != self.throws:
            return {"LGR-0211"}
        if not late and self.status != "betting":
            return {"LGR-0210"} | ({"LGR-0223"} if self._last().status == "returned" else set())
        if self.game == "craps" and not late and cannot_lie(spot, self.point, self.own(player)):
            return {"LGR-0408"}
        beyond = self.beyond(player, spot, stake, exposed=not late)
        if beyond:
            return beyond
        self.bets[id] = bet = Bet(id, player, spot, stake, self.bells[bells or 0] if late else self.throws)
        if self.status == "carried":
            self.pass_on([bet], locked=True)
        return set()

    def beyond(self, player: str, spot: str, stake: int, but: Bet | None = None, *, exposed: bool = True) -> Reasons:
        """The table's limits that a bet breaks. One that is heard of after the bell stands beside what lay there, and is not
        held against what the table may lose; nor is less on the same spot."""
        if self.game not in LIMITS:
            return set()
        least, most, limit = LIMITS[self.game]
        left = [
            bet for bet in self.bets.values() if bet.left not in ("withdrawn", "void") and bet.now[0] != "void" and bet is not but
        ]
        had = sum(bet.lay[1] for bet in left if (bet.player, bet.lay[0]) == (player, spot))
        no = {code for code, broken in (("LGR-0605", stake < least), ("LGR-0606", had + stake > most)) if broken}
        lying = [(bet.now[1], bet.now[2]) for bet in self.open_bets() if bet is not but]
        with_it = worst([*lying, (spot, stake)])
        return no | ({"LGR-0607"} if exposed and with_it > max(limit, worst(lying)) else set())

    def _last(self) -> Coup:
        """The round that has the bets of this one by now."""
        return self if self.status != "carried" or self.heir is None else self.heir._last()

    def pass_on(self, bets: Iterable[Bet], *, locked: bool) -> None:
        """Their heir, or the last one of the chain, has them now."""
        assert self.heir is not None
        heir = self.heir._last()
        for bet in bets:
            bet.left, bet.left_after = "carried", self.throws
            heir.bets[bet.id] = Bet(bet.id, bet.player, bet.now[1], bet.now[2], 0, carried=True, locked=locked)

    def _movable(self, id: Id, bells: int | None = None) -> Reasons:
        """`bells`: how often betting had closed when the terminal numbered what its player does, where that was kept back."""
        bet = self.bets.get(id)
        if bet is None:
            return {"LGR-0212"}
        late = bells is not None and bells < len(self.bells)
        in_time = not self.ended and self.bells[bells or 0] == self.throws if late else self.status == "betting"
        no = set() if in_time else {"LGR-0204"}
        no |= {"LGR-0213"} if bet.left or bet.now[0] != "open" else set()
        no |= {"LGR-0214"} if bet.locked else set()
        return no | ({"LGR-0215"} if id in [self.holds[h] for h in self.holds.keys() - self.released] else set())

    def _bound(self, bet: Bet) -> bool:
        return (bet.now[1] == "pass" and bool(self.point)) or bet.now[1].startswith("come:")

    def _behind(self, bet: Bet, instead: str = "") -> bool:
        own = [*self.own(bet.player, bet), instead]
        return "pass_odds" in own and (not self.point or "pass" not in own)

    def take_back(self, id: Id, bells: int | None = None) -> Reasons:
        no = self._movable(id, bells)
        if not no & {"LGR-0212"} and (self._bound(self.bets[id]) or self._behind(self.bets[id])):
            no.add("LGR-0214")
        if not no:
            self.bets[id].left, self.bets[id].left_after = "withdrawn", self.throws
        return no

    def change(self, id: Id, spot: str | None, stake: int | None, bells: int | None = None) -> Reasons:
        no = self._movable(id, bells)
        if no & {"LGR-0212"}:
            return no
        bet = self.bets[id]
        _, lies, was, _ = bet.now
        after, amount = spot or lies, stake or was
        moved = after != lies
        if not moved and amount == was:
            no.add("LGR-0222")
        if ((moved or amount < was) and self._bound(bet)) or (moved and self._behind(bet, after)):
            no.add("LGR-0214")
        if self.game == "craps" and (moved or amount > was) and cannot_lie(after, self.point, self.own(bet.player, bet)):
            no.add("LGR-0408")
        no |= self.beyond(bet.player, after, amount, bet, exposed=moved or amount > was)
        if not no:
            bet.stages.append((self.throws, after if moved else None, amount))
            bet.now = ("open", after, amount, Fraction(0))
        return no

    # The bell and the outcome.

    def close(self, after: Iterable[Id] = ()) -> Reasons:
        """`after`: bets that were here before the bell, and were placed after it: they are none."""
        if self.status != "betting":
            return {"LGR-0204"}
        self.status, self.thrown = "closed", False
        for bet in self.bets.keys() & set(after):
            self.bets[bet].left, self.bets[bet].left_after = "void", self.throws
        self.bells.append(self.throws)
        return set()

    def reopen(self) -> Reasons:
        no = {"LGR-0217"} if self.game != "craps" else set()
        no |= {"LGR-0223"} if self.ended else {"LGR-0221"} if self.status == "betting" else set()
        no |= {"LGR-0218"} if self.status == "closed" and not self.thrown else set()
        if not no:
            self.status = "betting"
        return no

    def _undecided(self) -> Reasons:
        no = {"betting": {"LGR-0205"}, "closed": set(), "settled": {"LGR-0206"}}.get(self.status, {"LGR-0223"})
        return no | ({"LGR-0215"} if self.holds.keys() - self.released and self.status == "closed" else set())

    def show(self, shown: str) -> Reasons:
        if no := self._undecided():
            return no
        self.status, self.shown = "settled", [shown]
        for bet in self.open_bets():
            bet.decide(odds_of(self.game, bet.now[1], shown))
        return set()

    def throw(self, shown: str, heir: Coup | None) -> Reasons:
        if no := self._undecided():
            return no
        outlive: list[Bet] = []
        if shown != "void":
            total = sums([shown])[0]
            after, decided = point_after(self.point, total)
            does = {bet.id: thrown(bet.now[1], self.point, total) for bet in self.open_bets()}
            outlive = [self.bets[id] for id, what in does.items() if isinstance(what, str)] if decided else []
            if outlive and heir is None:
                return {"LGR-0216"}
            for id, what in does.items():
                self.bets[id].be("open", spot=what) if isinstance(what, str) else self.bets[id].decide(what)
            self.point = after
            self.status = "settled" if decided else self.status
        self.shown.append(shown)
        self.thrown = True
        if outlive:
            self.heir = heir
            self.pass_on(outlive, locked=False)
        return set()

    def void(self, heir: Coup | None) -> Reasons:
        """By the clause of the game: roulette's stakes stand (30/2003 art. 2(2)), cussec's go on (31/2003 art. 3(3))."""
        if self.game not in CLAUSES:
            return {"LGR-0217", "LGR-0219"}
        no = self._undecided() | ({"LGR-0216"} if (heir is None) is (self.game == "cussec") else set())
        if not no and heir is not None:
            carried, self.status, self.heir = self.open_bets(), "carried", heir
            self.pass_on(carried, locked=True)
        return no

    # Reviews.

    def hold(self, id: Id, bet: Id | None) -> Reasons:
        if bet is not None and bet not in self.bets:
            return {"LGR-0212"}
        if bet is not None and self.bets[bet].left == "carried":
            return {"LGR-0241"}
        self.holds[id] = bet
        return set()

    def release(self, hold: Id) -> Reasons:
        if hold not in self.holds or hold in self.released:
            return {"LGR-0225" if hold in self.holds else "LGR-0224"}
        self.released.add(hold)
        return set()

    # Corrections: `_plan` says what one comes to on the round as it is now.

    def propose(self, id: Id, kind: str, asked: dict[str, Any], author: str) -> Reasons:
        no, _ = self._plan(kind, asked)
        if not no:
            self.asked[id] = (kind, asked, author, [], [])
            self.seen[id] = self._seen(kind, asked)
        return no

    def _seen(self, kind: str, asked: dict[str, Any]) -> object:
        """What a correction's figures come from."""
        made = [(was, of.get("bet")) for was, of, _, _, decided in self.asked.values() if "made" in decided]
        if kind == "ex_gratia":
            paid = [of["player"] for was, of, _, _, decided in self.asked.values() if was == kind and "made" in decided]
            return paid.count(asked["player"])
        if kind in ("outcome", "return"):
            held = sum(not bet.left and bet.now[0] != "open" for bet in self.bets.values())
            return self.ended, held, len([was for was, _ in made if was != "ex_gratia"])
        bet = self.bets[asked["bet"]]
        decided = None if bet.now[0] == "open" else bet.now
        no, after = self._plan(kind, asked) if kind == "bet" and asked.get("spot") else (set(), [])
        comes_to = [each.now[0] for each in after if not no]
        return (
            comes_to,
            bet.player,
            bet.lay,
            decided,
            bet.left,
            sum(was == "outcome" or (was, of) == ("mispay", bet.id) for was, of in made),
        )

    def approve(self, id: Id, by: str) -> Reasons:
        if id not in self.asked:
            return {"LGR-0248"}
        kind, asked, author, approved, decided = self.asked[id]
        no = {"LGR-0243"} if decided else {"LGR-0249"} if by in (author, *approved) else set()
        if no:
            return no
        no, after = self._plan(kind, asked)
        if self._seen(kind, asked) != self.seen[id]:
            no.add("LGR-0250")
        if no:
            return no
        approved.append(by)
        if len(approved) == (2 if kind == "ex_gratia" else 1):
            decided.append("made")
            if kind == "outcome":
                self.shown = asked["outcome"].split(",") if self.game == "craps" else [asked["outcome"]]
            elif kind == "return":
                self.status = "returned"
            elif kind in ("mispay", "ex_gratia"):
                amount = asked["amount"] * (-1 if asked.get("direction") == "from_player" else 1)
                player = asked.get("player") or self.bets[asked["bet"]].player
                self.adjusted.update({f"player/{player}": amount, kind: -amount})
                if kind == "mispay":
                    self.mispaid[asked["bet"], player] += amount
            self.bets.update({bet.id: bet for bet in after})
        return set()

    def decline(self, id: Id) -> Reasons:
        if id not in self.asked or self.asked[id][4]:
            return {"LGR-0243" if id in self.asked else "LGR-0248"}
        self.asked[id][4].append("declined")
        return set()

    def _plan(self, kind: str, asked: dict[str, Any]) -> tuple[Reasons, list[Bet]]:
        if kind == "ex_gratia":
            if self.game == "craps":
                return {"LGR-0247"}, []
            best = {"roulette": Fraction(35), "cussec": Fraction(1), "fantan": Fraction(57, 20)}[self.game]  # of SPOTS[game][0]
            unit, stake, amount = UNITS[self.game], asked["stake"], asked["amount"]
            beyond = amount % unit or amount > stake * best // unit * unit
            return ({"LGR-0240"} if self.status == "betting" else {"LGR-0251"} if beyond else set()), []
        if kind in ("outcome", "late_bet") and self.status != "settled":
            unknown = {"LGR-0212", "LGR-0242"} if kind == "late_bet" else set()
            return {"LGR-0241" if self.ended else "LGR-0240"} | unknown, []
        if kind == "outcome":
            return self._plan_outcome(asked["outcome"])
        if kind == "return":
            return self._plan_return()
        bet = self.bets.get(asked["bet"])
        if bet is None:
            return {"LGR-0212"}, []
        result = bet.now[0]
        if bet.left == "carried":
            return {"LGR-0241"}, []
        if kind == "mispay":
            if result == "open" and not bet.left:
                return {"LGR-0240"}, []
            stake, mispaid = bet.now[2], self.mispaid[asked["bet"], bet.player]
            paid = bet.money(self.game).get(f"player/{bet.player}", 0) + stake
            left = (
                paid + stake + mispaid
                if asked["direction"] == "from_player"
                else stake + stake * HIGHEST[self.game] // 1 - mispaid
            )
            return ({"LGR-0252"} if asked["amount"] > left else set()), []
        if bet.left or result == "void" or (kind == "late_bet" and result != "open"):
            return {"LGR-0242"}, []
        if result == "open" and self.status == "betting" and not (kind == "bet_void" and self._bound(bet)):
            return {"LGR-0240"}, []
        if kind == "bet_void":
            after = bet.indeed(None, None, None)
            after.be("void")
            return ({"LGR-0245"} if bet.locked else set()), [after]
        after = bet.indeed(asked.get("player"), asked.get("spot"), asked.get("stake"))
        if kind == "bet" and (after.player, after.lay) == (bet.player, bet.lay):
            return {"LGR-0242"}, []
        waits = kind == "bet" and result == "open" and (self.status == "settled" or (self.game != "craps" and not self.shown))
        if waits:
            after.now = ("open", *after.lay, Fraction(0))
            return set(), [after]
        no = self._again(self.shown, after, {after.id})
        if self.status == "settled" and after.now[0] == "open":
            no.add("LGR-0409")
        return no, [after]

    def _plan_return(self) -> tuple[Reasons, list[Bet]]:
        if self.status in ("returned", "carried"):
            return {"LGR-0242" if self.status == "returned" else "LGR-0241"}, []
        held = [bet.indeed(None, None, None) for bet in self.bets.values() if not bet.left]
        for bet in held:
            bet.be("void")
        return ({"LGR-0245"} if any(bet.locked for bet in held) else set()), held

    def _plan_outcome(self, shown: str) -> tuple[Reasons, list[Bet]]:
        throws = shown.split(",") if self.game == "craps" else [shown]
        if throws == self.shown:
            return {"LGR-0242"}, []
        if self.game == "craps":
            point, lines = 0, [False]
            for total in sums(throws):
                point, decided = point_after(point, total)
                lines.append(decided)
            if not lines[-1] or any(lines[:-1]):  # the last throw, and no other, decides the line
                return {"LGR-0244"}, []
        judged = {b.id for b in self.bets.values() if b.left == "carried" or (not b.left and b.now[0] not in ("open", "void"))}
        after = {bet.id: bet.indeed(None, None, None) for bet in self.bets.values()}
        no = self._again(throws, None, judged, after)
        for id in judged:
            if self.bets[id].left == "carried":
                no |= {"LGR-0244"} if (after[id].now[0], after[id].now[1]) != ("open", self.bets[id].now[1]) else set()
            elif after[id].now[0] == "open":
                no.add("LGR-0409")
        return no, [after[id] for id in judged if not self.bets[id].left]

    def _again(self, throws: list[str], instead: Bet | None, judged: set[Id], all_bets: dict[Id, Bet] | None = None) -> Reasons:
        """Plays the round once more, for all bets in `all_bets`, or for `instead` beside the others as they are."""
        if self.game != "craps":
            for bet in [instead] if instead else [b for b in (all_bets or {}).values() if b.id in judged]:
                bet.now = ("open", *bet.lay, Fraction(0))
                bet.decide(odds_of(self.game, bet.now[1], throws[0]))
            return set()
        bets = all_bets or {bet.id: bet.indeed(None, None, None) for bet in self.bets.values()}
        if instead is not None:
            bets[instead.id] = instead
        no: Reasons = set()
        lying: dict[Id, Bet] = {}
        point, over, valid = 0, False, sums(throws)
        for moment in range(len(valid) + 1):
            for bet in bets.values():
                for n, (after, spot, stake) in enumerate(bet.stages):
                    if after != moment or (n and bet.id not in lying):
                        continue
                    own = [each.now[1] for each in lying.values() if each.player == bet.player and each is not bet]
                    barred = spot and not (bet.carried and not n) and (over or cannot_lie(spot, point, own))
                    if barred and bet.id in judged:  # once the line is decided, nothing is placed in the round
                        no.add("LGR-0244")
                    bet.now = ("open", spot or bet.now[1], stake, Fraction(0))
                    lying[bet.id] = bet
            for bet in bets.values():
                if bet.left == "withdrawn" and bet.left_after == moment:
                    lying.pop(bet.id, None)
            if moment < len(valid):
                for bet in list(lying.values()):
                    what = thrown(bet.now[1], point, valid[moment])
                    if isinstance(what, str):
                        bet.be("open", spot=what)
                    else:
                        bet.decide(what)
                        del lying[bet.id]
                point, over = point_after(point, valid[moment])
        if any(bet.stages[0][0] > len(valid) for bet in bets.values() if bet.id in judged):
            no.add("LGR-0244")
        return no
