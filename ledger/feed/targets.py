"""Where a webhook may lead: to the world by HTTPS, and anywhere else only where somebody has said so.

A name is looked up for every message, and the connection goes to the very address that was judged: a name that means a public
address when it is judged and one of this machine when it is connected to would get around any other way of judging.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from typing import NamedTuple
from urllib.parse import urlsplit

from ledger.errors import Refusal

_LONGEST = 2000
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class Target(NamedTuple):
    """A webhook's URL in its parts."""

    url: str
    tls: bool
    host: str
    port: int
    path: str
    """With the query."""

    @property
    def authority(self) -> str:
        """The field Host of a request."""
        return self.netloc(self.host)

    def at(self, address: str) -> str:
        """The URL at this address."""
        return f"{'https' if self.tls else 'http'}://{self.netloc(address)}{self.path}"

    def netloc(self, host: str) -> str:
        """Host and port as a URL has them."""
        shown = f"[{host}]" if ":" in host else host
        return shown if self.port == (443 if self.tls else 80) else f"{shown}:{self.port}"


def target(url: str, *, plain: bool) -> Target:
    """The parts of a URL. Raises Refusal LGR-0730 where nothing may be sent to it; without TLS nothing may, but for `plain`."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise _unfit(url, f"it is no URL: {error}", "write https://host/path") from None
    if len(url) > _LONGEST or not url.isascii() or not url.isprintable() or " " in url:
        raise _unfit(url, f"a URL is up to {_LONGEST} printable ASCII characters", "write it with percent-encoding")
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise _unfit(url, "it is no URL of HTTPS", "write https://host/path")
    if parts.scheme == "http" and not plain:
        raise _unfit(url, "it is not encrypted", "use https, or say --plain where nobody else is on the way")
    if parts.username is not None or parts.password is not None:
        raise _unfit(url, "it holds a name or a password", "messages are signed: leave it out")
    if parts.fragment:
        raise _unfit(url, "a fragment is never sent", "leave it out")
    tls = parts.scheme == "https"
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(url, tls, parts.hostname, port or (443 if tls else 80), path)


async def address(target: Target, *, private: bool) -> str:
    """The address to connect to now. Raises Refusal LGR-0730 where the name has one that may not be sent to, and OSError where it
    has none."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    return judged(target, [str(each[4][0]) for each in found], private=private)


def judged(target: Target, addresses: list[str], *, private: bool) -> str:
    """The first of the addresses of a host, all of which may be sent to."""
    for each in addresses:
        if not private and not is_public(each):
            raise _unfit(
                target.url, f"{target.host} is at {each}, which is not in the public network", "say --private if that is meant"
            )
    return addresses[0]


def is_public(address: str) -> bool:
    """Whether an address is one of the public network: not of this machine, a private network, a link or a group."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour or (found.teredo[1] if found.teredo else None)
        if found in _NAT64:
            inner = ipaddress.IPv4Address(int(found) & 0xFFFF_FFFF)
        if inner is not None:
            return is_public(str(inner))
    return found.is_global and not found.is_multicast and not found.is_reserved and not found.is_unspecified


def _unfit(url: str, detail: str, help: str) -> Refusal:
    return Refusal("LGR-0730", detail, field="url", value=url, help=help)
