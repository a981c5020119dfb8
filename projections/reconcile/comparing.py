"""What a pair disagrees in, and what has no counterpart: each an exception in the table `x`, with both values and evidence."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from projections.reconcile.mapping import MappingFile
from projections.reconcile.values import instant, literal, plain, quoted

COLUMNS = {
    "leg": "INTEGER",
    "reason": "VARCHAR",
    "subject": "VARCHAR",
    "what": "VARCHAR",
    "file": "INTEGER",
    "line": "BIGINT",
    "lines": "VARCHAR",
    "table_id": "VARCHAR",
    "gaming_day": "DATE",
    "currency": "VARCHAR",
    "field": "VARCHAR",
    "in_file": "VARCHAR",
    "in_ledger": "VARCHAR",
    "difference": "HUGEINT",
    "rows": "BIGINT",
    "positions": "VARCHAR",
    "detail": "VARCHAR",
    "next": "VARCHAR",
    "content": "VARCHAR",
}
"""Of the table `x`. `subject` is what the exception is about, in a form that is the same in every run; `difference` is file less
ledger, in minor units; `file` is the number of the file in the run; `content` is its SHA-256 where all of it is meant."""
_NAMED = 10
"""Lines and positions that are named where there are more."""
_SAFE = "[A-Za-z0-9_.:][A-Za-z0-9_.:/-]*"
"""What may stand in a command that a person is told to type."""


class Comparison:
    """One leg of a run: the files under one mapping."""

    def __init__(self, db: duckdb.DuckDBPyConnection, mapping: MappingFile, leg: int, scope: str, loaded: Sequence[str]) -> None:
        """`scope`: SQL over a day `d` that says whether it is compared. `loaded`: the fields that the ledger's rows have."""
        self._db = db
        self._mapping = mapping
        self._leg = leg
        self._scope = scope
        self._loaded = loaded

    def run(self) -> None:
        """Finds them all."""
        self._pairs_that_differ()
        self._values()
        self._clocks()
        self._missing()
        self._duplicates()
        self._sequences()

    # What they are about.

    def add(self, reason: str, source: str, **columns: str) -> None:
        """Puts what a FROM clause gives into `x`: column → expression."""
        chosen = {"leg": str(self._leg), "reason": literal(reason), "rows": "1"} | columns
        names = ", ".join(chosen)
        self._db.execute(f"INSERT INTO x ({names}) SELECT {', '.join(chosen.values())} FROM {source}")

    def _key(self, alias: str, there: Sequence[str]) -> str:
        """The key of a row as people say it, and as its exception's id has it."""
        mapping = self._mapping
        names = mapping.aggregate if mapping.summed else mapping.exact or mapping.side.key
        if alias.startswith("l"):
            names = mapping.aggregate if mapping.summed else mapping.side.key if mapping.side.key[0] in there else mapping.exact
        parts = [f"coalesce({alias}{name}::VARCHAR, '-')" for name in names if name in there]
        return " || ' ' || ".join(parts) or "'-'"

    def _of_ledger(self, alias: str = "l.", file_alias: str | None = None) -> dict[str, str]:
        """What is said of a row of the ledger."""
        there = self._loaded
        place = {"table_id": "table", "gaming_day": "gaming_day", "currency": "currency"}
        found = {column: f"{alias}{name}" for column, name in place.items() if name in there}
        return found | {
            "subject": self._key(alias, there),
            "what": self._said(alias, there),
            "positions": f"{alias}pos::VARCHAR",
            "next": self._next(alias),
        }

    def _said(self, alias: str, there: Sequence[str]) -> str:
        mapping = self._mapping
        names = (mapping.aggregate if mapping.summed else mapping.side.key) or mapping.side.key
        parts = [f"coalesce({literal(name + ' ')} || {alias}{name}::VARCHAR, '')" for name in names if name in there]
        return f"trim(concat_ws(' ', {', '.join(parts)}))" if parts else "''"

    def _next(self, alias: str) -> str:
        """The command to type next on a row of the ledger; none where a value in it would not be one word."""
        side = self._mapping.side
        text, found = side.next, "''"
        if self._mapping.summed and side.name in ("bets", "payouts", "rounds"):
            text = "roundledger report master-game"
        if self._mapping.summed and side.name == "movements" and not {"account", "player"} & set(self._mapping.aggregate):
            text = "roundledger balances"
        names = [*side.key] if "{0}" in text else []
        pieces = literal(text)
        values = []
        for n, name in enumerate(names):
            if f"{{{n}}}" in text:
                pieces = f"replace({pieces}, '{{{n}}}', {alias}{name}::VARCHAR)"
                values.append(f"{alias}{name}::VARCHAR")
        for name in ("table", "gaming_day"):
            if f"{{{name}}}" in text:
                pieces = f"replace({pieces}, '{{{name}}}', {alias}{name}::VARCHAR)"
                values.append(f"{alias}{name}::VARCHAR")
        safe = " AND ".join(f"regexp_full_match({value}, '{_SAFE}')" for value in values) or "true"
        return f"CASE WHEN {safe} THEN {pieces} ELSE {found} END"

    # Pairs.

    def _pairs_that_differ(self) -> None:
        """Makes `d`: the pairs of the period that disagree in anything, file's fields as f_, ledger's as l_."""
        mapping = self._mapping
        fields = mapping.fields
        differs = []
        for name in mapping.compare:
            if fields[name].kind == "time":
                differs.append(f"abs(f.{name} - l.{name}) > {self._micros()} OR f.{name} IS NOT NULL AND l.{name} IS NULL")
            elif fields[name].kind == "amount":
                differs.append(f"coalesce(f.{name}, 0) <> coalesce(l.{name}, 0)")
            else:
                differs.append(f"f.{name} IS NOT NULL AND f.{name} IS DISTINCT FROM l.{name}")
        differs += [f"({void}) <> l.void" for void in [self._void("f.")] if void]
        if mapping.composite and mapping.exact:
            differs.append("p.how <> 'exact' AND f.k IS NOT NULL")
        if self._is_paid:
            differs.append("l.void AND f.paid > 0")
        of_f = ", ".join(f"f.{name} AS f_{name}" for name in fields)
        of_l = ", ".join(f"l.{name} AS l_{name}" for name in self._loaded)
        self._db.execute(
            f"CREATE OR REPLACE TABLE d AS SELECT p.how, f.fid, f.file, f.line, f.k, {of_f}, l.lid, l.pos AS l_pos, "
            f"l.void AS l_void, l.expected AS l_expected, {of_l} FROM p JOIN f USING (fid) JOIN l USING (lid) "
            f"WHERE ({' OR '.join(f'({one})' for one in differs) or 'false'}) AND {self.pair_in_scope()}"
        )

    @property
    def _is_paid(self) -> bool:
        return self._mapping.side.name == "payouts" and "paid" in self._mapping.compare and not self._mapping.summed

    def _micros(self) -> int:
        return round(self._mapping.seconds * 1_000_000)

    def _in_scope(self, *days: str) -> str:
        """Whether one of these days is compared; a row without a day is."""
        day = f"coalesce({', '.join(days)})" if "gaming_day" in self._loaded else days[-1]
        return f"({day} IS NULL OR {self._scope.format(day=day)})"

    def pair_in_scope(self) -> str:
        """Whether a pair is compared: by the ledger's day, or by that which the file says, where this is another."""
        by_ledger = self._in_scope("l.gaming_day", "f.day")
        if not {"gaming_day"} <= set(self._loaded) & self._mapping.fields.keys():
            return by_ledger
        return f"({by_ledger} OR coalesce({self._scope.format(day='f.gaming_day')}, false))"

    def _void(self, alias: str) -> str | None:
        """Whether the file calls a row void, in SQL that is null where it does not say; None where it never says."""
        fields = self._mapping.fields
        for name, words in (("result", "'void', 'withdrawn'"), ("status", "'voided', 'cancelled'")):
            if name in fields:
                return f"{alias}{name} IN ({words})"
        return "false" if self._mapping.side.void_is_said and not self._mapping.summed else None

    def _base(self) -> dict[str, str]:
        """What is said of a pair."""
        return {**self._of_ledger("d.l_"), "file": "d.file", "line": "d.line", "lines": "d.line::VARCHAR"}

    def _values(self) -> None:
        """Pairs that disagree in a value."""
        mapping, base = self._mapping, self._base()
        fields = mapping.fields
        void = self._void("f_")
        differ_in_void = f"coalesce(({void}) <> l_void, false)" if void else "false"
        if void:
            said = f"CASE WHEN {void} THEN 'void' ELSE 'in force' END"
            self.add(
                "VOID_MISMATCH",
                f"d WHERE {differ_in_void}",
                **base,
                field=literal(next((name for name in ("result", "status") if name in fields), "")),
                in_file=said,
                in_ledger="CASE WHEN l_void THEN 'void' ELSE 'in force' END",
            )
        if mapping.composite and mapping.exact:
            self.add(
                "KEY_DIFF",
                "d WHERE how <> 'exact' AND k IS NOT NULL",
                **base,
                field=literal(", ".join(mapping.exact)),
                in_file="replace(k, chr(31), ' ')",
                in_ledger=self._key("l_", self._loaded),
            )
        same_currency = "f_currency IS NOT DISTINCT FROM l_currency" if "currency" in mapping.compare else "true"
        for name in mapping.compare:
            field = fields[name]
            if field.kind == "amount":
                self._amounts(name, f"{same_currency} AND coalesce(f_{name}, 0) <> coalesce(l_{name}, 0)", base)
            elif field.kind != "time" and not (name in ("result", "status") and void):
                self._other(name, f"f_{name} IS NOT NULL AND f_{name} IS DISTINCT FROM l_{name}", base)
            elif name in ("result", "status"):
                self._other(
                    name,
                    f"f_{name} IS NOT NULL AND f_{name} IS DISTINCT FROM l_{name} AND NOT {differ_in_void} AND NOT l_void",
                    base,
                )

    def _other(self, name: str, where: str, base: dict[str, str]) -> None:
        field = self._mapping.fields[name]
        reason = "FIELD_DIFF" if name == "status" else field.reason  # void or not is told by itself
        self.add(
            reason,
            f"d WHERE {where}",
            **base,
            field=literal(name),
            in_file=f"f_{name}::VARCHAR",
            in_ledger=f"l_{name}::VARCHAR",
        )

    def _amounts(self, name: str, where: str, base: dict[str, str]) -> None:
        """Amounts that differ, by what it may come of. An amount that is not there is none."""
        currency = "f_currency"
        difference = f"coalesce(f_{name}, 0)::HUGEINT - coalesce(l_{name}, 0)"
        columns = {
            **base,
            "currency": currency,
            "field": literal(name),
            "in_file": plain(f"f_{name}", currency),
            "in_ledger": plain(f"l_{name}", currency),
            "difference": difference,
        }
        reasons = [("WITHIN_TOLERANCE", f"abs({difference}) <= {self._by_currency(self._mapping.tolerance, 0)}")]
        if self._is_paid and name == "paid":
            reasons.append(("PAID_ON_VOID", "l_void AND f_paid > coalesce(l_paid, 0)"))
            if "result" in self._loaded:
                reasons.append(("UNPAID_WIN", "coalesce(f_paid, 0) = 0 AND l_result = 'won'"))
        if name in ("paid", "net_prize", "prize") and "prize_exact" in self._loaded:
            unit = self._by_currency(self._mapping.rounding, 1)
            if "table" in self._loaded:
                unit = f"greatest({unit}, coalesce((SELECT max(minor) FROM units WHERE place = l_table), 0))"
            reasons.append(("ROUNDING_DIFF", f"abs({difference}) <= {unit} AND (l_prize_exact LIKE '%/%' OR l_breakage > 0)"))
        before: list[str] = []
        for reason, what in reasons:
            rest = "".join(f" AND NOT coalesce({one}, false)" for one in before)
            self.add(reason, f"d WHERE {where} AND ({what}){rest}", **columns)
            before.append(what)
        rest = "".join(f" AND NOT coalesce({one}, false)" for one in before)
        hint = f"CASE WHEN abs(f_{name}) = abs(l_{name}) * 100 OR abs(f_{name}) * 100 = abs(l_{name}) THEN 'a factor of 100' END"
        self.add("AMOUNT_DIFF", f"d WHERE {where}{rest}", **columns, detail=hint)

    @staticmethod
    def _by_currency(given: object, default: int) -> str:
        """Minor units by the row's currency."""
        cases = ""
        if isinstance(given, dict):
            cases = " ".join(f"WHEN {literal(code)} THEN {minor}" for code, minor in given.items())
        return f"(CASE f_currency {cases} ELSE {default} END)" if cases else str(default)

    def _clocks(self) -> None:
        """Times: a bet placed after the close by the file's time, and else one finding a table."""
        mapping, base = self._mapping, self._base()
        late = "false"
        if "closed_at" in self._loaded and "occurred_at" in mapping.compare:
            late = (
                f"(f_occurred_at > l_closed_at + {self._micros()} AND NOT l_late AND NOT l_void AND l_game <> 'craps' "
                f"AND f_occurred_at - l_occurred_at > {self._micros()})"
            )
            self.add(
                "LATE_BET",
                f"d WHERE {late}",
                **base,
                field="'occurred_at'",
                in_file=instant("f_occurred_at"),
                in_ledger=f"'closed ' || {instant('l_closed_at')}",
            )
        for name in mapping.times:
            if name not in mapping.compare:
                continue
            self.add(
                "FIELD_DIFF",
                f"d WHERE f_{name} IS NOT NULL AND l_{name} IS NULL",
                **base,
                field=literal(name),
                in_file=instant(f"f_{name}"),
            )
            skew = f"f_{name} - l_{name}"
            at = "l_table" if "table" in self._loaded else "NULL::VARCHAR"
            source = (
                f"(SELECT file, {at} AS place, count(*) AS n, min(line) AS first, arg_max({skew}, abs({skew})) AS largest, "
                f"median({skew})::BIGINT AS middle, list(line ORDER BY line)[:{_NAMED}] AS named, "
                f"list(l_pos ORDER BY l_pos)[:{_NAMED}] AS positions FROM d "
                f"WHERE abs({skew}) > {self._micros()} AND NOT coalesce({late}, false) GROUP BY file, place)"
            )
            self.add(
                "CLOCK_SKEW",
                source,
                subject=f"{literal(name + ' ')} || coalesce(place, '-')",
                what="'table ' || coalesce(place, '-')",
                table_id="place",
                field=literal(name),
                file="file",
                line="first",
                lines=_some("named", "n"),
                positions=_some("positions", "n"),
                rows="n",
                in_file=f"{_seconds('largest')} || ' s at most'",
                in_ledger="'0 s'",
                detail=f"'median ' || {_seconds('middle')} || ' s, allowed {mapping.seconds:g} s'",
                next="'roundledger doctor'",
            )

    # One side only.

    def _missing(self) -> None:
        mapping = self._mapping
        amount = mapping.side.amount
        of_file = mapping.fields
        there = "NOT EXISTS (SELECT 1 FROM p WHERE p.{0} = {1}.{0}) AND NOT EXISTS (SELECT 1 FROM c{1} WHERE c{1}.{0} = {1}.{0})"
        shown = "l." + amount in [f"l.{name}" for name in self._loaded] and "currency" in self._loaded
        columns = {
            **self._of_ledger(),
            "field": literal(amount),
            "in_ledger": plain(f"l.{amount}", "l.currency") if shown else "NULL",
            "difference": f"-l.{amount}" if shown else "NULL",
        }
        if mapping.summed:
            columns["rows"] = "l.n"
        where = f"{there.format('lid', 'l')} AND l.expected AND {self._in_scope('l.gaming_day', 'NULL::DATE')}"
        where += " AND l.wanted"
        if mapping.side.name == "payouts" and not mapping.summed:
            self.add("UNPAID_WIN", f"l WHERE {where} AND l.result = 'won'", **columns)
            where += " AND l.result <> 'won'"
        self.add("MISSING_IN_FILE", f"l WHERE {where}", **columns)
        place = {"table_id": "table", "currency": "currency"}
        has_amount = amount in of_file
        self.add(
            "MISSING_IN_LEDGER",
            f"f WHERE {there.format('fid', 'f')} AND {self._in_scope('NULL::DATE', 'f.day')}",
            **{column: f"f.{name}" for column, name in place.items() if name in of_file},
            gaming_day="f.day",
            subject=self._file_key("f."),
            what=f"coalesce(nullif({self._said('f.', list(of_file))}, ''), 'line ' || f.line)",
            file="f.file",
            line="f.line",
            lines=_some("f.named", "f.n") if mapping.summed else "f.line::VARCHAR",
            rows="f.n" if mapping.summed else "1",
            field=literal(amount),
            in_file=plain(f"f.{amount}", "f.currency") if has_amount else "NULL",
            difference=f"f.{amount}" if has_amount else "NULL",
            next=self._next_of_file(of_file),
        )

    def _file_key(self, alias: str) -> str:
        """What tells a line of the file that the ledger knows nothing of; by a composite key equal ones are numbered."""
        mapping = self._mapping
        if mapping.summed or not mapping.composite:
            return _spaced(mapping.aggregate if mapping.summed else mapping.exact, alias)
        names = [*mapping.composite, *(name for name in mapping.times if name not in mapping.composite)]
        key = f"{_spaced(names, alias)} || ' ' || coalesce({alias}day::VARCHAR, '-')"
        among = f"PARTITION BY {alias}k IS NULL, {key} ORDER BY {alias}file, {alias}line"
        numbered = f"{key} || ' ' || row_number() OVER ({among})"
        if not mapping.exact:
            return numbered
        return f"CASE WHEN {alias}k IS NOT NULL THEN {_spaced(mapping.exact, alias)} ELSE {numbered} END"

    def _next_of_file(self, of_file: object) -> str:
        assert isinstance(of_file, dict)
        if "round" in of_file and not self._mapping.summed and self._mapping.side.name != "rounds":
            uuid = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
            return (
                f"CASE WHEN regexp_full_match(f.round, '{uuid}') AND f.round IN (SELECT round FROM l) "
                "THEN 'roundledger rounds show ' || f.round "
                "ELSE 'roundledger terminals' END"
            )
        return literal("roundledger chips slips" if self._mapping.source in ("cage", "count") else "roundledger terminals")

    def _duplicates(self) -> None:
        """Rows that are there more than once: how many and how much in all on both sides, and which lines."""
        mapping, loaded = self._mapping, self._loaded
        amount, of_file = mapping.side.amount, mapping.fields
        in_l = amount in loaded
        kinds = ", ".join(f"f.{name}" for name in of_file)
        of_f = (
            "SELECT side, dupf.k AS k, count(*) AS nf, list(f.line ORDER BY f.file, f.line) AS lines, min(f.file) AS file, "
            "any_value(f.day) AS f_day, "
            f"count(DISTINCT ({kinds}, 0)) AS kinds, {f'sum(f.{amount})' if amount in of_file else 'NULL::HUGEINT'} AS fs, "
            f"{'any_value(f.currency)' if 'currency' in of_file else 'NULL::VARCHAR'} AS f_currency FROM dupf JOIN f USING "
            "(fid) GROUP BY side, dupf.k"
        )
        of_l = (
            "SELECT side, dupl.k AS k, count(*) AS nl, list(l.pos ORDER BY l.pos) AS positions, "
            f"{'any_value(l.table)' if 'table' in loaded else 'NULL::VARCHAR'} AS place, "
            f"{'any_value(l.gaming_day)' if 'gaming_day' in loaded else 'NULL::DATE'} AS l_day, "
            f"{f'sum(l.{amount})' if in_l else 'NULL::HUGEINT'} AS ls, "
            f"{'any_value(l.currency)' if 'currency' in loaded else 'NULL::VARCHAR'} AS l_currency FROM dupl JOIN l USING (lid) "
            "GROUP BY side, dupl.k"
        )
        keys = mapping.exact or mapping.composite
        for side, reason in (("file", "PAID_TWICE" if self._is_paid else "DUPLICATE_IN_FILE"), ("ledger", "DUPLICATE_IN_LEDGER")):
            source = (
                "(SELECT *, coalesce(l_currency, f_currency) AS currency, coalesce(nf, 0) AS of_f, coalesce(nl, 0) AS of_l "
                f"FROM ({of_f}) FULL JOIN ({of_l}) USING (side, k)) WHERE side = '{side}' AND {self._in_scope('l_day', 'f_day')}"
            )
            self.add(
                reason,
                source,
                subject="replace(k, chr(31), ' ')",
                what=f"{literal(', '.join(keys) + ' ')} || replace(k, chr(31), ' ')",
                file="file",
                line="lines[1]",
                lines=_some("lines", "of_f"),
                positions=_some("positions", "of_l"),
                table_id="place",
                gaming_day="coalesce(l_day, f_day)",
                currency="currency",
                field=literal(amount),
                in_file=f"of_f || ' × ' || coalesce({plain('fs', 'currency')}, '')" if amount in of_file else "of_f::VARCHAR",
                in_ledger=f"of_l || ' × ' || coalesce({plain('ls', 'currency')}, '')" if in_l else "of_l::VARCHAR",
                difference="CASE WHEN currency IS NOT NULL THEN coalesce(fs, 0) - coalesce(ls, 0) END",
                rows="greatest(of_f, of_l)",
                detail="CASE WHEN of_f > 1 AND kinds = 1 THEN 'the lines say the same' WHEN of_f > 1 THEN 'the lines differ' END",
                next=self._next_of_duplicate(),
            )

    def _next_of_duplicate(self) -> str:
        if self._mapping.exact == ["bet"]:
            return "CASE WHEN of_l > 0 AND regexp_full_match(k, '[0-9a-f-]{36}') THEN 'roundledger explain ' || k ELSE '' END"
        return literal("roundledger chips slips" if self._mapping.source in ("cage", "count") else "roundledger rounds list")

    # Numbers.

    def _sequences(self) -> None:
        mapping = self._mapping
        name = mapping.sequence
        if name is None or mapping.summed:
            return
        by = mapping.sequence_by
        group = ", ".join(map(quoted, by)) or "''"
        said = " || ' ' || ".join(f"coalesce({quoted(one)}::VARCHAR, '-')" for one in by) or "''"
        value = f"TRY_CAST({name} AS BIGINT)"
        if mapping.sequence_complete:
            source = (
                f"(SELECT {said} AS who, n, before, file, line FROM (SELECT *, lag(n) OVER (PARTITION BY {group} ORDER BY n) AS "
                "before "
                f"FROM (SELECT DISTINCT ON ({group}, n) {''.join(f'{quoted(one)}, ' for one in by)}{value} AS n, file, line "
                "FROM (FROM f UNION ALL FROM apart) AS f "
                f"WHERE {value} IS NOT NULL ORDER BY {group}, n, file, line)) WHERE n > before + 1)"
            )
            self.add(
                "SEQ_GAP",
                source,
                subject="who || ' ' || (before + 1) || '-' || (n - 1)",
                what=f"{literal(name + ' ')} || CASE WHEN n = before + 2 THEN (n - 1)::VARCHAR ELSE (before + 1) || ' to ' || "
                "(n - 1) END || CASE WHEN who = '' THEN '' ELSE ' of ' || who END",
                file="file",
                line="line",
                lines="line::VARCHAR",
                field=literal(name),
                in_file="before || ', then ' || n",
                rows="n - before - 1",
                next=literal("roundledger chips slips" if mapping.source == "cage" else "roundledger terminals"),
            )
        different = "f.k" if mapping.exact and mapping.exact != [*by, name] else "f.line"
        if mapping.exact and name in mapping.exact and set(mapping.exact) <= {*by, name}:
            return  # the same key twice is a duplicate already
        self.add(
            "SEQ_REPEAT",
            f"(SELECT {said} AS who, {value} AS n, list(line ORDER BY file, line) AS lines, count(*) AS times, any_value(file) "
            "AS file FROM (FROM f UNION ALL FROM apart) AS f "
            f"WHERE {value} IS NOT NULL GROUP BY {group}, who, n HAVING count(DISTINCT {different}) > 1)",
            subject="who || ' ' || n",
            what=f"{literal(name + ' ')} || n || CASE WHEN who = '' THEN '' ELSE ' of ' || who END",
            file="file",
            line="lines[1]",
            lines=_some("lines", "times"),
            field=literal(name),
            in_file="times || ' × ' || n",
            rows="times",
            next="'roundledger terminals'",
        )


def _spaced(names: Sequence[str], alias: str) -> str:
    """Values of a row, side by side."""
    return " || ' ' || ".join(f"coalesce({alias}{name}::VARCHAR, '-')" for name in names)


def _some(named: str, number: str) -> str:
    """The first of a list, and how many more there are."""
    first = f"list_aggregate({named}[:{_NAMED}], 'string_agg', ', ')"
    return f"CASE WHEN {number} > {_NAMED} THEN {first} || ' and ' || ({number} - {_NAMED}) || ' more' ELSE {first} END"


def _seconds(micros: str) -> str:
    """Microseconds as seconds, with a sign and three decimals."""
    return (
        f"(CASE WHEN {micros} < 0 THEN '-' ELSE '+' END || (abs({micros}) // 1000000)::VARCHAR || '.' || "
        f"lpad((abs({micros}) % 1000000 // 1000)::VARCHAR, 3, '0'))"
    )
