"""Equality deletes of an Iceberg table, listed, and replaced by positions in one commit.

Rules:
    - An equality delete touches data files of its partition with a lower sequence number; of a
      table without partitions, all of them.
    - It may go once its dead rows are named in every data file that it can touch. Data files that
      came meanwhile with a sequence number below the newest one of those that go could be touched
      too: then the repair is worked out anew.
    - A data file has one deletion vector. Where somebody gave one meanwhile to a file that gets one
      here, the repair is worked out anew too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestEntry
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation

from arctic.errors import ConflictError, FormatError, UnsupportedError
from arctic.iceberg.adoption.plain_table import open_keyless
from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.catalogs.pair import store_of
from arctic.iceberg.catalogs.refresh import newest
from arctic.iceberg.commits.asking.staged_snapshot import SnapshotPlan, StagedSnapshot
from arctic.iceberg.commits.commit_loop import commit_snapshot
from arctic.iceberg.commits.staging import staged_on
from arctic.iceberg.metadata.data_files import data_files
from arctic.iceberg.metadata.entries import entries_of, live_manifests, partition_of
from arctic.iceberg.metadata.version_three import BlobPlace, vector_place, vector_target
from arctic.iceberg.snapshots.list_files import check_specs
from arctic.iceberg.tables.open_table import OpenTable
from arctic.table.files import FileKind, TableFile, WrittenFile
from arctic.table.property_names import PUBLISHED_OF
from arctic.tree.node import ROOT

_WITH_VECTORS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualityDelete:
    """A file of keys whose rows are dead in older data files."""

    file: TableFile
    field_ids: tuple[int, ...]
    """The columns that a row must agree in, ascending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownVector:
    """A deletion vector that a data file has."""

    path: str
    """Of the Puffin file, which vectors of other data files may lie in too."""
    place: BlobPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairable:
    """What a repair is worked out on."""

    data: tuple[TableFile, ...]
    deletes: tuple[EqualityDelete, ...]
    vectors: Mapping[str, KnownVector]
    """By the path of the data file; of format version 3 alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """What takes the place of equality deletes."""

    masks: tuple[WrittenFile, ...] = ()
    """Position deletes, in format version 2."""
    vectors: tuple[DataFile, ...] = ()
    """Deletion vectors, in format version 3."""
    replaced: frozenset[str] = frozenset()
    """Puffin files whose vectors are all among the new ones."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Every file that is new."""
        return (*(file.path for file in self.masks), *(file.file_path for file in self.vectors))

    @property
    def rows(self) -> int:
        """How many rows they name."""
        masked = sum(file.record_count for file in self.masks)
        return masked + sum(file.record_count for file in self.vectors)


def open_any(config: CatalogConfig, identifier: str) -> OpenTable:
    """Open an Iceberg table, whosever it is, as a table without a key.

    Raises:
        NotFoundError: no such table.
        UnsupportedError: another format version, several partition specs, or a table that equality
            deletes mean something else in.
    """
    return open_keyless(config, identifier, check=_check_whole, versions=(2, 3))


def _check_whole(store: Table, subject: str) -> None:
    if store_of(store.properties) == "change" or PUBLISHED_OF in store.properties:
        raise UnsupportedError(
            f"{subject} is part of another table, which repairs nothing in it; name that table"
        )


def equality_deletes(opened: OpenTable) -> Repairable:
    """List the equality deletes of a table, and its data files.

    Raises:
        UnsupportedError: files that are not Parquet, or position deletes of version 2 in a table of
            version 3.
        StorageError: a manifest cannot be read.
    """
    store = opened.base
    has_vectors = store.metadata.format_version == _WITH_VECTORS
    manifests = live_manifests(store, store.current_snapshot())
    check_specs(store, manifests)
    width = len(store.spec().fields)
    data: list[TableFile] = []
    deletes: list[EqualityDelete] = []
    vectors: dict[str, KnownVector] = {}
    for _, entries in entries_of(store.io, manifests):
        for entry in entries:
            file = entry.data_file
            if file.content == DataFileContent.DATA:
                data.append(_table_file(entry, width))
            elif file.content == DataFileContent.EQUALITY_DELETES:
                if not file.equality_ids:
                    raise FormatError(f"equality deletes {file.file_path!r}: they name no column")
                deletes.append(
                    EqualityDelete(
                        file=_table_file(entry, width), field_ids=tuple(sorted(file.equality_ids))
                    )
                )
            elif has_vectors:
                target, vector = _vector(file)
                vectors[target] = vector
    return Repairable(data=tuple(data), deletes=tuple(deletes), vectors=vectors)


def commit_repair(opened: OpenTable, found: Repairable, repair: Repair) -> int | None:
    """Replace equality deletes by what names the same rows by their places; return the snapshot.

    Raises:
        ConflictError: others committed data files that they could touch; nothing was committed.
        CommitStateUnknownError: the catalog did not answer.
        StorageError: the catalog or a file cannot be reached; nothing was committed.
    """
    added = data_files(
        repair.masks,
        opened.table,
        spec_id=opened.base.spec().spec_id,
        kinds=(FileKind.POS_DELETE,),
    )
    what = SnapshotPlan(
        operation=Operation.REPLACE,
        added=(*added, *repair.vectors),
        removed_paths=repair.replaced.union(each.file.path for each in found.deletes),
    )
    known = frozenset(file.path for file in found.data)
    marked = frozenset(filter(None, map(vector_target, repair.vectors)))
    last_delete = max(each.file.sequence_number for each in found.deletes)
    planned_at = opened.base.metadata.current_snapshot_id

    def stage(head: Table, snapshot_id: int) -> StagedSnapshot:
        if head.metadata.current_snapshot_id != planned_at:
            _check_new(head, known, last_delete)
            _check_vectors(head, found, marked)
        return staged_on(head, what, snapshot_id)

    committed = commit_snapshot(newest(opened.base), stage)
    return None if committed is None else committed.snapshot_id


def _check_new(head: Table, known: frozenset[str], newest: int) -> None:
    for _, entries in entries_of(head.io, live_manifests(head, head.current_snapshot())):
        for entry in entries:
            file = entry.data_file
            is_new = file.content == DataFileContent.DATA and file.file_path not in known
            if is_new and (entry.sequence_number or 0) < newest:
                raise ConflictError(
                    f"table {'.'.join(head.name())!r}: file {file.file_path!r} was written "
                    "meanwhile, and deletes that are to go may touch it; repair again"
                )


def _check_vectors(head: Table, found: Repairable, marked: Collection[str]) -> None:
    """Refuse a head that has other vectors of the files that get new ones."""
    for _, entries in entries_of(head.io, live_manifests(head, head.current_snapshot())):
        for entry in entries:
            target = vector_target(entry.data_file)
            if target is None or target not in marked:
                continue
            known = found.vectors.get(target)
            if known is None or known.path != entry.data_file.file_path:
                raise ConflictError(
                    f"table {'.'.join(head.name())!r}: rows of file {target!r} were deleted "
                    "meanwhile; repair again"
                )


def _vector(file: DataFile) -> tuple[str, KnownVector]:
    """Return a deletion vector, and the data file that it is of."""
    target, place = vector_target(file), vector_place(file)
    if target is None or place is None:
        raise UnsupportedError(
            f"file {file.file_path!r}: position deletes of format version 2 in a table of version "
            "3, beside which a data file may have no vector; rewrite them first, as by "
            "rewrite_position_delete_files in Spark"
        )
    return target, KnownVector(path=file.file_path, place=place)


def _table_file(entry: ManifestEntry, width: int) -> TableFile:
    file: DataFile = entry.data_file
    if file.file_format != FileFormat.PARQUET:
        raise UnsupportedError(
            f"file {file.file_path!r}: its format ({file.file_format}) cannot be read; expected "
            "Parquet"
        )
    return TableFile(
        path=file.file_path,
        kind=FileKind.BASE,
        node=ROOT,
        partition=partition_of(file.partition, width),
        transaction_id=0,
        sequence_number=entry.sequence_number or 0,
        size_bytes=file.file_size_in_bytes,
        record_count=file.record_count,
    )
