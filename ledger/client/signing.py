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

    def __init__(self, key: SigningKey, *, file: Path | None = None) -> None:
        """`key` is the terminal's. `file` is read again where the service refuses a signature: the key may have been replaced."""
        self._key = key
        self._file = file

    @property
    def key_id(self) -> str:
        """The id of the key that signs; no secret."""
        return self._key.id

    @classmethod
    def of_file(cls, path: Path) -> Self:
        """Signs with the key in the file at `path`: what `roundledger keys issue TERMINAL --out FILE` wrote.

        Raises Refusal LGR-0722, which shows nothing of the file.
        """
        return cls(_read(path), file=path)

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Adds the fields to a request that is about to be sent; once more with the file's key where that has become another."""
        self._sign(request)
        response = yield request
        if response.status_code == httpx.codes.UNAUTHORIZED and self._renewed():
            self._sign(request)
            yield request

    def _sign(self, request: httpx.Request) -> None:
        covered = {name: request.headers[name] for name in _COVERED if name in request.headers}
        request.headers.update(sign(self._key, request.method, str(request.url), covered, request.content))

    def _renewed(self) -> bool:
        """Whether the file has another key than the one in use, which it takes then. A file that cannot be read has none."""
        try:
            found = self._key if self._file is None else _read(self._file)
        except Refusal:
            return False
        renewed = found != self._key
        self._key = found
        return renewed


class _KeyFile(msgspec.Struct, frozen=True):
    key: str
    algorithm: Algorithm
    secret: str


def _read(path: Path) -> SigningKey:
    """The key in the file. Raises Refusal LGR-0722."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=_KeyFile)
        secret_bytes(found.secret)
    except OSError as error:
        raise _unreadable(path, f"the key cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, ValueError):
        raise _unreadable(path, "this is no terminal's key") from None
    return SigningKey(id=found.key, algorithm=found.algorithm, secret=found.secret)


def _unreadable(path: Path, detail: str) -> Refusal:
    help = "name the file that `roundledger keys issue TERMINAL --out FILE` wrote"
    return Refusal("LGR-0722", detail, field="key", value=str(path), help=help)
