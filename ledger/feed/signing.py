"""How a webhook's message is signed: as https://www.standardwebhooks.com has it, version v1, HMAC-SHA256.

Not by RFC 9421, by which terminals sign: receivers of webhooks have libraries for these three header fields in every language,
and what is signed is the whole body as it was sent.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from datetime import datetime

SECRET_PREFIX = "whsec_"  # noqa: S105 - what a secret begins with, so that a scanner of files finds one that was left lying about
SECRET_BYTES = 32


def new_secret() -> bytes:
    """A new webhook's secret."""
    return secrets.token_bytes(SECRET_BYTES)


def secret_text(secret: bytes) -> str:
    """A secret as its receiver is given it."""
    return SECRET_PREFIX + base64.b64encode(secret).decode()


def headers(secret: bytes, message: str, at: datetime, body: bytes) -> dict[str, str]:
    """The header fields of a message that is sent now; `message` is its id, the same in every try."""
    stamp = str(int(at.timestamp()))
    mac = hmac.digest(secret, f"{message}.{stamp}.".encode() + body, hashlib.sha256)
    return {
        "webhook-id": message,
        "webhook-timestamp": stamp,
        "webhook-signature": f"v1,{base64.b64encode(mac).decode()}",
    }
