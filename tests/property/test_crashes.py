"""A process is killed at every step of a write, an optimizing or a cleaning: nothing is lost."""

from __future__ import annotations

import multiprocessing
import os
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pyarrow as pa
import pytest
from pyiceberg.table import StaticTable, Table

import arctic
from arctic.iceberg.catalog import CatalogConfig, open_catalog
from arctic.job.run_tasks import LocalRunner
from tests.property.crash_steps import in_child, killed_at, kinds_of_steps

SCHEMA = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), ("region", pa.string()), ("by", pa.string())]
)
AT_ONCE = {
    "change.data.ttl.minutes": "0",
    "snapshot.keep.duration": "0",
    "clean-orphan-file.min-existing-time-minutes": "0",
}
# No file is so small that it counts as a fragment: a minor writes position deletes for it.
PROPERTIES = {
    "base.file-index.hash-bucket": "2",
    "change.file-index.hash-bucket": "1",
    "self-optimizing.fragment-ratio": "1000000",
    "self-optimizing.major.trigger.duplicate-ratio": "0.01",
}
CI_STRIDE = 12
Rows = list[tuple[Any, ...]]


def rows_of(numbers: range, by: str, shift: int = 0) -> pa.Table:
    """Return one row for each number; another shift moves them to the other region."""
    regions = ["eu", "us"]
    rows = [{"id": n, "region": regions[(n + shift) % 2], "by": by} for n in numbers]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def keys_of(numbers: range) -> pa.Table:
    """Return the keys alone."""
    return rows_of(numbers, "").select(["id"])


def prepare(lake: str) -> None:
    """Make a table with segments, position deletes and unmerged changes."""
    table = arctic.create_table(
        "c.t",
        SCHEMA,
        primary_key=["id"],
        partition_by=["region"],
        properties=PROPERTIES,
        warehouse=lake,
    )
    table.write(rows_of(range(24), "first"), mode="overwrite")
    table.write(rows_of(range(4), "second"), mode="upsert")
    table.optimize(type="minor")
    table.write(rows_of(range(3, 9), "third", shift=1), mode="upsert")
    table.write(keys_of(range(8, 11)), mode="delete")
    kinds = Counter(table.inspect("files").column("kind").to_pylist())
    assert kinds.keys() == {"B", "PD", "I", "ED"}, kinds


def upsert(table: arctic.Table) -> None:
    """Rows of base, of changes and new ones; some move."""
    table.write(rows_of(range(2, 30, 3), "upsert", shift=1), mode="upsert")


def delete(table: arctic.Table) -> None:
    """Keys of base, of changes and of nobody."""
    table.write(keys_of(range(0, 40, 4)), mode="delete")


def overwrite(table: arctic.Table) -> None:
    """Everything is replaced."""
    table.write(rows_of(range(15, 27), "overwrite"), mode="overwrite")


def minor(table: arctic.Table) -> None:
    """Changes become base files and position deletes."""
    table.optimize(type="minor", runner=LocalRunner(1))


def major(table: arctic.Table) -> None:
    """Worn segments are rewritten too."""
    table.optimize(type="major", runner=LocalRunner(1))


def full(table: arctic.Table) -> None:
    """Everything is rewritten."""
    table.optimize(type="full", runner=LocalRunner(1))


def expire(table: arctic.Table) -> None:
    """All of the past goes, and what nobody refers to."""
    table.expire(options=AT_ONCE)


OPERATIONS: tuple[Callable[[arctic.Table], None], ...] = (
    upsert, delete, overwrite, minor, major, full, expire,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What can be read of a table."""

    rows: Rows
    """The merged view."""
    base: Rows
    """The base store alone, as PyIceberg reads it."""


@dataclass(slots=True, kw_only=True)
class Findings:
    """What the steps of one operation did to its table."""

    operation: str
    steps: int
    killed: int = 0
    lost: int = 0
    doubled: int = 0
    faults: list[str] = field(default_factory=list)


def run(operation: Callable[[arctic.Table], None], lake: str) -> None:
    """Open the table and do something to it."""
    operation(arctic.open_table("c.t", warehouse=lake))


def stores(lake: str) -> list[Table]:
    """Load both stores, past Arctic."""
    catalog = open_catalog(CatalogConfig.from_options({"warehouse": lake}))
    return [catalog.load_table(name) for name in sorted(catalog.list_tables("c"))]


def look(lake: str) -> State:
    """Read a table."""
    base = StaticTable.from_metadata(stores(lake)[0].metadata_location)
    return State(
        rows=as_rows(arctic.read("c.t", warehouse=lake).read_all()),
        base=as_rows(base.scan().to_arrow()),
    )


def as_rows(table: pa.Table) -> Rows:
    """Return rows in a defined order."""
    return sorted((row["id"], row["region"], row["by"]) for row in table.to_pylist())


def reachable(lake: str) -> set[str]:
    """Return the files that the metadata of both stores refers to, as PyIceberg reads it."""
    paths: set[str] = set()
    for store in stores(lake):
        metadata = store.metadata
        paths.add(store.metadata_location)
        paths.update(entry.metadata_file for entry in metadata.metadata_log)
        paths.update(entry.statistics_path for entry in metadata.statistics)
        paths.update(snapshot.manifest_list for snapshot in metadata.snapshots)
        for snapshot in metadata.snapshots:
            for manifest in snapshot.manifests(store.io):
                paths.add(manifest.manifest_path)
                entries = manifest.fetch_manifest_entry(store.io, discard_deleted=True)
                paths.update(entry.data_file.file_path for entry in entries)
    return {urlparse(path).path for path in paths}


def on_disk(lake: str) -> set[str]:
    """Return the files in the folders of both stores."""
    return {str(path) for path in Path(lake, "c").rglob("*") if path.is_file()}


class Inquest:
    """Looks at a table whose writer was killed."""

    def __init__(
        self,
        lake: str,
        operation: Callable[[arctic.Table], None],
        before: State,
        after: State,
        findings: Findings,
        step: int,
    ) -> None:
        self._lake = lake
        self._operation = operation
        self._before = before
        self._after = after
        self.findings = findings
        self._step = step

    def hold(self) -> Findings:
        """Check everything; return what was found, because this runs in a child."""
        self._check(look(self._lake), self._before, self._after)
        # Every other time the leftovers are cleaned up before anybody writes again.
        if self._step % 2:
            self._check_cleaning(self._before, self._after)
        run(self._operation, self._lake)
        self._check(look(self._lake), self._after)
        self._check_cleaning(self._after)
        return self.findings

    def _check_cleaning(self, *allowed: State) -> None:
        run(expire, self._lake)
        self._check(look(self._lake), *allowed)
        found, needed = on_disk(self._lake), reachable(self._lake)
        for what, paths in (("left", found - needed), ("missing", needed - found)):
            if paths:
                self.fault(f"{len(paths)} files are {what}, such as {min(paths)}")

    def _check(self, state: State, *allowed: State) -> None:
        if state in allowed:
            return
        numbers = Counter(row[0] for row in state.rows)
        nearest = min(allowed, key=lambda each: len(set(each.rows) - set(state.rows)))
        self.findings.lost += len(set(nearest.rows) - set(state.rows))
        self.findings.doubled += sum(count - 1 for count in numbers.values())
        self.fault(f"{state} is none of {allowed}")

    def fault(self, text: str) -> None:
        """Note what is wrong."""
        self.findings.faults.append(
            f"{self.findings.operation} killed at step {self._step}: {text}"
        )


def hold_inquest(inquest: Inquest) -> Findings:
    """Look at the table in a child; what it raises is a fault too."""
    try:
        found = in_child(inquest.hold)
    except AssertionError as error:
        inquest.fault(str(error))
        return inquest.findings
    assert found is not None
    return found


def crash_everywhere(folder: str, number: int, stride: int) -> Findings:
    """Kill one operation at every so many steps, each time on the same table.

    The folder stays the same too, because metadata names absolute paths.
    """
    operation = OPERATIONS[number]
    lake, saved = f"{folder}/lake", f"{folder}/saved"
    in_child(lambda: prepare(lake))
    shutil.copytree(lake, saved)
    before, files = in_child(lambda: look(lake)), len(on_disk(lake))
    kinds = kinds_of_steps(lambda: run(operation, lake))
    assert kinds.count("create") - kinds.count("delete") == len(on_disk(lake)) - files
    done = in_child(lambda: look(lake))
    assert before is not None
    assert done is not None
    findings = Findings(operation=operation.__name__, steps=len(kinds))
    # Another offset for each operation. What decides is never left out: the steps before and after
    # a COMMIT or a deletion.
    decisive = {
        step
        for at, kind in enumerate(kinds, start=1)
        if kind in ("commit", "delete")
        for step in (at, at + 1)
    }
    for step in range(1, len(kinds) + 1):
        if step not in decisive and (step + number) % stride:
            continue
        shutil.rmtree(lake)
        shutil.copytree(saved, lake)
        findings.killed += killed_at(step, lambda: run(operation, lake))
        findings = hold_inquest(Inquest(lake, operation, before, done, findings, step))
    return findings


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forked processes")
def test_a_crash_at_any_step_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """Read after it, the table is as before or as after; done again, all is as after.

    Steps are left out at a fixed stride, and none with HYPOTHESIS_PROFILE=deep. Afterwards a
    cleaning leaves exactly the files that the metadata refers to.
    """
    stride = 1 if os.environ.get("HYPOTHESIS_PROFILE") == "deep" else CI_STRIDE
    places = [tmp_path / operation.__name__ for operation in OPERATIONS]
    for place in places:
        place.mkdir()
    # Spawned, so that what forks has neither threads nor connections of other tests.
    with multiprocessing.get_context("spawn").Pool(2, maxtasksperchild=1) as pool:
        tasks = [(str(place), number, stride) for number, place in enumerate(places)]
        found = pool.starmap(crash_everywhere, tasks, chunksize=1)

    print(
        f"crashes: {len(found)} operations, {sum(each.killed for each in found)} of "
        f"{sum(each.steps for each in found)} steps killed, rows lost "
        f"{sum(each.lost for each in found)}, rows doubled {sum(each.doubled for each in found)}"
    )
    assert [fault for each in found for fault in each.faults] == []
    assert all(each.killed for each in found)
