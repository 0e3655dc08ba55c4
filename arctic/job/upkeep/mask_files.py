"""Position deletes that say which rows of data files are dead: one file for each data file.

Memory: the numbers of ``MARKED_AT_ONCE`` dead rows, eight bytes each, and those of one file.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from arctic import options as opt
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.write.target_table import write_target
from arctic.table.files import TableFile, WrittenFile
from arctic.writing.position_marks import mark_rows
from arctic.writing.target import TaskId, WriteOptions

MARKED_AT_ONCE = 2**22
Dead = tuple[TableFile, npt.NDArray[np.int64]]


def write_masks(opened: OpenTable, location: str, dead: Iterator[Dead]) -> tuple[WrittenFile, ...]:
    """Write delete files that nobody refers to yet.

    Args:
        opened: the table that the data files are of.
        location: of the store that the delete files are for.
        dead: data files, each with the numbers of its dead rows, ascending.

    Raises:
        StorageError: a file could not be created or written; none is left.
    """
    options = replace(WriteOptions.of({}, opened.table), threads=opt.default_parallelism())
    target = write_target(opened, options)
    target = replace(target, table=replace(opened.table, base_location=location))
    written: list[WrittenFile] = []
    try:
        for number, some in enumerate(_runs(dead)):
            task = TaskId(partition_id=number, task_id=0, operation_id=secrets.randbits(63))
            written += mark_rows(target, task, some)
    except BaseException:
        target.delete_files([file.path for file in written])
        raise
    return tuple(written)


def _runs(dead: Iterator[Dead]) -> Iterator[list[Dead]]:
    some: list[Dead] = []
    rows = 0
    for each in dead:
        some.append(each)
        rows += len(each[1])
        if rows >= MARKED_AT_ONCE:
            yield some
            some, rows = [], 0
    if some:
        yield some
