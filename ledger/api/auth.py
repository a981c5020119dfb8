"""Who asks, before anything else is done for them: terminals by signature (RFC 9421), people by bearer token (RFC 6750).

The guard stands before all that the door serves, so that a new resource is closed until somebody opens it. Where nothing has to
be proved (on a machine of one's own), what is offered as a proof has to hold all the same.

A refusal is logged with the id of the key or the person as far as they are known, the code and the reason. The answer gives no
reason; and neither log nor answer ever has a signature, a token or a secret in it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import psycopg
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from ledger import rights
from ledger.api import problems
from ledger.api.access import Access
from ledger.api.rate import OF_AN_ADDRESS, Rate, address, too_often
from ledger.api.strictjson import printable
from ledger.errors import Refusal
from ledger.property import Property
from ledger.reports import Caller, Report, Verdict
from ledger.signatures import Message, Signed, Unverified, key_id, verify
from ledger.store.credentials import person_of, token_hash
from ledger.store.server import UNFIT

_log = logging.getLogger(__name__)

OPEN = re.compile(r"/healthz|/readyz|/problems/[^/]*")
"""What anybody may read: whether the service is well, and what a refusal means."""
POSTS = "/v1/events"
"""Where whoever was let in may post: what they post is judged item by item."""

_ADMITTED = "roundledger.admitted"
_AGAIN = "roundledger.again"
_BEARER = re.compile(r"Bearer +([A-Za-z0-9._~+/-]+=*)", re.IGNORECASE)
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_CHALLENGE = {
    "WWW-Authenticate": 'Bearer realm="round-ledger"',
    # RFC 9421, section 5.1: what a signature has to cover.
    "Accept-Signature": 'roundledger=("@method" "@authority" "@path" "@query" "content-type" "content-digest");created',
}


class Admitted(NamedTuple):
    """A request that was let in."""

    caller: Caller | None
    """None where the door has no guard."""
    signed: Signed | None
    properties: Sequence[Property]

    def verify_body(self, body: bytes) -> None:
        """Holds the body to the signature. Raises Refusal LGR-0803."""
        if self.signed is not None:
            try:
                self.signed.verify_body(body)
            except Unverified as reason:
                raise _unsigned() from reason

    def verify_reads_round(self, house_id: str, table: str) -> None:
        """Raises Refusal LGR-0804 where the caller may not read a round that was played under this property at this table."""
        if self.caller is not None:
            house = next((each for each in self.properties if each.id == house_id), None)
            rights.verify_reads_round(self.caller, table, house)

    def verify_reads_terminal(self, terminal: str) -> None:
        """Raises Refusal LGR-0804 where the caller may not read what was received of this terminal."""
        if self.caller is not None:
            rights.verify_reads_terminal(self.caller, terminal, self.properties)

    def vouch(self, report: Report) -> Report | Verdict:
        """The report, which says who sent it; or the verdict that it is not theirs, with which nothing is stored."""
        try:
            rights.verify_source(report)
        except Refusal as refusal:
            return Verdict(event_id=report.event_id, status="rejected", round=report.round, refusal=refusal)
        return report


_ANYBODY = Admitted(Caller(trusts_terminals=True), None, ())
"""Whoever proves nothing, where nothing has to be proved."""


class Guard:
    """ASGI: lets a request pass whose sender has proved who they are, as far as that is required."""

    def __init__(self, app: ASGIApp, access: Access, rate: Rate, turned_away: Callable[[str], None]) -> None:
        """`turned_away` is told the code of each refusal."""
        self._app = app
        self._access = access
        self._rate = rate
        self._turned_away = turned_away

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or OPEN.fullmatch(scope["path"]):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        admitted = None
        try:
            admitted = scope[_ADMITTED] = await self._admit(scope, headers)
            self._verify_read(scope, admitted)
            scope[_AGAIN] = partial(self._verify_again, scope, headers, admitted)
        except Refusal as refusal:
            if seconds := self._rate.wait(address(scope), OF_AN_ADDRESS):
                await too_often(seconds, scope)(scope, receive, send)
                return
            self._turned_away(refusal.code)
            log_refused(scope, refusal, _named(headers) if admitted is None else name_of(admitted.caller))
            # Nobody reads the body, and the rest of it would be taken for the next request.
            unread = {} if scope["method"] in _READING else {"Connection": "close"}
            await problems.response(refusal, headers={**challenge(refusal), **unread})(scope, receive, send)
        except (psycopg.OperationalError, *UNFIT) as error:
            _log.warning("the database did not say who may come in: %s", error)
            away = Refusal("LGR-0501", "the database did not answer", help="ask again in a moment")
            await problems.response(away, headers={"Connection": "close"})(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _admit(self, scope: Scope, headers: Headers) -> Admitted:
        access = self._access
        named = {name for name, _ in headers.raw}
        with_key = b"signature" in named or b"signature-input" in named
        with_token = b"authorization" in named
        if not with_key and not with_token:
            if not access.required:
                return _ANYBODY
            if scope["method"] in _READING:
                raise Refusal("LGR-0802", "the request bears no token", help="send Authorization: Bearer rlt_..., or sign it")
            raise _unsigned() from Unverified("there is neither a signature nor a token")
        signed, terminal = await self._signed(scope, headers) if with_key else (None, None)
        person = await self._person(headers) if with_token else None
        caller = Caller(terminal=terminal, person=person, trusts_terminals=not access.required)
        return Admitted(caller, signed, (await access.known()).properties)

    def _verify_read(self, scope: Scope, sender: Admitted) -> None:
        # At the path of the reports nothing is read: another method than POST is none of it, which is the route's to say.
        if self._access.required and sender.caller is not None and scope["path"] != POSTS:
            rights.verify_read(sender.caller, scope["path"], sender.properties)

    async def _verify_again(self, scope: Scope, headers: Headers, sender: Admitted) -> None:
        if "authorization" in headers:
            await self._person(headers)
        if sender.signed is not None:
            id = sender.signed.key
            key = (await self._access.known()).keys.get(id)
            if key is None or key.state(self._access.now()) != "live":
                raise _unsigned() from Unverified("the key has ended meanwhile")
        self._verify_read(scope, sender._replace(properties=(await self._access.known()).properties))

    async def _signed(self, scope: Scope, headers: Headers) -> tuple[Signed, str]:
        """The signature, and the terminal whose it is."""
        try:
            id = key_id(headers)
            key = (await self._access.known(lambda known: id in known.keys)).keys.get(id)
            now = self._access.now()
            if key is None:
                raise Unverified("the key is unknown")
            if (state := key.state(now)) != "live":
                raise Unverified(f"the key is {state}")
            signed = verify(_message(scope, headers), key.verifying(), now=now, window=self._access.window)
            if not self._access.replays.first(signed, now):
                raise Unverified("the signature was used before")
        except Unverified as reason:
            raise _unsigned() from reason
        return signed, key.terminal

    async def _person(self, headers: Headers) -> str:
        given = headers.getlist("authorization")
        bearer = _BEARER.fullmatch(given[0]) if len(given) == 1 else None
        if bearer is None:
            raise Refusal("LGR-0802", "Authorization is read as one Bearer token", help="send Authorization: Bearer rlt_...")
        sought = token_hash(bearer[1])
        found = (await self._access.known(lambda known: sought in known.tokens)).tokens.get(sought)
        return person_of(found, bearer[1], self._access.now())


def admitted(request: Mapping[str, Any]) -> Admitted:
    """Who was let in with this request (or scope)."""
    found: Admitted = request.get(_ADMITTED, Admitted(None, None, ()))
    return found


def again(request: Mapping[str, Any]) -> Callable[[], Awaitable[None]]:
    """For an answer that lasts: raises Refusal once whoever was let in with this request would be so no more."""
    found: Callable[[], Awaitable[None]] = request.get(_AGAIN, _anybody)
    return found


async def _anybody() -> None: ...


def proved(scope: Scope) -> str | None:
    """Who sent the request, where it was proved."""
    caller = admitted(scope).caller
    return None if caller is None or not (caller.terminal or caller.person) else name_of(caller)


def challenge(refusal: Refusal) -> Mapping[str, str]:
    """The header fields that go with a refusal for want of a proof (RFC 9110, section 11.6.1)."""
    return _CHALLENGE if refusal.meaning.status == 401 else {}


def log_refused(scope: Scope, refusal: Refusal, who: str, about: Mapping[str, Any] | None = None) -> None:
    """One line for the operator: what was refused to whom, and why; `about` is what `ledger.logs.on` gives."""
    # No warning: those are counted together where they come often, and each of these is to be found.
    _log.info(
        "%s to %s: %s %s from %s: %s",
        refusal.code,
        who,
        scope["method"],
        printable(scope["path"][:200]),
        (scope.get("client") or ("nowhere",))[0],
        refusal.__cause__ if isinstance(refusal.__cause__, Unverified) else refusal.detail,
        extra=about,
    )


def name_of(caller: Caller | None) -> str:
    """A caller as the log names them."""
    if caller is None:
        return "nobody"
    return " with ".join(filter(None, (caller.terminal and f"terminal {caller.terminal}", caller.person))) or "nobody"


def _named(headers: Headers) -> str:
    """Whom a request that was not let in names: an id is no secret, and no proof."""
    try:
        return f"key {printable(key_id(headers)[:100])}"
    except Unverified:
        return "nobody"


def _message(scope: Scope, headers: Headers) -> Message:
    """The request as its sender signed it: by the path as it was sent, and the Host that it was sent to."""
    hosts = headers.getlist("host")
    if len(hosts) != 1:
        raise Unverified("there is not one Host")
    path = scope.get("raw_path", b"").decode("latin-1")
    query = scope["query_string"].decode("latin-1")
    return Message(scope["method"], f"{scope['scheme']}://{hosts[0]}{path}" + (f"?{query}" if query else ""), headers)


def _unsigned() -> Refusal:
    """To be raised from the reason, which only the log says."""
    return Refusal(
        "LGR-0803",
        "the request does not bear a signature that holds",
        help="sign it anew with a live key and send it again; nothing was stored. The operator's log says what it lacks",
    )
