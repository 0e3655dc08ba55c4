"""Which columns of a file have bloom filters, and how large these are.

Strategy: columns that the table names have one in every file. Columns of the key whose values
hardly repeat have one in large change files besides: rows lie there in the order of events, so that
bounds leave none of them out, and a look-up of one key would decode the column as a whole, of every
change file of its node. Base files lie in the order of the key.

Rules:
    - Filters are sized by the first row group: those of a file are alike, and one that has more
      values only lets more pass.
    - A pyarrow that cannot write them leaves them out: rows are found without, only later.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pt

LEAST_KEYS = 8_192
"""Rows for which a filter of the key is worth it: to decode those of fewer takes less than a tenth
of what it takes to open the file."""
KEY_SHARE = 0.16
"""Of keys that are not there, what passes: five to ten bits for each key, since filters grow by
doubling. A larger one costs as much to read as those cost that pass."""
_OPTION = "bloom_filter_options"
_SAMPLE_ROWS = 1_024
_HARDLY = 0.75
"""The distinct values of a sample's."""
_FOUND_BY = (
    pt.is_int32,
    pt.is_int64,
    pt.is_date32,
    pt.is_string,
    pt.is_binary,
    pt.is_fixed_size_binary,
)
"""The types that ``arctic.mor.filters.blooms`` looks for."""


def bloom_options(
    first: pa.Table, indexed: Mapping[str, float], sought: Sequence[str] = ()
) -> dict[str, Any]:
    """Return what pyarrow's writer is told.

    Args:
        first: the first row group.
        indexed: column -> the share of values that are not there and pass; columns that the row
            group lacks have no filter.
        sought: columns of the key that have one where their values hardly repeat.
    """
    named = {name: share for name, share in indexed.items() if name in first.column_names}
    if not can_write_blooms():
        if named:
            _warn_once()
        return {}
    sizes = {
        name: {"ndv": max(1, pc.count_distinct(first.column(name)).as_py()), "fpp": share}
        for name, share in named.items()
    }
    for name in sought:
        # A count of all values would take several times as long as the filter.
        if name not in sizes and _hardly_repeats(first.column(name)):
            sizes[name] = {"ndv": first.num_rows, "fpp": KEY_SHARE}
    return {_OPTION: sizes} if sizes else {}


@lru_cache(maxsize=1)
def can_write_blooms() -> bool:
    """Say whether this pyarrow writes them."""
    return _OPTION in inspect.signature(pq.ParquetWriter.__init__).parameters


@lru_cache(maxsize=1)
def _warn_once() -> None:
    warnings.warn(
        f"indexed columns have no bloom filters in new files: pyarrow {pa.__version__} does "
        "not write them; install a newer one",
        UserWarning,
        stacklevel=2,
    )


def _hardly_repeats(column: pa.ChunkedArray) -> bool:
    if not any(test(column.type) for test in _FOUND_BY):
        return False
    step = max(1, len(column) // _SAMPLE_ROWS)
    sample = column.take(pa.array(np.arange(0, len(column), step)))
    return bool(pc.count_distinct(sample).as_py() >= _HARDLY * len(sample))
