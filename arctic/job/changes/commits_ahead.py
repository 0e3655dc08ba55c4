"""How far a place in the changes of a table is behind its newest commit."""

from __future__ import annotations

from dataclasses import dataclass

from arctic.iceberg.metadata.history import UPKEEP, lineage, producer_of
from arctic.iceberg.snapshots.change_log import head_sequence, stream_store
from arctic.iceberg.tables.open_table import OpenTable


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitsAhead:
    """What is ahead of a place."""

    commits: int
    """Of writers, not of upkeep; those that nobody knows any more count as a writer's."""
    rows: int
    """In the commits that are known."""
    behind_ms: int
    """How old the oldest of these is."""


def commits_ahead(opened: OpenTable, done: int, *, now_ms: int) -> CommitsAhead:
    """Return what is ahead of a place.

    Args:
        opened: the table.
        done: sequence number of its stream's store, inclusive.
        now_ms: milliseconds since 1970-01-01 UTC.
    """
    store = stream_store(opened)
    commits = lineage(store.metadata, store.current_snapshot())
    known = [each for each in commits if (each.sequence_number or 0) > done]
    ahead = [each for each in known if producer_of(each) not in UPKEEP]
    unknown = max(head_sequence(store) - done - len(known), 0)
    return CommitsAhead(
        commits=len(ahead) + unknown,
        rows=sum(int(each.summary["added-records"] or 0) for each in ahead if each.summary),
        behind_ms=now_ms - ahead[-1].timestamp_ms if ahead else 0,
    )
