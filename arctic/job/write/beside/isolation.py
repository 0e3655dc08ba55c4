"""What counts of what a command has read, as its table says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from arctic import options as opt
from arctic.job.write.beside.read_rows import WRITTEN_ALONE, ReadRows

Read = TypeVar("Read", ReadRows, ReadRows | None)


def compared(read: Read, properties: Mapping[str, str]) -> Read | ReadRows:
    """Return what must be at the commit as it was read.

    Args:
        read: what a command has looked at; None: nobody can say.
        properties: of the table.
    """
    return WRITTEN_ALONE if opt.ISOLATION.value({}, properties) == "snapshot" else read
