"""Snapshots of format version 3, whose manifest lists give rows of new data manifests their ids.

PyIceberg writes lists of versions 1 and 2.

Rules:
    - Every data manifest without a first row id gets one, and as many ids as it has live rows: that
      some of its entries have ids of their own already wastes numbers, and nothing else.
"""

from __future__ import annotations

from pyiceberg.avro.codecs import AvroCompressionCodec
from pyiceberg.avro.file import AvroOutputFile
from pyiceberg.io import OutputFile
from pyiceberg.manifest import (
    MANIFEST_LIST_FILE_SCHEMAS,
    ManifestContent,
    ManifestFile,
    ManifestListWriterV2,
)
from pyiceberg.table.metadata import TableMetadataV3
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Snapshot, Summary
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    AssertRefSnapshotId,
    SetSnapshotRefUpdate,
    UpdatesAndRequirements,
)

from arctic.iceberg.metadata.version_three import first_row_id, with_first_row_id

_VERSION = 3


def snapshot_with_row_ids(
    metadata: TableMetadataV3,
    manifests: list[ManifestFile],
    output: OutputFile,
    *,
    snapshot_id: int,
    parent_id: int | None,
    summary: Summary,
    compression: AvroCompressionCodec,
) -> UpdatesAndRequirements:
    """Write the manifest list of a snapshot; return what makes it that of the main branch.

    Args:
        metadata: of the head.
        manifests: of the snapshot.
        output: where the list goes.
        snapshot_id: of the snapshot.
        parent_id: the snapshot that it goes on from.
        summary: of the snapshot.
        compression: of the blocks.

    Raises:
        OSError: the list cannot be written.
    """
    first, sequence_number = metadata.next_row_id or 0, metadata.next_sequence_number()
    with _ListWriter(
        output,
        snapshot_id=snapshot_id,
        parent_id=parent_id,
        sequence_number=sequence_number,
        compression=compression,
        next_row_id=first,
    ) as writer:
        writer.add_manifests(manifests)
    snapshot = Snapshot.model_validate(
        {
            "snapshot-id": snapshot_id,
            "parent-snapshot-id": parent_id,
            "manifest-list": output.location,
            "sequence-number": sequence_number,
            "summary": summary,
            "schema-id": metadata.current_schema_id,
            "first-row-id": first,
            "added-rows": writer.next_row_id - first,
        }
    )
    head = metadata.snapshot_by_name(MAIN_BRANCH)
    head_id = None if head is None else head.snapshot_id
    moved = {"ref-name": MAIN_BRANCH, "type": "branch", "snapshot-id": snapshot_id}
    expected = {"ref": MAIN_BRANCH, "snapshot-id": head_id}
    return (
        (AddSnapshotUpdate(snapshot=snapshot), SetSnapshotRefUpdate.model_validate(moved)),
        (AssertRefSnapshotId.model_validate(expected),),
    )


class _ListWriter(ManifestListWriterV2):
    """Counts the row ids that it gives away."""

    def __init__(
        self,
        output_file: OutputFile,
        *,
        snapshot_id: int,
        parent_id: int | None,
        sequence_number: int,
        compression: AvroCompressionCodec,
        next_row_id: int,
    ) -> None:
        super().__init__(output_file, snapshot_id, parent_id, sequence_number, compression)
        self._meta |= {"format-version": str(_VERSION), "first-row-id": str(next_row_id)}
        self.next_row_id = next_row_id

    def __enter__(self) -> _ListWriter:
        """Open the file; PyIceberg would leave out what version 2 does not know."""
        self._writer = AvroOutputFile(
            output_file=self._output_file,
            file_schema=MANIFEST_LIST_FILE_SCHEMAS[_VERSION],
            record_schema=MANIFEST_LIST_FILE_SCHEMAS[_VERSION],
            schema_name="manifest_file",
            metadata=self._meta,
        )
        self._writer.__enter__()
        return self

    def prepare_manifest(self, manifest_file: ManifestFile) -> ManifestFile:
        """Return a manifest as the list names it."""
        manifest, first = super().prepare_manifest(manifest_file), first_row_id(manifest_file)
        if first is None and manifest.content == ManifestContent.DATA:
            first = self.next_row_id
            rows = (manifest.existing_rows_count, manifest.added_rows_count)
            self.next_row_id += sum(count or 0 for count in rows)
        return with_first_row_id(manifest, first)
