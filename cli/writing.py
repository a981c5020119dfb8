"""Where a command writes what is no table: to stdout, or to a file that is there whole or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import click


class NewFile(click.Path):
    """A file that a command writes, over one that is there; where none can be made is said before anything is worked out."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, writable=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = super().convert(value, param, ctx)
        assert isinstance(path, Path)
        if not path.parent.is_dir():
            self.fail(f"there is no folder {path.parent}", param, ctx)
        if not os.access(path.parent, os.W_OK):
            self.fail(f"no file can be made in {path.parent}", param, ctx)
        return path


OUT = NewFile()


@contextmanager
def told_where(option: str, path: Path) -> Iterator[None]:
    """Raises click's BadParameter, which names the option and the path, where the system does not let something be written."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise click.BadParameter(f"{path} cannot be written: {error.strerror or error}", param_hint=option) from error


@contextmanager
def written_whole(path: Path | None, option: str = "--out") -> Iterator[IO[bytes]]:
    """What is written to goes to stdout, or to the file at `path`, which `option` named, once all of it is there."""
    if path is None:
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    partial = path.with_name(f"{path.name}.part")
    with told_where(option, path):
        try:
            with partial.open("wb") as file:
                yield file
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
