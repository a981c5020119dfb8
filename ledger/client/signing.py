"""Who posts: the terminal, by its signature (RFC 9421). A person's token goes with that person's acts alone (`Door.post`)."""

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

    def __init__(self, key: SigningKey) -> None:
        """`key` is the terminal's."""
        self._key = key

    @classmethod
    def of_file(cls, path: Path) -> Self:
        """Signs with the key in the file at `path`: what `roundledger keys issue TERMINAL --out FILE` wrote.

        Raises Refusal LGR-0722, which shows nothing of the file.
        """
        try:
            found = msgspec.json.decode(path.read_bytes(), type=_KeyFile)
            secret_bytes(found.secret)
        except OSError as error:
            raise _unreadable(path, f"the key cannot be read: {error.strerror}") from None
        except (msgspec.DecodeError, ValueError):
            raise _unreadable(path, "this is no terminal's key") from None
        return cls(SigningKey(id=found.key, algorithm=found.algorithm, secret=found.secret))

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Adds the fields to a request that is about to be sent."""
        covered = {name: request.headers[name] for name in _COVERED if name in request.headers}
        request.headers.update(sign(self._key, request.method, str(request.url), covered, request.content))
        yield request


class _KeyFile(msgspec.Struct, frozen=True):
    key: str
    algorithm: Algorithm
    secret: str


def _unreadable(path: Path, detail: str) -> Refusal:
    help = "name the file that `roundledger keys issue TERMINAL --out FILE` wrote"
    return Refusal("LGR-0722", detail, field="key", value=str(path), help=help)
