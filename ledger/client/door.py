"""The ledger's door, from outside: posts of events, and what they are answered."""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Self

import httpx
import msgspec

from ledger.client.answers import Answer, Refused, Unanswered, read_answer, read_problem
from ledger.client.happenings import BATCH_TYPE, Event, batch
from ledger.client.retry import Retry, retry_after

TIMEOUT = 10.0
"""Seconds for each of: to connect, to send, to be answered."""
_WORTH_PACKING = 1024
"""Bytes of a body below which compressing it gains nothing."""


class Door:
    """Where a terminal posts. One connection, kept open; one post at a time."""

    def __init__(
        self,
        url: str,
        *,
        auth: httpx.Auth | None = None,
        retry: Retry = Retry(),  # noqa: B008 - frozen
        timeout: float = TIMEOUT,
        packed: bool = False,
        pause: Callable[[float], object] = time.sleep,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """`url` is the service's, for example http://127.0.0.1:8044. Nothing is sent yet.

        `auth` signs each try anew. `packed` sends larger bodies with gzip, where the service reads that. `pause` waits between
        two tries. Raises ValueError for what is no URL of http or https.
        """
        parsed = httpx.URL(url)
        if parsed.scheme not in ("http", "https") or not parsed.host:
            raise ValueError(f"not the URL of a service: {url}")
        self.url = url
        self.retry = retry
        self._packed = packed
        self._pause = pause
        self._http = httpx.Client(
            base_url=parsed, auth=auth, timeout=timeout, limits=httpx.Limits(max_connections=1), transport=transport
        )

    def close(self) -> None:
        """Ends the connection."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def post(self, events: Sequence[Event | bytes], *, token: str | None = None, behind: bool = False) -> Answer:
        """Posts events, encoded or not, as one batch in their order, until it is answered; one item each.

        `token` is that of the person whose acts they are; it goes with this post and no other. `behind` says that events of the
        terminal's earlier epochs still wait. Tries again as `retry` says, with the same bytes. Raises Unanswered when it is given
        up for now, and Refused where the post as a whole can never be taken.
        """
        encoded = [event if isinstance(event, bytes) else event.encoded() for event in events]
        body = batch(encoded)
        headers = {"Content-Type": BATCH_TYPE}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        if self._packed and len(body) >= _WORTH_PACKING:
            body = gzip.compress(body, 6, mtime=0)
            headers["Content-Encoding"] = "gzip"
        path = "/v1/events?earlier=waiting" if behind else "/v1/events"
        failures, sent = 0, False
        while True:
            try:
                answer = read_answer(self._ask("POST", path, body, headers))
                if len(answer.items) != len(encoded):
                    raise Unanswered(f"{len(encoded)} events had {len(answer.items)} answers")
            except Unanswered as failure:
                failures += 1
                sent = failure.sent = sent or failure.sent
                if failures >= self.retry.tries:
                    raise
                self._pause(self.retry.pause(failures, failure.retry_after))
            else:
                return answer

    def rest(self, failures: int) -> None:
        """Waits as `retry` says after so many failures in a row."""
        self._pause(self.retry.pause(failures))

    def time(self) -> datetime:
        """The service's clock, for a terminal to set its own by. Raises Unanswered and Refused as `post` does; tries once."""
        try:
            return msgspec.json.decode(self._ask("GET", "/time"), type=_Time).time
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise Unanswered("what was answered is no time") from None

    def _ask(self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> bytes:
        try:
            response = self._http.request(method, path, content=body, headers=headers)
        except httpx.HTTPError as error:
            sent = not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
            raise Unanswered(f"{self.url} does not answer: {str(error) or type(error).__name__}", sent=sent) from error
        if response.status_code == 200:
            return response.content
        problem = read_problem(response.status_code, response.content)
        if problem.retryable:
            wait = retry_after(response.headers.get("retry-after"))
            raise Unanswered(str(problem), retry_after=wait, code=problem.code or None)
        raise Refused(problem)


class _Time(msgspec.Struct, frozen=True):
    time: datetime
