"""Statements in a session whose catalog ``arctic`` has a warehouse of its own."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import arctic

Rows = list[tuple[Any, ...]]


class Sql:
    """Runs them."""

    def __init__(self, spark: SparkSession, warehouse: str) -> None:
        self.spark, self.warehouse = spark, warehouse

    def __call__(self, *statements: str) -> Rows:
        """Run statements, and return the rows of the last."""
        rows: Rows = []
        for statement in statements:
            rows = [tuple(row) for row in self.spark.sql(statement).collect()]
        return rows

    def refused(self, statement: str) -> str:
        """Return what the error of a statement says; it has no traceback of Python's."""
        with pytest.raises(PySparkException) as caught:
            self(statement)
        assert "Traceback" not in str(caught.value)
        return str(caught.value)

    def rows(self, table: str) -> Rows:
        """Return the rows of a table as a reader without Spark sees them, sorted."""
        return sorted(
            (tuple(row.values()) for row in arctic.read(table).read_all().to_pylist()), key=repr
        )

    def commits(self, table: str) -> int:
        """Count the commits of a table."""
        return int(arctic.open_table(table).history().num_rows)
