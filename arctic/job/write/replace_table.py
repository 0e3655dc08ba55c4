"""A table in the place of another: made aside, and given its name when it is whole.

Rules:
    - It never takes the place of rows that came after the work on it began. They are looked for
      before the old table is moved, because that hides it, and once more when it is out of reach.
    - A table with a key is opened under its name until the last of its two stores is moved, with
      the first where it is by then. So it is moved twice: whoever opened it in between cannot
      commit any more.
    - Until then the old table is read and written under its name. In a database one transaction
      takes the name from it and gives it to the new one (``take_place``), if both are as they were
      looked at, so none of the above is needed. In other catalogs nobody has that name between two
      renames, and who asks for it waits (``missing_table``); whoever stops there leaves both
      tables, under names that say what they are.
    - The files of the old table stay, as those of a table that is dropped do: a reader that is at
      work finishes.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from arctic.errors import ArcticError, ConflictError, NotFoundError
from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.commits.changed_meanwhile import check_same_rows, check_unchanged
from arctic.iceberg.ownership.published import check_unpublished
from arctic.iceberg.snapshots.pin import pin
from arctic.iceberg.tables.drop_table import drop_table
from arctic.iceberg.tables.missing_table import REPLACED
from arctic.iceberg.tables.open_table import OpenTable, open_table
from arctic.iceberg.tables.rename_table import rename_table, take_place, takes_place_at_once
from arctic.iceberg.values.partition_key import partition_keys
from arctic.job.changes.named_tables import leave_sources
from arctic.retry import SMALL_RACES
from arctic.table.snapshot import TableSnapshot


def staged_name(identifier: str) -> str:
    """Return a name beside that of a table, for the one that takes its place."""
    return f"{identifier}__staged_{secrets.token_hex(4)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTable:
    """A table as it was found by whoever wants to take its place."""

    uuid: str
    state: TableSnapshot


def find_replaced(config: CatalogConfig, identifier: str) -> FoundTable | None:
    """Return what stands under a name; None: nothing.

    Raises:
        ArcticError: as ``open_table``.
    """
    try:
        opened = open_table(config, identifier, suggests=False)
    except NotFoundError:
        return None
    return FoundTable(uuid=_uuid(opened), state=pin(opened))


def replace_table(
    config: CatalogConfig, staged: str, identifier: str, found: FoundTable | None
) -> None:
    """Give a table the name of another, which is dropped; there may be none.

    Args:
        config: the catalog.
        staged: the table that is whole.
        identifier: ``namespace.table``.
        found: what had the name when the work on the other one began.

    Raises:
        ConflictError: another table has the name by now, or its rows were changed since.
        InvalidInputError: another table shows the rows of the old one.
        ArcticError: as ``rename_table``; the old table has its name then.
    """
    if takes_place_at_once(config):
        _replace_at_once(config, staged, identifier, found)
        return
    with suppress(NotFoundError):
        _check_as_found(open_table(config, identifier, suggests=False), found, identifier)
    moved = [_replaced_name(identifier)]
    try:
        opened = rename_table(config, identifier, moved[0])
    except NotFoundError:
        rename_table(config, staged, identifier)
        return
    try:
        if opened.change is not None:
            moved.append(_replaced_name(identifier))
            opened = rename_table(config, moved[0], moved[1])
        check_unpublished(opened.base.catalog, opened.base)
        _check_as_found(opened, found, identifier)
        rename_table(config, staged, identifier)
    except ArcticError:
        _give_back(config, moved, identifier)
        raise
    drop_table(config, moved[-1])
    leave_sources(config, opened.base.properties, identifier)


def _replace_at_once(
    config: CatalogConfig, staged: str, identifier: str, found: FoundTable | None
) -> None:
    outrun: ConflictError | None = None
    for _ in SMALL_RACES.tries():
        try:
            old = open_table(config, identifier, suggests=False)
        except NotFoundError:
            rename_table(config, staged, identifier)
            return
        check_unpublished(old.base.catalog, old.base)
        _check_as_found(old, found, identifier)
        try:
            take_place(open_table(config, staged), old)
        except ConflictError as error:
            outrun = error  # perhaps by what changes no row
        else:
            leave_sources(config, old.base.properties, identifier)
            return
    assert outrun is not None  # every try either returned or was outrun
    raise outrun


def _replaced_name(identifier: str) -> str:
    return f"{identifier}{REPLACED}{secrets.token_hex(4)}"


def _give_back(config: CatalogConfig, names: Sequence[str], identifier: str) -> None:
    """Give the old table its name again; it has the last of these that it got."""
    for name in reversed(names):
        with suppress(NotFoundError):
            rename_table(config, name, identifier)
            return


def _check_as_found(opened: OpenTable, found: FoundTable | None, identifier: str) -> None:
    cause: ConflictError | None = None
    if found is not None and found.uuid == _uuid(opened):
        try:
            _check_rows(opened, found.state)
        except ConflictError as error:
            cause = error
        else:
            return
    raise ConflictError(
        f"table {identifier!r}: others have changed it while the one that is to replace it was "
        "made, and what they did would be lost; run the statement again"
    ) from cause


def _check_rows(opened: OpenTable, state: TableSnapshot) -> None:
    if opened.change is not None:
        check_same_rows(opened.base, opened.change, state, keys=partition_keys(opened.table))
    else:
        since = state.base_snapshot_id
        check_unchanged(opened.base, since, concerns=lambda _: True, keys=None)


def _uuid(opened: OpenTable) -> str:
    return str(opened.base.metadata.table_uuid)
