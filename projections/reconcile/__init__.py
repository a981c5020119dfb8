"""Reconciliation: the ledger laid beside files of others, row by row, and every difference named.

mapping   what a file's columns mean, read from TOML
files     CSV, NDJSON, XLSX and Parquet as numbered lines of text cells
sides     what of the ledger a file can be compared with: columns over the views of the schema `report`
values    cells as values: whole minor units, microseconds of UTC, days; what cannot be read is named
matching  exact key, then composite key, then totals; nothing is paired where two rows could be meant
repairs   errors of a whole file: another unit, another zone, swapped columns
comparing what a pair disagrees in, and what has no counterpart
reasons   the reason codes, and what to do about each
state     which exceptions were seen before, and which are resolved: rows of the schema `reconciliation`
result    the summary and the report of a run

What it may touch: the views of `report` (read only, so a role that was granted `ledger_report` can run it), the schema
`reconciliation` where a run is recorded or an exception resolved, and temporary files. It imports no aggregate, no rule and
nothing of the door. Sorting, grouping and joining is DuckDB's work; amounts are integers of minor units there as everywhere.
"""
