"""Read what one task was given: open, merge, filter, project; the kernel of reads in Python.

Strategy: a data file is read in batches. Rows that position deletes or the filter drop go first,
then rows whose key a change delete kills, then the columns take the types that were asked for.
Small survivors are joined to larger batches; many small files one behind the other are merged as if
they were one. When a task's change deletes do not fit in memory, only the key columns of its data
are read for each piece of the deletes but the last, to remember which rows it kills; the payload is
read once, together with the last piece.

Rules:
    - Every batch has exactly the requested schema, at least one is yielded, and none exceeds
      ``batch_rows``; rows come in the order of files and of rows in a file.
    - Without change deletes, no key column is read unless it was requested.

Memory: ``max_delete_bytes`` for change deletes, positions of the group's position deletes, one
run of row groups of one file (compressed, ``asked_ranges.RUN_BYTES`` or one row group), a few
batches; and one bit for each data row of a task whose deletes do not fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, groupby
from types import MappingProxyType

import pyarrow as pa

from arctic.columns.integers.row_set import RowSet
from arctic.mor.batch import at_least_one, coalesce
from arctic.mor.deletes.delete_files import KeptDeletes
from arctic.mor.request import OpenFile, ReadRequest
from arctic.mor.small_files import LEAST_FILES
from arctic.mor.task_reader import TaskReader, delete_paths
from arctic.mor.touched import Touched
from arctic.scan.task import NodeTask, NodeTaskGroup


def read_group(
    group: NodeTaskGroup,
    request: ReadRequest,
    open_file: OpenFile,
    touched: Touched | None = None,
    kept: KeptDeletes | None = None,
    dead: Mapping[str, RowSet] = MappingProxyType({}),
) -> Iterator[pa.RecordBatch]:
    """Yield the surviving rows of a group's tasks.

    Args:
        group: what one task reads.
        request: columns, key, filter and bounds.
        open_file: how a path is opened for reading.
        touched: what to add counts to, if anyone asks.
        kept: what other groups of the same read have found in small files.
        dead: rows of data files that are known to be dead, by path.

    Raises:
        FormatError: a file that is corrupt, or lacks what it must have.
        StorageError: a file that is missing or cannot be fetched.
        InternalError: a task that no plan makes, such as an unknown kind of file.
    """
    reader = TaskReader(group.tasks, request, open_file, touched or Touched(), kept, dead)
    rows = chain.from_iterable(_survivors(reader, task) for task in in_reading_order(group.tasks))
    yield from at_least_one(coalesce(rows, max_rows=request.batch_rows), request.schema)


def _survivors(reader: TaskReader, task: NodeTask) -> Iterator[pa.RecordBatch]:
    loaded = reader.load(task)
    for is_small, files in groupby(task.data, loaded.is_small):
        part = tuple(files)
        if is_small and len(part) >= LEAST_FILES:
            yield from loaded.rows_of_many(part)
            continue
        for file_task in part:
            yield from loaded.rows_of(file_task)


def in_reading_order(tasks: Sequence[NodeTask]) -> list[NodeTask]:
    """Return the tasks of a group as they are read: those with the same deletes follow another.

    They come in the order of their first.
    """
    first: dict[tuple[str, ...], int] = {}
    for number, task in enumerate(tasks):
        first.setdefault(delete_paths(task), number)
    return sorted(tasks, key=lambda task: first[delete_paths(task)])
