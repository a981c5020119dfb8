"""This ledger's log as a persistence module for any application of the `eventsourcing` library.

    PERSISTENCE_MODULE=ledger.store.persistence
    LEDGER_DSN=host=… dbname=…        (or <APPLICATION>_LEDGER_DSN)

The application keeps the library's mapper, so its events are of its own making: give it a database of its own, made by
`roundledger db init`. Only there are its streams alone; the projections of this ledger stop at events that they do not know.
Snapshots, where it takes any, go into the library's own table beside the log.
"""

from __future__ import annotations

from eventsourcing.utils import Environment, EnvType

from ledger.store import recorder


class Factory(recorder.LedgerFactory):
    """What the library builds from the two variables."""

    def __init__(self, env: Environment | EnvType | None = None) -> None:
        given = env if isinstance(env, Environment) else Environment(env=env)
        dsn = given.get("LEDGER_DSN")
        if not dsn:
            raise OSError("Connection string not found in environment with key 'LEDGER_DSN'")  # as the library's factories do
        super().__init__(dsn, given)
