"""What every system must hold in the end, computed by DuckDB from the same input.

Rows are compared whole: ``EXCEPT ALL`` both ways. Instants are compared as microseconds, because
systems differ in how they write a time zone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import pyarrow as pa

from benchmarks.peers.commands import steps
from benchmarks.peers.inputs import WIDE_SCHEMA, Inputs

CHANGED = "expected"
COMMANDED = "commanded"
CLOSE = 1e-9

Rows: TypeAlias = Sequence[Sequence[Any]]


class Oracle:
    """The expected rows in memory."""

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs
        self._duckdb = duckdb.connect()
        self._duckdb.execute("set TimeZone = 'UTC'")
        sources = [inputs.load, *inputs.upserts]
        union = " union all ".join(
            f"select *, {number} as batch from read_parquet('{path}/*.parquet')"
            for number, path in enumerate(sources)
        )
        self._duckdb.execute(
            f"""create table expected as
            select * exclude (batch, age) from (
                select *, row_number() over (partition by order_id order by batch desc) as age
                from ({union})
            ) where age = 1 and order_id not in (
                select order_id from read_parquet('{inputs.delete}/*.parquet')
            )"""
        )

    @property
    def rows(self) -> int:
        """How many rows are expected."""
        return self._number("select count(*) from expected")

    def rows_between(self, low: int, high: int) -> int:
        """How many expected rows have ``low <= order_id < high``."""
        return self._number(
            f"select count(*) from expected where order_id >= {low} and order_id < {high}"
        )

    def run_commands(self) -> None:
        """Do what every system is told in SQL, by this engine, to a table of the load alone."""
        load = f"read_parquet('{self._inputs.load}/*.parquet')"
        self._duckdb.execute(f"create or replace table {COMMANDED} as from {load}")
        for step in steps(self._inputs):
            changes = f"from read_parquet('{step.source}/*.parquet')"
            self._duckdb.execute(f"create or replace temp view changes as {changes}")
            self._duckdb.execute(step.statement.format(target=COMMANDED))

    def difference(self, folder: Path, *, expected: str = CHANGED) -> str:
        """Say how exported rows differ from the expected ones; empty where they do not.

        Args:
            folder: of Parquet files.
            expected: rows after upserts and a delete, or after ``run_commands``.
        """
        return differing_rows(self._duckdb, expected, folder, WIDE_SCHEMA)

    def _number(self, query: str) -> int:
        return _number(self._duckdb, query)


def differing_rows(
    connection: duckdb.DuckDBPyConnection, expected: str, folder: Path, schema: pa.Schema
) -> str:
    """Say how the exported rows of a folder differ from a table; empty where they do not."""
    columns = _columns(schema)
    wanted = f"select {columns} from {expected}"
    exported = f"select {columns} from read_parquet('{folder}/*.parquet')"
    missing = _number(connection, f"select count(*) from ({wanted} except all {exported})")
    extra = _number(connection, f"select count(*) from ({exported} except all {wanted})")
    if not missing and not extra:
        return ""
    return f"{missing:,} expected rows are missing, {extra:,} others are there"


def differing_answers(expected: Rows, found: Rows, *, close: float = CLOSE) -> str:
    """Say how two answers to one query differ; empty where they do not.

    Order is no matter, as ties may come in any. Binary fractions are alike up to a share, as sums
    of them depend on the order of their rows; decimal ones have to be equal.

    >>> differing_answers([["a", 0.1 + 0.2], ["b", None]], [["b", None], ["a", 0.3]])
    ''
    >>> differing_answers([["a", 1]], [["a", 2]])
    "expected ['a', 1], found ['a', 2]"
    """
    if len(expected) != len(found):
        return f"{len(found):,} rows, expected {len(expected):,}"
    same = partial(_same, close=close)
    for wanted, row in zip(sorted(expected, key=_order), sorted(found, key=_order), strict=True):
        if len(wanted) != len(row) or not all(map(same, wanted, row)):
            return f"expected {wanted}, found {row}"
    return ""


def _order(row: Sequence[Any]) -> list[str]:
    # Fractions come last: of two answers they may differ in the last digits.
    fractions = [f"{value:.4g}" for value in row if isinstance(value, float | Decimal)]
    others = [str(value) for value in row if not isinstance(value, float | Decimal)]
    return others + fractions


def _same(wanted: Any, found: Any, *, close: float) -> bool:
    if isinstance(wanted, date):
        wanted = wanted.isoformat()
    if isinstance(wanted, str) or wanted is None or isinstance(found, str) or found is None:
        return bool(wanted == found)
    # A decimal comes as the float that is next to it.
    allowed = close if isinstance(wanted, float) else CLOSE
    return math.isclose(wanted, found, rel_tol=allowed, abs_tol=allowed)


def _number(connection: duckdb.DuckDBPyConnection, query: str) -> int:
    row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0])


def _columns(schema: pa.Schema) -> str:
    names = []
    for field in schema:
        is_instant = str(field.type).startswith("timestamp")
        names.append(f"epoch_us({field.name}) as {field.name}" if is_instant else field.name)
    return ", ".join(names)
