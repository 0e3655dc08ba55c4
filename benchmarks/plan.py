"""Planning reads of very many files, from their manifests to the groups of a Spark job."""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.snapshots.list_files import list_files
from arctic.iceberg.snapshots.pin import pin
from arctic.iceberg.tables.open_table import open_table
from arctic.job.read.asked_read import ReadSettings
from arctic.job.read.plan_rows import MOST_FILES, plan_rows, planned_without_pauses
from arctic.scan.scan_input import ScanInput, SetApart
from arctic.scan.task import ScanOptions
from arctic.table.filters.predicate import ColumnTest, Op, tests_of
from arctic.table.merge_engine import MergeEngine
from benchmarks.big_table import (
    NAME,
    hot_files,
    make_big_table,
    replace_some,
    scattered_files,
    spread_files,
)

OPTIONS = ScanOptions(
    weight_ratio=2.0,
    parallel_multiple=2,
    parallelism=64,
    target_bytes=128 * 2**20,
    open_file_cost_bytes=4 * 2**20,
    vector_min_rows=500_000,
)
KEY_ID = 1
ONE_PARTITION = ColumnTest(op=Op.EQ, field_id=2, column="part", literal=500)
_RUNS = 3
_FILES_A_CHANGE = 499
"""One in so many is replaced: one or more of each manifest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFigure:
    """What a plan took, in CPU seconds of a process that did nothing before."""

    files: int
    """Files that were not pruned with their partition."""
    pruned_manifests: int
    listing_seconds: float
    planning_seconds: float
    again_seconds: float | None
    """Opening the table and planning the same read another time; None: too many files to keep."""
    peak_bytes: int
    """Greatest resident memory of the process, Python and its libraries included."""

    @property
    def seconds(self) -> float:
        """Listing and planning together."""
        return self.listing_seconds + self.planning_seconds


def measure_plans(folder: Path, *, files: int) -> None:
    """Write tables of so many files and print what planning them takes.

    Args:
        folder: scratch space: about 50 bytes a file.
        files: in each table; writing a million of them takes minutes.
    """
    spread, hot = _catalog(folder / "spread"), _catalog(folder / "hot")
    scattered = _catalog(folder / "scattered")
    make_big_table(spread, lambda: spread_files(files))
    make_big_table(hot, lambda: hot_files(files))
    _print("1,000 partitions x 4 nodes, a third deletes", lambda: measure_plan(spread))
    _print("20,000 deletes in 4 nodes of one partition", lambda: measure_plan(hot))
    _print("1 of 1,000 partitions", lambda: measure_plan(spread, ONE_PARTITION))
    make_big_table(scattered, lambda: scattered_files(files))
    _print("the same, files in order of time", lambda: measure_plan(scattered, ONE_PARTITION))
    started = time.process_time()
    replace_some(scattered, islice(scattered_files(files), 0, None, _FILES_A_CHANGE))
    print(
        f"a commit that replaces files of all manifests: {time.process_time() - started:.2f} s CPU"
    )
    _print("the same, after that commit", lambda: measure_plan(scattered, ONE_PARTITION))


def _catalog(warehouse: Path) -> CatalogConfig:
    return CatalogConfig.from_options({"warehouse": str(warehouse)})


def measure_plan(config: CatalogConfig, row_filter: ColumnTest | None = None) -> PlanFigure:
    """Plan a table in a process of its own: nothing is cached, and its memory is the plan's."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=context) as executor:
        return executor.submit(_measure, config, row_filter).result()


def _measure(config: CatalogConfig, row_filter: ColumnTest | None) -> PlanFigure:
    opened = open_table(config, NAME)
    snapshot = pin(opened.refreshed())
    field_ids = {KEY_ID, *(test.field_id for test in tests_of(row_filter))}
    started = time.process_time()
    files = list_files(opened, snapshot, field_ids=field_ids, row_filter=row_filter)
    listed = time.process_time()
    pruned_manifests = files.pruned.manifests
    planned_without_pauses(
        ScanInput(
            table_name=NAME,
            is_merged_view=True,
            files=files,
            snapshot=snapshot,
            key=opened.table.key_columns,
            ordering=(),
            engine=MergeEngine.LAST_ROW,
            row_filter=row_filter,
            options=OPTIONS,
            set_apart=SetApart.NOTHING,
            takes_others=False,
            nodes=None,
        )
    )
    planned = time.process_time()
    peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 2**10
    count = len(files.base) + len(files.change)
    del files
    return PlanFigure(
        files=count,
        pruned_manifests=pruned_manifests,
        listing_seconds=listed - started,
        planning_seconds=planned - listed,
        again_seconds=None if count > MOST_FILES else _again(config, row_filter),
        peak_bytes=peak_bytes,
    )


def _again(config: CatalogConfig, row_filter: ColumnTest | None) -> float:
    settings = ReadSettings(
        division=OPTIONS, max_delete_bytes=2**28, verifies_pages=True, cache=None
    )
    for _ in range(2):
        started = time.process_time()
        opened = open_table(config, NAME)
        plan_rows(opened, pin(opened.refreshed()), settings, row_filter=row_filter)
    return time.process_time() - started


def _print(title: str, measure: Callable[[], PlanFigure]) -> None:
    """Print the median of some runs: of the CPU time, so that other programs count for less."""
    figure = sorted((measure() for _ in range(_RUNS)), key=lambda each: each.seconds)[_RUNS // 2]
    print(
        f"plan {title:<46} {figure.files:>9,} files  "
        f"list {figure.listing_seconds:6.2f} s + plan {figure.planning_seconds:6.2f} s CPU  "
        f"{figure.seconds / max(figure.files, 1) * 1e6:6.1f} us/file  "
        f"again {_told(figure.again_seconds)}  "
        f"{figure.peak_bytes / 2**20:,.0f} MiB peak  "
        f"{figure.pruned_manifests} manifests not opened",
        flush=True,
    )


def _told(seconds: float | None) -> str:
    return "as before" if seconds is None else f"{seconds:.3f} s"
