"""The door answers whatever is asked of it as its own OpenAPI document says: no fault, no status and no field that is not in it.

Schemathesis makes cases from the document that a real `serve` hands out: some as the document wants them, some bent. A part of
their ids gives way to real ones (rounds that are open, settled and carried, bets, holds, corrections, terminals), so that cases
come past the first check. Each case is asked of two doors, one on a machine of one's own and one where everybody has to prove who
they are: there by nobody, by people with their tokens and by a terminal that signs. Every answer's status, media type, header
fields and body are held to the document.

At the end one operation's document is falsified, and the same check has to find that out, or it would find out nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import hypothesis
import psycopg
import requests
import schemathesis
from schemathesis import GenerationMode
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from ledger.signatures import SigningKey, new_secret, sign
from ledger.store import credentials, migrate
from ledger.store.embedded import EmbeddedPostgres
from tests.docs import door_examples
from tests.proofs import place
from tests.proofs.api_service import service

CHECKS = [
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
CANARY = ("/v1/time", "get")
"""The operation whose document is falsified."""
_REAL = 0.85
"""The part of the ids that are real ones."""
_POSTS = 10
"""Posts for each case of another operation."""
_LATE = "LGR-0518"
"""The one answer above 499 that nothing is wrong with: the read side is not where the question wanted it to be."""


def main(argv: Sequence[str]) -> int:
    options = _options(argv)
    began = time.monotonic()
    place.end_cleanly()
    with place.directory() as directory, EmbeddedPostgres(directory) as server:
        dsn = server.conninfo()
        migrate.init(dsn)
        door_examples.made(dsn)  # rounds in every state, at three tables
        askers = _askers(dsn)
        found = Found()
        rings = False
        for name, guarded in (("open", False), ("guarded", True)):
            with service(dsn, directory, guarded) as url:
                document = requests.get(f"{url}/openapi.json", headers=askers["A-1"].headers(), timeout=10).json()
                ask = Asking(url, document, options, askers if guarded else {"nobody": Asker()}, name)
                ask.run(found)
                rings = rings or ask.alarm_rings()
    return _conclude(found, rings, time.monotonic() - began)


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="dev.py prove api", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=int, help="cases of each operation and mode, ten times as many posts; 150, or 10")
    parser.add_argument("--seed", type=int, default=0, help="of what is made up")
    parser.add_argument("--short", action="store_true", help="a form of some seconds")
    options = parser.parse_args(argv)
    options.cases = options.cases or (10 if options.short else 150)
    return options


class Found:
    """What came of all cases."""

    def __init__(self) -> None:
        self.cases: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        self.accepted = 0
        self.faults: dict[str, str] = {}
        """What was wrong, once each, with the request that showed it."""


class Asker:
    """Who asks: nobody, a person with a token, or a terminal with a key."""

    def __init__(self, token: str | None = None, key: SigningKey | None = None) -> None:
        self._token = token
        self._key = key

    def headers(
        self, method: str = "GET", url: str = "", headers: dict[str, str] | None = None, body: bytes = b""
    ) -> dict[str, str]:
        """The header fields by which it proves who it is."""
        if self._token is not None:
            return {"Authorization": f"Bearer {self._token}"}
        if self._key is not None:
            return sign(self._key, method, url, headers or {}, body, created=datetime.now(UTC))
        return {}


def _askers(dsn: str) -> dict[str, Asker]:
    secret = new_secret()
    material = SigningKey(id="", algorithm="ed25519", secret=secret).verifying().material
    with psycopg.connect(dsn, autocommit=True) as conn:
        key = credentials.issue_key(conn, "T-R01", "ed25519", material, lasts=timedelta(days=1))
        tokens = {who: credentials.issue_token(conn, who, lasts=timedelta(days=1))[1] for who in ("S-7", "S-8", "A-1")}
    signing = SigningKey(id=key.id, algorithm="ed25519", secret=secret)
    return {"nobody": Asker(), **{who: Asker(token) for who, token in tokens.items()}, "T-R01": Asker(key=signing)}


class Asking:
    """The cases of one door."""

    def __init__(
        self, url: str, document: dict[str, Any], options: argparse.Namespace, askers: dict[str, Asker], name: str
    ) -> None:
        self._url = url
        self._document = document
        self._options = options
        self._askers = askers
        self._name = name
        self._session = requests.Session()
        self._random = random.Random(f"{options.seed} {name}")

    def run(self, found: Found) -> None:
        """Asks every operation what is right and what is not."""
        for operation in _operations(self._document):
            for mode in GenerationMode:
                posts = _POSTS if operation.method == "post" else 1
                self._ask(operation, mode, self._options.cases * posts, found)

    def alarm_rings(self) -> bool:
        """Whether a document that promises a field which no answer has is found to be false."""
        false = copy.deepcopy(self._document)
        path, method = CANARY
        answer = false["paths"][path][method]["responses"]["200"]["content"]["application/json"]
        answer["schema"] = {"type": "object", "required": ["no such field"]}
        found = Found()
        (operation,) = [each for each in _operations(false) if each.path == path]
        self._ask(operation, GenerationMode.POSITIVE, 10, found)
        return bool(found.faults)

    def _ask(self, operation: Any, mode: GenerationMode, cases: int, found: Found) -> None:
        @hypothesis.settings(
            max_examples=cases,
            database=None,
            deadline=None,
            phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
            suppress_health_check=list(hypothesis.HealthCheck),
            print_blob=False,
        )
        @hypothesis.seed(self._options.seed)
        @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
        def one(case: Any) -> None:
            self._one(case, found)

        with contextlib.suppress(hypothesis.errors.Unsatisfiable):  # an operation without parameters has nothing to bend
            one()

    def _one(self, case: Any, found: Found) -> None:
        self._make_real(case)
        who = self._random.choice([*self._askers])
        request = requests.Request(**case.as_transport_kwargs(base_url=self._url))
        prepared = self._session.prepare_request(request)
        body = prepared.body or b""
        raw = body.encode() if isinstance(body, str) else cast(bytes, body)
        named = {name: str(value) for name, value in prepared.headers.items()}
        prepared.headers.update(self._askers[who].headers(str(prepared.method), str(prepared.url), named, raw))
        answer = self._session.send(prepared, timeout=30)
        found.cases[self._name] += 1
        found.statuses[answer.status_code] += 1
        if '"status":"accepted"' in answer.text:
            found.accepted += 1
        for name, said in self._wrong(case, answer):
            title = f"{case.method} {case.path} at the {self._name} door, {answer.status_code}: {name}"
            found.faults.setdefault(title, f"{said}\n    asked by {who}: {case.as_curl_command()[:1500]}")

    @staticmethod
    def _wrong(case: Any, answer: requests.Response) -> Iterator[tuple[str, str]]:
        """What is wrong with an answer, by name."""
        if answer.status_code >= 500 and _LATE not in answer.text:
            yield "ServerError", answer.text[:600]
        try:
            case.validate_response(answer, checks=CHECKS)
        except FailureGroup as failures:
            for failure in failures.exceptions:
                yield type(failure).__name__, " ".join(str(failure).split())[:600]

    def _make_real(self, case: Any) -> None:
        """Puts real ids in the place of most that were made up; an event's own id stays, or each would be a retry."""
        if isinstance(case.path_parameters, dict) and "id" in case.path_parameters and self._lucky():
            known = ["T-R01", "T-C01", "T-X01"] if "terminals" in case.path else _ROUNDS
            case.path_parameters["id"] = self._random.choice(known)
        if isinstance(case.query, dict) and "at_least" in case.query and self._random.random() < 0.95:
            case.query["at_least"] = "1"  # or most of the time would go by in waiting
        for event in case.body if isinstance(case.body, list) else [case.body]:
            if isinstance(event, dict):
                self._make_event_real(event)

    def _make_event_real(self, event: dict[str, Any]) -> None:
        data = event.get("data")
        if "subject" in event and self._lucky():
            event["subject"], event["source"] = self._random.choice(_ABOUT)
            if isinstance(data, dict) and "role" in data:
                event["subject"] = data["table"] = "R01"
        for name, known in _KNOWN.items():
            if isinstance(data, dict) and name in data and self._lucky():
                data[name] = self._random.choice(known)

    def _lucky(self) -> bool:
        return self._random.random() < _REAL


_ROUNDS = [door_examples.ROUND, door_examples.CUSSEC, door_examples.SUCCESSOR, door_examples.CRAPS]
_ABOUT = [
    *((door_examples.ROUND, f"/{who}") for who in ("terminals/T-R01", "people/S-7", "people/S-8")),
    *((door_examples.SUCCESSOR, f"/{who}") for who in ("terminals/T-C01", "people/S-7")),
    *((door_examples.CRAPS, f"/{who}") for who in ("terminals/T-X01", "people/S-8")),
    (door_examples.CUSSEC, "/terminals/T-C01"),
]
"""Rounds, and who reports of them."""
_BETS = [each["id"] for each in (door_examples.STRAIGHT, door_examples.RED, door_examples.SMALL, door_examples.TOTAL)]
_KNOWN: dict[str, list[str]] = {
    "bet": _BETS,
    "hold": [door_examples.HOLD["id"]],
    "correction": [door_examples.PROPOSE["id"], door_examples.SECOND["id"]],
    "spot": ["straight:17", "red", "small", "total:9", "pass", "field", "triple:2"],
    "stake": ["10000", "500", "1"],
    "amount": ["10000", "1"],
    "currency": ["MOP"],
    "table": ["R01", "C01", "X01", "R02"],
    "game": ["roulette", "cussec", "craps"],
    "outcome": ["17", "0", "2-2-2", "1-2-3"],
    "dice": ["6-2", "4-3", "1-1"],
    "reason": ["dispute", "misplaced", "bridged_dice", "found_wrong"],
    "person": ["D-11", "S-7"],
}


def _operations(document: dict[str, Any]) -> Iterator[Any]:
    config = schemathesis.Config.from_dict({"generation": {"with-security-parameters": False, "allow-x00": False}})
    for result in schemathesis.openapi.from_dict(document, config=config).get_all_operations():
        yield cast(Any, result).ok()


def _conclude(found: Found, rings: bool, seconds: float) -> int:
    cases = sum(found.cases.values())
    print(f"{'door':<12}{'cases':>8}")
    for name, number in found.cases.items():
        print(f"{name:<12}{number:>8}")
    print("answers: " + ", ".join(f"{number} × {status}" for status, number in sorted(found.statuses.items())))
    print(f"posts of which something was accepted: {found.accepted}\n")
    for title, said in found.faults.items():
        print(f"{title}\n    {said}\n")
    if not rings:
        print("prove api: a document that was falsified was not found out: the alarm was not tested")
        return 1
    if found.faults or not found.accepted or not found.statuses[200]:
        print(f"prove api: FAILED: {len(found.faults)} kinds of answers in {cases} cases are not in the document")
        return 1
    print(f"prove api: {cases} cases, 0 faults, 0 answers that are not in the document; a falsified one rang ({seconds:.0f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
