"""What commits did to rows: inserted, deleted, with the row as it was before.

Strategy: a row of the change store lives from its commit to that of the first later delete of its
key, as for every read. So the events of a range tell when each of its rows came and went, and of
the rows that were there before, only those are read whose keys the range deletes.

Rules:
    - A delete reaches the rows of its own partition alone, as everywhere in merge-on-read.
    - Rows that came and went within one commit were never seen. Between the ends of a range the
      same holds for those that came and went within it.
    - Where rows of one key go and come in one commit, or in the range, that is an update.
    - Of a range it is none where the row is the same as before.

Memory: the events of a task, and the rows of before that they replaced; where its change files
weigh more than ``HELD_BYTES``, those of one part of its keys at a time, which reads it again for
each part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from arctic.columns.integers.distinct import are_among, common
from arctic.columns.integers.integer_index import IntArray
from arctic.columns.key_codes import KeyIndex
from arctic.mor.batch import at_least_one, coalesce
from arctic.mor.changes.offset_merge import offset_windows
from arctic.mor.changes.told_rows import DELETE, INSERT, RowChangeShape, places, tell
from arctic.mor.changes.unchanged import unchanged_keys
from arctic.mor.filters.among import Among
from arctic.mor.key_parts import KeyPart, key_parts
from arctic.mor.read import read_group
from arctic.mor.request import FILE_OFFSET_FIELD, OpenFile, ReadRequest
from arctic.scan.changes.change_tasks import ChangeGroup, ChangeTask, ChangeUnit
from arctic.scan.task import NodeTaskGroup
from arctic.table.files import Partition

_NEVER = 0
"""In place of the commit of a row that nobody deleted; sequence numbers begin with 1."""


def read_row_changes(
    group: ChangeGroup, shape: RowChangeShape, request: ReadRequest, open_file: OpenFile
) -> Iterator[pa.RecordBatch]:
    """Yield what the commits of a range did to the rows of a group's keys.

    Args:
        group: its tasks begin with the rows of before, or of an unkeyed table with all rows.
        shape: what is wanted.
        request: columns of the table with the types they have now, the key and bounds.
        open_file: how a path is opened for reading.

    Raises:
        FormatError: a file that is corrupt, or lacks what it must have.
        StorageError: a file that is missing or cannot be fetched.
    """
    rows = (batch for task in group.tasks for batch in _task_rows(task, shape, request, open_file))
    yield from at_least_one(coalesce(rows, max_rows=request.batch_rows), shape.schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Came:
    """Rows of the range, in the order of their events, and the deletes between them."""

    batch: pa.RecordBatch
    is_delete: np.ndarray
    commits: IntArray
    keys: IntArray
    gone: IntArray
    """The commit that deleted each row; ``_NEVER``: none."""

    def seen(self, shape: RowChangeShape) -> np.ndarray:
        """Say which rows were there after their commit, or the range."""
        stays = self.gone == _NEVER if shape.is_net else self.gone != self.commits
        seen: np.ndarray = ~self.is_delete & stays
        return seen

    def lost(self, shape: RowChangeShape) -> np.ndarray:
        """Say which of those that were seen a later commit deleted."""
        lost: np.ndarray = self.seen(shape) & (self.gone != _NEVER)
        return lost


@dataclass(frozen=True, slots=True, kw_only=True)
class _Gone:
    """Rows of before that the range deletes."""

    batch: pa.RecordBatch
    keys: IntArray
    commits: IntArray


def _task_rows(
    task: ChangeTask, shape: RowChangeShape, request: ReadRequest, open_file: OpenFile
) -> Iterator[pa.RecordBatch]:
    if not task.units:
        yield from _appended(task, shape, request, open_file)
        return
    for part in key_parts(file for unit in task.units for file in (*unit.deletes, *unit.inserts)):
        events = _Events(task, request, open_file, part)
        came, gone = events.came(), list(events.gone())
        updates = _updated(came, gone, shape) if shape.tells_updates else None
        same = _unchanged(came, gone, shape, request.schema.names) if shape.is_net else None
        for old in gone:
            kept = None if same is None else ~are_among(old.keys, same)
            yield from tell(old.batch, old.keys, old.commits, DELETE, updates, shape, kept)
        for new in came:
            kept = new.seen(shape)
            if same is not None:
                kept &= ~are_among(new.keys, same)
            yield from tell(new.batch, new.keys, new.commits, INSERT, updates, shape, kept)
            yield from tell(new.batch, new.keys, new.gone, DELETE, updates, shape, new.lost(shape))


def _appended(
    task: ChangeTask, shape: RowChangeShape, request: ReadRequest, open_file: OpenFile
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a table without a key, whose files are those of its commits."""
    for node in task.beginning:
        for file in node.data:
            alone = NodeTaskGroup(tasks=(replace(node, data=(file,)),), cost_bytes=0)
            for batch in read_group(alone, request, open_file):
                commits = np.full(len(batch), file.file.sequence_number, np.int64)
                yield from tell(batch, commits, commits, INSERT, None, shape)


class _Events:
    """The events of a task's range, and what they did to rows."""

    def __init__(
        self, task: ChangeTask, request: ReadRequest, open_file: OpenFile, part: KeyPart
    ) -> None:
        fields = {field.name: field for field in (*request.schema, *request.key)}
        self._request = replace(request, schema=pa.schema(list(fields.values())))
        self._task, self._open_file = task, open_file
        self._partitions = sorted(
            {file.partition for unit in task.units for file in (*unit.deletes, *unit.inserts)},
            key=repr,
        )
        told = pa.schema([*self._request.schema, FILE_OFFSET_FIELD])
        plain = replace(self._request, schema=told, row_filter=None)
        nothing = np.empty(0, np.int64)  # A file may have no row.
        scattered, commits, deleted = [nothing], [nothing], [nothing.astype(bool)]

        def read() -> Iterator[pa.RecordBatch]:
            for place, partition in enumerate(self._partitions):
                for unit in _within(task, partition):
                    for batch, is_delete in _rows_of(unit, part, plain, open_file):
                        scattered.append(np.full(len(batch), place, np.int64))
                        commits.append(np.full(len(batch), unit.transaction_id, np.int64))
                        deleted.append(is_delete)
                        yield batch

        self._batches = list(coalesce(read(), max_rows=request.batch_rows))
        names = request.key.names
        keys = pa.Table.from_batches(
            [batch.select(names) for batch in self._batches], schema=request.key
        )
        self._key_table = keys
        self._index = KeyIndex(keys)
        self._keys = self._index.take_codes()
        self._place = np.concatenate(scattered)
        self._is_delete = np.concatenate(deleted)
        self._commits: IntArray = np.concatenate(commits)

    def came(self) -> list[_Came]:
        """Return the events, with what became of their rows."""
        gone, begun, found = self._deaths(), 0, []
        for batch in self._batches:
            part = slice(begun, begun + len(batch))
            begun += len(batch)
            found.append(
                _Came(
                    batch=batch,
                    is_delete=self._is_delete[part],
                    commits=self._commits[part],
                    keys=self._keys[part],
                    gone=gone[part],
                )
            )
        return found

    def gone(self) -> Iterator[_Gone]:
        """Yield the rows of before that are deleted, read from the partitions with deletes."""
        deletes = np.flatnonzero(self._is_delete)
        # The first of each partition and key, because that is what the row met.
        targets, first = np.unique(self._targets()[deletes], return_index=True)
        commits = self._commits[deletes[first]]
        deleted = set(self._place[deletes].tolist())
        if not deleted:
            return
        keys = self._key_table.filter(pa.array(self._is_delete))
        wanted = replace(self._request, among=Among(keys))
        for place, partition in enumerate(self._partitions):
            nodes = tuple(each for each in self._task.beginning if each.partition == partition)
            if place not in deleted or not nodes:
                continue
            group = NodeTaskGroup(tasks=nodes, cost_bytes=0)
            for batch in read_group(group, wanted, self._open_file):
                columns = [batch.column(name) for name in self._request.key.names]
                rows, keys = self._index.match(columns)
                met = keys * len(self._partitions) + place
                at = np.minimum(np.searchsorted(targets, met), len(targets) - 1)
                hits = np.flatnonzero(targets[at] == met)
                if len(hits):
                    taken = batch.take(pa.array(rows[hits]))
                    yield _Gone(batch=taken, keys=keys[hits], commits=commits[at[hits]])

    def _targets(self) -> IntArray:
        targets: IntArray = self._keys * len(self._partitions) + self._place
        return targets

    def _deaths(self) -> IntArray:
        """Return the commit of the first delete after each event that reaches its row."""
        targets = self._targets()
        order = np.argsort(targets, kind="stable")
        ahead = np.where(self._is_delete[order], np.arange(len(order)), len(order))
        ahead = np.minimum.accumulate(ahead[::-1])[::-1]
        met = np.flatnonzero(ahead < len(order))
        met = met[targets[order[met]] == targets[order[ahead[met]]]]
        gone = np.full(len(order), _NEVER, np.int64)
        gone[order[met]] = self._commits[order[ahead[met]]]
        return gone


def _within(task: ChangeTask, partition: Partition) -> list[ChangeUnit]:
    """Return the changes of a task in one partition, commit by commit."""
    units = [
        ChangeUnit(
            deletes=tuple(file for file in unit.deletes if file.partition == partition),
            inserts=tuple(file for file in unit.inserts if file.partition == partition),
        )
        for unit in task.units
    ]
    return [unit for unit in units if unit.deletes or unit.inserts]


def _rows_of(
    unit: ChangeUnit, part: KeyPart, request: ReadRequest, open_file: OpenFile
) -> Iterator[tuple[pa.RecordBatch, np.ndarray]]:
    """Yield the rows of a commit in the order of their events, and which of them are deletes.

    A delete that is told twice, at one offset, deletes no more than once.
    """
    for window in offset_windows(unit, request, open_file):
        for start in range(0, len(window.rows), request.batch_rows):
            piece = slice(start, start + request.batch_rows)
            batch = window.rows.slice(start, request.batch_rows)
            is_delete, mask = window.is_delete[piece], part.mask(batch, request)
            if mask is not None:
                batch, is_delete = batch.filter(pa.array(mask)), is_delete[mask]
            if len(batch):
                yield batch, is_delete


def _updated(came: Sequence[_Came], gone: Sequence[_Gone], shape: RowChangeShape) -> IntArray:
    """Return where rows go and come: keys, or pairs of key and commit, ascending."""
    went, came_in = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    went += [places(old.keys, old.commits, shape) for old in gone]
    for new in came:
        seen, lost = new.seen(shape), new.lost(shape)
        came_in.append(places(new.keys[seen], new.commits[seen], shape))
        went.append(places(new.keys[lost], new.gone[lost], shape))
    return common(np.concatenate(went), np.concatenate(came_in))


def _unchanged(
    came: Sequence[_Came], gone: Sequence[_Gone], shape: RowChangeShape, names: Sequence[str]
) -> IntArray | None:
    """Return the keys, ascending, whose row of before came back as it was; None: there are none."""
    if not gone:
        return None
    chosen = [(each, each.seen(shape)) for each in came]
    old = pa.Table.from_batches([each.batch.select(names) for each in gone])
    new = pa.Table.from_batches(
        [each.batch.select(names).filter(pa.array(seen)) for each, seen in chosen]
    )
    old_keys = np.concatenate([each.keys for each in gone])
    return unchanged_keys(old, old_keys, new, np.concatenate([each.keys[s] for each, s in chosen]))
