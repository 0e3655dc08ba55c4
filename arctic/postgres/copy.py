"""The rows of a table, as columns of texts, some blocks of the table at a time.

Rules:
    - All pieces of a copy see one snapshot, so together they are the table at one moment.
    - Values are printed by the type's own output function, as the log prints them: a cast to text
      would cut the blanks of ``char(n)``.
    - The server gathers a piece into one array for each column, so no row is handled here alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from arctic.cdc.engine import engine, name
from arctic.cdc.source_table import SourceTable, TableColumn
from arctic.postgres.connect import fetch, postgres_errors
from arctic.postgres.source_tables import may_be_special

_SPECIALS = "'NaN', 'Infinity', '-Infinity'"
BLOCKS = 1024
"""Blocks of 8 KiB that one piece is made of, at most."""
PIECE_BYTES = 8 << 20
"""Values that one piece is made of, about; the server keeps no value beyond a gigabyte."""
_LENGTHS = re.compile(r"(text|character varying|character|bytea)(\(\d+\))?")
"""Types whose values tell how long they are without being read; of others, arrays of these too,
what is stored counts, which is compressed."""


@contextmanager
def one_moment(
    connection: Any, tables: Sequence[tuple[str, str]], *, snapshot: str | None
) -> Iterator[None]:
    """Let all queries see one state of the database, and keep the tables from being altered.

    Args:
        connection: in no transaction.
        tables: schema and name; those that are gone fail.
        snapshot: its id; None: as soon as the tables are locked.
    """
    with postgres_errors("begin to copy"):
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    try:
        with postgres_errors("lock tables to copy them"):
            if snapshot is not None:
                connection.execute(f"SET TRANSACTION SNAPSHOT '{snapshot}'")
            for schema, table in tables:
                # Before the first query, which fixes what is seen.
                connection.execute(
                    f"LOCK TABLE ONLY {name(schema)}.{name(table)} IN ACCESS SHARE MODE"
                )
        yield
    finally:
        with postgres_errors("end the copy"):
            connection.execute("ROLLBACK")


def copied(
    connection: Any, table: SourceTable, *, only_special: bool = False, blocks: int = BLOCKS
) -> Iterator[pa.Table]:
    """Yield the rows of a table, a column of texts for each of its columns.

    Args:
        connection: inside ``one_moment``.
        table: as it is at that moment.
        only_special: only rows with NaN or an infinity in a floating or numeric column.
        blocks: how much of the table one piece is made of.

    Memory: a piece, a few times.
    """
    action = f"copy table {table.full_name}"
    size = "SELECT pg_relation_size(%s) / current_setting('block_size')::bigint"
    count = int(fetch(connection, action, size, table.oid)[0][0])
    special = [column for column in table.columns if may_be_special(column)]
    if only_special and not special:
        return
    columns = ", ".join(f"array_to_json(array_agg({_printed(c)}))::text" for c in table.columns)
    test = " OR ".join(f"format('%s', {name(c.name)}) IN ({_SPECIALS})" for c in special)
    source = f"SELECT {columns} FROM ONLY {name(table.schema)}.{name(table.name)}"
    only = f" AND ({test})" if only_special else ""
    for first in range(0, count, blocks):
        begin, end = f"({first},0)", f"({first + blocks},0)"
        for last in _ends(connection, table, begin, end):
            row = fetch(connection, action, f"{source} WHERE {_between(begin, last)}{only}")[0]
            begin = last
            if row[0] is not None:
                yield _texts(table, row)


def _ends(connection: Any, table: SourceTable, begin: str, end: str) -> Iterator[str]:
    """Yield the places of the last rows of pieces, between two places of a table."""
    wide = [column for column in table.columns if column.is_toastable]
    if not wide:
        yield end
        return
    # Large values lie outside of the blocks. A sum of whole numbers may be one that divides to
    # fractions.
    size = " + ".join(f"coalesce({_length(column)}::bigint, 0)" for column in wide)
    query = f"""
        SELECT DISTINCT ON (part) place::text AS last FROM (
          SELECT ctid AS place, div(sum({size}) OVER (ORDER BY ctid), {PIECE_BYTES}) AS part
          FROM ONLY {name(table.schema)}.{name(table.name)} WHERE {_between(begin, end)}) AS cut
        ORDER BY part, place DESC"""
    for (place,) in fetch(connection, f"look at the rows of {table.full_name}", query):
        yield place


def _between(begin: str, end: str) -> str:
    """Return the condition of rows after a place of a table, up to another one."""
    return f"ctid > '{begin}'::tid AND ctid <= '{end}'::tid"


def _length(column: TableColumn) -> str:
    function = "octet_length" if _LENGTHS.fullmatch(column.type) else "pg_column_size"
    return f"{function}({name(column.name)})"


def _printed(column: TableColumn) -> str:
    quoted = name(column.name)
    if column.type == "bytea":
        return f"encode({quoted}, 'hex')"
    return f"CASE num_nulls({quoted}) WHEN 0 THEN format('%s', {quoted}) END"


def _texts(table: SourceTable, row: tuple[Any, ...]) -> pa.Table:
    names = [f"c{number}" for number in range(len(row))]
    given = pa.table(
        {each: pa.array([text], pa.string()) for each, text in zip(names, row, strict=True)}
    )
    lists = ", ".join(
        f"unnest({each}::JSON::VARCHAR[]) AS {name(column.name)}"
        for each, column in zip(names, table.columns, strict=True)
    )
    with engine() as connection:
        connection.register("given", given)
        return connection.sql(f"SELECT {lists} FROM given").to_arrow_table()
