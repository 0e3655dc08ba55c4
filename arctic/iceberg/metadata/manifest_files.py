"""Manifests and manifest lists of a snapshot, whole and the very ones that are meant.

PyIceberg reads them too, but trusts every byte.

Rules:
    - A manifest list belongs to the snapshot that names it, and a manifest is as long and holds as
      many files and rows as its list says: that tells another valid file under the same name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pyiceberg.avro.reader import Reader
from pyiceberg.avro.resolver import resolve_reader
from pyiceberg.io import FileIO
from pyiceberg.manifest import (
    DEFAULT_READ_VERSION,
    MANIFEST_ENTRY_SCHEMAS,
    MANIFEST_LIST_FILE_SCHEMAS,
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    PartitionFieldSummary,
)
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.utils.schema_conversion import AvroSchemaConversion

from arctic.errors import FormatError
from arctic.iceberg.metadata.version_three import inherit_row_ids
from arctic.iceberg.storage.avro_blocks import AvroContent, decoding

_KEPT_READERS = 64
_SNAPSHOT_ID = "snapshot-id"
"""What a manifest list's header calls its snapshot; not every engine writes it."""


def manifests_of(io: FileIO, snapshot: Snapshot) -> tuple[ManifestFile, ...]:
    """Return the manifests of a snapshot, in order.

    Raises:
        FormatError: a manifest list that is damaged or another snapshot's, naming it.
        OSError: it cannot be read.
    """
    path = snapshot.manifest_list
    content = _content(io, path)
    with decoding(f"manifest list {path!r}"):
        avro = AvroContent(path, content)
        belongs_to = avro.meta.get(_SNAPSHOT_ID)
        if belongs_to is not None and belongs_to != str(snapshot.snapshot_id):
            raise ValueError(f"it is that of snapshot {belongs_to}, not {snapshot.snapshot_id}")
        return tuple(_records(avro, _LISTS))


def read_manifest(io: FileIO, manifest: ManifestFile) -> bytes:
    """Return the whole content of a manifest.

    Raises:
        FormatError: it is not as long as its manifest list says, or cannot have its name.
        OSError: it cannot be read.
    """
    content = _content(io, manifest.manifest_path)
    if len(content) != manifest.manifest_length:
        raise FormatError(
            f"manifest {manifest.manifest_path!r}: it has {len(content)} bytes; expected "
            f"{manifest.manifest_length}, as its manifest list says"
        )
    return content


def _content(io: FileIO, path: str) -> bytes:
    try:
        with io.new_input(path).open() as stream:
            return bytes(stream.read())
    except ValueError as error:  # of Arrow's too, which knows paths that no file can have
        raise FormatError(f"file {path!r}: it cannot have this name: {error}") from error


def manifest_entries(io: FileIO, manifest: ManifestFile) -> tuple[ManifestEntry, ...]:
    """Return the entries of a manifest that are not deleted, sequence numbers inherited.

    Raises:
        FormatError: a manifest that is damaged or another one, naming it.
        OSError: it cannot be read.
    """
    content = read_manifest(io, manifest)
    with decoding(f"manifest {manifest.manifest_path!r}"):
        entries = tuple(
            _inherited(entry, manifest)
            for entry in _records(AvroContent(manifest.manifest_path, content), _ENTRIES)
            if entry.status != ManifestEntryStatus.DELETED
        )
        inherit_row_ids(manifest, [entry.data_file for entry in entries])
    check_counts(manifest, [entry.data_file.record_count for entry in entries])
    return entries


def removed_entries(io: FileIO, manifest: ManifestFile) -> tuple[ManifestEntry, ...]:
    """Return the entries of files that the snapshot of a manifest removed; raises as the others."""
    content = read_manifest(io, manifest)
    with decoding(f"manifest {manifest.manifest_path!r}"):
        return tuple(
            entry
            for entry in _records(AvroContent(manifest.manifest_path, content), _ENTRIES)
            if entry.status == ManifestEntryStatus.DELETED
        )


def check_counts(manifest: ManifestFile, record_counts: Sequence[int]) -> None:
    """Compare the live files of a manifest with what the manifest list says of it.

    Args:
        manifest: as the list has it; format version 1 may leave counts out.
        record_counts: of each live file.

    Raises:
        FormatError: naming the manifest.
    """
    for what, found, added, existing in (
        ("files", len(record_counts), manifest.added_files_count, manifest.existing_files_count),
        ("rows", sum(record_counts), manifest.added_rows_count, manifest.existing_rows_count),
    ):
        if added is not None and existing is not None and found != added + existing:
            raise FormatError(
                f"manifest {manifest.manifest_path!r}: it holds {found} {what}; expected "
                f"{added + existing}, as its manifest list says"
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Kind:
    """Records of files of one kind, as PyIceberg has them."""

    schemas: Any
    first_row_id: int
    """A field that only format version 3 has."""
    types: Any
    enums: Any


_LISTS = _Kind(
    schemas=MANIFEST_LIST_FILE_SCHEMAS,
    first_row_id=520,
    types={-1: ManifestFile, 508: PartitionFieldSummary},
    enums={517: ManifestContent},
)
_ENTRIES = _Kind(
    schemas=MANIFEST_ENTRY_SCHEMAS,
    first_row_id=142,
    types={-1: ManifestEntry, 2: DataFile},
    enums={0: ManifestEntryStatus, 101: FileFormat, 134: DataFileContent},
)


def _records(avro: AvroContent, kind: _Kind) -> Iterator[Any]:
    """Yield the records of a file, with the fields of version 3 if it has them."""
    reader = _reader(avro.meta["avro.schema"], kind)
    for block in avro.blocks():
        for _ in range(block.entries):
            yield reader.read(block.decoder)
        block.check_end()


@lru_cache(maxsize=_KEPT_READERS)
def _reader(schema_text: str, kind: _Kind) -> Reader:
    """Return what reads records of a schema: to make one takes longer than to read a few."""
    schema = AvroSchemaConversion().avro_to_iceberg(json.loads(schema_text))
    version = 3 if kind.first_row_id in schema.field_ids else DEFAULT_READ_VERSION
    return resolve_reader(schema, kind.schemas[version], kind.types, kind.enums)


def _inherited(entry: ManifestEntry, manifest: ManifestFile) -> ManifestEntry:
    if entry.snapshot_id is None and manifest.added_snapshot_id is not None:
        entry.snapshot_id = manifest.added_snapshot_id
    # Format version 1 has no sequence numbers, in manifests neither.
    if manifest.sequence_number == 0 or entry.status == ManifestEntryStatus.ADDED:
        if entry.sequence_number is None:
            entry.sequence_number = manifest.sequence_number
        if entry.file_sequence_number is None:
            entry.file_sequence_number = manifest.sequence_number
    entry.data_file.spec_id = manifest.partition_spec_id
    return entry
