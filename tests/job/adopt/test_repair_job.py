"""Equality deletes become position deletes: the same rows are dead, named by their places."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.snapshots import Operation
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import DoubleType, LongType, NestedField, StringType

import arctic
from arctic.iceberg.adoption.equality_deletes import commit_repair
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog
from arctic.iceberg.commits.commit_loop import commit_snapshot
from arctic.iceberg.commits.snapshot_producer import SnapshotPlan
from arctic.iceberg.commits.staging import staged_on
from arctic.job.adopt import repair_job
from tests.iceberg.plain_readers import by_duckdb, by_pyiceberg, plain_catalog

COLUMNS = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "region", StringType(), required=False),
    NestedField(3, "n", LongType(), required=False),
    NestedField(4, "score", DoubleType(), required=False),
)
IDS = {"id": 1, "region": 2, "n": 3, "score": 4}
TYPES = {"id": pa.int64(), "region": pa.string(), "n": pa.int64(), "score": pa.float64()}
Row = dict[str, Any]
_numbers = itertools.count()


class Plain:
    """A plain Iceberg table as Flink writes one, and the rows that are alive in it."""

    def __init__(self, folder: Path, *, by_region: bool = False) -> None:
        self.folder = str(folder)
        self.by_region = by_region
        self.alive: list[Row] = []
        spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "region"))
        arctic.create_table(f"db.first_{next(_numbers)}", pa.schema(TYPES), warehouse=self.folder)
        self.catalog = open_catalog(CatalogConfig.from_options({"warehouse": self.folder}))
        self.catalog.create_table(
            "db.t", COLUMNS, partition_spec=spec if by_region else PartitionSpec()
        )

    def commit(self, rows: Sequence[Row], deletes: Sequence[tuple[str, Sequence[Row]]]) -> None:
        """Commit rows, and deletes of older rows by some columns, joined by blanks, at once."""
        files = [self.file(part, tuple(IDS)) for part in self.parts(rows)]
        for columns, keys in deletes:
            names = tuple(columns.split())
            for part in self.parts(keys):
                files.append(self.file(part, names, deletes=True))
                dead = {tuple(key[name] for name in names) for key in part}
                region = part[0]["region"] if self.by_region else None
                self.alive = [
                    row
                    for row in self.alive
                    if tuple(row[name] for name in names) not in dead
                    or (self.by_region and row["region"] != region)
                ]
        self.alive += rows
        plan = SnapshotPlan(operation=Operation.OVERWRITE, added=tuple(files))
        commit_snapshot(
            self.catalog.load_table("db.t"), lambda head, number: staged_on(head, plan, number)
        )

    def parts(self, rows: Sequence[Row]) -> list[list[Row]]:
        """Return rows as they lie in files: by partition, if there are any."""
        if not self.by_region:
            return [list(rows)] if rows else []
        regions = dict.fromkeys(row["region"] for row in rows)
        return [[row for row in rows if row["region"] == region] for region in regions]

    def file(self, rows: list[Row], names: tuple[str, ...], *, deletes: bool = False) -> DataFile:
        """Write a file of some columns."""
        schema = pa.schema(
            [
                pa.field(name, TYPES[name], metadata={b"PARQUET:field_id": str(IDS[name])})
                for name in names
            ]
        )
        path = Path(self.folder) / f"file-{next(_numbers)}.parquet"
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
        file = DataFile.from_args(
            content=DataFileContent.EQUALITY_DELETES if deletes else DataFileContent.DATA,
            file_path=f"file://{path}",
            file_format=FileFormat.PARQUET,
            partition=Record(rows[0]["region"]) if self.by_region else Record(),
            record_count=len(rows),
            file_size_in_bytes=path.stat().st_size,
            equality_ids=[IDS[name] for name in names] if deletes else None,
        )
        file.spec_id = 0
        return file

    def repair(self) -> arctic.RepairReport:
        """Repair, and compare the rows that readers find with those that are alive."""
        report = arctic.repair("db.t", warehouse=self.folder)
        for read in (by_pyiceberg, by_duckdb):
            assert in_order(read(self.folder, "db.t").to_pylist()) == in_order(self.alive)
        return report


def in_order(rows: Sequence[Row]) -> list[Row]:
    """Return rows in one order."""
    return sorted(rows, key=repr)


def row(number: int | None, region: str | None = "eu", n: int | None = 1) -> Row:
    """Return a row."""
    return {"id": number, "region": region, "n": n, "score": 0.5}


@pytest.mark.parametrize("by_region", [False, True])
def test_rows_that_keys_kill_are_named_by_place(tmp_path: Path, by_region: bool) -> None:
    """Only older ones, only of the partition, nulls too, by each set of columns."""
    plain = Plain(tmp_path, by_region=by_region)
    plain.commit([row(1), row(2), row(3, "us"), row(None), row(5, None)], [])
    plain.commit([row(1, n=2)], [("id region", [row(1), row(3)])])
    plain.commit([row(1, n=3), row(6)], [("id region", [row(1)]), ("n region", [row(None)])])
    plain.commit([row(7)], [("region id", [row(None), row(5, None)])])
    report = plain.repair()

    assert report.removed >= 4
    assert report.added > 0
    assert plain.repair().snapshot_id is None


def test_what_comes_after_a_repair_is_repaired_too(tmp_path: Path) -> None:
    """Position deletes of the first stay."""
    plain = Plain(tmp_path)
    plain.commit([row(number) for number in range(10)], [])
    plain.commit([row(1, n=2)], [("id", [row(1)])])
    plain.repair()
    plain.commit([row(2, n=2)], [("id", [row(1), row(2)])])
    report = plain.repair()

    assert (report.removed, report.rows) == (1, 2 + 1)


def test_deletes_of_nothing_go(tmp_path: Path) -> None:
    """No file takes their place."""
    plain = Plain(tmp_path)
    plain.commit([row(1)], [])
    plain.commit([], [("id", [row(9)])])
    report = plain.repair()

    assert (report.removed, report.added, report.rows) == (1, 0, 0)
    assert "1 equality-delete files became 0" in str(report)


def test_an_adopted_table_may_have_been_repaired(tmp_path: Path) -> None:
    """Which the refusal says."""
    plain = Plain(tmp_path)
    plain.commit([row(1), row(2)], [])
    plain.commit([row(1, n=2)], [("id", [row(1)])])
    with pytest.raises(arctic.UnsupportedError, match="equality deletes"):
        arctic.adopt("db.t", primary_key="id", warehouse=plain.folder)

    plain.repair()
    table = arctic.adopt("db.t", primary_key="id", warehouse=plain.folder)
    assert in_order(table.read().read_all().to_pylist()) == in_order(plain.alive)


def test_data_that_comes_meanwhile_is_not_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is younger than the deletes that go; those that come with it stay for the next repair."""
    plain = Plain(tmp_path)
    plain.commit([row(1), row(2)], [])
    plain.commit([row(1, n=2)], [("id", [row(1)])])
    late = [[row(2, n=7), row(1, n=7)]]

    def slow(*arguments: Any) -> Any:
        if late:
            plain.commit(late.pop(), [("id", [row(2)])])
        return commit_repair(*arguments)

    monkeypatch.setattr(repair_job, "commit_repair", slow)
    report = arctic.repair("db.t", warehouse=plain.folder)
    assert report.removed == 1
    assert in_order(by_duckdb(plain.folder, "db.t").to_pylist()) == in_order(plain.alive)
    assert plain.repair().removed == 1


def test_what_cannot_be_compared_exactly_is_refused(tmp_path: Path) -> None:
    """Nothing is changed."""
    plain = Plain(tmp_path)
    plain.commit([row(1)], [])
    plain.commit([], [("score", [row(1)])])
    with pytest.raises(arctic.UnsupportedError, match="field id 4, which is double"):
        arctic.repair("db.t", warehouse=plain.folder)
    with plain_catalog(plain.folder) as catalog:
        assert len(catalog.load_table("db.t").metadata.snapshots) == 2


@pytest.mark.parametrize("kind", ["data", "deletes"])
def test_a_file_that_is_gone_is_named(tmp_path: Path, kind: str) -> None:
    """In words of ours, and as what it is: a compaction that took it away is waited for."""
    plain = Plain(tmp_path)
    plain.commit([row(1)], [])
    plain.commit([], [("id", [row(1)])])
    with plain_catalog(plain.folder) as catalog:
        files = catalog.load_table("db.t").inspect.files().to_pylist()
    (path,) = [each["file_path"] for each in files if (each["content"] == 2) == (kind == "deletes")]
    Path(path.removeprefix("file://")).unlink()

    with pytest.raises(arctic.ArcticError, match="does not exist") as error:
        arctic.repair("db.t", warehouse=plain.folder)
    assert isinstance(error.value, arctic.ConflictError | arctic.StorageError)


_rows = st.lists(
    st.builds(
        row,
        st.one_of(st.none(), st.integers(0, 5)),
        st.sampled_from(["eu", "us", None]),
        st.one_of(st.none(), st.integers(0, 2)),
    ),
    max_size=6,
)
_commits = st.lists(
    st.tuples(
        _rows,
        st.lists(
            st.tuples(st.sampled_from(["id", "id region", "n", "region n"]), _rows), max_size=2
        ),
    ),
    min_size=1,
    max_size=6,
)


@given(commits=_commits, by_region=st.booleans(), repair_after=st.integers(0, 5))
@settings(max_examples=15, deadline=None)
def test_any_history_is_repaired(
    tmp_path_factory: pytest.TempPathFactory, commits: Any, by_region: bool, repair_after: int
) -> None:
    """Rows and deletes of one commit do not touch each other; older rows die wherever they are."""
    plain = Plain(tmp_path_factory.mktemp("lake"), by_region=by_region)
    for number, (rows, deletes) in enumerate(commits):
        if by_region:  # a delete is of one partition, so it names its partition's columns
            deletes = [(names, keys) for names, keys in deletes if "region" in names]
        plain.commit(rows, deletes)
        if number == repair_after:
            plain.repair()
    plain.repair()
