"""The README's table of commands is whole: what the program has stands there, and what stands there the program has."""

from __future__ import annotations

import re
from pathlib import Path

import click

from cli.main import roundledger

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")


def commands() -> set[str]:
    """Every command of the program, groups by their subcommands, and by themselves where they do something."""
    found = set()
    context = click.Context(roundledger)
    for name in roundledger.list_commands(context):
        command = roundledger.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            found |= {f"{name} {inner}" for inner in command.list_commands(context)}
            if command.invoke_without_command:
                found.add(name)
        else:
            found.add(name)
    return found


def test_every_command_stands_in_the_table() -> None:
    listed = set()
    for row in re.findall(r"^\| (`roundledger [^|]+) \|", README, re.MULTILINE):
        first, *others = re.findall(r"`([^`]+)`", row)
        name, _, inner = first.removeprefix("roundledger ").partition(" ")
        listed |= {f"{name} {each}" for each in (inner, *others)} if inner else {name}
    assert listed == commands()


def test_the_two_commands_stand_on_top() -> None:
    blocks = re.findall(r"```console\n\$ (.+)\n", README)
    assert blocks[:2] == ["python3 dev.py demo", "python3 dev.py test"]
    assert README.index("$ python3 dev.py test") < README.index("\n## ")
