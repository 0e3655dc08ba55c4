"""A batch of a stream lands once, whatever happens around it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.iceberg.commits.commit_notes import BatchLandedError
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.commit_write import commit_write
from arctic.job.write.write_job import WriteJob, begin_write
from arctic.job.write.write_task import write_task
from arctic.table.streams.stream_batch import StreamBatch

SCHEMA = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), ("region", pa.string()), ("by", pa.string())]
)
Row = tuple[int, str, str]


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    """Return the folder of an embedded catalog."""
    return str(tmp_path)


def create(warehouse: str, *, keyed: bool = True, partition_by: list[str] | None = None) -> None:
    """Make the table s.t."""
    arctic.create_table(
        "s.t",
        SCHEMA,
        primary_key=["id"] if keyed else [],
        partition_by=partition_by or [],
        warehouse=warehouse,
    )


def rows_of(*rows: Row) -> pa.Table:
    """Return rows as a table."""
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    return pa.table(columns, schema=SCHEMA)


def batch_options(batch_id: int, query: str = "q") -> dict[str, str]:
    """Return what says which batch a write is."""
    return {"stream-query-id": query, "stream-batch-id": str(batch_id)}


def put(
    warehouse: str, batch_id: int, *rows: Row, query: str = "q", mode: str = "append"
) -> arctic.WriteReport:
    """Write one batch from beginning to end."""
    options = batch_options(batch_id, query)
    return arctic.write("s.t", rows_of(*rows), mode=mode, options=options, warehouse=warehouse)


def begun(warehouse: str, batch_id: int, mode: str = "append") -> WriteJob:
    """Begin to write a batch as an engine does."""
    given = {"path": "s.t", "warehouse": warehouse, "write-mode": mode}
    return begin_write(AskedWrite.of({**given, **batch_options(batch_id)}), SCHEMA)


def read(warehouse: str) -> list[Row]:
    """Return the merged view, sorted."""
    found = arctic.read("s.t", warehouse=warehouse).read_all().to_pylist()
    return sorted(tuple(row.values()) for row in found)


def files(warehouse: str) -> set[Path]:
    """Return the data files on disk."""
    return set(Path(warehouse).rglob("*.parquet"))


def snapshots(warehouse: str) -> list[dict[str, Any]]:
    """Return the snapshots of both stores, with their summaries."""
    found = arctic.read("s.t.snapshots", warehouse=warehouse).read_all().to_pylist()
    return [{**row, "summary": dict(row["summary"])} for row in found]


@pytest.mark.parametrize("keyed", [True, False])
def test_a_replayed_batch_changes_nothing(warehouse: str, keyed: bool) -> None:
    """An append, because that is what would show every row twice."""
    create(warehouse, keyed=keyed)
    first = put(warehouse, 0, (1, "eu", "a"))
    put(warehouse, 1, (2, "eu", "b"))
    before = files(warehouse)
    replayed = put(warehouse, 1, (2, "eu", "b"))
    put(warehouse, 0, (1, "eu", "a"))

    assert read(warehouse) == [(1, "eu", "a"), (2, "eu", "b")]
    assert files(warehouse) == before
    assert first.snapshot_id is not None
    assert (replayed.snapshot_id, replayed.rows, replayed.files) == (None, 1, 0)


def test_the_summary_says_which_batch_a_snapshot_is(warehouse: str) -> None:
    """In the store that the rows are in."""
    create(warehouse)
    put(warehouse, 7, (1, "eu", "a"), query="orders-1")
    (snapshot,) = snapshots(warehouse)

    assert snapshot["store"] == "change"
    assert snapshot["summary"]["arctic.stream-query-id"] == "orders-1"
    assert snapshot["summary"]["arctic.stream-batch-id"] == "7"


def test_streams_into_one_table_are_independent(warehouse: str) -> None:
    """Each counts for itself."""
    create(warehouse)
    put(warehouse, 5, (1, "eu", "a"), query="one")
    put(warehouse, 0, (2, "eu", "b"), query="two")
    put(warehouse, 5, (3, "eu", "lost"), query="one")
    put(warehouse, 1, (3, "eu", "c"), query="two")

    assert read(warehouse) == [(1, "eu", "a"), (2, "eu", "b"), (3, "eu", "c")]


@pytest.mark.parametrize("keyed", [True, False])
def test_a_batch_is_known_after_its_snapshot_has_expired(warehouse: str, keyed: bool) -> None:
    """The property stays when every snapshot that told of the batch is gone."""
    create(warehouse, keyed=keyed)
    put(warehouse, 0, (1, "eu", "a"))
    arctic.write("s.t", rows_of((2, "eu", "other")), mode="append", warehouse=warehouse)
    arctic.optimize("s.t", type="full", warehouse=warehouse)
    now = {"snapshot.keep.duration": "0", "change.data.ttl.minutes": "0"}
    arctic.expire("s.t", options=now, warehouse=warehouse)
    arctic.expire("s.t", options=now, warehouse=warehouse)
    told = [row["summary"].get("arctic.stream-batch-id") for row in snapshots(warehouse)]
    put(warehouse, 0, (1, "eu", "a"))

    assert told == [None] * len(told)
    assert read(warehouse) == [(1, "eu", "a"), (2, "eu", "other")]


@pytest.mark.parametrize(
    "partition_by", [pytest.param([], id="rows stay"), pytest.param(["region"], id="rows move")]
)
@pytest.mark.parametrize("mode", ["append", "upsert"])
def test_of_two_attempts_at_once_one_lands(
    warehouse: str, mode: str, partition_by: list[str]
) -> None:
    """A driver that was taken for dead commits first; the files of the other go."""
    create(warehouse, partition_by=partition_by)
    arctic.write("s.t", rows_of((1, "us", "old")), mode="append", warehouse=warehouse)
    jobs = [begun(warehouse, 3, mode) for _ in range(2)]
    batches = rows_of((2, "eu", "a")).to_batches()
    results = [write_task(job.work, batches, partition_id=0, task_id=0) for job in jobs]
    arctic.write("s.t", rows_of((9, "eu", "other")), mode="append", warehouse=warehouse)
    landed = [commit_write(*each) for each in zip(jobs, [[each] for each in results], strict=True)]
    left = {Path(file.path.removeprefix("file://")).name for file in results[1].files}

    assert [each is not None for each in landed] == [True, False]
    assert read(warehouse) == [(1, "us", "old"), (2, "eu", "a"), (9, "eu", "other")]
    assert not left & {path.name for path in files(warehouse)}


def test_an_empty_batch_leaves_no_trace(warehouse: str) -> None:
    """Nothing can land twice where nothing lands, and the next batch does."""
    create(warehouse)
    put(warehouse, 0, (1, "eu", "a"))
    assert put(warehouse, 1).snapshot_id is None
    put(warehouse, 1)
    put(warehouse, 2, (2, "eu", "b"))

    assert len(snapshots(warehouse)) == 2
    assert read(warehouse) == [(1, "eu", "a"), (2, "eu", "b")]


def test_a_replayed_overwrite_does_not_bring_the_past_back(warehouse: str) -> None:
    """It would replace what was written after it."""
    create(warehouse)
    put(warehouse, 0, (1, "eu", "a"), mode="overwrite")
    arctic.write("s.t", rows_of((2, "eu", "later")), mode="upsert", warehouse=warehouse)
    put(warehouse, 0, (1, "eu", "a"), mode="overwrite")

    assert read(warehouse) == [(1, "eu", "a"), (2, "eu", "later")]


def test_a_lost_answer_is_not_taken_for_a_replay(
    warehouse: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit landed, and its files are live: they must not be tidied up as a replay's."""
    from pyiceberg.catalog.sql import SqlCatalog  # noqa: PLC0415 - only this test breaks it

    create(warehouse)
    real: Callable[..., Any] = SqlCatalog.commit_table
    calls: list[None] = []

    def lose_the_answer(*arguments: Any, **named: Any) -> Any:
        answer = real(*arguments, **named)
        calls.append(None)
        if len(calls) == 1:
            raise OSError("no answer")
        return answer

    monkeypatch.setattr(SqlCatalog, "commit_table", lose_the_answer)
    assert put(warehouse, 0, (1, "eu", "a")).snapshot_id is not None

    assert read(warehouse) == [(1, "eu", "a")]


def test_one_half_of_a_name_is_refused(warehouse: str) -> None:
    """A batch number without its writer would be skipped by anybody's."""
    create(warehouse)
    for option, missing in (("query-id", "batch-id"), ("batch-id", "query-id")):
        with pytest.raises(arctic.InvalidInputError, match=f"without stream-{missing}"):
            arctic.write(
                "s.t",
                rows_of((1, "eu", "a")),
                mode="append",
                options={f"stream-{option}": "1"},
                warehouse=warehouse,
            )


@pytest.mark.parametrize("query_id", ["", "a b", "x" * 129, ".x"])
def test_a_writer_id_that_is_no_name_is_refused(query_id: str) -> None:
    """It becomes part of the name of a table property."""
    with pytest.raises(arctic.InvalidInputError, match="stream query id"):
        StreamBatch(query_id=query_id, batch_id=0)


def test_what_a_store_remembers_must_be_a_number() -> None:
    """Else every batch could land again."""
    with pytest.raises(arctic.FormatError, match=r"arctic\.stream\.q = 'x'"):
        StreamBatch(query_id="q", batch_id=0).has_landed({"arctic.stream.q": "x"})


def test_a_batch_that_landed_is_a_lost_race() -> None:
    """So that every handler of conflicts knows it."""
    assert issubclass(BatchLandedError, arctic.ConflictError)
