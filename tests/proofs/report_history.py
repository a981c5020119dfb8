"""What the reports say of single rounds, bets, slips, movements and of people, by another way: from the JSON of the raw events.

Nothing of the program is used. Each round's events are looked at together and asked what they say in the end, where the program
folds them one by one as they come. Figures are in plain text, as every form of a report has them; keys are columns of the report.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

Key = tuple[str, ...]
Figures = dict[Key, dict[str, str]]
Body = Mapping[str, Any]

SLIPS = {"FillRecorded": "fill", "CreditRecorded": "credit", "DropCounted": "drop"}
DECIDED = ("lost", "won", "push")
_AMOUNTS = ("prize", "commission", "breakage", "net_prize", "returned")


class Event(NamedTuple):
    """One raw event; the topic is without its version."""

    position: int
    stream: str
    topic: str
    body: Body


def text(value: Any) -> str:
    """A value as a report has it."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def money(minor: int) -> str:
    """Minor units of a currency with two decimals, which all of these have."""
    return f"{'-' if minor < 0 else ''}{abs(minor) // 100}.{abs(minor) % 100:02}"


def instant(said: str | None) -> str:
    """A time in UTC, as reports write it."""
    if said is None:
        return ""
    return datetime.fromisoformat(said).astimezone(UTC).isoformat().replace("+00:00", "Z")


class Bet:
    """One bet in one round, and what is true of it in the end."""

    def __init__(self, came: Event, line: Body, *, placed_in: str, locked: bool) -> None:
        self.came = came
        self.line = line
        self.placed_in = placed_in
        self.locked = locked
        self.player, self.spot, self.stake = line["player"], line["spot"], int(line["stake"])
        self.taken = self.stake
        """What was ever taken of it in this round."""
        self.more = 0
        """Of a carried bet, what was taken of it here."""
        self.given = 0
        """What of that went back undecided."""
        self.result = "open"
        self.resolved: int | None = None
        self.standing: Body = {}
        self.corrections = 0

    def correct(self, change: int, *, here: bool) -> None:
        """Another stake than was thought; of what a round before has taken, more is taken here, and less goes back here."""
        if here:
            self.taken += change
        elif change > 0:
            self.more += change
        else:
            self.given -= change

    def end(self, position: int, result: str, standing: Body) -> None:
        self.result, self.resolved, self.standing = result, position, standing

    def amount(self, name: str) -> int:
        return int(self.standing.get(name, "0"))

    @property
    def house(self) -> int:
        """What it left with the house."""
        return self.stake if self.result == "lost" else -self.amount("net_prize")


class Round:
    """A round by its events."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.events = events
        self.opening = events[0].body
        self.stream = events[0].stream
        self.bets: dict[str, Bet] = {}
        for event in events:
            self._bets(event)

    def of(self, *topics: str) -> list[Event]:
        return [event for event in self.events if event.topic in topics]

    @property
    def day(self) -> str:
        return str(self.opening["gaming_day"])

    @property
    def place(self) -> dict[str, str]:
        said = self.opening
        names = ("property", "pit", "table", "game", "gaming_day", "shift", "currency")
        return {name: text(said.get(name)) for name in names}

    def _bets(self, event: Event) -> None:
        body, position = event.body, event.position
        bet = self.bets.get(body.get("bet", ""))
        match event.topic:
            case "BetPlaced":
                self.bets[body["bet"]] = Bet(event, body, placed_in=event.stream, locked=False)
            case "BetsCarried":
                for line in body["bets"]:
                    self.bets[line["bet"]] = Bet(event, line, placed_in=line["placed_in"], locked=body["locked"])
            case "BetWithdrawn" | "BetVoided":
                assert bet is not None
                bet.end(position, "withdrawn" if event.topic == "BetWithdrawn" else "void", {"returned": body["stake"]})
            case "BetChanged":
                assert bet is not None
                change = int(body["stake"]) - bet.stake
                bet.taken, bet.given = bet.taken + max(change, 0), bet.given + max(-change, 0)
                bet.spot, bet.stake = body["spot"], int(body["stake"])
            case "OutcomeRecorded" | "ThrowRecorded":
                for line in body.get("lost", ()):
                    self.bets[line["bet"]].end(position, "lost", line)
                for line in body.get("moved", ()):
                    self.bets[line["bet"]].spot = line["spot"]
            case "PayoutMade":
                assert bet is not None
                bet.end(position, body["result"], body)
            case "RoundVoided" | "RoundSettled":
                self._left(event)
            case "BetCorrected":
                assert bet is not None
                after = body["after"]
                bet.correct(int(after["stake"]) - bet.stake, here=bet.placed_in == self.stream)
                bet.player, bet.spot, bet.stake = after["player"], after["spot"], int(after["stake"])
                bet.end(position, after["result"], after)
                bet.corrections += 1
                if after["result"] == "open":
                    bet.resolved = None

    def _left(self, event: Event) -> None:
        body = event.body
        for line in body.get("returned", ()) if event.topic == "RoundVoided" else ():
            self.bets[line["bet"]].end(event.position, "void", {"returned": line["stake"]})
        if body.get("successor") is not None:
            for bet in self.bets.values():
                if bet.result == "open":
                    bet.end(event.position, "carried", {})

    def decided(self) -> list[Bet]:
        return [bet for bet in self.bets.values() if bet.result in DECIDED]

    def sums(self) -> dict[str, int]:
        """The money of its bets, in minor units."""
        found: dict[str, int] = defaultdict(int)
        for bet in self.bets.values():
            own = bet.placed_in == self.stream
            found["stakes" if own else "carried_in"] += bet.taken
            found["stakes"] += bet.more
            found["returned"] += bet.given + (bet.stake if bet.result in ("withdrawn", "void") else 0)
            by = {"lost": "lost", "won": "won", "push": "pushed", "carried": "carried_out", "open": "escrow"}.get(bet.result)
            if by is not None:
                found[by] += bet.stake
            if bet.result in DECIDED:
                found["resolved"] += 1
            if bet.result == "won":
                found["prizes"] += bet.amount("net_prize")
                found["commission"] += bet.amount("commission")
                found["breakage"] += bet.amount("breakage")
        for event in self.of("PlayerAdjusted"):
            found["adjusted"] += int(event.body["amount"]) * (1 if event.body["direction"] == "to_player" else -1)
        found["handle"] = found["lost"] + found["won"]
        found["win"] = found["lost"] - found["prizes"]
        return found

    def outcome(self, *, booked: bool = False) -> str | None:
        """As last corrected, or as the books of its day have it; of craps the throws."""
        corrected = [each for each in self.of("OutcomeCorrected") if not booked or each.body.get("gaming_day") is None]
        if corrected:
            return str(corrected[-1].body["outcome"])
        shown = self.of("OutcomeRecorded", "ThrowRecorded")
        return ",".join(event.body["outcome"] for event in shown) if shown else None

    def settled(self) -> str | None:
        found = self.of("RoundSettled")
        return found[0].body["received_at"] if found else None


class History:
    """All rounds, and what is not about a round."""

    def __init__(self, events: Iterable[Event]) -> None:
        streams: dict[str, list[Event]] = defaultdict(list)
        self.all = list(events)
        for event in self.all:
            streams[event.stream].append(event)
        self.rounds = {
            stream: Round(found) for stream, found in streams.items() if any(each.topic == "RoundOpened" for each in found)
        }
        self.corrections = {event.body["correction"]: event for event in self.of("CorrectionProposed")}
        self.approvals: dict[str, list[Event]] = defaultdict(list)
        for event in self.of("CorrectionApproved"):
            self.approvals[event.body["correction"]].append(event)
        self.slips = {event.body["slip"]: event for event in self.of("ChipsCounted", *SLIPS)}

    def of(self, *topics: str) -> list[Event]:
        return [event for event in self.all if event.topic in topics]

    def each(self, *topics: str) -> list[tuple[Event, Round]]:
        """The events of rounds with these topics, each with its round."""
        return [(event, self.rounds[event.stream]) for event in self.of(*topics)]

    def approved(self, correction: str) -> bool:
        return len(self.approvals[correction]) >= int(self.corrections[correction].body.get("approvals", 1))


def rounds(history: History) -> Figures:
    """The round log."""
    found: Figures = {}
    by_table: dict[str, list[Round]] = defaultdict(list)
    for each in history.rounds.values():
        by_table[each.opening["table"]].append(each)
    for of_table in by_table.values():
        of_table.sort(key=lambda each: each.events[0].position)
        for n, each in enumerate(of_table):
            row = _round(history, each)
            row["previous"] = of_table[n - 1].stream if n else ""
            row["next"] = of_table[n + 1].stream if n + 1 < len(of_table) else ""
            found[(each.stream,)] = row
    return found


def _round(history: History, each: Round) -> dict[str, str]:
    said, sums = each.opening, each.sums()
    ended = [event.body for event in each.of("RoundVoided") if event.body["disposition"] != "stand"]
    bells = each.of("BettingClosed", "BettingReopened")
    shown = each.of("OutcomeRecorded", "ThrowRecorded")
    corrected = each.of("OutcomeCorrected")
    throws = each.of("ThrowRecorded")
    carried = each.of("BetsCarried")
    on = [event.body["successor"] for event in each.of("RoundVoided", "RoundSettled") if event.body.get("successor")]
    proposed = [event.body["correction"] for event in each.of("CorrectionProposed")]
    approved = [id_ for id_ in proposed if history.approved(id_)]
    declined = {event.body["correction"] for event in each.of("CorrectionDeclined")}
    row = {**each.place, "first_position": str(each.events[0].position), "last_position": str(each.events[-1].position)}
    for name in ("regulation", "applied", "regulation_hash", "property_hash", "limits", "dealer", "supervisor"):
        row[name] = text(said.get(name))
    row["status"] = _status(each, ended)
    row["disposition"] = ended[-1]["disposition"] if ended else ""
    row["opened_at"] = instant(said["received_at"])
    row["closed_at"] = instant(bells[-1].body["received_at"]) if bells and bells[-1].topic == "BettingClosed" else ""
    row["settled_at"] = instant(each.settled())
    row["outcome_raw"] = ",".join(event.body["raw"] for event in shown)
    row["outcome"] = text(each.outcome())
    row["shown"] = corrected[-1].body["shown"] if corrected else shown[-1].body["shown"] if shown else ""
    row["throws"] = str((each.outcome() or "").count(",") + 1 if throws else 0)
    row["void_launches"] = str(sum(event.body["disposition"] != "return" for event in each.of("RoundVoided")))
    row["predecessor"] = carried[0].body["from_round"] if carried else ""
    row["successor"] = on[0] if on else ""
    row["bets"] = str(len(each.of("BetPlaced")))
    row["resolved"] = str(sums["resolved"])
    for name in ("stakes", "carried_in", "carried_out", "returned", "escrow", "handle", "lost", "won", "pushed", "prizes"):
        row[name] = money(sums[name])
    for name in ("commission", "breakage", "win", "adjusted"):
        row[name] = money(sums[name])
    row["holds"] = str(len(each.of("RoundHeld")) - len(each.of("RoundReleased")))
    row["corrections"] = str(len(approved))
    row["corrections_pending"] = str(len([id_ for id_ in proposed if id_ not in approved and id_ not in declined]))
    return row


def _status(each: Round, ended: Sequence[Body]) -> str:
    if ended:
        return "voided"
    if each.of("RoundSettled"):
        return "resettled" if each.of("RoundResettled") else "settled"
    bells = each.of("BettingClosed", "BettingReopened")
    return "closed" if bells and bells[-1].topic == "BettingClosed" else "open"


def bets(history: History) -> Figures:
    """The bet log."""
    found: Figures = {}
    for each in history.rounds.values():
        for id_, bet in each.bets.items():
            found[id_, each.stream] = _bet(each, bet)
    return found


def _bet(each: Round, bet: Bet) -> dict[str, str]:
    event, body = bet.came, bet.came.body
    ended, decided = bet.result != "open", bet.result in DECIDED
    placed = event.topic == "BetPlaced" and body["spot"] == bet.spot
    row = {**each.place, "regulation": each.opening["regulation"], "position": str(event.position)}
    row |= {"placed_in": bet.placed_in, "player": bet.player, "seat": text(bet.line.get("seat")), "spot": bet.spot}
    row |= {"chance": bet.spot.partition(":")[0], "chip": bet.line.get("chip", "cash"), "stake": money(bet.stake)}
    row["numbers"] = ",".join(map(str, body.get("numbers", ()))) if placed else ""
    row |= {"late": text(bet.line.get("late", False)), "locked": text(bet.locked), "result": bet.result}
    for column, name in (("odds", "odds"), ("prize_exact_minor", "prize_exact"), ("edge", "edge")):
        row[column] = bet.standing.get(name, "0") if ended else ""
    for name in _AMOUNTS:
        row[name] = money(bet.amount(name)) if ended else ""
    row["house_result"] = money(bet.house) if decided else ""
    row["article"] = text(bet.standing.get("article"))
    row["corrections"] = str(bet.corrections)
    row |= {"terminal": text(body.get("terminal")), "terminal_epoch": text(body.get("epoch", 0))}
    row |= {"terminal_sequence": text(body.get("sequence")), "event_id": text(body.get("cause"))}
    row |= {"occurred_at": instant(body.get("occurred_at")), "received_at": instant(body.get("received_at"))}
    row["resolved_position"] = text(bet.resolved)
    return row


def voids(history: History) -> Figures:
    """The register of voids."""
    found: Figures = {}
    for event, each in history.each("RoundVoided", "BetVoided", "ThrowRecorded"):
        body = event.body
        if event.topic == "ThrowRecorded" and body.get("void") is None:
            continue
        row = {**each.place, "round": each.stream, "declared_at": instant(body["received_at"]), "note": text(body.get("note"))}
        row |= {name: text(body.get(name)) for name in ("article", "correction", "successor")}
        by, terminal = body.get("by"), body["terminal"]
        row |= {"declared_by": by or terminal, "terminal": "" if by == terminal else terminal}
        row |= {"bet": "", "number": "", "reason": text(body.get("reason"))}
        match event.topic:
            case "BetVoided":
                row |= {"what": "bet", "bet": body["bet"], "disposition": "return", "stakes": money(int(body["stake"]))}
            case "ThrowRecorded":
                row |= {"what": "throw", "number": str(body["throw"]), "disposition": "stand", "stakes": money(0)}
                row["reason"] = body["void"]
            case _:
                back = sum(int(line["stake"]) for line in body.get("returned", ())) + int(body.get("carried", "0"))
                row |= {"what": "round", "disposition": body["disposition"], "stakes": money(back)}
                row["number"] = str(body["launch"]) if body["launch"] else ""
        found[(str(event.position),)] = row
    return found


def corrections(history: History) -> Figures:
    """The register of corrections."""
    found: Figures = {}
    declined = {event.body["correction"]: event for event in history.of("CorrectionDeclined")}
    for id_, event in history.corrections.items():
        body, each, approvals = event.body, history.rounds[event.stream], history.approvals[id_]
        by = [approval.body["by"] for approval in approvals]
        of = [one for one in each.events if one.body.get("correction") == id_]
        decided = approvals[-1] if history.approved(id_) else declined.get(id_)
        row = {**each.place, "round": each.stream, "correction": id_, "proposed_at": instant(body["received_at"])}
        for name in ("bet", "kind", "reason", "outcome", "player", "spot", "direction", "article", "hold", "note"):
            row[name] = text(body.get(name))
        row["status"] = "approved" if history.approved(id_) else "declined" if id_ in declined else "proposed"
        row["outcome_before"] = next((one.body["was"] for one in of if one.topic == "OutcomeCorrected"), "")
        for name in ("stake", "amount"):
            row[name] = money(int(body[name])) if body.get(name) is not None else ""
        row["bets_changed"] = str(sum(one.topic == "BetCorrected" for one in of))
        row["to_players"] = money(sum(map(_to_players, of)))
        row |= {"proposed_by": body["by"], "approvals_needed": str(body.get("approvals", 1)), "approvals": str(len(by))}
        row |= {"approved_by": by[0] if by else "", "seconded_by": by[1] if len(by) > 1 else ""}
        no = declined.get(id_)
        row |= {"declined_by": text(no.body.get("by")) if no else "", "decline_note": text(no.body.get("note")) if no else ""}
        row["decided_at"] = instant(decided.body["received_at"]) if decided else ""
        days = [one.body["gaming_day"] for one in of if one.body.get("gaming_day")] or [each.place["gaming_day"]]
        row["posted_day"] = days[0] if row["status"] == "approved" else ""
        row["decided_position"] = str(decided.position) if decided else ""
        found[(str(event.position),)] = row
    return found


def _to_players(event: Event) -> int:
    body = event.body
    match event.topic:
        case "BetCorrected":
            return _players(body["after"]) - _players(body["before"])
        case "PlayerAdjusted":
            return int(body["amount"]) * (1 if body["direction"] == "to_player" else -1)
        case "RoundVoided":
            return sum(int(line["stake"]) for line in body.get("returned", ()))
    return 0


def _players(standing: Body) -> int:
    """What a player has of a bet of which this is true, less what they staked."""
    match standing["result"]:
        case "won":
            return int(standing["net_prize"])
        case "open" | "lost":
            return -int(standing["stake"])
    return 0


def disputes(history: History) -> Figures:
    """Reviews of rounds and bets."""
    found: Figures = {}
    released = {event.body["hold"]: event.body for event in history.of("RoundReleased")}
    for event, each in history.each("RoundHeld"):
        body, after = event.body, released.get(event.body["hold"], {})
        sums = each.sums()
        bet = each.bets.get(body.get("bet", ""))
        row = {**each.place, "round": each.stream, "held_at": instant(body["received_at"]), "hold": body["hold"]}
        row |= {"bet": text(body.get("bet")), "reason": body["reason"], "held_by": text(body.get("by"))}
        row |= {"finding": text(after.get("finding")), "released_by": text(after.get("by"))}
        row |= {"released_at": instant(after.get("received_at")), "correction": text(after.get("correction"))}
        of_round = sum(sums[name] for name in ("escrow", "lost", "won", "pushed"))
        row["stake"] = money(of_round if bet is None else bet.stake if bet.result in (*DECIDED, "open") else 0)
        row |= {"note": text(body.get("note")), "release_note": text(after.get("note"))}
        found[(str(event.position),)] = row
    return found


def late_bets(history: History) -> Figures:
    """What came after the bell."""
    found: Figures = {}
    for event, each in history.each("LateBetRecorded", "BetPlaced"):
        body = event.body
        given = event.topic == "LateBetRecorded"
        if not given and not body.get("late"):
            continue
        bet = None if given else each.bets[body["bet"]]
        row = {**each.place, "round": each.stream, "received_at": instant(body["received_at"])}
        row |= {
            "treatment": "given_back" if given else "received_late",
            "bet": text(body.get("bet")),
            "seat": text(body.get("seat")),
        }
        row |= {"player": bet.player if bet else body["player"], "spot": bet.spot if bet else body["spot"]}
        row |= {"stake": money(bet.stake if bet else int(body["stake"])), "result": bet.result if bet else ""}
        row |= {"article": text(body.get("article")), "recorded_by": text(body.get("by")), "note": text(body.get("note"))}
        found[(str(event.position),)] = row
    return found


def slips(history: History) -> Figures:
    """The slips of the cage, by each day to which something of them is posted."""
    found: Figures = {}
    later: dict[str, dict[str, Event]] = defaultdict(dict)
    for event in history.all:
        if event.topic == "SlipConfirmed":
            later[event.body["slip"]]["reversed" if event.body.get("cancellation") else "confirmed"] = event
        elif event.topic == "SlipCancelled":
            later[event.body["slip"]]["cancelled"] = event
    for event in history.slips.values():
        body, after = event.body, {what: one.body for what, one in later[event.body["slip"]].items()}
        yes, no, back = after.get("confirmed", {}), after.get("cancelled", {}), after.get("reversed", {})
        row = {"slip": body["slip"], "kind": SLIPS.get(event.topic) or body["kind"], "number": text(body.get("number"))}
        row |= {"property": body["property"], "table": body["table"], "shift": text(body.get("shift"))}
        row |= {"gaming_day": yes.get("gaming_day", body["gaming_day"]), "of_day": text(yes.get("of_day", body.get("of_day")))}
        row |= {"currency": body["currency"], "total": money(int(body["total"])), "box": text(body.get("box"))}
        for name in ("cash", "vouchers"):
            row[name] = money(int(body[name])) if name in body else ""
        row["status"] = "cancelled" if back or (no and not yes) else "cancelling" if no else "confirmed" if yes else "open"
        row |= {"written_by": body["by"], "written_at": instant(body["received_at"]), "note": text(body.get("note"))}
        row |= {"confirmed_by": text(yes.get("by")), "confirmed_at": instant(yes.get("received_at"))}
        row |= {"cancelled_by": text(no.get("by")), "cancelled_at": instant(no.get("received_at"))}
        row |= {"cancel_reason": text(no.get("reason")), "cancel_note": text(no.get("note"))}
        row |= {"reversed_by": text(back.get("by")), "reversed_day": text(back.get("gaming_day"))}
        posted = {row["gaming_day"]: int(body["total"]) if yes else 0}
        if back:
            posted[back["gaming_day"]] = posted.get(back["gaming_day"], 0) - int(body["total"])
        for day, minor in posted.items():
            found[str(event.position), day] = row | {"gaming_day": day, "posted": money(minor)}
    return found


# What moved.

_WAYS = {
    "opener": ("tray/{table}", "float/{table}"),
    "closer": ("float/{table}", "tray/{table}"),
    "fill": ("cage/{property}", "float/{table}"),
    "credit": ("float/{table}", "cage/{property}"),
    "drop": ("float/{table}", "drop/{table}"),
}


def movements(history: History) -> Figures:
    """Every amount that moved, and its accounts, as docs/explanation/money-flow.md has them."""
    found: Figures = {}
    for event in history.all:
        each = history.rounds.get(event.stream)
        if each is not None:
            legs, place = _legs(event, each.opening["table"]), each.place
        elif event.topic == "SlipConfirmed":
            legs, place = _posted(event.body), {"pit": "", "game": ""}
        else:
            continue
        slip = event.body["slip"] if each is None else ""
        where = place if each is not None else place | _slip_place(history, event)
        line = 0
        for bet, debit, credit, minor in legs:
            if not minor:
                continue
            line += 1
            row = {"round": each.stream if each else "", "bet": bet, "slip": slip, **where}
            source, target = (debit, credit) if minor > 0 else (credit, debit)
            found[str(event.position), str(line)] = row | {"debit": source, "credit": target, "amount": money(abs(minor))}
    return found


def _slip_place(history: History, event: Event) -> dict[str, str]:
    body = event.body
    wrote = history.slips[body["slip"]]
    names = ("property", "table", "gaming_day", "currency")
    return {name: body[name] for name in names} | {"shift": text(wrote.body.get("shift"))}


def _posted(body: Body) -> list[tuple[str, str, str, int]]:
    debit, credit = (account.format(**body) for account in _WAYS[body["kind"]])
    return [("", debit, credit, int(body["amount"]) * (-1 if body.get("cancellation") else 1))]


def _legs(event: Event, table: str) -> list[tuple[str, str, str, int]]:
    """Bet, from, to, amount; a negative one goes the other way."""
    body = event.body
    escrow, win, player = f"escrow/{table}", f"win/{table}", f"player/{body.get('player')}"
    bet = text(body.get("bet"))
    match event.topic:
        case "BetPlaced":
            return [(bet, player, escrow, int(body["stake"]))]
        case "BetWithdrawn" | "BetVoided":
            return [(bet, escrow, player, int(body["stake"]))]
        case "BetChanged":
            return [(bet, player, escrow, int(body["stake"]) - int(body["was_stake"]))]
        case "RoundVoided":
            return [(line["bet"], escrow, f"player/{line['player']}", int(line["stake"])) for line in body.get("returned", ())]
        case "OutcomeRecorded" | "ThrowRecorded":
            return [(line["bet"], escrow, win, int(line["stake"])) for line in body.get("lost", ())]
        case "PayoutMade":
            kept = [(bet, win, f"{name}/{table}", int(body[name])) for name in ("commission", "breakage")]
            return [(bet, escrow, player, int(body["stake"])), (bet, win, player, int(body["net_prize"])), *kept]
        case "PlayerAdjusted":
            return [
                (bet, f"{body['kind']}/{table}", player, int(body["amount"]) * (1 if body["direction"] == "to_player" else -1))
            ]
        case "BetCorrected":
            return _corrected(bet, body, table)
    return []


def _corrected(bet: str, body: Body, table: str) -> list[tuple[str, str, str, int]]:
    """Of each account that has another amount than before, the difference: against the win, or the escrow if no win changes."""
    change: dict[str, int] = defaultdict(int)
    for standing, sign in ((body["before"], -1), (body["after"], 1)):
        has = {f"player/{standing['player']}": _players(standing)}
        match standing["result"]:
            case "open":
                has[f"escrow/{table}"] = int(standing["stake"])
            case "lost":
                has[f"win/{table}"] = int(standing["stake"])
            case "won":
                has |= {f"{name}/{table}": int(standing.get(name, "0")) for name in ("commission", "breakage")}
                has[f"win/{table}"] = -int(standing["prize"])
        for account, amount in has.items():
            change[account] += sign * amount
    open_ = "open" in (body["before"]["result"], body["after"]["result"])
    against = f"escrow/{table}" if open_ and not change[f"win/{table}"] else f"win/{table}"
    return [(bet, against, account, amount) for account, amount in change.items() if account != against]


def hours(history: History, zone: str) -> Figures:
    """The win of each hour of the day."""
    sums: dict[Key, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for each in history.rounds.values():
        settled = each.settled()
        if settled is None:
            continue
        place = each.place
        hour = datetime.fromisoformat(settled).astimezone(ZoneInfo(zone)).hour
        row = sums[place["property"], place["pit"], place["table"], place["game"], str(hour), place["currency"]]
        row["rounds"] += 1
        for name, minor in each.sums().items():
            row[name] += minor
    return {
        key: {
            "rounds": str(row["rounds"]),
            "resolved": str(row["resolved"]),
            **{name: money(row[name]) for name in ("handle", "prizes", "win")},
            "win_percent": share(row["win"], row["handle"]),
        }
        for key, row in sums.items()
    }


def share(part: int, whole: int) -> str:
    """Percent to two decimals, half to even; empty of nothing."""
    if not whole:
        return ""
    double, over = divmod(abs(part) * 10000, whole)
    double += 2 * over > whole or (2 * over == whole and double % 2 == 1)
    return f"{'-' if part < 0 and double else ''}{double // 100}.{double % 100:02}"


def terminal_gaps(history: History, tables: Mapping[str, Mapping[str, str]]) -> Figures:
    """Numbers of terminals of which nothing was received."""
    seen: dict[tuple[str, int], set[int]] = defaultdict(set)
    at: dict[tuple[str, int], str] = {}
    for event in history.all:
        body = event.body
        if body.get("sequence") is not None:
            key = body["terminal"], body.get("epoch", 0)
            seen[key].add(body["sequence"])
            each = history.rounds.get(event.stream)
            at[key] = each.opening["table"] if each else body["table"]
    found: Figures = {}
    for event in history.of("NumbersGivenUp"):
        body = event.body
        key = body["of_terminal"], body["of_epoch"]
        row = dict(tables[body["table"]]) | {"missing_to": str(body["last"]), "missing": str(body["last"] - body["first"] + 1)}
        row |= {"highest": str(max(seen[key])), "state": "given_up", "given_up_by": body["by"]}
        row |= {"given_up_at": instant(body["received_at"]), "reason": body["reason"], "note": text(body.get("note"))}
        found[key[0], str(key[1]), str(body["first"])] = row
    for event in history.of("NumbersGivenUp"):
        seen[event.body["of_terminal"], event.body["of_epoch"]].update(range(event.body["first"], event.body["last"] + 1))
    nobody = dict.fromkeys(("given_up_by", "given_up_at", "reason", "note"), "")
    for (terminal, epoch), numbers in seen.items():
        highest = max(numbers)
        missing = [n for n in range(1, highest) if n not in numbers]
        for first in [n for n in missing if n - 1 not in missing]:
            last = first
            while last + 1 in missing:
                last += 1
            row = dict(tables[at[terminal, epoch]]) | {"missing_to": str(last), "missing": str(last - first + 1)}
            found[terminal, str(epoch), str(first)] = row | nobody | {"highest": str(highest), "state": "missing"}
    return found


def players_tables(history: History) -> dict[Key, str]:
    """At how many tables each player had bets that count, by property, gaming day, player and currency."""
    found: dict[Key, set[str]] = defaultdict(set)
    for each in history.rounds.values():
        place = each.place
        for bet in each.bets.values():
            if bet.result not in ("carried", "withdrawn", "void"):
                found[place["property"], each.day, bet.player, place["currency"]].add(place["table"])
    return {key: str(len(tables)) for key, tables in found.items()}
