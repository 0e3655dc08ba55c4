"""Customers as they are: the newest change of each id, however late or often it is told."""

from __future__ import annotations

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

spark = SparkSession.active()


@dp.temporary_view
def customer_changes() -> DataFrame:
    """Each change says of a customer what is true from ``seq`` on; ``D`` says that it is gone."""
    columns = "id BIGINT, city STRING, op STRING, seq BIGINT"
    return spark.readStream.schema(columns).json("feed")


dp.create_streaming_table("customers", format="arctic", table_properties={"primaryKey": "id"})
dp.create_auto_cdc_flow(
    target="customers",
    source="customer_changes",
    keys=["id"],
    sequence_by="seq",
    apply_as_deletes="op = 'D'",
    except_column_list=["op", "seq"],
    stored_as_scd_type=1,
)
