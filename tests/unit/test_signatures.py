"""Signed requests: the vectors of RFC 9421, and all that a signature has to hold against."""

from __future__ import annotations

import base64
import inspect
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from http_message_signatures import ContentDigest, HTTPMessageSigner, MappingKeyResolver
from http_message_signatures.algorithms import ED25519, HMAC_SHA256

from ledger import signatures
from ledger.signatures import Algorithm, Message, SigningKey, Unverified, VerifyingKey, new_secret, sign, verify

NOW = datetime(2026, 11, 29, 12, 0, 0, tzinfo=UTC)
URL = "http://ledger.example:8044/v1/events?x=1"
HEADERS = {"Content-Type": "application/json", "Authorization": "Bearer rlt_x", "Content-Encoding": "gzip", "X-Trace": "1"}
BODY = b'{"hello": "world"}'

VECTORS = {
    "Host": "example.com",
    "Date": "Tue, 20 Apr 2021 02:07:55 GMT",
    "Content-Type": "application/json",
    "Content-Digest": "sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:",
    "Content-Length": "18",
}
"""The test request of RFC 9421, appendix B.2."""
SIGNED_AT = datetime.fromtimestamp(1618884473, UTC)
B25 = VerifyingKey(
    id="test-shared-secret",
    algorithm="hmac-sha256",
    material=base64.b64decode("uzvJfB4u3N0Jy4T7NZ75MDVcr8zSTInedJtkgcu46YW4XByzNJjxBdtjUkdJPBtbmHhIDi6pcl8jsasjlTMtDQ=="),
)
B26 = VerifyingKey(
    id="test-key-ed25519",
    algorithm="ed25519",
    material=base64.b64decode("MCowBQYDK2VwAyEAJrQLj5P/89iXES9+vFgrIy29clF9CC/oPPsw3c5D0bs=")[-32:],
)


def key(algorithm: Algorithm = "ed25519") -> SigningKey:
    return SigningKey(id="T-R01.k1", algorithm=algorithm, secret=new_secret())


def signed(made: SigningKey, method: str = "POST", url: str = URL, body: bytes = BODY, created: datetime = NOW) -> Message:
    return Message(method, url, HEADERS | sign(made, method, url, HEADERS, body, created=created))


@pytest.mark.parametrize(
    ("key", "covered", "signature"),
    [
        (B25, '"date" "@authority" "content-type"', "pxcQw6G3AjtMBQjwo8XzkZf/bws5LelbaMk5rGIGtE8="),
        (
            B26,
            '"date" "@method" "@path" "@authority" "content-type" "content-length"',
            "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==",
        ),
    ],
    ids=["B.2.5", "B.2.6"],
)
class TestVectorsOfRfc9421:
    def test_the_signature_holds(self, key: VerifyingKey, covered: str, signature: str) -> None:
        assert verify(vector(key, covered, signature), key, now=SIGNED_AT, required=lambda _: [()]).key == key.id

    def test_another_signature_does_not(self, key: VerifyingKey, covered: str, signature: str) -> None:
        with pytest.raises(Unverified, match="signature is wrong"):
            verify(vector(key, covered, "A" + signature[1:]), key, now=SIGNED_AT, required=lambda _: [()])

    def test_but_the_door_wants_the_body_covered(self, key: VerifyingKey, covered: str, signature: str) -> None:
        with pytest.raises(Unverified, match="does not cover"):
            verify(vector(key, covered, signature), key, now=SIGNED_AT)


def vector(key: VerifyingKey, covered: str, signature: str) -> Message:
    headers = VECTORS | {
        "Signature-Input": f'sig=({covered});created=1618884473;keyid="{key.id}"',
        "Signature": f"sig=:{signature}:",
    }
    return Message("POST", "https://example.com/foo?param=Value&Pet=dog", headers)


@pytest.mark.parametrize("algorithm", ["ed25519", "hmac-sha256"])
class TestWhatIsSigned:
    def test_holds_with_its_body(self, algorithm: Algorithm) -> None:
        made = key(algorithm)
        found = verify(signed(made), made.verifying(), now=NOW)
        found.verify_body(BODY)
        assert (found.key, found.created) == (made.id, int(NOW.timestamp()))

    def test_holds_for_a_read_without_a_body(self, algorithm: Algorithm) -> None:
        made = key(algorithm)
        message = Message("GET", URL, sign(made, "GET", URL, created=NOW))
        assert "Content-Digest" not in message.headers  # type: ignore[operator]
        verify(message, made.verifying(), now=NOW).verify_body(b"")

    def test_an_altered_body_is_found(self, algorithm: Algorithm) -> None:
        made = key(algorithm)
        found = verify(signed(made), made.verifying(), now=NOW)
        for other in (b"", BODY + b" ", BODY.replace(b"w", b"W")):
            with pytest.raises(Unverified, match="body"):
                found.verify_body(other)

    @pytest.mark.parametrize(
        "change",
        [
            lambda m: m._replace(method="PUT"),
            lambda m: m._replace(url=m.url.replace("events", "rounds")),
            lambda m: m._replace(url=m.url.replace("x=1", "x=2")),
            lambda m: m._replace(url=m.url.replace("ledger.example", "other.example")),
            lambda m: m._replace(url=m.url.replace("8044", "8045")),
            *(
                lambda m, name=name, value=value: m._replace(headers=m.headers | {name: value})
                for name, value in (
                    ("Content-Type", "text/plain"),
                    ("Authorization", "Bearer rlt_other"),
                    ("Content-Encoding", "br"),
                    ("Content-Digest", "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:"),
                )
            ),
            lambda m: m._replace(headers=without(m, "Content-Digest")),
            lambda m: m._replace(headers=without(m, "Authorization")),
            lambda m: m._replace(headers=without(m, "Signature")),
            lambda m: m._replace(headers=without(m, "Signature-Input")),
            lambda m: said(m, "alg=", 'alg="rsa-v1_5-sha256"; x='),
            lambda m: said(m, "created=", "created=1; x="),
            lambda m: said(m, "keyid=", 'keyid="T-R02.k1"; x='),
            lambda m: said(m, '"@method" ', ""),
            lambda m: said(m, '"@method"', '"@method" "@method"'),
            lambda m: said(m, "created=", "expires=1796000000;created="),
        ],
    )
    def test_whatever_was_changed_on_the_way_is_found(self, algorithm: Algorithm, change: Callable[[Message], Message]) -> None:
        made = key(algorithm)
        with pytest.raises(Unverified):
            verify(change(signed(made)), made.verifying(), now=NOW)

    def test_another_key_of_the_same_name_does_not_hold(self, algorithm: Algorithm) -> None:
        made = key(algorithm)
        with pytest.raises(Unverified, match="signature is wrong"):
            verify(signed(made), key(algorithm).verifying(), now=NOW)

    @pytest.mark.parametrize("seconds", [-301, -300, 300, 301])
    def test_the_window(self, algorithm: Algorithm, seconds: int) -> None:
        made = key(algorithm)
        message = signed(made, created=NOW + timedelta(seconds=seconds))
        if abs(seconds) <= signatures.WINDOW_SECONDS:
            verify(message, made.verifying(), now=NOW)
            return
        with pytest.raises(Unverified, match="window"):
            verify(message, made.verifying(), now=NOW)

    def test_two_tries_of_one_request_are_two_signatures(self, algorithm: Algorithm) -> None:
        made = key(algorithm)
        first, second = (verify(signed(made), made.verifying(), now=NOW) for _ in range(2))
        assert first.mark != second.mark


def without(message: Message, name: str) -> dict[str, str]:
    return {field: value for field, value in message.headers.items() if field != name}


def said(message: Message, old: str, new: str) -> Message:
    headers = dict(message.headers.items())
    assert old in headers["Signature-Input"]
    return message._replace(headers=headers | {"Signature-Input": headers["Signature-Input"].replace(old, new, 1)})


@pytest.mark.parametrize(
    "left_out", ["@method", "@path", "@query", "@authority", "content-digest", "content-type", "authorization"]
)
def test_a_true_signature_that_covers_too_little_is_refused(left_out: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = key()
    build = HTTPMessageSigner._build_signature_base

    def less(self: object, message: object, *, covered_component_ids: list[object], **rest: object) -> object:
        return build(self, message, covered_component_ids=[c for c in covered_component_ids if c.value != left_out], **rest)  # type: ignore[arg-type, attr-defined]

    with monkeypatch.context() as bent:
        bent.setattr(HTTPMessageSigner, "_build_signature_base", less)
        message = signed(made)
    with pytest.raises(Unverified, match="does not cover"):
        verify(message, made.verifying(), now=NOW)


def test_a_signature_of_the_whole_address_covers_it_as_well() -> None:
    made = key()
    headers = dict(HEADERS)
    signer = HTTPMessageSigner(
        signature_algorithm=ED25519,
        key_resolver=MappingKeyResolver(
            public_keys={},
            private_keys={made.id: Ed25519PrivateKey.from_private_bytes(signatures.secret_bytes(made.secret))},
        ),
    )
    signer.sign(
        Message("POST", URL, headers),
        key_id=made.id,
        created=NOW,
        covered_component_ids=("@method", "@target-uri", "authorization", "content-type", "content-encoding"),
        body=BODY,
    )
    verify(Message("POST", URL, headers), made.verifying(), now=NOW).verify_body(BODY)


@pytest.mark.parametrize(
    "head",
    [
        *(
            "",
            "x",
            "a=1",
            "a=(",
            "é",
            "a=();created=1",
            "a=();keyid=1",
            'a=();keyid="k", b=();keyid="k"',
            'a=();keyid="k"' + " " * 5000,
        ),
    ],
)
def test_a_head_that_names_no_key_is_refused_before_anything_is_looked_up(head: str) -> None:
    with pytest.raises(Unverified):
        signatures.key_id({"Signature-Input": head})


def test_a_reason_says_nothing_that_was_sent() -> None:
    made = key()
    message = signed(made)
    for bent in (
        said(message, '"@method"', '"x-marker-x"'),
        message._replace(url="http://x-marker-x/ y"),
        said(message, "created=", "x-marker-x="),
    ):
        with pytest.raises(Unverified) as refused:
            verify(bent, made.verifying(), now=NOW)
        assert "marker" not in str(refused.value)


@pytest.mark.parametrize("text", ["", "rlk_", "rlk_AAAA", "rlt_" + "A" * 43, "rlk_" + "!" * 43, "rlk_" + "A" * 44])
def test_what_is_no_secret_is_refused_without_being_shown(text: str) -> None:
    with pytest.raises(ValueError, match="signing key's secret") as refused:
        signatures.secret_bytes(text)
    assert text[4:] not in str(refused.value) or not text[4:]


def test_keys_do_not_show_their_secrets() -> None:
    made = key("hmac-sha256")
    assert made.secret not in f"{made!r} {made}"
    assert repr(made.verifying().material) not in repr(made.verifying())


def test_secrets_are_compared_in_constant_time() -> None:
    """By the library: an hmac by OpenSSL's comparison, a digest by Python's; an ed25519 signature is nobody's secret."""
    assert "hasher.verify(signature)" in inspect.getsource(HMAC_SHA256.verify)
    assert "hmac.compare_digest" in inspect.getsource(ContentDigest.verify)
