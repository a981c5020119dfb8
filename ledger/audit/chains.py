"""Bets that go from round to round: what one hands on, the next takes over, and no stake is lost on the way."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from ledger.audit.findings import Finding, finding
from ledger.audit.hearing import whole
from ledger.audit.judging import Judgement
from ledger.audit.reported import differs
from ledger.audit.told import Link

Key = tuple[UUID, UUID]


class Chains:
    """The links of all rounds, in any order; those that both rounds tell alike are let go at once."""

    def __init__(self) -> None:
        self._given: dict[Key, Link] = {}
        self._taken: dict[Key, Link] = {}
        self._successors: dict[UUID, UUID] = {}
        """Rounds outside of what is looked at → the round that has their bets."""
        self._findings: list[Finding] = []

    def take(self, links: Iterable[Link]) -> None:
        """What a round says of the bets that it took over and handed on."""
        for link in links:
            mine, others = (self._given, self._taken) if link.out else (self._taken, self._given)
            other = others.pop(link.key, None)
            if other is None:
                mine[link.key] = link
                continue
            given, taken = (link, other) if link.out else (other, link)
            if (given.player, given.spot, given.stake) != (taken.player, taken.spot, taken.stake):
                self._differ(given, taken)
            if (name := differs(given.said.body, taken.said.body)) is not None:
                self._differ_in_report(given, taken, name)

    def others(self) -> set[UUID]:
        """The rounds that would have to say something of what is left."""
        ahead = {self._behind(link) for link in self._given.values()}
        return {each for each in ahead if each is not None} | {link.before for link in self._taken.values()}

    def _behind(self, link: Link) -> UUID | None:
        """The last round known to come after the one that a bet leaves: a late bet goes at once to where the others are."""
        at = link.after
        while at is not None and at in self._successors:
            at = self._successors[at]
        return at

    def answer(self, judgement: Judgement) -> None:
        """What a round outside of the scope says: only that which is still asked."""
        told = judgement.told
        if told.successor is not None:
            self._successors[told.id] = told.successor
        asked = self._given.keys() | self._taken.keys()
        self.take(link for link in judgement.links if link.key in asked)

    def _differ(self, given: Link, taken: Link) -> None:
        amounts = given.stake != taken.stake
        self._findings.append(
            finding(
                "CHAIN_DIFF",
                f"the bet on {given.spot} did not arrive as it was handed on by round {given.before}",
                stream=taken.round,
                table=taken.table,
                bet=given.bet,
                currency=_currency(given),
                expected=whole(given.stake) if amounts else f"{given.player} {given.spot}",
                found=whole(taken.stake) if amounts else f"{taken.player} {taken.spot}",
                evidence=[taken.said, given.said],
            )
        )

    def _differ_in_report(self, given: Link, taken: Link, name: str) -> None:
        """One report ends a round, or places a bet in one that has ended, and hands on what lies there."""
        self._findings.append(
            finding(
                "REPORT_DIFF",
                f"the bets of round {given.before} were taken over with another {name} than they were handed on",
                stream=taken.round,
                table=taken.table,
                expected=getattr(given.said.body, name, None),
                found=getattr(taken.said.body, name, None),
                evidence=[taken.said, given.said],
            )
        )

    def finish(self) -> list[Finding]:
        """There are no more rounds: what one side alone says is wrong."""
        for link in (*self._given.values(), *self._taken.values()):
            how = (
                "was handed on, and no round took it over" if link.out else "was taken over from a round that did not hand it on"
            )
            stake = whole(link.stake)
            self._findings.append(
                finding(
                    "CHAIN_DIFF",
                    f"the bet on {link.spot} {how}",
                    stream=link.round,
                    table=link.table,
                    bet=link.bet,
                    currency=_currency(link),
                    expected=stake if link.out else 0,
                    found=0 if link.out else stake,
                    evidence=[link.said],
                )
            )
        return self._findings


def _currency(link: Link) -> str | None:
    """That of the stake, by the event that tells of it."""
    return getattr(link.said.body, "currency", None)
