"""What a published table shows now: its data files, the delete file of each, and of which state.

Rules:
    - What others committed to it is not known to be anything: then nothing of it is built upon.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from hashlib import blake2b

from pyiceberg.manifest import DATA_FILE_TYPE, DataFile, DataFileContent
from pyiceberg.table import Table

from arctic.errors import InternalError
from arctic.iceberg.metadata.entries import entries_of, live_manifests, snapshot_of
from arctic.iceberg.metadata.version_three import BlobPlace, vector_place
from arctic.iceberg.tables.open_table import OpenTable
from arctic.table.property_names import PUBLISHED_BASE, PUBLISHED_CHANGE
from arctic.table.row_positions import DELETED_PATH_ID
from arctic.table.snapshot import TableSnapshot

NO_SNAPSHOT = "none"
"""Stands for the snapshot of a store that had none."""
_SORT_ORDER = [field.name for field in DATA_FILE_TYPE[2].fields].index("sort_order_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mask:
    """A delete file of one data file."""

    path: str
    size_bytes: int
    record_count: int
    vector: BlobPlace | None = None
    """Where in it a deletion vector lies; None: it is a file of positions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFile:
    """How a data file of the pair is shown: as it is, with a mask, or by a copy."""

    paths: frozenset[str]
    """Of the files of the published table that show it."""
    rows: int
    """Rows that are shown."""
    mask: Mask | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The newest snapshot of a published table."""

    snapshot_id: int | None
    paths: frozenset[str]
    """Every live file, data and deletes."""
    data: frozenset[str]
    """Data files alone."""
    files: Mapping[str | int, ShownFile]
    """By the path of the pair's data file, or what names a copy of it."""
    state: tuple[int | None, int | None] | None
    """Ids of the base and the change snapshot that it shows; None: nobody can tell."""

    def of(self, path: str) -> ShownFile | None:
        """Return how a data file of the pair is shown; None: no row of it is."""
        return self.files.get(path) or self.files.get(copy_number(path))


NOTHING_SHOWN = Shown(snapshot_id=None, paths=frozenset(), data=frozenset(), files={}, state=None)
"""Of a table that is yet to be made."""


def copy_number(path: str) -> int:
    """Return the number in the name of a copy that says which data file it is of.

    >>> copy_number("a") == copy_number("a") != copy_number("b")
    True
    """
    return int.from_bytes(blake2b(path.encode(), digest_size=8).digest(), "big") >> 1


def shown_files(published: Table) -> Shown:
    """List a published table.

    Raises:
        StorageError: a manifest cannot be read.
    """
    snapshot, state = published.current_snapshot(), shown_state(published)
    rows: dict[str, int] = {}
    masks: dict[str, Mask] = {}
    others: set[str] = set()
    for _, entries in entries_of(published.io, live_manifests(published, snapshot)):
        for entry in entries:
            file = entry.data_file
            if file.content == DataFileContent.DATA:
                rows[file.file_path] = file.record_count
                continue
            target = masked_path(file)
            if target is None or target in masks:
                state = None  # not as we publish
                others.add(file.file_path)
                continue
            masks[target] = Mask(
                path=file.file_path,
                size_bytes=file.file_size_in_bytes,
                record_count=file.record_count,
                vector=vector_place(file),
            )
    if not masks.keys() <= rows.keys():
        state = None
    own = f"{published.location().rstrip('/')}/data/"
    return Shown(
        snapshot_id=None if snapshot is None else snapshot.snapshot_id,
        paths=frozenset({*rows, *others, *(mask.path for mask in masks.values())}),
        data=frozenset(rows),
        files={
            (_copied(path) if path.startswith(own) else path): _shown(path, count, masks.get(path))
            for path, count in rows.items()
        },
        state=state,
    )


def shown_state(published: Table) -> tuple[int | None, int | None] | None:
    """Return the ids of the base and the change snapshot that are shown; None: nobody can tell."""
    snapshot = published.current_snapshot()
    if snapshot is None or snapshot.summary is None:
        return None
    summary = snapshot.summary.additional_properties
    return _state(summary.get(PUBLISHED_BASE), summary.get(PUBLISHED_CHANGE))


def commits_since(opened: OpenTable, published: Table) -> int | None:
    """Count the snapshots of a pair that are newer than what is shown; None: nobody can tell."""
    state, count = shown_state(published), 0
    if state is None:
        return None
    for store, shown in zip((opened.base, opened.change), state, strict=True):
        snapshots = [] if store is None else store.metadata.snapshots
        numbers = {each.snapshot_id: each.sequence_number or 0 for each in snapshots}
        if shown is not None and shown not in numbers:
            return None
        last = -1 if shown is None else numbers[shown]
        count += sum(number > last for number in numbers.values())
    return count


def stored_files(
    opened: OpenTable, state: TableSnapshot, paths: Collection[str], published: Table
) -> tuple[DataFile, ...]:
    """Return data files of the pair as a published table takes them over, metrics and all.

    Args:
        opened: the pair.
        state: which its files are of.
        paths: of the files.
        published: has one partition spec, with the same fields, and the sort orders of its making.

    Raises:
        NotFoundError: the state has expired.
        StorageError: a manifest cannot be read.
    """
    wanted, found = set(paths), {}
    declared = opened.base.metadata.sort_orders
    orders = {each.order_id for each in published.metadata.sort_orders if each in declared}
    stores = ((opened.base, state.base_snapshot_id), (opened.change, state.change_snapshot_id))
    for store, snapshot_id in stores:
        if store is None or not wanted:
            continue
        manifests = live_manifests(store, snapshot_of(store, snapshot_id))
        for _, entries in entries_of(store.io, manifests):
            for entry in entries:
                path = entry.data_file.file_path
                if path in wanted:
                    found[path] = _taken_over(entry.data_file, orders)
                    found[path].spec_id = published.spec().spec_id
    missing = sorted(wanted - found.keys())
    if missing:
        raise InternalError(f"file {missing[0]!r} is planned, but in no manifest of its state")
    return tuple(found[path] for path in sorted(found))


def _taken_over(file: DataFile, orders: Collection[int]) -> DataFile:
    """Return a copy of a file that says of its sort order only what its table knows of."""
    values = [file[place] for place in range(len(file))]  # entries are shared
    if values[_SORT_ORDER] not in orders:
        values[_SORT_ORDER] = None
    return DataFile(*values)


def _shown(path: str, rows: int, mask: Mask | None) -> ShownFile:
    if mask is None:
        return ShownFile(paths=frozenset({path}), rows=rows)
    return ShownFile(paths=frozenset({path, mask.path}), rows=rows - mask.record_count, mask=mask)


def _copied(path: str) -> str | int:
    """Return the number of the data file that a copy is of; the path if it is none of ours."""
    parts = path.rpartition("/")[2].split("-")
    return int(parts[5]) if len(parts) > 6 and parts[5].isdecimal() else path


def masked_path(file: DataFile) -> str | None:
    """Return the data file that a delete file is of; None: of several, or it is none of ours."""
    if file.content != DataFileContent.POSITION_DELETES:
        return None
    lower = (file.lower_bounds or {}).get(DELETED_PATH_ID)
    upper = (file.upper_bounds or {}).get(DELETED_PATH_ID)
    return lower.decode() if lower is not None and lower == upper else None


def _state(base: str | None, change: str | None) -> tuple[int | None, int | None] | None:
    if base is None or change is None:
        return None
    return _id(base), _id(change)


def _id(text: str) -> int | None:
    return None if text == NO_SNAPSHOT else int(text)
