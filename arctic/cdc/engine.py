"""The one place that runs DuckDB: JSON and text to typed columns, and expressions of SQL.

Rules:
    - A connection lives for one piece of work, and reaches neither disk nor network, but for a
      folder that it may be given for what does not fit into memory.
    - Times are UTC, whatever this machine believes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from arctic.errors import ArcticError, InvalidInputError, StorageError
from arctic.options import default_parallelism

_PIECE_ROWS = 2048
"""What DuckDB works on at a time."""
_THREAD_BYTES = 128 * 2**20
"""What DuckDB needs for each thread that joins or groups more than fits into memory."""
_SETTINGS = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "enable_external_access": False,
    "preserve_insertion_order": True,
}


@contextmanager
def engine() -> Iterator[Any]:
    """Yield a connection."""
    connection = _duckdb().connect(":memory:", config=dict(_SETTINGS))
    try:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection
    finally:
        connection.close()


@contextmanager
def spilling_engine(folder: str, most_bytes: int, *, threads: int | None = None) -> Iterator[Any]:
    """Yield a connection that writes to a folder what does not fit into memory.

    Args:
        folder: for that.
        most_bytes: of memory.
        threads: that it begins with; None: as many as the memory is enough for.
    """
    settings = {
        **_SETTINGS,
        "preserve_insertion_order": False,
        "temp_directory": folder,
        "memory_limit": f"{most_bytes // 2**20}MiB",
        "threads": threads or most_threads(most_bytes),
    }
    connection = _duckdb().connect(":memory:", config=settings)
    try:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection
    finally:
        connection.close()


def most_threads(most_bytes: int) -> int:
    """Return how many threads memory is enough for, of those that there are."""
    return max(1, min(default_parallelism(), most_bytes // _THREAD_BYTES))


def in_pieces(table: pa.Table) -> pa.Table:
    """Return a table in pieces: DuckDB gives each to one thread, and the whole of one piece to one.

    >>> in_pieces(pa.table({"a": range(5000)}))["a"].num_chunks
    3
    """
    return pa.Table.from_batches(table.to_batches(max_chunksize=_PIECE_ROWS), table.schema)


@contextmanager
def streamed(
    connection: Any, table: str, schema: pa.Schema, batches: Iterator[pa.RecordBatch]
) -> Iterator[None]:
    """Let one statement read batches as a table; what they fail with is raised as it is.

    Args:
        connection: of DuckDB.
        table: the name that the statement reads.
        schema: of every batch.
        batches: the rows.

    Raises:
        StorageError: the statement failed, as where the folder for what does not fit is full.
    """
    failed: list[Exception] = []

    def given() -> Iterator[pa.RecordBatch]:
        try:
            yield from batches
        except Exception as error:
            failed.append(error)
            raise

    connection.register(table, pa.RecordBatchReader.from_batches(schema, given()))
    try:
        with engine_errors():
            yield
    except ArcticError:
        if failed:
            raise failed[0]  # noqa: B904 - DuckDB only repeats it, without its kind
        raise
    finally:
        connection.unregister(table)


@contextmanager
def engine_errors() -> Iterator[None]:
    """Say where a statement fails that nobody asked for in SQL, or the rows that it returns.

    Raises:
        StorageError: with what DuckDB says, as where the folder for what does not fit is full.
    """
    try:
        yield
    except (_duckdb().Error, pa.ArrowException) as error:
        raise StorageError(f"DuckDB failed: {str(error).partition(chr(10))[0]}") from error


def _duckdb() -> Any:
    import duckdb  # noqa: PLC0415 - takes longer to load than most processes work with it

    return duckdb


def said_of_expressions(given: Sequence[str], keys: Iterable[str]) -> list[tuple[int, str, Any]]:
    """Return what DuckDB's trees of expressions say under some keys, at any depth.

    Args:
        given: texts.
        keys: of DuckDB's JSON.

    Returns:
        Place of the text, key, and value: a text or a list of texts.

    Raises:
        InvalidInputError: a text that is not one expression.
    """
    duckdb, rows = _duckdb(), []
    for place, each in enumerate(given):
        with expression_errors(f"expression {each!r}"):
            duckdb.SQLExpression(each)
            duckdb.SQLExpression(f"({each}\n)")  # as it will stand in a statement
        statement = f"SELECT ({each}\n)"
        rows.append(f"({place}, {text(statement)})")
    if not rows:
        return []
    listed = ", ".join(text(key) for key in (*keys, "error_message"))
    with engine() as connection:
        # Not in Python: what is nested deep is too deep for its JSON.
        found = connection.execute(
            f"SELECT place, key, value FROM (VALUES {', '.join(rows)}) AS given(place, statement), "
            f"json_tree(json_serialize_sql(statement)) WHERE key IN ({listed}) "
            "AND type IN ('VARCHAR', 'ARRAY')"
        ).fetchall()
    said = [(place, key, json.loads(value)) for place, key, value in found]
    for place, key, value in said:
        if key == "error_message":
            raise InvalidInputError(f"expression {given[place]!r}: {value}")
    return said


def tokens(given: str) -> list[str]:
    """Return a text cut before each token of SQL; what is before the first one is a piece too.

    >>> tokens(" a.b = 'c.d' -- e")
    [' ', 'a', '.', 'b ', '= ', "'c.d' -- e"]
    """
    places = [place for place, _ in _duckdb().tokenize(given)]
    data = given.encode()  # places count bytes
    ends = zip([0, *places], [*places, len(data)], strict=True)
    return [data[start:end].decode() for start, end in ends]


@contextmanager
def expression_errors(subject: str) -> Iterator[None]:
    """Say of expressions that DuckDB cannot evaluate what they were for.

    Raises:
        InvalidInputError: with what DuckDB says.
    """
    try:
        yield
    except _duckdb().Error as error:
        raise InvalidInputError(f"{subject}: {error}") from error


def text(value: str) -> str:
    """Return a value as an SQL literal.

    >>> text("it's")
    "'it''s'"
    """
    return "'" + value.replace("'", "''") + "'"


def name(value: str) -> str:
    """Return a name as SQL quotes it.

    >>> name('a"b')
    '"a""b"'
    """
    return '"' + value.replace('"', '""') + '"'
