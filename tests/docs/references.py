"""Writes what is made and not written: reference pages and the door's examples. Tests hold each file to what is made today.

python3 dev.py run -- python -m tests.docs.references
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
import psycopg

from cli.main import roundledger
from ledger import events, reports, rights
from ledger.api import codes
from ledger.audit.findings import CODES as FINDINGS
from ledger.errors import CODES
from ledger.pages import page
from ledger.reports import TYPES, Data
from ledger.store import migrate
from ledger.store.embedded import EmbeddedPostgres
from projections.movements import ACCOUNTS, SLIPS
from projections.reconcile.mapping import ready
from projections.reconcile.reasons import REASONS
from projections.reconcile.sides import SIDES
from tests.docs import door_examples

ROOT = Path(__file__).resolve().parents[2]
MADE_BY = "python3 dev.py run -- python -m tests.docs.references"
EXAMPLES = ROOT / "ledger" / "api" / "examples.json"
PAGES = ROOT / "docs" / "reference"
_HEAD = f"<!-- Made by `{MADE_BY}`; do not edit. -->\n"

_JSON = {
    "UUID": "UUID",
    "str": "text",
    "int": "whole number",
    "datetime": "time, UTC",
    "date": "date",
    "bool": "true or false",
    "tuple[int, ...]": "list of whole numbers",
    "tuple[str, ...]": "list of texts",
    "tuple[UUID, ...]": "list of UUIDs",
    "tuple[LostBet, ...]": "list of LostBet",
    "tuple[MovedBet, ...]": "list of MovedBet",
    "tuple[CarriedBet, ...]": "list of CarriedBet",
    "tuple[ReturnedBet, ...]": "list of ReturnedBet",
    "tuple[Chips, ...]": "list of Chips",
    "tuple[DayTotal, ...]": "list of DayTotal",
    "Standing": "Standing",
}
"""How a field stands in the payload."""

_PARTS = (events.LostBet, events.MovedBet, events.CarriedBet, events.ReturnedBet, events.Standing, events.Chips, events.DayTotal)
"""What stands within events; each is told below the first that has it."""

GROUPS = {
    "01": "The input's shape",
    "02": "The life of a round",
    "03": "Retries and terminals",
    "04": "Rules",
    "05": "The store",
    "06": "The property's configuration",
    "07": "The command line",
    "08": "Who may do what",
}


OF_FINDINGS = """`roundledger verify` names what it finds by one of these codes. A code never changes its meaning, and a finding
keeps its id from run to run as long as the same thing is wrong at the same place. How they are found is told in
[what the audit does](../explanation/audit.md).
"""


def events_page() -> str:
    """Every event of the log with its fields."""
    said = fields_told(*sorted(Path(inspect.getfile(events)).parent.glob("*.py")))
    told: set[type[msgspec.Struct]] = set()
    parts = [
        "# Events\n",
        _HEAD,
        EVENTS,
        "## What every event carries\n",
        "All but DocumentRecorded.\n",
        *_fields(events.Body, said),
    ]
    for model in events.EVENTS:
        parts += [f"## {model.__name__}\n", f"{inspect.getdoc(model)}\n", f"Topic: `{model.TOPIC}`. {_posted(model)}\n"]
        parts += _fields(model, said, without=events.Body if issubclass(model, events.Body) else None)
        for part in _PARTS:
            if part not in told and any(part.__name__ in str(field.type) for field in msgspec.structs.fields(model)):
                told.add(part)
                parts += [f"### {part.__name__}\n", f"{inspect.getdoc(part)}\n", *_fields(part, said)]
    return _page(parts)


def _posted(model: type[events.Event]) -> str:
    posted = f"roundledger.{model.TOPIC}"
    return f"Terminals post it as `{posted}`." if posted in TYPES else "The ledger makes it; no terminal posts it."


def _fields(model: type[Any], said: dict[str, dict[str, str]], without: type[Any] | None = None) -> Iterator[str]:
    left_out = {field.name for field in msgspec.structs.fields(without)} if without else set()
    hints = {name: kind for each in reversed(model.__mro__) for name, kind in inspect.get_annotations(each).items()}
    lines = ["| field | is | meaning |", "|---|---|---|"]
    for field in msgspec.structs.fields(model):
        if field.name in left_out:
            continue
        kind = str(hints[field.name]).removesuffix(" | None")
        meaning = next(said[each.__name__][field.name] for each in model.__mro__ if field.name in said.get(each.__name__, {}))
        lines.append(f"| `{field.name}` | {_JSON[kind]}{'' if field.required else ', optional'} | {' '.join(meaning.split())} |")
    yield "\n".join(lines if len(lines) > 2 else ["No fields of its own."]) + "\n"


def fields_told(*sources: Path) -> dict[str, dict[str, str]]:
    """Class → field → the string below it."""
    found: dict[str, dict[str, str]] = {}
    for node in [node for source in sources for node in ast.parse(source.read_text("utf-8")).body]:
        if isinstance(node, ast.ClassDef):
            bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
            inherited = {field: words for base in bases for field, words in found.get(base, {}).items()}
            found[node.name] = inherited | {
                field.target.id: below.value.value
                for field, below in zip(node.body, node.body[1:], strict=False)
                if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
                if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str)
            }
    return found


def refusals_page() -> str:
    """Every code with its page."""
    parts = [
        "# Refusals\n",
        _HEAD,
        REFUSALS,
    ]
    for group, title in GROUPS.items():
        parts.append(f"## {group}: {title}\n")
        for code, meaning in sorted(CODES.items()):
            if code.startswith(f"LGR-{group}"):
                text = page(code)
                assert text is not None
                again = "worth sending again" if meaning.retryable else "not worth sending again"
                again += " while something before it may be under way" if meaning.early else ""
                words = text.split("\n\n")[1].replace("<", "\\<")
                parts += [f"### {code}\n", f"**{meaning.title}.** {words}\n", f"HTTP {meaning.status}; {again}.\n"]
    return _page(parts)


def posted_page() -> str:
    """Every event that is posted, with the fields of its data."""
    said = fields_told(Path(inspect.getfile(reports)))
    examples = json.loads(EXAMPLES.read_text("utf-8"))["events"]
    parts = ["# What is posted\n", _HEAD, POSTED, *_listed(codes.ANY_EVENT), "| type | says |\n|---|---|"]
    for topic, model in TYPES.items():
        parts[-1] += f"\n| [`{topic.split('.')[1]}`](#{topic.split('.')[1].lower()}) | {_first(model)} |"
    parts[-1] += "\n"
    parted: set[str] = set()
    for topic, model in TYPES.items():
        parts += [f"## {topic.split('.')[1]}\n", f"{inspect.getdoc(model)}\n"]
        parts += [f"Type: `{topic}`. Posted by {_posters(rights.ACTS[model])}{_own_posters(model)}.\n"]
        parts += [_data(model, said[model.__name__]) + "\n"]
        for part in _posted_parts(model):
            if part.__name__ not in parted:
                parted.add(part.__name__)
                parts += [f"### {part.__name__}\n", f"{inspect.getdoc(part)}\n", _data(part, said[part.__name__]) + "\n"]
        parts += ["It can be refused, beside what any event can be refused with:\n", *_listed(codes.BY_REPORT[model])]
        parts += [f"```json\n{json.dumps(examples[model.__name__], indent=2, ensure_ascii=False)}\n```\n"]
    return _page(parts)


def _posted_parts(model: type[Any]) -> list[type[Any]]:
    """What stands in lists of a report."""
    return [part for part in (reports.ChipsOf, reports.TotalOfDay) if part.__name__ in msgspec.json.schema(model)["$defs"]]


def _first(model: type[Any]) -> str:
    """The first sentence of what a report says."""
    return str(inspect.getdoc(model)).split("\n")[0].split(". ")[0].rstrip(".") + "."


def _posters(who: Sequence[str]) -> str:
    names = ["a terminal of the table" if each == "terminal" else f"a person with the role `{each}`" for each in who]
    return " or ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def _own_posters(model: type[Data]) -> str:
    more = [who for who in rights.OF_ONES_OWN.get(model, ()) if who not in rights.ACTS[model]]
    return f"; of what one has oneself proposed, also by {_posters(more)}" if more else ""


def _listed(some: Iterable[str]) -> Iterator[str]:
    yield "\n".join(f"- [`{code}`](refusals.md#{code.lower()}) {CODES[code].title}" for code in sorted(some)) + "\n"


def _data(model: type[Any], said: dict[str, str]) -> str:
    """The table of the fields of a report's data."""
    lines = ["| field of `data` | is | has to be there | meaning |", "|---|---|---|---|"]
    properties = msgspec.json.schema(model)["$defs"][model.__name__]["properties"]
    for field in msgspec.structs.fields(model):
        schema = next(iter(properties[field.name].get("anyOf", [properties[field.name]])))
        needed = "yes" if field.required else "no"
        lines.append(
            f"| `{field.name}` | {_type(schema, 'currency' in properties)} | {needed} | {' '.join(said[field.name].split())} |"
        )
    return "\n".join(lines) if len(lines) > 2 else "No fields: `data` is `{}`, or left out."


def _type(schema: dict[str, Any], with_currency: bool) -> str:
    """A field's type and unit, in words."""
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[1]
    if schema["type"] == "boolean":
        return "true or false"
    if schema["type"] == "array":
        each = _type(schema["items"], with_currency)
        return f"list of up to {schema['maxItems']} {each}{'' if '$ref' in schema['items'] else 's'}"
    if schema.get("format") == "date":
        return "date, such as `2026-11-29`"
    if schema["type"] == "integer":
        return f"whole number, {schema['minimum']} to {schema['maximum']}"
    if schema.get("format") == "uuid":
        return "UUID"
    said = str(schema.get("description", ""))
    if said == "Minor units, with a sign.":
        return "text of a whole number of minor units, with a minus where it is below zero"
    if said.startswith("Minor units") and said.endswith('or "0".'):
        return "text of digits, 0 to 10^15 minor units of `currency`"
    if said.startswith("Minor units"):
        return f"text of digits, 1 to 10^15 minor units of {'`currency`' if with_currency else 'the currency of the round'}"
    if said.startswith("ISO 4217"):
        return "text, code of ISO 4217"
    if said.startswith("An opaque reference"):
        return "reference"
    if said.startswith("One line"):
        return f"text of one line, up to {schema['maxLength']} characters"
    shown = ", ".join(f"`{example}`" for example in schema["examples"])
    return f"text such as {shown}, up to {schema['maxLength']} characters"


def accounts_page() -> str:
    """The chart of accounts, and what slips move."""
    accounts = ["| account | has |\n|---|---|", *(f"| `{name}` | {words} |" for name, words in ACCOUNTS.items())]
    slips = [
        "| slip | from | to |\n|---|---|---|",
        *(f"| {kind} | `{_named(debit)}` | `{_named(credit)}` |" for kind, (debit, credit) in SLIPS.items()),
    ]
    return _page(["# Accounts\n", _HEAD, CHART, "\n".join(accounts) + "\n", OF_SLIPS, "\n".join(slips) + "\n", COUNT_WIN])


def cli_page() -> str:
    """Every command with its help text."""
    told = list(_commands(click.Context(roundledger, info_name="roundledger", **_ON_PAPER)))
    listed = "\n".join(f"- [`{name}`](#{name.replace(' ', '-')})" for name, _ in told) + "\n"
    parts = [f"## {name}\n\n```text\n{text}\n```\n" for name, text in told]
    return _page(["# Commands\n", _HEAD, COMMANDS, listed, *parts])


_ON_PAPER: dict[str, Any] = {"help_option_names": ["-h", "--help"], "terminal_width": 100, "color": False}


def _commands(ctx: click.Context) -> Iterator[tuple[str, str]]:
    """(name, help text) of a command and of all below it."""
    yield ctx.command_path, "\n".join(line.rstrip() for line in ctx.get_help().splitlines())
    if isinstance(ctx.command, click.Group):
        for name in ctx.command.list_commands(ctx):
            command = ctx.command.get_command(ctx, name)
            assert command is not None
            if not command.hidden:
                yield from _commands(click.Context(command, info_name=name, parent=ctx, **_ON_PAPER))


def findings_page() -> str:
    """The reason codes of an audit."""
    codes = ["| code | what it says |\n|---|---|", *(f"| `{code}` | {words} |" for code, words in FINDINGS.items())]
    return _page(["# Findings\n", _HEAD, OF_FINDINGS, "\n".join(codes) + "\n"])


def _named(account: str) -> str:
    return account.replace("{", "<").replace("}", ">")


def rights_page() -> str:
    """Who may report and who may read what."""
    parts = ["# Who may do what\n", _HEAD, RIGHTS, "## What is reported\n"]
    names = {model: topic for topic, model in TYPES.items()}
    acts = (
        (f"`{names[model]}`", _cells(may, rights.OF_ONES_OWN.get(model, ())), _by(model)) for model, may in rights.ACTS.items()
    )
    parts += _matrix("event", acts)
    resolves = [("an exception of a recorded [reconciliation](../how-to/reconcile.md)", _cells(rights.RESOLVES), _RESOLVED)]
    parts += ["## What is resolved\n", RESOLVES, *_matrix("what", resolves)]
    parts += ["## What is read\n", READS]
    reads = (*rights.READS.items(), ("any other", rights.UNLISTED))
    parts += _matrix(
        "path begins with",
        ((f"`{path}`" if path[0] == "/" else path, _cells(may), _GOES_BY[rights.goes_by(path)]) for path, may in reads),
    )
    return _page(parts)


def _by(model: type[Data]) -> str:
    if model in reports.ABOUT_PROPERTIES:
        return "that it names"
    return "that has the table now" if "table" in model.__struct_fields__ else "of the round"


_RESOLVED = "that has its table now; where none has, each of the ledger"
RESOLVES = """\
On the command line, by token (`roundledger reconcile resolve`); it changes nothing in the log.
"""
_GOES_BY = {"one": "that it belongs to", "any": "any", "all": "each of the ledger"}


def _cells(may: Sequence[str], own: Sequence[str] = ()) -> list[str]:
    return ["yes" if each in may else "own" if each in own else "" for each in rights.EVERYBODY]


def _matrix(what: str, rows: Iterable[tuple[str, Sequence[str], str]]) -> Iterator[str]:
    who = rights.EVERYBODY
    lines = [f"| {what} | {' | '.join(who)} | property |", "|---" * (len(who) + 2) + "|"]
    lines += [f"| {name} | {' | '.join(cells)} | {by} |" for name, cells, by in rows]
    yield "\n".join(lines) + "\n"


def tables_page(dsn: str) -> str:
    """What a migrated database says of itself."""
    parts = [
        "# Tables\n",
        _HEAD,
        TABLES,
    ]
    with psycopg.connect(dsn) as conn:
        for schema, title in _SCHEMAS:
            row = conn.execute("SELECT obj_description(%s::regnamespace, 'pg_namespace')", (schema,)).fetchone()
            parts += [f"## {title}\n", f"{row[0] if row else ''}\n", *_relations(conn, schema, "###")]
    return _page(parts)


COMMANDS = """\
What `--help` says, of every command. Data goes to stdout, words go to stderr; `--json` and `--csv` are for programs, and
`--quiet` leaves the words out. Every command ends with 0 (done, and where something was compared, equal), 1 (a difference was
found) or 2 (it could not be done); with 130 where it was interrupted, and 141 where nobody read on, as after `| head`.
`roundledger help CODE` says what an [error code](refusals.md) means, `roundledger completion SHELL` makes a shell complete
commands, and `roundledger man` writes these texts as manual pages.
"""
_SCHEMAS = (
    ("ledger", "Schema ledger: what is written"),
    ("projection", "Schema projection: what is read"),
    ("reconciliation", "Schema reconciliation: what was found beside files"),
)


def mappings_page() -> str:
    """The keys of a mapping, and the fields of each side."""
    parts = ["# Mappings\n", _HEAD, MAPPINGS]
    for side in SIDES.values():
        lines = ["| field | is | meaning | differs as |", "|---|---|---|---|"]
        for name, field in side.fields.items():
            words = f": {', '.join(f'`{word}`' for word in field.words)}" if field.words else ""
            differs = "" if field.key_only else f"[`{field.reason}`](reason-codes.md#{field.reason.lower()})"
            lines.append(f"| `{name}` | {field.kind}{words} | {field.said} | {differs} |")
        parts += [f'## compare = "{side.name}"\n', f"{side.said[0].upper()}{side.said[1:]}: the view `report.{side.view}`.\n"]
        parts += ["\n".join(lines) + "\n"]
    parts += ["## Ready ones\n", "`roundledger reconcile mappings show NAME` prints one.\n"]
    for name, text in ready().items():
        parts += [f"### {name}\n", f"```toml\n{text.rstrip()}\n```\n"]
    return _page(parts)


def reasons_page() -> str:
    """Every reason code."""
    parts = ["# Reason codes\n", _HEAD, REASON_CODES]
    for code, reason in REASONS.items():
        parts += [f"## {code}\n", f"{reason.meaning}\n", f"*What to do.* {reason.help}\n"]
    return _page(parts)


CHART = """\
Every amount that moves is one row of `movements`: it leaves one account, its debit, and reaches another, its credit. So what an
event moves sums to zero by construction, and so do all balances of a currency. A balance is credits less debits, in minor units.
What a round moves is told [where the money goes](../explanation/money-flow.md).
"""

OF_SLIPS = """\
## What a slip moves

Once another person has signed it; its cancellation, once that is signed, moves the same the other way.
"""

COUNT_WIN = """\
An opener takes the chips out of the tray into play, a closer locks them away again. So of a table that has closed, whose drop is
counted, the float has openers + fills − credits − drop − closers left: the count win, with its sign turned. The win of the rounds
has its own accounts, made of bets and of nothing that was counted; `projection.table_days` lays the two beside each other.
"""


def report_views_page(dsn: str) -> str:
    """What a migrated database says of the views for reports and BI."""
    with psycopg.connect(dsn) as conn:
        return _page(["# Views for reports and BI\n", _HEAD, REPORT_VIEWS, *_relations(conn, "report", "##")])


def _relations(conn: psycopg.Connection[Any], schema: str, heading: str) -> Iterator[str]:
    """Each table and view of a schema, with its columns."""
    for name, kind, comment in conn.execute(_TABLES, (schema,)).fetchall():
        is_view = kind == "v" and schema != "report"
        yield from (f"{heading} {schema}.{name}\n", f"{'View. ' if is_view else ''}{comment}\n")
        lines = ["| column | type | meaning |", "|---|---|---|"]
        for column, type_, null, said in conn.execute(_COLUMNS, (f"{schema}.{name}",)).fetchall():
            lines.append(f"| `{column}` | {type_}{', or null' if null and kind != 'v' else ''} | {said} |")
        yield from ("\n".join(lines), "")


EVENTS = """\
What the log holds, event by event. The payload is flat JSON; in SQL it is the column `body` of `ledger.log` (see
[tables](tables.md)). Amounts are text of whole minor units of the event's currency: `"10000"` is MOP 100.00. Exact figures, odds
and edges are fractions as text, such as `35` or `1/3`. A field marked *optional* is left out where it says nothing.

What a terminal posts is less than what is stored: see [what is posted](posted.md).
"""

POSTED = """\
What a terminal, or a person at a desk, tells the ledger: `POST /v1/events`, one event or an array of up to 1000, as CloudEvents
1.0 in JSON. [Post a round](../how-to/post-a-round.md) does it step by step, [who may do what](rights.md) has the rights as a
matrix, [events](events.md) what the log then holds. The examples were posted to a real door, and accepted.

| attribute | is | has to be there | meaning |
|---|---|---|---|
| `specversion` | `1.0` | yes | The version of CloudEvents. |
| `id` | UUID | yes | The event's own, made when it happened and kept for every retry. |
| `source` | `/terminals/` or `/people/`, and an id | yes | The terminal, or the person, that reports. |
| `type` | text | yes | What happened: one of the types below. |
| `subject` | UUID, or a table's reference | yes | The round, whose id the terminal makes; of staff the table. |
| `time` | time of RFC 3339 with its offset | yes | When it happened, by the terminal's clock. |
| `sequence` | digits as text | no | The terminal's number of the event, from 1. |
| `epoch` | digits as text | no | The terminal's count of its restarts; its numbers begin anew with each. |
| `datacontenttype` | `application/json` | no | The media type of `data`. |
| `data` | object | yes, where it has fields | What is said, by the type. |

Other attributes of CloudEvents may be there and count for nothing. Unknown fields of `data` are refused. A *reference* is 1 to 64
ASCII letters, digits and `. _ : -`, beginning with a letter or digit; it is never a person's name. A field that may be left out
may also be `null`.

Any event can be refused with:
"""

REFUSALS = """\
Every error that a person or a terminal can cause has a code, which never changes its meaning. The door answers it as a problem of
RFC 9457 with the HTTP status given here; the command line prints `error[CODE]` and exits with 2. `roundledger help CODE`
and `GET /problems/CODE` print the same text. *Worth sending again* means that the very same input may succeed later.

Some are so only while something that comes before may still be under way. An event with a number is judged for good where
nothing is missing that its terminal numbered before it: `retryable` is then false, and the id stays refused. What is not there
by its id (404) may also be another terminal's, so at a table that has several it stays worth sending again.
"""

MAPPINGS = Path(__file__).with_name("mapping_keys.txt").read_text("utf-8")
"""The keys: lines of a table cannot be broken."""

REASON_CODES = """\
What `roundledger reconcile` calls a difference, in the order in which it lists them. A code never changes its meaning. Codes of a
whole file stand first: where one is there, see to it before the others.
"""

RIGHTS = """\
A terminal acts for its own table, by its signature; a person in a role, by token, in the property that gives the role. Both may
be in one request: what a person does at a terminal bears the terminal's signature and the person's token. See [secure the
door](../how-to/secure-the-door.md).

The last column says which property's configuration in force gives the roles and names the terminals. A round belongs to the
property under which it was opened, for as long as the log lives, whoever has its table by now. Where that property has the
table no more, a terminal that was the table's when the round was opened still posts what it kept while it was offline. How soon
a change counts is on the page [secure the door](../how-to/secure-the-door.md#how-soon-it-counts).

Who is not let in gets `LGR-0801` (a person has to prove who they are), `LGR-0802` or `LGR-0803` (the token or signature does
not hold) or `LGR-0804` (they may not do this); nothing is stored and no event id is used up. Beyond this matrix a correction
takes two persons: nobody approves what is their own. In the matrix *own* is said of what one has oneself proposed, and of
nothing else. A dealer signs on and off nobody but themselves. Nobody is signed on whom the property does not know in that role
(`LGR-0610`). The configuration is applied, and keys and tokens are issued, on the
command line of whoever can open the database.

On a machine of one's own, without `--require-auth`, a terminal needs no signature and is believed to be the one that it names,
at any table; what takes a person takes their token all the same.
"""

READS = """\
A terminal reads the rounds of its own table, and what was received of itself. A person reads the rounds of the properties in
which they have a role. What is told of all properties of the ledger together takes the role in each of them. `/healthz`,
`/readyz` and `/problems/` everybody reads; on a machine of one's own, without `--require-auth`, everybody reads everything.
"""

TABLES = """\
For readers in SQL. `roundledger db start` keeps the embedded Postgres running, and `roundledger db psql-url` says where it is.
Nothing here is to be written by hand: the log refuses it, and a replay finds it in the projections.

## Two queries

The books balance: per currency, all balances sum to zero.

```console
$ roundledger demo --rounds 2 --table R01 --table C02 > /dev/null 2>&1
$ roundledger db start
…
$ psql "$(roundledger db psql-url)" -c 'SELECT currency, sum(balance) FROM projection.balances GROUP BY 1 ORDER BY 1'
 currency | sum
----------+-----
 HKD      |   0
 MOP      |   0
(2 rows)

```

The log itself, by kind of event; `body` is the whole payload.

```console
$ psql "$(roundledger db psql-url)" -c "SELECT topic, count(*) FROM ledger.log WHERE body ? 'bet' GROUP BY 1 ORDER BY 1"
…
 BetPlaced.v1  | …
 PayoutMade.v1 | …
(2 rows)

$ roundledger db stop
stopped
```
"""

REPORT_VIEWS = """\
The schema `report` is the contract for whoever reads with SQL: finance, the regulator, BI tools. A view keeps its columns, with
their names, types and meaning, from one release to the next; new columns join at the end. Amounts are exact decimals of the row's
currency (`100.00` of MOP), and are never to be added across currencies; `bets.prize_exact` and `stakes.stakes` are text,
in minor units. Times are instants; gaming days are
the house's book days. What a figure is and is not is told in the comment on its column, which is what stands below.

`ledger_report` is a role that may read these views and nothing else of the database. It cannot log in itself: grant it to whoever
shall read.

```sql
CREATE ROLE bi LOGIN PASSWORD '...';
GRANT ledger_report TO bi;
```

Who logs in needs a Postgres server of your own (`LEDGER_DSN`): the bundled one takes the processes of this machine alone, over
its socket, and no tool from elsewhere.

`roundledger db init` makes the role where its own role may make roles. Where it may not, the operator makes it once:

```sql
CREATE ROLE ledger_report NOLOGIN;
GRANT USAGE ON SCHEMA report TO ledger_report;
GRANT SELECT ON ALL TABLES IN SCHEMA report TO ledger_report;
```

`report.state` says how far the figures go. The service folds the log all the time; without one,
`roundledger report` does it first.
"""

_TABLES = """
SELECT relname, relkind, obj_description(oid, 'pg_class') FROM pg_class
WHERE relnamespace = %s::regnamespace AND relkind IN ('r', 'v') ORDER BY relname
"""
_COLUMNS = """
SELECT attname, format_type(atttypid, atttypmod), NOT attnotnull, col_description(attrelid, attnum) FROM pg_attribute
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""


def examples(dsn: str) -> str:
    """The file of the door's examples, from a migrated database without a log."""
    return json.dumps(door_examples.made(dsn), indent=1, ensure_ascii=False) + "\n"


def _page(parts: list[str]) -> str:
    return "\n".join(parts).rstrip("\n") + "\n"


def main() -> int:
    (PAGES / "events.md").write_text(events_page(), "utf-8")
    (PAGES / "rights.md").write_text(rights_page(), "utf-8")
    (PAGES / "accounts.md").write_text(accounts_page(), "utf-8")
    (PAGES / "cli.md").write_text(cli_page(), "utf-8")
    (PAGES / "refusals.md").write_text(refusals_page(), "utf-8")
    (PAGES / "mappings.md").write_text(mappings_page(), "utf-8")
    (PAGES / "reason-codes.md").write_text(reasons_page(), "utf-8")
    (PAGES / "findings.md").write_text(findings_page(), "utf-8")
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o711)  # as root the server is another user
        with EmbeddedPostgres(Path(directory)) as server:
            migrate.init(server.conninfo())
            (PAGES / "tables.md").write_text(tables_page(server.conninfo()), "utf-8")
            (PAGES / "report-views.md").write_text(report_views_page(server.conninfo()), "utf-8")
            EXAMPLES.write_text(examples(server.conninfo()), "utf-8")
    (PAGES / "posted.md").write_text(posted_page(), "utf-8")  # which shows the examples
    return 0


if __name__ == "__main__":
    sys.exit(main())
