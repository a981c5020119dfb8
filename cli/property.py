"""`roundledger property`: the house's configuration, checked, applied and shown."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.options import FILE, Form, Group, examples, output_options
from cli.output import Column, Report, Sheet, counted, emit, emit_csv, emit_json, emit_record, say
from cli.regulations import ASSUMPTIONS, assumption_rows
from cli.session import database

if TYPE_CHECKING:
    from ledger.property import Property

_TABLES = (
    Column("table", "table"),
    Column("pit", "pit"),
    Column("game", "game"),
    Column("currency", "currency"),
    Column("payable_unit", "payable unit"),
    Column("terminals", "terminals", below=1),
    Column("limits", "limits", below=2),
)
_PEOPLE = (Column("person", "person"), Column("roles", "roles"))
_CHANGES = (Column("entry", "entry"), Column("was", "in force"), Column("now", "in the file"))


@click.group("property", cls=Group)
def property_() -> None:
    """The property: its tables, limits, people, gaming day."""


@property_.command(
    epilog=examples(
        "roundledger property example > house.toml",
        "roundledger property check house.toml",
        codes="0 valid, 2 not valid, with the entry that is wrong.",
    )
)
@click.argument("file", type=FILE)
@output_options
def check(file: Path, form: Form) -> None:
    """Check a configuration file; nothing is stored."""
    config = read_property(file)
    if not emit_record({"file": str(file), "valid": True, **_summary(config)}, form):
        say(f"{file}: valid: property {config.id}, {counted(len(config.tables), 'table')}, sha256 {config.sha256}")


@property_.command(
    epilog=examples(
        "roundledger property example > house.toml",
        "roundledger property apply --dry-run house.toml",
        "roundledger property apply house.toml",
        codes="0 applied, or in force already; with --dry-run 1 where the file differs from what is in force; 2 refused.",
    )
)
@click.argument("file", type=FILE)
@click.option("--dry-run", is_flag=True, help="Show what would change, entry by entry, and change nothing.")
@output_options
def apply(file: Path, dry_run: bool, form: Form) -> int:
    """Play by a configuration file from now on.

    It is logged with its content hash; rounds that were opened before keep the one they were opened under. --dry-run is refused,
    after it has shown the changes, where they could not be applied now.
    """
    config = read_property(file)
    with database() as dsn:
        if dry_run:
            found = _show_changes(next((held for held in properties(dsn) if held.id == config.id), None), config, form)
            verify_apply(dsn, config)
            return found
        changed = apply_property(dsn, config)
    if not emit_record({"file": str(file), "applied": changed, **_summary(config)}, form):
        say(f"property {config.id}: {'applied' if changed else 'already in force'}, sha256 {config.sha256}")
    return 0


def _show_changes(held: Property | None, config: Property, form: Form) -> int:
    from ledger.property import difference

    rows = [change._asdict() for change in difference(held, config)]
    if form == "table" and not rows:
        say(f"property {config.id}: already in force, sha256 {config.sha256}")
    else:
        title = f"{config.name} · {config.id}: what would change"
        emit(Report(title, [Sheet(_CHANGES, rows, name="changes")], {"sha256": config.sha256}), form)
    return 1 if rows else 0


@property_.command(
    epilog=examples(
        "roundledger property show",
        "roundledger property show --json",
        "roundledger property show --toml > house.toml      the configuration as a file",
    )
)
@click.option("--toml", "as_toml", is_flag=True, help="Print the one property in force as a file that can be applied again.")
@output_options
def show(as_toml: bool, form: Form) -> None:
    """Show the properties in force.

    With the register of every assumption and opt-in that they play by; CSV has their tables.
    """
    if as_toml and form != "table":
        raise click.UsageError("--toml is a form of its own: choose one", click.get_current_context())
    with database() as dsn:
        configs = properties(dsn)
    if as_toml and len(configs) == 1:
        from ledger.property import to_toml

        click.echo(to_toml(configs[0]), nl=False)
        return
    if as_toml and configs:
        raise click.UsageError("--toml prints one property, and several are in force", click.get_current_context())
    if form == "json":
        emit_json([_document(config) for config in configs])
        return
    if form == "csv":
        emit_csv((Column("property", "property"), *_TABLES), [{"property": c.id, **row} for c in configs for row in _tables(c)])
        return
    if not configs:
        say("no property is configured; type: roundledger property example > house.toml; roundledger property apply house.toml")
    for config in configs:
        emit(_report(config), form)


@property_.command(epilog=examples("roundledger property example > house.toml", "roundledger serve --property house.toml"))
def example() -> None:
    """Print the demo house's configuration, to start from."""
    from importlib.resources import files

    click.echo((files("seeds") / "demo" / "property.toml").read_text("utf-8"), nl=False)


def apply_property(dsn: str, config: Property) -> bool:
    """Plays by the configuration from now on; False where it is the one in force."""
    from ledger.application import Rounds

    with closing(Rounds(dsn)) as rounds:
        return rounds.apply_property(config)


def verify_apply(dsn: str, config: Property) -> None:
    """Raises what `apply_property` would raise now; changes nothing."""
    from ledger.application import Rounds

    with closing(Rounds(dsn)) as rounds:
        rounds.verify_apply_property(config)


def properties(dsn: str) -> list[Property]:
    """The properties in force, by id."""
    from ledger.application import Rounds

    with closing(Rounds(dsn)) as rounds:
        return rounds.properties()


def read_property(file: Path) -> Property:
    """The configuration in a file; refused (LGR-0604) with the entry that is wrong."""
    from ledger import property as configurations

    return configurations.read(file)


def in_force(config: Property) -> list[dict[str, Any]]:
    """The register of assumptions and opt-ins that the property's tables play by, as rows."""
    from ledger.rules import assumptions, regulations

    games = {table.game for table in config.tables}
    opted = opt_in_reasons(config)
    played = [
        config.as_played(each)
        for each in regulations()
        if each.game in games and (each.dates.effective_to is None or each.order in opted)
    ]
    return assumption_rows(assumptions(opted, played), opted)


def opt_in_reasons(config: Property) -> dict[str, str]:
    """The regulations that are applied beyond their repeal, with why and by whose word."""
    return {choice.regulation: f"{choice.reason} (approved by {choice.approved_by})" for choice in config.opt_ins}


def _report(config: Property) -> Report:
    return Report(
        title=f"{config.name} · {config.id}",
        facts={
            "zone": config.zone,
            "gaming_day_start": config.gaming_day_start,
            "clock_tolerance": "none" if config.clock_tolerance is None else f"{config.clock_tolerance} s",
            "sha256": config.sha256,
        },
        notes=[f"{order} is applied beyond its repeal: {reason}" for order, reason in opt_in_reasons(config).items()],
        sheets=[
            Sheet(_TABLES, _tables(config), name="tables"),
            Sheet(_PEOPLE, _people(config), name="people", title="People", drawn=bool(config.people)),
            Sheet(ASSUMPTIONS, in_force(config), name="assumptions", title="Assumptions and opt-ins in force"),
        ],
    )


def _summary(config: Property) -> dict[str, Any]:
    return {"property": config.id, "name": config.name, "tables": len(config.tables), "sha256": config.sha256}


def _tables(config: Property) -> list[dict[str, Any]]:
    pits = {pit.id: f"{pit.id} {pit.name}" for pit in config.pits}
    return [
        {
            "table": table.id,
            "pit": pits.get(table.pit, table.pit),
            "game": table.game,
            "currency": table.currency,
            "payable_unit": table.payable_unit,
            "terminals": ", ".join(table.terminals),
            "limits": "" if table.limits is None else str(table.limits),
        }
        for table in config.tables
    ]


def _people(config: Property) -> list[dict[str, Any]]:
    return [{"person": person.id, "roles": ", ".join(person.roles)} for person in config.people]


def _document(config: Property) -> dict[str, Any]:
    import msgspec

    return {**msgspec.to_builtins(config), "sha256": config.sha256, "assumptions": in_force(config)}
