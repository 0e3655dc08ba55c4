"""Plans of very many files, kept for whoever reads the same state of a table in the same way again.

A plan is made of files of two snapshots, which never change, and of what a read asks for. So it
holds for as long as both are the same, and a commit brings other snapshots.

Rules:
    - A plan is that of an equal question alone: the table as it is described, the snapshots, what
      is merged of them, the filter to its last bit, the division.
    - Small plans are made faster than they are worth keeping.

Memory: ``MOST_FILES`` files in all plans, of which each takes about a kilobyte.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from arctic.iceberg.tables.open_table import OpenTable
from arctic.last_used import LastUsed
from arctic.scan.plan_scan import ScanPlan
from arctic.table.snapshot import TableSnapshot

LEAST_FILES = 2_000
MOST_FILES = 150_000
_MOST_STATES = MOST_FILES // LEAST_FILES
"""As many plans are kept at the most."""


class KeptPlans:
    """The plans that were used last; safe for threads and forks."""

    def __init__(self, *, least_files: int, most_files: int) -> None:
        self._least_files = least_files
        self._most_files = most_files
        self._plans: LastUsed[bytes, ScanPlan] = LastUsed()
        self._states: tuple[tuple[int | None, int | None], ...] = ()
        """The newest of those that plans were kept of; replaced as a whole, for other threads."""

    def of(
        self,
        opened: OpenTable,
        snapshot: TableSnapshot,
        asked: tuple[Any, ...],
        make: Callable[[], ScanPlan],
    ) -> ScanPlan:
        """Return the plan of a read.

        Args:
            opened: the table.
            snapshot: the state that is read.
            asked: everything else that the plan depends on; pickles.
            make: plans; its errors come through.
        """
        question = None
        state = (snapshot.base_snapshot_id, snapshot.change_snapshot_id)
        # Few tables have plans that are kept, and to put a question takes a part of a small read.
        if state in self._states:
            question = _question(opened, asked)
            kept = self._plans.get(question)
            if kept is not None and kept.snapshot == snapshot:
                return kept
        plan = make()
        files = plan.considered_files
        if files >= self._least_files:
            question = question or _question(opened, asked)
            self._plans.put(question, plan, weight=files, most=self._most_files)
            if state not in self._states:
                self._states = (*self._states[1 - _MOST_STATES :], state)
        return plan


KEPT_PLANS = KeptPlans(least_files=LEAST_FILES, most_files=MOST_FILES)
"""Of this process."""


def _question(opened: OpenTable, asked: tuple[Any, ...]) -> bytes:
    return pickle.dumps((_identity(opened), asked))


def _identity(opened: OpenTable) -> tuple[Any, ...]:
    """Return what tells a table, and what its files are taken to be, from others."""
    stores = (opened.base,) if opened.change is None else (opened.base, opened.change)
    return (
        opened.table,
        *((store.metadata.table_uuid, store.metadata.default_spec_id) for store in stores),
        opened.base.metadata.current_schema_id,
    )
