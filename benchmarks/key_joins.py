"""Measure joins and group-bys by key, with and without a shuffle.

Two tables of four nodes are joined and grouped by their keys, and then TPC-H's Q3 and Q18 asked of
tables in buckets of the order's key. Both ways take turns in one session, which broadcasts nothing,
on tables with changes that are not merged. Each answer is the same both ways, and has as many rows
as DuckDB's.

``make bench-key-joins ARGS="--rows 1000000 --scale 1 --turns 5"``
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

import arctic
from benchmarks.tpch.data import KEYS, Tpch

BY_KEY = {
    "group-by": "SELECT id, sum(v) AS s FROM a GROUP BY id",
    "join": "SELECT a.id, b.v AS s FROM a JOIN b ON a.id = b.id",
    "both": "SELECT a.id, sum(b.v) AS s FROM a JOIN b ON a.id = b.id GROUP BY a.id",
}
QUERIES = (3, 18)
BUCKETED = {"orders": "o_orderkey", "lineitem": "l_orderkey"}
TABLES = ("customer", *BUCKETED)
SETTING = "spark.arctic.joinWithoutShuffle"
CONF = {
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.shuffle.partitions": "8",
    "spark.ui.showConsoleProgress": "false",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print times and shuffled bytes of both ways; 1 where answers differ."""
    parser = argparse.ArgumentParser(prog="make bench-key-joins", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of two tables; 0: none")
    parser.add_argument("--scale", type=float, default=1.0, help="factor of TPC-H; 0: without")
    parser.add_argument("--turns", type=int, default=5, help="of each way, after one to warm up")
    parser.add_argument("--buckets", type=int, default=8, help="of each of the two tables")
    given = parser.parse_args(arguments)
    shown = Table("query", "shuffle", "median ms", "exchanges", "MiB shuffled")
    spark = arctic.local_session(master="local[2]", app_name="bench-key-joins", conf=CONF)
    wrong = False
    with tempfile.TemporaryDirectory(prefix="arctic-joins-") as name:
        if given.rows:
            _load_pair(spark, f"{name}/pair", given.rows)
            for query, statement in BY_KEY.items():
                summed = f"SELECT count(*), sum(s) FROM ({statement})"
                measured = _measured(spark, summed, given.turns)
                wrong = wrong or measured["true"].answer != measured["false"].answer
                _show(shown, f"{query}, {given.rows:,} rows", measured)
        if given.scale:
            tpch = Tpch(Path(name), scale=given.scale, refreshes=2)
            _load(spark, tpch, f"{name}/lake", given.buckets)
            for number in QUERIES:
                measured = _measured(spark, tpch.queries[number], given.turns)
                answer = measured["true"].answer
                wrong = wrong or answer != measured["false"].answer
                wrong = wrong or len(answer) != len(tpch.after[number])
                _show(shown, f"Q{number}", measured)
    spark.stop()
    Console(width=None if sys.stdout.isatty() else 100).print(shown)
    if wrong:
        print("answers differ")
    return int(wrong)


@dataclass(kw_only=True)
class Measured:
    """A query in one of the ways."""

    seconds: list[float] = field(default_factory=list)
    answer: Sequence[str] = ()
    exchanges: int = 0
    size_bytes: int = 0
    """Shuffled."""


def _measured(spark: SparkSession, statement: str, turns: int) -> dict[str, Measured]:
    """Return both ways of a statement, by the setting."""
    ways = {"true": Measured(), "false": Measured()}
    for _turn in range(1 + turns):
        for way, measured in ways.items():
            spark.conf.set(SETTING, way)
            began = time.perf_counter()
            frame = spark.sql(statement)
            rows = frame.collect()
            measured.seconds.append(time.perf_counter() - began)
            measured.answer = sorted(map(str, rows))
            measured.exchanges, measured.size_bytes = _shuffled(frame)
    return ways


def _show(shown: Table, query: str, ways: Mapping[str, Measured]) -> None:
    for way, measured in ways.items():
        shown.add_row(
            query,
            "without" if way == "true" else "with",
            f"{statistics.median(measured.seconds[1:]) * 1000:.0f}",
            str(measured.exchanges),
            f"{measured.size_bytes / 2**20:.1f}",
        )


def _load_pair(spark: SparkSession, warehouse: str, rows: int) -> None:
    """Make two tables, half of whose keys are in both, and change a tenth of them."""
    for name, first in (("a", 0), ("b", rows // 2)):
        arctic.create_table(
            f"bench.{name}",
            pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.int64())]),
            primary_key=["id"],
            properties={
                "base.file-index.hash-bucket": "4",
                "change.file-index.hash-bucket": "4",
            },
            warehouse=warehouse,
        )
        for mode, count, factor in (("overwrite", rows, 7), ("upsert", rows // 10, 11)):
            ids = np.arange(first, first + count)
            data = pa.table({"id": ids, "v": ids * factor % 1_000_003})
            arctic.write(f"bench.{name}", data, mode=mode, warehouse=warehouse)
        read = spark.read.format("arctic").option("warehouse", warehouse)
        read.load(f"bench.{name}").createOrReplaceTempView(name)


def _load(spark: SparkSession, tpch: Tpch, warehouse: str, buckets: int) -> None:
    for table in TABLES:
        source = BUCKETED.get(table)
        arctic.create_table(
            f"bench.{table}",
            pq.read_schema(next(tpch.load[table].glob("*.parquet"))),
            primary_key=KEYS[table],
            partition_by=[] if source is None else [f"bucket({buckets}, {source})"],
            warehouse=warehouse,
        )
        for mode, folder in _writes(tpch, table):
            rows = spark.read.parquet(str(folder))
            to = rows.write.format("arctic").mode(mode).option("warehouse", warehouse)
            to.save(f"bench.{table}")
        read = spark.read.format("arctic").option("warehouse", warehouse)
        read.load(f"bench.{table}").createOrReplaceTempView(table)


def _writes(tpch: Tpch, table: str) -> Iterator[tuple[str, Path]]:
    yield "overwrite", tpch.load[table]
    for refresh in tpch.refreshes if table in BUCKETED else ():
        yield "upsert", refresh.upserts[table]
        yield "delete", refresh.deletes[table]


def _shuffled(frame: Any) -> tuple[int, int]:
    """Return how many exchanges a query had, and how many bytes they wrote."""
    exchanges = size_bytes = 0
    waiting = [frame._jdf.queryExecution().executedPlan()]
    while waiting:
        plan = waiting.pop()
        name = plan.getClass().getSimpleName()
        if name == "AdaptiveSparkPlanExec":
            waiting.append(plan.executedPlan())
        elif name.endswith("QueryStageExec"):
            waiting.append(plan.plan())
        elif name == "ShuffleExchangeExec":
            exchanges += 1
            size_bytes += plan.metrics().apply("shuffleBytesWritten").value()
        children = plan.children()
        waiting += [children.apply(place) for place in range(children.length())]
    return exchanges, size_bytes


if __name__ == "__main__":
    sys.exit(main())
