"""Where a webhook may lead."""

from __future__ import annotations

import anyio
import pytest

from ledger.errors import Refusal
from ledger.feed import targets


@pytest.mark.parametrize(
    ("url", "at"),
    [
        ("https://example.com", "https://192.0.2.7/"),
        ("https://example.com/a?b=c", "https://192.0.2.7/a?b=c"),
        ("https://example.com:443/", "https://192.0.2.7/"),
        ("https://example.com:8443/x", "https://192.0.2.7:8443/x"),
        ("http://example.com/x", "http://192.0.2.7/x"),
    ],
)
def test_a_message_goes_to_the_address_that_was_judged_under_the_host_that_was_meant(url: str, at: str) -> None:
    target = targets.target(url, plain=True)
    assert target.host == "example.com"
    assert target.at("192.0.2.7") == at
    assert target.at("2001:db8::1") == at.replace("192.0.2.7", "[2001:db8::1]")
    assert target.authority.partition(":")[0] == "example.com"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com/x",
        "ftp://example.com/",
        "file:///etc/passwd",
        "https://",
        "https:///x",
        "https://user@example.com/",
        "https://user:word@example.com/",
        "https://example.com/#x",
        "https://example.com:x/",
        "https://example.com:99999/",
        "https://exämple.com/",
        "https://example.com/ x",
        "https://example.com/\r\nX: y",
        "https://[::1/",
        "https://example.com/" + "x" * 2000,
    ],
)
def test_what_is_no_url_of_https_is_refused(url: str) -> None:
    with pytest.raises(Refusal, match="LGR-0730"):
        targets.target(url, plain=True)


def test_without_tls_nothing_is_sent_unless_somebody_says_so() -> None:
    with pytest.raises(Refusal, match="LGR-0730"):
        targets.target("http://example.com/", plain=False)
    assert not targets.target("http://example.com/", plain=True).tls


OURS = [
    *("127.0.0.1", "127.8.9.1", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1"),
    *("224.0.0.1", "240.0.0.1", "255.255.255.255", "198.18.0.1", "192.0.2.7"),
    *("::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "ff02::1", "2001:db8::1"),
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a00:1", "2002:7f00:1::", "2002:a00:1::1"),
]


@pytest.mark.parametrize("address", OURS)
def test_addresses_that_are_not_public_are_known_in_every_guise(address: str) -> None:
    assert not targets.is_public(address)
    target = targets.target("https://example.com/", plain=False)
    with pytest.raises(Refusal, match="LGR-0730"):
        targets.judged(target, ["93.184.215.14", address], private=False)
    assert targets.judged(target, [address], private=True) == address


@pytest.mark.parametrize("address", ["93.184.215.14", "1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"])
def test_public_addresses_are_sent_to(address: str) -> None:
    assert targets.is_public(address)


@pytest.mark.parametrize("host", ["localhost", "127.1", "2130706433", "0x7f000001", "[::1]", "[::ffff:127.0.0.1]"])
def test_this_machine_is_known_by_each_of_its_names(host: str) -> None:
    async def looked_up() -> str:
        return await targets.address(targets.target(f"https://{host}/", plain=False), private=False)

    with pytest.raises((Refusal, OSError)) as refused:
        anyio.run(looked_up)
    assert not isinstance(refused.value, Refusal) or refused.value.code == "LGR-0730"
