"""What every machine that drives a table shares: reading, cleaning, optimizing, time travel.

A machine says what the table holds by ``rows_now``. Whoever commits a snapshot returns
``remembered``: the snapshot must show these rows until it expires, and be refused afterwards.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, multiple, precondition, rule
from pyiceberg.table import StaticTable

import arctic
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog

REGIONS = ["eu", "us", "asia"]
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("region", pa.string()),
        pa.field("amount", pa.int32()),
        pa.field("note", pa.string()),
    ]
)
EVERYTHING_DUE = {
    "self-optimizing.min-plan-interval": "0",
    "self-optimizing.minor.trigger.file-count": "1",
}
SEGMENTS_ONLY = 1_000_000
"""A fragment ratio for which every file is a segment, so that it gets position deletes."""
MAX_FILE_COUNT = "self-optimizing.max-file-count"

ids = st.integers(0, 11)
regions = st.sampled_from(REGIONS)
payloads = st.tuples(
    st.one_of(st.none(), st.integers(-5, 5)), st.one_of(st.none(), st.text("ab", max_size=2))
)
rows = st.lists(st.tuples(ids, regions, payloads), min_size=1, max_size=8)
# A file of these tables has 1,000 to 2,000 bytes; 1 byte as a target gives every row group a file
# of its own.
optimize_options = st.fixed_dictionaries(
    {},
    optional={
        "self-optimizing.target-size": st.sampled_from(["1", "1500", "4000"]),
        "self-optimizing.fragment-ratio": st.sampled_from(["1", "2", str(SEGMENTS_ONLY)]),
        "self-optimizing.max-task-size-bytes": st.sampled_from(["1", "1500"]),
        "self-optimizing.sort-buffer-bytes": st.sampled_from(["1", "200"]),
        "self-optimizing.sort-columns": st.sampled_from(
            ["amount", "note,amount", "region,id", "zorder(amount, note)", "hilbert(amount, id)"]
        ),
        "self-optimizing.full.rewrite-all-files": st.just("false"),
        "self-optimizing.major.trigger.duplicate-ratio": st.sampled_from(["0.01", "0.5", "1"]),
        "merge.max-delete-bytes": st.just("1"),
        MAX_FILE_COUNT: st.sampled_from(["1", "3"]),
    },
)
Row = dict[str, Any]


def as_row(drawn: tuple[int, str, tuple[int | None, str | None]]) -> Row:
    """Return what Hypothesis drew as a row."""
    number, region, (amount, note) = drawn
    return {"id": number, "region": region, "amount": amount, "note": note}


def assert_rows(actual: Iterable[Row], expected: Iterable[Row]) -> None:
    """Compare rows in any order."""

    def order(row: Row) -> list[str]:
        return [str(row[name]) for name in SCHEMA.names]

    assert sorted(actual, key=order) == sorted(expected, key=order)


class LakeMachine(RuleBasedStateMachine):
    """Drives a real table on a real catalog."""

    snapshots = Bundle("snapshots")
    tags = Bundle("tags")

    def create_table(self, **arguments: Any) -> None:
        """Create the table of this example."""
        self.folder = tempfile.mkdtemp(prefix="arctic-machine-")
        self.read_options: dict[str, str] = {}
        self.cleanings = self.tagged = 0
        self.commits = self.commits_at_cleaning = 0
        arctic.create_table("m.t", SCHEMA, warehouse=self.folder, **arguments)

    def rows_now(self) -> list[Row]:
        """Return what the table must hold."""
        raise NotImplementedError

    def become(self, rows: list[Row]) -> None:
        """Take note that the table holds these rows now."""
        raise NotImplementedError

    def teardown(self) -> None:
        """Read the table as a plain engine does after a last full, and remove the warehouse."""
        try:
            if hasattr(self, "folder"):
                arctic.optimize("m.t", type="full", warehouse=self.folder)
                self.assert_base()
        finally:
            shutil.rmtree(getattr(self, "folder", ""), ignore_errors=True)

    def remembered(self, *snapshot_ids: int | None) -> Any:
        """Return snapshots with the rows that they must show."""
        found = [each for each in snapshot_ids if each is not None]
        self.commits += len(found)
        return multiple(*((each, self.rows_now(), self.cleanings) for each in found))

    def write(self, batch: list[Row], mode: str, schema: pa.Schema = SCHEMA, **options: str) -> Any:
        """Write rows; return the snapshot to remember."""
        report = arctic.write(
            "m.t",
            pa.Table.from_pylist(batch, schema=schema),
            mode=mode,
            options=options,
            warehouse=self.folder,
        )
        return self.remembered(report.snapshot_id)

    def read(self, **arguments: Any) -> list[Row]:
        """Read the merged view."""
        reader = arctic.read("m.t", warehouse=self.folder, **arguments)
        found: list[Row] = reader.read_all().to_pylist()
        return found

    def snapshot_ids(self) -> set[int]:
        """Return the snapshots of both stores that have not expired."""
        reader = arctic.read("m.t.snapshots", warehouse=self.folder)
        return set(reader.read_all().column("snapshot_id").to_pylist())

    def assert_base(self, region: str | None = None) -> None:
        """The base store alone, read by Arctic and by PyIceberg, holds the rows of a region."""
        expected = [row for row in self.rows_now() if region in (None, row["region"])]
        row_filter = None if region is None else f"region = '{region}'"
        alone = arctic.read(
            "m.t",
            columns=SCHEMA.names,
            filter=row_filter,
            options={"store": "base"},
            warehouse=self.folder,
        )
        assert_rows(alone.read_all().to_pylist(), expected)
        catalog = open_catalog(CatalogConfig.from_options({"warehouse": self.folder}))
        plain = StaticTable.from_metadata(catalog.load_table("m.t").metadata_location)
        scan = plain.scan() if row_filter is None else plain.scan(row_filter)
        assert_rows(scan.to_arrow().to_pylist(), expected)

    @precondition(lambda self: self.commits > 0)
    @rule(
        target=snapshots,
        kind=st.sampled_from(["minor", "minor", "major", "full"]),
        region=st.one_of(st.none(), st.none(), regions),
        options=optimize_options,
    )
    def optimize(self, kind: str, region: str | None, options: dict[str, str]) -> Any:
        """Rows stay; every change is merged, and a full leaves no deletes."""
        snapshot_id, status = self.run_optimize(kind, region, options)
        if MAX_FILE_COUNT not in options:
            assert not any(each.health.unmerged_files for each in status.partitions)
            if kind == "full":
                assert not any(each.health.delete_files for each in status.partitions)
        return self.remembered(snapshot_id)

    @precondition(lambda self: self.commits > 0)
    @rule(target=snapshots, region=st.one_of(st.none(), regions), options=optimize_options)
    def optimize_what_is_due(self, region: str | None, options: dict[str, str]) -> Any:
        """Rows stay, whatever is chosen in each partition."""
        snapshot_id, _ = self.run_optimize(None, region, options)
        return self.remembered(snapshot_id)

    def run_optimize(
        self, kind: str | None, region: str | None, options: dict[str, str]
    ) -> tuple[int | None, arctic.TableStatus]:
        """Optimize; where all changes are merged, base alone must hold all rows."""
        where = None if region is None else f"region = '{region}'"
        given = {**EVERYTHING_DUE, **options}
        report = arctic.optimize(
            "m.t", type=kind, where=where, options=given, warehouse=self.folder
        )
        status = arctic.status("m.t", where=where, options=given, warehouse=self.folder)
        if not any(each.health.unmerged_files for each in status.partitions):
            self.assert_base(region)
        return report.snapshot_id, status

    @precondition(lambda self: self.commits - self.commits_at_cleaning > 2)
    @rule(
        target=snapshots,
        ttl_minutes=st.sampled_from(["0", "10080"]),
        keep=st.sampled_from(["0", "12h"]),
        count=st.integers(1, 3),
    )
    def expire(self, ttl_minutes: str, keep: str, count: int) -> Any:
        """Cleaning changes no row, says beforehand what it does, and is done after one run."""
        options = {
            "change.data.ttl.minutes": ttl_minutes,
            "snapshot.keep.duration": keep,
            "snapshot.keep.min-count": str(count),
            "clean-orphan-file.min-existing-time-minutes": "0",
        }
        before = self.snapshot_ids()
        said = arctic.expire("m.t", dry_run=True, options=options, warehouse=self.folder)
        done = arctic.expire("m.t", options=options, warehouse=self.folder)
        after = self.snapshot_ids()
        again = arctic.expire("m.t", options=options, warehouse=self.folder)
        assert said.items == done.items
        assert not again.items
        assert not (*said.notes, *done.notes, *again.notes)
        if (ttl_minutes, keep) == ("10080", "12h"):
            assert before <= after
        else:
            self.cleanings += 1
        made = self.remembered(*sorted(after - before))
        self.commits_at_cleaning = self.commits
        return made

    @rule(snapshot=snapshots)
    def travel(self, snapshot: Any) -> None:
        """A snapshot shows the table as it was right after it, or is refused once it expired."""
        snapshot_id, expected, cleanings = snapshot
        options = {**self.read_options, "snapshot-id": str(snapshot_id)}
        if cleanings == self.cleanings:
            assert_rows(self.read(options=options), expected)
        elif snapshot_id not in self.snapshot_ids():
            with pytest.raises(arctic.NotFoundError, match=f"no snapshot {snapshot_id}"):
                self.read(options=options)
        else:
            self.travel_in_part(options, expected)

    def travel_in_part(self, options: dict[str, str], expected: list[Row]) -> None:
        """A snapshot that stayed may lack those of the other store; then it is refused too."""
        try:
            actual = self.read(options=options)
        except (arctic.NotFoundError, arctic.UnsupportedError):
            return
        assert_rows(actual, expected)

    @precondition(lambda self: self.commits > 0)
    @rule(
        target=snapshots,
        where=st.one_of(
            regions.map(lambda region: (f"region = '{region}'", "region", {region}.__contains__)),
            ids.map(lambda least: (f"id >= {least}", "id", least.__le__)),
            st.integers(-5, 5).map(
                lambda number: (f"amount + 1 = {number + 1}", "amount", number.__eq__)
            ),
        ),
    )
    def delete_where(self, where: Any) -> Any:
        """Exactly the rows go that match, however they go."""
        condition, name, matches = where
        report = arctic.open_table("m.t", warehouse=self.folder).delete(condition)
        self.become([row for row in self.rows_now() if matches(row[name]) is not True])
        return self.remembered(report.snapshot_id)

    @precondition(lambda self: self.commits > 0)
    @rule(target=tags)
    def tag(self) -> Any:
        """A state gets a name, which keeps it from now on."""
        self.tagged += 1
        name = f"tag {self.tagged}"
        table = arctic.open_table("m.t", warehouse=self.folder)
        table.tag(name)
        return name, table.versions()["version"].to_pylist()[-1], self.rows_now()

    @rule(tag=tags)
    def travel_to_tag(self, tag: Any) -> None:
        """Whatever was cleaned since, a tag shows the rows of its moment."""
        name, number, expected = tag
        assert_rows(self.read(options=self.read_options, version=name), expected)
        table = arctic.open_table("m.t", warehouse=self.folder)
        if number in table.versions()["version"].to_pylist():
            assert_rows(self.read(version=number), expected)

    @rule(target=snapshots, tag=tags)
    def restore_tag(self, tag: Any) -> Any:
        """The table holds the rows of the tag again, and goes on from there."""
        name, _, expected = tag
        report = arctic.open_table("m.t", warehouse=self.folder).restore(name)
        self.become(expected)
        return self.remembered(report.snapshot_id)

    @rule(target=snapshots, snapshot=snapshots)
    def restore(self, snapshot: Any) -> Any:
        """So does any state that has not expired; one that has changes nothing."""
        snapshot_id, expected, cleanings = snapshot
        table = arctic.open_table("m.t", warehouse=self.folder)
        try:
            report = table.restore(snapshot_id)
        except (arctic.NotFoundError, arctic.UnsupportedError):
            assert cleanings != self.cleanings
            return multiple()
        self.become(expected)
        return self.remembered(report.snapshot_id)

    @rule(
        weight_ratio=st.sampled_from(["0.1", "2.0", "1000"]),
        target_size=st.sampled_from(["1", "5000", "128 MiB"]),
        parallelism=st.integers(1, 5),
        max_delete_bytes=st.sampled_from(["1", "200", "512 MiB"]),
    )
    def change_plan(
        self, weight_ratio: str, target_size: str, parallelism: int, max_delete_bytes: str
    ) -> None:
        """However a read is split and packed, it yields the same rows."""
        self.read_options = {
            "weight-ratio": weight_ratio,
            "target-size": target_size,
            "open-file-cost": "1",
            "parallelism": str(parallelism),
            "merge.max-delete-bytes": max_delete_bytes,
        }

    @rule(region=regions, low=st.integers(-5, 5))
    def filtered(self, region: str, low: int) -> None:
        """A filter keeps exactly the rows it names, whatever was pruned for it."""
        actual = self.read(filter=f"region = '{region}' and amount >= {low}")
        assert_rows(
            actual,
            [
                row
                for row in self.rows_now()
                if row["region"] == region and row["amount"] is not None and row["amount"] >= low
            ],
        )

    def assert_equal_to_the_model(self) -> None:
        """The merged view is the model."""
        if hasattr(self, "folder"):
            assert_rows(self.read(options=self.read_options), self.rows_now())
