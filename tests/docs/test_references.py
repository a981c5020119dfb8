"""What is made and not written is what would be made today, and leaves nothing unsaid."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import msgspec
import psycopg

from ledger import reports, rights
from ledger.api import codes
from ledger.errors import CODES
from ledger.pages import PAGES
from projections.fold import keep_books
from projections.movements import ACCOUNTS
from projections.reconcile import mapping
from tests.docs import references
from tests.unit.projections.lives import EVERYTHING, life

AGAIN = f"make it anew: {references.MADE_BY}"


def page(name: str) -> str:
    return (references.PAGES / name).read_text("utf-8")


def test_the_page_of_events_is_what_the_code_says() -> None:
    assert page("events.md") == references.events_page(), AGAIN


def test_the_page_of_findings_is_what_the_code_says() -> None:
    assert page("findings.md") == references.findings_page(), AGAIN


def test_the_page_of_what_is_posted_is_what_the_code_says() -> None:
    assert page("posted.md") == references.posted_page(), AGAIN


def test_every_field_that_is_posted_is_explained() -> None:
    told = references.fields_told(Path(inspect.getfile(reports)))
    for model in reports.TYPES.values():
        assert {field.name for field in msgspec.structs.fields(model)} == set(told[model.__name__]), model.__name__


def test_every_report_has_its_rights_its_refusals_and_an_example_that_was_posted() -> None:
    everything = set(reports.TYPES.values())
    examples = json.loads(references.EXAMPLES.read_text("utf-8"))["events"]
    assert everything == set(rights.ACTS) == set(codes.BY_REPORT)
    assert {model.__name__ for model in everything} == set(examples)


def test_the_page_of_refusals_is_what_the_code_says() -> None:
    assert page("refusals.md") == references.refusals_page(), AGAIN


def test_the_page_of_accounts_is_what_the_code_says() -> None:
    assert page("accounts.md") == references.accounts_page(), AGAIN


def test_the_page_of_commands_is_what_their_help_says() -> None:
    assert page("cli.md") == references.cli_page(), AGAIN


def test_every_account_that_money_reaches_is_in_the_chart() -> None:
    kinds = {name.split("/")[0] for name in ACCOUNTS}
    moved = keep_books(life(EVERYTHING)).movements
    assert {account.split("/")[0] for each in moved for account in (each.debit, each.credit)} == kinds


def test_the_page_of_rights_is_what_the_code_says() -> None:
    assert page("rights.md") == references.rights_page(), AGAIN


def test_the_page_of_mappings_is_what_the_code_says() -> None:
    assert page("mappings.md") == references.mappings_page(), AGAIN


def test_every_key_of_a_mapping_is_explained() -> None:
    for section, keys in mapping.KEYS.items():
        for key in keys:
            name = f"{section}.{key}" if section else key
            assert f"`{name}`" in references.MAPPINGS or f"`{name}." in references.MAPPINGS, name


def test_the_page_of_reason_codes_is_what_the_code_says() -> None:
    assert page("reason-codes.md") == references.reasons_page(), AGAIN


def test_every_code_has_words_of_its_own_and_no_words_are_left_over() -> None:
    assert set(PAGES) == set(CODES)
    assert {code[4:6] for code in CODES} <= set(references.GROUPS)


def test_the_page_of_tables_is_what_a_migrated_database_says(dsn: str) -> None:
    assert page("tables.md") == references.tables_page(dsn), AGAIN


def test_the_page_of_report_views_is_what_a_migrated_database_says(dsn: str) -> None:
    assert page("report-views.md") == references.report_views_page(dsn), AGAIN


def test_every_table_and_column_is_commented(dsn: str) -> None:
    with psycopg.connect(dsn) as conn:
        silent = conn.execute(
            "SELECT c.oid::regclass::text, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid "
            "WHERE c.relnamespace::regnamespace::text IN ('ledger', 'projection', 'report', 'reconciliation') "
            "AND c.relkind IN ('r', 'v') AND a.attnum > 0 AND NOT a.attisdropped "
            "AND (col_description(c.oid, a.attnum) IS NULL OR obj_description(c.oid, 'pg_class') IS NULL)"
        ).fetchall()
    assert silent == []


def test_the_doors_examples_are_what_the_door_answers(dsn: str) -> None:
    assert references.EXAMPLES.read_text("utf-8") == references.examples(dsn), AGAIN
