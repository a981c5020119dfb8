"""An audit of a log: every round of a scope gathered and judged, in one process or in several side by side."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called with what is done and what there is to do, in bytes or positions."""
