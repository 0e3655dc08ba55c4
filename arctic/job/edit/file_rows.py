"""The rows of one base file of a table without a key, without those that position deletes kill."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from arctic.job.edit.commit_edit import EditedTable
from arctic.job.read.asked_read import ReadSettings
from arctic.job.read.plan_rows import merge_request, merged_input, planned_without_pauses
from arctic.job.read.read_columns import project
from arctic.job.read.read_task import MergeReader
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
    settings = ReadSettings.of({}, opened.table.properties).for_rewriting()
    alone = replace(listed, base=(file,), change=())
    plan = planned_without_pauses(merged_input(opened, table.state, alone, settings))
    schema = project(opened.arrow_schema, columns, table_name=opened.table.name)
    request = merge_request(opened, settings, schema=schema, row_filter=None)
    reader = MergeReader(request=request, io=opened.io)
    for group in plan.groups:
        for batch in reader.read(group):
            yield pa.Table.from_batches([batch])
