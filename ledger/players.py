"""What a house has decided about players' references: which may not be erased yet, and which are.

All of it is one stream, for a reference has one account over all properties of a ledger. Erasing changes nothing that was
recorded: it says as what the reference is shown from then on (`ledger.erasure`).
"""

from __future__ import annotations

import secrets

from ledger.deciding import Deciding
from ledger.errors import Refusal
from ledger.events import Event, PlayerErased, PlayerHeld, PlayerReleased
from ledger.pseudonyms import ERASED
from ledger.reports import PLAYERS_STREAM, ErasePlayer, HoldPlayer, ReleasePlayer
from ledger.round import Origin
from ledger.round.persons import verify_person
from ledger.round.trying import succeeds


class Players(Deciding):
    """The players' references that something was decided about. Not thread-safe: the application holds it."""

    __slots__ = ("erased", "held")

    def __init__(self) -> None:
        super().__init__(PLAYERS_STREAM)
        self.erased: dict[str, str] = {}
        """Reference → what is shown in its place."""
        self.held: dict[str, list[str]] = {}
        """Reference → the reasons for which it is held, in the order in which they came; no entry where there is none."""

    def _change(self, body: Event) -> None:
        match body:
            case PlayerErased():
                self.erased[body.player] = body.shown
            case PlayerHeld():
                self.held.setdefault(body.player, []).append(body.reason)
            case PlayerReleased():
                self.held[body.player].remove(body.reason)
                if not self.held[body.player]:
                    del self.held[body.player]
            case _:
                raise Refusal("LGR-0504", f"of players there is no event {type(body).__name__}", value=str(self.id))

    def verify_named(self, player: str, field: str) -> None:
        """Raises Refusal LGR-0123 where the reference is erased. It does not repeat it: what is refused is kept."""
        if player in self.erased:
            raise Refusal(
                "LGR-0123",
                "the player of this reference was erased: nothing new is said under it",
                field=field,
                help="a guest who comes back is known by a new reference",
            )

    # Erasing.

    def verify_erase(self, said: ErasePlayer, origin: Origin) -> None:
        """Raises unless a person erases a reference that was not erased before and is not held."""
        verify_person(origin)
        self.verify_named(said.player, "data.player")
        if said.player in self.held:
            raise Refusal(
                "LGR-0281",
                "a duty to keep goes before",
                field="data.player",
                value=said.player,
                help=f"held for: {', '.join(self.held[said.player])}; release each once it has ended",
            )

    def can_erase(self, said: ErasePlayer, origin: Origin) -> bool:
        """Whether `erase` would succeed."""
        return succeeds(self.verify_erase, said, origin)

    def erase(self, said: ErasePlayer, origin: Origin) -> None:
        """Shows the reference no more.

        What is shown in its place is drawn and stands in the event. The hash of a member number can be found by trying all
        numbers, and what would be drawn anew at each replay would not be the same twice.
        """
        self.verify_erase(said, origin)
        shown = _drawn()
        while shown in self.erased.values():
            shown = _drawn()
        self._happen(
            PlayerErased(
                **origin._asdict(), property=said.property, player=said.player, shown=shown, reason=said.reason, note=said.note
            )
        )

    # Legal holds.

    def verify_hold(self, said: HoldPlayer, origin: Origin) -> None:
        """Raises unless a person holds a reference that is not erased, and not held for this reason already."""
        verify_person(origin)
        self.verify_named(said.player, "data.player")
        if said.reason in self.held.get(said.player, ()):
            raise Refusal(
                "LGR-0222",
                f"{said.player} is held for this already",
                field="data.reason",
                value=said.reason,
                help="each case or duty has a code of its own",
            )

    def can_hold(self, said: HoldPlayer, origin: Origin) -> bool:
        """Whether `hold` would succeed."""
        return succeeds(self.verify_hold, said, origin)

    def hold(self, said: HoldPlayer, origin: Origin) -> None:
        """Keeps the reference from being erased for a reason."""
        self.verify_hold(said, origin)
        self._happen(
            PlayerHeld(**origin._asdict(), property=said.property, player=said.player, reason=said.reason, note=said.note)
        )

    def verify_release(self, said: ReleasePlayer, origin: Origin) -> None:
        """Raises unless a person ends a reason for which the reference is held."""
        verify_person(origin)
        reasons = self.held.get(said.player, [])
        if said.reason not in reasons:
            raise Refusal(
                "LGR-0283",
                "nothing holds the player for this reason",
                field="data.reason",
                value=said.reason,
                help=f"held for: {', '.join(reasons)}" if reasons else "nothing holds this player",
            )

    def can_release(self, said: ReleasePlayer, origin: Origin) -> bool:
        """Whether `release` would succeed."""
        return succeeds(self.verify_release, said, origin)

    def release(self, said: ReleasePlayer, origin: Origin) -> None:
        """Ends a reason for which the reference is held."""
        self.verify_release(said, origin)
        self._happen(
            PlayerReleased(**origin._asdict(), property=said.property, player=said.player, reason=said.reason, note=said.note)
        )


def _drawn() -> str:
    return f"{ERASED}{secrets.token_hex(6)}"
