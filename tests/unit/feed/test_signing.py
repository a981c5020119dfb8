"""Signatures of webhooks, held to the example of the specification and to what the how-to tells receivers."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ledger.feed import signing


def test_the_example_of_standard_webhooks() -> None:
    """https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md"""
    secret = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    found = signing.headers(
        secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", datetime.fromtimestamp(1614265330, UTC), b'{"test": 2432232314}'
    )
    assert found == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_a_secret_is_written_as_the_specification_has_it() -> None:
    secret = signing.new_secret()
    text = signing.secret_text(secret)
    assert text.startswith("whsec_")
    assert base64.b64decode(text.removeprefix("whsec_")) == secret
    assert len(secret) == 32


def test_the_how_to_verifies_what_is_signed_and_nothing_else() -> None:
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "follow-the-feed.md").read_text("utf-8")
    names: dict[str, Any] = {}
    exec(page.split("```python\n")[1].split("```")[0], names)
    secret = signing.new_secret()
    text, body = signing.secret_text(secret), b'{"id":"1"}'
    headers = signing.headers(secret, "evt_1_00", datetime.now(UTC), body)
    names["verify"](text, headers, body)
    old = signing.headers(secret, "evt_1_00", datetime.now(UTC) - timedelta(minutes=6), body)
    other = signing.headers(signing.new_secret(), "evt_1_00", datetime.now(UTC), body)
    for false in (other, old, headers | {"webhook-id": "evt_2_00"}, headers | {"webhook-signature": "v1,"}):
        with pytest.raises(ValueError, match="not signed"):
            names["verify"](text, false, body)
    with pytest.raises(ValueError, match="not signed"):
        names["verify"](text, headers, body + b" ")
