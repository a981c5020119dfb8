"""Refusals: every error a person or a terminal can cause, with a stable code.

A refusal shows the user's own input, says what was expected and why (the article, where there is one) and what to do next.
Codes are public and never change their meaning. By hundreds: 01 the input's shape, 02 the life of a round, 03 retries and
terminals, 04 rules, 05 the store, 06 the property's configuration and its limits, 07 the command line, 08 who may do what.

This module imports nothing of ours, so the rules core may use it.
"""

from __future__ import annotations

from typing import NamedTuple


class Code(NamedTuple):
    """What is fixed about a code."""

    title: str
    """The same words whenever the code appears (RFC 9457 `title`)."""
    status: int
    """The HTTP status with which the door answers it."""
    retryable: bool = False
    """Whether the very same input may succeed later."""
    early: bool = False
    """Whether it may only because something that comes before it may still be under way. A report with a number, before which its
    terminal's numbers show nothing missing, was not overtaken: then it is refused for good (`ledger.sequences`)."""


CODES: dict[str, Code] = {
    # 01: the input's shape
    "LGR-0101": Code("The body is not JSON", 400),
    "LGR-0102": Code("The body is too large", 413),
    "LGR-0103": Code("Not a CloudEvent that this ledger reads", 422),
    "LGR-0104": Code("Not an amount of money", 422),
    "LGR-0105": Code("Unknown currency", 422),
    "LGR-0106": Code("A key stands twice in one object", 422),
    "LGR-0107": Code("Unknown event type", 422),
    "LGR-0108": Code("A field is missing, unknown or of the wrong type", 422),
    "LGR-0109": Code("Too many events in one batch", 413),
    "LGR-0110": Code("Unsupported media type", 415),
    "LGR-0111": Code("No such resource", 404),
    "LGR-0112": Code("Method not allowed here", 405),
    "LGR-0113": Code("The body did not arrive in time", 408, retryable=True),
    "LGR-0120": Code("No such report", 404),
    "LGR-0121": Code("The report cannot be asked for so", 422),
    "LGR-0122": Code("The player's reference looks like a document's number", 422),
    "LGR-0123": Code("The player's reference is erased", 409),
    "LGR-0124": Code("The player's reference has the form of an erased one", 422),
    # 02: the life of a round
    "LGR-0201": Code("The table's last round is not settled", 409, retryable=True),
    "LGR-0202": Code("No such round", 404, retryable=True, early=True),
    "LGR-0203": Code("The round exists already", 409),
    "LGR-0204": Code("Betting is closed", 409),
    "LGR-0205": Code("Betting is not closed yet", 409, retryable=True, early=True),
    "LGR-0206": Code("The outcome is already recorded", 409),
    "LGR-0207": Code("The round belongs to another table", 409),
    "LGR-0208": Code("The bet's currency is not the round's", 422),
    "LGR-0209": Code("The bet exists already", 409),
    "LGR-0210": Code("The bet was placed late", 409),
    "LGR-0211": Code("The dice were thrown since the bet was placed", 409, retryable=True),
    "LGR-0212": Code("No such bet in the round", 404, retryable=True, early=True),
    "LGR-0213": Code("The bet is not open any more", 409),
    "LGR-0214": Code("The bet may not be taken back or reduced", 409),
    "LGR-0215": Code("Held for review", 409, retryable=True),
    "LGR-0216": Code("The next round is not named as it must be", 409, retryable=True, early=True),
    "LGR-0217": Code("Not a report for this game", 422),
    "LGR-0218": Code("The throw is not recorded yet", 409, retryable=True, early=True),
    "LGR-0219": Code("No such void clause", 422),
    "LGR-0220": Code("No outcome is recorded yet", 409, retryable=True, early=True),
    "LGR-0221": Code("Betting is open", 409, retryable=True, early=True),
    "LGR-0222": Code("Nothing would change", 422),
    "LGR-0223": Code("The round ended without an outcome", 409),
    "LGR-0224": Code("No such hold", 404, retryable=True, early=True),
    "LGR-0225": Code("The hold was released already", 409),
    "LGR-0226": Code("No such approved correction", 409, retryable=True),
    "LGR-0227": Code("Nobody of this reference works so at the table", 409),
    # from 0240: what is put right afterwards
    "LGR-0240": Code("It is too early for this correction", 409, retryable=True),
    "LGR-0241": Code("The round no longer has what this is about", 409),
    "LGR-0242": Code("The correction would change nothing", 409),
    "LGR-0243": Code("The correction is decided already", 409),
    "LGR-0244": Code("The round cannot have gone so", 422),
    "LGR-0245": Code("The stakes stay where they are by law", 409),
    "LGR-0246": Code("The regulation itself says what becomes of the stakes", 422),
    "LGR-0247": Code("No article was breached", 422),
    "LGR-0248": Code("No such correction in this round", 404, retryable=True, early=True),
    "LGR-0249": Code("Another person has to decide this", 409),
    "LGR-0250": Code("What the correction was proposed on has changed", 409),
    "LGR-0251": Code("Not an amount that is paid ex gratia", 422),
    "LGR-0252": Code("Not an amount that can have been paid wrongly", 422),
    # from 0260: slips and gaming days
    "LGR-0260": Code("The slip does not add up", 422),
    "LGR-0261": Code("The slip's number is used already", 409),
    "LGR-0262": Code("No such slip at this table", 404, retryable=True),
    "LGR-0263": Code("The slip does not stand so", 409, retryable=True),
    "LGR-0264": Code("The amount is not in the table's currency", 422),
    "LGR-0265": Code("Unknown kind of chip", 422),
    "LGR-0270": Code("The gaming day has not ended", 409, retryable=True),
    "LGR-0271": Code("The gaming day is closed", 409),
    "LGR-0272": Code("The gaming day is to come", 422),
    "LGR-0273": Code("Gaming days are closed in order", 409, retryable=True),
    "LGR-0274": Code("A round of the gaming day is open", 409, retryable=True),
    "LGR-0275": Code("The figures have changed since they were read", 409, retryable=True),
    "LGR-0276": Code("The gaming day is before the first of the ledger", 422),
    "LGR-0277": Code("Something of the gaming day is unfinished", 409, retryable=True),
    # from 0280: players that are to be forgotten
    "LGR-0280": Code("No such player", 404, retryable=True),
    "LGR-0281": Code("The player is held", 409, retryable=True),
    "LGR-0282": Code("Something of the player is unfinished", 409, retryable=True),
    "LGR-0283": Code("The player is not held for this", 409),
    # 03: retries and terminals
    "LGR-0301": Code("This event id was used for another body", 422),
    "LGR-0302": Code("The same event is being recorded at this moment", 409, retryable=True),
    "LGR-0303": Code("Another event of the terminal has this number", 422),
    "LGR-0304": Code("Earlier events of this terminal are missing", 409, retryable=True),
    "LGR-0305": Code("No such terminal", 404),
    "LGR-0306": Code("Too many requests", 429, retryable=True),
    "LGR-0307": Code("The number was given up", 409),
    "LGR-0308": Code("Not all of these numbers are missing", 409),
    # 04: rules
    "LGR-0401": Code("No regulation was in effect", 422),
    "LGR-0402": Code("Unknown regulation", 422),
    "LGR-0403": Code("No rule text for this bet", 422),
    "LGR-0404": Code("Unknown chance", 422),
    "LGR-0405": Code("Not a bet in bet notation", 422),
    "LGR-0406": Code("Not an outcome of this game", 422),
    "LGR-0407": Code("The regulation's data are not valid", 500),
    "LGR-0408": Code("The bet is not open at this moment of the game", 422),
    "LGR-0409": Code("The outcome does not decide the bet", 422),
    "LGR-0410": Code("Not a moment for which rules can be looked up", 422),
    "LGR-0412": Code("Not a legal selection of this chance", 422),
    # 05: the store
    "LGR-0501": Code("The database cannot be reached", 503, retryable=True),
    "LGR-0502": Code("The database has an older schema", 503),
    "LGR-0503": Code("Another writer changed this round", 409, retryable=True),
    "LGR-0504": Code("An event of the log cannot be read", 500),
    "LGR-0505": Code("The service is busy", 503, retryable=True),
    "LGR-0506": Code("The embedded Postgres cannot run here", 503),
    "LGR-0507": Code("The embedded Postgres did not start", 503),
    "LGR-0508": Code("The data directory belongs to another major version of Postgres", 503),
    "LGR-0509": Code("An unexpected fault; it is logged", 500, retryable=True),
    "LGR-0510": Code("The database has a newer schema", 503),
    "LGR-0511": Code("An applied migration was changed", 503),
    "LGR-0512": Code("A migration failed", 503),
    "LGR-0513": Code("No space is left on the disk", 503),
    "LGR-0514": Code("The data directory cannot be used", 503),
    "LGR-0515": Code("The database cannot hold a ledger", 503),
    "LGR-0516": Code("The connection settings are not valid", 503),
    "LGR-0517": Code("The database's role lacks a right", 503),
    "LGR-0518": Code("The read side has not caught up", 503, retryable=True),
    "LGR-0519": Code("Only the embedded Postgres is started and stopped here", 409),
    "LGR-0520": Code("The books are out of balance", 500),
    "LGR-0521": Code("Another process writes this table", 409, retryable=True),
    "LGR-0522": Code("The log does not hold what this cursor has read", 410),
    "LGR-0523": Code("A projection stands still", 503, retryable=True),
    "LGR-0524": Code("The database cannot take this event", 422),
    "LGR-0525": Code("The log's sequence is behind the log", 503, retryable=True),
    "LGR-0530": Code("The projections are at work already", 409, retryable=True),
    "LGR-0531": Code("There is nothing to switch to", 409),
    "LGR-0532": Code("The projections' tables are in use", 409, retryable=True),
    "LGR-0533": Code("Something is in the way of the projections' tables", 409),
    # 06: the property's configuration
    "LGR-0601": Code("No property is configured", 409),
    "LGR-0602": Code("Unknown table", 422),
    "LGR-0603": Code("The table deals another game", 422),
    "LGR-0604": Code("The property's configuration is not valid", 422),
    "LGR-0612": Code("Unknown property", 422),
    "LGR-0605": Code("The stake is below the minimum", 422),
    "LGR-0606": Code("The stake is above the maximum", 422),
    "LGR-0607": Code("The bet would exceed the table's exposure limit", 422),
    "LGR-0608": Code("The bet would exceed the table's differential", 422),
    "LGR-0609": Code("The table's own stream is a round", 409),
    "LGR-0610": Code("The property does not know this person so", 422),
    "LGR-0611": Code("A table with an open round cannot be given up", 409, retryable=True),
    # 07: the command line
    "LGR-0701": Code("No round or bet has this id", 404),
    "LGR-0702": Code("More than one has an id that begins so", 409),
    "LGR-0703": Code("The file of outcomes is not valid", 422),
    "LGR-0704": Code("The service did not start", 500),
    "LGR-0705": Code("The service refused what the demo posted", 500),
    "LGR-0706": Code("The service cannot be reached", 503, retryable=True),
    "LGR-0707": Code("The ledger holds another property", 409),
    "LGR-0708": Code("Another demo is playing", 409, retryable=True),
    "LGR-0709": Code("The round is not settled", 409, retryable=True),
    "LGR-0710": Code("Not a bet with its amount", 422),
    "LGR-0711": Code("The address cannot be listened on", 500),
    "LGR-0712": Code("The service has no keys yet, so it stays on this machine", 500),
    "LGR-0713": Code("The TLS certificate cannot be used", 500),
    "LGR-0720": Code("The terminal's outbox cannot be used", 500),
    "LGR-0721": Code("No room is left for the terminal's outbox", 500, retryable=True),
    "LGR-0722": Code("The terminal's key cannot be read", 500),
    "LGR-0723": Code("A person's act does not wait in an outbox", 422),
    "LGR-0724": Code("A secret is written to a new file only", 500),
    "LGR-0725": Code("A round that was not made up is left open", 409),
    "LGR-0730": Code("Nothing can be sent to this webhook", 422),
    "LGR-0731": Code("No such webhook", 404),
    "LGR-0732": Code("A package that this form needs is not installed", 500),
    "LGR-0733": Code("Nothing can be published to this stream", 503, retryable=True),
    "LGR-0740": Code("Not an export of the log", 422),
    "LGR-0741": Code("The export is not in the order of the log", 422),
    "LGR-0742": Code("The replay cannot go on by this file", 422),
    # from 0750: reconciliation
    "LGR-0750": Code("No such mapping", 404),
    "LGR-0751": Code("The mapping cannot be read so", 422),
    "LGR-0752": Code("The file is not as the mapping says", 422),
    "LGR-0753": Code("The file cannot be read", 422),
    "LGR-0754": Code("It is not clear which mapping is meant", 422),
    "LGR-0756": Code("There is nothing to compare", 422),
    "LGR-0757": Code("The composite key tells too few rows apart", 422),
    "LGR-0758": Code("No such exception", 404),
    "LGR-0759": Code("The exception cannot be resolved so", 409),
    "LGR-0760": Code("The comparison has too little memory or disk", 422),
    # from 0770: what an auditor asks
    "LGR-0770": Code("No account has this name", 404),
    "LGR-0771": Code("The span ends before it begins", 422),
    "LGR-0772": Code("Two regulations of one game", 422),
    # 08: who may do what
    "LGR-0801": Code("This takes a person who has proved who it is", 401, retryable=True),
    "LGR-0802": Code("No valid token", 401),
    "LGR-0803": Code("No valid signature", 401),
    "LGR-0804": Code("Whoever asks may not do this", 403, retryable=True),
    "LGR-0805": Code("The key or token cannot be issued or ended", 409),
}
"""Every code with its meaning."""


class Refusal(Exception):
    """An input was refused; nothing of it was stored as an event.

    `code` is a key of `CODES`; `detail` says what is wrong in one sentence; `field` names the part of the input (a dotted path),
    `value` shows it as the user wrote it and `span` the part of it that is wrong (from, to); `help` says what to do; `cite` names
    order, article and item where a rule refused.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        field: str | None = None,
        value: object = None,
        help: str | None = None,
        cite: str | None = None,
        span: tuple[int, int] | None = None,
    ) -> None:
        self.code = code
        self.detail = _plain(detail)
        super().__init__(code, self.detail)
        self.field = field
        self.value = None if value is None else _shown(value)
        self.help = help
        self.cite = cite
        self.span = span
        self.final = False
        """Whether it is for good, whatever its code says: nothing that could still come would change it."""

    @property
    def meaning(self) -> Code:
        return CODES[self.code]

    @property
    def retryable(self) -> bool:
        """Whether the very same input may succeed later."""
        return self.meaning.retryable and not self.final

    def __str__(self) -> str:
        return f"{self.code}: {self.detail}"

    def render(self) -> str:
        """The refusal as a person reads it: one line of what, then the input, the rule and the way out."""
        lines = [f"error[{self.code}]: {self.detail}"]
        if self.value is not None:
            label = f"  {self.field or 'input'}: "
            lines.append(label + self.value)
            if self.span is not None and self.value.isprintable():
                start, end = self.span
                lines.append(" " * (len(label) + _width(self.value[:start])) + "^" * max(1, _width(self.value[start:end])))
        if self.cite:
            lines.append(f"  rule: {self.cite}")
        if self.help:
            lines.append(f"  help: {self.help}")
        return "\n".join(lines)


_SHOWN_LIMIT = 200


def _width(text: str) -> int:
    """Terminal columns: full-width characters take two."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width  # only a refusal of such text needs it

    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def _shown(value: object) -> str:
    """The user's own input, cut so that a 50 MB field does not come back."""
    text = value if isinstance(value, str) else repr(value)
    return _plain(text if len(text) <= _SHOWN_LIMIT else text[:_SHOWN_LIMIT] + "…")


def _plain(text: str) -> str:
    """What cannot be shown or stored (control characters, lone surrogates) as visible escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)
