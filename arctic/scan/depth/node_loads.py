"""What each node of a partition weighs: the cost model that trees grow and shrink by.

A node is full when one task should merge no more. It weighs the live bytes and rows of its base,
and for what is not merged what merging that takes beside them, up to ``MOST_CHANGES`` times base.

Rules:
    - Changes alone fill no node: one that is divided has a third of what fills it in base, so that
      it is not joined again once the changes are merged. That begins at a quarter.
    - Deletes beyond the inserts are thought to take a row of base each where a node may be divided,
      and none where two may be joined: neither is done for rows that go, or for keys of nobody.
    - Files above a node are counted as if their rows were spread evenly.
    - How often a node is read does not count: no reader leaves that in the table.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from arctic.scan.explain import counted, size_text
from arctic.scan.task import FileTask
from arctic.table.files import FileKind, TableFile
from arctic.tree.node import TreeNode

FULL_ROWS = 16_000_000
"""One task was measured to merge and write about a million rows a second: a quarter of a minute."""
FULL_FILES = 4
"""Of the target size. Fewer would leave each node with small files that never fill one together: of
one file a node, tables had twice the files, and reads of all rows took a fifth longer."""
MOST_CHANGES = 2
"""Times its base, what is not merged in a node counts at most."""
SPARE = 4
"""Neighbours are joined where both together fill one in so many nodes."""
INSERT_ROW, DELETE_ROW = 2.4, 0.9
"""Rows of base that are merged in the time that one of inserts or deletes takes more, which is not
merged: measured by ``make bench-node-load``."""
INSERT_BYTE, DELETE_BYTE = 1.6, 3.0
"""The same of bytes. Deletes have fewer columns than base, inserts are sorted."""


class Held(NamedTuple):
    """What a node holds, or a part of that."""

    base_bytes: float = 0.0
    """Of live rows: their share of the rows of each file."""
    base_rows: float = 0.0
    """Live ones."""
    insert_bytes: float = 0.0
    """Not merged."""
    insert_rows: float = 0.0
    delete_bytes: float = 0.0
    """Of change deletes that are not merged."""
    delete_rows: float = 0.0

    def with_part(self, other: Held, part: float = 1.0) -> Held:
        """Return this and a part of another."""
        return Held(*[one + part * two for one, two in zip(self, other, strict=True)])

    @property
    def staying(self) -> float:
        """Which part of base is sure to be there once all is merged: no delete takes two rows."""
        gone = max(0.0, self.delete_rows - self.insert_rows)
        return max(0.0, 1 - gone / self.base_rows) if self.base_rows else 0.0

    def weight(self, part: float) -> Weight:
        """Return what merging a part of its base takes, with what is not merged."""
        size, rows = part * self.base_bytes, part * self.base_rows
        change_bytes = INSERT_BYTE * self.insert_bytes + DELETE_BYTE * self.delete_bytes
        change_rows = INSERT_ROW * self.insert_rows + DELETE_ROW * self.delete_rows
        return Weight(
            base_bytes=size,
            change_bytes=min(change_bytes, MOST_CHANGES * size),
            base_rows=rows,
            change_rows=min(change_rows, MOST_CHANGES * rows),
        )


class Weight(NamedTuple):
    """What merging a node takes, in bytes and rows of base that are merged in the same time."""

    base_bytes: float
    change_bytes: float
    base_rows: float
    change_rows: float

    def of_full(self, full_bytes: int) -> float:
        """Return it as a share of what fills a node."""
        size, rows = self.base_bytes + self.change_bytes, self.base_rows + self.change_rows
        return max(size / full_bytes, rows / FULL_ROWS)

    def text(self, full_bytes: int) -> str:
        """Say it for people, by what it is more of: ``540 MiB of at most 512 MiB``."""
        size, rows = self.base_bytes + self.change_bytes, self.base_rows + self.change_rows
        if rows / FULL_ROWS > size / full_bytes:
            base, changes = counted(round(self.base_rows), "row"), round(self.change_rows)
            more, most = f"{changes:,}", f"{FULL_ROWS:,}"
        else:
            base, changes = size_text(round(self.base_bytes)), round(self.change_bytes)
            more, most = size_text(changes), size_text(full_bytes)
        weight = f", and changes that weigh as much as {more}," if changes else ""
        return f"{base}{weight} of at most {most}"


_NOTHING = Held()


class NodeLoads:
    """How full each node of a partition is: 1.0 is what one should hold at most."""

    def __init__(
        self, data: Iterable[FileTask], change_deletes: Iterable[TableFile], *, target_bytes: int
    ) -> None:
        """Add up what nodes hold.

        Args:
            data: base files with their position deletes, and inserts that are not merged.
            change_deletes: that are not merged.
            target_bytes: of base files.
        """
        self.full_bytes = FULL_FILES * target_bytes
        self._at: dict[int, Held] = defaultdict(lambda: _NOTHING)
        self._within: dict[int, Held] = defaultdict(lambda: _NOTHING)
        for task in data:
            self._add(task.file.node, _of_data(task))
        for delete in change_deletes:
            size, rows = delete.size_bytes, delete.record_count
            self._add(delete.node, Held(delete_bytes=size, delete_rows=rows))

    def _add(self, node: TreeNode, found: Held) -> None:
        own, *above = node.lineage_ids()
        self._at[own] = self._at[own].with_part(found)
        for number in (own, *above):
            self._within[number] = self._within[number].with_part(found)

    def held(self, number: int) -> Held:
        """Return what a node holds."""
        found = self._within.get(number, _NOTHING)
        for levels, above in enumerate(TreeNode.from_id(number).lineage_ids()[1:], start=1):
            found = found.with_part(self._at.get(above, _NOTHING), 0.5**levels)
        return found

    def of(self, number: int) -> float:
        """Return how full a node is with what is sure to stay in it."""
        held = self.held(number)
        return held.weight(held.staying).of_full(self.full_bytes)

    def is_full(self, number: int) -> bool:
        """Say whether a node is worth two."""
        return self.of(number) > 1

    def is_spare(self, number: int) -> bool:
        """Say whether the two halves of a node are worth one, though no delete takes a row."""
        return self.held(number).weight(1.0).of_full(self.full_bytes) * SPARE <= 1

    def order(self, number: int) -> tuple[float, int]:
        """Return what sorts nodes: the fullest last, the first of equal ones."""
        return self.of(number), -number

    def text(self, number: int) -> str:
        """Say of a node what ``of`` goes by: ``540 MiB of at most 512 MiB``."""
        held = self.held(number)
        return held.weight(held.staying).text(self.full_bytes)

    @property
    def spare_text(self) -> str:
        """What two neighbours hold at most where they are joined."""
        return f"at most {size_text(self.full_bytes // SPARE)} and {FULL_ROWS // SPARE:,} rows"


def _of_data(task: FileTask) -> Held:
    file = task.file
    size, rows = file.size_bytes, file.record_count
    if file.kind is not FileKind.BASE:
        return Held(insert_bytes=size, insert_rows=rows)
    live = max(0, rows - sum(delete.record_count for delete in task.position_deletes))
    return Held(base_bytes=size * live / rows if rows else 0.0, base_rows=live)
