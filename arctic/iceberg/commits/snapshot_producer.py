"""One snapshot that adds and removes files: built on PyIceberg's private producer.

PyIceberg's own producers cannot remove delete files, copy the whole metadata a dozen times for
each commit, and retry without building anew what was planned. This one stages exactly one attempt
on one head; who calls it retries.

Rules:
    - A file that is to be removed must be live in the head, else nothing is staged.
    - Entries keep their sequence numbers when their manifest is rewritten or merged.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    ManifestContent,
    ManifestEntry,
    ManifestFile,
    ManifestWriter,
)
from pyiceberg.table import Table, Transaction
from pyiceberg.table.metadata import TableMetadata, TableMetadataV3
from pyiceberg.table.snapshots import Operation, Summary
from pyiceberg.table.update import (
    AssertTableUUID,
    RemovePropertiesUpdate,
    SetPropertiesUpdate,
    SetStatisticsUpdate,
    TableUpdate,
    UpdatesAndRequirements,
)
from pyiceberg.table.update.snapshot import _SnapshotProducer
from pyiceberg.typedef import EMPTY_DICT

from arctic.errors import ConflictError
from arctic.iceberg.catalogs.staged_metadata import WrittenMetadata, not_before
from arctic.iceberg.commits.asking.staged_snapshot import SnapshotPlan, StagedSnapshot
from arctic.iceberg.commits.manifest_writer import (
    FILES_IN_A_MANIFEST,
    DenseManifestWriter,
    group_for_merge,
)
from arctic.iceberg.commits.row_ids import snapshot_with_row_ids
from arctic.iceberg.metadata.entries import entries_of, live_manifests


def stage_snapshot(head: Table, plan: SnapshotPlan, snapshot_id: int) -> StagedSnapshot:
    """Write the manifests of a snapshot on top of a head.

    Args:
        head: the store, just refreshed.
        plan: what the snapshot does.
        snapshot_id: the same for all attempts, so that one that landed unseen is recognised.

    Raises:
        ConflictError: a file that is to be removed is gone.
        StorageError: the parent's manifests cannot be read.
        OSError: a manifest cannot be written.
    """
    producer = _Producer(head, plan, snapshot_id)
    metadata = WrittenMetadata()

    def discard() -> None:
        producer._clean_all_uncommitted()
        metadata.discard()
        if plan.statistics is not None:
            with contextlib.suppress(OSError):
                head.io.delete(plan.statistics.statistics_path)

    try:
        updates, requirements = producer._commit()
    except BaseException:
        discard()
        raise
    return StagedSnapshot(
        table=head,
        snapshot_id=snapshot_id,
        sequence_number=head.metadata.next_sequence_number(),
        parent_id=head.metadata.current_snapshot_id,
        updates=(
            *not_before(head.metadata, updates),
            *_further_updates(plan, head.properties),
        ),
        requirements=(*requirements, AssertTableUUID(uuid=head.metadata.table_uuid)),
        discard=discard,
        metadata=metadata,
    )


def _further_updates(plan: SnapshotPlan, present: Mapping[str, str]) -> Iterable[TableUpdate]:
    if plan.statistics is not None:
        yield SetStatisticsUpdate.model_validate({"statistics": plan.statistics})
    changed = {
        name: text
        for name, text in plan.properties.items()
        if text is not None and text != present.get(name)
    }
    if changed:
        yield SetPropertiesUpdate(updates=changed)
    removed = [name for name, text in plan.properties.items() if text is None and name in present]
    if removed:
        yield RemovePropertiesUpdate(removals=removed)


class _AtHead(Transaction):
    """Stages nothing, so its metadata is the head's; PyIceberg's copies it at every access."""

    @property
    def table_metadata(self) -> TableMetadata:
        return self._table.metadata


class _Producer(_SnapshotProducer["_Producer"]):
    def __init__(self, head: Table, plan: SnapshotPlan, snapshot_id: int) -> None:
        super().__init__(
            operation=plan.operation,
            transaction=_AtHead(head),
            io=head.io,
            snapshot_properties=dict(plan.summary),
        )
        self._snapshot_id = snapshot_id
        self._head = head
        self._added_data_files = list(plan.added)
        self._removed_paths = plan.removed_paths
        if plan.start is not None:
            self._parent_snapshot_id = plan.start.snapshot_id

    def _summary(self, snapshot_properties: dict[str, str] = EMPTY_DICT) -> Summary:
        """PyIceberg adds totals up for every operation but a replace: ask it for an overwrite."""
        wanted = self._operation
        if wanted is not Operation.REPLACE:
            return super()._summary(snapshot_properties)
        self._operation = Operation.OVERWRITE
        try:
            counted = super()._summary(snapshot_properties)
        finally:
            self._operation = wanted
        return Summary(wanted, **counted.additional_properties)

    def _manifests(self) -> list[ManifestFile]:
        kept = self._kept_manifests()
        return [*self._added_manifests(), *self._merged(kept)]

    def _added_manifests(self) -> list[ManifestFile]:
        by_content: dict[ManifestContent, list[DataFile]] = defaultdict(list)
        for file in self._added_data_files:
            is_data = file.content == DataFileContent.DATA
            by_content[ManifestContent.DATA if is_data else ManifestContent.DELETES].append(file)
        return [
            self._write(content, files[start : start + FILES_IN_A_MANIFEST])
            for content, files in by_content.items()
            for start in range(0, len(files), FILES_IN_A_MANIFEST)
        ]

    def _write(self, content: ManifestContent, files: Sequence[DataFile]) -> ManifestFile:
        with self._writer(content, self._head.spec().spec_id) as writer:
            for file in files:
                writer.add(ManifestEntry.from_args(data_file=file))
        return writer.to_manifest_file()

    def _kept_manifests(self) -> list[ManifestFile]:
        parent_id = self._parent_snapshot_id
        parent = None if parent_id is None else self._head.metadata.snapshot_by_id(parent_id)
        manifests = live_manifests(self._head, parent)
        if not self._removed_paths:
            return list(manifests)
        kept: list[ManifestFile] = []
        found: set[str] = set()
        for manifest, entries in entries_of(self._io, manifests):
            gone = [file for entry in entries if self._is_removed(file := entry.data_file)]
            found.update(file.file_path for file in gone)
            self._deleted_data_files.update(gone)
            kept.append(self._without(manifest, entries) if gone else manifest)
        missing = sorted(self._removed_paths - found)
        if missing:
            raise ConflictError(
                f"table {'.'.join(self._head.name())!r}: {len(missing)} files that this commit "
                f"replaces are gone, such as {missing[0]!r}; another commit won, so plan again"
            )
        return kept

    def _is_removed(self, file: DataFile) -> bool:
        return file.file_path in self._removed_paths

    def _without(self, manifest: ManifestFile, entries: Sequence[ManifestEntry]) -> ManifestFile:
        with self._writer(manifest.content, manifest.partition_spec_id) as writer:
            for entry in entries:
                if self._is_removed(entry.data_file):
                    writer.delete(entry)
                else:
                    writer.existing(entry)
        return writer.to_manifest_file()

    def _merged(self, manifests: Sequence[ManifestFile]) -> list[ManifestFile]:
        groups = group_for_merge(manifests, self._head.properties, written_by=self._snapshot_id)
        return [group[0] if len(group) == 1 else self._merge(group) for group in groups]

    def _merge(self, manifests: Sequence[ManifestFile]) -> ManifestFile:
        first = manifests[0]
        with self._writer(first.content, first.partition_spec_id) as writer:
            for _, entries in entries_of(self._io, manifests):
                for entry in entries:
                    writer.existing(entry)
        return writer.to_manifest_file()

    def _writer(self, content: ManifestContent, spec_id: int) -> ManifestWriter:
        return DenseManifestWriter(
            self.spec(spec_id),
            self.schema(),
            self.new_manifest_output(),
            self._snapshot_id,
            self._compression,
            content=content,
            version=self._head.metadata.format_version,
        )

    def _commit(self) -> UpdatesAndRequirements:
        """Write the manifests and their list, of format version 3 if the head is."""
        metadata = self._head.metadata
        if not isinstance(metadata, TableMetadataV3):
            return super()._commit()
        manifests = self._manifests()
        path = self._head.location_provider().new_metadata_location(
            f"snap-{self._snapshot_id}-0-{self.commit_uuid}.avro"
        )
        self._written_manifest_lists.append(path)
        return snapshot_with_row_ids(
            metadata,
            manifests,
            self._io.new_output(path),
            snapshot_id=self._snapshot_id,
            parent_id=self._parent_snapshot_id,
            summary=self._summary(self.snapshot_properties),
            compression=self._compression,
        )

    def _deleted_entries(self) -> list[ManifestEntry]:
        return []  # _manifests does it all

    def _existing_manifests(self) -> list[ManifestFile]:
        return []
