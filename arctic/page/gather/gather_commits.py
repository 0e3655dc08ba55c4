"""The commits of a table, its runs of optimizing, and how fresh each side of it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import datetime
from typing import Any

from arctic.page.facts.table_facts import CommitFacts, Freshness, Run
from arctic.table.property_names import OPTIMIZE_TYPE
from arctic.table.streams.watermark import Watermarks


def gather_commits(snapshots: Iterable[Mapping[str, Any]]) -> tuple[CommitFacts, ...]:
    """Return the commits that the stores remember, oldest first.

    Args:
        snapshots: rows of the metadata table ``snapshots``.
    """
    rows = [(row, dict(row["summary"])) for row in snapshots]
    commits = [
        CommitFacts(
            store=row["store"],
            at_ms=_milliseconds(row["committed_at"]),
            snapshot_id=row["snapshot_id"],
            operation=row["operation"] or "unknown",
            added_rows=_count(summary, "added-records") or 0,
            data_files=_count(summary, "total-data-files"),
            delete_files=_count(summary, "total-delete-files"),
            optimized=summary.get(OPTIMIZE_TYPE),
        )
        for row, summary in rows
    ]
    return tuple(sorted(commits, key=lambda commit: (commit.at_ms, commit.store)))


def gather_runs(snapshots: Iterable[Mapping[str, Any]]) -> tuple[Run, ...]:
    """Return the runs of optimizing that the base store remembers, newest first."""
    runs = []
    for row in snapshots:
        summary = dict(row["summary"])
        if OPTIMIZE_TYPE in summary:
            runs.append(
                Run(
                    at_ms=_milliseconds(row["committed_at"]),
                    types=summary[OPTIMIZE_TYPE],
                    files_removed=_count(summary, "deleted-data-files") or 0,
                    files_added=_count(summary, "added-data-files") or 0,
                    bytes_added=_count(summary, "added-files-size") or 0,
                )
            )
    return tuple(sorted(runs, key=lambda run: -run.at_ms))


def commit_times(snapshots: Iterable[Mapping[str, Any]]) -> dict[int, int]:
    """Return when each sequence number of the change store was committed."""
    return {
        row["sequence_number"]: _milliseconds(row["committed_at"])
        for row in snapshots
        if row["store"] == "change"
    }


def gather_freshness(
    commits: Sequence[CommitFacts],
    waiting: Set[int],
    times: Mapping[int, int],
    known: Watermarks,
    *,
    base_watermark_ms: int | None,
) -> Freshness:
    """Say how far each side of a table has come.

    Args:
        commits: of both stores, oldest first.
        waiting: sequence numbers that base does not hold.
        times: when each was committed, as far as that is known.
        known: the watermarks of the table and of its writers.
        base_watermark_ms: that of base alone.
    """
    view_ms = max((each.at_ms for each in commits if each.optimized is None), default=None)
    oldest = min(waiting, default=None)
    return Freshness(
        view_ms=view_ms,
        base_ms=view_ms if oldest is None else times.get(oldest),
        unmerged_commits=len(waiting),
        merged_ms=max((each.at_ms for each in commits if each.optimized), default=None),
        table_watermark_ms=known.table_ms,
        base_watermark_ms=base_watermark_ms,
        writers=tuple(sorted(known.writers.items())),
    )


def _count(summary: Mapping[str, str], name: str) -> int | None:
    text = summary.get(name, "")
    return int(text) if text.isdecimal() else None


def _milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1_000)
