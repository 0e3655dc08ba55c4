"""What a commit through a catalog makes: metadata in order, not copied, signed, none left behind.

Clocks of machines differ and are set back; Java refuses metadata whose times do so by more than a
minute. A commit is given the time of the last one where the clock is behind it.

PyIceberg copies all of the metadata, down to the last snapshot, before it writes what a commit
makes of it. That is a fifth of a late commit, and nobody needs the copy: parts of metadata are
frozen, and no update changes a list or mapping in place.

For a catalog that is a database, PyIceberg writes the new metadata file first and then asks the
database to point to it. If another commit was faster, that file stays behind, one for each attempt.
Of the old files that drop out of a table's log, PyIceberg deletes those that the log named when the
table was loaded: others may have deleted these, and nobody deletes the ones that came later.

Rules:
    - The time of a snapshot is fixed where the snapshot is made, for every catalog.
    - The time of metadata is fixed where PyIceberg makes the metadata; a REST server makes its own.
    - Catalogs that were opened otherwise, and metadata of another version, are copied as ever.
    - The file of a lost race is deleted only if the catalog said that the commit failed, and the
      table as it is then does not name the file. A database that takes the commit back because of
      a lock or another transaction has said so. Some clients ask a catalog twice: of a commit that
      landed the first time they may hear the second time that it failed. After any other failure
      nobody knows whether the commit landed, so the file stays.
    - Which files drop out of the log is decided by the metadata that the commit lies on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pyiceberg.catalog import Catalog, MetastoreCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.io import FileIO
from pyiceberg.table import CommitTableResponse, StagedTable, Table
from pyiceberg.table.metadata import TableMetadata, TableMetadataV2
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    TableRequirement,
    TableUpdate,
    update_table_metadata,
)
from sqlalchemy.exc import DBAPIError

from arctic.iceberg.storage.checked_io import keep_written
from arctic.iceberg.storage.many_snapshots import write_metadata
from arctic.iceberg.storage.packed_metadata import file_name
from arctic.iceberg.storage.signed_names import signed
from arctic.iceberg.translate import was_rolled_back

NO_SNAPSHOT = "to unknown snapshot"
"""How PyIceberg and Java refuse a branch or tag of a snapshot that has expired meanwhile."""


@dataclass(slots=True)
class WrittenMetadata:
    """The metadata file of one commit, where it is written before the catalog is asked.

    A commit that may be asked for again, because only another table of it has moved on, finds its
    file there: nothing is written then while those who wait are overtaken again.
    """

    staged: StagedTable | None = None
    """None: it is not written."""

    def discard(self) -> None:
        """Delete it; only for a commit that is known not to have landed."""
        if self.staged is not None:
            with contextlib.suppress(Exception):  # a leftover costs space, never rows
                self.staged.io.delete(self.staged.metadata_location)
            self.staged = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCommit:
    """What is committed to one of several tables."""

    table: Table
    requirements: tuple[TableRequirement, ...]
    updates: tuple[TableUpdate, ...]
    metadata: WrittenMetadata = field(default_factory=WrittenMetadata)


def _latest_ms(metadata: TableMetadata) -> int:
    """Return the latest time that a store's metadata names."""
    times = [
        metadata.last_updated_ms,
        *(entry.timestamp_ms for entry in metadata.snapshot_log[-1:]),
        *(entry.timestamp_ms for entry in metadata.metadata_log[-1:]),
    ]
    return max(times)


def not_before(metadata: TableMetadata, updates: Sequence[TableUpdate]) -> list[TableUpdate]:
    """Return updates whose snapshots are not earlier than the metadata they are made for."""
    return no_earlier(updates, _latest_ms(metadata))


def no_earlier(updates: Sequence[TableUpdate], least_ms: int) -> list[TableUpdate]:
    """Return updates whose snapshots are not earlier than a time."""
    return [
        _later(update, least_ms) if isinstance(update, AddSnapshotUpdate) else update
        for update in updates
    ]


def with_updates(metadata: TableMetadata, updates: Sequence[TableUpdate]) -> TableMetadata:
    """Return what a commit of updates would make of a store's metadata, but for its own time."""
    if type(metadata) is not TableMetadataV2:
        return update_table_metadata(metadata, tuple(updates))
    return _as(TableMetadataV2, update_table_metadata(_as(_Shared, metadata), tuple(updates)))


def commit_our_way(catalog: Catalog) -> None:
    """Let a catalog that writes metadata itself make it so, in commits through this object."""
    if isinstance(catalog, MetastoreCatalog):
        stage = catalog._update_and_stage_table
        catalog._update_and_stage_table = partial(_staged, catalog, stage)  # type: ignore[method-assign]
        catalog.commit_table = partial(_commit, catalog)  # type: ignore[method-assign]
        catalog._delete_old_metadata = _delete_nothing  # type: ignore[method-assign]


def _staged(
    catalog: MetastoreCatalog,
    stage: Callable[..., StagedTable],
    current: Table | None,
    *arguments: Any,
    **named: Any,
) -> StagedTable:
    """Return what a commit makes of a table: not copied, not dated before it, its name signed."""
    least_ms = 0 if current is None else _latest_ms(current.metadata)
    if current is not None and type(current.metadata) is TableMetadataV2:
        current = copy(current)
        current.metadata = _as(_Shared, current.metadata)
    staged = stage(current, *arguments, **named)
    if isinstance(staged.metadata, _Shared):
        staged.metadata = _as(TableMetadataV2, staged.metadata)
    least_ms = max(least_ms, _latest_ms(staged.metadata))
    if staged.metadata.last_updated_ms < least_ms:
        staged.metadata = staged.metadata.model_copy(update={"last_updated_ms": least_ms})
    staged.metadata_location = signed(file_name(staged.metadata_location, staged.metadata), catalog)
    return staged


def _later(update: AddSnapshotUpdate, least_ms: int) -> AddSnapshotUpdate:
    if update.snapshot.timestamp_ms >= least_ms:
        return update
    snapshot = update.snapshot.model_copy(update={"timestamp_ms": least_ms})
    return update.model_copy(update={"snapshot": snapshot})


class _Shared(TableMetadataV2):
    """Metadata whose parts are not copied with it."""

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> _Shared:
        return self.__copy__()


def _as(kind: type[TableMetadataV2], metadata: TableMetadata) -> TableMetadataV2:
    """Return a copy of the top level of metadata of version 2 that is of this kind."""
    changed = metadata.model_copy()
    object.__setattr__(changed, "__class__", kind)
    assert isinstance(changed, TableMetadataV2)
    return changed


def _commit(
    catalog: MetastoreCatalog, table: Table, requirements: Any, updates: Any
) -> CommitTableResponse:
    # A copy for each commit, because other threads may commit through the same object.
    attempt = copy(catalog)
    del attempt.__dict__["commit_table"]
    written: list[tuple[FileIO, str]] = []
    before = table

    def write(metadata: TableMetadata, io: FileIO, metadata_path: str) -> None:
        written.append((io, metadata_path))
        write_metadata(metadata, io, metadata_path)

    def load(identifier: Any) -> Table:
        nonlocal before
        before = catalog.load_table(identifier)
        return before

    attempt._write_metadata = write  # type: ignore[method-assign]
    attempt.load_table = load  # type: ignore[method-assign]
    try:
        response = attempt.commit_table(table, requirements, updates)
    except CommitFailedException:
        delete_unnamed(catalog, table, written)
        raise
    except DBAPIError as error:
        if not was_rolled_back(error):
            raise
        delete_unnamed(catalog, table, written)
        raise CommitFailedException(f"the database took the commit back: {error.orig}") from error
    except ValueError as error:
        if NO_SNAPSHOT not in str(error):
            raise
        raise CommitFailedException(str(error)) from error  # before anything was written
    keep_written(response.metadata_location, response.metadata, catalog)
    Catalog._delete_old_metadata(table.io, before.metadata, response.metadata)
    return response


def delete_unnamed(
    catalog: MetastoreCatalog, table: Table, written: Sequence[tuple[FileIO, str]]
) -> None:
    """Delete those metadata files that the table, as it is now, does not name."""
    with contextlib.suppress(Exception):  # a leftover costs space, never rows
        now = catalog.load_table(table.name())
        used = {now.metadata_location, *(log.metadata_file for log in now.metadata.metadata_log)}
        for io, path in written:
            if path not in used:
                io.delete(path)


def _delete_nothing(io: FileIO, base: TableMetadata, metadata: TableMetadata) -> None:
    """Stand for PyIceberg's own deletion, which goes by metadata that may be out of date."""
