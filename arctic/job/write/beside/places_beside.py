"""Where rows without a key are by now that a command has read, whatever others did meanwhile.

Optimizing puts the same rows into other files. So the rows of a file that is gone are looked for
in the files that came: for each one is taken that is equal in every column. Rows that are equal
cannot be told apart, so it does not matter which of them is taken.

Rules:
    - What others have appended must be nothing that the command would have looked at, and is so
      none of its rows. Any other commit that is not known to keep all rows is a conflict.
    - Dead rows of a file stay dead while the file is there: positions in it are as they were.
    - A row that is not found again is a conflict.

Memory: the rows that the command takes away out of files that are gone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arctic.columns.integers.distinct import are_among
from arctic.errors import ConflictError, StorageError
from arctic.iceberg.commits.changed_meanwhile import CommitBeside, added_by, rows_since
from arctic.iceberg.snapshots.list_files import list_files
from arctic.iceberg.snapshots.pin import pin
from arctic.iceberg.storage.table_io import is_file_gone
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.read.some_files import rows_of_files
from arctic.job.write.beside.equal_rows import EqualRows
from arctic.job.write.beside.read_rows import ReadRows
from arctic.mor.request import PLACE_FIELDS
from arctic.scan.store_files import StoreFiles
from arctic.scan.task import PruneCounts
from arctic.table.files import TableFile
from arctic.table.filters.predicate import Predicate, may_match, tests_of
from arctic.table.row_positions import FILE, POSITION
from arctic.table.snapshot import TableSnapshot

Places = Mapping[str, npt.NDArray[np.int64]]
"""Ascending row numbers by the path of their data file."""

_MOST_ROWS = 1_000_000
"""Rows that are looked for again; a command that takes more away is done again."""


def places_now(
    opened: OpenTable,
    places: Places,
    *,
    schema: pa.Schema,
    before: TableSnapshot,
    read: ReadRows | None,
) -> tuple[TableSnapshot, Places]:
    """Return the newest state, and where rows that go are in it.

    Args:
        opened: the table, without a key, opened just now.
        places: where the rows were.
        schema: the columns of the table then.
        before: the state in which they were there.
        read: what has been looked at in it; None: perhaps any row.

    Raises:
        ConflictError: others have changed what was read, or nobody can tell.
        StorageError: a file cannot be read.
    """
    now = pin(opened)
    if not opened.arrow_schema.equals(schema, check_metadata=True):
        raise _conflict(opened, "its columns were changed")
    if now.base_snapshot_id == before.base_snapshot_id:
        return now, places
    try:
        for commit in rows_since(opened, before):
            _check_appended(opened, commit, read)
        predicate = None if read is None else read.predicate
        return now, _moved(opened, places, before, now, predicate)
    except StorageError as error:
        if not is_file_gone(error):
            raise
        raise _conflict(opened, f"files have expired ({error.message})") from error


def check_places(opened: OpenTable, *, since: TableSnapshot, read: ReadRows | None) -> None:
    """Refuse a table in which the places of a state do not hold any more.

    Args:
        opened: the table as it is now.
        since: the state.
        read: what the command has looked at; None: perhaps any row.

    Raises:
        ConflictError: others have done more than to append what it does not look at.
    """
    for commit in rows_since(opened, since, moves=True):
        _check_appended(opened, commit, read)


def added_check(*, since: TableSnapshot, read: ReadRows) -> Callable[[OpenTable], None]:
    """Return what refuses a table to which others have brought rows that a command looks at.

    Files that the command takes away are compared elsewhere. Each commit is looked at once.

    Args:
        since: the state that was read, of a table without a key.
        read: what has been looked at in it.
    """
    known: set[int] = set()

    def check(opened: OpenTable) -> None:
        for commit in rows_since(opened, since):
            if commit.snapshot_id not in known:
                _check_added(opened, commit, read)
                known.add(commit.snapshot_id)

    return check


def check_rows(opened: OpenTable, *, since: TableSnapshot) -> None:
    """Refuse a table without a key in which a row came or went, wherever rows lie.

    Args:
        opened: the table as it is now.
        since: the state that was read.

    Raises:
        ConflictError: others have done more than to put rows into other files.
    """
    for commit in rows_since(opened, since):
        _check_appended(opened, commit, None)


def _check_appended(opened: OpenTable, commit: CommitBeside, read: ReadRows | None) -> None:
    if not commit.is_append:
        raise _conflict(opened, f"{commit.name} removed or replaced rows")
    _check_added(opened, commit, read)


def _check_added(opened: OpenTable, commit: CommitBeside, read: ReadRows | None) -> None:
    if read is not None and read.sees is None:
        return
    tested = {test.field_id for test in tests_of(None if read is None else read.predicate)}
    files = added_by(opened, commit, field_ids=tested)
    if not files:
        return
    if read is None or read.sees is None:
        raise _conflict(opened, f"{commit.name} added rows that may have to be looked at")
    some = [each for each in files if may_match(read.predicate, each.bounds, each.record_count)]
    names = sorted(read.columns) or opened.arrow_schema.names[:1]
    columns = pa.schema([opened.arrow_schema.field(name) for name in names])
    own = StoreFiles(base=(), position_deletes=(), change=(), pruned=PruneCounts())
    state = TableSnapshot(
        base_snapshot_id=commit.snapshot_id, change_snapshot_id=None, change_sequence_number=0
    )
    for batch in rows_of_files(opened, state, own, some, schema=columns, row_filter=read.predicate):
        if read.sees(pa.Table.from_batches([batch])):
            raise _conflict(opened, f"{commit.name} added rows that this command looks at")


def _moved(
    opened: OpenTable,
    places: Places,
    before: TableSnapshot,
    now: TableSnapshot,
    row_filter: Predicate | None,
) -> Places:
    if not places:
        return places
    old = list_files(opened, before, field_ids=(), row_filter=None)
    new = list_files(opened, now, field_ids=(), row_filter=None)
    there = {file.path for file in new.base}
    stays = {path: rows for path, rows in places.items() if path in there}
    marks = {file.path for file in old.position_deletes}
    if any(file.path not in marks for file in new.position_deletes):
        _check_alive(opened, now, new, stays)
    gone = [file for file in old.base if file.path in places and file.path not in there]
    if not gone and len(stays) == len(places):
        return stays
    known = {file.path for file in old.base}
    if not places.keys() <= known:
        # They were read later than the state is. What is there still is known by its place, but
        # it must not be found a second time for a row of a file that is gone.
        raise _conflict(opened, "its rows were in two states of the table")
    if sum(len(places[file.path]) for file in gone) > _MOST_ROWS:
        raise _conflict(opened, f"{len(gone)} files of its rows were replaced")
    schema = pa.schema([*opened.arrow_schema, *PLACE_FIELDS])
    lost = [
        batch.filter(pa.array(_among(batch, places)))
        for batch in rows_of_files(opened, before, old, gone, schema=schema, row_filter=row_filter)
    ]
    wanted = EqualRows(pa.Table.from_batches(lost, schema=schema), opened.arrow_schema.names)
    if wanted.left != sum(len(places[file.path]) for file in gone):
        raise _conflict(opened, "its rows are not where they were read")
    came = [file for file in new.base if file.path not in known]
    found: dict[str, list[npt.NDArray[np.int64]]] = defaultdict(list)
    for batch in rows_of_files(opened, now, new, came, schema=schema, row_filter=row_filter):
        taken = batch.take(pa.array(wanted.take(batch)))
        for path, rows in _by_path(taken).items():
            found[path].append(rows)
        if not wanted.left:
            break
    if wanted.left:
        raise _conflict(opened, f"{wanted.left} of its rows are in no file that came")
    return {**stays, **{path: np.sort(np.concatenate(rows)) for path, rows in found.items()}}


def _check_alive(opened: OpenTable, now: TableSnapshot, listed: StoreFiles, places: Places) -> None:
    """Refuse where somebody has marked rows, or marked them anew, and some go by that."""
    files: Sequence[TableFile] = [file for file in listed.base if file.path in places]
    alive = 0
    for batch in rows_of_files(opened, now, listed, files, schema=pa.schema(PLACE_FIELDS)):
        alive += int(np.count_nonzero(_among(batch, places)))
    if alive != sum(len(rows) for rows in places.values()):
        raise _conflict(opened, "some of its rows were deleted")


def _among(batch: pa.RecordBatch, places: Places) -> npt.NDArray[np.bool_]:
    """Say for each row whether it is one of those."""
    found = np.zeros(batch.num_rows, dtype=bool)
    for path, rows in _places_of(batch):
        if path in places:
            found[rows] = are_among(_positions(batch)[rows], places[path])
    return found


def _by_path(batch: pa.RecordBatch) -> dict[str, npt.NDArray[np.int64]]:
    return {path: _positions(batch)[rows] for path, rows in _places_of(batch)}


def _places_of(batch: pa.RecordBatch) -> list[tuple[str, npt.NDArray[np.int64]]]:
    """Return the rows of a batch that each file has."""
    paths = batch.column(FILE).dictionary_encode()
    numbers = paths.indices.to_numpy(zero_copy_only=False)
    return [
        (path, np.flatnonzero(numbers == number))
        for number, path in enumerate(paths.dictionary.to_pylist())
    ]


def _positions(batch: pa.RecordBatch) -> npt.NDArray[np.int64]:
    positions: npt.NDArray[np.int64] = batch.column(POSITION).to_numpy(zero_copy_only=False)
    return positions


def _conflict(opened: OpenTable, why: str) -> ConflictError:
    return ConflictError(
        f"table {opened.table.name!r}: after the rows of this command were read, {why}"
    )
