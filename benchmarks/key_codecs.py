"""What it takes to decode a key column that ascends: ``python -m benchmarks.key_codecs``.

A publish, or a read by row numbers, looks few keys up in many, and decodes the many first. For each
codec that a Parquet file may have, and for differences (``write.parquet.delta-encoding``): the
processor time of decoding a row, in one thread, and the bytes of a row. The last line is what it
takes to look a hundredth of them up.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from arctic.columns.integers.integer_index import integer_index

ROWS = 2_500_000
BATCH_ROWS = 65_536
REPEATS = 5
WAYS: dict[str, dict[str, Any]] = {
    **{codec: {"compression": codec} for codec in ("zstd", "snappy", "gzip", "lz4", "none")},
    "differences": {"compression": "zstd", "column_encoding": {"key": "DELTA_BINARY_PACKED"}},
}

Keys = npt.NDArray[np.int64]


def main() -> int:
    """Print the figures."""
    drawn = np.random.default_rng(1)
    # One of four neighbours, as in a file of one node of four.
    keys = np.sort(drawn.choice(4 * ROWS, ROWS, replace=False)).astype(np.int64)
    for name, way in WAYS.items():
        stored = _stored(keys, way)
        nanos = _nanos_a_row(partial(_decode, stored))
        print(f"{name:>11}: {nanos:5.1f} ns, {stored.size / ROWS:4.1f} bytes a row")
    deleted = np.sort(drawn.choice(keys, ROWS // 100, replace=False))
    batches = [keys[first : first + BATCH_ROWS] for first in range(0, ROWS, BATCH_ROWS)]
    index = integer_index(deleted, ascending=True)
    nanos = _nanos_a_row(lambda: [index.match(batch) for batch in batches])
    print(f"{'look up':>11}: {nanos:5.1f} ns a row")
    return 0


def _stored(keys: Keys, way: Mapping[str, Any]) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    rows = pa.table({"key": keys})
    pq.write_table(rows, sink, use_dictionary=False, **way)
    return sink.getvalue()


def _decode(stored: pa.Buffer) -> None:
    file = pq.ParquetFile(pa.BufferReader(stored))
    for _ in file.iter_batches(BATCH_ROWS, use_threads=False):
        pass


def _nanos_a_row(work: Callable[[], object]) -> float:
    least = float("inf")
    for _ in range(REPEATS):
        begun = time.thread_time_ns()
        work()
        least = min(least, time.thread_time_ns() - begun)
    return least / ROWS


if __name__ == "__main__":
    sys.exit(main())
