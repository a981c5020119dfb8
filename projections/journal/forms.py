"""The forms of a journal. The same log gives the same bytes.

beancount  accounts such as `Assets:Win:R01`, all below one root: an amount is what the account has, no profit and no debt of the
           house's books. The ledger's own name is in the account's metadata; position, event, round, slip and bet are in those of
           a transaction and its postings. A day ends in `balance` directives, which stand on the next day, for beancount checks
           them where a day begins; their tolerance is 0, for beancount's own would let a minor unit pass.
hledger    accounts such as `win:R01`; what beancount has as metadata is in tags, the position in the transaction's code. A day
           ends in a transaction that moves nothing and asserts every balance.
csv        one record a leg, `record` says what it is: `opening`, `posting`, or `balance`, which has no amount.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import IO
from urllib.parse import quote

from ledger.money import format_plain, minor_digits
from projections.journal.entries import Closing, Entry, Journal, Opening, Transaction

_BATCH = 2000


@dataclass
class Written:
    """What a journal came to."""

    transactions: int = 0
    postings: int = 0
    assertions: int = 0


def write(journal: Journal, form: str, about: Mapping[str, str], out: IO[bytes]) -> Written:
    """Writes a journal in one of `FORMS`; `about` is said at its head, where the form has a place for it."""
    written = Written()
    begin, entry = FORMS[form]
    out.write(_encoded(begin(journal, about)))
    entries = _counted(journal.entries, written)
    while batch := list(islice(entries, _BATCH)):
        out.write(_encoded(line for each in batch for line in entry(each)))
    return written


def _encoded(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _counted(entries: Iterable[Entry], written: Written) -> Iterator[Entry]:
    for entry in entries:
        if isinstance(entry, Closing):
            written.assertions += len(entry.lines)
        else:
            written.transactions += 1
            written.postings += len(entry.legs if isinstance(entry, Transaction) else entry.lines)
        yield entry


def _name(topic: str) -> str:
    return topic.partition(".")[0]


# ------------------------------------------------------------------------------------------------------------------ beancount

_AS_IT_IS = re.compile("(?!Ref-)[A-Z0-9][A-Za-z0-9-]*", re.ASCII)
"""What beancount takes as a part of an account's name, and is not what a reference becomes that it does not take."""


def beancount_account(account: str) -> str:
    """An account as beancount names it; no two of the ledger's become one."""
    kind, _, reference = account.partition("/")
    return f"Assets:{kind.capitalize().replace('_', '-')}:{_part(reference)}"


def _part(reference: str) -> str:
    if _AS_IT_IS.fullmatch(reference):
        return reference
    return "Ref-" + "".join(chr(byte) if chr(byte).isalnum() and byte < 128 else f"-{byte:02x}" for byte in reference.encode())


def _beancount_head(journal: Journal, about: Mapping[str, str]) -> Iterator[str]:
    yield from (f"; {name}: {value}" for name, value in about.items())
    yield "; amounts have the sign of `roundledger balances`: positive in the account that they reach"
    currencies = sorted({currency for _, some in journal.accounts for currency in some})
    yield 'option "title" "roundledger"'
    yield from (f'option "operating_currency" "{currency}"' for currency in currencies)
    yield from (f"{journal.begins} commodity {currency}" for currency in currencies)
    for account, some in journal.accounts:
        yield f"{journal.begins} open {beancount_account(account)} {','.join(some)}"
        yield f'  account: "{account}"'


def _beancount(entry: Entry) -> Iterator[str]:
    yield ""
    if isinstance(entry, Closing):
        day = entry.day + timedelta(days=1)
        for account, currency, balance in entry.lines:
            yield f"{day} balance {beancount_account(account)} {format_plain(balance, currency)} ~ 0 {currency}"
        return
    if isinstance(entry, Opening):
        yield f'{entry.day} * "Opening balances"'
        for account, currency, balance in entry.lines:
            yield f"  {beancount_account(account)} {format_plain(balance, currency)} {currency}"
        return
    yield f'{entry.day} * "{entry.table}" "{_name(entry.topic)}"'
    yield f"  position: {entry.position}"
    yield f'  event: "{entry.event}"'
    yield f'  slip: "{entry.slip}"' if entry.round is None else f'  round: "{entry.round}"'
    for leg in entry.legs:
        yield f"  {beancount_account(leg.account)} {format_plain(leg.amount, leg.currency)} {leg.currency}"
        if leg.bet is not None:
            yield f'    bet: "{leg.bet}"'


# -------------------------------------------------------------------------------------------------------------------- hledger


_OURS = "roundledger"
"""As whose the transactions stand that are no event's."""


def hledger_account(account: str) -> str:
    """An account as hledger names it; no two of the ledger's become one, and no reference gets accounts below it."""
    kind, _, reference = account.partition("/")
    return f"{kind}:{quote(reference, safe='')}"


def _hledger_head(journal: Journal, about: Mapping[str, str]) -> Iterator[str]:
    yield from (f"; {name}: {value}" for name, value in about.items())
    yield "; amounts have the sign of `roundledger balances`: positive in the account that they reach"
    yield "decimal-mark ."
    for currency in sorted({currency for _, some in journal.accounts for currency in some}):
        yield f"commodity {'1000.'.ljust(5 + minor_digits(currency), '0')} {currency}"
    yield from (f"account {hledger_account(account)}" for account, _ in journal.accounts)
    tables = {account.partition("/")[2] for account, _ in journal.accounts if not account.startswith(("player/", "cage/"))}
    yield from (f"payee {name}" for name in [_OURS, *sorted(tables)])


def _hledger(entry: Entry) -> Iterator[str]:
    yield ""
    if isinstance(entry, Closing):
        yield f"{entry.day} * {_OURS} | balances at the end of the gaming day"
        for account, currency, balance in entry.lines:
            zero = format_plain(0, currency)
            yield f"    {hledger_account(account)}  {zero} {currency} = {format_plain(balance, currency)} {currency}"
        return
    if isinstance(entry, Opening):
        yield f"{entry.day} * {_OURS} | opening balances"
        for account, currency, balance in entry.lines:
            yield f"    {hledger_account(account)}  {format_plain(balance, currency)} {currency}"
        return
    of = f"slip:{entry.slip}" if entry.round is None else f"round:{entry.round}"
    yield f"{entry.day} * ({entry.position}) {entry.table} | {_name(entry.topic)}  ; event:{entry.event}, {of}"
    for leg in entry.legs:
        bet = "" if leg.bet is None else f"  ; bet:{leg.bet}"
        yield f"    {hledger_account(leg.account)}  {format_plain(leg.amount, leg.currency)} {leg.currency}{bet}"


# ------------------------------------------------------------------------------------------------------------------------ CSV

COLUMNS = (
    "record", "day", "position", "topic", "event", "table", "round", "slip", "bet", "account", "currency", "amount", "balance",
)  # fmt: skip


def _csv_head(_: Journal, __: Mapping[str, str]) -> Iterator[str]:
    yield ",".join(COLUMNS)


def _csv(entry: Entry) -> Iterator[str]:
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    if isinstance(entry, Transaction):
        of = (entry.day, entry.position, entry.topic, entry.event, entry.table, entry.round, entry.slip)
        for leg in entry.legs:
            rows.writerow(["posting", *of, leg.bet, leg.account, leg.currency, format_plain(leg.amount, leg.currency), None])
    else:
        opens = isinstance(entry, Opening)
        for account, currency, balance in entry.lines:
            plain = format_plain(balance, currency)
            row = ["opening" if opens else "balance", entry.day, *[None] * 7, account, currency]
            rows.writerow([*row, plain if opens else None, plain])
    yield from out.getvalue().splitlines()


FORMS: dict[str, tuple[Callable[[Journal, Mapping[str, str]], Iterable[str]], Callable[[Entry], Iterable[str]]]] = {
    "beancount": (_beancount_head, _beancount),
    "hledger": (_hledger_head, _hledger),
    "csv": (_csv_head, _csv),
}
"""Form → how a journal begins, and how each of its entries is written; as lines."""
