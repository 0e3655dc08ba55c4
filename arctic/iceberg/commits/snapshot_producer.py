"""One snapshot that adds and removes files: built on PyIceberg's private producer.

PyIceberg's own producers cannot remove delete files, copy the whole metadata a dozen times for
each commit, and retry without building anew what was planned. This one stages exactly one attempt
on one head; who calls it retries.

Rules:
    - A file that is to be removed must be live in the head, else nothing is staged.
    - Entries keep their sequence numbers when their manifest is rewritten or merged.
    - A snapshot that lies on one that added no file says so: once that one has expired, nothing
      else tells whoever has read it that it was not rolled back.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pyiceberg.manifest import (
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
    ENTRIES_AT_ONCE,
    DenseManifestWriter,
    cut_in_order,
    group_for_merge,
)
from arctic.iceberg.commits.row_ids import snapshot_with_row_ids
from arctic.iceberg.metadata.entries import entries_of, live_manifests
from arctic.table.property_names import FOLLOWS

_ADDED = ("added-data-files", "added-delete-files")
"""In a summary: how many files a snapshot added."""
_Kind = tuple[ManifestContent, int]
"""What is in a manifest, and of which spec."""
_Entries = defaultdict[_Kind, list[ManifestEntry]]


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
        self.snapshot_properties |= self._follows()

    def _follows(self) -> dict[str, str]:
        """Return what tells that this snapshot lies on one that added no file."""
        parent = self._head.metadata.snapshot_by_id(self._parent_snapshot_id or 0)
        if parent is None or parent.summary is None or not parent.sequence_number:
            return {}
        if any(parent.summary[name] not in (None, "0") for name in _ADDED):
            return {}
        return {FOLLOWS: str(parent.sequence_number)}

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
        kept, written = self._kept_manifests()
        spec_id = self._head.spec().spec_id
        for file in self._added_data_files:
            is_data = file.content == DataFileContent.DATA
            content = ManifestContent.DATA if is_data else ManifestContent.DELETES
            written[content, spec_id].append(ManifestEntry.from_args(data_file=file))
        made = [each for kind, entries in written.items() for each in self._write(kind, entries)]
        return [*made, *self._merged(kept)]

    def _kept_manifests(self) -> tuple[list[ManifestFile], _Entries]:
        """Return manifests that stay, and the entries of those that do not."""
        parent_id = self._parent_snapshot_id
        parent = None if parent_id is None else self._head.metadata.snapshot_by_id(parent_id)
        manifests = live_manifests(self._head, parent)
        written: _Entries = defaultdict(list)
        if not self._removed_paths:
            return list(manifests), written
        kept: list[ManifestFile] = []
        gone: set[str] = set()
        for manifest, entries in entries_of(self._io, manifests):
            removed = [each for each in entries if self._is_removed(each)]
            if not removed:
                kept.append(manifest)
                continue
            files = [entry.data_file for entry in removed]
            gone.update(file.file_path for file in files)
            self._deleted_data_files.update(files)
            kind = manifest.content, manifest.partition_spec_id
            written[kind] += entries
            if len(written[kind]) >= ENTRIES_AT_ONCE:
                kept += self._write(kind, written.pop(kind))
        missing = sorted(self._removed_paths - gone)
        if missing:
            raise ConflictError(
                f"table {'.'.join(self._head.name())!r}: {len(missing)} files that this commit "
                f"replaces are gone, such as {missing[0]!r}; another commit won, so plan again"
            )
        return kept, written

    def _is_removed(self, entry: ManifestEntry) -> bool:
        return entry.data_file.file_path in self._removed_paths

    def _write(self, kind: _Kind, entries: Sequence[ManifestEntry]) -> Iterator[ManifestFile]:
        """Write entries in order; removed ones apart, so that nobody opens them for a live file."""
        content, spec_id = kind
        width = len(self.spec(spec_id).fields)
        removed = [entry for entry in entries if self._is_removed(entry)]
        live = [entry for entry in entries if not self._is_removed(entry)]
        for run in (*cut_in_order(live, width), *cut_in_order(removed, width)):
            with self._writer(content, spec_id) as writer:
                for entry in run:
                    if self._is_removed(entry):
                        writer.delete(entry)
                    elif entry.snapshot_id is None:
                        writer.add(entry)
                    else:
                        writer.existing(entry)
            yield writer.to_manifest_file()

    def _merged(self, manifests: Sequence[ManifestFile]) -> Iterator[ManifestFile]:
        for group in group_for_merge(
            manifests, self._head.properties, written_by=self._snapshot_id
        ):
            if len(group) == 1:
                yield group[0]
            else:
                entries = [entry for _, found in entries_of(self._io, group) for entry in found]
                yield from self._write((group[0].content, group[0].partition_spec_id), entries)

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
