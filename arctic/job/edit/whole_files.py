"""Rows that go without being read: the filter covers whole partitions, or whole files of base.

Rules:
    - A file goes only if its bounds prove that every row of it matches.
    - In a table with a key only whole partitions go this way, and only where the values of
      partitions, not the bounds of files, say that all of it lies in them. Readers of changes are
      not told what goes by metadata: whether they are must follow from the condition and how the
      table is partitioned, and not from what was optimized when.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow.types as pt

from arctic.columns.field_ids import known_field_id
from arctic.iceberg.snapshots.list_files import list_files
from arctic.iceberg.snapshots.partition_filter import PartitionFilter
from arctic.iceberg.tables.open_table import OpenTable
from arctic.scan.store_files import StoreFiles
from arctic.table.files import FileKind, Partition, TableFile
from arctic.table.filters.complement import complement
from arctic.table.filters.predicate import And, Predicate, may_match, tests_of
from arctic.table.snapshot import TableSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Which files a filter touches, and which of them it covers."""

    partitions: frozenset[Partition]
    """All rows of them match."""
    files: tuple[TableFile, ...]
    """Base files elsewhere of which all rows match; none with a key."""
    partly: tuple[TableFile, ...]
    """Data files, of either store, that may hold rows that match and others."""
    listed: StoreFiles
    rows: int | None
    """Rows that go with the partitions and files; None: not known without reading them."""

    @property
    def is_whole(self) -> bool:
        """Whether every row that matches lies in what is covered."""
        return not self.partly

    @property
    def is_empty(self) -> bool:
        """Whether no row can match."""
        return not (self.partitions or self.files or self.partly)


class FileJudge:
    """Says of files and partitions whether a filter can match a row of them, or must match all."""

    def __init__(self, opened: OpenTable, predicate: Predicate) -> None:
        floats = {
            known_field_id(field) for field in opened.arrow_schema if pt.is_floating(field.type)
        }
        self._asked = predicate
        self._others = complement(predicate, unordered=floats)
        self._left = None if self._others is None else PartitionFilter(opened.base, self._others)
        self._own = PartitionFilter(opened.base, predicate)

    def touches_partition(self, partition: Partition) -> bool:
        """Say whether some row can match, by the values of the partition."""
        return self._own.matches(partition)

    def touches(self, file: TableFile) -> bool:
        """Say whether some row can match."""
        return may_match(self._asked, file.bounds, file.record_count)

    def covers(self, file: TableFile) -> bool:
        """Say whether all rows match, by the bounds of the file."""
        others = self._others
        return others is not None and not may_match(others, file.bounds, file.record_count)

    def covers_partition(self, partition: Partition) -> bool:
        """Say whether all rows match, by the values of the partition."""
        return self._left is not None and not self._left.matches(partition)


def unmerged_changes(listed: StoreFiles, state: TableSnapshot) -> list[TableFile]:
    """Return the change files that lie on base."""
    return [
        file for file in listed.change if file.sequence_number > state.merged_up_to(file.partition)
    ]


def coverage(opened: OpenTable, state: TableSnapshot, predicate: Predicate | None) -> Coverage:
    """Find out what a filter touches and covers, from metadata.

    Args:
        opened: the table.
        state: pinned.
        predicate: the filter; None is true of every row.
    """
    asked: Predicate = And(()) if predicate is None else predicate
    listed = list_files(
        opened, state, field_ids={test.field_id for test in tests_of(asked)}, row_filter=asked
    )
    judge = FileJudge(opened, asked)
    unmerged = unmerged_changes(listed, state)
    changed = {file.partition for file in unmerged}
    data = [*listed.base, *(file for file in unmerged if file.kind is FileKind.INSERT)]
    touched = [file for file in data if judge.touches(file)]
    whole = {each for each in {file.partition for file in touched} if judge.covers_partition(each)}
    files: list[TableFile] = []
    partly: list[TableFile] = []
    if not opened.table.is_keyed:
        for file in touched:
            if file.partition not in whole:
                (files if judge.covers(file) else partly).append(file)
    elif touched:
        others = (file for file in data if file.partition not in whole)
        partly = [file for file in others if judge.touches_partition(file.partition)]
    going = [*files, *(file for file in listed.base if file.partition in whole)]
    is_plain = not changed.intersection(file.partition for file in going)
    is_plain = is_plain and not changed & whole and not listed.position_deletes
    return Coverage(
        partitions=frozenset(whole),
        files=tuple(files),
        partly=tuple(partly),
        listed=listed,
        rows=sum(file.record_count for file in going) if is_plain else None,
    )
