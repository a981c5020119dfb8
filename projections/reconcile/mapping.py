"""What a file's columns mean: a mapping in TOML, read and held to what a side of the ledger has.

A mapping says what the file is compared with, how its lines are cut, in which unit its amounts and in which zone its times are,
which column is which field, and by what rows find each other. Nothing of it is guessed: a unit, a zone or a column that is not
declared is not read. `docs/reference/mappings.md` has each key.
"""

from __future__ import annotations

import hashlib
import io
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, Literal, NoReturn
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from ledger.errors import Refusal
from ledger.money import CURRENCIES, format_plain, parse_plain
from projections.reconcile.sides import SIDES, Field, Side

Form = Literal["csv", "ndjson", "xlsx", "parquet"]
FORMS: tuple[Form, ...] = ("csv", "ndjson", "xlsx", "parquet")
UNITS = {"minor": "minor", "avos": "minor", "cents": "minor", "major": "major", "patacas": "major", "dollars": "major"}
"""What `amounts.unit` may say → whether it is the minor unit or the whole one."""
SOURCES = ("terminal", "cage", "count", "wallet", "report")
_SECONDS = 86_400


@dataclass(frozen=True)
class Trailer:
    """The line by which a file says how much it holds. Columns are counted from 1."""

    marker: str
    """What stands in its first column."""
    count: int | None = None
    """The column with the number of lines before it."""
    total: int | None = None
    """The column with their sum."""
    of: str | None = None
    """Of which field that is the sum; the side's amount where it is not said."""


@dataclass(frozen=True)
class MappingFile:
    """A mapping. What it has not said stands here as what it means then."""

    name: str
    title: str
    side: Side
    source: str
    columns: Mapping[str, str]
    """Field → the file's column: its title, its number where there is no header, or a dotted path in NDJSON."""
    constants: Mapping[str, str]
    """Field → its text in every row."""
    values: Mapping[str, Mapping[str, str]]
    """Field → the file's word → the ledger's."""
    only: Mapping[str, Sequence[str]]
    """Column of the file → the texts with which a line is about this side; other lines are left out."""
    form: Form | None = None
    delimiter: str = ","
    quote: str = '"'
    encoding: str = "utf-8"
    header: bool = True
    skip: int = 0
    sheet: str | None = None
    multiline: bool = False
    trailer: Trailer | None = None
    unit: str = "major"
    decimal: str = "."
    grouping: str = ""
    parentheses: bool = False
    negated: Sequence[str] = ()
    zone: str | None = None
    time_formats: Sequence[str] = ()
    date_formats: Sequence[str] = ()
    exact: Sequence[str] = ()
    composite: Sequence[str] = ()
    within: float | None = None
    """Seconds by which the times of a composite pair may differ."""
    aggregate: Sequence[str] = ()
    compare: Sequence[str] = ()
    """The fields that are compared."""
    tolerance: Mapping[str, int] = field(default_factory=dict)
    """Currency → minor units up to which amounts may differ."""
    seconds: float = 0.0
    """By how much times may differ."""
    rounding: Mapping[str, int] = field(default_factory=dict)
    """Currency → the payable unit in minor units, below which payouts may differ by another rounding."""
    sequence: str | None = None
    """The field that numbers the file's rows without a gap."""
    sequence_by: Sequence[str] = ()
    """Within which fields it does."""
    sequence_complete: bool = True
    tables: Literal["all", "in_file"] = "all"
    """Whether the file has to have every table of the house, or only those it names."""
    text: str = ""
    """The TOML it was read from."""

    @cached_property
    def fields(self) -> dict[str, Field]:
        """The fields that a row of the file has."""
        return {name: one for name, one in self.side.fields.items() if name in self.columns or name in self.constants}

    @property
    def amounts(self) -> list[str]:
        """The amounts among them."""
        return [name for name, one in self.fields.items() if one.kind == "amount"]

    @property
    def times(self) -> list[str]:
        """The times among them."""
        return [name for name, one in self.fields.items() if one.kind == "time"]

    @property
    def summed(self) -> bool:
        """Whether only totals are compared."""
        return not self.exact and not self.composite

    @cached_property
    def sha256(self) -> str:
        """Of its text."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def said(self) -> str:
        """The tolerance, in words."""
        parts = [f"{currency} {format_plain(minor, currency)}" for currency, minor in self.tolerance.items() if minor]
        parts += [f"{self.seconds:g} s"] if self.seconds else []
        return ", ".join(parts) or "0"


def ready() -> dict[str, str]:
    """The mappings that come with the program: name → TOML."""
    folder = resources.files("seeds").joinpath("mappings")
    found = {file.name.removesuffix(".toml"): file for file in folder.iterdir() if file.name.endswith(".toml")}
    return {name: found[name].read_text("utf-8") for name in sorted(found)}


def load(named: str) -> MappingFile:
    """A mapping by the name of a ready one, or by the path of its file. Raises Refusal LGR-0750, LGR-0751."""
    known = ready()
    if named in known:
        return read(known[named], named)
    path = Path(named)
    if not path.is_file():
        near = _near(named, known)
        raise Refusal(
            "LGR-0750",
            "there is no mapping of this name and no such file",
            field="--mapping",
            value=named,
            help=f"did you mean {near}?" if near else f"ready ones: {', '.join(known)}; or name the path of a TOML file",
        )
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Refusal("LGR-0750", f"the mapping cannot be read: {error}", field="--mapping", value=named) from error
    return read(text, path.stem)


def read(text: str, name: str) -> MappingFile:
    """A mapping from TOML. Raises Refusal LGR-0751, which names the key, what it says and the near miss."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Refusal("LGR-0751", f"this is no TOML: {error}", field=name) from error
    return _Reader(document, name, text).mapping()


KEYS: dict[str, tuple[str, ...]] = {
    "": ("title", "compare", "source", "file", "amounts", "times", "columns", "constants", "values", "only", "match", "tolerance",
         "sequence", "scope", "trailer"),
    "file": ("format", "delimiter", "quote", "encoding", "header", "skip", "sheet", "multiline"),
    "amounts": ("unit", "decimal", "grouping", "parentheses", "negated", "payable_unit"),
    "times": ("zone", "formats", "dates"),
    "match": ("exact", "composite", "within_seconds", "aggregate", "compare"),
    "tolerance": ("amounts", "seconds"),
    "sequence": ("field", "by", "complete"),
    "scope": ("tables",),
    "trailer": ("marker", "count", "total", "of"),
}  # fmt: skip
"""Section → the keys that it may have; the document itself is the section without a name."""


class _Reader:
    """Reads one document, and says of each fault where it stands."""

    def __init__(self, document: dict[str, Any], name: str, text: str) -> None:
        self._document = document
        self._name = name
        self._text = text

    def mapping(self) -> MappingFile:
        for section, known in KEYS.items():
            self._known(section, self._section(section), known)
        compare = self._one_of("", "compare", SIDES)
        side = SIDES[compare]
        columns, constants = self._texts("columns"), self._texts("constants")
        for section, given in (("columns", columns), ("constants", constants)):
            self._known(section, given, tuple(side.fields))
        if twice := sorted(columns.keys() & constants.keys()):
            self._refuse(f"constants.{twice[0]}", constants[twice[0]], "is a column and a constant at once: leave one away")
        if not columns:
            self._refuse("columns", None, "names no column of the file")
        return self._made(side, columns, constants)

    def _made(self, side: Side, columns: dict[str, str], constants: dict[str, str]) -> MappingFile:
        there = [name for name in side.fields if name in columns or name in constants]
        amounts = [name for name in there if side.fields[name].kind == "amount"]
        times = [name for name in there if side.fields[name].kind == "time"]
        file, match = self._section("file"), self._section("match")
        unit = self._unit(amounts)
        if amounts and "currency" not in there:
            self._refuse(
                "columns", None, "has amounts and no currency", "name the column `currency`, or write it under [constants]"
            )
        if "currency" in constants and constants["currency"] not in CURRENCIES:
            self._refuse(
                "constants.currency",
                constants["currency"],
                "is no currency known here",
                _meant(constants["currency"], CURRENCIES),
            )
        exact, composite, aggregate = (self._fields("match", key, there) for key in ("exact", "composite", "aggregate"))
        if not (exact or composite or aggregate):
            self._refuse(
                "match", None, "says by nothing how rows find each other", "name fields under exact, composite or aggregate"
            )
        within = self._number("match", "within_seconds", None, upto=7 * _SECONDS)
        if within is not None and not (composite and times):
            self._refuse("match.within_seconds", within, "needs composite fields and a column with a time")
        compare = self._fields("match", "compare", there) if "compare" in match else self._compared(side, there, exact)
        if not exact and not composite:
            compare = [name for name in compare if side.fields[name].kind in ("amount", "number")]
        if not compare and not exact:
            self._refuse("match", None, "leaves nothing to compare")
        sequence = self._section("sequence")
        return MappingFile(
            name=self._name,
            title=self._text_of("", "title", self._name),
            side=side,
            source=self._one_of("", "source", SOURCES, "terminal"),
            columns=columns,
            constants=constants,
            values=self._values(side, there),
            only=self._only(),
            form=self._one_of("file", "format", FORMS, None),
            delimiter=self._character("delimiter", ","),
            quote=self._character("quote", '"'),
            encoding=self._encoding(),
            header=self._flag("file", "header", True),
            skip=int(self._number("file", "skip", 0, upto=1000) or 0),
            sheet=self._text_of("file", "sheet", None) if "sheet" in file else None,
            multiline=self._flag("file", "multiline", False),
            trailer=self._trailer(amounts),
            unit=unit,
            decimal=self._one_of("amounts", "decimal", (".", ","), "."),
            grouping=self._one_of("amounts", "grouping", ("", ",", ".", " ", "'"), ""),
            parentheses=self._flag("amounts", "parentheses", False),
            negated=self._fields("amounts", "negated", amounts),
            zone=self._zone(times),
            time_formats=self._list("times", "formats"),
            date_formats=self._list("times", "dates"),
            exact=exact,
            composite=composite,
            within=within,
            aggregate=aggregate,
            compare=compare,
            tolerance=self._amounts_of("tolerance", "amounts"),
            seconds=self._number("tolerance", "seconds", 0.0, upto=_SECONDS) or 0.0,
            rounding=self._amounts_of("amounts", "payable_unit"),
            sequence=self._one_of("sequence", "field", there) if sequence else None,
            sequence_by=self._fields("sequence", "by", there),
            sequence_complete=self._flag("sequence", "complete", True),
            tables=self._one_of("scope", "tables", ("all", "in_file"), "all"),
            text=self._text,
        )

    @staticmethod
    def _compared(side: Side, there: Sequence[str], exact: Sequence[str]) -> list[str]:
        """All that file and ledger both say, but by what rows find each other."""
        return [name for name in there if name not in exact and not side.fields[name].key_only]

    # The parts.

    def _unit(self, amounts: Sequence[str]) -> str:
        given = self._section("amounts").get("unit")
        if given is None:
            if amounts:
                self._refuse(
                    "amounts.unit",
                    None,
                    f"is not declared, and the file has amounts ({', '.join(amounts)})",
                    'write unit = "avos" where 10000 is 100.00, or unit = "patacas" where 100.00 is',
                )
            return "major"
        return UNITS[self._one_of("amounts", "unit", UNITS)]

    def _zone(self, times: Sequence[str]) -> str | None:
        given = self._section("times").get("zone")
        if given is None:
            if times:
                self._refuse(
                    "times.zone",
                    None,
                    f"is not declared, and the file has times ({', '.join(times)})",
                    'write zone = "Asia/Macau" or zone = "UTC"; times that have an offset keep theirs',
                )
            return None
        try:
            ZoneInfo(str(given))
        except (ZoneInfoNotFoundError, ValueError, OSError):
            self._refuse("times.zone", given, "is no zone of the time zone database", _meant(str(given), available_timezones()))
        return str(given)

    def _values(self, side: Side, there: Sequence[str]) -> dict[str, dict[str, str]]:
        section = self._section("values")
        self._known("values", section, there)
        found: dict[str, dict[str, str]] = {}
        for name, table in section.items():
            if not isinstance(table, dict) or not all(isinstance(value, str | bool) for value in table.values()):
                self._refuse(f"values.{name}", table, 'is no table of texts: [values.result] W = "won"')
            found[name] = {str(key): _word(value) for key, value in table.items()}
            words = side.fields[name].words
            for key, value in found[name].items():
                if words and value and value not in words:
                    self._refuse(f"values.{name}.{key}", value, f"is no {name} of the ledger", _meant(value, words))
        return found

    def _only(self) -> dict[str, list[str]]:
        found = {}
        for column, texts in self._section("only").items():
            given = [texts] if isinstance(texts, str) else texts
            if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
                self._refuse(f"only.{column}", texts, "is no text and no list of texts")
            found[column] = given
        return found

    def _trailer(self, amounts: Sequence[str]) -> Trailer | None:
        given = self._section("trailer")
        if not given:
            return None
        count, total = (self._number("trailer", key, None, upto=1000) for key in ("count", "total"))
        return Trailer(
            marker=self._text_of("trailer", "marker", None),
            count=None if count is None else int(count),
            total=None if total is None else int(total),
            of=self._one_of("trailer", "of", amounts) if "of" in given else None,
        )

    def _amounts_of(self, section: str, key: str) -> dict[str, int]:
        given = self._section(section).get(key, {})
        if not isinstance(given, dict):
            self._refuse(f"{section}.{key}", given, 'is no table: { MOP = "0.50" }')
        found = {}
        for currency, text in given.items():
            if not isinstance(text, str):
                self._refuse(f"{section}.{key}.{currency}", text, 'is no text: write "0.50" in quotes')
            found[currency] = parse_plain(text, currency, field=f"{section}.{key}.{currency}", positive=False)
            if found[currency] < 0:
                self._refuse(f"{section}.{key}.{currency}", text, "is below zero")
        return found

    # Single values.

    def _section(self, name: str) -> dict[str, Any]:
        found = self._document if not name else self._document.get(name, {})
        if not isinstance(found, dict):
            self._refuse(name, found, "is no table")
        return found

    def _known(self, section: str, given: Iterable[str], known: Sequence[str]) -> None:
        for key in given:
            if key not in known:
                where = f"{section}.{key}" if section else key
                what = "is no field of what is compared" if section in ("columns", "constants", "values") else "is not known here"
                near = _near(key, known)
                self._refuse(where, None, what, f"did you mean {near}?" if near else f"known: {', '.join(known)}")

    def _texts(self, section: str) -> dict[str, str]:
        found = self._section(section)
        for key, value in found.items():
            if isinstance(value, bool) or not isinstance(value, str | int):
                self._refuse(f"{section}.{key}", value, "is no text")
        return {key: str(value) for key, value in found.items()}

    def _text_of(self, section: str, key: str, default: str | None) -> str:
        found = self._section(section).get(key, default)
        if not isinstance(found, str) or not found:
            self._refuse(f"{section}.{key}".lstrip("."), found, "is no text")
        return found

    def _one_of(self, section: str, key: str, known: Iterable[str], default: Any = ...) -> Any:
        found = self._section(section).get(key, default)
        where, known = f"{section}.{key}".lstrip("."), list(known)
        if found is ...:
            self._refuse(where, None, "is not said", f"one of: {', '.join(known)}")
        if found is not default and found not in known:
            self._refuse(where, found, "is not known here", _meant(str(found), known))
        return found

    def _fields(self, section: str, key: str, there: Sequence[str]) -> list[str]:
        found = self._list(section, key)
        for name in found:
            if name not in there:
                near = _near(name, there)
                self._refuse(
                    f"{section}.{key}",
                    name,
                    "is no column of the file and no constant",
                    f"did you mean {near}?" if near else f"there is: {', '.join(there)}",
                )
        return found

    def _list(self, section: str, key: str) -> list[str]:
        found = self._section(section).get(key, [])
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            self._refuse(f"{section}.{key}", found, "is no list of texts")
        return found

    def _flag(self, section: str, key: str, default: bool) -> bool:
        found = self._section(section).get(key, default)
        if not isinstance(found, bool):
            self._refuse(f"{section}.{key}", found, "is neither true nor false")
        return found

    def _number(self, section: str, key: str, default: float | None, *, upto: int) -> float | None:
        found = self._section(section).get(key, default)
        if found is not None and (isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found <= upto):
            self._refuse(f"{section}.{key}", found, f"is no number from 0 to {upto}")
        return found

    def _character(self, key: str, default: str) -> str:
        found = self._section("file").get(key, default)
        if not isinstance(found, str) or len(found) != 1 or not found.isascii() or found in "\r\n\0":
            self._refuse(f"file.{key}", found, "is no single character", r'a tabulator is written "\t"')
        return found

    def _encoding(self) -> str:
        found = self._text_of("file", "encoding", "utf-8")
        try:
            # Some are no encodings of text, and some cannot say which bytes are none.
            io.TextIOWrapper(io.BytesIO(b"a,1\xff\r\n"), encoding=found, errors="replace").read()
        except (LookupError, ValueError):
            self._refuse("file.encoding", found, "is no encoding known here", 'such as "utf-8", "big5hkscs" or "cp1252"')
        return found

    def _refuse(self, where: str, value: object, detail: str, help: str | None = None) -> NoReturn:
        said = detail if value is None else f"{detail}: {value!r}"
        raise Refusal("LGR-0751", f"`{where}` {said}", field=f"{self._name}: {where}", value=value, help=help)


def _word(value: str | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else value


def _near(text: str, known: Iterable[str]) -> str | None:
    from difflib import get_close_matches

    return next(iter(get_close_matches(text[:64], list(known), 1)), None)


def _meant(text: str, known: Iterable[str]) -> str | None:
    known = list(known)
    near = _near(text, known)
    if near:
        return f"did you mean {near}?"
    return f"one of: {', '.join(known)}" if len(known) < 30 else None


OTHER_ENCODING = (
    "The file is in another encoding than the mapping says: name it under [file] in the mapping (file.encoding), such as big5"
)


def column_missing(column: str, there: Sequence[str], *, file: str, field: str) -> Refusal:
    """What is said of a column that a file has not. LGR-0752."""
    near = _near(column, there)
    shown = ", ".join(there[:30]) or "none"
    if "\ufffd" in shown:
        shown += f". {OTHER_ENCODING}"
    return Refusal(
        "LGR-0752",
        f"the file has no column {column!r}, which the mapping names for `{field}`",
        field=file,
        value=column,
        help=f"did you mean {near!r}? It has: {shown}" if near else f"it has: {shown}",
    )
