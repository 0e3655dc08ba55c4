"""The live files of a pinned snapshot, from the manifests of both stores.

Rules:
    - A partition that cannot match the filter is left out of both stores at once: its changes
      could only touch rows that are left out too. Nothing else is pruned here.
    - Bounds are decoded only for the columns that planning asks for.
    - What would be read wrongly is refused: equality deletes, deletion vectors, other file
      formats, other partition specs, delete files in the change store.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from pyiceberg.manifest import DataFileContent, FileFormat, ManifestFile
from pyiceberg.table import Table

from arctic.errors import FormatError, UnsupportedError
from arctic.iceberg.metadata.bounds import BoundsDecoder
from arctic.iceberg.metadata.entries import (
    entries_of,
    fetch_lists,
    first_path,
    is_delete_manifest,
    listed_files,
    live_count,
    live_manifests,
    snapshot_of,
)
from arctic.iceberg.metadata.gc_pause import collector_paused
from arctic.iceberg.metadata.manifest_decoder import ListedFile
from arctic.iceberg.snapshots.partition_filter import PartitionFilter
from arctic.iceberg.tables.open_table import OpenTable
from arctic.scan.store_files import StoreFiles
from arctic.scan.task import PruneCounts
from arctic.table.filename import (
    ParsedName,
    parse_base_name,
    parse_change_name,
    parse_position_delete_name,
)
from arctic.table.files import ColumnBounds, FileKind, Partition, TableFile
from arctic.table.filters.predicate import Predicate
from arctic.table.row_positions import DELETED_PATH_ID
from arctic.table.snapshot import TableSnapshot

MAX_FORMAT_VERSION = 2


def list_files(
    opened: OpenTable,
    snapshot: TableSnapshot,
    *,
    field_ids: Collection[int],
    row_filter: Predicate | None,
    with_merged: bool = True,
) -> StoreFiles:
    """List the live files of both stores.

    Args:
        opened: the table.
        snapshot: what ``pin`` returned for it.
        field_ids: the columns whose bounds planning compares.
        row_filter: prunes whole partitions.
        with_merged: whether change files that base already contains are listed too. They stay until
            they expire, and can be a hundred times as many as the others.

    Raises:
        UnsupportedError: content that would be read wrongly, naming the file.
        FormatError: a file name that contradicts its store.
        NotFoundError: a snapshot has expired since it was pinned.
        StorageError: a manifest cannot be read.
    """
    lister = _Lister(opened, field_ids, row_filter, past=None if with_merged else snapshot)
    change: list[TableFile] = []
    fetch_lists(
        (opened.base, snapshot.base_snapshot_id), (opened.change, snapshot.change_snapshot_id)
    )
    with collector_paused():
        base = lister.files(opened.base, snapshot.base_snapshot_id, _base_file)
        if opened.change is not None:
            change = lister.files(opened.change, snapshot.change_snapshot_id, _change_file)
    return StoreFiles(
        base=tuple([file for file in base if file.kind is not FileKind.POS_DELETE]),
        position_deletes=tuple([file for file in base if file.kind is FileKind.POS_DELETE]),
        change=tuple(change),
        pruned=lister.pruned,
    )


def list_added(
    opened: OpenTable,
    *,
    in_base: bool,
    snapshot_id: int,
    added_by: Collection[int],
    after_sequence: int,
    field_ids: Collection[int],
) -> tuple[TableFile, ...]:
    """List files that some snapshots have added to one of the stores.

    Args:
        opened: the table.
        in_base: to the base store; else to the change store, which the table has then.
        snapshot_id: the snapshot in which the files are looked up; they must be live there.
        added_by: the snapshots, all later than ``after_sequence``.
        after_sequence: manifests up to this sequence number, inclusive, are not opened.
        field_ids: the columns whose bounds are wanted.

    Raises:
        As ``list_files``.
    """
    table = opened.base if in_base or opened.change is None else opened.change
    manifests = live_manifests(table, snapshot_of(table, snapshot_id))
    newer = [each for each in manifests if each.sequence_number > after_sequence]
    with collector_paused():
        added = {
            str(entry.data_file.file_path)
            for _, entries in entries_of(table.io, newer)
            for entry in entries
            if entry.snapshot_id in added_by
        }
        lister = _Lister(opened, field_ids, None, only=added, after_sequence=after_sequence)
        convert = _base_file if table is opened.base else _change_file
        files = lister.files(table, snapshot_id, convert)
    return tuple([file for file in files if file.kind is not FileKind.POS_DELETE])


class _Lister:
    """What both stores of one listing share: the filter, the decoders, the counts."""

    def __init__(
        self,
        opened: OpenTable,
        field_ids: Collection[int],
        row_filter: Predicate | None,
        *,
        only: Collection[str] | None = None,
        after_sequence: int = 0,
        past: TableSnapshot | None = None,
    ) -> None:
        self.pruned = PruneCounts()
        self._only = only
        self._after_sequence = after_sequence
        self._past = past
        self._bounds = BoundsDecoder(opened.base.schema(), field_ids)
        self._filter = None if row_filter is None else PartitionFilter(opened.base, row_filter)

    def files(
        self,
        table: Table,
        snapshot_id: int | None,
        convert: Callable[[ListedFile, Partition, Mapping[int, ColumnBounds]], TableFile],
    ) -> list[TableFile]:
        """Return the files of one store, in manifest order."""
        _check_format(table)
        manifests = live_manifests(table, snapshot_of(table, snapshot_id))
        check_specs(table, manifests)
        wanted = [each for each in manifests if self._opens(each)]
        past, merged = self._past if convert is _change_file else None, 0
        if convert is _change_file:
            _check_no_deletes(table, wanted)
            if past is not None and table.spec().is_unpartitioned():
                newer = [each for each in wanted if each.sequence_number > past.merged_up_to(())]
                merged = sum(map(live_count, wanted)) - sum(map(live_count, newer))
                wanted = newer
        self.pruned += PruneCounts(manifests=len(manifests) - len(wanted))
        files = []
        by_partition = 0
        partitions: dict[Partition, Partition] = {}
        for _, listed in listed_files(table.io, wanted):
            for file in listed:
                if self._only is not None and file.path not in self._only:
                    continue
                partition = _shared(file.partition, partitions)
                if self._filter is not None and not self._filter.matches(partition):
                    by_partition += 1
                    continue
                if past is not None and _sequence_number(file) <= past.merged_up_to(partition):
                    merged += 1
                    continue
                _check_file(file)
                files.append(convert(file, partition, self._bounds.of(file)))
        self.pruned += PruneCounts(by_partition=by_partition, merged=merged)
        return files

    def _opens(self, manifest: ManifestFile) -> bool:
        if self._only is not None and manifest.sequence_number <= self._after_sequence:
            return False
        return self._filter is None or self._filter.opens(manifest)


def _shared(partition: Partition, known: dict[Partition, Partition]) -> Partition:
    """Return one tuple for all files of a partition: a million of them would be most of a plan."""
    shared = known.get(partition)
    if shared is None:
        shared = partition
        # As a number, -0.0 equals 0.0; as a partition it is another one.
        if not any(isinstance(value, float) for value in partition):
            known[partition] = partition
    return shared


def check_specs(table: Table, manifests: Collection[ManifestFile]) -> None:
    """Refuse files of another partition spec: their partitions are other tuples.

    Raises:
        UnsupportedError: naming one of them.
    """
    current = table.spec().spec_id
    for manifest in manifests:
        if manifest.partition_spec_id != current:
            raise UnsupportedError(
                f"file {first_path(table.io, manifest)!r}: it has partition spec "
                f"{manifest.partition_spec_id}, the table has {current}; rewrite it under the "
                "current spec"
            )


def _base_file(
    file: ListedFile, partition: Partition, bounds: Mapping[int, ColumnBounds]
) -> TableFile:
    if file.content is DataFileContent.DATA:
        name = parse_base_name(file.path)
        return _keyed_file(file, name, name.transaction_id, partition, bounds, None)
    name = parse_position_delete_name(file.path)
    lower = (file.lower_bounds or {}).get(DELETED_PATH_ID)
    upper = (file.upper_bounds or {}).get(DELETED_PATH_ID)
    path = lower.decode() if lower is not None and lower == upper else None
    return _keyed_file(file, name, name.transaction_id, partition, {}, path)


def _change_file(
    file: ListedFile, partition: Partition, bounds: Mapping[int, ColumnBounds]
) -> TableFile:
    name = parse_change_name(file.path)
    transaction_id = name.transaction_id or _sequence_number(file)
    return _keyed_file(file, name, transaction_id, partition, bounds, None)


def _keyed_file(
    file: ListedFile,
    name: ParsedName,
    transaction_id: int,
    partition: Partition,
    bounds: Mapping[int, ColumnBounds],
    referenced_path: str | None,
) -> TableFile:
    return TableFile(
        path=file.path,
        kind=name.kind,
        node=name.node,
        partition=partition,
        transaction_id=transaction_id,
        sequence_number=_sequence_number(file),
        size_bytes=file.size_bytes,
        record_count=file.record_count,
        bounds=bounds,
        referenced_path=referenced_path,
    )


def _sequence_number(file: ListedFile) -> int:
    if file.sequence_number is None:
        raise FormatError(f"file {file.path!r}: its manifest entry has no sequence")
    return file.sequence_number


def _check_format(table: Table) -> None:
    if table.format_version > MAX_FORMAT_VERSION:
        raise UnsupportedError(
            f"table {'.'.join(table.name())!r}: format version {table.format_version}; expected "
            f"at most {MAX_FORMAT_VERSION}"
        )


def _check_no_deletes(table: Table, manifests: Collection[ManifestFile]) -> None:
    for manifest in manifests:
        if is_delete_manifest(manifest):
            raise UnsupportedError(
                f"file {first_path(table.io, manifest)!r}: delete files in a change store are not "
                "understood; expected inserts and change deletes, both as data files"
            )


def _check_file(file: ListedFile) -> None:
    if file.content is DataFileContent.EQUALITY_DELETES:
        raise UnsupportedError(
            f"file {file.path!r}: equality deletes in a base store are not understood; "
            "arctic.repair, given the table, turns them into position deletes"
        )
    if file.file_format is not FileFormat.PARQUET:
        what = "deletion vectors" if file.file_format == FileFormat.PUFFIN else "its format"
        raise UnsupportedError(
            f"file {file.path!r}: {what} ({file.file_format.value}) cannot be read; "
            "expected Parquet"
        )
