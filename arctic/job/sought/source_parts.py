"""What the rows of a large source of a MERGE say of the rows of a table that can equal them.

Tasks that have the rows tell which values their columns have, and in which nodes their keys lie.

Rules:
    - Nulls equal nothing; a column whose values cannot be told says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from arctic.columns.value_ranges import ValueRanges, joined
from arctic.tree.hash_arrays import hash_arrays


@dataclass(frozen=True, slots=True, kw_only=True)
class SoughtKey:
    """How the nodes of a table follow from columns of a source."""

    places: tuple[int, ...]
    """Of the columns that are the key, in key order."""
    types: tuple[str, ...]
    """Iceberg's, of the key."""
    mask: int
    """Of the tree whose nodes are told apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SoughtPart:
    """What some rows of a source say; pickles."""

    columns: tuple[ValueRanges | None, ...]
    """Of each column; None: its values cannot be told."""
    indexes: frozenset[int] | None
    """Of nodes; None: any."""


def part_of(batch: pa.RecordBatch, key: SoughtKey | None) -> SoughtPart:
    """Return what rows say, in their columns."""
    return SoughtPart(
        columns=tuple(_ranges(column) for column in batch.columns),
        indexes=None if key is None else _indexes(batch, key),
    )


def all_parts(parts: Sequence[SoughtPart]) -> SoughtPart:
    """Return what the rows of all parts say, one part at least."""
    columns = []
    for ranges in zip(*(part.columns for part in parts), strict=True):
        known = [each for each in ranges if each is not None]
        columns.append(joined(known) if len(known) == len(ranges) else None)
    indexes = [part.indexes for part in parts]
    nodes = [each for each in indexes if each is not None]
    touched = frozenset[int]().union(*nodes) if len(nodes) == len(indexes) else None
    return SoughtPart(columns=tuple(columns), indexes=touched)


def _ranges(column: pa.Array) -> ValueRanges | None:
    try:
        # Spark lets a text hold any bytes, which no stored one does.
        column.validate(full=True)
        return ValueRanges.of(column)
    except (pa.ArrowException, UnicodeDecodeError):
        return None


def _indexes(batch: pa.RecordBatch, key: SoughtKey) -> frozenset[int] | None:
    columns = [batch.column(place) for place in key.places]
    valid = np.ones(batch.num_rows, np.bool_)
    for column in columns:
        valid &= np.asarray(pc.is_valid(column))
    try:
        hashes = hash_arrays([each.filter(pa.array(valid)) for each in columns], key.types)
    except (pa.ArrowException, UnicodeDecodeError):
        return None
    return frozenset(np.unique(hashes & key.mask).tolist())
