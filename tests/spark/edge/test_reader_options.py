"""The columns of ``load()``: told by this process, as a worker would, and without one."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import arctic
from arctic.spark.edge import reader_options
from arctic.spark.source import ArcticDataSource
from tests.spark.lake import NAME, Lake

pytestmark = pytest.mark.spark

ROWS = [(1, "eu", 1.0), (2, "us", 2.0)]
OPTIONS: dict[str, dict[str, str]] = {
    "rows": {},
    "some columns": {"columns": "amount, id"},
    "one store": {"store": "change"},
    "events": {"start-version": "0"},
    "changes of rows": {"start-version": "0", "change-rows": "commits"},
    "a metadata table": {"path": f"{NAME}.files"},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_columns_are_those_that_a_worker_tells(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, options: dict[str, str]
) -> None:
    """Names, types, nulls and order."""
    lake.create()
    lake.put(ROWS)
    name = options.get("path", NAME)
    given = {key: value for key, value in options.items() if key != "path"}
    here = lake.load(name, **given)
    monkeypatch.setattr(reader_options, "_columns", lambda options: None)

    by_worker = lake.load(name, **given)

    assert here.schema == by_worker.schema
    assert here.count() == by_worker.count()


def test_columns_are_told_without_a_worker(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session whose workers cannot begin still knows them."""
    lake.create()
    lake.put(ROWS, "overwrite")  # Spark reads merged rows itself
    monkeypatch.setattr(lake.spark.sparkContext, "pythonExec", "/nowhere/python")
    session = lake.spark.newSession()
    session.dataSource.register(ArcticDataSource)
    arctic.register(session)

    rows = session.read.format("arctic").option("warehouse", lake.warehouse).load(NAME)

    assert rows.columns == ["id", "region", "amount"]
    assert sorted(rows.where("id > 0").collect()) == ROWS


def test_a_reader_that_loads_again_asks_again(lake: Lake, tmp_path: Path) -> None:
    """Another table, or another format, has other columns."""
    lake.create()
    other = pa.schema([("k", pa.string())])
    arctic.create_table("db.other", other, primary_key=["k"], warehouse=lake.warehouse)
    lake.spark.range(3).write.parquet(str(tmp_path / "plain"))
    reader = lake.spark.read.format("arctic").option("warehouse", lake.warehouse)

    assert reader.load(NAME).columns == ["id", "region", "amount"]
    assert reader.load("db.other").columns == ["k"]
    assert reader.format("parquet").load(str(tmp_path / "plain")).columns == ["id"]
