"""A plain Iceberg table becomes the base store of a pair.

Rules:
    - The change store is made first, then one commit of the plain table's properties makes the two
      a pair. Whoever stops in between leaves a plain table, and a change store that holds nothing.
    - Its changes are later than all that base knows of changes: a table that was a pair before, or
      holds files of one, names those, and a new one that is no later would count as merged, or
      kill nothing.
    - They are others than those of a pair that was released. A number is left out between them, and
      the history of changes begins behind it: so whoever stands before it is refused, as are states
      of that life, of which changes are gone.
    - What is committed to the plain table after it was looked at makes it another table: adopting
      is refused then, and can be repeated.
    - Several may adopt a table at the same time: whose commit comes first wins, and the others do
      not touch the change store that is there by then. It may hold rows.
"""

from __future__ import annotations

import contextlib

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadataV2
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update import SetPropertiesUpdate, TableUpdate

from arctic.errors import AlreadyExistsError, ConflictError
from arctic.iceberg.adoption.commit_as_seen import commit_as_seen
from arctic.iceberg.catalogs.catalog import load_table
from arctic.iceberg.catalogs.change_store import note_key
from arctic.iceberg.catalogs.leftover import drop_leftover
from arctic.iceberg.catalogs.pair import base_properties, change_properties, store_of
from arctic.iceberg.catalogs.refresh import newest
from arctic.iceberg.commits.asking.staged_snapshot import SnapshotPlan
from arctic.iceberg.commits.staging import staged_on
from arctic.iceberg.metadata.sequence_file import read_state
from arctic.iceberg.ownership.folders import delete_own_files
from arctic.iceberg.ownership.registered_table import register_table, table_like
from arctic.iceberg.tables.open_table import OpenTable, open_table
from arctic.iceberg.values.names import change_identifier
from arctic.iceberg.values.partition_key import partition_keys
from arctic.scan.store_files import StoreFiles
from arctic.table.property_names import (
    ADOPTED,
    BASE_UUID,
    CLONE_OF,
    CREATED,
    MERGED_UP_TO,
    RELEASED_CHANGES,
    is_own,
)

_VERSION = "format-version"
_BEYOND = 2
"""How far behind the last change of an earlier life the first commit of the next one is."""


def join_pair(opened: OpenTable, key: tuple[str, ...], files: StoreFiles) -> OpenTable:
    """Make a plain table, as it was opened, the base store of a table with this key.

    Args:
        opened: the plain table.
        key: the primary key.
        files: its live files.

    Raises:
        AlreadyExistsError: the name of its change store is taken, or others have adopted it.
        ConflictError: others committed to it since it was opened; nothing was changed.
        FormatError: what is merged in it is not readable.
        StorageError: the catalog or the file that says so cannot be reached.
    """
    plain, name = opened.base, opened.table.name
    past = _first_change(opened, files)
    place = change_identifier(opened.table.identifier)
    wanted = base_properties({}, key, place)
    wanted.pop(_VERSION)
    new = {
        name: text for name, text in wanted.items() if is_own(name) or name not in plain.properties
    }
    made = _make_change(plain, place, {**plain.properties, **new}, name, past)
    new[ADOPTED] = ",".join(sorted(each for each in new if not is_own(each)))
    if not commit_as_seen(plain, (SetPropertiesUpdate(updates=new),), name):
        _check_plain(plain, name)
        if made is not None:
            _drop(made)
        raise ConflictError(f"table {name!r} was written to while it was adopted; adopt it again")
    note_key(opened.config, opened.table.identifier, is_keyed=True)
    return open_table(opened.config, name, for_writing=True)


def _first_change(opened: OpenTable, files: StoreFiles) -> int:
    """Return the sequence number that changes begin with; 0: there were none before.

    Files say in their names up to which change they hold rows, snapshots what is merged in them,
    and a released table how far its changes had come.
    """
    metadata, keys = opened.base.metadata, partition_keys(opened.table)
    merged = read_state(metadata, opened.base.io, metadata.current_snapshot_id, keys).sequence
    summaries = [each.summary for each in metadata.snapshots if each.summary is not None]
    told = [summary[MERGED_UP_TO] for summary in summaries]
    released = metadata.properties.get(RELEASED_CHANGES)
    return max(
        0,
        0 if released is None else int(released) + _BEYOND,
        *merged.values(),
        *(int(text) for text in told if text is not None),
        *(file.transaction_id for file in (*files.base, *files.position_deletes)),
    )


def _make_change(
    plain: Table, place: tuple[str, ...], properties: dict[str, str], name: str, past: int
) -> Table | None:
    """Make the change store; None: one is there that is as new."""
    wanted = change_properties(plain, properties)
    if CLONE_OF in properties:  # or nobody would clean a store that says it may not be
        wanted[CLONE_OF] = properties[CLONE_OF]
    new = table_like(plain, place, wanted, last_sequence_number=max(0, past - 1))
    found = load_table(plain.catalog, place)
    if found is not None:
        of_it = found.properties.get(BASE_UUID) == str(plain.metadata.table_uuid)
        if store_of(found.properties) != "change" or not of_it:
            raise AlreadyExistsError(
                f"table {'.'.join(place)!r} already exists, and is where the change store of "
                f"{name!r} would be; rename it"
            )
        _check_plain(plain, name)
        if _is_like(found, new, past):
            return None
        drop_leftover(plain.catalog, found)  # of an adoption or a release that stopped half way
    made = register_table(new, _first_updates(new) if past else ())
    if made is None:
        raise ConflictError(f"table {name!r} is being adopted by others; adopt it again")
    return made


def _first_updates(new: Table) -> tuple[TableUpdate, ...]:
    """Return an empty snapshot, as it would be left if the earlier ones had expired."""
    empty = SnapshotPlan(operation=Operation.APPEND)
    return staged_on(new, empty, new.metadata.new_snapshot_id()).updates


def _check_plain(plain: Table, name: str) -> None:
    """Refuse a table that others have adopted since it was opened: it may hold rows by now."""
    if store_of(newest(plain).properties) is not None:
        raise AlreadyExistsError(f"table {name!r} was adopted by others meanwhile; open it")


def _is_like(found: Table, new: Table, past: int) -> bool:
    def told(store: Table) -> dict[str, str]:
        return {each: text for each, text in store.properties.items() if each != CREATED}

    return (
        isinstance(found.metadata, TableMetadataV2)
        and found.metadata.last_sequence_number == past
        and found.schema() == new.schema()
        and found.spec().compatible_with(new.spec())
        and told(found) == told(new)
    )


def _drop(made: Table) -> None:
    found = load_table(made.catalog, tuple(made.name()))
    if found is not None and found.metadata.table_uuid == made.metadata.table_uuid:
        with contextlib.suppress(NoSuchTableError):
            made.catalog.drop_table(made.name())
        delete_own_files(made)
