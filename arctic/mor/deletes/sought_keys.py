"""The keys that a read of some keys seeks in a file: those of its node that no later delete has.

Strategy: the keys that are asked for are looked up among the deletes of a task once, before its
data is opened. Where a delete of a key is of a later transaction than a file, no row of the key
lives in that file, so the key is not sought there. Keys that were upserted since the last merge are
not looked for in base at all, however large it is.

Rules:
    - Rows are the same without it.
    - Only where a later transaction alone decides, and whole keys are asked for.

Memory: the keys that are asked for, and an index of those that are sought.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from arctic.columns.field_ids import known_field_id
from arctic.mor.deletes.delete_index import DeleteIndex
from arctic.mor.filters.among import Among
from arctic.mor.request import ReadRequest, RowValues
from arctic.table.files import TableFile
from arctic.tree.hash_arrays import hash_arrays
from arctic.tree.node import TreeNode

FEWER = 2
"""An index of its own is worth building for at most one in so many of the keys."""


class SoughtKeys:
    """Says it of the files of one task."""

    def __init__(
        self,
        request: ReadRequest,
        among: RowValues,
        node: TreeNode,
        deletes: DeleteIndex | None,
    ) -> None:
        """Look the keys up.

        Args:
            request: the read.
            among: the values that it asks for.
            node: that of the task.
            deletes: some that hold for every file of the task, or none.
        """
        self._asked = self._request = request
        self._node = node
        self._values: pa.Table | None = None
        self._deleted_by = np.empty(0, np.int64)
        """For each of the values the greatest transaction that deletes it, -1 if none does."""
        self._made: dict[int, ReadRequest] = {}
        """The requests for fewer keys, by the number of these: it grows with the transaction."""
        if not _asks_for_keys(request, among):
            return
        every = among.values
        hashes = hash_arrays(every.columns, request.key_types)
        values = every.filter(pa.array((hashes & node.mask) == node.index)).combine_chunks()
        columns = [column.combine_chunks() for column in values.columns]
        self._values = values
        self._deleted_by = np.full(values.num_rows, -1, np.int64)
        if deletes is not None:
            rows, codes = deletes.match(columns)
            self._deleted_by[rows] = deletes.transaction_ids(codes)
        if FEWER * values.num_rows <= every.num_rows:
            self._request = replace(request, among=Among(values))

    def request_for(self, file: TableFile) -> ReadRequest:
        """Return the request for what may live in a data file.

        Args:
            file: of the task.
        """
        if self._values is None or not file.node.is_within(self._node):
            return self._asked
        may_live = self._deleted_by <= file.transaction_id
        count = int(np.count_nonzero(may_live))
        if FEWER * count > len(may_live):
            return self._request
        if count not in self._made:
            left = Among(self._values.filter(pa.array(may_live)))
            self._made[count] = replace(self._request, among=left)
        return self._made[count]


def _asks_for_keys(request: ReadRequest, among: RowValues) -> bool:
    """Say whether the values are those of whole keys, and deletes kill by their place alone."""
    if not request.dies_by_deletes_alone or not among.is_of(request.key):
        return False
    asked = [(known_field_id(field), field.type) for field in among.fields]
    return asked == [(known_field_id(field), field.type) for field in request.key]
