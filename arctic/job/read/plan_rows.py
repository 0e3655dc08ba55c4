"""The plan of a read, from a pinned state: which files, and what tasks want of each of them.

Plans of very many files are kept for whoever reads the same state of a table in the same way again.
Such a plan is made of files of two snapshots, which never change, and of what a read asks for. So
it holds for as long as both are the same, and a commit brings other snapshots.

Rules:
    - A kept plan is that of an equal question alone: the table as it is described, the snapshots,
      what is merged of them, the filter to its last bit, the division.
    - Small plans are made faster than they are worth keeping.

Memory: ``MOST_FILES`` files in all kept plans, of which each takes about a kilobyte.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from arctic.errors import InvalidInputError
from arctic.iceberg.metadata.gc_pause import collector_paused
from arctic.iceberg.snapshots.list_files import list_files
from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.values.name_mapping import NAME_MAPPING, mapped_ids
from arctic.job.read.asked_read import ReadSettings
from arctic.last_used import LastUsed
from arctic.mor.request import ReadRequest, RowValues
from arctic.scan.plan_scan import ScanPlan, plan_scan
from arctic.scan.scan_input import ScanInput, SetApart
from arctic.scan.store_files import StoreFiles
from arctic.table.filters.predicate import Predicate, tests_of
from arctic.table.merge_engine import MergeEngine
from arctic.table.snapshot import TableSnapshot
from arctic.tree.touched_nodes import TouchedNodes

BATCH_ROWS = 65_536
"""Rows a batch: measured as the fastest hand-over from Python to the JVM."""

LEAST_FILES = 2_000
MOST_FILES = 150_000
_MOST_STATES = MOST_FILES // LEAST_FILES
"""As many plans are kept at the most."""


def plan_rows(
    opened: OpenTable,
    snapshot: TableSnapshot,
    settings: ReadSettings,
    *,
    store: str = "merged",
    row_filter: Predicate | None = None,
    set_apart: SetApart = SetApart.NOTHING,
    takes_others: bool = False,
    nodes: TouchedNodes | None = None,
) -> ScanPlan:
    """List the files of a state, and plan the read of their rows.

    Args:
        opened: the table.
        snapshot: the state.
        settings: of the read.
        store: ``merged``, or ``base`` or ``change`` for the rows of one store alone.
        row_filter: rows that do not match are left out.
        set_apart: as for ``scan_opened``.
        takes_others: as for ``scan_opened``.
        nodes: as for ``scan_opened``.

    Raises:
        InvalidInputError: the change store of a table without a key.
    """
    if store == "change" and not opened.table.is_keyed:
        raise InvalidInputError(
            f"table {opened.table.name!r} has no primary key, hence no change store"
        )

    def planned() -> ScanPlan:
        return _planned(
            opened, snapshot, settings, store, row_filter, set_apart, takes_others, nodes
        )

    asked = (settings.division, store, row_filter, set_apart, takes_others, nodes)
    return KEPT_PLANS.of(opened, snapshot, asked, planned)


def _planned(
    opened: OpenTable,
    snapshot: TableSnapshot,
    settings: ReadSettings,
    store: str,
    row_filter: Predicate | None,
    set_apart: SetApart,
    takes_others: bool,
    nodes: TouchedNodes | None,
) -> ScanPlan:
    table = opened.table
    tested = (test.field_id for test in tests_of(row_filter))
    decide = (*table.key_columns, *table.order_columns)
    field_ids = {*(column.field_id for column in decide), *tested}
    files = list_files(
        opened,
        snapshot,
        field_ids=field_ids,
        row_filter=row_filter,
        # With ordering columns, rows that are merged can outdo others still.
        with_merged=store != "merged" or bool(table.order_columns),
    )
    asked = merged_input(
        opened,
        snapshot,
        files,
        settings,
        row_filter=row_filter,
        set_apart=set_apart,
        takes_others=takes_others,
        nodes=nodes,
    )
    if store != "merged":
        alone = files.of_base() if store == "base" else files.of_change()
        asked = replace(
            asked,
            is_merged_view=False,
            files=alone,
            key=(),
            ordering=(),
            engine=MergeEngine.LAST_ROW,
            set_apart=SetApart.NOTHING,
            nodes=None,
        )
    return planned_without_pauses(asked)


def merged_input(
    opened: OpenTable,
    snapshot: TableSnapshot,
    files: StoreFiles,
    settings: ReadSettings,
    *,
    row_filter: Predicate | None = None,
    set_apart: SetApart = SetApart.NOTHING,
    takes_others: bool = False,
    nodes: TouchedNodes | None = None,
) -> ScanInput:
    """Return what a plan of the merged view is made of.

    Args:
        opened: the table.
        snapshot: the state that the files are of.
        files: with bounds of the key and ordering columns, and of those that the filter tests.
        settings: of the read.
        row_filter: rows that do not match are left out.
        set_apart: as for ``scan_opened``.
        takes_others: as for ``scan_opened``.
        nodes: as for ``scan_opened``.
    """
    table = opened.table
    return ScanInput(
        table_name=table.name,
        is_merged_view=True,
        files=files,
        snapshot=snapshot,
        key=table.key_columns,
        ordering=table.order_columns,
        engine=table.merge_engine,
        row_filter=row_filter,
        options=settings.division,
        set_apart=set_apart,
        takes_others=takes_others,
        nodes=nodes,
    )


def planned_without_pauses(asked: ScanInput) -> ScanPlan:
    """Plan, while the cycle collector waits: a plan of many files is objects without a cycle."""
    with collector_paused():
        return plan_scan(asked)


def merge_request(
    opened: OpenTable,
    settings: ReadSettings,
    *,
    schema: pa.Schema,
    row_filter: Predicate | None,
    among: RowValues | None = None,
) -> ReadRequest:
    """Return what the tasks of a read want of every file.

    Args:
        opened: the table.
        settings: of the read.
        schema: exactly what every batch has.
        row_filter: rows that do not match are left out.
        among: rows without one of these values are not needed.

    Raises:
        InvalidInputError: a property of the table that is no name mapping.
    """
    text = opened.table.properties.get(NAME_MAPPING)
    return ReadRequest(
        schema=schema,
        key=pa.schema([opened.arrow_schema.field(name) for name in opened.table.primary_key]),
        key_types=tuple(column.type for column in opened.table.key_columns),
        ordering=pa.schema(
            [opened.arrow_schema.field(name) for name in opened.table.ordering_columns]
        ),
        engine=opened.table.merge_engine,
        fold=opened.table.fold,
        columns=opened.arrow_schema if opened.table.fold else pa.schema([]),
        row_filter=row_filter,
        among=among,
        max_delete_bytes=settings.max_delete_bytes,
        batch_rows=BATCH_ROWS,
        verifies_pages=settings.verifies_pages,
        name_mapping=mapped_ids(text) if text is not None else None,
        identity_partitions={
            field.source_id: place
            for place, field in enumerate(opened.table.partition_fields)
            if field.transform == "identity"
        },
    )


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
