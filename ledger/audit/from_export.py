"""The log read from an export: the lines of `roundledger feed`, a CloudEvent each, plain or compressed by gzip.

An export is read twice. The first time only the streams of its events are looked at, to know of which rounds something follows
their end; the second time rounds are gathered. A plain file can be read in parts, side by side; a compressed one is one part.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import IO, NamedTuple, cast
from uuid import UUID

import msgspec

from ledger.audit.gathering import OF_NO_ROUND, Row, decoded, uuid
from ledger.audit.scope import EVERYTHING, Scope
from ledger.errors import Refusal
from ledger.events import DocumentRecorded, GamingDayClosed, PlayerErased, Recorded, RoundOpened, RoundSettled, RoundVoided

_CHUNK = 1 << 22
"""Bytes that are read at a time."""
_PREFIX = "roundledger."
_HEAD = re.compile(rb'"type":"roundledger\.([A-Za-z]+)\.v[0-9]+","subject":"([0-9a-f-]{36})"')
"""Type and stream, as this program writes them."""
_BESIDE = frozenset(kind.__name__.encode() for kind in OF_NO_ROUND)
_OPENED, _SETTLED, _VOIDED = (kind.__name__.encode() for kind in (RoundOpened, RoundSettled, RoundVoided))
_HOUSE = frozenset(kind.__name__.encode() for kind in (DocumentRecorded, GamingDayClosed, PlayerErased))


class _Line(msgspec.Struct, gc=False):
    """What is read of a CloudEvent."""

    position: str
    subject: str
    version: str
    type: str
    data: msgspec.Raw


class _Caused(msgspec.Struct, gc=False):
    """Of the data of a CloudEvent, what brought it about."""

    cause: UUID | None = None


class _Opening(msgspec.Struct, gc=False):
    """Of the data of an opening, where it was."""

    table: str


class _When(msgspec.Struct, gc=False):
    """Of a CloudEvent, where it stands and when it was received."""

    position: str
    time: datetime
    data: _Caused


_lines = msgspec.json.Decoder(_Line)
_whens = msgspec.json.Decoder(_When)
_opening = msgspec.json.Decoder(_Opening)


class Stretch(NamedTuple):
    """A part of a file, by its bytes, which ends where a line ends."""

    begin: int
    end: int
    """-1 of a compressed file: as far as it goes."""


class Survey(NamedTuple):
    """What the first reading of a stretch has seen."""

    events: int
    opened: frozenset[bytes]
    """Streams of the rounds that began in it and have not ended in it."""
    foreign: Mapping[bytes, tuple[int, int | None]]
    """Streams that are not under way in it → their events up to one that ends the round, with that; and those behind it, None
    where none does."""
    house: tuple[Recorded, ...]
    """The documents, the days that were closed, and the players that were erased."""


class ExportSource:
    """One export, as far as the scope goes."""

    def __init__(self, path: Path, scope: Scope = EVERYTHING, *, stop: int | None = None) -> None:
        """`stop`: the byte behind the last line that is meant, where that is known already."""
        self.path = path
        self._compressed = _compressed(path)
        self.stop = self._stop(scope.until) if stop is None else stop

    # In parts.

    def parts(self, number: int) -> list[Stretch]:
        """The file in at most so many parts of about the same size. A compressed one is one part."""
        if self._compressed:
            return [Stretch(0, self.stop)]
        size = self.path.stat().st_size if self.stop < 0 else self.stop
        cuts = [0]
        with self.path.open("rb") as file:
            for n in range(1, number):
                file.seek(size * n // number)
                file.readline()
                if cuts[-1] < file.tell() < size:
                    cuts.append(file.tell())
        return [Stretch(begin, end) for begin, end in zip(cuts, [*cuts[1:], size], strict=True) if end > begin]

    def _chunks(self, part: Stretch) -> Iterator[bytes]:
        """The part in pieces that end where a line ends."""
        with self._opened() as file:
            file.seek(part.begin)
            left = part.end - part.begin if part.end >= 0 else None
            while left is None or left > 0:
                chunk = self._read(file, _CHUNK if left is None else min(_CHUNK, left))
                if not chunk:
                    return
                if left is None or len(chunk) < left:
                    chunk += file.readline()
                if left is not None:
                    left -= len(chunk)
                yield chunk

    def _opened(self) -> IO[bytes]:
        return cast(IO[bytes], gzip.open(self.path, "rb")) if self._compressed else self.path.open("rb")

    def _read(self, file: IO[bytes], size: int) -> bytes:
        try:
            return file.read(size)
        except (EOFError, gzip.BadGzipFile, zlib.error, OSError) as error:
            raise Refusal(
                "LGR-0740", f"the file cannot be read: {error}", field="--from", value=str(self.path), help="fetch it once more"
            ) from error

    # The first reading.

    def survey(self) -> tuple[list[Recorded], dict[UUID, int]]:
        """The documents, days that were closed and players that were erased; and of which rounds something follows the end."""
        seen = [self.survey_part(part) for part in self.parts(1)]
        return [each for survey in seen for each in survey.house], following(seen)

    def survey_part(self, part: Stretch) -> Survey:
        """Of which rounds something follows their end, as far as this part shows."""
        seen = _Surveying()
        for chunk in self._chunks(part):
            heads = [(match[1], match[2], match.start()) for match in _HEAD.finditer(chunk)]
            if len(heads) != chunk.count(b"\n") + (not chunk.endswith(b"\n")):
                heads = self._heads_by_line(chunk)
            for kind, stream, at in heads:
                seen.take(kind, stream, chunk, at)
                if kind in _HOUSE:
                    begin, end = chunk.rfind(b"\n", 0, at) + 1, chunk.find(b"\n", at)
                    seen.house.append(decoded(self._row(chunk[begin : end if end >= 0 else len(chunk)])))
        return seen.done()

    def _heads_by_line(self, chunk: bytes) -> list[tuple[bytes, bytes, int]]:
        """The same where another program has written the lines anew."""
        heads, at = [], 0
        for line in chunk.splitlines(keepends=True):
            if line.strip():
                found = self._line(line)
                kind = found.type.removeprefix(_PREFIX).partition(".")[0]
                heads.append((kind.encode(), found.subject.encode(), at))
            at += len(line)
        return heads

    # The second reading.

    def rows(self, part: Stretch) -> Iterator[Row]:
        """The events of a part. Raises Refusal LGR-0740 for what is no line of an export, LGR-0741 for lines out of order."""
        last = 0
        for chunk in self._chunks(part):
            try:
                lines = _lines.decode_lines(chunk)
            except (msgspec.DecodeError, UnicodeDecodeError):
                lines = [self._line(line) for line in chunk.splitlines() if line.strip()]
            for line in lines:
                row = self._of(line)
                if row[0] <= last:
                    raise out_of_order(self.path, row[0], last)
                last = row[0]
                yield row

    def _row(self, line: bytes) -> Row:
        return self._of(self._line(line))

    def _of(self, line: _Line) -> Row:
        if not (line.type.startswith(_PREFIX) and _is_number(line.position) and _is_number(line.version)):
            raise self._no_export(f"type {line.type}, position {line.position}, version {line.version}")
        try:
            # A plain tuple in the place of a Row: to make one by its name takes three times as long.
            return cast(
                Row,
                (int(line.position), line.subject, int(line.version), line.type[len(_PREFIX) :], bytes(line.data), None, None),
            )
        except ValueError as error:
            raise self._no_export(f"position {line.position}, version {line.version}: {error}") from error

    def _line(self, line: bytes) -> _Line:
        try:
            return _lines.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._no_export(f"{error}: {line[:80].decode('utf-8', 'replace')}") from error

    def _no_export(self, detail: str) -> Refusal:
        return Refusal(
            "LGR-0740",
            f"a line is no event of an export: {detail}",
            field="--from",
            value=str(self.path),
            help="give a file that roundledger feed wrote, an event a line, or the same compressed by gzip",
        )

    def whole_rounds(self, streams: Collection[UUID]) -> Iterator[Row]:
        """The events of these rounds, whatever the scope."""
        wanted = {str(stream) for stream in streams}
        for part in self.parts(1):
            yield from (row for row in self.rows(part) if row[1] in wanted)

    def openings(self) -> Iterator[tuple[UUID, str]]:
        """Each round of the file and its table, whatever the scope; those that cannot be read are left out."""
        for part in self.parts(1):
            for row in self.rows(part):
                if row[3].partition(".")[0].encode() == _OPENED:
                    with suppress(msgspec.DecodeError, ValueError):
                        yield uuid(row[1]), _opening.decode(row[4]).table

    # Where it ends.

    def _stop(self, until: int | datetime | None) -> int:
        """The byte behind the last line that is meant; -1 where all is. What one report brought about is not divided."""
        if until is None:
            return -1
        if isinstance(until, datetime):
            until = max((int(when.position) for _, when in self._whens() if when.time <= until), default=0)
        begun, cause, last = 0, None, 0
        for at, when in self._whens():
            if when.data.cause is None or when.data.cause != cause:
                begun, cause = at, when.data.cause
            last = int(when.position)
            if last > until:
                return begun
        if until > last:
            raise Refusal(
                "LGR-0108",
                f"the export ends at position {last}",
                field="--until",
                value=str(until),
                help=f"leave it out, or name a position up to {last}",
            )
        return -1

    def _whens(self) -> Iterator[tuple[int, _When]]:
        """Each line's first byte, with what is read of it."""
        at = 0
        for chunk in self._chunks(Stretch(0, -1)):
            for line in chunk.splitlines(keepends=True):
                if line.strip():
                    try:
                        yield at, _whens.decode(line)
                    except (msgspec.DecodeError, UnicodeDecodeError) as error:
                        raise self._no_export(str(error)) from error
                at += len(line)


class _Surveying:
    """A stretch on its way through its events."""

    def __init__(self) -> None:
        self.events = 0
        self.opened: set[bytes] = set()
        self.foreign: dict[bytes, tuple[int, int | None]] = {}
        self.house: list[Recorded] = []

    def take(self, kind: bytes, stream: bytes, chunk: bytes, at: int) -> None:
        """The next event."""
        self.events += 1
        if stream in self.opened:
            if kind == _SETTLED or (kind == _VOIDED and _ends(chunk, at)):
                self.opened.discard(stream)
        elif kind == _OPENED:
            self.opened.add(stream)
        elif kind not in _BESIDE:
            before, behind = self.foreign.get(stream, (0, None))
            if behind is not None:
                self.foreign[stream] = before, behind + 1
            else:
                ends = kind == _SETTLED or (kind == _VOIDED and _ends(chunk, at))
                self.foreign[stream] = before + 1, 0 if ends else None

    def done(self) -> Survey:
        """What it has seen."""
        return Survey(self.events, frozenset(self.opened), self.foreign, tuple(self.house))


def _ends(chunk: bytes, at: int) -> bool:
    """Whether the void ends its round: its disposition is none that lets the stakes stand."""
    end = chunk.find(b"\n", at)
    return not re.search(rb'"disposition"\s*:\s*"stand"', chunk[at : end if end >= 0 else len(chunk)])


def following(surveys: Iterable[Survey]) -> dict[UUID, int]:
    """Stream → how many events follow the end of its round, of those where any do."""
    opened: set[bytes] = set()
    found: Counter[bytes] = Counter()
    for survey in surveys:
        for stream, (before, behind) in survey.foreign.items():
            if stream not in opened:
                found[stream] += before + (behind or 0)
            elif behind is not None:
                opened.discard(stream)
                found[stream] += behind
        opened |= survey.opened
    return {uuid(stream.decode()): number for stream, number in found.items() if number}


def out_of_order(path: Path, position: int, last: int) -> Refusal:
    """What is said of an export in which a position comes behind one that is not before it. LGR-0741."""
    return Refusal(
        "LGR-0741",
        f"position {position} comes after position {last}",
        field="--from",
        value=str(path),
        help="give the lines as roundledger feed wrote them",
    )


def _is_number(text: str) -> bool:
    """Whether a text is a number as an export writes it: `int` reads more than that."""
    return text.isascii() and text.isdecimal()


def _compressed(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"
