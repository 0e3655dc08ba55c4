"""Measure how much memory the processes of a Spark session take while it reads a changed table.

Each way of reading gets a session of its own, with 1 GiB for its JVM: merged by workers of Python,
and by Spark's own Parquet scan without the dead rows.

``make bench-spark-memory ARGS="--rows 8000000"``
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
from rich.console import Console
from rich.table import Table

import arctic
from arctic.options import VECTOR_MIN_ROWS
from benchmarks.orders import SCHEMA, base_rows, change_rows

TABLE = "bench.orders"
WAYS = {"merged by Python": str(10**12), "Spark's own scan": "1"}
"""From how many rows in files with deletes Spark reads them itself."""
CONF = {"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "4"}
ROLES = {"pyspark.daemon": "worker", "java": "JVM"}
LEAST_MIB = 60
"""What a worker takes that has imported PySpark and has read nothing."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the peaks of both ways."""
    parser = argparse.ArgumentParser(prog="make bench-spark-memory", description=__doc__)
    parser.add_argument("--rows", type=int, default=8_000_000, help="of which 1 % are upserted")
    parser.add_argument("--read", nargs=2, metavar=("LEAST", "WAREHOUSE"), help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.read:
        _read(*given.read)
        return 0
    shown = Table("read", "all columns of", "peak MiB of each process")
    with tempfile.TemporaryDirectory(prefix="arctic-memory-") as warehouse:
        arctic.create_table(TABLE, SCHEMA, primary_key=["order_id"], warehouse=warehouse)
        arctic.write(TABLE, _rows(given.rows), mode="overwrite", warehouse=warehouse)
        changes = change_rows(given.rows, given.rows // 100, number=0)
        arctic.write(TABLE, changes, mode="upsert", warehouse=warehouse)
        for name, least in WAYS.items():
            asked = [sys.executable, "-m", __spec__.name, "--read", least, warehouse]
            done = subprocess.run(asked, stdout=subprocess.PIPE, text=True, check=True)
            shown.add_row(name, f"{given.rows:,} rows", done.stdout.strip().splitlines()[-1])
    Console(width=None if sys.stdout.isatty() else 120).print(shown)
    return 0


def _rows(count: int) -> pa.RecordBatchReader:
    batches = (batch for table in base_rows(count) for batch in table.to_batches())
    return pa.RecordBatchReader.from_batches(SCHEMA, batches)


def _read(least: str, warehouse: str) -> None:
    spark = arctic.local_session(master="local[2]", app_name="memory", conf=CONF)
    rows = spark.read.format("arctic").option("warehouse", warehouse)
    rows = rows.option(VECTOR_MIN_ROWS.name, least)
    rows.load(TABLE).write.format("noop").mode("overwrite").save()
    peaks = [(role, mib) for role, mib in map(_peak, _family(os.getpid())) if mib >= LEAST_MIB]
    print(", ".join(f"{role} {mib}" for role, mib in sorted(peaks)))
    spark.stop()


def _family(first: int) -> Iterator[int]:
    """Yield a process and all that came of it."""
    yield first
    for thread in Path(f"/proc/{first}/task").iterdir():
        for child in (thread / "children").read_text().split():
            yield from _family(int(child))


def _peak(process: int) -> tuple[str, int]:
    folder = Path(f"/proc/{process}")
    command = (folder / "cmdline").read_text()
    (line,) = [each for each in (folder / "status").read_text().splitlines() if "VmHWM" in each]
    role = next((name for part, name in ROLES.items() if part in command), "driver")
    return role, int(line.split()[1]) // 1024


if __name__ == "__main__":
    sys.exit(main())
