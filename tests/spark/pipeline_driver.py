"""Runs the pipeline of this folder once for each part of its feed, in one server of Spark Connect.

``python -m tests.spark.pipeline_driver SETTINGS REFRESHED``, as JSON: of the server, and part ->
tables that begin anew with it. They are tagged ``before``, and the feed is then nothing but this
part. What ``spark-pipelines run`` does, without a new server for each run; ``RUN`` is the part.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.pipelines import cli
from pyspark.pipelines.spark_connect_graph_element_registry import (
    SparkConnectGraphElementRegistry,
)
from pyspark.pipelines.spark_connect_pipeline import (
    create_dataflow_graph,
    handle_pipeline_events,
    start_run,
)
from pyspark.sql import SparkSession

SPEC = Path("spark-pipeline.yml")


def run(spark: Any, refreshed: Sequence[str] = ()) -> None:
    """Run the pipeline once, some of its tables from their beginning."""
    spec = cli.load_pipeline_spec(SPEC)
    graph = create_dataflow_graph(spark, spec.catalog, spec.database, spec.configuration)
    registry = SparkConnectGraphElementRegistry(spark, graph)
    cli.register_definitions(SPEC, registry, spec, spark, graph)
    events = start_run(
        spark,
        graph,
        full_refresh=list(refreshed),
        full_refresh_all=False,
        refresh=[],
        dry=False,
        storage=spec.storage,
    )
    handle_pipeline_events(events)


def main() -> None:
    """Run it for each part, and say how each run ended."""
    # A server in this process takes any free port only if the client is said to be a test; what
    # Spark itself does under that name begins in a JVM that is told of it, which this one is not.
    settings, refreshed = map(json.loads, sys.argv[1:])
    SparkContext._ensure_initialized(conf=SparkConf().setAll(list(settings.items())))
    os.environ["SPARK_TESTING"] = "1"
    server = SparkSession.builder.remote("local[2]")
    spark = server.config(map=settings).getOrCreate()
    spark.sql("CREATE NAMESPACE IF NOT EXISTS arctic.shop")
    for part in sorted(Path("parts").iterdir()):
        os.environ["RUN"] = part.stem
        tables = refreshed.get(part.stem, [])
        for table in tables:
            spark.sql(f"CALL arctic.system.create_tag('shop.{table}', 'before')").collect()
        if tables:
            shutil.rmtree("feed")
            Path("feed").mkdir()
        shutil.copy(part, Path("feed", part.name))
        try:
            run(spark, tables)
        except PySparkException as error:
            print(f"run {part.stem}: {error}")
        else:
            print(f"run {part.stem}: done")


if __name__ == "__main__":
    main()
