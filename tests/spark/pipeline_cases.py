"""Definitions of a pipeline that are others in each of its runs: ``RUN`` says which one it is."""

from __future__ import annotations

import os
from typing import Literal

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

FIRST, TWO_FLOWS = 0, 2
OTHER_KEY = {"newest": 4, "spans": 5}
"""Target -> the run in which its flow has another key."""
RUN = int(os.environ["RUN"])
spark = SparkSession.active()


@dp.temporary_view
def changes() -> DataFrame:
    """Each says of an id what is true from ``seq`` on; ``D`` says that it is gone."""
    columns = "id BIGINT, city STRING, email STRING, op STRING, seq BIGINT"
    return spark.readStream.schema(columns).json("feed")


def flow(name: str, target: str, scd_type: Literal[1, 2]) -> None:
    """Define a flow of the changes."""
    dp.create_auto_cdc_flow(
        name=name,
        target=target,
        source="changes",
        keys=["id", "email"] if OTHER_KEY[target] == RUN else ["id"],
        sequence_by="seq",
        apply_as_deletes="op = 'D'",
        except_column_list=["op", "seq", "email"] if RUN == FIRST else ["op", "seq"],
        stored_as_scd_type=scd_type,
        track_history_column_list=["city"] if scd_type == 2 else None,
    )


dp.create_streaming_table("newest", format="arctic", table_properties={"primaryKey": "id"})
dp.create_streaming_table("spans", format="arctic")
flow("first" if RUN == FIRST else "second", "newest", 1)
flow("moves", "spans", 2)
if RUN == TWO_FLOWS:
    flow("third", "newest", 1)
