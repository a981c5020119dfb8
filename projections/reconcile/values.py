"""Cells as values, in DuckDB's SQL: whole minor units, microseconds since 1970 in UTC, days; and in words why one cannot be read.

No number passes through a float: an amount's text is cut at its decimal mark, and the digits become one integer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ledger.money import CURRENCIES
from projections.reconcile.mapping import MappingFile
from projections.reconcile.sides import Field

_ISO = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?((Z|[+-][0-9]{2}(:?[0-9]{2})?))?"
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_WHOLE = "-?(0|[1-9][0-9]{0,15})"
"""What `ledger.money.LARGEST` has room for: 16 digits."""
_NUMBER = "-?[0-9]{1,18}"
_FLAGS = {True: ("true", "t", "yes", "y", "1"), False: ("false", "f", "no", "n", "0")}


def literal(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def listed(texts: Iterable[str]) -> str:
    """Texts as SQL lists them."""
    return ", ".join(map(literal, texts))


def quoted(name: str) -> str:
    """The name of a column as SQL writes it: `table` is a word of SQL, and a file's column may have any name."""
    return '"' + name.replace('"', '""') + '"'


def digits(currency: str) -> str:
    """How many decimals the currency in this expression has; null where it is not known."""
    known: dict[int, list[str]] = {}
    for code, decimals in CURRENCIES.items():
        known.setdefault(decimals, []).append(code)
    cases = " ".join(f"WHEN {currency} IN ({listed(codes)}) THEN {decimals}" for decimals, codes in known.items())
    return f"CASE {cases} END"


def plain(minor: str, currency: str) -> str:
    """Minor units as a plain decimal: what `ledger.money.format_plain` writes."""
    whole = f"CASE WHEN {minor} < 0 THEN '-' ELSE '' END"
    return (
        f"CASE {digits(currency)} WHEN 0 THEN ({minor})::VARCHAR "
        f"ELSE {whole} || (abs({minor}) // 100)::VARCHAR || '.' || lpad((abs({minor}) % 100)::VARCHAR, 2, '0') END"
    )


def instant(micros: str) -> str:
    """Microseconds as ISO 8601 in UTC."""
    return f"strftime(make_timestamp({micros}), '%Y-%m-%dT%H:%M:%S.%fZ')"


class Typed:
    """What makes rows of text cells into rows of values, under one mapping."""

    def __init__(self, mapping: MappingFile, swapped: Mapping[str, str] | None = None) -> None:
        """`swapped`: field → the field in whose column it is looked for instead."""
        self._mapping = mapping
        self._swapped = swapped or {}

    def select(self, source: str) -> str:
        """SQL that reads `source` (line, file, c_<field> …) and gives line, file, the fields, and `problem`."""
        fields = self._mapping.fields
        cells = ", ".join(f"{self._cell(name)} AS t_{name}" for name in fields)
        values = ", ".join(f"{self._value(name, field)} AS {quoted(name)}" for name, field in fields.items())
        problems = ", ".join(self._problems())
        return (
            f"SELECT line, file, {', '.join(map(quoted, fields))}, coalesce({problems}, NULL) AS problem FROM ("
            f"SELECT *, {values} FROM (SELECT line, file, {cells} FROM {source}))"
        )

    def _cell(self, name: str) -> str:
        """The text of a cell, the mapping's own words translated; null where it is empty."""
        mapping = self._mapping
        name_in = self._swapped.get(name, name)
        if name_in in mapping.constants and name_in not in mapping.columns:
            return literal(mapping.constants[name_in])
        text = f"nullif(trim(c_{name_in}), '')"
        words = mapping.values.get(name)
        if not words:
            return text
        cases = " ".join(f"WHEN {literal(word)} THEN {literal(meant) if meant else 'NULL'}" for word, meant in words.items())
        return f"CASE coalesce({text}, '') {cases} ELSE {text} END"

    def _value(self, name: str, field: Field) -> str:
        text = f"t_{name}"
        match field.kind:
            case "id":
                return f"coalesce(TRY_CAST({text} AS UUID)::VARCHAR, {text})"
            case "amount":
                return self._amount(name, text)
            case "number":
                return f"CASE WHEN regexp_full_match({text}, '{_NUMBER}') THEN TRY_CAST({text} AS BIGINT) END"
            case "time":
                return self._time(text)
            case "date":
                return self._date(text)
            case "flag":
                true, false = (listed(words) for words in _FLAGS.values())
                return f"CASE WHEN lower({text}) IN ({true}) THEN true WHEN lower({text}) IN ({false}) THEN false END"
            case "word":
                return f"CASE WHEN {text} IN ({listed(field.words)}) THEN {text} END" if field.words else text
        return text

    def _amount(self, name: str, text: str) -> str:
        mapping = self._mapping
        mark, group = (_escaped(mapping.decimal), _escaped(mapping.grouping))
        whole = f"({_WHOLE}|-?[1-9][0-9]{{0,2}}({group}[0-9]{{3}}){{1,5}})" if group else _WHOLE
        shape = whole if mapping.unit == "minor" else f"{whole}({mark}[0-9]{{1,9}})?"
        bare = text
        if mapping.parentheses:
            bare = f"regexp_replace({text}, '^[(]([^()-]*)[)]$', '-\\1')"
        plain_text = f"replace({bare}, {literal(mapping.grouping)}, '')" if group else bare
        if mapping.unit == "minor":
            minor = f"TRY_CAST({plain_text} AS BIGINT)"
            fits = "true"
        else:
            before = f"split_part({plain_text}, {literal(mapping.decimal)}, 1)"
            after = f"split_part({plain_text}, {literal(mapping.decimal)}, 2)"
            places = digits("t_currency")
            minor = f"TRY_CAST({before} || rpad({after}, {places}, '0') AS BIGINT)"
            fits = f"length({after}) <= {places}"
        sign = "-" if name in mapping.negated else ""
        read = f"CASE WHEN regexp_full_match({bare}, {literal(shape)}) AND {fits} THEN {sign}{minor} END"
        return f"CASE WHEN abs({read}) <= 1000000000000000 THEN {read} END"

    def _time(self, text: str) -> str:
        formats = self._mapping.time_formats
        if not formats:
            return f"CASE WHEN regexp_full_match({text}, '{_ISO}') THEN epoch_us(TRY_CAST({text} AS TIMESTAMPTZ)) END"
        return f"coalesce({', '.join(self._strptime(text, form) for form in formats)})"

    def _strptime(self, text: str, form: str) -> str:
        read = f"try_strptime({text}, {literal(form)})"
        return f"epoch_us({read})" if "%z" in form else f"epoch_us(timezone({literal(self._mapping.zone or 'UTC')}, {read}))"

    def _date(self, text: str) -> str:
        formats = self._mapping.date_formats
        if not formats:
            return f"CASE WHEN regexp_full_match({text}, '{_DAY}') THEN TRY_CAST({text} AS DATE) END"
        return f"coalesce({', '.join(f'try_strptime({text}, {literal(form)})::DATE' for form in formats)})"

    def _problems(self) -> list[str]:
        """Each an expression that is null, or says why the row cannot be read."""
        mapping, found = self._mapping, []
        fields = mapping.fields
        for name in mapping.columns:
            said = f"t_{name}"
            bytes_ = literal(f"{name}: its bytes are no {mapping.encoding}, which file.encoding says")
            found.append(f"CASE WHEN contains({said}, chr(65533)) OR contains({said}, chr(0)) THEN {bytes_} END")
        if mapping.amounts:
            found.append("CASE WHEN t_currency IS NULL THEN 'currency: it is empty' END")
            unknown = f"t_currency IS NOT NULL AND {digits('t_currency')} IS NULL"
            found.append(f"CASE WHEN {unknown} THEN 'currency: ' || t_currency || ' is no currency known here' END")
        for name, field in fields.items():
            if field.kind in _WHAT:
                said = f"{literal(name + ': ')} || t_{name} || {literal(f' is {self._what(field)}')}"
                found.append(f"CASE WHEN t_{name} IS NOT NULL AND {quoted(name)} IS NULL THEN {said} END")
        found += [f"CASE WHEN t_{name} IS NULL THEN {literal(f'{name}: it is empty')} END" for name in self._needed(fields)]
        return found or ["NULL"]

    def _needed(self, fields: Mapping[str, Field]) -> list[str]:
        """The fields that every row has to have."""
        mapping = self._mapping
        needed: list[str] = []
        if mapping.summed:
            needed.append(mapping.aggregate[0])
        elif mapping.exact and not mapping.composite:
            needed.append(mapping.exact[0])
        if mapping.side.amount in fields and mapping.side.amount not in needed:
            needed.append(mapping.side.amount)
        return needed

    def _what(self, field: Field) -> str:
        if field.kind == "amount":
            mapping = self._mapping
            of = "whole minor units" if mapping.unit == "minor" else f"whole units, with {mapping.decimal!r} before decimals"
            thousands = f", {mapping.grouping!r} between thousands" if mapping.grouping else ""
            return f"no amount as the mapping declares ({of}{thousands})"
        if field.kind == "word":
            return f"none of {', '.join(field.words)}: translate it under values"
        return _WHAT[field.kind]


_WHAT = {
    "amount": "",
    "word": "",
    "number": "no whole number",
    "time": "no time as the mapping declares",
    "date": "no day as the mapping declares",
    "flag": "neither true nor false",
}
"""Kinds whose text may be none."""


def _escaped(character: str) -> str:
    """A character as a regular expression has it."""
    return f"[{character}]" if character else ""


def joined(names: Sequence[str], alias: str = "") -> str:
    """Fields as one text that is equal where all of them are; null where the first is null."""
    at = f"{alias}." if alias else ""
    parts = [f"coalesce({at}{quoted(name)}::VARCHAR, '')" for name in names]
    return f"CASE WHEN {at}{quoted(names[0])} IS NOT NULL THEN {' || chr(31) || '.join(parts)} END"
