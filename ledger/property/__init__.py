"""A property's configuration: pits, tables with their terminals and limits, people, gaming day, opt-ins and choices.

It is written in TOML (amounts as plain decimals of the currency), checked as a whole, and logged with its content hash before
its first use, so that a replay knows what was in force.
"""

from ledger.property.check import verify
from ledger.property.difference import Change, difference
from ledger.property.files import from_content, read, to_toml
from ledger.property.model import ChanceLimits, Choice, OptIn, Person, Pit, Property, Role, Table

__all__ = [
    "ChanceLimits",
    "Change",
    "Choice",
    "OptIn",
    "Person",
    "Pit",
    "Property",
    "Role",
    "Table",
    "difference",
    "from_content",
    "read",
    "to_toml",
    "verify",
]
