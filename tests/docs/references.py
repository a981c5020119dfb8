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

import msgspec
import psycopg

from ledger import events, rights
from ledger.errors import CODES
from ledger.pages import page
from ledger.reports import TYPES
from ledger.store import migrate
from ledger.store.embedded import EmbeddedPostgres
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
    "Standing": "Standing",
}
"""How a field stands in the payload."""

_PARTS = (events.LostBet, events.MovedBet, events.CarriedBet, events.ReturnedBet, events.Standing)
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


def events_page() -> str:
    """Every event of the log with its fields."""
    said = _docstrings()
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


def _docstrings() -> dict[str, dict[str, str]]:
    """Class → field → the string below it."""
    found: dict[str, dict[str, str]] = {}
    sources = Path(inspect.getfile(events)).parent.glob("*.py")
    for node in [node for source in sorted(sources) for node in ast.parse(source.read_text("utf-8")).body]:
        if isinstance(node, ast.ClassDef):
            found[node.name] = {
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


def rights_page() -> str:
    """Who may report and who may read what."""
    who = rights.EVERYBODY
    parts = ["# Who may do what\n", _HEAD, RIGHTS, "## What is reported\n"]
    names = {model: topic for topic, model in TYPES.items()}
    parts += _matrix("event", who, ((f"`{names[model]}`", may) for model, may in rights.ACTS.items()))
    parts += ["## What is read\n", READS]
    parts += _matrix("path begins with", who, ((f"`{path}`", may) for path, may in rights.READS.items()))
    return _page(parts)


def _matrix(what: str, who: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]) -> Iterator[str]:
    lines = [f"| {what} | {' | '.join(who)} |", "|---" * (len(who) + 1) + "|"]
    lines += [f"| {name} | {' | '.join('yes' if each in may else '' for each in who)} |" for name, may in rows]
    yield "\n".join(lines) + "\n"


def tables_page(dsn: str) -> str:
    """What a migrated database says of itself."""
    parts = [
        "# Tables\n",
        _HEAD,
        TABLES,
    ]
    with psycopg.connect(dsn) as conn:
        for schema, title in (("ledger", "Schema ledger: what is written"), ("projection", "Schema projection: what is read")):
            row = conn.execute("SELECT obj_description(%s::regnamespace, 'pg_namespace')", (schema,)).fetchone()
            parts += [f"## {title}\n", f"{row[0] if row else ''}\n"]
            for name, kind, comment in conn.execute(_TABLES, (schema,)).fetchall():
                parts += [f"### {schema}.{name}\n", f"{'View. ' if kind == 'v' else ''}{comment}\n"]
                lines = ["| column | type | meaning |", "|---|---|---|"]
                for column, type_, null, said in conn.execute(_COLUMNS, (f"{schema}.{name}",)).fetchall():
                    lines.append(f"| `{column}` | {type_}{', or null' if null and kind != 'v' else ''} | {said} |")
                parts += ["\n".join(lines), ""]
    return _page(parts)


EVENTS = """\
What the log holds, event by event. The payload is flat JSON; in SQL it is the column `body` of `ledger.log` (see
[tables](tables.md)). Amounts are text of whole minor units of the event's currency: `"10000"` is MOP 100.00. Exact figures, odds
and edges are fractions as text, such as `35` or `1/3`. A field marked *optional* is left out where it says nothing.

What a terminal posts is less than what is stored: see [how to post a round](../how-to/post-a-round.md).
"""

REFUSALS = """\
Every error that a person or a terminal can cause has a code, which never changes its meaning. The door answers it as a problem of
RFC 9457 with the HTTP status given here; the command line prints `error[CODE]` and exits with 2. `roundledger explain-error CODE`
and `GET /problems/CODE` print the same text. *Worth sending again* means that the very same input may succeed later.

Some are so only while something that comes before may still be under way. An event with a number is judged for good where
nothing is missing that its terminal numbered before it: `retryable` is then false, and the id stays refused. What is not there
by its id (404) may also be another terminal's, so at a table that has several it stays worth sending again.
"""

RIGHTS = """\
A terminal acts for its own table, by its signature; a person in a role, by token, at the tables of the property that gives the
role. Both may be in one request: what a person does at a terminal bears the terminal's signature and the person's token. See
[secure the door](../how-to/secure-the-door.md).

Who is not let in gets `LGR-0801` (a person has to prove who they are), `LGR-0802` or `LGR-0803` (the token or signature does not
hold) or `LGR-0804` (they may not do this); nothing is stored and no event id is used up. Beyond this matrix a correction takes
two persons: nobody approves what is their own. A dealer signs on and off nobody but themselves. Admins apply the configuration
and issue keys and tokens on the command line.
"""

READS = """\
A terminal reads the rounds of its own table, and what was received of itself. What is not listed, auditors and admins may read;
`/healthz`, `/readyz` and `/problems/` everybody. On a machine of one's own, without `--require-auth`, everybody reads everything.
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
    (PAGES / "refusals.md").write_text(refusals_page(), "utf-8")
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o711)  # as root the server is another user
        with EmbeddedPostgres(Path(directory)) as server:
            migrate.init(server.conninfo())
            (PAGES / "tables.md").write_text(tables_page(server.conninfo()), "utf-8")
            EXAMPLES.write_text(examples(server.conninfo()), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
