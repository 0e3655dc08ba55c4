"""What every system must hold in the end, computed by DuckDB from the same input.

Rows are compared whole: ``EXCEPT ALL`` both ways. Instants are compared as microseconds, because
systems differ in how they write a time zone.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

from benchmarks.peers.inputs import WIDE_SCHEMA, Inputs


class Oracle:
    """The expected rows in memory."""

    def __init__(self, inputs: Inputs) -> None:
        self._duckdb = duckdb.connect()
        self._duckdb.execute("set TimeZone = 'UTC'")
        sources = [inputs.load, *inputs.upserts]
        union = " union all ".join(
            f"select *, {number} as batch from read_parquet('{path}/*.parquet')"
            for number, path in enumerate(sources)
        )
        self._duckdb.execute(
            f"""create table expected as
            select {_columns()} from (
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

    def difference(self, folder: Path) -> str:
        """Say how exported rows differ from the expected ones; empty where they do not."""
        exported = f"select {_columns()} from read_parquet('{folder}/*.parquet')"
        missing = self._number(f"select count(*) from (from expected except all {exported})")
        extra = self._number(f"select count(*) from ({exported} except all from expected)")
        if not missing and not extra:
            return ""
        return f"{missing:,} expected rows are missing, {extra:,} others are there"

    def _number(self, query: str) -> int:
        row = self._duckdb.execute(query).fetchone()
        assert row is not None
        return int(row[0])


def _columns() -> str:
    names = []
    for field in WIDE_SCHEMA:
        is_instant = str(field.type).startswith("timestamp")
        names.append(f"epoch_us({field.name}) as {field.name}" if is_instant else field.name)
    return ", ".join(names)
