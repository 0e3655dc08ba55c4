"""What others did to the files of base between the beginning of a write and its commit.

Rules:
    - Commits that follow one another are looked at together: what came and went again is none.
    - A commit that only puts files in the place of others with the same rows is no change.
    - What cannot be found out any more counts as a change.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby, takewhile

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot

from arctic.errors import ConflictError
from arctic.iceberg.commits.staging import live_files_of
from arctic.iceberg.metadata.history import lineage, reaches_beginning
from arctic.table.files import Partition

_PRODUCER = "snapshot.producer"


def check_unchanged(
    head: Table,
    since: int | None,
    *,
    concerns: Callable[[Partition], bool],
    merges_count: bool,
) -> None:
    """Refuse to replace partitions whose rows others have changed since a snapshot.

    Args:
        head: the base store, as it is now.
        since: the snapshot that was current when the write began; None: there was none.
        concerns: whether a partition is replaced.
        merges_count: whether a run of optimizing that merged changes is one. It need not be where
            the changes that are in base afterwards are compared by their sequence number.

    Raises:
        ConflictError: rows of such a partition came or went.
        StorageError: a manifest cannot be read.
    """
    ancestry = lineage(head.metadata, head.current_snapshot())
    later = list(takewhile(lambda each: each.snapshot_id != since, ancestry))
    is_known = len(later) < len(ancestry)
    if not is_known and (since is not None or not reaches_beginning(head.metadata, ancestry)):
        raise _conflict(head, "what was committed meanwhile has expired")
    before: list[Snapshot | None] = [*ancestry[1:], None][: len(later)]
    for keeps, stretch in groupby(
        zip(later, before, strict=True),
        key=lambda pair: _keeps_rows(pair[0], merges_count=merges_count),
    ):
        if keeps:
            continue
        pairs = list(stretch)
        newest, oldest = pairs[0][0], pairs[-1][1]
        changed = live_files_of(head, newest).items() ^ live_files_of(head, oldest).items()
        found = sorted({repr(list(each)) for _, each in changed if concerns(each)})
        if found:
            raise _conflict(
                head, f"commits up to snapshot {newest.snapshot_id} changed partition {found[0]}"
            )


def _keeps_rows(snapshot: Snapshot, *, merges_count: bool) -> bool:
    summary = snapshot.summary
    if summary is None:
        return False
    if summary.operation is Operation.REPLACE:
        return True
    return not merges_count and summary[_PRODUCER] == "OPTIMIZE"


def _conflict(head: Table, what: str) -> ConflictError:
    return ConflictError(
        f"table {'.'.join(head.name())!r}: {what} since this overwrite began, which would "
        "lose what they did; write again"
    )
