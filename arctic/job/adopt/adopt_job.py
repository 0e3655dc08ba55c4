"""A plain Iceberg table becomes a table with a key, and plain again; no data file is rewritten."""

from __future__ import annotations

from collections.abc import Sequence

from arctic.errors import (
    ArcticError,
    CommitStateUnknownError,
    InvalidInputError,
    UnsupportedError,
)
from arctic.iceberg.adoption.join_pair import join_pair
from arctic.iceberg.adoption.parquet_folder import forget_folder, register_folder
from arctic.iceberg.adoption.part_pair import part_pair
from arctic.iceberg.adoption.plain_table import open_plain
from arctic.iceberg.ownership.clones import check_uncloned
from arctic.iceberg.ownership.published import check_unpublished
from arctic.iceberg.snapshots.list_files import list_files
from arctic.iceberg.snapshots.pin import pin
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.adopt.named_nodes import check_named_nodes
from arctic.job.adopt.unique_key import check_unique
from arctic.job.read.asked_read import AskedRead
from arctic.job.reference import TableReference


def adopt_table(asked: AskedRead, key: Sequence[str], *, checks_key: bool) -> OpenTable:
    """Make a plain Iceberg table the base store of a table with a key.

    Args:
        asked: names the table.
        key: its primary key.
        checks_key: whether the key is looked for in several rows.

    Raises:
        NotFoundError: no such table.
        AlreadyExistsError: it is Arctic's already, or the name of its change store is taken.
        InvalidInputError: a key that is none.
        UnsupportedError: contents that a table with a key cannot have.
        ConflictError: others wrote to it meanwhile; nothing was changed.
    """
    reference = asked.reference.whole()
    opened = open_plain(reference.config, reference.identifier, key)
    state = pin(opened)
    try:
        files = list_files(opened, state, field_ids=(), row_filter=None)
    except UnsupportedError as error:
        raise UnsupportedError(
            f"table {opened.table.name!r} cannot be adopted: {error.message}"
        ) from error
    check_named_nodes(opened, asked, key, files.base)
    if checks_key:
        check_unique(opened, asked, key)
    return join_pair(opened, tuple(key), files)


def adopt_folder(
    asked: AskedRead, folder: str, key: Sequence[str], *, checks_key: bool
) -> OpenTable:
    """Make a folder of Parquet files the base store of a new table with a key.

    Raises:
        As ``register_folder`` and ``adopt_table``; there is no table then.
    """
    made = register_folder(asked.reference.config, asked.reference.identifier, folder)
    try:
        return adopt_table(asked, key, checks_key=checks_key)
    except CommitStateUnknownError:
        raise
    except ArcticError:
        forget_folder(made)
        raise


def release_table(reference: TableReference, *, discards_changes: bool) -> None:
    """Make a table with a key a plain Iceberg table, which holds the rows of its base store.

    Args:
        reference: the table.
        discards_changes: changes that are not merged into base may be lost.

    Raises:
        NotFoundError: no such table.
        InvalidInputError: a table without a key, with changes that are not merged, published, or
            cloned.
        ConflictError: others wrote to it meanwhile; it is as it was.
    """
    opened = reference.open(for_writing=True)
    name = opened.table.name
    if not opened.table.is_keyed:
        raise InvalidInputError(
            f"table {name!r} has no primary key, so it has no change store to part from"
        )
    check_unpublished(opened.base.catalog, opened.base)
    stores = [store for store in (opened.base, opened.change) if store is not None]
    check_uncloned(opened.base.catalog, stores)
    state = pin(opened)
    listed = list_files(opened, state, field_ids=(), row_filter=None)
    unmerged = [
        file for file in listed.change if file.sequence_number > state.merged_up_to(file.partition)
    ]
    if unmerged and not discards_changes:
        raise InvalidInputError(
            f"table {name!r}: {len(unmerged)} change files are not merged into base, and would be "
            f"lost; call arctic.optimize({name!r}, type='full') first, or give "
            "discard_changes=True"
        )
    part_pair(opened)
