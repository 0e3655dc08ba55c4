"""A state of a table, made a table of its own by reference to the same files.

Rules:
    - A state that expires while it is cloned is pinned anew: the newest one, or what a version is
      called. A source that is gone by then is told of.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from arctic.errors import ConflictError
from arctic.iceberg.cloning.clone_pair import clone_pair
from arctic.iceberg.values.names import parse_identifier
from arctic.job.past_state import PastState
from arctic.job.reference import TableReference
from arctic.retry import WHERE_OUTRUN


@dataclass(frozen=True, slots=True, kw_only=True)
class CloneReport:
    """The two tables of a clone, and the state in which they parted."""

    table: str
    """The source."""
    target: str
    base_snapshot_id: int | None
    """The snapshots of the source that it begins with; None: the store had none."""
    change_snapshot_id: int | None
    seconds: float

    def __str__(self) -> str:
        """Return a line for a terminal."""
        return (
            f"{self.target}: cloned {self.table} at base snapshot {self.base_snapshot_id}, change "
            f"snapshot {self.change_snapshot_id} in {self.seconds:.1f} s; no data file was written"
        )


def clone_table(reference: TableReference, target: str, moment: PastState) -> CloneReport:
    """Make a table that begins with the rows of another one.

    Args:
        reference: the source.
        target: ``namespace.table``, in the same catalog.
        moment: the state; the newest one if it says nothing.

    Raises:
        AlreadyExistsError: the name is taken.
        NotFoundError: an unknown table, or a state that is unknown or has expired.
        UnsupportedError: a view, or a table of format version 3.
        ConflictError: the state expired in every attempt.
        CommitStateUnknownError: the catalog did not answer; look whether the clone is there.
    """
    started = time.monotonic()
    name = ".".join(parse_identifier(target))
    for _ in WHERE_OUTRUN.tries():
        opened = reference.open(for_writing=True)
        state = moment.pinned(opened)
        try:
            clone_pair(opened, state, name)
        except ConflictError as error:
            outrun = error
            continue
        return CloneReport(
            table=opened.table.name,
            target=name,
            base_snapshot_id=state.base_snapshot_id,
            change_snapshot_id=state.change_snapshot_id,
            seconds=time.monotonic() - started,
        )
    raise ConflictError(
        f"table {reference.identifier!r}: it changed in {WHERE_OUTRUN.most_tries} attempts to "
        f"clone it; clone it again ({outrun.message})"
    ) from outrun
