"""Measure TPC-H's Q3 and Q18 on tables in buckets of the order's key, with and without a shuffle.

Both ways take turns in one session, which broadcasts nothing, on tables with refreshes that are not
merged. Each answer is the same both ways, and Q18's is DuckDB's.

``make bench-key-joins ARGS="--scale 1 --turns 5"``
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

import arctic
from benchmarks.tpch.data import KEYS, Tpch

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
    """Print seconds and shuffled bytes of both ways; 1 where answers differ."""
    parser = argparse.ArgumentParser(prog="make bench-key-joins", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="factor of TPC-H")
    parser.add_argument("--turns", type=int, default=5, help="of each way, after one to warm up")
    parser.add_argument("--buckets", type=int, default=8, help="of each of the two tables")
    given = parser.parse_args(arguments)
    shown = Table("query", "shuffle", "median s", "exchanges", "MiB shuffled")
    wrong = False
    with tempfile.TemporaryDirectory(prefix="arctic-joins-") as name:
        spark = arctic.local_session(master="local[2]", app_name="bench-key-joins", conf=CONF)
        tpch = Tpch(Path(name), scale=given.scale, refreshes=2)
        _load(spark, tpch, f"{name}/lake", given.buckets)
        for number in QUERIES:
            seconds: dict[str, list[float]] = {"true": [], "false": []}
            answers: dict[str, list[str]] = {}
            moved: dict[str, tuple[int, int]] = {}
            for _turn in range(1 + given.turns):
                for way, taken in seconds.items():
                    spark.conf.set(SETTING, way)
                    began = time.perf_counter()
                    frame = spark.sql(tpch.queries[number])
                    rows = frame.collect()
                    taken.append(time.perf_counter() - began)
                    answers[way] = sorted(map(str, rows))
                    moved[way] = _shuffled(frame)
            wrong = wrong or answers["true"] != answers["false"]
            wrong = wrong or len(answers["true"]) != len(tpch.after[number])
            for way, taken in seconds.items():
                exchanges, size_bytes = moved[way]
                shown.add_row(
                    f"Q{number}",
                    "without" if way == "true" else "with",
                    f"{statistics.median(taken[1:]):.2f}",
                    str(exchanges),
                    f"{size_bytes / 2**20:.1f}",
                )
        spark.stop()
    Console(width=None if sys.stdout.isatty() else 100).print(shown)
    if wrong:
        print("answers differ")
    return int(wrong)


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
