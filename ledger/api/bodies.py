"""The body of a post: what it may be made of, and how much of it is read, whoever sends it.

A bound holds at each step: of the bytes that come, of those that come out of a compression, of the time that they take. So
nobody fills the memory, with a long body, a slow one or one that was compressed a thousandfold.
"""

from __future__ import annotations

import asyncio
import re
import zlib
from functools import lru_cache

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import Receive

from ledger.api.strictjson import printable
from ledger.errors import Refusal

MAX_BODY = 1 << 20
"""Bytes of one post's body, and of what a compressed one becomes."""

ONE = "application/cloudevents+json"
BATCH = "application/cloudevents-batch+json"
EITHER = "application/json"


@lru_cache(maxsize=64)
def check_media_type(content_type: str | None) -> str:
    """The media type of a post, lower case, without parameters. Refuses LGR-0110."""
    accepted = f"send {ONE}, {BATCH} or {EITHER}, UTF-8"
    if content_type is None:
        raise Refusal("LGR-0110", "the request names no Content-Type", field="Content-Type", help=accepted)
    media, _, parameters = content_type.partition(";")
    media = media.strip().lower()
    charset = re.search(r"charset\s*=\s*\"?([^\s;\"]+)", parameters, re.IGNORECASE)
    if media not in (ONE, BATCH, EITHER) or (charset and charset[1].lower() not in ("utf-8", "utf8")):
        raise Refusal(
            "LGR-0110",
            "events are not read from this media type",
            field="Content-Type",
            value=printable(content_type),
            help=accepted,
        )
    return media


def check_encoding(content_encoding: str | None) -> bool:
    """Whether a post's body is compressed (RFC 9110, section 8.4.1.3). Refuses LGR-0110 any coding but gzip."""
    coding = (content_encoding or "identity").strip().lower()
    if coding not in ("gzip", "x-gzip", "identity", ""):
        raise Refusal(
            "LGR-0110",
            "a body is read as it is or compressed with gzip, and in no other coding",
            field="Content-Encoding",
            value=printable(content_encoding or ""),
            help="send Content-Encoding: gzip, or none",
        )
    return coding.endswith("gzip")


def inflated(raw: bytes) -> bytes:
    """What was compressed into `raw`. Refuses what is longer than a body may be (LGR-0102) and what is no gzip (LGR-0101)."""
    inflater = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        body = inflater.decompress(raw, MAX_BODY + 1)
    except zlib.error as error:
        raise Refusal(
            "LGR-0101", f"the body is not gzip: {error}", field="Content-Encoding", value="gzip", help="send it as it is"
        ) from None
    if len(body) > MAX_BODY:
        raise Refusal(
            "LGR-0102",
            f"a post holds at most {MAX_BODY} bytes, also of what was compressed",
            field="Content-Encoding",
            value="gzip",
            help="send the events in smaller batches, in order; nothing of this one was stored",
        )
    if not inflater.eof or inflater.unused_data:
        fault = "goes on behind its end" if inflater.eof else "ends in its middle"
        raise Refusal("LGR-0101", f"the gzip of the body {fault}", field="Content-Encoding", value="gzip", help="send it again")
    return body


async def received(headers: Headers, receive: Receive, seconds: float) -> bytes:
    """The body as it was sent, read no further than its limit whatever Content-Length promised. Refuses LGR-0102, LGR-0113.

    Raises ClientDisconnect where the client leaves before it is complete.
    """
    promised = headers.get("content-length", "")
    if promised.isascii() and promised.isdigit() and (len(promised) > 18 or int(promised) > MAX_BODY):
        raise _too_large(promised)
    raw = bytearray()
    try:
        async with asyncio.timeout(seconds):
            more = True
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                raw += message.get("body", b"")
                more = message.get("more_body", False)
                if len(raw) > MAX_BODY:
                    raise _too_large(promised)
    except TimeoutError:
        raise Refusal(
            "LGR-0113",
            f"the body did not arrive within {seconds:g} seconds",
            help="send it again; nothing was stored",
        ) from None
    return bytes(raw)


def _too_large(promised: str) -> Refusal:
    return Refusal(
        "LGR-0102",
        f"a post holds at most {MAX_BODY} bytes",
        field="Content-Length",
        value=promised or None,
        help="send the events in smaller batches, in order; nothing of this one was stored",
    )
