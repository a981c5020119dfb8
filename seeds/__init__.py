"""Data a new ledger starts from: regulations, a demo property, a demo day."""
