"""Load, change, read and optimize a table larger than the memory it gets: ``make bench-memory``.

Each verb runs in a process of its own, for which the system refuses data beyond the limit, and
says the most memory that it had resident. The table's rows, as Arrow holds them, are larger than
the limit; their sums are compared with what was written.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import arctic
from benchmarks.measure import Report

TABLE = "bench.large"
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("amount", pa.int64()),
        pa.field("note", pa.string()),
    ]
)
NOTE_BYTES = 400
BATCH_ROWS = 50_000
CHANGED_SHARE = 10
"""One row in so many is upserted, and one in as many deleted."""
MIB = 2**20
STACK_BYTES = 2 * MIB
"""Of each thread: the system counts all of it as data, of which a thread touches some pages."""
NOTHING_AHEAD = {"MIMALLOC_ARENA_RESERVE": "0"}
"""Nor does Arrow's allocator set aside what it may need one day: that counts as data too."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the peak of each verb; 1 where one failed under the limit, or rows are wrong."""
    parser = argparse.ArgumentParser(prog="make bench-memory", description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--limit-mib", type=int, default=1024)
    parser.add_argument("--verb", choices=list(VERBS), help=argparse.SUPPRESS)
    parser.add_argument("--warehouse", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.verb:
        print(_limited(given.verb, given.rows, given.warehouse, given.limit_mib * MIB))
        return 0
    size = given.rows * NOTE_BYTES / MIB
    report = Report(f"{given.rows:,} rows of {size:,.0f} MiB, within {given.limit_mib:,} MiB")
    failed = []
    with tempfile.TemporaryDirectory(prefix="arctic-bench-memory-") as folder:
        for verb in VERBS:
            report.step(verb)
            command = [sys.executable, "-m", "benchmarks.limited_memory", "--verb", verb]
            command += ["--rows", str(given.rows), "--warehouse", folder]
            command += ["--limit-mib", str(given.limit_mib)]
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                check=False,
                env={**os.environ, **NOTHING_AHEAD},
                preexec_fn=_with_small_stacks,
            )
            lines = (done.stderr if done.returncode else done.stdout).strip().splitlines()
            report.note(verb, lines[-1] if lines else f"ended with {done.returncode}")
            failed += [verb] if done.returncode else []
    report.show()
    return int(bool(failed))


def rows_of(*parts: range) -> Iterator[pa.RecordBatch]:
    """Yield rows of keys, each part in order; a note is long, and like others."""
    starts = ((numbers, start) for numbers in parts for start in range(0, len(numbers), BATCH_ROWS))
    for numbers, start in starts:
        part = numbers[start : start + BATCH_ROWS]
        ids = np.arange(part.start, part.stop, part.step)
        beginnings = pa.array(ids % 500).cast(pa.string())
        notes = pc.binary_join_element_wise(beginnings, "x" * (NOTE_BYTES - 4), "")
        yield pa.record_batch([pa.array(ids), pa.array(ids * 3), notes], schema=SCHEMA)


def _load(rows: int, warehouse: str) -> None:
    arctic.create_table(TABLE, SCHEMA, primary_key=["id"], warehouse=warehouse)
    _write([range(rows)], "append", warehouse)


def _upsert(rows: int, warehouse: str) -> None:
    _write([range(0, rows, CHANGED_SHARE)], "upsert", warehouse)


def _delete(rows: int, warehouse: str) -> None:
    _write([range(1, rows, CHANGED_SHARE)], "delete", warehouse)


def _read(rows: int, warehouse: str) -> None:
    """Read every column of every row, as a stream."""
    count, amount, length = 0, 0, 0
    for batch in arctic.read(TABLE, warehouse=warehouse):
        count += batch.num_rows
        amount += pc.sum(batch["amount"]).as_py() or 0
        length += pc.sum(pc.binary_length(batch["note"])).as_py() or 0
    left = np.arange(rows)
    left = left[left % CHANGED_SHARE != 1]
    expected = (len(left), int(left.sum()) * 3)
    if (count, amount) != expected or length < count * (NOTE_BYTES - 4):
        raise AssertionError(f"count and sum {(count, amount)}, expected {expected}")


def _overwrite(rows: int, warehouse: str) -> None:
    """Replace all rows by the same ones, in an order that is not that of their keys."""
    others = [range(first, rows, CHANGED_SHARE) for first in range(3, CHANGED_SHARE, 2)]
    _write((*others, range(0, rows, 2)), "overwrite", warehouse)


def _optimize(_: int, warehouse: str) -> None:
    arctic.optimize(TABLE, type="full", warehouse=warehouse)


VERBS: dict[str, Callable[[int, str], None]] = {
    "load": _load,
    "upsert": _upsert,
    "delete": _delete,
    "read": _read,
    "optimize": _optimize,
    "read-optimized": _read,
    "overwrite": _overwrite,
    "read-overwritten": _read,
}


def _write(parts: Sequence[range], mode: str, warehouse: str) -> None:
    rows = pa.RecordBatchReader.from_batches(SCHEMA, rows_of(*parts))
    arctic.write(TABLE, rows, mode=mode, warehouse=warehouse)


def _with_small_stacks() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_STACK)
    resource.setrlimit(resource.RLIMIT_STACK, (STACK_BYTES, most))


def _limited(verb: str, rows: int, warehouse: str, limit_bytes: int) -> str:
    resource.setrlimit(resource.RLIMIT_DATA, (limit_bytes, limit_bytes))
    VERBS[verb](rows, warehouse)
    status = Path("/proc/self/status").read_text(encoding="ascii")
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return f"{int(line.split()[1]) / 1024:,.0f} MiB"


if __name__ == "__main__":
    sys.exit(main())
