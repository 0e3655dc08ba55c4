"""The live files of a pinned snapshot, from the manifests of both stores.

Rules:
    - A partition that cannot match the filter is left out of both stores at once: its changes
      could only touch rows that are left out too. Nothing else is pruned here.
    - Bounds are decoded only for the columns that planning asks for.
    - What would be read wrongly is refused: equality deletes, deletion vectors, other file
      formats, other partition specs, delete files in the change store.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from pyiceberg.conversions import from_bytes
from pyiceberg.expressions.visitors import (
    expression_evaluator,
    inclusive_projection,
    manifest_evaluator,
)
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestEntry, ManifestFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, PrimitiveType

from arctic.errors import FormatError, UnsupportedError
from arctic.iceberg.entries import (
    collector_paused,
    entries_of,
    is_delete_manifest,
    live_manifests,
    snapshot_of,
)
from arctic.iceberg.filters import to_expression
from arctic.iceberg.open_table import OpenTable
from arctic.scan.task import PruneCounts
from arctic.table.filename import (
    ParsedName,
    parse_base_name,
    parse_change_name,
    parse_position_delete_name,
)
from arctic.table.files import ColumnBounds, FileKind, KeyedFile, Partition, Value
from arctic.table.predicate import Predicate
from arctic.table.snapshot import TableSnapshot

DELETED_PATH_ID = 2147483546
"""Field id of ``file_path`` in position-delete files."""
FILE_OFFSET_ID = 2147482645
"""Field id of ``_file_offset``, which change files have beside the table's columns."""
MAX_FORMAT_VERSION = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreFiles:
    """The files of both stores that a read may need."""

    base: tuple[KeyedFile, ...]
    position_deletes: tuple[KeyedFile, ...]
    change: tuple[KeyedFile, ...]
    """Every live insert and change-delete file, merged ones too."""
    pruned: PruneCounts


def list_files(
    opened: OpenTable,
    snapshot: TableSnapshot,
    *,
    field_ids: Collection[int],
    row_filter: Predicate | None,
) -> StoreFiles:
    """List the live files of both stores.

    Args:
        opened: the table.
        snapshot: what ``pin`` returned for it.
        field_ids: the columns whose bounds planning compares.
        row_filter: prunes whole partitions.

    Raises:
        UnsupportedError: content that would be read wrongly, naming the file.
        FormatError: a file name that contradicts its store.
        NotFoundError: a snapshot has expired since it was pinned.
        StorageError: a manifest cannot be read.
    """
    lister = _Lister(opened, field_ids, row_filter)
    change: list[KeyedFile] = []
    with collector_paused():
        base = lister.files(opened.base, snapshot.base_snapshot_id, _base_file)
        if opened.change is not None:
            change = lister.files(opened.change, snapshot.change_snapshot_id, _change_file)
    return StoreFiles(
        base=tuple(file for file in base if not _is_position_delete(file)),
        position_deletes=tuple(file for file in base if _is_position_delete(file)),
        change=tuple(change),
        pruned=lister.pruned,
    )


class _Lister:
    """What both stores of one listing share: the filter, the decoders, the counts."""

    def __init__(
        self, opened: OpenTable, field_ids: Collection[int], row_filter: Predicate | None
    ) -> None:
        self.pruned = PruneCounts()
        self._decoders = _decoders(opened.base.schema(), field_ids)
        self._filter = None if row_filter is None else PartitionFilter(opened.base, row_filter)

    def files(
        self,
        table: Table,
        snapshot_id: int | None,
        convert: Callable[[ManifestEntry, Partition, Mapping[int, ColumnBounds]], KeyedFile],
    ) -> list[KeyedFile]:
        """Return the files of one store, in manifest order."""
        _check_format(table)
        manifests = live_manifests(table, snapshot_of(table, snapshot_id))
        check_specs(table, manifests)
        wanted = [each for each in manifests if self._filter is None or self._filter.opens(each)]
        self.pruned += PruneCounts(manifests=len(manifests) - len(wanted))
        if convert is _change_file:
            _check_no_deletes(table, wanted)
        files = []
        by_partition = 0
        width = len(table.spec().fields)
        for _, entries in entries_of(table.io, wanted):
            for entry in entries:
                partition = partition_of(entry.data_file.partition, width)
                if self._filter is not None and not self._filter.matches(partition):
                    by_partition += 1
                    continue
                _check_file(entry.data_file)
                files.append(convert(entry, partition, self._bounds(entry.data_file)))
        self.pruned += PruneCounts(by_partition=by_partition)
        return files

    def _bounds(self, file: DataFile) -> dict[int, ColumnBounds]:
        if not self._decoders:
            return {}
        lower, upper = _metrics(file.lower_bounds), _metrics(file.upper_bounds)
        nulls = _metrics(file.null_value_counts)
        bounds = {}
        for field_id, decode in self._decoders:
            least, greatest = lower.get(field_id), upper.get(field_id)
            null_count = nulls.get(field_id)
            if least is not None or greatest is not None or null_count is not None:
                bounds[field_id] = ColumnBounds(
                    lower=decode(least), upper=decode(greatest), null_count=null_count
                )
        return bounds


class PartitionFilter:
    """Says which partitions can hold a row that matches; each partition is judged once."""

    def __init__(self, table: Table, row_filter: Predicate) -> None:
        spec, schema = table.spec(), table.schema()
        projected = inclusive_projection(schema, spec, case_sensitive=True)(
            to_expression(row_filter)
        )
        partition_schema = Schema(*spec.partition_type(schema).fields)
        self._matches_record = expression_evaluator(partition_schema, projected, True)
        self._known: dict[Partition, bool] = {}
        self.opens: Callable[[ManifestFile], bool] = manifest_evaluator(
            spec, schema, projected, case_sensitive=True
        )

    def matches(self, partition: Partition) -> bool:
        """Say whether some row of the partition can match."""
        known = self._known.get(partition)
        if known is None:
            known = self._known[partition] = bool(self._matches_record(Record(*partition)))
        return known


def partition_of(record: Record, width: int) -> Partition:
    """Return the partition of a manifest entry as a plain tuple."""
    return tuple([record[position] for position in range(width)])


def check_specs(table: Table, manifests: Collection[ManifestFile]) -> None:
    """Refuse files of another partition spec: their partitions are other tuples.

    Raises:
        UnsupportedError: naming one of them.
    """
    current = table.spec().spec_id
    for manifest in manifests:
        if manifest.partition_spec_id != current:
            raise UnsupportedError(
                f"file {_first_path(table, manifest)!r}: it has partition spec "
                f"{manifest.partition_spec_id}, the table has {current}; rewrite it under the "
                "current spec"
            )


def _metrics(by_field_id: Any) -> Mapping[int, Any]:
    """Return a map of a manifest entry; asking whether a lazy one is empty would build it."""
    return {} if by_field_id is None else by_field_id


def _base_file(
    entry: ManifestEntry, partition: Partition, bounds: Mapping[int, ColumnBounds]
) -> KeyedFile:
    file = entry.data_file
    if file.content == DataFileContent.DATA:
        name = parse_base_name(file.file_path)
        return _keyed_file(entry, name, name.transaction_id, partition, bounds, None)
    name = parse_position_delete_name(file.file_path)
    lower = (file.lower_bounds or {}).get(DELETED_PATH_ID)
    upper = (file.upper_bounds or {}).get(DELETED_PATH_ID)
    path = lower.decode() if lower is not None and lower == upper else None
    return _keyed_file(entry, name, name.transaction_id, partition, {}, path)


def _change_file(
    entry: ManifestEntry, partition: Partition, bounds: Mapping[int, ColumnBounds]
) -> KeyedFile:
    name = parse_change_name(entry.data_file.file_path)
    transaction_id = name.transaction_id or _sequence_number(entry)
    return _keyed_file(entry, name, transaction_id, partition, bounds, None)


def _keyed_file(
    entry: ManifestEntry,
    name: ParsedName,
    transaction_id: int,
    partition: Partition,
    bounds: Mapping[int, ColumnBounds],
    referenced_path: str | None,
) -> KeyedFile:
    file = entry.data_file
    return KeyedFile(
        path=file.file_path,
        kind=name.kind,
        node=name.node,
        partition=partition,
        transaction_id=transaction_id,
        sequence_number=_sequence_number(entry),
        size_bytes=file.file_size_in_bytes,
        record_count=file.record_count,
        bounds=bounds,
        referenced_path=referenced_path,
    )


def _sequence_number(entry: ManifestEntry) -> int:
    if entry.sequence_number is None:
        raise FormatError(f"file {entry.data_file.file_path!r}: its manifest entry has no sequence")
    return entry.sequence_number


def _is_position_delete(file: KeyedFile) -> bool:
    return file.kind is FileKind.POS_DELETE


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
                f"file {_first_path(table, manifest)!r}: delete files in a change store are not "
                "understood; expected inserts and change deletes, both as data files"
            )


def _check_file(file: DataFile) -> None:
    if file.content == DataFileContent.EQUALITY_DELETES:
        raise UnsupportedError(
            f"file {file.file_path!r}: equality deletes in a base store are not understood"
        )
    if file.file_format != FileFormat.PARQUET:
        what = "deletion vectors" if file.file_format == FileFormat.PUFFIN else "its format"
        raise UnsupportedError(
            f"file {file.file_path!r}: {what} ({file.file_format.value}) cannot be read; "
            "expected Parquet"
        )


def _first_path(table: Table, manifest: ManifestFile) -> str:
    for _, entries in entries_of(table.io, [manifest]):
        for entry in entries:
            return str(entry.data_file.file_path)
    return manifest.manifest_path


def _decoders(
    schema: Schema, field_ids: Collection[int]
) -> tuple[tuple[int, Callable[[bytes | None], Value]], ...]:
    types: dict[int, Any] = {
        column.field_id: column.field_type
        for column in schema.columns
        if isinstance(column.field_type, PrimitiveType)
    }
    types[FILE_OFFSET_ID] = LongType()
    return tuple(
        (field_id, _decoder(types[field_id])) for field_id in sorted(field_ids) if field_id in types
    )


def _decoder(column_type: PrimitiveType) -> Callable[[bytes | None], Value]:
    convert: Callable[[Any, bytes], Any] = from_bytes.dispatch(type(column_type))

    def decode(encoded: bytes | None) -> Value:
        """Decode a bound; the type's own code reads bounds from before a promotion."""
        if encoded is None:
            return None
        try:
            value = convert(column_type, encoded)
        except UnicodeDecodeError:  # a text that was cut inside a character
            return None
        # Nothing compares with NaN, so as a bound it would prune everything.
        return None if isinstance(value, float) and math.isnan(value) else value

    return decode
