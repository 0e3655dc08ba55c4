"""Where rows go: the partition and tree node of each, then one group of rows for each pair.

Must not know: files, actions, offsets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from arctic.table.files import Partition
from arctic.table.node_trees import read_tree
from arctic.tree.hash_arrays import hash_arrays
from arctic.tree.node import ROOT, TreeNode
from arctic.tree.node_of_keys import node_ids
from arctic.tree.node_tree import MAX_TREE_DEPTH
from arctic.writing.target import WriteTarget

_BLOCK_ROWS = 1 << 16
"""Hashed at once: what is computed in between stays in the processor's cache."""

_FEW_DESTINATIONS = 32
"""Up to so many numbers, half of which are ids of no node, looking for the rows of each is faster
than sorting them all: measured on two million rows, 4 ms against 15 ms for four."""

DEEP_ROWS = 16_384
"""Changes for which a node is worth its files, below those that the table has anyway: deletes cost
some 50 ns for each key, once for every node of base that they reach, and a file a millisecond."""
BASE_ROWS = 65_536
"""Rows for which a base file of its own is worth it: some megabytes, joined by the next run."""
_DEEPEST = 64
"""Nodes for the rows of a task that are more than a chunk; each has two open files."""

FEW_ROWS = 256
"""Changes for which a node is worth its files where there are many. A file of ten rows costs what
one of a thousand does, to write, to list and to read."""
_FEW_BYTES = 16 * 2**20
"""Arrow bytes beyond which rows are not few: a file of them is to be a fragment, which goes deeper
when more are joined with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Partitions:
    """The partition of each row of some table."""

    values: tuple[Partition, ...]
    """Distinct."""
    codes: np.ndarray
    """Which of them each row is in."""

    def take(self, rows: np.ndarray) -> Partitions:
        """Return the partitions of some rows, in the order of their numbers."""
        return Partitions(values=self.values, codes=self.codes[rows])


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The partition and node of each row of some table."""

    partitions: Partitions
    node_ids: np.ndarray
    """Of each row; no node is within another one of its partition."""

    def take(self, rows: np.ndarray) -> Places:
        """Return the places of some rows, in the order of their numbers."""
        return Places(partitions=self.partitions.take(rows), node_ids=self.node_ids[rows])


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The rows of one partition and node."""

    partition: Partition
    node: TreeNode
    rows: np.ndarray
    """Row numbers, at least one; ascending unless rows were sorted since."""


def hash_keys(rows: pa.RecordBatch | pa.Table, target: WriteTarget) -> np.ndarray:
    """Return the key hash of each row as int64; 0 for an unkeyed table."""
    if not target.key:
        return np.zeros(rows.num_rows, dtype=np.int64)
    keys = rows.select(list(target.key))
    blocks = (keys.slice(start, _BLOCK_ROWS) for start in range(0, rows.num_rows, _BLOCK_ROWS))
    hashes = [
        hash_arrays([_single_chunk(column) for column in block.columns], target.key_types)
        for block in blocks
    ]
    return np.concatenate([np.empty(0, dtype=np.int64), *hashes])


def find_partitions(rows: pa.RecordBatch | pa.Table, target: WriteTarget) -> Partitions:
    """Work out the partition of each row.

    Args:
        rows: with the partition source columns, by name, in the table's types.
        target: the table.
    """
    if not target.table.partition_fields:
        # One zero for all rows: an array of them would only cost memory.
        return Partitions(values=((),), codes=np.broadcast_to(np.int64(0), rows.num_rows))
    if not rows.num_rows:
        return Partitions(values=(), codes=np.zeros(0, dtype=np.int64))
    sources = rows.select(list(target.partition_sources))
    if isinstance(sources, pa.Table):
        (sources,) = sources.combine_chunks().to_batches()
    return number_partitions(target.partition_arrays(sources))


def number_partitions(arrays: Sequence[pa.Array]) -> Partitions:
    """Number the distinct partitions of rows.

    Args:
        arrays: the values of each partition field, in spec order; equally long, not empty.
    """
    fields = [_encode(array) for array in arrays]
    codes = np.zeros(len(arrays[0]), dtype=np.int64)
    for numbers, values in fields:
        codes = codes * max(len(values), 1) + numbers
        if len(fields) > 1:
            # Dense again after each field, or the product of many fields would overflow.
            codes = np.unique(codes, return_inverse=True)[1]
    example = np.zeros(int(codes.max()) + 1, dtype=np.int64)
    example[codes] = np.arange(len(codes))
    columns = [[values[number] for number in numbers[example]] for numbers, values in fields]
    return Partitions(values=tuple(zip(*columns, strict=True)), codes=codes)


def few_joined(target: WriteTarget, rows: pa.Table) -> WriteTarget:
    """Return a target whose files go to fewer nodes, where so few rows are the whole write.

    Deletes of such a node reach all nodes below it, and until it is merged one task merges all of
    them: that is for tables that are small.
    """
    options = target.options
    if not options.few_rows or options.deep_masks or rows.nbytes > _FEW_BYTES:
        return target
    mask = (1 << max(0, (rows.num_rows // options.few_rows).bit_length() - 1)) - 1
    base_mask = min(options.base_mask, mask) if options.grows else options.base_mask
    change_mask = min(options.change_mask, mask)
    return replace(target, options=replace(options, base_mask=base_mask, change_mask=change_mask))


def deepened(target: WriteTarget, rows: int, *, is_all: bool) -> WriteTarget:
    """Return a target whose changes go to as many nodes as they are worth, of those of the trees.

    Args:
        target: the table.
        rows: that are there to be written.
        is_all: whether they are all that the task has.
    """
    if target.keys_move:
        # Deletes of a key that moved know the least nodes only, and go where its insert goes.
        return target
    nodes = max(1, rows // DEEP_ROWS) if is_all else _DEEPEST
    return _down_to(target, nodes)


def base_deepened(target: WriteTarget, rows: int, *, is_all: bool) -> WriteTarget:
    """Return a target whose base files go to as many nodes of the trees as they are worth.

    Args:
        target: the table.
        rows: that are there to be written.
        is_all: whether they are all that the task has; if not, they are thought to fill the trees.
    """
    nodes = max(1, rows // BASE_ROWS) if is_all else 1 << MAX_TREE_DEPTH
    return _down_to(target, nodes)


def _down_to(target: WriteTarget, nodes: int) -> WriteTarget:
    options = target.options
    mask = (1 << (nodes.bit_length() - 1)) - 1 if options.trees else 0
    return replace(target, options=replace(options, tree_mask=mask))


def change_places(partitions: Partitions, hashes: np.ndarray, target: WriteTarget) -> Places:
    """Return where changes go.

    Args:
        partitions: of each row.
        hashes: of the key of each row.
        target: the table.
    """
    return _tree_places(partitions, hashes, target, target.options.change_mask)


def base_places(partitions: Partitions, hashes: np.ndarray, target: WriteTarget) -> Places:
    """Return where rows of base files go; arguments as those of ``change_places``."""
    return _tree_places(partitions, hashes, target, target.options.base_mask if target.key else 0)


def _tree_places(
    partitions: Partitions, hashes: np.ndarray, target: WriteTarget, mask: int
) -> Places:
    options = target.options
    deep = options.deep_masks
    numbers = nodes_under(mask, hashes)
    for code, value in enumerate(partitions.values if deep or options.tree_mask else ()):
        path = target.partition_path(value)
        text = options.trees.get(path)
        if path not in deep and text is None:
            continue
        rows = np.flatnonzero(partitions.codes == code)
        of_rows = nodes_under(deep.get(path, mask), hashes[rows])
        if text is not None:
            wanted = read_tree(text).under(ROOT, options.tree_mask)
            # The deeper of both: its id is the greater one.
            of_rows = np.maximum(of_rows, node_ids(hashes[rows], wanted))
        numbers[rows] = of_rows
    return Places(partitions=partitions, node_ids=numbers)


def nodes_under(mask: int, hashes: np.ndarray) -> np.ndarray:
    """Return the id of the node of each key, all of one depth."""
    return (hashes & mask) + (mask + 1)


def join_partitions(parts: Sequence[Partitions]) -> Partitions:
    """Number the partitions of several tables' rows as if the tables stood one after another."""
    numbers: dict[Partition, int] = {}
    codes = [np.empty(0, dtype=np.int64)]
    for part in parts:
        common = [numbers.setdefault(value, len(numbers)) for value in part.values]
        codes.append(np.array(common, dtype=np.int64)[part.codes])
    return Partitions(values=tuple(numbers), codes=np.concatenate(codes))


def group_rows(places: Places) -> list[Group]:
    """Return the rows of each partition and node: partitions as numbered, nodes ascending."""
    partitions = places.partitions
    if not len(partitions.codes):
        return []
    destinations = places.node_ids
    id_count = int(destinations.max()) + 1
    if len(partitions.values) > 1:
        destinations = partitions.codes * id_count + destinations
    return [
        Group(
            partition=partitions.values[destination // id_count],
            node=TreeNode.from_id(destination % id_count),
            rows=rows,
        )
        for destination, rows in rows_of_each(destinations)
    ]


def rows_of_each(numbers: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield each distinct number, ascending, with the rows that have it, ascending.

    Args:
        numbers: one for each row, at least one, none negative.
    """
    greatest = int(numbers.max())
    if greatest < _FEW_DESTINATIONS:
        narrow = numbers.astype(np.uint8)
        for number in np.flatnonzero(np.bincount(narrow)).tolist():
            yield number, np.flatnonzero(narrow == number)
        return
    # Sixteen bits are sorted by radix: a fifth of the time, and there are seldom more.
    narrow = numbers.astype(np.uint16) if greatest < 1 << 16 else numbers
    order = np.argsort(narrow, kind="stable")
    ordered = numbers[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    for start, end in zip(starts, [*starts[1:], len(ordered)], strict=True):
        yield int(ordered[start]), order[start:end]


def _encode(array: pa.Array) -> tuple[np.ndarray, list[object]]:
    array = _internal(_single_chunk(array))
    encoded = pc.dictionary_encode(array, null_encoding="encode")
    numbers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers, encoded.dictionary.to_pylist()


def _internal(array: pa.Array) -> pa.Array:
    # Partition tuples hold days and microseconds, whichever type a transform hands out.
    if pt.is_date32(array.type):
        return pc.cast(array, pa.int32())
    if pt.is_time64(array.type) or pt.is_timestamp(array.type):
        return pc.cast(array, pa.int64())
    return array


def _single_chunk(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    if not isinstance(array, pa.ChunkedArray):
        return array
    return array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()
