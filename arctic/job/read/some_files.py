"""The rows of some base files of a table without a key, as they are in one state of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.read.asked_read import ReadSettings
from arctic.job.read.plan_rows import merge_request, merged_input, planned_without_pauses
from arctic.job.read.read_task import MergeReader
from arctic.scan.store_files import StoreFiles
from arctic.table.files import TableFile
from arctic.table.filters.predicate import Predicate
from arctic.table.snapshot import TableSnapshot


def rows_of_files(
    opened: OpenTable,
    state: TableSnapshot,
    listed: StoreFiles,
    files: Sequence[TableFile],
    *,
    schema: pa.Schema,
    row_filter: Predicate | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows that position deletes leave, batch by batch.

    Args:
        opened: the table, without a key.
        state: in which the files are read.
        listed: its files, for the position deletes among them.
        files: some of its base files.
        schema: columns of the table, and those that say where a row is.
        row_filter: rows that do not match are left out.
    """
    settings = ReadSettings.of({}, opened.table.properties).for_rewriting()
    some = replace(listed, base=tuple(files), change=())
    asked = merged_input(opened, state, some, settings, row_filter=row_filter)
    request = merge_request(opened, settings, schema=schema, row_filter=row_filter)
    reader = MergeReader(request=request, io=opened.io)
    for group in planned_without_pauses(asked).groups:
        yield from reader.read(group)
