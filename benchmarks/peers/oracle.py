"""What every system must hold in the end, computed by DuckDB from the same input.

Rows are compared whole: ``EXCEPT ALL`` both ways. Instants are compared as microseconds, because
systems differ in how they write a time zone.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

from benchmarks.peers.commands import steps
from benchmarks.peers.inputs import WIDE_SCHEMA, Inputs

CHANGED = "expected"
COMMANDED = "commanded"


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
        wanted = f"select {_columns()} from {expected}"
        exported = f"select {_columns()} from read_parquet('{folder}/*.parquet')"
        missing = self._number(f"select count(*) from ({wanted} except all {exported})")
        extra = self._number(f"select count(*) from ({exported} except all {wanted})")
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
