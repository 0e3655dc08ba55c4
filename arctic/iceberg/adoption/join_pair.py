"""A plain Iceberg table becomes the base store of a pair, and a base store plain again.

Rules:
    - The change store is made first, then one commit of the plain table's properties makes the two
      a pair. Whoever stops in between leaves a plain table, and a change store that holds nothing.
    - Its changes are later than all that base knows of changes: a table that was released names
      those of its earlier life, and would take new ones for merged.
    - What is committed to the plain table after it was looked at makes it another table: adopting
      is refused then, and can be repeated.
    - A release takes the properties away first, so nobody finds the pair any more, and drops the
      change store when it is as it was looked at.
"""

from __future__ import annotations

import contextlib

from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update import (
    AssertRefSnapshotId,
    AssertTableUUID,
    RemovePropertiesUpdate,
    SetPropertiesUpdate,
    TableUpdate,
)

from arctic.errors import AlreadyExistsError, ConflictError
from arctic.iceberg.catalogs.catalog import load_table
from arctic.iceberg.catalogs.leftover import drop_leftover
from arctic.iceberg.catalogs.pair import base_properties, change_properties, store_of
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.commits.snapshot_producer import SnapshotPlan
from arctic.iceberg.commits.staging import staged_on
from arctic.iceberg.ownership.folders import delete_own_files
from arctic.iceberg.ownership.registered_table import register_table, table_like
from arctic.iceberg.tables.keyless_names import note_key
from arctic.iceberg.tables.open_table import OpenTable, open_table
from arctic.iceberg.translate import catalog_errors
from arctic.iceberg.values.names import change_identifier
from arctic.table.property_names import ADOPTED, BASE_UUID, is_own

_VERSION = "format-version"


def join_pair(opened: OpenTable, key: tuple[str, ...], *, past: int) -> OpenTable:
    """Make a plain table, as it was opened, the base store of a table with this key.

    Args:
        opened: the plain table.
        key: the primary key.
        past: the last change that base knows of; 0 if none.

    Raises:
        AlreadyExistsError: the name of its change store is taken.
        ConflictError: others committed to it since it was opened; nothing was changed.
        StorageError: the catalog cannot be reached.
    """
    plain, name = opened.base, opened.table.name
    place = change_identifier(opened.table.identifier)
    wanted = base_properties({}, key, place)
    wanted.pop(_VERSION)
    new = {
        name: text for name, text in wanted.items() if is_own(name) or name not in plain.properties
    }
    _make_change(plain, place, {**plain.properties, **new}, name, past)
    new[ADOPTED] = ",".join(sorted(each for each in new if not is_own(each)))
    if not _commit(plain, (SetPropertiesUpdate(updates=new),), name):
        _drop(plain, place)
        raise ConflictError(f"table {name!r} was written to while it was adopted; adopt it again")
    note_key(opened.config, opened.table.identifier, is_keyed=True)
    return open_table(opened.config, name, for_writing=True)


def part_pair(opened: OpenTable) -> None:
    """Make the base store of a pair, as it was opened, a plain table, and drop its change store.

    Raises:
        ConflictError: others committed to it since it was opened; it is a pair as before.
        StorageError: the catalog cannot be reached; call again.
    """
    base, change, name = opened.base, opened.change, opened.table.name
    before = dict(base.properties)
    added = [each for each in before.get(ADOPTED, "").split(",") if each in before]
    removed = [*(each for each in before if is_own(each)), *added]
    if not _commit(base, (RemovePropertiesUpdate(removals=removed),), name):
        raise ConflictError(
            f"table {name!r} was written to while it was released; release it again"
        )
    if change is None:
        return
    seen = change.metadata.current_snapshot_id
    if refresh(change).metadata.current_snapshot_id != seen:
        kept = {each: before[each] for each in removed}
        refresh(base)
        _commit(base, (SetPropertiesUpdate(updates=kept),), name)
        raise ConflictError(
            f"table {name!r} was written to while it was released; release it again"
        )
    with catalog_errors(f"drop table {'.'.join(change.name())!r}"):
        base.catalog.drop_table(change.name())
    delete_own_files(change)


def _make_change(
    plain: Table, place: tuple[str, ...], properties: dict[str, str], name: str, past: int
) -> None:
    found = load_table(plain.catalog, place)
    uuid = str(plain.metadata.table_uuid)
    if found is not None:
        of_it = found.properties.get(BASE_UUID) == uuid
        if store_of(found.properties) != "change" or not of_it:
            raise AlreadyExistsError(
                f"table {'.'.join(place)!r} already exists, and is where the change store of "
                f"{name!r} would be; rename it"
            )
        drop_leftover(plain.catalog, found)  # of an adoption or a release that stopped half way
    new = table_like(
        plain, place, change_properties(plain, properties), last_sequence_number=max(0, past - 1)
    )
    if register_table(new, _first_updates(new) if past else ()) is None:
        raise ConflictError(f"table {name!r} is being adopted by others; adopt it again")


def _first_updates(new: Table) -> tuple[TableUpdate, ...]:
    """Return an empty snapshot, as it would be left if the earlier ones had expired."""
    empty = SnapshotPlan(operation=Operation.APPEND)
    return staged_on(new, empty, new.metadata.new_snapshot_id()).updates


def _commit(store: Table, updates: tuple[TableUpdate, ...], name: str) -> bool:
    metadata = store.metadata
    required = (
        AssertTableUUID(uuid=metadata.table_uuid),
        AssertRefSnapshotId.model_validate(
            {"ref": "main", "snapshot-id": metadata.current_snapshot_id}
        ),
    )
    with catalog_errors(f"change the properties of table {name!r}"):
        try:
            store.catalog.commit_table(store, required, updates)
        except CommitFailedException:
            return False
    return True


def _drop(plain: Table, place: tuple[str, ...]) -> None:
    change = load_table(plain.catalog, place)
    if change is not None:
        with contextlib.suppress(NoSuchTableError):
            plain.catalog.drop_table(place)
        delete_own_files(change)
