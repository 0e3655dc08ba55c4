"""Bloom filters of a Parquet file: of which columns, and how large.

Rules:
    - They are sized by the first row group: those of a file are alike, and one that has more values
      only lets more pass.
    - A pyarrow that cannot write them leaves them out: rows are found without, only later.

Must not know: tables, who reads them.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

_OPTION = "bloom_filter_options"


def bloom_options(first: pa.Table, indexed: Mapping[str, float]) -> dict[str, Any]:
    """Return what pyarrow's writer is told.

    Args:
        first: the first row group.
        indexed: column -> the share of values that are not there and pass; columns that the row
            group lacks have no filter.
    """
    wanted = {name: share for name, share in indexed.items() if name in first.column_names}
    if not wanted or not can_write_blooms():
        return {}
    return {
        _OPTION: {
            name: {"ndv": max(1, pc.count_distinct(first.column(name)).as_py()), "fpp": share}
            for name, share in wanted.items()
        }
    }


@lru_cache(maxsize=1)
def can_write_blooms() -> bool:
    """Say whether this pyarrow writes them; if not, warn once."""
    can = _OPTION in inspect.signature(pq.ParquetWriter.__init__).parameters
    if not can:
        warnings.warn(
            f"indexed columns have no bloom filters in new files: pyarrow {pa.__version__} does "
            "not write them; install a newer one",
            UserWarning,
            stacklevel=2,
        )
    return can
