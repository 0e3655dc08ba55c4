"""The loop that applies a batch of events: each table's share of them is committed once.

Rules:
    - What cannot be applied goes to the quarantine first: it is found again as long as its table
      has not committed.
    - Each table gets its share in one commit that names the batch; a batch that comes again is
      skipped by the tables that hold it.
    - The commits of all tables are asked for at once: see ``joint_commits``.

Must not know: where events come from.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from arctic.cdc.events import Events, refused
from arctic.cdc.rows.packed_messages import with_messages
from arctic.iceberg.commits.asking.joint_commits import commit_jointly
from arctic.job.mirror.write_changes import WriteRows, write_changes, write_here
from arctic.job.reference import TableReference
from arctic.table.streams.stream_batch import StreamBatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What one table takes of a batch."""

    reference: TableReference
    key: tuple[str, ...]
    is_ordered: bool
    """Whether the table has ordering columns."""
    batch: StreamBatch
    truncated: bool
    """The table is emptied before the rows."""
    rows: pa.Table
    """The table's columns, ``ACTION`` and ``ORDER``."""
    broken: pa.Table
    """``BROKEN``: events that do not fit into the table."""
    told: Mapping[str, str] = field(default_factory=dict)
    """Write options that say how far event time has come."""

    @property
    def is_committed(self) -> bool:
        """Whether there is something to write: else the table does not learn of the batch."""
        return self.truncated or self.rows.num_rows > 0

    def commit(self, write: WriteRows) -> None:
        """Write it, unless the table holds the batch already."""
        write_changes(
            self.reference,
            self.rows,
            key=self.key,
            is_ordered=self.is_ordered,
            batch=self.batch,
            truncated=self.truncated,
            told=self.told,
            write=write,
        )


def apply_events(
    found: Events,
    *,
    sources: Collection[str],
    share_of: Callable[[str, pa.Table], Share | None],
    stranger: str,
    quarantine: Callable[[Sequence[tuple[str | None, pa.Table]]], int],
    write: WriteRows,
) -> int:
    """Apply the events of a batch; return how many were put into the quarantine.

    Args:
        found: the batch.
        sources: those that a table follows.
        share_of: returns what the table of a source takes of its events; None: it holds them.
        stranger: why events of any other source are refused.
        quarantine: commits ``BROKEN`` events, each with the source whose table they do not fit into
            (None: they fit into none), and returns how many were new.
        write: carries writes out.
    """
    shares: list[Share] = []
    broken: list[tuple[str | None, pa.Table]] = [(None, found.broken)]
    named = pc.fill_null(found.events["source"], "")
    there = pc.unique(named).to_pylist()
    for source in there:
        events = found.events
        if len(there) > 1:
            events = events.filter(pc.equal(named, source))
        if source not in sources:
            broken.append((None, refused(with_messages(events, found.unread), stranger)))
            continue
        share = share_of(source, events)
        if share is not None:
            shares.append(share)
            broken.append((source, share.broken))
    quarantined = quarantine(broken)
    if write is write_here:
        commit_jointly([partial(share.commit, write) for share in shares])
    else:  # Spark commits in a process of its own.
        for share in shares:
            share.commit(write)
    return quarantined
