"""The surviving rows of a task's files, in ranges that come in order.

Strategy: a base file that optimizing or an overwrite made has row groups that follow one another
by key. Such files are read row group by row group; those that follow one another are one run.
All other rows (inserts, fragments, files that strangers wrote) are few or unordered: they are
sorted. Then the runs are merged; see ``runs``.

With sort columns, each range is sorted by them before it leaves. Several that count alike are one
column that is made for as long as rows are sorted; see ``sort_key``. Without, ranges follow one
another by the primary key and are not sorted inside: the files of a node never overlap, which is
what readers prune by, and most rows pass through uncompared.

Source: arctic's design paper on compaction, sort merge and hash merge. Differs: segments are not
fixed beforehand by the bounds of files, but found while the row groups are read.

Memory: one or two row groups of each of at most ``MAX_FILE_RUNS`` runs, as much as twice the sort
buffer in all, and that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from arctic.columns.row_order import RowKey, greatest_row, least_row, sort_rows
from arctic.machine_memory import task_share_bytes
from arctic.mor.task_reader import LoadedTask
from arctic.optimizing.sorting.sort_buffer import SortBuffer
from arctic.optimizing.sorting.sort_key import SortKey, sort_key
from arctic.options.sort_terms import SortTerm
from arctic.scan.task import FileTask
from arctic.table.files import FileKind
from arctic.writing.rows.runs import Run, merge_runs

MAX_FILE_RUNS = 8
"""More files than this that overlap one another are not worth a row group of memory each."""
_GROUP_BYTES = 16 * 2**20
"""A larger row group is sorted with the inserts, unless the buffer has room for many such."""
_MOST_BUFFER_BYTES = 512 * 2**20
_LEAST_BUFFER_BYTES = 16 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOrder:
    """In which order the rows of a node lie in its files."""

    terms: tuple[SortTerm, ...]
    """Most significant first; none: rows stay as they are."""
    schema: pa.Schema
    """Of the rows."""
    sorts: bool
    """Whether rows are sorted inside a range too."""
    buffer_bytes: int | None
    """Of rows that are sorted, in each task; None: as much as there is memory for."""
    tasks: int
    """That run at once."""
    fragment_bytes: int
    """Base files up to this size are sorted with the inserts."""

    order_id: int | None = None
    """Of the sort order that the table has declared; None: it has declared none."""

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        """Every column that takes part, once."""
        # A key column can count like others first, and then by itself.
        names = dict.fromkeys(name for term in self.terms for name in term)
        return tuple(self.schema.field(name) for name in names)

    def room_bytes(self) -> int:
        """Return how much of the rows is sorted in memory by a task that runs here."""
        if self.buffer_bytes is not None:
            return self.buffer_bytes
        return task_share_bytes(
            tasks=self.tasks, most_bytes=_MOST_BUFFER_BYTES, least_bytes=_LEAST_BUFFER_BYTES
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _OrderedFile:
    """A file whose row groups follow one another."""

    task: FileTask
    least: RowKey
    greatest: RowKey


def ordered_rows(
    loaded: LoadedTask, files: Sequence[FileTask], order: RowOrder, *, max_range_bytes: int
) -> Iterator[pa.Table]:
    """Yield the surviving rows of some data files, range by range.

    Args:
        loaded: the task, with its deletes; its request has all order columns.
        files: data files of the task.
        order: how rows are to lie.
        max_range_bytes: a range of more Arrow bytes is sorted in any case, so that it can be cut.
    """
    if not order.terms:
        for file_task in files:
            for batch in loaded.rows_of(file_task):
                yield pa.Table.from_batches([batch])
        return
    key = sort_key(loaded, files, order.terms, order.schema)
    chains, loose = _sorted_out(loaded, files, order, key)
    with SortBuffer(key.columns, buffer_bytes=order.room_bytes()) as buffer:
        for file_task in loose:
            for batch in loaded.rows_of(file_task):
                buffer.add(key.added(pa.Table.from_batches([batch])))
        runs = [Run(_chunks(loaded, chain, key), key.columns, is_sorted=False) for chain in chains]
        for rows in merge_runs([*runs, *buffer.runs()]):
            if order.sorts or rows.nbytes > max_range_bytes:
                rows = sort_rows(rows, key.columns)
            yield key.removed(rows)


def _sorted_out(
    loaded: LoadedTask, files: Sequence[FileTask], order: RowOrder, key: SortKey
) -> tuple[list[list[FileTask]], list[FileTask]]:
    """Return chains of ordered files that follow one another, and all other files."""
    ordered: list[_OrderedFile] = []
    loose: list[FileTask] = []
    for file_task in files:
        found = _ordered_file(loaded, file_task, order, key)
        if found is None:
            loose.append(file_task)
        else:
            ordered.append(found)
    chains: list[list[_OrderedFile]] = []
    # Sorted by a total order: RowKey compares with < alone.
    for file in sorted(ordered, key=lambda file: file.least):
        chain = next((each for each in chains if each[-1].greatest <= file.least), None)
        if chain is not None:
            chain.append(file)
        elif len(chains) < MAX_FILE_RUNS:
            chains.append([file])
        else:
            loose.append(file.task)
    return [[file.task for file in chain] for chain in chains], loose


def _ordered_file(
    loaded: LoadedTask, file_task: FileTask, order: RowOrder, key: SortKey
) -> _OrderedFile | None:
    file = file_task.file
    if file.kind is not FileKind.BASE or file.size_bytes <= order.fragment_bytes:
        return None
    least: RowKey | None = None
    greatest: RowKey | None = None
    with loaded.open(file_task) as data:
        for group in data.row_groups:
            if data.decoded_bytes(group) > max(_GROUP_BYTES, order.room_bytes() // 8):
                return None
            rows = pa.Table.from_batches(
                list(data.every_row(order.fields, [group])), schema=pa.schema(order.fields)
            )
            if not rows.num_rows:
                continue
            rows = key.added(rows)
            first = least_row(rows, key.columns)
            if greatest is not None and first < greatest:
                return None
            least = first if least is None else least
            greatest = greatest_row(rows, key.columns)
    if least is None or greatest is None:
        return None
    return _OrderedFile(task=file_task, least=least, greatest=greatest)


def _chunks(loaded: LoadedTask, files: Sequence[FileTask], key: SortKey) -> Iterator[pa.Table]:
    for file_task in files:
        with loaded.open(file_task) as data:
            for group in data.row_groups:
                batches = list(data.survivors([group]))
                if batches:
                    yield key.added(pa.Table.from_batches(batches))
