"""What a command has read of its table, for whoever compares it with the commits of others.

A table says what counts of it: with the isolation level ``snapshot`` nothing does.

Must not know: how it was read, or what others have done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa

from arctic import options as opt
from arctic.table.filters.predicate import Predicate


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRows:
    """The rows that a command has looked at, beside the stored rows of the keys that it writes.

    It pickles where its callables do.
    """

    sees: Callable[[pa.Table], bool] | None
    """Whether it would have looked at some of these rows, had they been there; None: at none."""
    columns: frozenset[str] = frozenset()
    """What ``sees`` needs of a row."""
    predicate: Predicate | None = None
    """A filter that every row matches which it looks at; None: there is none."""
    of_keys: bool = False
    """Whether ``sees`` and the filter ask for the key alone, and so of a key that goes too."""
    keys: Callable[[], pa.Table] | None = None
    """Returns the keys whose stored rows it has looked at, written or not; None: it writes all of
    them, or would have seen what takes their place."""


WRITTEN_ALONE = ReadRows(sees=None)
"""It has looked at nothing but the stored rows of the keys that it writes."""

Read = TypeVar("Read", ReadRows, ReadRows | None)


def compared(read: Read, properties: Mapping[str, str]) -> Read | ReadRows:
    """Return what must be at the commit as it was read.

    Args:
        read: what a command has looked at; None: nobody can say.
        properties: of the table.
    """
    return WRITTEN_ALONE if opt.ISOLATION.value({}, properties) == "snapshot" else read
