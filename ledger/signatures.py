"""Signed requests: HTTP Message Signatures (RFC 9421) over the head, and over the body by its Content-Digest (RFC 9530).

A terminal signs each request with its key, and the door verifies it with the same module. What a signature has to cover is not
its sender's choice: the method, the address with its query, and, of a request with a body, the body's digest and media type. An
`Authorization` or `Content-Encoding` that stands in the request is covered too, so that nobody on the way can put in another.

What a refused signature lacks is said to the operator's log alone, by the reason of `Unverified`; whoever sent it is told no more
than that it does not hold.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, Protocol

import http_sf
import msgspec
from cryptography.exceptions import InvalidSignature as WrongSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from http_message_signatures import (
    HTTPMessageSigner,
    HTTPMessageVerifier,
    HTTPSignatureAlgorithm,
    InvalidSignature,
    MappingKeyResolver,
    VerifyResult,
)
from http_message_signatures.algorithms import ED25519, HMAC_SHA256
from http_message_signatures.exceptions import HTTPMessageSignaturesException

Algorithm = Literal["ed25519", "hmac-sha256"]
"""Names of the registry of RFC 9421, section 6.2."""

WINDOW_SECONDS = 300
"""How far a signature's `created` may be from the verifier's clock, before or after."""
SECRET_PREFIX = "rlk_"  # noqa: S105 - what a secret begins with, so that a scanner of files finds one that was left lying about

_LABEL = "roundledger"
_SECRET_BYTES = 32
_LONGEST_HEAD = 4096
"""Characters of Signature-Input that are read: far more than a signature of ours needs."""
_ALGORITHMS: dict[Algorithm, type[HTTPSignatureAlgorithm]] = {"ed25519": ED25519, "hmac-sha256": HMAC_SHA256}
_ADDRESS = ("@authority", "@path", "@query")
_BODILESS = frozenset({"GET", "HEAD", "OPTIONS"})


class SigningKey(msgspec.Struct, frozen=True, kw_only=True):
    """What a terminal signs with. Its secret is shown once, when the key is issued, and never in a log."""

    id: str
    """The `keyid` of its signatures."""
    algorithm: Algorithm
    secret: str
    """`rlk_` and 32 bytes in base64url: of ed25519 the private key, of hmac-sha256 the secret that both sides have."""

    def __repr__(self) -> str:
        return f"SigningKey({self.id!r}, {self.algorithm!r})"

    def verifying(self) -> VerifyingKey:
        """What the other side needs to verify with."""
        secret = secret_bytes(self.secret)
        if self.algorithm == "hmac-sha256":
            return VerifyingKey(id=self.id, algorithm=self.algorithm, material=secret)
        public = Ed25519PrivateKey.from_private_bytes(secret).public_key()
        return VerifyingKey(id=self.id, algorithm=self.algorithm, material=public.public_bytes_raw())


class VerifyingKey(msgspec.Struct, frozen=True, kw_only=True):
    """What the door verifies with."""

    id: str
    algorithm: Algorithm
    material: bytes
    """32 bytes: of ed25519 the public key, of hmac-sha256 the secret."""

    def __repr__(self) -> str:
        return f"VerifyingKey({self.id!r}, {self.algorithm!r})"


class Unverified(Exception):
    """A signature does not hold. Its text is for the operator's log: a reason of a few words, and nothing that was sent."""


class Signed(NamedTuple):
    """A request whose head holds."""

    key: str
    """Id of the key."""
    created: int
    """When it was signed, by the signer's clock: seconds of the Unix epoch."""
    mark: bytes
    """SHA-256 of all that was signed, time and nonce included: by it a replay is known, however its signature is written."""
    results: Sequence[VerifyResult]
    verifier: HTTPMessageVerifier
    message: Message

    def verify_body(self, body: bytes) -> None:
        """Raises Unverified where `body` is not the one that was signed."""
        try:
            self.verifier.verify_body(self.message, self.results, body)
        except HTTPMessageSignaturesException:
            raise Unverified("the body is not the one that was signed") from None


class Fields(Protocol):
    """The header fields of a request: a `dict`, or any mapping that gives repeated fields line by line."""

    def items(self) -> Any: ...


class Message(NamedTuple):
    """A request as signer and verifier see it."""

    method: str
    """In capitals."""
    url: str
    """Absolute, as it is sent: percent-encoded, with its query."""
    headers: Fields


def new_secret() -> str:
    """A secret for a key of either algorithm: 256 random bits."""
    return SECRET_PREFIX + base64.urlsafe_b64encode(secrets.token_bytes(_SECRET_BYTES)).decode().rstrip("=")


def secret_bytes(text: str) -> bytes:
    """The 32 bytes of a secret's text. Raises ValueError, without the text, where it is none."""
    body = text.removeprefix(SECRET_PREFIX)
    try:
        found = base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        found = b""
    if not text.startswith(SECRET_PREFIX) or len(found) != _SECRET_BYTES:
        raise ValueError(f"a signing key's secret is {SECRET_PREFIX} and {_SECRET_BYTES} bytes in base64url")
    return found


def sign(
    key: SigningKey,
    method: str,
    url: str,
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
    *,
    created: datetime | None = None,
    nonce: str | None = None,
) -> dict[str, str]:
    """The header fields that sign a request, to be sent with it: Signature-Input, Signature, and for a body Content-Digest.

    `method`, `url` (absolute, percent-encoded) and `body` are what is sent, byte for byte; `headers` are those that are sent, of
    which Content-Type, Content-Encoding and Authorization get covered. Each try of a request is signed anew: `created` is now
    and `nonce` random where they are not given, so that no two tries have one signature, for a second one is a replay.
    """
    given = {name.lower(): value for name, value in (headers or {}).items()}
    sent = {name: value for name, value in given.items() if name in ("content-type", "content-encoding", "authorization")}
    material = secret_bytes(key.secret)
    private = material if key.algorithm == "hmac-sha256" else Ed25519PrivateKey.from_private_bytes(material)
    signer = HTTPMessageSigner(
        signature_algorithm=_ALGORITHMS[key.algorithm],
        key_resolver=MappingKeyResolver(public_keys={}, private_keys={key.id: private}),
    )
    method = method.upper()
    signer.sign(
        Message(method, url, sent),
        key_id=key.id,
        created=created or datetime.now(UTC),
        nonce=nonce or secrets.token_urlsafe(16),
        label=_LABEL,
        covered_component_ids=("@method", *_ADDRESS, *sorted(sent)),
        body=body if body or method not in _BODILESS else None,
    )
    return {name: sent[name] for name in ("Content-Digest", "Signature-Input", "Signature") if name in sent}


def key_id(headers: Fields) -> str:
    """The key that a request names, believed as little as anything else in it. Raises Unverified."""
    lines = [value for name, value in headers.items() if name.lower() == "signature-input"]
    if len(lines) != 1 or len(lines[0]) > _LONGEST_HEAD:
        raise Unverified("there is not one Signature-Input")
    try:
        parsed = http_sf.parse(lines[0].encode("ascii"), tltype="dictionary")
    except (ValueError, TypeError):
        raise Unverified("Signature-Input cannot be read") from None
    if not isinstance(parsed, dict) or len(parsed) != 1:
        raise Unverified("there is not one signature")
    (member,) = parsed.values()
    found = member[1].get("keyid") if isinstance(member, tuple) else None
    if not isinstance(found, str):
        raise Unverified("the signature names no key")
    return found


def verify(
    message: Message,
    key: VerifyingKey,
    *,
    now: datetime,
    window: int = WINDOW_SECONDS,
    required: Callable[[Message], Sequence[Sequence[str]]] | None = None,
) -> Signed:
    """Verifies the head of a request; its body remains to be held to the digest in it, by `Signed.verify_body`.

    `now` is the verifier's clock, `window` seconds; `required` replaces what has to be covered (`coverage`). Raises Unverified.
    """
    if key_id(message.headers) != key.id:
        raise Unverified("the signature names another key")
    public = key.material if key.algorithm == "hmac-sha256" else Ed25519PublicKey.from_public_bytes(key.material)
    resolver = MappingKeyResolver(public_keys={key.id: public}, private_keys={})
    verifier = _Verifier(signature_algorithm=_ALGORITHMS[key.algorithm], key_resolver=resolver)
    verifier.bounds = (int(now.timestamp()), window)
    try:
        (result,) = results = verifier.verify(message, max_age=None)
    except InvalidSignature as error:
        fault = error.args[0] if error.args else None
        raise Unverified(fault.args[0] if isinstance(fault, Unverified) else _reason(fault)) from None
    except HTTPMessageSignaturesException:
        raise Unverified("the request cannot be read as one that was signed") from None
    covered = {str(name) for name in result.covered_components}
    ways = (required or coverage)(message)
    if not any(all(f'"{name}"' in covered for name in way) for way in ways):
        raise Unverified("the signature does not cover what it has to")
    said = "\n".join(f"{name}: {value}" for name, value in result.covered_components.items())
    mark = hashlib.sha256(said.encode()).digest()
    return Signed(key.id, int(result.parameters["created"]), mark, results, verifier, message)


def coverage(message: Message) -> list[list[str]]:
    """What a signature has to cover, in each of the ways in which it may: the address whole, or in its parts."""
    present = {name.lower() for name, _ in message.headers.items()}
    rest = [name for name in ("authorization", "content-encoding", "content-type") if name in present]
    if message.method not in _BODILESS:
        rest += ["content-digest", "content-type"]
    return [["@method", *address, *rest] for address in (_ADDRESS, ("@target-uri",))]


class _Verifier(HTTPMessageVerifier):
    """The library's verifier on the door's own clock, and with no tolerance for a signature that says when it expires."""

    bounds: tuple[int, int]
    """Now, in seconds of the Unix epoch, and the window."""

    def validate_created_and_expires(self, sig_input: Any, max_age: Any = None) -> None:
        now, window = self.bounds
        created, expires = (sig_input.params.get(name) for name in ("created", "expires"))
        if type(created) is not int or abs(created - now) > window:
            raise InvalidSignature(Unverified("the signature was not made within the window"))
        if expires is not None and (type(expires) is not int or expires < now):
            raise InvalidSignature(Unverified("the signature has expired"))


def _reason(fault: object) -> str:
    return "the signature is wrong" if isinstance(fault, WrongSignature) else "the signature cannot be verified"
