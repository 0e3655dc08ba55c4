"""When rows were written to a table last.

Rules:
    - What adds or removes no file is no write, as the first snapshot of a clone, or of the change
      store of a table that was adopted again. Nor is upkeep.
    - A restore begins anew: neither it nor what came before it counts. Rows that came back may be
      older than all that they were hidden by.
"""

from __future__ import annotations

from itertools import takewhile

from pyiceberg.table.snapshots import Snapshot

from arctic.iceberg.metadata.history import UPKEEP, lineage, producer_of
from arctic.iceberg.tables.open_table import OpenTable
from arctic.table.property_names import RESTORED_FROM, RESTORED_OVER_CHANGES

_CHANGES_OF_FILES = (
    *("added-data-files", "added-delete-files"),
    *("deleted-data-files", "removed-delete-files"),
)


def last_write_ms(opened: OpenTable) -> int | None:
    """Return when rows were written last, in ms since 1970-01-01 UTC; not those of a branch.

    None: since the table was made, cloned or restored there was no write that its stores know of.
    """
    base = opened.base
    newest_first = lineage(base.metadata, base.current_snapshot())
    found = list(takewhile(lambda each: not _restores(each), newest_first))
    if opened.change is not None:
        change, hidden = opened.change, int(base.properties.get(RESTORED_OVER_CHANGES, 0))
        changes = lineage(change.metadata, change.current_snapshot())
        found += [each for each in changes if (each.sequence_number or 0) > hidden]
    return max((each.timestamp_ms for each in found if _is_write(each)), default=None)


def _restores(snapshot: Snapshot) -> bool:
    return snapshot.summary is not None and snapshot.summary[RESTORED_FROM] is not None


def _is_write(snapshot: Snapshot) -> bool:
    summary = snapshot.summary
    if summary is None or producer_of(snapshot) in UPKEEP:
        return False
    return any(summary[name] is not None for name in _CHANGES_OF_FILES)
