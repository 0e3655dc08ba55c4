"""Planning on the newest state of a table, begun anew where that state expires under it.

A state that is pinned is complete for as long as its snapshots are there. With short durations a
commit and an expiry can come between pinning it and reading its files. Nothing is decided by then,
so whoever wanted the newest state takes the one that is newest now.

Rules:
    - Only a file that is gone while the table has moved on is a reason. A file that is gone from a
      table that stands still is damage, and is told as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from arctic.errors import ConflictError, StorageError
from arctic.iceberg.snapshots.pinned_state import has_expired
from arctic.iceberg.storage.table_io import is_file_gone
from arctic.iceberg.tables.open_table import OpenTable
from arctic.retry import WHERE_OUTRUN
from arctic.table.snapshot import TableSnapshot

T = TypeVar("T")


def on_newest_state(
    opened: OpenTable,
    plan: Callable[[OpenTable], T],
    *,
    again: Callable[[OpenTable], OpenTable] = OpenTable.refreshed,
) -> T:
    """Carry out a plan that pins the newest state, again where that state expires meanwhile.

    Args:
        opened: the table, opened or refreshed just now.
        plan: may be called several times, with the table as it is by then.
        again: returns the table as it is now, after a failure.

    Raises:
        ConflictError: every state expired before it was planned on.
        StorageError: a file is gone, and not because the table has moved on.
    """
    for _ in WHERE_OUTRUN.tries():
        began = _heads(opened)
        try:
            return plan(opened)
        except StorageError as error:
            if not is_file_gone(error):
                raise
            opened = again(opened)
            if _heads(opened) == began:
                raise
            gone = error
    raise ConflictError(
        f"table {opened.table.name!r}: {WHERE_OUTRUN.most_tries} states of it expired while they "
        "were looked at; keep snapshots longer (snapshot.keep.duration, change.data.ttl.minutes), "
        "and try again"
    ) from gone


def expired_under(
    opened: OpenTable, snapshot: TableSnapshot | None, error: StorageError
) -> ConflictError | None:
    """Return what to say where a file is gone because the state it belongs to has expired.

    Args:
        opened: the table; its stores are refreshed.
        snapshot: the state that was read; None: every change between two positions.
        error: what its reader met.

    Returns:
        None where the state is still there: then the file was not expired.
    """
    if not is_file_gone(error):
        return None
    if snapshot is None:
        began = _heads(opened)
        is_expired = _heads(opened.refreshed()) != began
    else:
        is_expired = has_expired(opened, snapshot)
    if not is_expired:
        return None
    return ConflictError(
        f"table {opened.table.name!r}: the state that this read began with expired while it was "
        "read; read again, and keep snapshots longer than reads take with table properties "
        "snapshot.keep.duration and change.data.ttl.minutes"
    )


def _heads(opened: OpenTable) -> tuple[int | None, ...]:
    stores = [store for store in (opened.base, opened.change) if store is not None]
    return tuple(store.metadata.current_snapshot_id for store in stores)
