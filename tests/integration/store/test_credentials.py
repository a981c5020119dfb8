"""Keys and tokens in the database: how many, until when, and that what was taken away does not come back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from ledger.errors import Refusal
from ledger.signatures import SigningKey, new_secret
from ledger.store import credentials

DAY = timedelta(days=1)
MATERIAL = SigningKey(id="", algorithm="ed25519", secret=new_secret()).verifying().material


@pytest.fixture
def conn(dsn: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(dsn, autocommit=True) as conn:
        yield conn


def issue(conn: psycopg.Connection[Any], terminal: str = "T-R01", **options: Any) -> credentials.Key:
    return credentials.issue_key(conn, terminal, "ed25519", MATERIAL, **{"lasts": DAY} | options)


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(Refusal) as refusal:
        call()
    return refusal.value.code


class TestKeys:
    def test_a_key_is_found_as_it_was_issued(self, conn: psycopg.Connection[Any]) -> None:
        key = issue(conn)
        assert credentials.keys(conn, "T-R01") == [key]
        assert key.id.startswith("T-R01.")
        assert key.state(key.issued_at) == "live"
        assert key.state(key.expires) == "expired"

    def test_a_third_live_key_is_refused_and_names_those_there_are(self, conn: psycopg.Connection[Any]) -> None:
        first, second = issue(conn), issue(conn, not_before=datetime.now(UTC) + DAY)
        with pytest.raises(Refusal) as refusal:
            issue(conn)
        assert refusal.value.code == "LGR-0805"
        assert first.id in str(refusal.value.help)
        assert second.id in str(refusal.value.help)
        issue(conn, "T-R02")
        credentials.end_key(conn, first.id)
        issue(conn)

    def test_an_expired_key_makes_room(self, conn: psycopg.Connection[Any]) -> None:
        issue(conn)
        issue(conn, not_before=datetime.now(UTC) - 2 * DAY)
        issue(conn)

    def test_of_many_who_issue_at_once_two_succeed(self, dsn: str) -> None:
        found: list[str] = []

        def run() -> None:
            with psycopg.connect(dsn, autocommit=True) as conn:
                try:
                    issue(conn)
                    found.append("issued")
                except Refusal as refusal:
                    found.append(refusal.code)

        crowd = [threading.Thread(target=run) for _ in range(6)]
        for each in crowd:
            each.start()
        for each in crowd:
            each.join()
        assert sorted(found) == ["LGR-0805"] * 4 + ["issued"] * 2

    def test_a_pending_key_does_not_sign_yet(self, conn: psycopg.Connection[Any]) -> None:
        key = issue(conn, not_before=datetime.now(UTC) + DAY)
        assert key.state(datetime.now(UTC)) == "pending"
        assert key.state(key.not_before) == "live"

    def test_an_end_can_be_brought_forward_and_never_put_off(self, conn: psycopg.Connection[Any]) -> None:
        key = issue(conn)
        soon = datetime.now(UTC) + timedelta(hours=1)
        assert credentials.end_key(conn, key.id, at=soon).expires == soon
        assert credentials.end_key(conn, key.id, at=soon + DAY).expires == soon
        ended = credentials.end_key(conn, key.id)
        assert ended.state(datetime.now(UTC)) == "revoked"
        assert refused(lambda: credentials.end_key(conn, key.id)) == "LGR-0805"
        assert refused(lambda: credentials.end_key(conn, "T-R01.none")) == "LGR-0805"


class TestTokens:
    def test_a_token_authenticates_its_person(self, conn: psycopg.Connection[Any]) -> None:
        token, text = credentials.issue_token(conn, "S-7", lasts=DAY)
        assert text.startswith("rlt_")
        assert len(text) == 47
        assert text.endswith(token.last_four)
        assert credentials.authenticate_token(conn, text) == "S-7"
        assert credentials.tokens(conn, "S-7") == [token]

    def test_the_token_is_nowhere_in_the_database(self, conn: psycopg.Connection[Any]) -> None:
        _, text = credentials.issue_token(conn, "S-7", lasts=DAY)
        (row,) = conn.execute("SELECT t::text, convert_to(t::text, 'UTF8') FROM ledger.tokens t").fetchall()
        assert text not in row[0]
        assert text[4:20].encode().hex() not in row[0]

    def test_unknown_expired_and_revoked_tokens_are_refused_alike(self, conn: psycopg.Connection[Any]) -> None:
        expired, text_of_expired = credentials.issue_token(conn, "S-7", lasts=DAY)
        credentials.end_token(conn, expired.id, at=datetime.now(UTC))
        revoked, text_of_revoked = credentials.issue_token(conn, "S-7", lasts=DAY)
        credentials.end_token(conn, revoked.id)
        said = set()
        for text in ("", "rlt_", "rlt_" + "A" * 43, "\udce9", text_of_expired, text_of_revoked):
            with pytest.raises(Refusal) as refusal:
                credentials.authenticate_token(conn, text)
            said.add((refusal.value.code, refusal.value.detail, refusal.value.value))
        assert said == {("LGR-0802", "the token is not valid", None)}

    def test_a_person_may_have_several(self, conn: psycopg.Connection[Any]) -> None:
        texts = [credentials.issue_token(conn, "S-7", lasts=DAY)[1] for _ in range(3)]
        assert {credentials.authenticate_token(conn, text) for text in texts} == {"S-7"}

    def test_it_is_compared_in_constant_time(self, conn: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch) -> None:
        token, text = credentials.issue_token(conn, "S-7", lasts=DAY)
        compared: list[tuple[bytes, bytes]] = []

        def compare(a: bytes, b: bytes) -> bool:
            compared.append((a, b))
            return a == b

        monkeypatch.setattr("hmac.compare_digest", compare)
        credentials.authenticate_token(conn, text)
        assert compared == [(token.hash, token.hash)]


@pytest.mark.parametrize("table", ["keys", "tokens"])
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE ledger.{table} SET revoked = NULL",
        "UPDATE ledger.{table} SET expires = expires + interval '1 day'",
        "UPDATE ledger.{table} SET issued_at = now()",
        "UPDATE ledger.{table} SET id = 'x'",
        "DELETE FROM ledger.{table}",
        "TRUNCATE ledger.{table}",
    ],
)
def test_what_was_taken_away_does_not_come_back_by_hand(conn: psycopg.Connection[Any], table: str, change: str) -> None:
    credentials.end_key(conn, issue(conn).id)
    credentials.end_token(conn, credentials.issue_token(conn, "S-7", lasts=DAY)[0].id)
    with pytest.raises(psycopg.errors.RestrictViolation):
        conn.execute(change.format(table=table).encode())
