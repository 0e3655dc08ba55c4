"""A small table as plain Python values: files with the rows in them, and the truth about them.

The truth is computed by the rules of the format, row against row, without nodes, key ranges or
plans; ``read`` executes a plan on the same rows. Tests compare the two.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeVar

from hypothesis import strategies as st

from arctic.scan.plan_scan import ScanPlan, plan_scan
from arctic.scan.scan_input import ScanInput, SetApart
from arctic.scan.store_files import StoreFiles
from arctic.scan.task import NodeTask, PruneCounts, ScanOptions
from arctic.table.files import BASE_FILE_OFFSET, ColumnBounds, FileKind, Partition, TableFile, Value
from arctic.table.filters.predicate import And, ColumnTest, Op, Predicate
from arctic.table.merge_engine import MergeEngine
from arctic.table.snapshot import TableSnapshot
from arctic.tree.key_hash import hash_key
from arctic.tree.node import TreeNode
from tests.factories.files import table_file
from tests.factories.lsn import Lsn
from tests.factories.tables import columns_of

T = TypeVar("T")

ID, NAME = 1, 2
KEY_IDS = (ID, NAME)
KEY_TYPES = ("int", "string")
KEY = columns_of(dict(zip(("id", "name"), KEY_TYPES, strict=True)))
KEYS: tuple[tuple[Value, ...], ...] = (
    *((number, "a") for number in range(5)),
    (2, "b"),
    (None, "a"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of a data or change-delete file."""

    key: tuple[Value, ...]
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lake:
    """Both stores of a table, with what is in each file."""

    base: tuple[TableFile, ...]
    position_deletes: tuple[TableFile, ...]
    change: tuple[TableFile, ...]
    snapshot: TableSnapshot
    rows: Mapping[str, tuple[Row, ...]]
    """By path of a data or change-delete file."""
    positions: Mapping[str, Mapping[str, frozenset[int]]]
    """By path of a position-delete file: which rows of which file are deleted."""

    @property
    def unmerged(self) -> tuple[TableFile, ...]:
        """The change files that base does not contain yet."""
        return tuple(
            file
            for file in self.change
            if file.sequence_number > self.snapshot.merged_up_to(file.partition)
        )

    @property
    def data(self) -> tuple[TableFile, ...]:
        """The files whose rows make up the merged view."""
        inserts = (file for file in self.unmerged if file.kind is FileKind.INSERT)
        return (*self.base, *inserts)

    def killers(self, file: TableFile, row: Row) -> list[TableFile]:
        """Return the change deletes that kill a row, by the rules alone."""
        return [
            delete
            for delete in self.unmerged
            if delete.kind is FileKind.CHANGE_DELETE
            and delete.partition == file.partition
            and any(
                killer.key == row.key and lsn(delete, killer) > lsn(file, row)
                for killer in self.rows[delete.path]
            )
        ]

    def is_deleted_by_position(self, file: TableFile, position: int) -> bool:
        """Say whether a position delete applies, by the rules alone."""
        return file.kind is FileKind.BASE and any(
            position in self.positions[delete.path].get(file.path, ())
            and delete.partition == file.partition
            and delete.sequence_number >= file.sequence_number
            and file.node.is_within(delete.node)
            for delete in self.position_deletes
        )

    def truth(self) -> list[tuple[str, int]]:
        """Return path and position of every row of the merged view, sorted."""
        return sorted(
            (file.path, position)
            for file in self.data
            for position, row in enumerate(self.rows[file.path])
            if not self.is_deleted_by_position(file, position) and not self.killers(file, row)
        )

    def read(self, tasks: Iterable[NodeTask]) -> list[tuple[str, int]]:
        """Return path and position of every row that tasks yield, sorted."""
        found = []
        for task in tasks:
            deletes: dict[tuple[Value, ...], Lsn] = {}
            for delete in task.change_deletes:
                for row in self.rows[delete.path]:
                    found_lsn = deletes.get(row.key, Lsn(-1, 0))
                    deletes[row.key] = max(found_lsn, lsn(delete, row))
            for part in task.data:
                gone = frozenset[int]().union(
                    *(
                        self.positions[delete.path].get(part.file.path, frozenset())
                        for delete in part.position_deletes
                    )
                )
                found += [
                    (part.file.path, position)
                    for position, row in enumerate(self.rows[part.file.path])
                    if position not in gone
                    and not deletes.get(row.key, Lsn(-1, 0)) > lsn(part.file, row)
                ]
        return sorted(found)

    def plan(
        self,
        options: ScanOptions,
        row_filter: Predicate | None = None,
        set_apart: SetApart = SetApart.NOTHING,
        *,
        takes_others: bool = False,
    ) -> ScanPlan:
        """Plan a read of the merged view."""
        return plan_scan(
            ScanInput(
                table_name="db.t",
                is_merged_view=True,
                files=self.files,
                snapshot=self.snapshot,
                key=KEY,
                ordering=(),
                engine=MergeEngine.LAST_ROW,
                row_filter=row_filter,
                options=options,
                set_apart=set_apart,
                takes_others=takes_others,
                nodes=None,
            )
        )

    @property
    def files(self) -> StoreFiles:
        """The files of both stores, as listed."""
        return StoreFiles(
            base=self.base,
            position_deletes=self.position_deletes,
            change=self.change,
            pruned=PruneCounts(),
        )


def lsn(file: TableFile, row: Row) -> Lsn:
    """Return where a row stands in the history of its key."""
    is_base = file.kind is FileKind.BASE
    return Lsn(file.transaction_id, BASE_FILE_OFFSET if is_base else row.offset)


def tasks_of(plan: ScanPlan) -> list[NodeTask]:
    """Return all tasks of a plan."""
    return [task for group in plan.groups for task in group.tasks]


def scan_options(
    *,
    parallelism: int = 2,
    parallel_multiple: int = 2,
    target_bytes: int = 1000,
    open_file_cost_bytes: int = 10,
    weight_ratio: float = 2.0,
) -> ScanOptions:
    """Return options in bytes that suit small tables."""
    return ScanOptions(
        parallelism=parallelism,
        parallel_multiple=parallel_multiple,
        target_bytes=target_bytes,
        open_file_cost_bytes=open_file_cost_bytes,
        weight_ratio=weight_ratio,
        vector_min_rows=1,
    )


def all_options() -> st.SearchStrategy[ScanOptions]:
    """Draw options that split nothing, everything, or some."""
    return st.builds(
        scan_options,
        parallelism=st.integers(1, 4),
        parallel_multiple=st.integers(1, 3),
        target_bytes=st.sampled_from([1, 200, 10_000]),
        open_file_cost_bytes=st.sampled_from([1, 1, 40]),
        weight_ratio=st.sampled_from([0.01, 2.0]),
    )


def filters() -> st.SearchStrategy[Predicate | None]:
    """Draw no filter, or one that bounds can tell something about."""
    tests = st.builds(
        lambda op, literal: ColumnTest(op=op, field_id=ID, column="id", literal=literal),
        st.sampled_from([Op.EQ, Op.LT, Op.GT]),
        st.integers(0, 6),
    )
    names = st.builds(
        lambda name: ColumnTest(op=Op.EQ, field_id=NAME, column="name", literal=name),
        st.sampled_from(["a", "b"]),
    )
    # Both key columns: the nodes are known then.
    keys = st.builds(lambda some, name: And((some, name)), tests, names)
    return st.none() | tests | keys


def matches(row_filter: Predicate | None, row: Row) -> bool:
    """Say whether a row matches, by the rules alone."""
    if row_filter is None:
        return True
    if isinstance(row_filter, And):
        return all(matches(child, row) for child in row_filter.children)
    assert isinstance(row_filter, ColumnTest)
    value: Any = row.key[KEY_IDS.index(row_filter.field_id)]
    literal: Any = row_filter.literal
    compare = {Op.EQ: operator.eq, Op.LT: operator.lt, Op.GT: operator.gt}[row_filter.op]
    return value is not None and bool(compare(value, literal))


# Few partitions and nodes, so that files meet; more deletes than anything else.
_DATA_KINDS = (
    FileKind.BASE,
    FileKind.BASE,
    FileKind.INSERT,
    FileKind.INSERT,
    FileKind.CHANGE_DELETE,
    FileKind.CHANGE_DELETE,
    FileKind.CHANGE_DELETE,
)
_PARTITIONS: tuple[Partition, ...] = (("eu",), ("eu",), (None,))
_MASKS = (0, 0, 1, 1, 3, 7)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Data:
    """What Hypothesis chooses of a data or change-delete file."""

    kind: FileKind
    keys: tuple[tuple[Value, ...], ...]
    mask: int
    partition: Partition
    sequence_number: int
    age: int
    size: int
    offset: int
    bounds: Callable[[Sequence[tuple[Value, ...]]], dict[int, ColumnBounds]]
    is_imported: bool
    """Its name is a stranger's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Marks:
    """What Hypothesis chooses of a position-delete file."""

    targets: tuple[tuple[int, frozenset[int]], ...]
    """Which base files of one partition, counted around, and which of their rows."""
    lineage: int
    """Its node: one of those above the first target from the root on, or one below it."""
    is_elsewhere: bool
    """In a partition that need not be that of its targets."""
    sequence_number: int


def lakes() -> st.SearchStrategy[Lake]:
    """Draw a table with files at any depth of the tree, some of them merged already.

    Each choice is one of Hypothesis', so that it explores from what it has found and shrinks to
    the few files, keys and numbers that matter.
    """
    return st.builds(
        _lake,
        _many(_data_files(), 16),
        _many(_mark_files(), 4),
        st.dictionaries(st.sampled_from(_PARTITIONS), st.integers(0, 3)),
    )


def _many(each: st.SearchStrategy[T], most: int) -> st.SearchStrategy[list[T]]:
    """Draw the number first: left alone, most lists would be too short for files to meet."""
    return st.integers(0, most).flatmap(lambda n: st.lists(each, min_size=n, max_size=n))


def _data_files() -> st.SearchStrategy[_Data]:
    return st.builds(
        _Data,
        kind=st.sampled_from(_DATA_KINDS),
        keys=st.lists(st.sampled_from(KEYS), min_size=1, max_size=4).map(tuple),
        mask=st.sampled_from(_MASKS),
        partition=st.sampled_from(_PARTITIONS),
        sequence_number=st.integers(1, 6),
        age=st.integers(0, 6),
        size=st.integers(0, 2),
        offset=st.integers(0, 3),
        bounds=st.sampled_from((_exact, _exact, _exact, _uncounted, _silent)),
        is_imported=st.sampled_from((False, False, True)),
    )


def _mark_files() -> st.SearchStrategy[_Marks]:
    rows = st.frozensets(st.integers(0, 3))
    return st.builds(
        _Marks,
        targets=st.lists(st.tuples(st.integers(0, 9), rows), min_size=1, max_size=3).map(tuple),
        # Upside down: the root reaches all files of the partition.
        lineage=st.sampled_from((0, 0, 0, 1, 2, 3, 4)),
        is_elsewhere=st.sampled_from((False, False, False, True)),
        sequence_number=st.sampled_from((1, 2, 3, 4, 5, 6, 6, 6)),
    )


def _lake(
    data: Sequence[_Data], marks: Sequence[_Marks], optimized_sequence: dict[Partition, int]
) -> Lake:
    rows: dict[str, tuple[Row, ...]] = {}
    positions: dict[str, dict[str, frozenset[int]]] = {}
    files: dict[FileKind, list[TableFile]] = {kind: [] for kind in FileKind}
    for number, chosen in enumerate(data):
        files[chosen.kind].append(_file(chosen, number, rows))
    base = files[FileKind.BASE]
    for number, mark in enumerate(marks if base else ()):
        files[FileKind.POS_DELETE].append(_position_delete(mark, base, number, positions))
    return Lake(
        base=tuple(base),
        position_deletes=tuple(files[FileKind.POS_DELETE]),
        change=(*files[FileKind.INSERT], *files[FileKind.CHANGE_DELETE]),
        snapshot=TableSnapshot(
            base_snapshot_id=1,
            change_snapshot_id=2,
            change_sequence_number=12,
            optimized_sequence=optimized_sequence,
        ),
        rows=rows,
        positions=positions,
    )


def _file(chosen: _Data, number: int, rows: dict[str, tuple[Row, ...]]) -> TableFile:
    """Make a file of a node at some depth, with those keys that belong there."""
    kind, mask = chosen.kind, chosen.mask
    node = TreeNode(mask, _hash(chosen.keys[0]) & mask)
    keys = [key for key in chosen.keys if _hash(key) & mask == node.index]
    # Spark's Java writer takes the transaction id before the data is committed.
    is_base = kind is FileKind.BASE
    age = min(chosen.age, chosen.sequence_number if is_base else 2)
    prefix = "part-" if chosen.is_imported else f"{node.node_id}-"
    path = f"w/{prefix}{kind.value}-0-00000-0-0-{number:05d}.parquet"
    rows[path] = tuple(Row(key=key, offset=chosen.offset + place) for place, key in enumerate(keys))
    sizes = (1, 5, 5) if kind is FileKind.CHANGE_DELETE else (20, 100, 500)
    file = table_file(
        path,
        kind,
        sizes[chosen.size],
        rows=len(keys),
        node=node,
        partition=chosen.partition,
        transaction=max(chosen.sequence_number - age, 0 if is_base else 1),
        sequence=chosen.sequence_number,
    )
    return replace(file, bounds=chosen.bounds(keys))


@cache
def _hash(key: tuple[Value, ...]) -> int:
    return hash_key(key, KEY_TYPES)


def _exact(keys: Sequence[tuple[Value, ...]]) -> dict[int, ColumnBounds]:
    bounds = {}
    for field_id, column in zip(KEY_IDS, zip(*keys, strict=True), strict=True):
        known: list[Any] = [value for value in column if value is not None]
        bounds[field_id] = ColumnBounds(
            lower=min(known, default=None),
            upper=max(known, default=None),
            null_count=column.count(None),
        )
    return bounds


def _uncounted(keys: Sequence[tuple[Value, ...]]) -> dict[int, ColumnBounds]:
    return {key: replace(bounds, null_count=None) for key, bounds in _exact(keys).items()}


def _silent(keys: Sequence[tuple[Value, ...]]) -> dict[int, ColumnBounds]:
    return {NAME: _exact(keys)[NAME]}


def _position_delete(
    mark: _Marks,
    base: Sequence[TableFile],
    number: int,
    positions: dict[str, dict[str, frozenset[int]]],
) -> TableFile:
    """Make a position delete, some of whose rows may be out of its reach."""
    path = f"w/PD-{number}.parquet"
    first = base[mark.targets[0][0] % len(base)]
    near = [file for file in base if file.partition == first.partition]
    targets = [(first, mark.targets[0][1])]
    targets += [(near[place % len(near)], chosen) for place, chosen in mark.targets[1:]]
    positions[path] = {file.path: chosen for file, chosen in targets}
    lineage = [*reversed(first.node.lineage_ids()), first.node.children()[0].node_id]
    return table_file(
        path,
        FileKind.POS_DELETE,
        1,
        rows=4,
        node=TreeNode.from_id(lineage[mark.lineage % len(lineage)]),
        partition=("eu",) if mark.is_elsewhere else first.partition,
        transaction=0,
        sequence=mark.sequence_number,
        referenced_path=first.path if len(positions[path]) == 1 else None,
    )
