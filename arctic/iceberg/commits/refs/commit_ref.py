"""One branch or tag of a store, made, moved or taken away in one commit of metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from typing import Any

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from pyiceberg.table.update import AssertRefSnapshotId, AssertTableUUID, TableUpdate

from arctic.errors import ConflictError
from arctic.iceberg.catalogs.read_only import check_writable
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.commits.commit_loop import commit_policy
from arctic.iceberg.commits.snapshot_producer import commit_metadata
from arctic.iceberg.translate import catalog_errors


def commit_ref(
    store: Table, kind: str, name: str, plan: Callable[[Table], list[TableUpdate]]
) -> bool:
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
    raise ConflictError(
        f"table {'.'.join(store.name())!r}: other commits won every attempt to change {kind} "
        f"{name!r}; call again"
    )


def _committed(head: Table, kind: str, name: str, updates: Iterable[TableUpdate]) -> bool:
    there = head.metadata.refs.get(name)
    requirements: list[Any] = [AssertTableUUID(uuid=head.metadata.table_uuid)]
    if head.metadata.snapshots:  # without any there can be no ref, and PyIceberg refuses to ask
        requirements.append(
            AssertRefSnapshotId.model_validate(
                {"ref": name, "snapshot-id": None if there is None else there.snapshot_id}
            )
        )
    with catalog_errors(f"change {kind} {name!r} of {'.'.join(head.name())!r}"):
        try:
            commit_metadata(head, updates=updates, requirements=requirements)
        except CommitFailedException:
            return False
        except ValueError as error:
            if "does not exist" not in str(error):
                raise
            return False  # the snapshot has expired meanwhile, which the next look says
    return True
