"""Postgres: the recorder, the mapper, the embedded server and the schema."""
