"""The round as an aggregate, without a database."""
