"""What one data or delete file of a store says of itself.

Must not know: manifests, Parquet, how files are planned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from arctic.tree.node import TreeNode

Value = None | bool | int | float | Decimal | str | bytes | UUID
"""A single value in Iceberg's internal form.

Dates are int days since 1970-01-01, times and timestamps int microseconds (timestamptz in UTC),
decimals ``Decimal`` with the column's scale, binary and fixed ``bytes``.
"""

Partition = tuple[Value, ...]
"""One transformed value per partition field, in spec order; ``()`` when unpartitioned."""

BASE_FILE_OFFSET = 2**63 - 1
"""The file offset of every base row: within one transaction, after all of its changes."""


class FileKind(Enum):
    """What the rows of a file are; the value is the short name in file names."""

    BASE = "B"
    INSERT = "I"
    CHANGE_DELETE = "ED"
    POS_DELETE = "PD"


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnBounds:
    """What the manifest knows of one column in one file."""

    lower: Value
    """At most the least value; None if unknown."""
    upper: Value
    """At least the greatest value; None if unknown."""
    null_count: int | None
    """Rows that are null; None if unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFile:
    """One live file of the base or the change store."""

    path: str
    """Byte for byte as in the manifest: position deletes compare it as text."""
    kind: FileKind
    node: TreeNode
    partition: Partition
    transaction_id: int
    """Greatest transaction in the file; for change files, that of every row."""
    sequence_number: int
    """Iceberg's data sequence number; change files above the optimized sequence are unmerged."""
    size_bytes: int
    record_count: int
    bounds: Mapping[int, ColumnBounds] = field(default_factory=dict, compare=False)
    """By field id; only the columns that planning asked for. They are for planning alone: a pickle
    leaves them out, and a file is the same file without them."""
    referenced_path: str | None = None
    """Position deletes only: the one data file they point to, or None if several."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel without bounds, so that a plan need not make each file once more to be small."""
        return _without_bounds, (
            self.path,
            self.kind,
            self.node,
            self.partition,
            self.transaction_id,
            self.sequence_number,
            self.size_bytes,
            self.record_count,
            self.referenced_path,
        )


def _without_bounds(
    path: str,
    kind: FileKind,
    node: TreeNode,
    partition: Partition,
    transaction_id: int,
    sequence_number: int,
    size_bytes: int,
    record_count: int,
    referenced_path: str | None,
) -> TableFile:
    return TableFile(
        path=path,
        kind=kind,
        node=node,
        partition=partition,
        transaction_id=transaction_id,
        sequence_number=sequence_number,
        size_bytes=size_bytes,
        record_count=record_count,
        referenced_path=referenced_path,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFile:
    """A file that a write task has finished but nobody has committed yet."""

    path: str
    kind: FileKind
    node: TreeNode
    partition: Partition
    size_bytes: int
    record_count: int
    footer: bytes
    """The Parquet footer, from which the commit takes column metrics."""
    sort_order_id: int | None = None
    """Of the table's declared order that all rows are in; None: of none."""
    referenced_path: str | None = None
    """Position deletes only: the one data file they point to, or None if several."""
