"""One state of a table becomes another table that refers to the same files.

Strategy: each store of the clone begins with one snapshot, whose manifest list names the manifests
of the source's snapshot. So it costs as much as a commit; its own commits go to its own folders.

Rules:
    - Base of the source says that it was cloned before the clone is made. Once both stores are
      registered, the state must still be there: whoever removed it before may have looked for
      clones before, too, and deletes its files; whoever removes it later finds the clone.
    - The change store is registered first, base last: nobody opens half a clone. Who stops in
      between leaves a change store, which dropping the clone's name removes.
    - Its snapshots have ids of their own: a state of one table is never taken for one of the other.
    - Their sequence numbers come after all that they show, and they are no appends: no reader of
      changes takes the history before them for empty.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import Final
from uuid import uuid4

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.manifest import write_manifest_list
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    SetPropertiesUpdate,
    SetSnapshotRefUpdate,
    SetStatisticsUpdate,
    TableUpdate,
)

from arctic.errors import (
    AlreadyExistsError,
    ArcticError,
    CommitStateUnknownError,
    ConflictError,
    NotFoundError,
    UnsupportedError,
)
from arctic.iceberg.branching.named_branch import check_no_branch
from arctic.iceberg.catalogs.catalog import create_namespace, load_table
from arctic.iceberg.catalogs.change_store import note_key
from arctic.iceberg.catalogs.leftover import check_is_leftover
from arctic.iceberg.catalogs.pair import base_properties, change_properties
from arctic.iceberg.commits.staging import longest_property
from arctic.iceberg.metadata.manifest_files import manifests_of
from arctic.iceberg.metadata.sequence_file import read_state, stage_state
from arctic.iceberg.ownership.folders import delete_own_files
from arctic.iceberg.ownership.known_tables import sources_of
from arctic.iceberg.ownership.registered_table import register_table, table_like
from arctic.iceberg.snapshots.pinned_state import has_expired
from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.tables.set_properties import commit_properties
from arctic.iceberg.translate import catalog_errors
from arctic.iceberg.values.names import change_identifier, check_new_name, parse_identifier
from arctic.iceberg.values.partition_key import partition_keys
from arctic.options import MAY_DELETE
from arctic.table.property_names import (
    CLONE_OF,
    CLONED,
    CLONED_FROM,
    REQUIRES,
    STORE,
    TREES,
    VIEW,
    is_own,
)
from arctic.table.snapshot import NOTHING_MERGED, TableSnapshot

_VERSION = "format-version"
_CLONED_VERSION: Final = 2
_COMPRESSION: Final = "deflate"
_TOTALS = "total-"
"""How the names in a summary begin that tell of all files of a snapshot."""


def clone_pair(opened: OpenTable, state: TableSnapshot, target: str) -> None:
    """Make a table of a state of another one.

    Args:
        opened: the source.
        state: of the source, just pinned.
        target: the name of the clone.

    Raises:
        AlreadyExistsError: the name is taken.
        UnsupportedError: a view, or a table whose rows have ids.
        NotFoundError: the source was dropped or renamed meanwhile; there is no clone.
        ConflictError: the state expired meanwhile; there is no clone.
        CommitStateUnknownError: the catalog did not answer; look whether the clone is there.
        StorageError: the catalog or a file cannot be reached; there is no clone.
    """
    _check_can_be_cloned(opened)
    parts = parse_identifier(target)
    check_new_name(parts)
    base, key = opened.base, opened.table.primary_key
    catalog = base.catalog
    check_no_branch(catalog, parts)
    create_namespace(catalog, parts[:-1])
    place = change_identifier(parts)
    is_left = bool(key) and check_is_leftover(catalog, place, of=parts) is not None
    if is_left or load_table(catalog, parts) is not None:
        raise AlreadyExistsError(
            f"table {target!r} already exists, or is left of a call that stopped; choose another "
            f"name, or drop it first: arctic.drop_table({target!r})"
        )
    commit_properties(
        catalog,
        base,
        {CLONED: "true"},
        (),
        expected={STORE: base.properties.get(STORE)},
        subject=f"table {opened.table.name!r}",
    )
    new = _new_stores(opened, state, parts, place)
    made: list[Table] = []
    try:
        for store, updates in new:
            if register_table(store, updates) is None:
                name = ".".join(store.name())
                raise AlreadyExistsError(f"table {name!r} was made by others meanwhile")
            made.append(store)
        if has_expired(opened, state):
            raise ConflictError(
                f"table {opened.table.name!r}: the state that was cloned expired meanwhile"
            )
    except CommitStateUnknownError:
        raise
    except ArcticError:
        for store in reversed(made):
            _drop(store)
        raise
    note_key(opened.config, parts, is_keyed=bool(key))


def _check_can_be_cloned(opened: OpenTable) -> None:
    name = opened.table.name
    if VIEW in opened.base.properties:
        raise UnsupportedError(
            f"clone of view {name!r}: its rows follow from its sources; make a view of the same "
            "statement, or a table of its rows"
        )
    stores = [store for store in (opened.base, opened.change) if store is not None]
    versions = {store.metadata.format_version for store in stores}
    if versions != {_CLONED_VERSION}:
        # The rows of version 3 have ids, and both tables would go on with the same ones.
        raise UnsupportedError(
            f"clone of table {name!r}: it has format version {max(versions)}, expected "
            f"{_CLONED_VERSION}; make a table of its rows"
        )


def _new_stores(
    opened: OpenTable, state: TableSnapshot, parts: tuple[str, ...], place: tuple[str, ...]
) -> list[tuple[Table, tuple[TableUpdate, ...]]]:
    """Return the stores of the clone, the change store first, that no catalog knows yet."""
    stores = [store for store in (opened.base, opened.change) if store is not None]
    sources = {str(store.metadata.table_uuid) for store in stores}
    sources = sources.union(*(sources_of(store.properties) for store in stores))
    own = {CLONE_OF: ",".join(sorted(sources))}
    base = table_like(
        opened.base,
        parts,
        {**_base_properties(opened, place), **own},
        last_sequence_number=_sequence(_snapshot(opened.base, state.base_snapshot_id)),
    )
    found = [(base, _base_updates(opened, state, base))]
    if opened.change is not None:
        shown = _snapshot(opened.change, state.change_snapshot_id)
        merged = max(state.optimized_sequence.values(), default=NOTHING_MERGED)
        change = table_like(
            opened.change,
            place,
            {**_without_version(change_properties(base)), **own},
            last_sequence_number=max(_sequence(shown), merged, 0),
        )
        found.insert(0, (change, () if shown is None else _first_snapshot(change, shown, {})))
    return found


def _base_properties(opened: OpenTable, place: tuple[str, ...]) -> dict[str, str]:
    """Return what a user has set, and what says how the files are laid out; no more of Arctic's."""
    given = opened.base.properties
    kept = {name: text for name, text in given.items() if not is_own(name)}
    # Other engines know nothing of the source, whose files they would take for the clone's.
    kept[MAY_DELETE.name] = "false"
    wanted = base_properties(kept, opened.table.primary_key, place)
    laid_out = {name: given[name] for name in (REQUIRES, TREES) if name in given}
    return {**_without_version(wanted), **laid_out}


def _without_version(properties: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in properties.items() if name != _VERSION}


def _base_updates(opened: OpenTable, state: TableSnapshot, new: Table) -> tuple[TableUpdate, ...]:
    source = opened.base
    shown = _snapshot(source, state.base_snapshot_id)
    if shown is None:
        return ()
    if opened.change is None:
        return _first_snapshot(new, shown, {})
    keys = partition_keys(opened.table)
    merged = read_state(source.metadata, source.io, shown.snapshot_id, keys)
    if not merged.sequence and not merged.time_ms:
        return _first_snapshot(new, shown, {})
    snapshot_id = new.metadata.new_snapshot_id()
    # The file that the source has of it names the source's snapshot, and may go with it.
    marks = stage_state(
        merged,
        io=new.io,
        location=new.location(),
        snapshot_id=snapshot_id,
        sequence_number=new.metadata.next_sequence_number(),
        keys=keys,
        property_bytes=longest_property(new.catalog),
    )
    set_ = {name: text for name, text in marks.properties.items() if text is not None}
    return (
        *_first_snapshot(new, shown, marks.summary, snapshot_id),
        SetStatisticsUpdate.model_validate({"statistics": marks.statistics}),
        SetPropertiesUpdate(updates=set_),
    )


def _first_snapshot(
    new: Table, shown: Snapshot, summary: Mapping[str, str], snapshot_id: int | None = None
) -> tuple[TableUpdate, ...]:
    """Return what gives a store its first snapshot, with the manifests of one of the source."""
    own_id = new.metadata.new_snapshot_id() if snapshot_id is None else snapshot_id
    before = {} if shown.summary is None else shown.summary.additional_properties
    totals = {name: text for name, text in before.items() if name.startswith(_TOTALS)}
    path = f"{new.location()}/metadata/snap-{own_id}-0-{uuid4()}.avro"
    sequence_number = new.metadata.next_sequence_number()
    with catalog_errors(f"write manifest list {path!r}"):
        manifests = list(manifests_of(new.io, shown))
        with write_manifest_list(
            format_version=_CLONED_VERSION,
            output_file=new.io.new_output(path),
            snapshot_id=own_id,
            parent_snapshot_id=None,
            sequence_number=sequence_number,
            avro_compression=_COMPRESSION,
        ) as writer:
            writer.add_manifests(manifests)
    told = {**totals, **summary, CLONED_FROM: str(shown.snapshot_id)}
    first = {
        "snapshot-id": own_id,
        "sequence-number": sequence_number,
        "timestamp-ms": time.time_ns() // 1_000_000,
        "manifest-list": path,
        "summary": Summary(Operation.OVERWRITE, **told),
        "schema-id": new.metadata.current_schema_id,
    }
    main = {"ref-name": MAIN_BRANCH, "type": "branch", "snapshot-id": own_id}
    return (
        AddSnapshotUpdate(snapshot=Snapshot.model_validate(first)),
        SetSnapshotRefUpdate.model_validate(main),
    )


def _snapshot(store: Table, snapshot_id: int | None) -> Snapshot | None:
    found = None if snapshot_id is None else store.metadata.snapshot_by_id(snapshot_id)
    if found is None and snapshot_id is not None:
        raise NotFoundError(f"table {'.'.join(store.name())!r} has no snapshot {snapshot_id}")
    return found


def _sequence(snapshot: Snapshot | None) -> int:
    return 0 if snapshot is None else snapshot.sequence_number or 0


def _drop(made: Table) -> None:
    """Take a store back that was just registered, with its own files."""
    found = load_table(made.catalog, tuple(made.name()))
    if found is None or found.metadata.table_uuid != made.metadata.table_uuid:
        return
    with (
        catalog_errors(f"drop table {'.'.join(made.name())!r}"),
        contextlib.suppress(NoSuchTableError),
    ):
        made.catalog.drop_table(made.name())
    delete_own_files(made)
