"""Rivals of a task's inserts, where rows of a key are held against one another: what is merged.

A row or a delete of an insert's key that base or the merged changes hold is older than the insert,
so it counts only if its weight is greater: by ordering columns their values say so, and where the
first row of a key stays any row of base is.

Strategy: every insert has a delete of its key, so the keys of a task's deletes are all that matter.
Of the rivals the key and the ordering columns are read, in the row groups that can hold one of
these keys, and the index of the deletes keeps the greatest values of each key. A rival that is data
of the task as well is held against the deletes in the same go: its key is read once.

Rules:
    - A row of base that a position delete removes is no rival.

Memory: one bit for each row of the task's base files.
"""

from __future__ import annotations

from collections.abc import Mapping

from arctic.columns.integers.row_set import RowSet
from arctic.mor.data_file_reader import DataFileReader
from arctic.mor.deletes.delete_index import DeleteIndex
from arctic.mor.deletes.position_deletes import PositionDeletes, RemovedRows
from arctic.mor.filters.row_filter import of_keys
from arctic.mor.request import OpenFile, ReadRequest
from arctic.mor.touched import Touched
from arctic.scan.task import NodeTask
from arctic.table.files import FileKind


def take_rivals(
    task: NodeTask,
    index: DeleteIndex,
    request: ReadRequest,
    open_file: OpenFile,
    positions: PositionDeletes,
) -> Mapping[str, RowSet]:
    """Tell an index the greatest values that rivals have: it kills the inserts that they outdo.

    Args:
        task: with rivals.
        index: deletes of the task, some or all of them.
        request: of a table that holds rows against one another.
        open_file: how a path is opened for reading.
        positions: the position deletes of a group that the task is in.

    Returns:
        By the path of each base file that is a rival and data of the task: the rows that the index
        kills. They need not be looked up in it any more.
    """
    # A row that the filter drops can outdo one that it keeps, unless it drops the key.
    wanted = of_keys(request)
    data_paths = {part.file.path for part in task.data}
    settled: dict[str, RowSet] = {}
    for rival in task.rivals:
        file = rival.file
        is_data = file.kind is FileKind.BASE and file.path in data_paths
        removed = RemovedRows(positions.rows(file.path, rival.position_deletes), None)
        with DataFileReader(file, wanted, open_file, Touched()) as reader:
            dead = RowSet(reader.row_count)
            for found in reader.found_in(index):
                alive = removed.alive(found.first_row, found.row_count)[found.rows]
                index.add_rivals(found.codes[alive], [each[alive] for each in found.weights])
                if is_data:
                    killed = index.are_dead(found.codes, file.transaction_id, None, found.weights)
                    dead.add(found.first_row + found.rows[killed])
            if is_data:
                settled[file.path] = dead
    return settled
