"""What was really played, read back: folded, replayed, shown and explained, each by a way of its own."""

from __future__ import annotations

import json

import psycopg

from cli.explain import bet_followed, round_explained
from cli.output import as_json
from cli.rounds import round_report
from ledger.store import log
from projections import queries
from projections.replay import replay
from projections.runner import catch_up


def verify_read_back(dsn: str) -> None:
    """Every event of the log folds, money sums to zero, a replay is equal, and the rules give what the log says of every bet."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        catch_up(conn)
        assert [(at.name, at.stop_reason) for at in queries.positions(conn) if at.stop_reason is not None] == []
        assert not any(queries.trial_balance(conn).values())
        rounds = queries.rounds_list(conn, limit=1000)
        escrow = sum(int(row.balance) for row in queries.balances(conn, "escrow/"))
        assert escrow == sum(int(row.escrow) for row in rounds)
        for row in rounds:
            shown = queries.round_view(conn, row.round)
            assert shown is not None
            assert (shown.status, shown.escrow, shown.win, shown.adjusted) == (row.status, row.escrow, row.win, row.adjusted)
            assert json.loads(as_json(round_report(shown, log.stream(conn, row.round), {})))
    compared = replay(dsn)
    assert compared.equal, compared.difference
    for row in rounds:
        if row.outcome is not None or row.disposition is not None:
            for explained in round_explained(dsn, row.round):
                assert explained.differences == [], "\n".join(explained.lines())
                assert json.dumps(explained.document())
                assert explained.row()
                if explained.bet.placed_in == row.round:
                    [*before, last] = bet_followed(dsn, row.round, explained.bet.bet)
                    assert all(each.bet.result == "carried" for each in before)
                    assert last.bet.result != "carried"
