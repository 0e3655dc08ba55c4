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

import os
import pickle
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from arctic.iceberg.tables.open_table import OpenTable
from arctic.scan.plan_scan import ScanPlan
from arctic.table.snapshot import TableSnapshot

LEAST_FILES = 2_000
MOST_FILES = 150_000


class KeptPlans:
    """The plans that were used last; safe for threads and forks."""

    def __init__(self, *, least_files: int, most_files: int) -> None:
        self._least_files = least_files
        self._most_files = most_files
        self._forget()
        if hasattr(os, "register_at_fork"):
            # The lock may be held by a thread that the child does not have.
            os.register_at_fork(after_in_child=self._forget)

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
        question = pickle.dumps((_identity(opened), asked))
        with self._lock:
            kept = self._kept.get(question)
            if kept is not None and kept.snapshot == snapshot:
                self._kept.move_to_end(question)
                return kept
        plan = make()
        if self._least_files <= plan.considered_files <= self._most_files:
            with self._lock:
                self._put(question, plan)
        return plan

    def _put(self, question: bytes, plan: ScanPlan) -> None:
        before = self._kept.pop(question, None)
        self._files += plan.considered_files - (before.considered_files if before else 0)
        self._kept[question] = plan
        while self._files > self._most_files:
            _, oldest = self._kept.popitem(last=False)
            self._files -= oldest.considered_files

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[bytes, ScanPlan] = OrderedDict()
        self._files = 0


KEPT_PLANS = KeptPlans(least_files=LEAST_FILES, most_files=MOST_FILES)
"""Of this process."""


def _identity(opened: OpenTable) -> tuple[Any, ...]:
    """Return what tells a table, and what its files are taken to be, from others."""
    stores = (opened.base,) if opened.change is None else (opened.base, opened.change)
    return (
        opened.table,
        *((store.metadata.table_uuid, store.metadata.default_spec_id) for store in stores),
        opened.base.metadata.current_schema_id,
    )
