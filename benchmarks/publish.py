"""Publishing beside the upsert that it follows: ``make bench-publish``.

Orders of twelve columns are loaded and merged, and published. Then one row of a hundred is upserted
by ``arctic.write``, and what a publish takes is compared with that: the first, which finds no keys
kept, those after it, and the dearest. The limit is the upsert. Processor time says the same where
others have work for the machine. The memory is that of a process which does nothing but the publish
after one more upsert.

The peer is a table that engines read as it is: Iceberg's MERGE of the same rows in Spark, by
merge-on-read, whose session has done one before. ``--no-peer`` leaves it out.

``--random-keys`` has keys all over the 64 bits, in no order, as hashes and most generated ids are.
``--delta`` has the table write integers and times as differences, ``write.parquet.delta-encoding``.

The data is made up and the same every time; figures of two commits compare only on the same quiet
machine, so read the ratios.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import arctic
from arctic.options import DELTA_ENCODING
from benchmarks.measure import Report, seconds
from benchmarks.memory import peak_of
from benchmarks.orders import base_rows, change_rows
from benchmarks.peers.driver import Driver
from benchmarks.peers.environments import PEERS, interpreter
from benchmarks.peers.inputs import WIDE_SCHEMA, widened

TABLE = "bench.orders"
KEY = "order_id"
PEER = "iceberg-mor"
PEER_SECONDS = 1_800
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="make bench-publish", description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows of the load")
    parser.add_argument("--repeats", type=int, default=5, help="upserts, each published")
    parser.add_argument("--no-peer", action="store_true", help="measure Arctic alone")
    parser.add_argument("--random-keys", action="store_true", help="keys of no order, 64 bits long")
    parser.add_argument("--delta", action="store_true", help="integers as differences")
    given = parser.parse_args(arguments)
    rows_of = _spread if given.random_keys else widened
    with tempfile.TemporaryDirectory(prefix="arctic-bench-") as folder:
        measure_publish(
            Path(folder),
            rows=given.rows,
            repeats=given.repeats,
            with_peer=not given.no_peer,
            rows_of=rows_of,
            properties={DELTA_ENCODING.name: "true"} if given.delta else {},
        )
    return 0


def measure_publish(
    folder: Path,
    *,
    rows: int,
    repeats: int,
    with_peer: bool,
    rows_of: Callable[[pa.Table], pa.Table],
    properties: Mapping[str, str],
) -> None:
    """Measure publishes after a load, after upserts of 1 %, and after a full optimize."""
    report = Report(f"publish: {rows:,} rows, upserts of {rows // 100:,}")
    place, few = str(folder / "arctic"), rows // 100
    report.step("load")
    changes = [folder / f"upsert{number}" / "0.parquet" for number in range(repeats + 1)]
    for number, path in enumerate(changes):
        path.parent.mkdir()
        pq.write_table(rows_of(change_rows(rows, few, number=number)), path)
    load = (batch for chunk in base_rows(rows) for batch in rows_of(chunk).to_batches())
    reader = pa.RecordBatchReader.from_batches(WIDE_SCHEMA, load)
    arctic.write(TABLE, reader, mode="upsert", options={"primaryKey": KEY}, warehouse=place)
    arctic.open_table(TABLE, warehouse=place).set_properties(properties)
    arctic.optimize(TABLE, type="full", warehouse=place)
    first = seconds(lambda: arctic.publish(TABLE, warehouse=place))
    upserts, publishes, busy = [], [], []
    for number, path in enumerate(changes[:repeats]):
        report.step(f"upsert and publish {number + 1} of {repeats}")
        given = pq.read_table(path)
        begun = time.process_time()
        upserts.append(seconds(partial(arctic.write, TABLE, given, mode="upsert", warehouse=place)))
        between = time.process_time()
        publishes.append(seconds(lambda: arctic.publish(TABLE, warehouse=place)))
        busy.append(f"{(time.process_time() - between) / (between - begun):.2f}x")
    upsert = statistics.median(upserts)
    add = partial(report.add, limit=upsert, limit_name="upsert of 1 %")
    report.add("upsert of 1 %", upsert, rows=few)
    add("first publish", first, rows=rows)
    add("publish after the first upsert", publishes[0], rows=few)
    add("publish after an upsert, median", statistics.median(publishes), rows=few)
    add("publish after the last upsert", publishes[-1], rows=few)
    add("the dearest publish after an upsert", max(publishes), rows=few)
    report.note("processor time of each, by its upsert", ", ".join(busy))
    nothing = seconds(lambda: arctic.publish(TABLE, warehouse=place), repeats=3)
    add("publish of nothing new", nothing, rows=few)
    arctic.write(TABLE, pq.read_table(changes[-1]), mode="upsert", warehouse=place)
    alone = [sys.executable, "-m", "arctic.cli", "publish", TABLE, "--warehouse", place]
    report.note("memory of a publish alone", str(peak_of(alone)[1]))
    if with_peer:
        report.step("the same upserts by Iceberg's MERGE")
        merges = _merges(folder, rows, changes[:repeats], rows_of)
        merge = statistics.median(merges)
        add("Iceberg's MERGE, median", merge, rows=few)
        both = upsert + statistics.median(publishes)
        report.add("upsert and publish", both, rows=few, limit=merge, limit_name="Iceberg's MERGE")
    full = seconds(lambda: arctic.optimize(TABLE, type="full", warehouse=place))
    after = seconds(lambda: arctic.publish(TABLE, warehouse=place))
    report.add("full optimize", full, rows=rows)
    report.add("publish after it", after, rows=rows, limit=full, limit_name="full optimize")
    report.show()


def _spread(rows: pa.Table) -> pa.Table:
    """Return orders whose keys are all over the 64 bits: each as often as before."""
    keys = rows[KEY].to_numpy().astype(np.uint64) * _SPREAD
    at = rows.schema.get_field_index(KEY)
    return widened(rows.set_column(at, rows.schema.field(at), pa.array(keys.view(np.int64))))


def _merges(
    folder: Path, rows: int, changes: Sequence[Path], rows_of: Callable[[pa.Table], pa.Table]
) -> list[float]:
    """Return what a MERGE of each of some files takes, in a table of the same rows."""
    peer = next(peer for peer in PEERS if peer.name == PEER)
    command = [str(interpreter(peer)), "-m", f"benchmarks.peers.systems.{peer.script}"]
    command += [str(folder / "lake"), *peer.arguments]
    load = folder / "load"
    load.mkdir()
    for number, chunk in enumerate(base_rows(rows)):
        pq.write_table(rows_of(chunk), load / f"{number}.parquet")
    with Driver(command, log=folder / "log.txt", scratch=folder / "scratch") as driver:
        driver.hello()
        driver.call("load", str(load), limit_seconds=PEER_SECONDS)
        merges = [
            driver.call("upsert", str(path.parent), limit_seconds=PEER_SECONDS)[0]["seconds"][0]
            for path in (changes[0], *changes)
        ]
    return merges[1:]


if __name__ == "__main__":
    sys.exit(main())
