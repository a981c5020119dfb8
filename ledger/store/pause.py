"""No search for reference cycles, or a rare one, while objects are made by the thousand that have none."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pauses Python's collector for the length of the block, for every thread: to look through a batch of new events again and
    again takes longer than to fold them."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


_NEW = 50_000
"""New objects after which the collector looks through them: what some hundred posts leave behind, not what one makes."""


def collect_seldom() -> None:
    """For a process that has started and now serves: what stands is never looked through again, and what is new not before there
    is a heap of it. Python's own settings search at every other post, a seventh of the processor's time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_NEW, 20, 20)
