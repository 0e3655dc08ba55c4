"""Copies of data files without their dead rows, for engines that apply no deletes.

Memory: a run of row groups that is read, and one that is written.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from arctic import options as opt
from arctic.iceberg.publishing.shown_files import copy_number
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.read.asked_read import ReadSettings
from arctic.job.read.plan_rows import merge_request
from arctic.job.upkeep.mask_files import Dead
from arctic.job.write.target_table import write_target
from arctic.mor.data_file_reader import DataFileReader
from arctic.mor.touched import Touched
from arctic.table.files import FileKind, WrittenFile
from arctic.writing.files.node_files import Destination, NodeFiles
from arctic.writing.position_marks import ANY_SIZE
from arctic.writing.target import TaskId, WriteOptions


def write_copies(opened: OpenTable, location: str, dead: Iterator[Dead]) -> tuple[WrittenFile, ...]:
    """Write the rows of data files that are alive, a file for each; nobody refers to them yet.

    Args:
        opened: the pair.
        location: of the published table.
        dead: data files, each with the numbers of its dead rows, ascending, which are not all.

    Raises:
        StorageError: a file could not be read, created or written; none is left.
    """
    table = opened.table
    options = WriteOptions.of({}, table)
    target = write_target(
        opened,
        replace(options, threads=opt.default_parallelism(), target_file_bytes=ANY_SIZE),
    )
    target = replace(target, table=replace(table, base_location=location))
    settings = ReadSettings.of({}, table.properties)
    request = merge_request(opened, settings, schema=opened.arrow_schema, row_filter=None)
    written: list[WrittenFile] = []
    try:
        for file, rows in dead:
            # The name says which file it is a copy of.
            task = TaskId(
                partition_id=0, task_id=secrets.randbits(31), operation_id=copy_number(file.path)
            )
            files = NodeFiles(
                target,
                task,
                schemas={FileKind.BASE: target.schema},
                transaction_id=file.transaction_id,
            )
            place = Destination(partition=file.partition, node=file.node, kind=FileKind.BASE)
            try:
                with DataFileReader(file, request, opened.io.open_input, Touched()) as data:
                    for batch in data.survivors(rows, None, None):
                        files.add(place, pa.Table.from_batches([batch]))
                written += files.close()
            except BaseException:
                files.abort()
                raise
    except BaseException:
        target.delete_files([file.path for file in written])
        raise
    return tuple(written)
