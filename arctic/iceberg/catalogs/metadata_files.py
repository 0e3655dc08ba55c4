"""Metadata files that nobody refers to any more, deleted by the commit that let them go.

For a catalog that is a database, PyIceberg writes the new metadata file first and then asks the
database to point to it. If another commit was faster, that file stays behind, one for each attempt.
Of the old files that drop out of a table's log, PyIceberg deletes those that the log named when the
table was loaded: others may have deleted these, and nobody deletes the ones that came later.

Rules:
    - The file of a lost race is deleted only if the catalog said that the commit failed, and the
      table as it is then does not name the file. A database that takes the commit back because of
      a lock or another transaction has said so. Some clients ask a catalog twice: of a commit that
      landed the first time they may hear the second time that it failed. After any other failure
      nobody knows whether the commit landed, so the file stays.
    - Which files drop out of the log is decided by the metadata that the commit lies on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from copy import copy
from functools import partial
from typing import Any

from pyiceberg.catalog import Catalog, MetastoreCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.io import FileIO
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.metadata import TableMetadata
from sqlalchemy.exc import DBAPIError

from arctic.iceberg.storage.checked_io import keep_written
from arctic.iceberg.storage.growing.many_snapshots import write_metadata
from arctic.iceberg.translate import was_rolled_back


def leave_no_metadata(catalog: Catalog) -> None:
    """Let commits by this object delete the metadata files that they leave without a reader."""
    if isinstance(catalog, MetastoreCatalog):
        catalog.commit_table = partial(_commit, catalog)  # type: ignore[method-assign]
        catalog._delete_old_metadata = _delete_nothing  # type: ignore[method-assign]


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
        _delete_unnamed(catalog, table, written)
        raise
    except DBAPIError as error:
        if not was_rolled_back(error):
            raise
        _delete_unnamed(catalog, table, written)
        raise CommitFailedException(f"the database took the commit back: {error.orig}") from error
    keep_written(response, catalog)
    Catalog._delete_old_metadata(table.io, before.metadata, response.metadata)
    return response


def _delete_unnamed(
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
