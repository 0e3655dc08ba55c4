"""Optimizing and publishing after a write through Spark."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.errors import ConflictError, InvalidInputError
from arctic.job.publish import after_write
from arctic.job.tasks.run_tasks import LocalRunner
from arctic.job.upkeep.asked_upkeep import AskedOptimize
from arctic.spark.base.spark_types import spark_schema
from arctic.spark.tasks.spark_tasks import SparkRunner
from arctic.spark.write.spark_writer import begin_writer
from tests.iceberg.plain_readers import by_pyiceberg
from tests.spark.lake import NAME, SCHEMA, Lake

pytestmark = pytest.mark.spark

ROWS = [(1, "eu", 1.0)]


class Optimizer:
    """Stands where tables are optimized, and counts the rows that it would see."""

    def __init__(self, lake: Lake) -> None:
        self.calls: list[tuple[AskedOptimize, dict[str, Any], int]] = []
        self._lake = lake

    def __call__(self, asked: AskedOptimize, **arguments: Any) -> None:
        """Remember the call."""
        self.calls.append((asked, arguments, len(self._lake.arrow_rows())))


@pytest.fixture
def optimizer(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> Optimizer:
    """An optimizer in place of the real one."""
    optimizer = Optimizer(lake)
    monkeypatch.setattr(after_write, "optimize_table", optimizer)
    return optimizer


@pytest.mark.parametrize("mode", ["upsert", "append", "overwrite"])
def test_save_optimizes_on_the_cluster_after_the_commit(
    lake: Lake, optimizer: Optimizer, mode: str
) -> None:
    """On the session of the frame, and with what says where the table is."""
    lake.create()
    lake.save(lake.frame(ROWS), mode, optimize="AUTO")
    ((asked, arguments, rows),) = optimizer.calls

    assert asked.reference.options == {"path": NAME, "warehouse": lake.warehouse}
    assert asked.given == {}
    assert isinstance(arguments["runner"], SparkRunner)
    assert (arguments["type"], arguments["where"]) == (None, None)
    assert rows == 1


def test_save_without_the_option_leaves_the_table_alone(lake: Lake, optimizer: Optimizer) -> None:
    """That is the default, and can be said."""
    lake.create()
    lake.save(lake.frame(ROWS), "upsert")
    lake.save(lake.frame(ROWS), "upsert", optimize="none")

    assert optimizer.calls == []


def test_save_does_not_fail_after_its_commit(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows are in, so an error would make the caller write them again."""

    def fail(*_: Any, **__: Any) -> None:
        raise ConflictError("too late")

    monkeypatch.setattr(after_write, "optimize_table", fail)
    lake.create()
    with pytest.warns(RuntimeWarning, match=r"committed.*ConflictError: too late"):
        lake.save(lake.frame(ROWS), "upsert", optimize="auto")

    assert lake.rows() == ROWS


def test_a_value_that_is_none_is_refused_before_the_rows_are_computed(lake: Lake) -> None:
    """As every other option of a write."""
    lake.create()

    with pytest.raises(InvalidInputError, match="expected one of none, auto"):
        lake.save(lake.frame(ROWS), "upsert", optimize="yes")


def test_every_way_to_write_publishes(lake: Lake) -> None:
    """A save, and one that PySpark commits itself; some leave commits together."""
    lake.create()
    warehouse = lake.warehouse

    def is_shown() -> bool:
        shown = by_pyiceberg(warehouse, f"{NAME}_fresh")
        return sorted(shown["id"].to_pylist()) == sorted(row[0] for row in lake.rows())

    lake.save(lake.frame(ROWS), "upsert", publish="auto")
    assert is_shown()
    arctic.write(NAME, lake.frame([(2, "eu", 1.0)]).toArrow(), mode="upsert", warehouse=warehouse)
    assert not is_shown()
    options = {"path": NAME, "warehouse": warehouse, "write-mode": "append", "publish": "auto"}
    begin_writer(options, spark_schema(pa.schema(SCHEMA)), overwrite=False).commit([])
    assert is_shown()
    for number in range(3, 6):
        every = {"publish-every-commits": "2"}
        lake.save(lake.frame([(number, "eu", 1.0)]), "upsert", publish="auto", **every)
        assert is_shown() == (number == 4)


def test_a_write_that_save_does_not_see_optimizes_where_it_commits(
    lake: Lake, optimizer: Optimizer
) -> None:
    """There is no session there, so the tasks run beside the driver."""
    lake.create()
    options = {"path": NAME, "warehouse": lake.warehouse, "write-mode": "append"}
    schema = spark_schema(pa.schema(SCHEMA))

    begin_writer(options, schema, overwrite=False).commit([])
    assert optimizer.calls == []
    begin_writer({**options, "optimize": "auto"}, schema, overwrite=False).commit([])
    ((asked, arguments, _),) = optimizer.calls

    assert asked.reference.options == {"path": NAME, "warehouse": lake.warehouse}
    assert isinstance(arguments["runner"], LocalRunner)
