"""The optimized sequence: up to where the changes of each partition are already in base.

Rules:
    - Every write holds the complete map, in one Puffin file that the snapshot's summary names.
    - Its statistics entry lists no blobs: PyIceberg up to 0.12 cannot load a table whose metadata
      names an unknown blob type, and the base store must stay loadable by everybody. Where Amoro
      has marked the table already, its readers need its marker and the list, so both are written.
    - Where Amoro has not, its readers need the legacy table property, with every partition: one
      that is missing looks unmerged to them, and its rows double. Where a catalog cannot hold a
      property of that size, Amoro's marker is written instead: better not loadable than wrong.
    - The newest snapshot of the lineage with our marker or Amoro's decides; without one, the
      legacy table property; without that, nothing is merged.

Source: amoro StatisticsFileUtil, MixedTableUtil, TablePropertyUtil @96a4d781a. Differs: the marker
and the empty blob list; the legacy property, which Amoro no longer writes, is kept up to date.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from uuid import uuid4

from pyiceberg.io import FileIO
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.puffin import PuffinFile
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.statistics import StatisticsFile
from zstandard import ZstdError

from arctic.errors import FormatError, UnsupportedError
from arctic.iceberg.metadata.history import lineage, reaches_beginning
from arctic.iceberg.metadata.optimized_state import OptimizedState
from arctic.iceberg.storage.puffin import puffin_file
from arctic.iceberg.translate import catalog_errors
from arctic.iceberg.values.partition_key import PartitionKeys
from arctic.table.files import Partition
from arctic.table.property_names import (
    FULL_OPTIMIZED_TIME,
    LEGACY_OPTIMIZED_SEQUENCE,
    MERGED_UP_TO,
    OPTIMIZED_SEQUENCE,
    SEQUENCE_WRITTEN_AT,
)

AMORO_MARKER = "optimized-sequence.exist"
"""In the summary of a snapshot whose statistics list the file: Amoro's own name, as the next."""
_AMORO_MARKERS = {AMORO_MARKER: "true", "base-optimized-time.exist": "true"}
_SEQUENCE_BLOB = "optimized-sequence"
_TIME_BLOB = "base-optimized-time"

TIMES_LIMIT = 1_000
"""Partitions up to which the legacy property tells times too: every open reads table metadata."""
_SEQUENCE = "max-txId"
_TIME = "base-op-time"


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedState:
    """What a base commit adds, so that the state and the data become visible together."""

    statistics: StatisticsFile
    summary: Mapping[str, str]
    properties: Mapping[str, str | None]
    """Table properties that change with it; None removes one."""


def read_state(
    metadata: TableMetadata, io: FileIO, snapshot_id: int | None, keys: PartitionKeys
) -> OptimizedState:
    """Return what is merged in a snapshot of the base store.

    Args:
        metadata: of the base store.
        io: opens the Puffin file.
        snapshot_id: the snapshot; None for a state in which the store had none.
        keys: how partitions of the table are written.

    Raises:
        FormatError: a marker without its file, or a file that is not what it should be.
        UnsupportedError: an old snapshot of which nothing is known any more.
        StorageError: the file cannot be read.
    """
    if snapshot_id is None and metadata.snapshots:
        return OptimizedState()
    start = metadata.snapshot_by_id(snapshot_id) if snapshot_id is not None else None
    ancestry = lineage(metadata, start)
    for snapshot in ancestry:
        path = _marked_path(snapshot, metadata)
        if path is not None:
            own_id = snapshot.snapshot_id if _marks(snapshot, OPTIMIZED_SEQUENCE) else None
            state = _read_puffin(io, path, keys, own_id)
            return replace(state, amoro_reads=_marks(snapshot, AMORO_MARKER))
    if not _has_marker(metadata) and not _is_before_properties(metadata, start):
        if OPTIMIZED_SEQUENCE in metadata.properties:
            return _read_puffin(io, metadata.properties[OPTIMIZED_SEQUENCE], keys, None)
        return _legacy_state(metadata.properties, keys)
    # The property was written with a marked snapshot that is not in this lineage: a later one, or
    # one that was rolled back.
    if reaches_beginning(metadata, ancestry):
        return OptimizedState()
    raise UnsupportedError(
        f"table {keys.table_name!r}: what is merged in base snapshot {snapshot_id} is not known "
        "any more, because the snapshots before it have expired; read a newer one"
    )


def _is_before_properties(metadata: TableMetadata, start: Snapshot | None) -> bool:
    """Say whether a snapshot is older than the one that the properties were written with."""
    written_at = int(metadata.properties.get(SEQUENCE_WRITTEN_AT, 0))
    return (0 if start is None else start.sequence_number or 0) < written_at


def tells_merged(snapshot: Snapshot) -> bool:
    """Say whether a snapshot carries a marker of the optimized sequence, ours or Amoro's."""
    return _marks(snapshot, OPTIMIZED_SEQUENCE) or _marks(snapshot, AMORO_MARKER)


def stage_state(
    state: OptimizedState,
    *,
    io: FileIO,
    location: str,
    snapshot_id: int,
    sequence_number: int,
    keys: PartitionKeys,
    property_bytes: int | None,
) -> StagedState:
    """Write the Puffin file of a new base snapshot.

    Args:
        state: the complete state; not empty.
        io: creates the file.
        location: of the base store.
        snapshot_id: the snapshot that will name the file.
        sequence_number: of that snapshot.
        keys: how partitions of the table are written.
        property_bytes: the longest property that the catalog takes; None: of any length.

    Raises:
        StorageError: the file cannot be written.
    """
    payloads = {
        _SEQUENCE_BLOB: _payload(state.sequence, keys),
        _TIME_BLOB: _payload(state.time_ms, keys),
    }
    if state.full_time_ms:
        payloads[FULL_OPTIMIZED_TIME] = _payload(state.full_time_ms, keys)
    puffin = puffin_file(payloads, snapshot_id=snapshot_id, sequence_number=sequence_number)
    path = f"{location.rstrip('/')}/data/puffin/{snapshot_id}-{uuid4()}.puffin"
    with (
        catalog_errors(f"write optimized sequence {path!r}"),
        io.new_output(path).create(overwrite=False) as stream,
    ):
        stream.write(puffin.content)
    legacy: str | None = _legacy_text(state, keys)
    if property_bytes is not None and len(legacy or "") > property_bytes:
        legacy = None
    for_amoro = state.amoro_reads or legacy is None
    return StagedState(
        statistics=StatisticsFile.model_validate(
            {
                "snapshot-id": snapshot_id,
                "statistics-path": path,
                "file-size-in-bytes": len(puffin.content),
                "file-footer-size-in-bytes": puffin.footer_bytes,
                "blob-metadata": puffin.blobs if for_amoro else [],
            }
        ),
        summary={
            OPTIMIZED_SEQUENCE: path,
            MERGED_UP_TO: str(max(state.sequence.values(), default=0)),
            **(_AMORO_MARKERS if for_amoro else {}),
        },
        # What is left to read by if somebody expires every marked snapshot.
        properties={
            LEGACY_OPTIMIZED_SEQUENCE: legacy,
            OPTIMIZED_SEQUENCE: path if legacy is None else None,
            SEQUENCE_WRITTEN_AT: str(sequence_number),
        },
    )


def _marked_path(snapshot: Snapshot, metadata: TableMetadata) -> str | None:
    if snapshot.summary is not None and _marks(snapshot, OPTIMIZED_SEQUENCE):
        return str(snapshot.summary[OPTIMIZED_SEQUENCE])
    if not _marks(snapshot, AMORO_MARKER):
        return None
    paths = [
        entry.statistics_path
        for entry in metadata.statistics
        if entry.snapshot_id == snapshot.snapshot_id
        and any(blob.type == _SEQUENCE_BLOB for blob in entry.blob_metadata)
    ]
    if len(paths) != 1:
        raise FormatError(
            f"base snapshot {snapshot.snapshot_id}: {AMORO_MARKER!r} is set, but {len(paths)} "
            f"statistics files hold {_SEQUENCE_BLOB!r}; expected 1"
        )
    return paths[0]


def _has_marker(metadata: TableMetadata) -> bool:
    return any(tells_merged(snapshot) for snapshot in metadata.snapshots)


def _marks(snapshot: Snapshot, marker: str) -> bool:
    return snapshot.summary is not None and snapshot.summary[marker] is not None


def _read_puffin(
    io: FileIO, path: str, keys: PartitionKeys, snapshot_id: int | None
) -> OptimizedState:
    """Read a file; a snapshot id tells it from another one of Arctic's."""
    with catalog_errors(f"read optimized sequence {path!r}"):
        with io.new_input(path).open() as stream:
            content = stream.read()
        try:
            puffin = PuffinFile(content)
            made_for = {blob.snapshot_id for blob in puffin.footer.blobs}
            if snapshot_id is not None and made_for != {snapshot_id}:
                raise ValueError(f"it was made for snapshots {made_for}, not for {snapshot_id}")
            blobs = {blob.type: puffin.get_blob_payload(blob) for blob in puffin.footer.blobs}
            if _SEQUENCE_BLOB not in blobs:
                raise ValueError(f"it holds {sorted(blobs)}, not {_SEQUENCE_BLOB!r}")
            return OptimizedState(
                sequence=_parsed(blobs[_SEQUENCE_BLOB], keys),
                time_ms=_parsed(blobs.get(_TIME_BLOB, b"{}"), keys),
                full_time_ms=_parsed(blobs.get(FULL_OPTIMIZED_TIME, b"{}"), keys),
            )
        except (ValueError, TypeError, AttributeError, ZstdError, FormatError) as error:
            raise FormatError(f"optimized sequence {path!r}: {error}") from error


def _payload(values: Mapping[Partition, int], keys: PartitionKeys) -> bytes:
    by_text = {keys.text(partition): value for partition, value in values.items()}
    return json.dumps(by_text, sort_keys=True, separators=(",", ":")).encode()


def _parsed(payload: bytes, keys: PartitionKeys) -> Mapping[Partition, int]:
    return {keys.partition(text): int(value) for text, value in json.loads(payload).items()}


def _legacy_text(state: OptimizedState, keys: PartitionKeys) -> str:
    """Return the value of the property: every partition, and times where they are few."""
    entries = {}
    with_times = len(state.sequence) <= TIMES_LIMIT
    for partition, sequence in state.sequence.items():
        entry = {_SEQUENCE: str(sequence)}
        if with_times and partition in state.time_ms:
            entry[_TIME] = str(state.time_ms[partition])
        entries[keys.text(partition)] = entry
    return json.dumps(entries, sort_keys=True, separators=(",", ":"))


def _legacy_state(properties: Mapping[str, str], keys: PartitionKeys) -> OptimizedState:
    """Return what the property says is merged; nothing without it.

    Raises:
        FormatError: a value that is not what it should be.
    """
    text = properties.get(LEGACY_OPTIMIZED_SEQUENCE)
    if text is None:
        return OptimizedState()
    try:
        entries = {keys.partition(key): entry for key, entry in json.loads(text).items()}
        return OptimizedState(
            sequence=_legacy_values(entries, _SEQUENCE),
            time_ms=_legacy_values(entries, _TIME),
        )
    except (ValueError, TypeError, AttributeError) as error:
        raise FormatError(
            f"table {keys.table_name!r}: property {LEGACY_OPTIMIZED_SEQUENCE!r} is not readable: "
            f"{error}"
        ) from error


def _legacy_values(
    entries: Mapping[Partition, Mapping[str, str]], name: str
) -> Mapping[Partition, int]:
    return {key: int(entry[name]) for key, entry in entries.items() if name in entry}
