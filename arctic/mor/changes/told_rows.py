"""How it is told what commits did to rows: the columns that say so, and their values.

Must not know: files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from arctic.columns.integers.distinct import are_among
from arctic.columns.integers.integer_index import IntArray
from arctic.mor.batch import make_batch

CHANGE_TYPE_FIELD: pa.Field = pa.field("_change_type", pa.string(), nullable=False)
COMMIT_VERSION_FIELD: pa.Field = pa.field("_commit_version", pa.int64(), nullable=False)
COMMIT_TIMESTAMP_FIELD: pa.Field = pa.field(
    "_commit_timestamp", pa.timestamp("us", tz="UTC"), nullable=False
)
COMMIT_FIELDS: tuple[pa.Field, ...] = (
    CHANGE_TYPE_FIELD,
    COMMIT_VERSION_FIELD,
    COMMIT_TIMESTAMP_FIELD,
)
"""What stands after the table's columns, as Spark names it."""

DELETE, INSERT = range(2)
_TYPES = ("delete", "insert", "update_preimage", "update_postimage")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChangeShape:
    """Which changes are wanted, and how they are told."""

    schema: pa.Schema
    """Columns of the table and of ``COMMIT_FIELDS``, in the order of every batch."""
    is_net: bool
    """The range is one change; else each commit."""
    tells_updates: bool
    """Both sides of an update are called so; else delete and insert."""
    commits: Sequence[int]
    """Ascending sequence numbers of the range."""
    versions: Sequence[int]
    """The table's version of each of them."""
    times_ms: Sequence[int]
    """When each of them was committed."""


def places(keys: IntArray, commits: IntArray, shape: RowChangeShape) -> IntArray:
    """Return where rows change: numbers of their keys, or of pairs of key and commit."""
    if shape.is_net:
        return keys
    places: IntArray = keys * len(shape.commits) + np.searchsorted(shape.commits, commits)
    return places


def tell(
    batch: pa.RecordBatch,
    keys: IntArray,
    commits: IntArray,
    kind: int,
    updates: IntArray | None,
    shape: RowChangeShape,
    kept: np.ndarray | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield rows with what was done to them.

    Args:
        batch: the rows; columns beside those of the table are left out.
        keys: a number for each row's key.
        commits: the sequence number of the commit that did it.
        kind: ``DELETE`` or ``INSERT``.
        updates: the ``places``, ascending, where rows go and come; None: updates are not told.
        shape: what is wanted.
        kept: which of the rows; None: all.
    """
    if kept is not None:
        batch = batch.filter(pa.array(kept))
        keys, commits = keys[kept], commits[kept]
    if not len(batch):
        return
    codes = np.full(len(batch), kind, np.int8)
    if updates is not None:
        codes[are_among(places(keys, commits, shape), updates)] += 2
    told: dict[str, pa.Array] = {}
    if CHANGE_TYPE_FIELD.name in shape.schema.names:
        told[CHANGE_TYPE_FIELD.name] = pa.array(_TYPES).take(pa.array(codes))
    if {COMMIT_VERSION_FIELD.name, COMMIT_TIMESTAMP_FIELD.name} & set(shape.schema.names):
        at = np.searchsorted(shape.commits, commits)
        times = np.asarray(shape.times_ms, np.int64)[at] * 1000
        told[COMMIT_VERSION_FIELD.name] = pa.array(np.asarray(shape.versions, np.int64)[at])
        told[COMMIT_TIMESTAMP_FIELD.name] = pa.array(times).cast(COMMIT_TIMESTAMP_FIELD.type)
    columns = [told[name] if name in told else batch.column(name) for name in shape.schema.names]
    yield make_batch(columns, shape.schema, len(batch))
