"""The tables of DuckDB that one refresh works on.

Memory: ``MOST_BYTES`` and a few row groups; beyond that, a temporary folder.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from arctic.cdc.engine import expression_errors, most_threads, spilling_engine, streamed
from arctic.cdc.engine import name as quoted
from arctic.job.read.scan_job import ScanJob

MOST_BYTES = 2**30
_THREAD_ROWS = 500_000
"""That a thread is worth: each keeps groups of its own, and of few rows these cost most."""
GIVEN = "given"
"""What a statement calls the rows of a read."""
_EMPTY, _RESULT = "arctic_empty", "arctic_result"
_NOT_LASTING = (
    "SELECT DISTINCT function_name FROM duckdb_functions() WHERE stability <> 'CONSISTENT'"
)
_FLOATS = re.compile(r"\b(?:FLOAT|DOUBLE)\b")


class Workspace:
    """A connection with the tables of one refresh."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._threads = 1

    def expect(self, rows: int) -> None:
        """Take more threads where so many rows are worth it."""
        threads = min(-(-rows // _THREAD_ROWS), most_threads(MOST_BYTES))
        if threads > self._threads:
            self._connection.execute(f"SET threads = {threads}")
            self._threads = threads

    def load(self, table: str, job: ScanJob, relation: str = GIVEN) -> None:
        """Fill a new table with the rows of a read, or with a selection of them."""
        with streamed(self._connection, GIVEN, job.schema, job.batches()):
            self._connection.execute(f"CREATE TABLE {quoted(table)} AS SELECT * FROM {relation}")

    def make_from(self, table: str, job: ScanJob, statement: str) -> None:
        """Fill a new table with what a statement makes of the rows of a read, called ``GIVEN``."""
        with streamed(self._connection, GIVEN, job.schema, job.batches()):
            self.make(table, statement)

    def fill_from(self, table: str, job: ScanJob, statement: str) -> None:
        """Add to a table what a statement makes of the rows of a read, called ``GIVEN``."""
        with streamed(self._connection, GIVEN, job.schema, job.batches()):
            self.run(f"INSERT INTO {quoted(table)} {statement}")

    def declare(self, table: str, schema: pa.Schema) -> None:
        """Make a table without rows."""
        self._connection.register(_EMPTY, schema.empty_table())
        try:
            self._connection.execute(f"CREATE TABLE {quoted(table)} AS SELECT * FROM {_EMPTY}")
        finally:
            self._connection.unregister(_EMPTY)

    def make(self, table: str, statement: str) -> None:
        """Fill a new table with what a statement returns.

        Raises:
            InvalidInputError: it cannot be evaluated.
        """
        with expression_errors("view"):
            self._connection.execute(f"CREATE TABLE {quoted(table)} AS {statement}")

    def show(self, view: str, statement: str) -> None:
        """Call what a statement returns by a name, without a table of its own."""
        self._connection.execute(f"CREATE VIEW {quoted(view)} AS {statement}")

    def run(self, statement: str) -> None:
        """Carry out a statement that returns nothing."""
        with expression_errors("view"):
            self._connection.execute(statement)

    def drop(self, *tables: str) -> None:
        """Forget tables."""
        for table in tables:
            self._connection.execute(f"DROP TABLE IF EXISTS {quoted(table)}")

    def table(self, statement: str) -> pa.Table:
        """Return what a statement returns, in memory."""
        with expression_errors("view"):
            return self._connection.execute(statement).to_arrow_table()

    def numbers(self, statement: str) -> tuple[int, ...]:
        """Return the numbers of the one row that a statement returns."""
        return tuple(int(column[0].as_py()) for column in self.table(statement).columns)

    def held(self, statement: str) -> str:
        """Return a statement of the same rows, put into a table, for ``batches``.

        DuckDB 1.5 was seen to wait for itself for ever where one part of a UNION ALL fills the
        buffer of a result and the next part is to begin.
        """
        self.drop(_RESULT)
        self.make(_RESULT, statement)
        return f"SELECT * FROM {_RESULT}"

    def batches(self, statement: str) -> pa.RecordBatchReader:
        """Return rows of one table, batch by batch; nothing else may be asked meanwhile.

        Args:
            statement: which rows; what reads more than a table is ``held`` before.
        """
        with expression_errors("view"):
            return self._connection.execute(statement).to_arrow_reader()

    def types(self, statement: str) -> list[str]:
        """Return the types of a statement's columns, as DuckDB calls them."""
        with expression_errors("view"):
            found = self._connection.execute(f"DESCRIBE {statement}").fetchall()
        return [str(row[1]) for row in found]

    def is_exact(self, statement: str) -> bool:
        """Say whether no column of a statement is a number that rounds."""
        return not any(_FLOATS.search(each) for each in self.types(statement))

    def not_lasting(self, functions: Sequence[str]) -> list[str]:
        """Return the functions whose result changes with time or chance, sorted."""
        known = {row[0] for row in self._connection.execute(_NOT_LASTING).fetchall()}
        return sorted(known & set(functions))


@contextmanager
def workspace() -> Iterator[Workspace]:
    """Yield an empty workspace."""
    with (
        tempfile.TemporaryDirectory(prefix="arctic-view-") as folder,
        spilling_engine(folder, MOST_BYTES, threads=1) as connection,
    ):
        yield Workspace(connection)
