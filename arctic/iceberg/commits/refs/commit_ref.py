"""One branch or tag of a store, or of both, made, moved or taken away in a commit of metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import Any

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from pyiceberg.table.update import AssertRefSnapshotId, AssertTableUUID, TableUpdate

from arctic.errors import ConflictError
from arctic.iceberg.catalogs.over_http.at_once import commit_at_once, takes_at_once
from arctic.iceberg.catalogs.read_only import check_writable
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.catalogs.staged_metadata import TableCommit
from arctic.iceberg.commits.asking.staged_snapshot import commit_metadata
from arctic.iceberg.commits.commit_loop import commit_policy
from arctic.iceberg.translate import catalog_errors

Plan = Callable[[Table], list[TableUpdate]]
"""Says of a fresh head what changes; nothing where all is as it is to be."""


def commit_refs(plans: Sequence[tuple[Table, Plan]], kind: str, name: str) -> bool:
    """Commit to stores what their plans say: at once where the catalog takes that, else in order.

    Args:
        plans: of each store.
        kind: as for ``commit_ref``, and the rest too.
        name: of the tag or branch.
    """
    stores = [store for store, _ in plans]
    if not takes_at_once(stores):
        found = [commit_ref(store, kind, name, plan) for store, plan in plans]
        return any(found)
    check_writable(stores[0].catalog)
    heads = [(copy(store), plan) for store, plan in plans]

    def planned() -> list[TableCommit]:
        found = [(head, tuple(plan(refresh(head)))) for head, plan in heads]
        return [
            TableCommit(table=head, requirements=tuple(_required(head, name)), updates=updates)
            for head, updates in found
            if updates
        ]

    policy, action = commit_policy(stores[0].properties), f"change {kind} {name!r} of both stores"
    committed = commit_at_once(stores, planned, policy=policy, action=action)
    if committed is None:
        raise _lost(stores[0], kind, name)
    return committed


def commit_ref(store: Table, kind: str, name: str, plan: Plan) -> bool:
    """Commit what a plan says of a fresh head, planned anew on every attempt.

    Args:
        store: names the store; it is not changed.
        kind: ``tag`` or ``branch``, for messages.
        name: of the tag or branch.
        plan: returns what changes; nothing where all is as it is to be.

    Returns:
        False where there was nothing to do.

    Raises:
        ConflictError: other commits won every retry.
        StorageError: the catalog cannot be reached.
    """
    check_writable(store.catalog)
    head = copy(store)
    policy = commit_policy(head.properties)
    for _ in policy.tries():
        refresh(head)
        updates = plan(head)
        if not updates:
            return False
        if _committed(head, kind, name, updates):
            return True
    raise _lost(store, kind, name)


def _lost(store: Table, kind: str, name: str) -> ConflictError:
    return ConflictError(
        f"table {'.'.join(store.name())!r}: other commits won every attempt to change {kind} "
        f"{name!r}; call again"
    )


def _required(head: Table, name: str) -> list[Any]:
    there = head.metadata.refs.get(name)
    requirements: list[Any] = [AssertTableUUID(uuid=head.metadata.table_uuid)]
    if head.metadata.snapshots:  # without any there can be no ref, and PyIceberg refuses to ask
        requirements.append(
            AssertRefSnapshotId.model_validate(
                {"ref": name, "snapshot-id": None if there is None else there.snapshot_id}
            )
        )
    return requirements


def _committed(head: Table, kind: str, name: str, updates: Iterable[TableUpdate]) -> bool:
    with catalog_errors(f"change {kind} {name!r} of {'.'.join(head.name())!r}"):
        try:
            commit_metadata(head, updates=updates, requirements=_required(head, name))
        except CommitFailedException:
            return False
    return True
