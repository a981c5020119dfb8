"""Who asks the door: terminals with their keys and people with their tokens, each request bent as a test wants it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import psycopg

from ledger.signatures import Algorithm, SigningKey, new_secret, sign
from ledger.store import credentials

TYPES: dict[str, dict[str, Any]] = {
    "RoundOpened": {"table": "R01", "game": "roulette"},
    "BetPlaced": {"player": "P-1", "spot": "red", "stake": "10000", "currency": "MOP"},
    "BetWithdrawn": {"bet": str(uuid4())},
    "BetChanged": {"bet": str(uuid4()), "stake": "10000"},
    "BettingClosed": {},
    "BettingReopened": {},
    "ShooterChanged": {"shooter": "P-1"},
    "OutcomeRecorded": {"outcome": "17"},
    "ThrowRecorded": {"dice": "6-2"},
    "RoundVoided": {"reason": "any"},
    "BetVoided": {"bet": str(uuid4()), "reason": "misplaced"},
    "LateBetRecorded": {"player": "P-1", "spot": "red", "stake": "10000", "currency": "MOP"},
    "ChipsRestored": {"restored_by": "S-7", "source": "ledger"},
    "RoundHeld": {"reason": "dispute"},
    "RoundReleased": {"hold": str(uuid4()), "finding": "stands"},
    "CorrectionProposed": {"kind": "return", "reason": "dispute_upheld"},
    "CorrectionApproved": {"correction": str(uuid4())},
    "CorrectionDeclined": {"correction": str(uuid4())},
    "StaffSignedOn": {"table": "R01", "person": "D-11", "role": "dealer"},
    "StaffSignedOff": {"table": "R01", "person": "D-11", "role": "dealer"},
    "NumbersGivenUp": {"table": "R01", "of_terminal": "T-R01", "of_epoch": 0, "first": 3, "last": 3, "reason": "lost_disk"},
    "ChipsCounted": {"table": "R01", "kind": "opener", "chips": [], "total": "0", "currency": "MOP"},
    "FillRecorded": {"table": "R01", "number": 1, "chips": [], "total": "0", "currency": "MOP"},
    "CreditRecorded": {"table": "R01", "number": 1, "chips": [], "total": "0", "currency": "MOP"},
    "DropCounted": {"table": "R01", "box": "B-1", "cash": "0", "total": "0", "currency": "MOP"},
    "SlipConfirmed": {"table": "R01", "slip": str(uuid4()), "kind": "fill"},
    "SlipCancelled": {"table": "R01", "slip": str(uuid4()), "kind": "fill", "reason": "wrong_total"},
    "ColourChipsIssued": {"table": "R01", "player": "P-1", "colour": "red", "value": "500", "currency": "MOP"},
    "GamingDayClosed": {"property": "DEMO", "gaming_day": "2020-01-01", "as_of": "0", "figures": "0" * 64},
    "PlayerErased": {"property": "DEMO", "player": "P-1", "reason": "request"},
    "PlayerHeld": {"property": "DEMO", "player": "P-1", "reason": "aml_17"},
    "PlayerReleased": {"property": "DEMO", "player": "P-1", "reason": "aml_17"},
}
"""Each type with data that can be read; whether the round takes it is another question than whether the sender may say it."""


class Asker:
    """A terminal, a person, or a person at a terminal."""

    def __init__(
        self, url: str, source: str, *, key: SigningKey | None = None, token: str | None = None, seconds: int = 0
    ) -> None:
        """`source`: that of the events. `seconds`: by how much the terminal's clock is off."""
        self.client = httpx.Client(base_url=url, timeout=30)
        self.source = source
        self.key = key
        self.token = token
        self.off = timedelta(seconds=seconds)
        self.bend: Callable[[httpx.Request], httpx.Request] = lambda request: request

    def request(self, method: str, path: str, body: Any = None) -> httpx.Request:
        content = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {} if content is None else {"Content-Type": "application/json"}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        request = self.client.build_request(method, path, content=content, headers=headers)
        if self.key is not None:
            created = datetime.now(UTC) + self.off
            request.headers.update(sign(self.key, method, str(request.url), headers, content or b"", created=created))
        return request

    def send(self, request: httpx.Request) -> httpx.Response:
        return self.client.send(self.bend(request))

    def get(self, path: str) -> httpx.Response:
        return self.send(self.request("GET", path))

    def post(self, body: Any) -> httpx.Response:
        return self.send(self.request("POST", "/v1/events", body))

    def event(self, kind: str, round: UUID, data: dict[str, Any] | None = None, **attributes: Any) -> dict[str, Any]:
        said = TYPES[kind] if data is None else data
        subject = said.get("property") or (said["table"] if "table" in said and kind != "RoundOpened" else round)
        return {
            "specversion": "1.0",
            "id": str(uuid4()),
            "source": self.source,
            "type": f"roundledger.{kind}.v1",
            "subject": str(subject),
            "time": "2026-11-29T20:00:00+08:00",
            "data": said,
            **attributes,
        }


def key_of(dsn: str, terminal: str, algorithm: Algorithm = "ed25519", **options: Any) -> SigningKey:
    """A key that is issued to the terminal."""
    secret = new_secret()
    material = SigningKey(id="", algorithm=algorithm, secret=secret).verifying().material
    with psycopg.connect(dsn) as conn:
        key = credentials.issue_key(conn, terminal, algorithm, material, **{"lasts": timedelta(days=1)} | options)
    return SigningKey(id=key.id, algorithm=algorithm, secret=secret)


def token_of(dsn: str, person: str) -> str:
    """A token that is issued to the person."""
    with psycopg.connect(dsn) as conn:
        return credentials.issue_token(conn, person, lasts=timedelta(days=1))[1]


def code(answer: httpx.Response) -> str:
    """An answer in a word: `let in`, or the code of the refusal for want of a right or a proof."""
    if answer.headers["content-type"].startswith("text/plain"):
        return "let in"
    said = answer.json().get("code", "")
    if not said and "items" in answer.json():
        said = next((item["problem"]["code"] for item in answer.json()["items"] if "problem" in item), "")
    return said if said.startswith("LGR-08") else "let in"
