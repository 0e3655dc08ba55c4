"""What can happen between the beginning of a write and its commit."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import arctic
from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.tables.open_table import open_table
from arctic.job.read import locate
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.commit_write import commit_write
from arctic.job.write.stored_rows import looked_up
from arctic.job.write.write_job import WriteJob, begin_write
from arctic.job.write.write_task import write_task
from arctic.table.files import FileKind
from arctic.writing.target import TaskResult

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("region", pa.string()),
        pa.field("by", pa.string()),
    ]
)
Row = dict[str, Any]


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    """Return the folder of an embedded catalog."""
    return str(tmp_path)


def row(number: int, region: str, by: str) -> Row:
    """Return one row."""
    return {"id": number, "region": region, "by": by}


def create(warehouse: str, *, partition_by: Sequence[str] = ()) -> None:
    """Create the table m.t with key id."""
    arctic.create_table(
        "m.t", SCHEMA, primary_key=["id"], partition_by=partition_by, warehouse=warehouse
    )


def upsert(warehouse: str, *rows: Row, **options: str) -> None:
    """Write rows from beginning to end."""
    schema = arctic.open_table("m.t", warehouse=warehouse).schema
    data = pa.Table.from_pylist(list(rows), schema=schema)
    arctic.write("m.t", data, mode="upsert", options=options, warehouse=warehouse)


def begin(warehouse: str, mode: str, **options: str) -> WriteJob:
    """Begin a write as an engine does."""
    given = {"path": "m.t", "warehouse": warehouse, "write-mode": mode, **options}
    return begin_write(AskedWrite.of(given), SCHEMA)


def task(job: WriteJob, number: int, *rows: Row) -> TaskResult:
    """Write the rows of one task."""
    batches = pa.Table.from_pylist(list(rows), schema=SCHEMA).to_batches()
    return write_task(job.work, batches, partition_id=number, task_id=number)


def read(warehouse: str) -> list[Row]:
    """Read the merged view, by key."""
    rows: list[Row] = arctic.read("m.t", warehouse=warehouse).read_all().to_pylist()
    return sorted(rows, key=lambda each: list(each.values()))


def snapshot_count(warehouse: str) -> int:
    """Return how many snapshots both stores have."""
    count: int = arctic.read("m.t.snapshots", warehouse=warehouse).read_all().num_rows
    return count


def data_files(warehouse: str) -> set[str]:
    """Return the Parquet files on disk."""
    return {str(path) for path in Path(warehouse).rglob("*.parquet")}


@pytest.mark.parametrize("moves", [1, 3])
def test_a_row_that_moved_meanwhile_is_deleted_where_it_is(warehouse: str, moves: int) -> None:
    """Both writers saw the row in eu; the later commit finds it where the earlier one put it."""
    create(warehouse, partition_by=["region"])
    upsert(warehouse, row(1, "eu", "first"))
    job = begin(warehouse, "upsert")
    result = task(job, 0, row(1, "us", "slow"))
    for number in range(moves):
        upsert(warehouse, row(1, f"asia{number}", "quick"))

    commit_write(job, [result])

    assert read(warehouse) == [row(1, "us", "slow")]
    assert snapshot_count(warehouse) == 2 + moves


@pytest.mark.parametrize("moves", [0, 2])
def test_a_moved_row_is_deleted_though_its_partition_column_has_another_name(
    warehouse: str, moves: int
) -> None:
    """The write began with the old name, the search at its commit with the new one."""
    create(warehouse, partition_by=["region"])
    upsert(warehouse, row(1, "eu", "first"))
    job = begin(warehouse, "upsert")
    results = [task(job, 0, row(1, "us", "slow")), task(job, 1, row(2, "us", "slow"))]
    upsert(warehouse, row(1, "asia", "quick"))
    arctic.evolve_schema("m.t", rename={"region": "by", "by": "who"}, warehouse=warehouse)
    for number in range(moves):
        upsert(warehouse, {"id": 1, "by": f"africa{number}", "who": "quick"})

    commit_write(job, results)

    assert read(warehouse) == [{"id": number, "by": "us", "who": "slow"} for number in (1, 2)]


@pytest.mark.parametrize("partition_by", [[], ["region"]])
def test_what_fails_before_an_attempt_to_commit_leaves_no_files(
    warehouse: str, partition_by: list[str]
) -> None:
    """Whatever it is: nobody can have seen the files."""
    create(warehouse, partition_by=partition_by)
    upsert(warehouse, row(1, "eu", "first"))
    before = data_files(warehouse)
    job = begin(warehouse, "upsert")
    result = task(job, 0, row(1, "us", "slow"))
    if partition_by:
        upsert(warehouse, row(1, "asia", "quick"))
        before = data_files(warehouse) - {local(file.path) for file in result.files}
        lost = next(file for file in result.files if file.kind is FileKind.CHANGE_DELETE)
        Path(local(lost.path)).write_bytes(b"PAR1")
        given, text = [result], "expected a whole Parquet file"
    else:
        given, text = [result, result], "two results"

    with pytest.raises(arctic.ArcticError, match=text):
        commit_write(job, given)

    assert data_files(warehouse) == before


def test_a_row_that_moved_into_the_same_partition_leaves_one(warehouse: str) -> None:
    """The deletes that a commit adds come before its own rows."""
    create(warehouse, partition_by=["region"])
    upsert(warehouse, row(1, "eu", "first"))
    job = begin(warehouse, "upsert")
    result = task(job, 0, row(1, "us", "slow"))
    upsert(warehouse, row(1, "us", "quick"))

    commit_write(job, [result])

    assert read(warehouse) == [row(1, "us", "slow")]


def test_an_overwrite_refuses_to_race_with_moving_rows(warehouse: str) -> None:
    """The new rows could be where an upsert that landed meanwhile did not look."""
    create(warehouse, partition_by=["region"])
    upsert(warehouse, row(1, "eu", "first"))
    job = begin(warehouse, "overwrite")
    result = task(job, 0, row(1, "asia", "overwrite"))
    upsert(warehouse, row(1, "us", "quick"))
    before = data_files(warehouse) - {local(file.path) for file in result.files}

    with pytest.raises(arctic.ConflictError, match="run the overwrite again"):
        commit_write(job, [result])

    assert read(warehouse) == [row(1, "us", "quick")]
    assert before == data_files(warehouse)


def test_an_overwrite_keeps_what_was_committed_after_its_rows_were_read(warehouse: str) -> None:
    """It replaces what the table held when the write began."""
    create(warehouse)
    upsert(warehouse, row(1, "eu", "first"))
    job = begin(warehouse, "overwrite")
    upsert(warehouse, row(2, "eu", "late"))
    commit_write(job, [task(job, 0, row(1, "eu", "rewritten"))])

    assert read(warehouse) == [row(1, "eu", "rewritten"), row(2, "eu", "late")]


def test_a_job_that_travelled_commits_as_one_that_stayed(warehouse: str) -> None:
    """It leaves its open table behind, which has a catalog connection."""
    create(warehouse)
    stayed = begin(warehouse, "upsert")
    job = pickle.loads(pickle.dumps(stayed))
    commit_write(job, [task(job, 0, row(1, "eu", "far"))])

    assert (stayed.opened is None, job.opened) == (False, None)
    assert read(warehouse) == [row(1, "eu", "far")]


def test_of_two_overlapping_overwrites_the_older_view_gives_way(warehouse: str) -> None:
    """Else an upsert that the quicker one replaced would come back under the slower one."""
    create(warehouse)
    upsert(warehouse, row(1, "eu", "first"))
    slow = begin(warehouse, "overwrite")
    result = task(slow, 0, row(9, "eu", "slow"))
    upsert(warehouse, row(1, "eu", "second"))
    quick = begin(warehouse, "overwrite")
    commit_write(quick, [task(quick, 0, row(2, "eu", "quick"))])

    with pytest.raises(arctic.ConflictError, match="write again"):
        commit_write(slow, [result])

    assert read(warehouse) == [row(2, "eu", "quick")]


def test_a_replayed_insert_is_not_the_whole_story_of_its_key(warehouse: str) -> None:
    """Where inserts need no delete, a delete after one still removes the row that was there."""
    create(warehouse)
    upsert(warehouse, row(1, "eu", "old"), row(2, "eu", "old"))
    schema = pa.schema([*SCHEMA, ("op", pa.string())])
    events = [
        {**row(1, "eu", "again"), "op": "I"},
        {**row(1, "eu", "again"), "op": "D"},
        {**row(2, "eu", "again"), "op": "+I"},
        {**row(2, "eu", "again"), "op": "-U"},
        {**row(2, "eu", "new"), "op": "+U"},
    ]
    options = {"action-column": "op", "write.upsert.enabled": "false"}
    data = pa.Table.from_pylist(events, schema=schema)
    arctic.write("m.t", data, mode="append", options=options, warehouse=warehouse)

    assert read(warehouse) == [row(2, "eu", "new")]


def test_an_overwrite_that_commits_after_the_rows_were_located_is_seen(
    warehouse: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A base store that moved on between the search and the commit sends the upsert back."""
    create(warehouse, partition_by=["region"])
    upsert(warehouse, row(1, "eu", "first"))
    job = begin(warehouse, "upsert")
    result = task(job, 0, row(1, "us", "upsert"))
    search = locate.locate_rows
    overwritten: list[bool] = []

    def search_then_overwrite(opened: Any, **arguments: Any) -> Any:
        found = search(opened, **arguments)
        if not overwritten:
            overwritten.append(True)
            data = pa.Table.from_pylist([row(1, "asia", "overwrite")], schema=SCHEMA)
            arctic.write("m.t", data, mode="overwrite", warehouse=warehouse)
        return found

    monkeypatch.setattr(looked_up, "locate_rows", search_then_overwrite)
    commit_write(job, [result])

    assert read(warehouse) == [row(1, "us", "upsert")]


def test_upserts_during_an_overwrite_survive_it(warehouse: str) -> None:
    """An overwrite replaces what there was when it began."""
    create(warehouse)
    upsert(warehouse, row(1, "eu", "first"), row(3, "eu", "first"))
    job = begin(warehouse, "overwrite")
    result = task(job, 0, row(1, "eu", "overwrite"))
    upsert(warehouse, row(1, "eu", "quick"), row(2, "eu", "quick"))

    commit_write(job, [result])

    assert read(warehouse) == [row(1, "eu", "quick"), row(2, "eu", "quick")]


def test_a_dynamic_overwrite_needs_keys_that_stay(warehouse: str) -> None:
    """A key of the new rows could stay in a partition that is not replaced."""
    create(warehouse, partition_by=["region"])

    with pytest.raises(arctic.InvalidInputError, match="assume-stable"):
        begin(warehouse, "overwrite", partitionOverwriteMode="dynamic")


def test_a_table_made_anew_meanwhile_takes_no_old_write(warehouse: str) -> None:
    """The name is the same, the table is not."""
    create(warehouse)
    job = begin(warehouse, "upsert")
    result = task(job, 0, row(1, "eu", "old"))
    arctic.drop_table("m.t", warehouse=warehouse)
    create(warehouse)

    with pytest.raises(arctic.ConflictError, match="created again"):
        commit_write(job, [result])

    assert read(warehouse) == []


def test_a_key_in_two_tasks_of_an_overwrite_is_refused(warehouse: str) -> None:
    """Nobody arranged the rows, and base must hold one row of a key."""
    create(warehouse)
    job = begin(warehouse, "overwrite")
    results = [task(job, number, row(7, "eu", f"task {number}")) for number in range(2)]

    with pytest.raises(arctic.InvalidInputError, match="id=7"):
        commit_write(job, results)

    assert snapshot_count(warehouse) == 0
    assert data_files(warehouse) == set()


def test_a_key_in_two_tasks_of_an_upsert_ends_with_one_row(warehouse: str) -> None:
    """Offsets of different tasks differ, so one row survives."""
    create(warehouse)
    job = begin(warehouse, "upsert")
    results = [task(job, number, row(7, "eu", f"task {number}")) for number in range(2)]

    commit_write(job, results)

    assert read(warehouse) == [row(7, "eu", "task 1")]
    assert snapshot_count(warehouse) == 1


def local(uri: str) -> str:
    """Return the local path of a file URI."""
    return unquote(urlparse(uri).path)


def test_required_parts_of_what_may_be_null_do_not_stop_a_write(warehouse: str) -> None:
    """A struct that is null holds no value for its required field, nor does a delete by key."""
    place = pa.struct([pa.field("lat", pa.float64(), nullable=False)])
    numbers = pa.list_(pa.field("element", pa.int32(), nullable=False))
    schema = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            pa.field("place", place),
            pa.field("numbers", numbers, nullable=False),
        ]
    )
    rows = [
        {"id": 1, "place": None, "numbers": []},
        {"id": 2, "place": {"lat": 2.0}, "numbers": [1]},
    ]
    table = arctic.create_table("m.nested", schema, primary_key=["id"], warehouse=warehouse)
    for mode in ("upsert", "upsert", "overwrite", "upsert"):
        table.write(pa.Table.from_pylist(rows, schema=schema), mode=mode)
    table.write(pa.table({"id": [2]}), mode="delete")

    assert table.read().read_all().to_pylist() == rows[:1]
    changes = table.read(options={"store": "change"}).read_all()
    assert changes.schema.field("numbers").nullable
    assert changes.column("numbers").null_count == 1


def but_for_the_name(content: bytes) -> tuple[bytes, dict[str, Any]]:
    """Return the data of a Parquet file, and what its footer says beside the name of the file."""
    length = int.from_bytes(content[-8:-4], "little")
    says = pq.read_metadata(pa.BufferReader(content)).to_dict()
    return content[: -8 - length], {**says, "serialized_size": None}


@pytest.mark.parametrize("mode", ["overwrite", "upsert", "append", "delete"])
@pytest.mark.parametrize("partition_by", [(), ("region",)])
def test_the_number_of_threads_changes_nothing(
    warehouse: str, mode: str, partition_by: Sequence[str]
) -> None:
    """The same files with the same bytes, apart from the attempt that is in their names."""
    create(warehouse, partition_by=partition_by)
    rows = [row(number * 7 % 500, f"r{number % 3}", str(number)) for number in range(1_000)]
    batches = pa.Table.from_pylist(rows, schema=SCHEMA).to_batches(max_chunksize=90)
    job = begin(warehouse, mode, **{"write.parquet.row-group-size-bytes": "2000"})

    results = [
        write_task(job.work, batches, partition_id=number, task_id=0, threads=threads)
        for number, threads in ((0, 1), (0, 2), (0, 7))
    ]

    found = [
        [
            (file.kind, file.node, file.partition, file.record_count,
             but_for_the_name(file.footer), but_for_the_name(Path(local(file.path)).read_bytes()))
            for file in result.files
        ]
        for result in results
    ]  # fmt: skip
    assert len(found[0]) >= 4
    assert found[1:] == found[:1] * 2


@pytest.mark.parametrize("mode", ["overwrite", "upsert"])
@pytest.mark.parametrize("fail_on", [1, 3])
def test_a_failure_in_a_thread_leaves_no_file(warehouse: str, mode: str, fail_on: int) -> None:
    """Whichever file of whichever node it is."""
    create(warehouse)
    job = begin(warehouse, mode)
    created: list[str] = []

    def create_output(path: str) -> Any:
        created.append(path)
        if len(created) == fail_on:
            raise OSError("no space left")
        return job.work.target.create_output(path)

    failing = replace(job.work, target=replace(job.work.target, create_output=create_output))
    batches = pa.Table.from_pylist([row(n, "eu", "") for n in range(64)], schema=SCHEMA)

    with pytest.raises(arctic.StorageError, match="no space left"):
        write_task(failing, batches.to_batches(), partition_id=0, task_id=0, threads=2)

    assert len(created) >= fail_on
    assert data_files(warehouse) == set()


def test_differences_are_read_by_other_engines(warehouse: str) -> None:
    """Base files by PyIceberg and DuckDB, the merged view by Arctic."""
    arctic.create_table(
        "m.t",
        SCHEMA,
        primary_key=["id"],
        properties={"write.parquet.delta-encoding": "true"},
        warehouse=warehouse,
    )
    rows = [row(number, f"r{number % 3}", str(number)) for number in range(5_000)]
    data = pa.Table.from_pylist(rows, schema=SCHEMA)
    arctic.write("m.t", data, mode="overwrite", warehouse=warehouse)

    files = sorted(data_files(warehouse))
    store = open_table(CatalogConfig.from_options({"warehouse": warehouse}), "m.t").base
    by_iceberg = store.scan().to_arrow().sort_by("id")
    by_duckdb = duckdb.sql(f"select * from read_parquet({files}) order by id").to_arrow_table()
    for number in (1, 2):
        upsert(warehouse, row(3, "moved", str(number)), row(5_000 + number, "new", ""))

    encodings = {pq.read_metadata(path).row_group(0).column(0).encodings for path in files}
    assert all("DELTA_BINARY_PACKED" in used for used in encodings)
    assert by_iceberg.to_pylist() == by_duckdb.to_pylist() == rows
    assert read(warehouse) == [
        *rows[:3], row(3, "moved", "2"), *rows[4:], row(5_001, "new", ""), row(5_002, "new", ""),
    ]  # fmt: skip
