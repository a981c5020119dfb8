"""A service that others reach: it wants a key before it starts, and speaks TLS with a certificate of its own."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from uuid import uuid4

import httpx
import psycopg
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from ledger.api.serve import opened
from ledger.api.server import Tls
from ledger.errors import Refusal
from ledger.store import credentials
from tests.integration.api.conftest import serving
from tests.integration.api.signing import Asker, code, key_of
from tests.support import house


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_without_keys_the_service_stays_on_this_machine(dsn: str, host: str) -> None:
    house(dsn).close()
    with pytest.raises(Refusal) as refused, opened(dsn, host=host, port=0):
        pass
    assert refused.value.code == "LGR-0712"
    assert "roundledger keys issue" in str(refused.value.help)


def test_a_key_that_was_revoked_is_none(dsn: str) -> None:
    house(dsn).close()
    key = key_of(dsn, "T-R01")
    with psycopg.connect(dsn) as conn:
        credentials.end_key(conn, key.id)
    with pytest.raises(Refusal) as refused, opened(dsn, host="0.0.0.0", port=0):
        pass
    assert refused.value.code == "LGR-0712"


def test_beyond_this_machine_who_asks_has_to_prove_who_they_are(dsn: str) -> None:
    house(dsn).close()
    key = key_of(dsn, "T-R01")
    with serving(dsn, host="0.0.0.0") as server:
        url = server.url.replace("0.0.0.0", "127.0.0.1")
        stranger, terminal = Asker(url, "/terminals/T-R01"), Asker(url, "/terminals/T-R01", key=key)
        assert code(stranger.post(stranger.event("RoundOpened", uuid4()))) == "LGR-0803"
        assert code(stranger.get("/v1/balances")) == "LGR-0802"
        assert code(terminal.post(terminal.event("RoundOpened", uuid4()))) == "let in"


def test_without_tls_it_says_at_its_start_that_nothing_is_encrypted(
    dsn: str, certificate: Tls, caplog: pytest.LogCaptureFixture
) -> None:
    house(dsn).close()
    key_of(dsn, "T-R01")
    said = {}
    for host, tls in (("0.0.0.0", None), ("0.0.0.0", certificate), ("127.0.0.1", None)):
        caplog.clear()
        with opened(dsn, host=host, port=0, tls=tls):
            warned = [record.getMessage() for record in caplog.records if record.name == "ledger.api.serve"]
        said[host, tls is not None] = [all(option in text for option in ("--tls-cert", "--tls-key")) for text in warned]
    assert said == {("0.0.0.0", False): [True], ("0.0.0.0", True): [], ("127.0.0.1", False): []}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Tls:
    """A certificate for this machine that vouches for itself."""
    place = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "door.example")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    tls = Tls(place / "door.pem", place / "door.key")
    tls.certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    tls.key.write_bytes(key.private_bytes(pem, pkcs8, serialization.NoEncryption()))
    (place / "locked.key").write_bytes(key.private_bytes(pem, pkcs8, serialization.BestAvailableEncryption(b"x")))
    return tls


def test_with_a_certificate_it_speaks_https(dsn: str, certificate: Tls) -> None:
    house(dsn).close()
    key = key_of(dsn, "T-R01")
    with serving(dsn, tls=certificate, require_auth=True) as server:
        assert server.url.startswith("https://127.0.0.1:")
        terminal = Asker(server.url, "/terminals/T-R01", key=key)
        terminal.client = httpx.Client(base_url=server.url, verify=ssl.create_default_context(cafile=certificate.certificate))
        assert code(terminal.post(terminal.event("RoundOpened", uuid4()))) == "let in"
        with pytest.raises(httpx.HTTPError):
            httpx.get(server.url.replace("https", "http") + "/healthz")


@pytest.mark.parametrize("wrong", ["no certificate", "no key", "another file", "a key with a password"])
def test_a_certificate_that_cannot_be_used_is_refused_at_the_start(dsn: str, certificate: Tls, wrong: str) -> None:
    place = certificate.certificate.parent
    tls = {
        "no certificate": certificate._replace(certificate=place / "none.pem"),
        "no key": certificate._replace(key=place / "none.key"),
        "another file": certificate._replace(key=Path(__file__)),
        "a key with a password": certificate._replace(key=place / "locked.key"),
    }[wrong]
    with pytest.raises(Refusal) as refused, opened(dsn, port=0, tls=tls):
        pass
    assert refused.value.code == "LGR-0713"
