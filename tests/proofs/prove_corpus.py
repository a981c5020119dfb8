"""Every kind of planted defect is found and named by its code, in a ledger and in files beside it, and nothing else is.

The files' side fills a ledger of any size, writes clean files of it, plants one kind after the other and reconciles. The clean
files have to be clean. At the end the alarm is unplugged: what is compared is the clean file, and every defect has to be missed.
The ledger's side, where it is there, says of itself what it does.
"""

from __future__ import annotations

import argparse
import logging
import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence

import psycopg
from psycopg import conninfo, sql

from ledger.store import migrate
from ledger.store.embedded import EmbeddedPostgres
from tests.proofs import place
from tests.proofs.corpus import files, house, ledger
from tests.proofs.corpus.files import Outcome

_FAST = {"fsync": "off", "full_page_writes": "off", "shared_buffers": "256MB"}
_SHOWN = 20


def main(argv: Sequence[str]) -> int:
    options = _options(argv)
    place.end_cleanly()
    began = time.monotonic()
    failed = _files(options)
    failed |= _ledger(options)
    verdict = "not as it should be" if failed else "every defect found and named, no false alarm"
    print(f"corpus: {verdict} ({time.monotonic() - began:.0f} s)")
    return 1 if failed else 0


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="dev.py prove corpus", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--short", action="store_true", help="a form of some seconds, with thousands of lines")
    parser.add_argument("--lines", type=int, help="bets of the ledger: 1,000,000, or 2,000 with --short")
    parser.add_argument("--seed", type=int, default=0, help="of what is played and planted")
    parser.add_argument("--only", default="", help="the kinds whose name holds this")
    options = parser.parse_args(argv)
    options.lines = options.lines or (2_000 if options.short else 1_000_000)
    return options


def _files(options: argparse.Namespace) -> bool:
    with place.directory() as directory, EmbeddedPostgres(directory, settings=_FAST) as server:
        dsn = server.conninfo()
        migrate.init(dsn)
        house.fill(dsn, options.lines, seed=options.seed)
        clean = files.base(dsn, directory)
        print(f"files beside a ledger of {options.lines} bets, seed {options.seed}: {files.NUMBER_OF_KINDS} kinds", flush=True)
        twins = [] if options.only else list(_told(files.clean_twins(clean)))
        found = list(_told(files.tried(clean, options.seed, only=options.only)))
        canary = list(files.tried(clean, options.seed, unplugged=True, only=options.only or _CANARY))
    precision, recall = measured([*twins, *found])
    print(f"precision {precision}, recall {recall}")
    unplugged = sum(one.found.total() for one in canary)
    blind = not any(one.missed for one in canary)
    print(f"with the alarm unplugged {unplugged} of {sum(one.expected.total() for one in canary)} are found")
    if blind or unplugged:
        print("  CANARY: the proof does not notice that nothing was planted")
    return blind or bool(unplugged) or any(one.missed or one.alarms for one in [*twins, *found])


def _ledger(options: argparse.Namespace) -> bool:
    logging.disable(logging.CRITICAL)  # many a planted defect stops a projection, which says so with all it has
    kinds = [each for each in ledger.DEFECTS if options.only in each.name]
    if options.short and not options.only:
        kinds = kinds[::_EACH]
    with place.directory() as directory, EmbeddedPostgres(directory, settings=_FAST) as server:
        dsn = server.conninfo()
        clean = _database(dsn, "clean", None)
        ledger.base(clean)
        exported = directory / "log.ndjson"
        ledger.export(clean, exported)
        print(f"in a ledger and its export, seed {options.seed}: {len(kinds)} kinds of {len(ledger.DEFECTS)}", flush=True)
        beside = {"database": ledger.found(clean), "export": ledger.found_in_export(exported)}
        alarms = [each for found in beside.values() for each in found]
        print(f"  clean twins: {len(alarms)} FALSE ALARMS" if alarms else "  clean twins: clean", flush=True)
        missed, blind = [], 0
        for number, kind in enumerate(kinds):
            rng = random.Random(f"{options.seed} {kind.name}")
            if kind.where == "export":
                path = directory / f"{number}.ndjson"
                shutil.copyfile(exported, path)
                planted = kind.plant(path, rng)
                seen = ledger.found_in_export(path)
            else:
                copy = _database(dsn, f"copy_{number}", "clean")
                with psycopg.connect(copy, autocommit=True) as conn:
                    planted = kind.plant(conn, rng)
                seen = ledger.found(copy)
            found = ledger.is_there(planted, seen)
            print(f"  {kind.name}: {'found' if found else 'MISSED'}: {kind.code}", flush=True)
            missed += [] if found else [kind.name]
            blind += ledger.is_there(planted, beside[kind.where])
    hits = len(kinds) - len(missed)
    print(f"precision {hits}/{hits + len(alarms)}, recall {hits}/{len(kinds)}")
    print(f"with nothing planted {blind} of {len(kinds)} are found")
    return bool(missed or alarms or blind)


_EACH = 6
"""Of so many kinds of the ledger's side the short form plants one; the tests plant others."""


def _database(server: str, name: str, template: str | None) -> str:
    """A database of the server: a ledger with nothing in it, or a copy of one."""
    with psycopg.connect(server, autocommit=True) as admin:
        made = sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name))
        admin.execute(made if template is None else made + sql.SQL(" TEMPLATE {}").format(sql.Identifier(template)))
    dsn = conninfo.make_conninfo(server, dbname=name)
    if template is None:
        migrate.init(dsn)
    return dsn


_CANARY = "a stake"
"""The kinds with which the alarm is tried unplugged."""


def _told(outcomes: Iterable[Outcome]) -> Iterable[Outcome]:
    for one in outcomes:
        verdict = "found" if one.kinds else "clean"
        if one.missed or one.alarms:
            verdict = f"{len(one.missed)} MISSED, {len(one.alarms)} FALSE ALARMS"
        codes = ", ".join(f"{code} {number}" for code, number in sorted(one.found.items()) if number)
        kinds = f" ({len(one.kinds)} kinds)" if len(one.kinds) > 1 else ""
        print(f"  {one.name}{kinds}: {verdict}{': ' if codes else ''}{codes}", flush=True)
        for line in [*(f"missed: {line}" for line in one.missed), *(f"false: {line}" for line in one.alarms)][:_SHOWN]:
            print(f"    {line}")
        yield one


def measured(outcomes: Sequence[Outcome]) -> tuple[str, str]:
    """Of all that was found, what had been planted; of all that had been planted, what was found."""
    counts: Counter[str] = Counter()
    for one in outcomes:
        counts["planted"] += one.expected.total()
        counts["hit"] += one.found.total()
        counts["false"] += len(one.alarms)
    found = counts["hit"] + counts["false"]
    return f"{counts['hit']}/{found}", f"{counts['hit']}/{counts['planted']}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
