"""The figures of the reports by another way: DuckDB over the JSON of the raw events, and nothing of the program.

Each function gives rows as (key, figures): the key names the row by columns of the report, figures are what the report has to
say, in plain text. Amounts are whole minor units until they are printed.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache, cached_property
from math import isqrt
from pathlib import Path
from typing import Any

import duckdb

from tests.oracle import expected, outcomes
from tests.proofs import report_beliefs, report_history
from tests.proofs.report_history import Event, History

Key = tuple[str, ...]
Figures = dict[Key, dict[str, str]]


class Raw:
    """The events in DuckDB, and what became of each bet."""

    def __init__(self, path: Path, documents: Sequence[Mapping[str, Any]], zone: str) -> None:
        self.documents = documents
        self.zone = zone
        """Of the property's clock."""
        self.db = duckdb.connect()
        self.db.execute("SET TimeZone = 'UTC'")
        self.db.execute("SET enable_progress_bar = false")
        self.db.execute(
            "CREATE TABLE e AS SELECT position, stream, topic, body FROM read_json(?, format = 'newline_delimited', "
            "columns = {position: 'BIGINT', stream: 'VARCHAR', topic: 'VARCHAR', body: 'JSON'})",
            [str(path)],
        )
        self.db.execute(_VIEWS)

    @cached_property
    def history(self) -> History:
        """The same events, round by round."""
        found = self.rows("SELECT position, stream, topic, body::VARCHAR FROM e ORDER BY position")
        return History(
            Event(position, stream, topic.removesuffix(".v1"), json.loads(body)) for position, stream, topic, body in found
        )

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return self.db.execute(query).fetchall()


_VIEWS = """
CREATE MACRO t(json, key) AS json_extract_string(json, key);
CREATE MACRO j(json, key) AS json_extract(json, key);
CREATE TABLE o AS
SELECT stream, t(body, 'property') AS property, t(body, 'pit') AS pit, t(body, 'table') AS tbl, t(body, 'game') AS game,
       t(body, 'currency') AS currency, t(body, 'gaming_day') AS day, t(body, 'shift') AS shift, t(body,
       'regulation') AS regulation, position
FROM e WHERE topic = 'RoundOpened.v1';

-- All that was ever true of a bet's end, and what took it back: sign, result and amounts; and of that, what decided it.
CREATE TABLE said_of AS
WITH lost AS (
    SELECT position, stream, unnest(CAST(j(body, 'lost') AS JSON[])) AS b FROM e
    WHERE topic IN ('OutcomeRecorded.v1', 'ThrowRecorded.v1') AND j(body, 'lost') IS NOT NULL
), said AS (
    SELECT position, stream, 1 AS sign, b, 'lost' AS result, NULL AS posted, t(b, 'bet') AS bet FROM lost
    UNION ALL
    SELECT position, stream, 1, body, t(body, 'result'), NULL, t(body, 'bet') FROM e WHERE topic = 'PayoutMade.v1'
    UNION ALL
    SELECT position, stream, -1, j(body, 'before'), t(j(body, 'before'), 'result'), t(body, 'gaming_day'), t(body, 'bet') FROM e
    WHERE topic = 'BetCorrected.v1'
    UNION ALL
    SELECT position, stream, 1, j(body, 'after'), t(j(body, 'after'), 'result'), t(body, 'gaming_day'), t(body, 'bet') FROM e
    WHERE topic = 'BetCorrected.v1'
)
SELECT s.position, s.stream, s.bet, s.sign, s.result, s.posted, split_part(t(s.b, 'spot'), ':', 1) AS chance, t(s.b,
       'spot') AS spot,
       coalesce(t(s.b, 'edge'), '0') AS edge, t(s.b, 'player') AS player, CAST(t(s.b, 'stake') AS HUGEINT) AS stake,
       CAST(coalesce(t(s.b, 'prize'), '0') AS HUGEINT) AS prize, CAST(coalesce(t(s.b, 'commission'),
       '0') AS HUGEINT) AS commission,
       CAST(coalesce(t(s.b, 'breakage'), '0') AS HUGEINT) AS breakage, CAST(coalesce(t(s.b, 'net_prize'), '0') AS HUGEINT) AS net,
       o.property, o.pit, o.tbl, o.game, o.currency, o.day, o.shift, o.regulation
FROM said AS s JOIN o USING (stream);

CREATE VIEW r AS SELECT * FROM said_of WHERE result IN ('lost', 'won', 'push');

-- As the books have it: what is corrected after its day was closed adds to the win of another day, and to nothing else.
CREATE VIEW booked AS SELECT * FROM r WHERE posted IS NULL;
CREATE VIEW moved AS
SELECT *, sign * CASE result WHEN 'lost' THEN stake WHEN 'won' THEN -net ELSE 0 END AS win FROM r WHERE posted IS NOT NULL;

-- What the cage's side posted.
CREATE TABLE slip AS
SELECT c.position, t(c.body, 'kind') AS kind, t(c.body, 'property') AS property, t(c.body, 'table') AS tbl, t(c.body,
       'gaming_day') AS day,
       t(c.body, 'currency') AS currency,
       CAST(t(c.body, 'amount') AS HUGEINT) * CASE t(c.body, 'cancellation') WHEN 'true' THEN -1 ELSE 1 END AS amount
FROM e AS c WHERE c.topic = 'SlipConfirmed.v1';
"""


def money(minor: Any) -> str:
    """Minor units of a currency with two decimals, which all of these have."""
    value = int(minor or 0)
    return f"{'-' if value < 0 else ''}{abs(value) // 100}.{abs(value) % 100:02}"


def share(part: Any, whole: Any) -> str:
    """Percent to two decimals, half to even; empty of nothing."""
    if not whole:
        return ""
    hundredths = round(Fraction(int(part) * 10000, int(whole)))
    return f"{'-' if hundredths < 0 else ''}{abs(hundredths) // 100}.{abs(hundredths) % 100:02}"


# The reports, one by one.

_SUMS = """
count(*) FILTER (WHERE sign > 0) - count(*) FILTER (WHERE sign < 0) AS bets,
coalesce(sum(sign * stake) FILTER (WHERE result = 'lost'), 0) AS lost,
       coalesce(sum(sign * stake) FILTER (WHERE result = 'won'), 0) AS won,
coalesce(sum(sign * stake) FILTER (WHERE result = 'push'), 0) AS pushed, sum(sign * prize) FILTER (WHERE result = 'won') AS prize,
sum(sign * commission) AS commission, sum(sign * breakage) AS breakage, sum(sign * net) AS net
"""


def master_game(raw: Raw) -> Figures:
    place = "property, pit, tbl, game, day, currency"
    found: dict[Key, dict[str, Any]] = defaultdict(lambda: defaultdict(int))
    for *key, count in raw.rows(
        f"SELECT {place}, count(*) FROM e JOIN o USING (stream) WHERE topic = 'RoundSettled.v1' GROUP BY ALL"
    ):
        found[tuple(key)]["rounds"] = count
    for there in raw.rows(f"SELECT DISTINCT {place} FROM o"):
        found[there]["rounds"] += 0
    for *key, bets, lost, won, _, _, commission, breakage, net in raw.rows(f"SELECT {place}, {_SUMS} FROM booked GROUP BY ALL"):
        row = found[tuple(key)]
        row |= {"bets": bets, "lost": lost, "won": won, "commission": commission, "breakage": breakage, "net": net}
    for *key, edge, staked in raw.rows(f"SELECT {place}, edge, sum(sign * stake) FROM booked GROUP BY ALL"):
        found[tuple(key)]["theory"] += Fraction(edge) * int(staked)
    for *key, win in raw.rows("SELECT property, pit, tbl, game, posted, currency, sum(win) FROM moved GROUP BY ALL"):
        found[tuple(key)]["earlier"] += win
    for *key, paid in raw.rows(
        "SELECT property, pit, tbl, game, coalesce(t(body, 'gaming_day'), day), o.currency, "
        "sum(CAST(t(body, 'amount') AS HUGEINT) * CASE t(body, 'direction') WHEN 'to_player' THEN 1 ELSE -1 END) "
        "FROM e JOIN o USING (stream) WHERE topic = 'PlayerAdjusted.v1' GROUP BY ALL"
    ):
        found[tuple(key)]["adjusted"] += paid
    return _told(found, _counts(raw), _squares(raw))


def _told(found: Mapping[Key, dict[str, Any]], counts: Mapping[Key, dict[str, int]], squares: Mapping[Key, Fraction]) -> Figures:
    told: Figures = {}
    for key, row in found.items():
        own = row["lost"] - row["net"]
        win = own + row["earlier"]
        counted = counts.get((key[0], key[2], key[4], key[5]), {})
        handle, theory = row["lost"] + row["won"], Fraction(row["theory"])
        told[key] = {
            "rounds": str(row["rounds"]),
            "bets": str(row["bets"]),
            "earlier": money(row["earlier"]),
            "win": money(win),
            "handle": money(handle),
            "win_percent": share(own, handle),
            "theoretical_win_exact_minor": str(theory),
            "theoretical_win": money(round(theory)),
            "commission": money(row["commission"]),
            "breakage": money(row["breakage"]),
            "adjusted": money(row["adjusted"]),
            **{
                name: money(counted[name]) if name in counted else "" for name in ("opener", "drop", "closer", "fills", "credits")
            },
        }
        complete = {"opener", "closer", "drop"} <= counted.keys()
        tray = counted.get("closer", 0) + counted.get("credits", 0) + counted.get("drop", 0)
        count_win = tray - counted.get("opener", 0) - counted.get("fills", 0)
        told[key] |= {"count_win": money(count_win) if complete else "", "variance": money(count_win - win) if complete else ""}
        told[key]["hold_percent"] = share(own, max(counted.get("drop", 0), 0))
        if key[3] != "craps":
            told[key] |= _strayed(squares[key], own, theory)
    return told


def _counts(raw: Raw) -> dict[Key, dict[str, int]]:
    found: dict[Key, dict[str, int]] = {}
    names = {"fill": "fills", "credit": "credits"}
    for *key, kind, total in raw.rows("SELECT property, tbl, day, currency, kind, sum(amount) FROM slip GROUP BY ALL"):
        found.setdefault(tuple(key), {"fills": 0, "credits": 0})[names.get(kind, kind)] = int(total)
    return found


def _strayed(square: Fraction, own: int, theory: Fraction) -> dict[str, str]:
    """Standard deviation and z, by integers to twelve decimals."""
    scale = 10**12
    deviation = Fraction(isqrt(int(square * scale * scale)), scale)
    if not square:
        return {"deviation": money(0), "z": ""}
    z = round((own - theory) / deviation * 100)
    return {"deviation": money(round(deviation)), "z": f"{'-' if z < 0 else ''}{abs(z) // 100}.{abs(z) % 100:02}"}


def _squares(raw: Raw) -> Mapping[Key, Fraction]:
    """The variance of the win as the books of each day have it, round by round, over every literal outcome of the oracle."""
    query = (
        "SELECT property, pit, tbl, game, day, currency, stream, list(spot), list(stake) FROM ("
        "SELECT property, pit, tbl, game, day, currency, stream, bet, last(spot ORDER BY position, sign) AS spot, "
        "last(stake ORDER BY position, sign) AS stake, sum(sign) AS stands FROM booked GROUP BY ALL "
        "HAVING sum(sign) > 0) GROUP BY ALL"
    )
    found: dict[Key, Fraction] = defaultdict(Fraction)
    for *key, _, spots, stakes in raw.rows(query):
        game = key[3]
        if game == "craps":
            continue
        bets = [(_gains(game, spot), int(stake)) for spot, stake in zip(spots, stakes, strict=True)]
        totals = [sum(gain[n] * stake for gain, stake in bets) for n in range(len(bets[0][0]))]
        mean = Fraction(sum(totals), len(totals))
        found[tuple(key)] += sum(total * total for total in totals) / Fraction(len(totals)) - mean * mean
    return found


@cache
def _gains(game: str, spot: str) -> list[Fraction]:
    """What a unit on the spot gains by each equally likely outcome."""
    large = 6000
    return [Fraction(expected(game, spot, shown, large)["returned"] - large, large) for shown in outcomes(game)]


def chances(raw: Raw) -> Figures:
    place = "property, pit, tbl, game, day, regulation, chance, edge, currency"
    sums: dict[Key, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    query = f"SELECT {place}, {_SUMS}, " + ", ".join(
        f"coalesce(sum(sign) FILTER (WHERE result = '{result}'), 0)" for result in ("lost", "won", "push")
    )
    names = ("bets", "lost", "won", "pushed", "gross_prizes", "commission", "breakage", "prizes")
    by_result = ("lost_bets", "won_bets", "pushed_bets")
    for row in raw.rows(f"{query} FROM booked GROUP BY ALL"):
        sums[row[:9]] |= {name: int(value or 0) for name, value in zip((*names, *by_result), row[9:], strict=True)}
    later = "SELECT property, pit, tbl, game, posted, regulation, chance, edge, currency, sum(win) AS win FROM moved GROUP BY ALL"
    for *key, earlier in raw.rows(f"SELECT * FROM ({later}) WHERE win <> 0"):
        sums[tuple(key)]["earlier"] += int(earlier)
    found: Figures = {}
    for line, of in sums.items():
        theory = Fraction(line[7]) * (of["lost"] + of["won"] + of["pushed"])
        handle, win = of["lost"] + of["won"], of["lost"] - of["prizes"] + of["earlier"]
        counts = ("bets", *by_result)
        amounts = ("pushed", "lost", "gross_prizes", "commission", "breakage", "prizes", "earlier")
        found[line] = {
            **{name: str(of[name]) for name in counts},
            **{name: money(of[name]) for name in amounts},
            "handle": money(handle),
            "win": money(win),
            "win_percent": share(win - of["earlier"], handle),
            "theoretical_win_exact_minor": str(theory),
            "theoretical_win": money(round(theory)),
        }
    return found


TABLE_LINE = (
    *("rounds", "bets", "handle", "pushed", "lost", "prizes", "commission", "breakage", "adjusted", "earlier", "win"),
    *("win_percent", "theoretical_win", "theoretical_win_exact"),
)
"""Figures of a line of the table report."""


def table_lines(raw: Raw, day: str | None) -> Figures:
    """The lines of the table report of one gaming day or of all: by table, game, regulation, currency; amounts in minor units."""
    place = "tbl, game, regulation, currency"
    of, posted = (f"WHERE {column} = '{day}'" if day else "" for column in ("day", "posted"))
    found: dict[Key, dict[str, Any]] = defaultdict(lambda: defaultdict(int))
    for *key, rounds_ in raw.rows(
        f"SELECT {place}, count(*) FILTER (WHERE EXISTS (FROM e WHERE e.stream = o.stream AND topic = 'RoundSettled.v1')) "
        f"FROM o {of} GROUP BY ALL"
    ):
        found[tuple(key)]["rounds"] += rounds_
    for *key, bets_, lost, won, pushed, _, commission, breakage, net in raw.rows(
        f"SELECT {place}, {_SUMS} FROM booked {of} GROUP BY ALL"
    ):
        sums = {"bets": bets_, "lost": lost, "won": won, "pushed": pushed, "commission": commission, "breakage": breakage}
        found[tuple(key)] |= sums | {"prizes": net}
    for *key, edge, staked in raw.rows(f"SELECT {place}, edge, sum(sign * stake) FROM booked {of} GROUP BY ALL"):
        found[tuple(key)]["theory"] += Fraction(edge) * int(staked)
    for *key, win in raw.rows(f"SELECT {place}, sum(win) FROM moved {posted} GROUP BY ALL"):
        found[tuple(key)]["earlier"] += int(win)
    for *key, paid in raw.rows(
        f"SELECT {place}, sum(paid) FROM (SELECT o.*, coalesce(t(body, 'gaming_day'), day) AS posted, "
        "CAST(t(body, 'amount') AS HUGEINT) * CASE t(body, 'direction') WHEN 'to_player' THEN 1 ELSE -1 END AS paid "
        f"FROM e JOIN o USING (stream) WHERE topic = 'PlayerAdjusted.v1') {posted} GROUP BY ALL"
    ):
        found[tuple(key)]["adjusted"] += int(paid)
    return {key: _line(row) for key, row in found.items()}


def _line(row: Mapping[str, Any]) -> dict[str, str]:
    handle, win, theory = row["lost"] + row["won"], row["lost"] - row["prizes"] + row["earlier"], Fraction(row["theory"])
    names = ("rounds", "bets", "pushed", "lost", "prizes", "commission", "breakage", "adjusted", "earlier")
    told = {name: str(int(row[name])) for name in names} | {"handle": str(handle), "win": str(win)}
    told |= {"theoretical_win": str(round(theory)), "theoretical_win_exact": str(theory)}
    return told | {"win_percent": share(win - row["earlier"], handle)}


def commission_breakage(raw: Raw) -> Figures:
    """Bets that won, as the books of their day have them; and what was added to them later, on the day to which it was posted."""
    names = ("gross_prizes", "commission", "breakage", "prizes")
    of = "sum(sign * prize), sum(sign * commission), sum(sign * breakage), sum(sign * net)"
    sums: dict[Key, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for view, day, prefix in (("booked", "day", ""), ("moved", "posted", "earlier_")):
        for *key, paid, prize, commission, breakage, net in raw.rows(
            f"SELECT property, pit, tbl, game, {day}, regulation, chance, currency, sum(sign), {of} FROM {view} "
            "WHERE result = 'won' GROUP BY ALL"
        ):
            row = sums[tuple(key)]
            row["paid_bets"] += 0 if prefix else int(paid)
            for name, value in zip(names, (prize, commission, breakage, net), strict=True):
                row[f"{prefix}{name}"] = int(value)
    columns = (*names, *(f"earlier_{name}" for name in names))
    return {
        key: {"paid_bets": str(row["paid_bets"]), **{name: money(row[name]) for name in columns}}
        for key, row in sums.items()
        if any(row.values())
    }


def ggr(raw: Raw) -> Figures:
    found: dict[Key, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    days = master_game(raw)
    for (property_, _, _, game, day, currency), row in days.items():
        sums = found[property_, f"{day[:7]}-01", game, currency]
        for name in ("rounds", "bets"):
            sums[name] += int(row[name])
        for name in ("handle", "commission", "breakage", "earlier", "adjusted"):
            sums[name] += _minor(row[name])
        sums["ggr"] += _minor(row["win"])
    for *key, lost, prize, net in raw.rows(
        "SELECT property, day[:7] || '-01', game, currency, sum(sign * stake) FILTER (WHERE result = 'lost'), sum(sign * prize), "
        "sum(sign * net) FROM booked GROUP BY ALL"
    ):
        found[tuple(key)] |= {"lost": int(lost or 0), "gross_prizes": int(prize), "prizes": int(net)}
    return {
        key: {
            name: str(value) if name in ("rounds", "bets") else money(value)
            for name, value in {**row, "identity": row["ggr"]}.items()
        }
        for key, row in found.items()
    }


def _minor(text: str) -> int:
    return int(text.replace(".", ""))


def launches(raw: Raw) -> Figures:
    found: dict[Key, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for *key, topic, disposition, outcome, count in raw.rows(
        "SELECT property, pit, tbl, game, day, topic, t(body, 'disposition'), t(body, 'outcome') = 'void', count(*) "
        "FROM e JOIN o USING (stream) "
        "WHERE topic IN ('RoundOpened.v1', 'RoundSettled.v1', 'RoundVoided.v1', 'OutcomeRecorded.v1', "
        "'ThrowRecorded.v1') GROUP BY ALL"
    ):
        row = found[tuple(key)]
        row["rounds"] += count if topic == "RoundOpened.v1" else 0
        row["settled"] += count if topic == "RoundSettled.v1" else 0
        row["voided"] += count if topic == "RoundVoided.v1" and disposition != "stand" else 0
        row["void_launches"] += count if (topic == "RoundVoided.v1" and disposition != "return") or outcome else 0
        row["results"] += count if topic in ("OutcomeRecorded.v1", "ThrowRecorded.v1") and not outcome else 0
    for row in found.values():
        row["launches"] = row["void_launches"] + row["results"]
    return {
        key: {**{name: str(value) for name, value in row.items()}, "void_percent": share(row["void_launches"], row["launches"])}
        for key, row in found.items()
    }


def trial_balance(raw: Raw) -> Figures:
    """By what happened to each player, table and slip, without a movement."""
    sums: dict[Key, int] = defaultdict(int)

    def move(currency: str, debit: str, credit: str, amount: Any) -> None:
        if int(amount or 0):
            sums[debit, currency] -= int(amount)
            sums[credit, currency] += int(amount)

    for topic, text, table, currency in raw.rows(
        "SELECT topic, body::VARCHAR, tbl, o.currency FROM e JOIN o USING (stream) ORDER BY e.position"
    ):
        body = json.loads(text)
        player, escrow, win = f"player/{body.get('player')}", f"escrow/{table}", f"win/{table}"
        match topic.removesuffix(".v1"):
            case "BetPlaced":
                move(currency, player, escrow, body["stake"])
            case "BetChanged":
                move(currency, player, escrow, int(body["stake"]) - int(body["was_stake"]))
            case "BetWithdrawn" | "BetVoided":
                move(currency, escrow, player, body["stake"])
            case "RoundVoided":
                for bet in body.get("returned", ()):
                    move(currency, escrow, f"player/{bet['player']}", bet["stake"])
            case "OutcomeRecorded" | "ThrowRecorded":
                for bet in body.get("lost", ()):
                    move(currency, escrow, win, bet["stake"])
            case "PayoutMade":
                _pay(move, currency, body, player, table, 1, escrow)
            case "BetCorrected":
                for standing, sign in ((body["before"], -1), (body["after"], 1)):
                    _stand(move, currency, standing, table, sign)
            case "PlayerAdjusted":
                sign = 1 if body["direction"] == "to_player" else -1
                move(currency, f"{body['kind']}/{table}", player, sign * int(body["amount"]))
    ways = {
        "opener": ("tray/{0}", "float/{0}"), "closer": ("float/{0}", "tray/{0}"), "fill": ("cage/{1}", "float/{0}"),
        "credit": ("float/{0}", "cage/{1}"), "drop": ("float/{0}", "drop/{0}"),
    }  # fmt: skip
    for kind, property_, table, currency, amount in raw.rows("SELECT kind, property, tbl, currency, amount FROM slip"):
        debit, credit = (account.format(table, property_) for account in ways[kind])
        move(currency, debit, credit, amount)
    return {
        key: {"balance": money(value), "debits": money(max(-value, 0)), "credits": money(max(value, 0))}
        for key, value in sums.items()
    }


def _pay(move: Callable[..., None], currency: str, bet: Any, player: str, table: str, sign: int, source: str) -> None:
    move(currency, source, player, sign * int(bet["stake"]))
    for target, name in ((player, "net_prize"), (f"commission/{table}", "commission"), (f"breakage/{table}", "breakage")):
        move(currency, f"win/{table}", target, sign * int(bet.get(name, "0")))


def _stand(move: Callable[..., None], currency: str, bet: Any, table: str, sign: int) -> None:
    """A bet of which this is true from its stake on; or, with a sign of -1, of which it is true no more."""
    player, escrow, stake = f"player/{bet['player']}", f"escrow/{table}", sign * int(bet["stake"])
    move(currency, player, escrow, stake)
    match bet["result"]:
        case "lost":
            move(currency, escrow, f"win/{table}", stake)
        case "won" | "push":
            _pay(move, currency, bet, player, table, sign, escrow)
        case "void":
            move(currency, escrow, player, stake)


def _register(query: str, names: tuple[str, ...], keys: int) -> Callable[[Raw], Figures]:
    def found(raw: Raw) -> Figures:
        return {
            tuple(str(value) for value in row[:keys]): dict(
                zip(names, ("" if value is None else str(value) for value in row[keys:]), strict=True)
            )
            for row in raw.rows(query)
        }

    return found


_IN = "property, tbl, day"
_MONEY = "CASE WHEN {0} IS NULL THEN NULL ELSE printf('%d.%02d', CAST({0} AS BIGINT) // 100, CAST({0} AS BIGINT) % 100) END"

_WHO = "coalesce(t(body, 'by'), t(body, 'terminal')), nullif(t(body, 'terminal'), t(body, 'by')), "
"""Who declared it, and the terminal, in whose place stands a person who has none."""

voids = _register(
    "SELECT e.position, property, tbl, day, e.stream, t(body, 'disposition'), t(body, 'reason'), t(body, 'article'), "
    "t(body, 'successor'), "
    + _WHO
    + _MONEY.format(
        "(CASE WHEN t(body, 'disposition') = 'carry' THEN CAST(coalesce(t(body, 'carried'), '0') AS BIGINT) ELSE "
        "coalesce(list_sum(list_transform(CAST(j(body, 'returned') AS JSON[]), lambda b: CAST(t(b, 'stake') AS BIGINT))), 0) END)"
    )
    + " FROM e JOIN o USING (stream) WHERE topic = 'RoundVoided.v1' UNION ALL "
    "SELECT e.position, property, tbl, day, e.stream, 'return', t(body, 'reason'), NULL, NULL, "
    + _WHO
    + _MONEY.format("CAST(t(body, 'stake') AS BIGINT)")
    + " FROM e JOIN o USING (stream) WHERE topic = 'BetVoided.v1' UNION ALL "
    "SELECT e.position, property, tbl, day, e.stream, 'stand', t(body, 'void'), t(body, 'article'), NULL, " + _WHO + "'0.00' "
    "FROM e JOIN o USING (stream) WHERE topic = 'ThrowRecorded.v1' AND t(body, 'outcome') = 'void'",
    (
        "property",
        "table",
        "gaming_day",
        "round",
        "disposition",
        "reason",
        "article",
        "successor",
        "declared_by",
        "terminal",
        "stakes",
    ),
    1,
)

corrections = _register(
    "SELECT p.position, property, tbl, day, p.stream, t(p.body, 'kind'), t(p.body, 'reason'), t(p.body, 'by'), "
    "t(p.body, 'outcome'), "
    "CASE WHEN d.stream IS NOT NULL THEN 'declined' WHEN coalesce(a.approvals, 0) >= CAST(coalesce(t(p.body, "
    "'approvals'), '1') AS INT) "
    "THEN 'approved' ELSE 'proposed' END, coalesce(a.approvals, 0), coalesce(c.bets, 0), "
    + _MONEY.format("CAST(t(p.body, 'amount') AS BIGINT)")
    + " FROM e AS p JOIN o USING (stream) "
    "LEFT JOIN (SELECT t(body, 'correction') AS id, count(*) AS approvals FROM e WHERE topic = 'CorrectionApproved.v1' "
    "GROUP BY ALL) AS a "
    "ON a.id = t(p.body, 'correction') "
    "LEFT JOIN (SELECT t(body, 'correction') AS id, stream FROM e WHERE topic = 'CorrectionDeclined.v1') AS d ON d.id = "
    "t(p.body, 'correction') "
    "LEFT JOIN (SELECT t(body, 'correction') AS id, count(*) AS bets FROM e WHERE topic = 'BetCorrected.v1' GROUP BY ALL) AS c "
    "ON c.id = t(p.body, 'correction') WHERE p.topic = 'CorrectionProposed.v1'",
    (
        *("property", "table", "gaming_day", "round", "kind", "reason", "proposed_by", "outcome", "status", "approvals"),
        *("bets_changed", "amount"),
    ),
    1,
)

disputes = _register(
    "SELECT h.position, property, tbl, day, h.stream, t(h.body, 'reason'), t(h.body, 'by'), t(r.body, 'finding'), "
    "t(r.body, 'by') "
    "FROM e AS h JOIN o USING (stream) LEFT JOIN e AS r ON r.topic = 'RoundReleased.v1' AND t(r.body, 'hold') = "
    "t(h.body, 'hold') "
    "WHERE h.topic = 'RoundHeld.v1'",
    ("property", "table", "gaming_day", "round", "reason", "held_by", "finding", "released_by"),
    1,
)

late_bets = _register(
    "SELECT e.position, property, tbl, day, e.stream, 'given_back', t(body, 'player'), t(body, 'spot'), t(body, "
    "'article'), t(body, 'by'), "
    + _MONEY.format("CAST(t(body, 'stake') AS BIGINT)")
    + " FROM e JOIN o USING (stream) WHERE topic = 'LateBetRecorded.v1'",
    ("property", "table", "gaming_day", "round", "treatment", "player", "spot", "article", "recorded_by", "stake"),
    1,
)


def rounds(raw: Raw) -> Figures:
    """Each round's sums, and how it ended."""
    sums: dict[str, dict[str, Any]] = {}
    for stream, bets, lost, won, pushed, _, commission, breakage, net in raw.rows(f"SELECT stream, {_SUMS} FROM r GROUP BY ALL"):
        sums[stream] = {"resolved": bets, "lost": lost, "won": won, "pushed": pushed, "prizes": net, "commission": commission}
        sums[stream] |= {"breakage": breakage, "handle": lost + won, "win": lost - net}
    found: Figures = {}
    for stream, property_, table, day, currency, bets in raw.rows(
        "SELECT o.stream, property, tbl, day, currency, (SELECT count(*) FROM e WHERE e.stream = o.stream AND topic = "
        "'BetPlaced.v1') FROM o"
    ):
        row = sums.get(stream, {})
        names = ("handle", "lost", "won", "pushed", "prizes", "commission", "breakage", "win")
        found[(stream,)] = {
            "property": property_,
            "table": table,
            "gaming_day": day,
            "currency": currency,
            "bets": str(bets),
            "resolved": str(row.get("resolved", 0)),
            **{name: money(row.get(name, 0)) for name in names},
        }
    return found


def bets(raw: Raw) -> Figures:
    """What each decided bet left."""
    found: Figures = {}
    for bet, stream, spot, player, result, stake, prize, commission, breakage, net in raw.rows(
        "SELECT bet, stream, last(spot ORDER BY position, sign), last(player ORDER BY position, sign), "
        "last(result ORDER BY position, sign), sum(sign * stake), sum(sign * prize), sum(sign * commission), sum(sign * "
        "breakage), "
        "sum(sign * net) FROM r GROUP BY bet, stream HAVING sum(sign) > 0"
    ):
        left = stake if result == "lost" else -net
        returned = 0 if result == "lost" else stake + net
        found[bet, stream] = {
            "spot": spot,
            "player": player,
            "result": result,
            "stake": money(stake),
            "prize": money(prize),
            "commission": money(commission),
            "breakage": money(breakage),
            "net_prize": money(net),
            "house_result": money(left),
            "returned": money(returned),
        }
    return found


def exposure(raw: Raw) -> Figures:
    """Players' days of decided bets at or above 5,000.00 in either currency."""
    found: Figures = {}
    sums: dict[Key, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for (_, stream), row in bets(raw).items():
        ((day, property_, currency),) = raw.rows(f"SELECT day, property, currency FROM o WHERE stream = '{stream}'")
        total = sums[property_, day, row["player"], currency]
        total["bets"] += 1
        for name, source in (("staked", "stake"), ("prizes", "net_prize"), ("returned", "returned")):
            total[name] += _minor(row[source])
        total["largest_stake"] = max(total["largest_stake"], _minor(row["stake"]))
        total["lost"] += _minor(row["stake"]) if row["result"] == "lost" else 0
    for key, total in sums.items():
        if max(total["staked"], total["returned"]) >= 500_000:
            found[key] = {name: str(value) if name == "bets" else money(value) for name, value in total.items()}
    return found


def _of(told: Callable[[History], Figures]) -> Callable[[Raw], Figures]:
    return lambda raw: told(raw.history)


def _hours(raw: Raw) -> Figures:
    return report_history.hours(raw.history, raw.zone)


def _terminal_gaps(raw: Raw) -> Figures:
    tables = raw.rows("SELECT DISTINCT tbl, property, pit, game FROM o")
    at = {table: {"property": property_, "pit": pit, "table": table, "game": game} for table, property_, pit, game in tables}
    return report_history.terminal_gaps(raw.history, at)


def _assumptions(raw: Raw) -> Figures:
    played = {(each.place["property"], each.opening["regulation_hash"]) for each in raw.history.rounds.values()}
    return {row: {} for row in report_beliefs.assumptions(raw.documents, played)}


def _accounts(raw: Raw) -> Figures:
    return {
        key: row | {"kind": key[0].partition("/")[0], "holder": key[0].partition("/")[2]}
        for key, row in trial_balance(raw).items()
    }


def _exposed(raw: Raw) -> Figures:
    tables = report_history.players_tables(raw.history)
    return {key: row | {"tables": tables[key]} for key, row in exposure(raw).items()}


_PLACE = ("property", "pit", "table", "game")
WAYS: dict[str, tuple[tuple[str, ...], Sequence[Callable[[Raw], Figures]]]] = {
    "master-game": ((*_PLACE, "gaming_day", "currency"), [master_game]),
    "chances": ((*_PLACE, "gaming_day", "regulation", "chance", "edge", "currency"), [chances]),
    "commission-breakage": ((*_PLACE, "gaming_day", "regulation", "chance", "currency"), [commission_breakage]),
    "ggr": (("property", "month", "game", "currency"), [ggr]),
    "launches": ((*_PLACE, "gaming_day"), [launches]),
    "trial-balance": (("account", "currency"), [_accounts]),
    "voids": (("position",), [voids, _of(report_history.voids)]),
    "corrections": (("proposed_position",), [corrections, _of(report_history.corrections)]),
    "disputes": (("held_position",), [disputes, _of(report_history.disputes)]),
    "late-bets": (("position",), [late_bets, _of(report_history.late_bets)]),
    "slips": (("written_position", "gaming_day"), [_of(report_history.slips)]),
    "rounds": (("round",), [rounds, _of(report_history.rounds)]),
    "bets": (("bet", "round"), [bets, _of(report_history.bets)]),
    "exposure": (("property", "gaming_day", "player", "currency"), [_exposed]),
    "movements": (("position", "line"), [_of(report_history.movements)]),
    "hours": ((*_PLACE, "hour", "currency"), [_hours]),
    "terminal-gaps": (("terminal", "epoch", "missing_from"), [_terminal_gaps]),
    "fairness": ((*_PLACE, "counted"), [_of(report_beliefs.fairness)]),
    "assumptions": (("regulation", "kind", "property", "part", "reason", "approved_by"), [_assumptions]),
}
"""Report → the columns that name a row, and the other ways to its figures: one or more, of which each has to agree."""


@cache
def by_another_way(name: str, raw: Raw) -> Figures:
    """The figures of a report from the raw events; where there are two ways, they have to agree."""
    _, ways = WAYS[name]
    found: Figures = {}
    for way in ways:
        for key, figures in way(raw).items():
            known = found.setdefault(key, {})
            apart = {of: (known[of], value) for of, value in figures.items() if known.get(of, value) != value}
            assert not apart, (name, key, apart)
            known |= figures
    return found


def differences(name: str, raw: Raw, rows: Iterable[dict[str, str]]) -> list[str]:
    """What a report says otherwise than the raw events."""
    keys, _ = WAYS[name]
    wanted = dict(by_another_way(name, raw))
    found = []
    for row in rows:
        key = tuple(row[column] for column in keys)
        figures = wanted.pop(key, None)
        if figures is None:
            found.append(f"{name} {key}: no such row by the raw events")
            continue
        found += [f"{name} {key} {of}: {row[of]}, not {value}" for of, value in figures.items() if row[of] != value]
    return found + [f"{name} {key}: missing" for key, figures in wanted.items() if not _silent(figures)]


UNCOMPARED = {
    ("master-game", "deviation"): "of craps: each bet by itself, which no outcome of a round tells",
    ("master-game", "z"): "of craps, as well",
}
"""Columns that some rows have and no other way tells, with the reason."""


def untold(name: str, raw: Raw, columns: Iterable[str]) -> list[str]:
    """The columns of which some row is not told by another way."""
    keys, _ = WAYS[name]
    told = by_another_way(name, raw).values()
    left = [column for column in columns if column not in keys and not all(column in figures for figures in told)]
    return [f"{name} {column}: told by no other way" for column in left if (name, column) not in UNCOMPARED]


def _silent(figures: Mapping[str, str]) -> bool:
    """Whether all figures are nothing, and there are some."""
    return bool(figures) and set(figures.values()) <= {"0", "0.00", ""}
