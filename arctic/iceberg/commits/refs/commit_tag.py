"""Making and dropping a tag in both stores of a table.

Rules:
    - A tag is made in the change store first and dropped there last: what base says decides, so
      half of a tag is never taken for a whole one. Whatever was left half done, the same call
      finishes it.
    - A branch is another program's, and stays what it is.
    - Each store is one metadata commit, planned anew on every attempt. Where the catalog takes
      both in one request, there is no half.
"""

from __future__ import annotations

from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.update import (
    RemovePropertiesUpdate,
    RemoveSnapshotRefUpdate,
    SetPropertiesUpdate,
    SetSnapshotRefUpdate,
    TableUpdate,
)

from arctic.errors import AlreadyExistsError, NotFoundError
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.commits.refs.commit_ref import commit_refs
from arctic.iceberg.snapshots.tags import TagState, check_tag_name, tags_of
from arctic.iceberg.tables.open_table import OpenTable
from arctic.table.property_names import TAG_PREFIX


def make_tag(opened: OpenTable, name: str, state: TagState) -> None:
    """Name a state of a table; nothing is done where the name says that already.

    Raises:
        InvalidInputError: a name that no tag can have.
        AlreadyExistsError: the name says something else.
        NotFoundError: a snapshot of the state has expired.
        ConflictError: other commits won every retry; make it again.
        StorageError: the catalog cannot be reached.
    """
    check_tag_name(name)
    _check_free(refresh(opened.base), name, state)

    def in_change(head: Table) -> list[TableUpdate]:
        return _named(head, name, state.change_snapshot_id)

    def in_base(head: Table) -> list[TableUpdate]:
        _check_free(head, name, state)
        base_id = state.base_snapshot_id
        updates = [] if base_id is None else _named(head, name, base_id)
        if head.properties.get(f"{TAG_PREFIX}{name}") != state.text:
            updates.append(SetPropertiesUpdate(updates={f"{TAG_PREFIX}{name}": state.text}))
        return updates

    in_order = [] if opened.change is None else [(opened.change, in_change)]
    commit_refs([*in_order, (opened.base, in_base)], "tag", name)


def drop_tag(opened: OpenTable, name: str) -> None:
    """Forget a tag in both stores, also one that is there by half.

    Raises:
        NotFoundError: neither store has one of this name.
        ConflictError: other commits won every retry; drop it again.
        StorageError: the catalog cannot be reached.
    """
    check_tag_name(name)
    stores = [store for store in (opened.base, opened.change) if store is not None]
    plans = [(store, lambda head: _unnamed(head, name)) for store in stores]
    if not commit_refs(plans, "tag", name):
        known = sorted(tags_of(opened.base.properties))
        raise NotFoundError(
            f"table {opened.table.name!r} has no tag {name!r}; there are "
            f"{', '.join(map(repr, known)) or 'none'}"
        )


def _check_free(base: Table, name: str, state: TagState) -> None:
    said = tags_of(base.properties).get(name)
    foreign = said is None and name in base.metadata.refs
    if foreign or (said is not None and said != state):
        raise AlreadyExistsError(
            f"table {'.'.join(base.name())!r} has a tag or branch {name!r} already; drop it first"
        )


def _named(head: Table, name: str, snapshot_id: int | None) -> list[TableUpdate]:
    if snapshot_id is None:
        return _unnamed(head, name)
    if head.metadata.snapshot_by_id(snapshot_id) is None:
        raise NotFoundError(
            f"table {'.'.join(head.name())!r}: snapshot {snapshot_id} has expired, so tag {name!r} "
            "cannot name it"
        )
    kind = SnapshotRefType.TAG
    there = head.metadata.refs.get(name)
    if there is not None and there.snapshot_ref_type != kind:
        raise AlreadyExistsError(
            f"table {'.'.join(head.name())!r} has a branch {name!r}; take another name for the tag"
        )
    if there is not None and there.snapshot_id == snapshot_id:
        return []
    return [
        SetSnapshotRefUpdate.model_validate(
            {"ref-name": name, "type": kind.value, "snapshot-id": snapshot_id}
        )
    ]


def _unnamed(head: Table, name: str) -> list[TableUpdate]:
    updates: list[TableUpdate] = []
    there = head.metadata.refs.get(name)
    if there is not None and there.snapshot_ref_type == SnapshotRefType.TAG:
        updates.append(RemoveSnapshotRefUpdate.model_validate({"ref-name": name}))
    if f"{TAG_PREFIX}{name}" in head.properties:
        updates.append(RemovePropertiesUpdate(removals=[f"{TAG_PREFIX}{name}"]))
    return updates
