"""The round: one coup at one table, the aggregate of the ledger.

A round decides whether something may happen (`verify_…` raises the reason, `can_…` answers, the bare verb does it) and says it
in events; its state is what its events say and nothing else. It is an `eventsourcing` aggregate by protocol: envelopes with a
`mutate`, an id, a version, `collect_events()`. The rules come in as an argument: the round knows its state, the regulation
knows the money.

What is true of a round is in `state` (and the parts of it in `bets`); what may happen is in the modules beside it, one for each
kind of decision, and `aggregate` puts them together.
"""

from ledger.round.aggregate import Round, RoundEvent
from ledger.round.bets import Bet, Correction, Hold, Window
from ledger.round.effects import Asked
from ledger.round.state import Status
from ledger.round.succession import Successor
from ledger.round.terms import Origin, Terms

__all__ = ["Asked", "Bet", "Correction", "Hold", "Origin", "Round", "RoundEvent", "Status", "Successor", "Terms", "Window"]
