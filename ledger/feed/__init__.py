"""The feed: the log as it is given to other systems, event by event as CloudEvents, each once and in the order of its position.

Whoever follows it keeps a cursor, which names the event read last, and is never given an event that another may still come before
(`ledger.store.log`). What carries the events is somebody else's: the door (`ledger.api.feed`), webhooks, a message broker.
"""
