"""The answer of a `can_…`: whether its `verify_…` finds nothing to refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec

from ledger.errors import Refusal

P = ParamSpec("P")


def succeeds(verify: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> bool:
    """Whether `verify` with these arguments refuses nothing."""
    try:
        verify(*args, **kwargs)
    except Refusal:
        return False
    return True
