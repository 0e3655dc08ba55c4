"""Equality deletes become position deletes: the same rows are dead, named by their places."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
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
from arctic.cdc.engine import streamed
from arctic.iceberg.adoption.equality_deletes import commit_repair, equality_deletes, open_any
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog
from arctic.iceberg.commits.asking.staged_snapshot import SnapshotPlan
from arctic.iceberg.commits.commit_loop import commit_snapshot
from arctic.iceberg.commits.staging import staged_on
from arctic.iceberg.metadata.version_three import with_fields
from arctic.iceberg.ownership.registered_table import register_table, table_like
from arctic.iceberg.publishing.published_table import OUTPUTS
from arctic.iceberg.publishing.vector_files import blob_rows
from arctic.job.adopt import dead_keys, repair_job
from arctic.job.adopt.unique_key import MOST_BYTES
from arctic.table.row_positions import DELETED_PATH_ID
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

    def __init__(
        self,
        folder: Path | None = None,
        *,
        catalog: Mapping[str, str] | None = None,
        by_region: bool = False,
        by: str | None = None,
        version: int = 2,
    ) -> None:
        self.folder = str(folder)
        self.place: dict[str, Any] = {"catalog": catalog} if catalog else {"warehouse": self.folder}
        named = {f"catalog.{name}": text for name, text in (catalog or {}).items()}
        config = CatalogConfig.from_options(named or self.place)
        self.by = "region" if by_region else by
        self.alive: list[Row] = []
        spec = PartitionSpec()
        if self.by is not None:
            field = PartitionField(IDS[self.by], 1000, IdentityTransform(), self.by)
            spec = PartitionSpec(field)
        arctic.create_table(f"db.first_{next(_numbers)}", pa.schema(TYPES), **self.place)
        self.catalog = open_catalog(config)
        model = self.catalog.create_table("db.model", COLUMNS, partition_spec=spec)
        register_table(table_like(model, ("db", "t"), {}, version=version))
        opened = open_any(config, "db.t")
        self.io, self.location = opened.io, opened.base.location()

    def commit(self, rows: Sequence[Row], deletes: Sequence[tuple[str, Sequence[Row]]]) -> None:
        """Commit rows, and deletes of older rows by some columns, joined by blanks, at once."""
        files = [self.file(part, tuple(IDS)) for part in self.parts(rows)]
        for columns, keys in deletes:
            names = tuple(columns.split())
            for part in self.parts(keys):
                files.append(self.file(part, names, deletes=True))
                dead = {tuple(key[name] for name in names) for key in part}
                self.alive = [
                    row
                    for row in self.alive
                    if tuple(row[name] for name in names) not in dead
                    or self.partition(row) != self.partition(part[0])
                ]
        self.alive += rows
        plan = SnapshotPlan(operation=Operation.OVERWRITE, added=tuple(files))
        commit_snapshot(
            self.catalog.load_table("db.t"), lambda head, number: staged_on(head, plan, number)
        )

    def parts(self, rows: Sequence[Row]) -> list[list[Row]]:
        """Return rows as they lie in files: by partition, if there are any."""
        every = dict.fromkeys(map(self.partition, rows))
        return [[row for row in rows if self.partition(row) == each] for each in every]

    def partition(self, row: Row) -> str:
        """Return what is the same for rows of one partition: NaN is one, and -0.0 is not 0.0."""
        return "" if self.by is None else repr(row[self.by])

    def file(self, rows: list[Row], names: tuple[str, ...], *, deletes: bool = False) -> DataFile:
        """Write a file of some columns."""
        schema = pa.schema(
            [
                pa.field(name, TYPES[name], metadata={b"PARQUET:field_id": str(IDS[name])})
                for name in names
            ]
        )
        path = f"{self.location}/data/file-{next(_numbers)}.parquet"
        buffer = pa.BufferOutputStream()
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), buffer)
        content = buffer.getvalue()
        with self.io.create_output(path) as sink:
            sink.write(content)
        file = DataFile.from_args(
            content=DataFileContent.EQUALITY_DELETES if deletes else DataFileContent.DATA,
            file_path=path,
            file_format=FileFormat.PARQUET,
            partition=Record() if self.by is None else Record(rows[0][self.by]),
            record_count=len(rows),
            file_size_in_bytes=content.size,
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


def share_puffin(plain: Plain) -> str:
    """Put the vectors of a table into one Puffin file, as others do; return its path."""
    table = plain.catalog.load_table("db.t")
    found = equality_deletes(
        open_any(CatalogConfig.from_options({"warehouse": plain.folder}), "db.t")
    )
    content, added = b"PFA1", []
    for file in found.data:
        vector = found.vectors[file.path]
        with table.io.new_input(vector.path).open() as stream:
            blob = stream.read()[vector.place.offset :][: vector.place.length]
        entry = DataFile.from_args(
            content=DataFileContent.POSITION_DELETES,
            file_path=f"file://{plain.folder}/shared.puffin",
            file_format=FileFormat.PUFFIN,
            partition=Record(),
            record_count=len(blob_rows(blob)),
            file_size_in_bytes=1_000,
            lower_bounds={DELETED_PATH_ID: file.path.encode()},
            upper_bounds={DELETED_PATH_ID: file.path.encode()},
        )
        entry.spec_id = 0
        added.append(
            with_fields(
                entry,
                referenced_data_file=file.path,
                content_offset=len(content),
                content_size_in_bytes=len(blob),
            )
        )
        content += blob
    Path(plain.folder, "shared.puffin").write_bytes(content)
    plan = SnapshotPlan(
        operation=Operation.OVERWRITE,
        added=tuple(added),
        removed_paths=frozenset(vector.path for vector in found.vectors.values()),
    )
    commit_snapshot(table, lambda head, number: staged_on(head, plan, number))
    return str(added[0].file_path)


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


def test_vectors_take_the_rows_of_earlier_ones_over(tmp_path: Path) -> None:
    """In a table of version 3 a data file has one, whose rows are all that are dead in it."""
    plain = Plain(tmp_path, version=3)
    plain.commit([row(number) for number in range(10)], [])
    plain.commit([row(number) for number in range(10, 20)], [])
    plain.commit([row(1, n=2)], [("id", [row(1), row(11)])])
    first = plain.repair()
    plain.commit([row(2, n=2)], [("id", [row(1), row(2)]), ("id region", [row(3)])])
    second = plain.repair()
    plain.commit([], [("id", [row(99)])])
    third = plain.repair()

    assert (first.added, first.rows) == (2, 2)
    assert (second.added, second.rows) == (2, 1 + 2 + 1)
    assert (third.removed, third.added) == (1, 0)
    live = plain.catalog.load_table("db.t").inspect.delete_files().to_pylist()
    assert sorted(file["record_count"] for file in live) == [1, 1, 3]
    assert all(file["file_path"].endswith(".puffin") for file in live)


def test_vectors_that_share_a_file_are_all_written_again(tmp_path: Path) -> None:
    """Others put several into one Puffin file, which goes whole."""
    plain = Plain(tmp_path, version=3)
    plain.commit([row(number) for number in range(10)], [])
    plain.commit([row(number) for number in range(10, 20)], [])
    plain.commit([], [("id", [row(1), row(11)])])
    plain.repair()
    shared = share_puffin(plain)
    plain.commit([], [("id", [row(2)])])
    report = arctic.repair("db.t", warehouse=plain.folder)

    assert (report.added, report.rows) == (2, 2 + 1)
    plain.repair()
    live = plain.catalog.load_table("db.t").inspect.delete_files().to_pylist()
    assert shared not in [file["file_path"] for file in live]


def test_a_vector_that_comes_meanwhile_is_not_doubled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The repair begins again, and takes it over."""
    plain = Plain(tmp_path, version=3)
    plain.commit([row(1), row(2), row(3)], [])
    plain.commit([], [("id", [row(1)])])
    late = [[row(2)]]

    def slow(*arguments: Any) -> Any:
        if late:
            plain.commit([], [("id", late.pop())])
            plain.repair()
            plain.commit([], [("id", [row(3)])])
        return commit_repair(*arguments)

    monkeypatch.setattr(repair_job, "commit_repair", slow)
    report = plain.repair()

    assert report.rows == 3
    assert len(plain.catalog.load_table("db.t").inspect.delete_files()) == 1


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
    table.write(pa.table({"id": pa.array([2], pa.int64())}), mode="delete")
    for output in OUTPUTS:  # which takes position deletes of the table over
        arctic.publish("db.t", into=f"db.{output}", output=output, warehouse=plain.folder)
        for read in (by_pyiceberg, by_duckdb):
            assert read(plain.folder, f"db.{output}").to_pylist() == [row(1, n=2)]


def test_numbers_are_partitions_as_iceberg_compares_them(tmp_path: Path) -> None:
    """NaN is one partition, whose deletes were lost if it was none; -0.0 is not that of 0.0."""
    plain = Plain(tmp_path, by="score")
    scores = [float("nan"), -0.0, 0.0]
    plain.commit([{**row(number), "score": score} for number, score in enumerate(scores)], [])
    plain.commit([], [("id", [{**row(0), "score": scores[0]}, {**row(2), "score": -0.0}])])
    report = arctic.repair("db.t", warehouse=plain.folder)

    assert (report.removed, report.rows) == (2, 1)


@pytest.mark.parametrize("most_bytes", [MOST_BYTES, 2**23])
def test_many_files_are_looked_at_in_one_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_bytes: int
) -> None:
    """However many there are, and where they do not fit into memory."""
    plain = Plain(tmp_path)
    for number in range(12):
        begin = number * 50
        plain.commit([row(begin + each, n=each) for each in range(100)], [])
        plain.commit([], [("id", [row(begin + each) for each in range(0, 100, 3)])])
    statements = []

    def counted(*arguments: Any) -> Any:
        statements.append(arguments[1])
        return streamed(*arguments)

    monkeypatch.setattr(dead_keys, "streamed", counted)
    monkeypatch.setattr(dead_keys, "MOST_BYTES", most_bytes)
    report = plain.repair()

    assert report.added == 12
    assert len(statements) == 2, "one of keys, one of data"


def test_keys_that_cannot_be_kept_anywhere_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table is as it was, and the error is one of storage."""
    plain = Plain(tmp_path)
    plain.commit([row(number) for number in range(20_000)], [])
    plain.commit([], [("id", [row(number) for number in range(20_000)])])
    monkeypatch.setattr(dead_keys, "MOST_BYTES", 2**20)
    with pytest.raises(arctic.StorageError, match="DuckDB failed: Out of Memory"):
        arctic.repair("db.t", warehouse=plain.folder)

    monkeypatch.undo()
    assert plain.repair().rows == 20_000


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


@given(
    commits=_commits,
    by_region=st.booleans(),
    version=st.sampled_from([2, 3]),
    repair_after=st.integers(0, 5),
)
@settings(max_examples=16, deadline=None)
def test_any_history_is_repaired(
    tmp_path_factory: pytest.TempPathFactory,
    commits: Any,
    by_region: bool,
    version: int,
    repair_after: int,
) -> None:
    """Rows and deletes of one commit do not touch each other; older rows die wherever they are."""
    plain = Plain(tmp_path_factory.mktemp("lake"), by_region=by_region, version=version)
    for number, (rows, deletes) in enumerate(commits):
        if by_region:  # a delete is of one partition, so it names its partition's columns
            deletes = [(names, keys) for names, keys in deletes if "region" in names]
        plain.commit(rows, deletes)
        if number == repair_after:
            plain.repair()
    plain.repair()
