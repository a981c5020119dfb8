"""Who posts: the terminal by its signature (RFC 9421), and a person at it by a bearer token (RFC 6750)."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Self

import httpx
import msgspec

from ledger.errors import Refusal
from ledger.signatures import Algorithm, SigningKey, secret_bytes, sign

_COVERED = ("Content-Type", "Content-Encoding", "Authorization")


class Signing(httpx.Auth):
    """Signs every request, and every try of one anew: one signature is good for one use."""

    requires_request_body = True

    def __init__(self, key: SigningKey | None, *, token: str | None = None) -> None:
        """`key` is the terminal's; `token` that of the person whose act is reported. Either may be left out."""
        self._key = key
        self._token = token

    @classmethod
    def of_file(cls, path: Path, *, token: str | None = None) -> Self:
        """Signs with the key in the file at `path`: what `roundledger keys issue TERMINAL --json` printed.

        Raises Refusal LGR-0722, which shows nothing of the file.
        """
        try:
            found = msgspec.json.decode(path.read_bytes(), type=_KeyFile)
            secret_bytes(found.secret)
        except OSError as error:
            raise _unreadable(path, f"the key cannot be read: {error.strerror}") from None
        except (msgspec.DecodeError, ValueError):
            raise _unreadable(path, "this is no terminal's key") from None
        return cls(SigningKey(id=found.key, algorithm=found.algorithm, secret=found.secret), token=token)

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Adds the fields to a request that is about to be sent."""
        if self._token is not None:
            request.headers["Authorization"] = f"Bearer {self._token}"
        if self._key is not None:
            covered = {name: request.headers[name] for name in _COVERED if name in request.headers}
            request.headers.update(sign(self._key, request.method, str(request.url), covered, request.content))
        yield request


class _KeyFile(msgspec.Struct, frozen=True):
    key: str
    algorithm: Algorithm
    secret: str


def _unreadable(path: Path, detail: str) -> Refusal:
    return Refusal(
        "LGR-0722", detail, field="key", value=str(path), help="keep what `roundledger keys issue TERMINAL --json` prints"
    )
