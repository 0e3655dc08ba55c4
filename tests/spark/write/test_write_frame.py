"""A save of a classic session: one commit, by this process, of what its tasks wrote."""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

import arctic
from arctic.errors import InvalidInputError
from arctic.spark.base.spark_types import arrow_schema
from arctic.spark.write.spark_writer import begin_writer
from tests.spark.lake import COLUMNS, Lake

pytestmark = pytest.mark.spark


def _data_files(lake: Lake) -> set[Path]:
    return set(Path(lake.warehouse).rglob("*.parquet"))


def test_a_refused_row_leaves_no_file_of_any_task(lake: Lake) -> None:
    """The other tasks finished; what they wrote is removed, and nothing is committed."""
    lake.create(properties={"change.file-index.hash-bucket": "8"})
    lake.put([(1, "a", 1.0)])
    before = _data_files(lake)
    rows = [(number, "b", 2.0) for number in range(50)]

    with pytest.raises(InvalidInputError, match="'id'"):
        lake.save(lake.frame([*rows, (None, "c", 3.0)]), "upsert")

    assert _data_files(lake) == before
    assert lake.arrow_rows() == [(1, "a", 1.0)]


def test_columns_may_be_named_as_they_like(lake: Lake) -> None:
    """A word of SQL, a backtick or a space is part of the name."""
    columns = ["id", "select", "c`d", "e f"]
    frame = lake.frame([(1, "x", "y", "z")], "id long, b string, d string, f string").toDF(*columns)
    schema = arrow_schema(frame.schema)
    lake.create(schema=schema)

    lake.save(frame, "upsert")

    assert lake.arrow_rows() == [(1, "x", "y", "z")]


@pytest.mark.parametrize("tasks", [1, 2])
def test_a_name_may_differ_from_that_of_its_column_in_case(
    lake: Lake, tmp_path: Path, tasks: int
) -> None:
    """Spark takes no notice of it then, and hands rows over under the name below."""
    rows = pa.table({"ID": pa.array(range(4), pa.int64()), "Amount": [0.0, 1.0, 2.0, 3.0]})
    for part in range(tasks):
        pq.write_table(rows.slice(part * 2, 4 // tasks), tmp_path / f"{part}.parquet")
    lake.create(schema=pa.schema([("id", pa.int64()), ("amount", pa.float64())]))
    files = lake.spark.read.parquet(*[str(tmp_path / f"{part}.parquet") for part in range(tasks)])

    lake.save(files.selectExpr("id AS id", "amount AS amount"), "upsert")

    assert lake.arrow_rows() == [(0, 0.0), (1, 1.0), (2, 2.0), (3, 3.0)]


def test_a_frame_without_rows_commits_nothing(lake: Lake) -> None:
    """But is checked all the same."""
    lake.create()

    lake.save(lake.frame([], COLUMNS), "upsert")

    assert lake.count("snapshots") == 0
    with pytest.raises(InvalidInputError, match="colour"):
        lake.save(lake.frame([], COLUMNS).withColumn("colour", F.lit("red")), "upsert")


def test_a_write_may_read_the_table_it_writes_to(lake: Lake) -> None:
    """The rows are those before the write."""
    lake.create()
    lake.put([(1, "a", 1.0), (2, "b", 2.0)])

    lake.save(lake.load().withColumn("amount", F.col("amount") + 1), "upsert")

    assert lake.arrow_rows() == [(1, "a", 2.0), (2, "b", 3.0)]


def test_a_first_save_that_fails_leaves_no_table(lake: Lake) -> None:
    """Its tasks failed, after the driver had made the table for them."""
    rows = lake.frame([(1, "a", 1.0)], COLUMNS)
    broken = rows.withColumn("amount", F.raise_error(F.lit("broken")).cast("double"))
    save = broken.write.format("arctic").mode("upsert").option("primaryKey", "id")

    with pytest.raises(Exception, match="broken"):
        save.option("warehouse", lake.warehouse).save("m.first")

    assert "m.first" not in arctic.list_tables(warehouse=lake.warehouse)


def test_a_first_write_of_the_data_source_that_is_aborted_leaves_no_table(lake: Lake) -> None:
    """Spark begins and aborts such a write in two processes."""
    options = {"path": "m.first", "warehouse": lake.warehouse, "primarykey": "id"}
    schema = lake.frame([(1, "a", 1.0)], COLUMNS).schema
    lake.create()

    writer = pickle.loads(pickle.dumps(begin_writer(options, schema, overwrite=False)))
    assert "m.first" in arctic.list_tables(warehouse=lake.warehouse)
    writer.abort([None])

    assert arctic.list_tables(warehouse=lake.warehouse) == ["db.events"]
