"""The proof: DuckDB computes the same table from the raw file, and every row is compared."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from examples.demo.promotions import expected_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How one reading of the table differs from what DuckDB computed."""

    reader: str
    row_count: int
    missing: int
    """Rows that DuckDB has and the table has not, in any column different."""
    unexpected: int
    """Rows that the table has and DuckDB has not; a row that is there twice counts once."""

    @property
    def is_equal(self) -> bool:
        """Whether the two hold the same rows, each as often."""
        return self.missing == 0 and self.unexpected == 0


class Oracle:
    """The expected table, computed once, and comparisons with it."""

    def __init__(self, source: Path, *, weeks: int, discontinued_after: int) -> None:
        """Compute what the table must hold after these weeks and the delete."""
        self._connection = duckdb.connect()
        expected_rows(self._connection, source, weeks=weeks, discontinued_after=discontinued_after)
        self.row_count: int = self._one("select count(*) from expected")[0]

    def compare(self, reader: str, rows: pa.Table) -> Comparison:
        """Compare all rows and all columns, as bags: ``except all`` in both directions."""
        self._connection.register("actual", rows.select(self._columns()))
        missing, unexpected = self._one(
            """
            select (select count(*) from (from expected except all from actual)),
                   (select count(*) from (from actual except all from expected))
            """
        )
        self._connection.unregister("actual")
        return Comparison(
            reader=reader, row_count=rows.num_rows, missing=missing, unexpected=unexpected
        )

    def _columns(self) -> list[str]:
        return [row[0] for row in self._connection.execute("describe expected").fetchall()]

    def _one(self, query: str) -> Any:
        return self._connection.execute(query).fetchone()
