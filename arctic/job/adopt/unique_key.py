"""Whether columns of a table tell its rows apart.

Strategy: the key columns are streamed through DuckDB, which groups them and writes to disk what
does not fit into memory.

Memory: ``MOST_BYTES`` and a few row groups of the key columns; beyond that, a temporary folder.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence

from arctic.cdc.engine import name as quoted
from arctic.cdc.engine import spilling_engine, streamed
from arctic.errors import InvalidInputError
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.read.asked_read import AskedRead
from arctic.job.read.scan_job import scan_opened

MOST_BYTES = 512 * 2**20
_SHOWN = 3


def check_unique(opened: OpenTable, asked: AskedRead, key: Sequence[str]) -> None:
    """Refuse a key that several rows have; nulls count as equal.

    Args:
        opened: the table, without a key.
        asked: how it is read.
        key: the columns.

    Raises:
        InvalidInputError: naming some of the keys.
        UnsupportedError: a file that cannot be read.
        StorageError: a file cannot be read.
    """
    job = scan_opened(opened, asked, columns=list(key))
    columns = ", ".join(quoted(each) for each in key)
    with (
        tempfile.TemporaryDirectory(prefix="arctic-keys-") as folder,
        spilling_engine(folder, MOST_BYTES) as connection,
        streamed(connection, "given", job.schema, job.batches()),
    ):
        found = connection.execute(
            f"SELECT {columns}, count(*) AS {quoted('rows of it')} FROM given "
            f"GROUP BY {columns} HAVING count(*) > 1 LIMIT {_SHOWN}"
        ).to_arrow_table()
    if found.num_rows:
        *_, counts = found.columns
        keys = found.select(list(key)).to_pylist()
        shown = "; ".join(
            f"{each} in {count} rows" for each, count in zip(keys, counts, strict=True)
        )
        raise InvalidInputError(
            f"table {opened.table.name!r}: {list(key)} is not unique, so it is no primary key: "
            f"{shown}; name other columns, or remove those rows first"
        )
