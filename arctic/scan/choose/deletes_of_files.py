"""Which position deletes apply to a base file.

Rules: a position delete applies iff it is of the same partition, its sequence number is not
lower than the data file's, the data file's node lies within the delete's node, and it names that
data file or no single one.

Source: the Iceberg specification on scan planning, and amoro BasicMixedFileScanTask @96a4d781a
for the node.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence

from arctic.scan.file_order import age_order
from arctic.table.files import Partition, TableFile


class PositionDeleteIndex:
    """Finds the position deletes of a data file without trying them all."""

    __slots__ = ("_by_node", "_by_path", "_sequences")

    def __init__(self, deletes: Sequence[TableFile]) -> None:
        self._by_path: dict[str, list[TableFile]] = defaultdict(list)
        self._by_node: dict[tuple[Partition, int], list[TableFile]] = defaultdict(list)
        for delete in sorted(deletes, key=lambda delete: delete.sequence_number):
            if delete.referenced_path is not None:
                self._by_path[delete.referenced_path].append(delete)
            else:
                self._by_node[delete.partition, delete.node.node_id].append(delete)
        self._sequences = {
            place: [delete.sequence_number for delete in found]
            for place, found in self._by_node.items()
        }

    def applying_to(self, data: TableFile) -> tuple[TableFile, ...]:
        """Return the position deletes of a base file, the oldest first."""
        if not self._by_path and not self._by_node:
            return ()
        found = [
            delete
            for delete in self._by_path.get(data.path, ())
            if delete.partition == data.partition
            and delete.sequence_number >= data.sequence_number
            and data.node.is_within(delete.node)
        ]
        if self._by_node:
            for node_id in data.node.lineage_ids():
                place = (data.partition, node_id)
                if place in self._sequences:
                    start = bisect_left(self._sequences[place], data.sequence_number)
                    found += self._by_node[place][start:]
        return tuple(sorted(found, key=age_order))
