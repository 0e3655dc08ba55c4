"""From a database at work over two tables: its mirror, and an aggregate of the mirror's changes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import arctic
from tests.postgres.cluster import running_cluster
from tests.postgres.source import Source
from tests.postgres.tpcc import Shop

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROUNDS = 4
DISTRICT = ["o_w_id", "o_d_id"]
COUNTED = """
SELECT o_w_id, o_d_id, count(*), count(o_carrier) FROM orders GROUP BY 1, 2 ORDER BY 1, 2
"""


def refreshed(place: dict[str, Any]) -> Callable[[DataFrame, int], None]:
    """Return what counts the orders anew of each district that a batch of changes is about.

    An upsert is also a delete of what was there, if anything was: changes do not add up.
    """

    def refresh(changes: DataFrame, _: int) -> None:
        orders = changes.sparkSession.read.format("arctic").options(**place).load("m.orders")
        counted = (
            orders.join(changes.select(*DISTRICT).distinct(), DISTRICT)
            .groupBy(*DISTRICT)
            .agg(F.count("*").alias("orders"), F.count("o_carrier").alias("delivered"))
        )
        counted.write.format("arctic").options(**place).mode("upsert").save("m.districts")

    return refresh


def test_an_aggregate_follows_a_database_at_work(spark: SparkSession, tmp_path: Path) -> None:
    """Orders come and are delivered, columns are added meanwhile; the sums are the database's."""
    with ExitStack() as stack:
        dsn = stack.enter_context(running_cluster())
        shop = stack.enter_context(Shop(dsn, seed=5))
        shop.load()
        source = Source(dsn, tmp_path / "lake", tables=["orders", "order_line", "customer"])
        stack.callback(source.close)
        place: dict[str, Any] = {"warehouse": str(source.warehouse)}
        source.mirror()
        districts = pa.schema(
            {
                "o_w_id": pa.int32(),
                "o_d_id": pa.int32(),
                "orders": pa.int64(),
                "delivered": pa.int64(),
            }
        )
        arctic.create_table("m.districts", districts, primary_key=["o_w_id", "o_d_id"], **place)
        changes = spark.readStream.format("arctic").options(**place).load("m.orders")
        writer = changes.writeStream.foreachBatch(refreshed(place))
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = writer.trigger(processingTime="1 second").start()
        stack.callback(query.stop)
        for number in range(ROUNDS):
            # Its transactions run while the mirror and the stream do.
            work = threading.Thread(target=shop.work, args=(25,))
            work.start()
            source.mirror()
            work.join()
            shop.alter(number)
        source.mirror()
        query.processAllAvailable()

        source.check()
        expected = source.connection.execute(COUNTED).fetchall()
        found = (
            arctic.read("m.districts", **place)
            .read_all()
            .sort_by([("o_w_id", "ascending"), ("o_d_id", "ascending")])
        )
        assert [tuple(row.values()) for row in found.to_pylist()] == expected != []
        assert query.exception() is None
