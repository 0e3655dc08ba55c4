"""The rows of one base file of a table without a key, without those that position deletes kill."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from arctic.job.edit.commit_edit import EditedTable
from arctic.job.read.read_columns import project
from arctic.job.read.some_files import rows_of_files
from arctic.scan.store_files import StoreFiles
from arctic.table.files import TableFile


def rows_of_file(
    table: EditedTable,
    file: TableFile,
    listed: StoreFiles,
    *,
    columns: Sequence[str] | None = None,
) -> Iterator[pa.Table]:
    """Yield the rows of a file, batch by batch.

    Args:
        table: without a key.
        file: one of its base files.
        listed: the files of its state, for the position deletes among them.
        columns: to be read; None: all.
    """
    opened = table.opened
    schema = project(opened.arrow_schema, columns, table_name=opened.table.name)
    for batch in rows_of_files(opened, table.state, listed, [file], schema=schema):
        yield pa.Table.from_batches([batch])
