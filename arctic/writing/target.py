"""What a write task is told, and what it hands back.

Everything here goes between the driver and its executors, so it pickles small: schemas, paths
and numbers; the callables are methods of records that pickle.

Must not know: catalogs, Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pyarrow as pa

from arctic import options as opt
from arctic.errors import InternalError, InvalidInputError
from arctic.options.indexed_columns import indexed_columns, sought_columns
from arctic.options.sort_terms import SortTerm
from arctic.table.files import FileKind, Partition, WrittenFile
from arctic.table.node_trees import NodeTrees
from arctic.table.table_description import TableDescription
from arctic.tree.node import bucket_mask

CHUNK_ROWS = 262_144
"""Rows that are worked on at once: 64 to 256 thousand were measured alike, a million a fifth
slower; and the larger the chunk, the more events of a key are collapsed."""

NODE_ROWS = 4_000_000
"""Changes that one task merges in some seconds; their keys take about half of the memory that
``merge.max-delete-bytes`` has by default."""

Locate = Callable[[pa.Table], pa.Table]
"""Key columns in key order -> key and partition source columns of every current row of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskId:
    """One attempt to write one partition of the input."""

    partition_id: int
    """Number of the input partition: unique in a write, below ``2**23``; orders its offsets."""
    task_id: int
    """The engine's number of the attempt."""
    operation_id: int
    """Random and at least 0, so that two attempts never share a file name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResult:
    """The files of one finished task."""

    task: TaskId
    files: tuple[WrittenFile, ...]
    """In the order they were finished."""
    rows_in: int
    inserts: int
    """Rows in insert or base files."""
    deletes: int
    """Rows in change-delete files."""
    dead: Mapping[str, bytes] = field(default_factory=dict)
    """Stored rows that go, by the path of their data file; see ``place_writer.packed``."""
    renewed: pa.Table | None = None
    """Where stored values are kept: keys of the rows that kept none, because the write itself
    deletes the stored row first; None: there are none."""


def files_of(results: Iterable[TaskResult]) -> tuple[WrittenFile, ...]:
    """Return the files of all tasks in the order of the input, in whatever order they finished.

    Raises:
        InternalError: two results for one input partition: their offsets overlap, or their rows
            would be doubled.
    """
    ordered = sorted(results, key=lambda result: result.task.partition_id)
    for before, after in pairwise(ordered):
        if before.task.partition_id == after.task.partition_id:
            raise InternalError(
                f"two results for input partition {after.task.partition_id}: tasks "
                f"{before.task.task_id} and {after.task.task_id}; expected one"
            )
    return tuple(file for result in ordered for file in result.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """The settings of a write that reach its tasks."""

    base_mask: int
    change_mask: int
    target_file_bytes: int
    row_group_bytes: int
    row_group_rows: int
    buffer_bytes: int
    compression: str
    compression_level: int | None
    """None: the codec's own."""
    dictionary_bytes: int
    """A larger dictionary of a column chunk is given up."""
    delta_encoding: bool
    """Whether integers that do not repeat are written as differences."""
    upsert_inserts: bool
    keeps_all: bool
    """Whether every event of a key stays in the change store."""
    grows: bool
    """Whether change files may go to more nodes than ``change_mask`` says, see ``ChangeOutput``,
    and base files to fewer than ``base_mask``, see ``route.few_joined``."""
    deep_masks: Mapping[str, int] = field(default_factory=dict)
    """By partition path, where files go to more nodes than the masks say: tasks own them."""
    trees: Mapping[str, str] = field(default_factory=dict)
    """By partition path, where the table remembers another tree than the least: ``read_tree``."""
    tree_mask: int = 0
    """No file goes deeper for the sake of a tree; see ``route.deepened``."""
    sort_by: tuple[SortTerm, ...] = ()
    """What rows of base files are sorted by where a task holds them anyway: as the table's
    optimizing does."""
    indexed: Mapping[str, float] = field(default_factory=dict)
    """Column with a bloom filter -> the share of values that are not there and pass."""
    sought: tuple[str, ...] = ()
    """Columns of the key that large change files may have a bloom filter of."""
    few_rows: int = 0
    """Rows for which a node is worth its files, where few go to fewer nodes than the masks say; 0:
    they do not. See ``route.few_joined``."""
    node_rows: int = NODE_ROWS
    """More changes of one write than this divide a node, where the table ``grows``."""
    chunk_rows: int = CHUNK_ROWS
    threads: int = 1
    """Threads that encode files beside one another."""
    spills: bool = True
    """Whether rows that there is no room for wait on local disk where a file needs all of them; not
    where they are in memory anyway."""

    @classmethod
    def of(cls, options: Mapping[str, str], table: TableDescription) -> WriteOptions:
        """Read the settings in force for a write.

        Args:
            options: what the call gave.
            table: its properties count where the call says nothing.

        Raises:
            InvalidInputError: a text that is not a value, a level that the codec does not have, or
                buckets that are no power of two, or inserts that replace no row in a table with
                ordering columns.
        """
        properties = table.properties
        upsert_inserts = opt.UPSERT_INSERTS.value(options, properties)
        if table.weighs_rows and not upsert_inserts:
            raise InvalidInputError(
                f"{opt.UPSERT_INSERTS.name} = 'false' in table {table.name!r}, which has "
                f"{table.weighed_by}: an insert would not be held against the stored row of its "
                "key; leave it out"
            )
        compression = opt.COMPRESSION.value(options, properties)
        trees = NodeTrees.of(properties, is_keyed=table.is_keyed)
        return cls(
            base_mask=_mask(opt.BASE_BUCKETS, table),
            change_mask=_mask(opt.CHANGE_BUCKETS, table),
            trees=trees.by_path,
            grows=trees.grow and not opt.CHANGE_BUCKETS.is_given(properties),
            target_file_bytes=opt.TARGET_FILE_SIZE.value(options, properties),
            row_group_bytes=opt.ROW_GROUP_BYTES.value(options, properties),
            row_group_rows=opt.ROW_GROUP_ROWS.value(options, properties),
            buffer_bytes=opt.WRITE_BUFFER_BYTES.value(options, properties),
            compression=compression,
            compression_level=_level(opt.COMPRESSION_LEVEL.value(options, properties), compression),
            dictionary_bytes=opt.DICTIONARY_BYTES.value(options, properties),
            delta_encoding=opt.DELTA_ENCODING.value(options, properties),
            upsert_inserts=upsert_inserts,
            keeps_all=opt.KEEP_ALL_CHANGES.value(options, properties),
            sort_by=_sort_terms(table),
            indexed=indexed_columns(properties),
            sought=sought_columns(table.primary_key, properties),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteTarget:
    """The table as a write task sees it."""

    table: TableDescription
    schema: pa.Schema
    """Table columns in table order, with field ids."""
    partition_arrays: Callable[[Any], list[Any]]
    """A batch or table with the partition source columns, by name -> one array of transformed
    values for each partition field, in spec order."""
    partition_path: Callable[[Partition], str]
    """``name=value/...`` of a partition."""
    create_output: Callable[[str], Any]
    delete_files: Callable[[Iterable[str]], Any]
    """Removes files as far as it can."""
    options: WriteOptions

    @property
    def key(self) -> tuple[str, ...]:
        """The key columns in key order."""
        return self.table.primary_key

    @property
    def key_types(self) -> tuple[str, ...]:
        """Iceberg's texts of the key's types, for the hash."""
        return tuple(column.type for column in self.table.key_columns)

    @property
    def partition_sources(self) -> tuple[str, ...]:
        """The columns that partition values are computed from."""
        return tuple(column.name for column in self.table.partition_source_columns)

    @property
    def keys_move(self) -> bool:
        """Whether a key can change its partition, so that its row must be looked for."""
        return self.table.is_keyed and not self.table.partition_follows_key

    @property
    def has_floating_key(self) -> bool:
        """Whether keys may have a negative zero, which is as great as zero, and another key."""
        return any(type_.startswith(("float", "double")) for type_ in self.key_types)

    @property
    def sorts_in_runs(self) -> bool:
        """Whether base rows that a task has no room for wait on local disk until it sorts them."""
        is_plain = not self.options.sort_by and not self.keys_move
        return self.options.spills and is_plain and not self.has_floating_key

    def data_path(self, kind: FileKind, partition: Partition, name: str) -> str:
        """Return where a file of this kind goes.

        Source: amoro CommonOutputFileFactory @96a4d781a: the location provider is not asked.
        """
        location = self.table.base_location
        if kind in (FileKind.INSERT, FileKind.CHANGE_DELETE):
            if self.table.change_location is None:
                raise InternalError(f"table {self.table.name!r} has no change store")
            location = self.table.change_location
        folder = f"{self.partition_path(partition)}/" if partition else ""
        return f"{location.rstrip('/')}/data/{folder}{name}"

    def delete_results(self, results: Sequence[TaskResult]) -> None:
        """Delete the files of tasks, as far as possible."""
        self.delete_files([file.path for each in results for file in each.files])

    @contextmanager
    def deleted_on_failure(self, *results: Sequence[TaskResult]) -> Iterator[None]:
        """Delete the files of tasks when anything fails before an attempt to commit them."""
        try:
            yield
        except BaseException:
            for each in results:
                self.delete_results(each)
            raise


def _level(level: int | None, codec: str) -> int | None:
    """Refuse a level before the first row: the writer would do so after it."""
    if level is None:
        return None
    subject = f"{opt.COMPRESSION_LEVEL.name} = {level} with codec {codec!r}"
    if codec == "uncompressed" or not pa.Codec.supports_compression_level(codec):
        raise InvalidInputError(f"{subject}: it has no levels; leave the level out")
    least = pa.Codec.minimum_compression_level(codec)
    greatest = pa.Codec.maximum_compression_level(codec)
    if not least <= level <= greatest:
        raise InvalidInputError(f"{subject}: expected {least} to {greatest}")
    return level


def _sort_terms(table: TableDescription) -> tuple[SortTerm, ...]:
    """Return what rows can be sorted by; where another engine named no such column, not by it.

    Optimizing refuses what it cannot sort by. A write need not: rows may lie in any order.
    """
    plain = {each.name for each in table.columns if "<" not in each.type and each.type != "uuid"}
    terms = opt.SORT_COLUMNS.value({}, table.properties) or ()
    return tuple(term for term in terms if plain.issuperset(term))


def _mask(option: opt.Option[int], table: TableDescription) -> int:
    count = option.value({}, table.properties)
    return bucket_mask(count, subject=f"table {table.name!r}: {option.name}")
