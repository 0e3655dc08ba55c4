"""The way in: what is refused before any row, and what goes to executors."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from arctic.errors import InvalidInputError
from arctic.table.files import FileKind
from arctic.writing.target import WriteOptions
from arctic.writing.write_request import WriteMode, WriteRequest
from arctic.writing.writer import open_writer, plan_write
from tests.writing.local_table import SCHEMA, Store, batch, make_target, new_task, write

FRAME = pa.schema([*(column.remove_metadata() for column in SCHEMA), ("op", pa.string())])


@pytest.mark.parametrize(
    ("key", "request_", "message"),
    [
        ((), {"mode": "upsert"}, "has no primary key: mode 'upsert' needs one; expected append or"),
        ((), {"mode": "delete"}, "has no primary key: mode 'delete' needs one"),
        ((), {"mode": "append", "action_column": "op"}, "has no primary key: an action column or"),
        (
            (),
            {"mode": "overwrite", "ordering_column": "op"},
            "has no primary key: an action column",
        ),
        (("id",), {"mode": "delete", "action_column": "op"}, "every row would have two meanings"),
        (("id",), {"mode": "overwrite", "action_column": "op"}, "with mode 'overwrite'"),
        (("id",), {"mode": "append", "ordering_column": "op"}, "every row is kept, so no order"),
        (("amount",), {"mode": "upsert", "action_column": "amount"}, "column 'op' is not in table"),
        (("id",), {"mode": "upsert", "action_column": "Op"}, "did you mean 'op'?"),
        (("id",), {"mode": "upsert"}, "column 'op' is not in table 'db.t'"),
    ],
)
def test_a_request_that_cannot_be_carried_out_is_refused(
    tmp_path: Path, key: tuple[str, ...], request_: dict[str, Any], message: str
) -> None:
    """Before a file is opened or a row read."""
    target = make_target(tmp_path, key=key)
    request = WriteRequest(**{**request_, "mode": WriteMode(request_["mode"])})

    with pytest.raises(InvalidInputError) as caught:
        plan_write(target.table, target.schema, FRAME, request=request, locates=True)

    assert message in caught.value.message


def test_an_action_column_of_another_type_is_refused(tmp_path: Path) -> None:
    """Before any row, like everything that types can tell."""
    target = make_target(tmp_path)
    request = WriteRequest(mode=WriteMode.UPSERT, action_column="amount")

    with pytest.raises(InvalidInputError, match="expected text such as I, i"):
        plan_write(target.table, target.schema, SCHEMA, request=request, locates=True)


def test_a_delete_without_its_partition_needs_a_search(tmp_path: Path) -> None:
    """Nobody would know where to write it."""
    target = make_target(tmp_path, partition_by=["region"])
    request = WriteRequest(mode=WriteMode.DELETE)
    frame = pa.schema([("id", pa.int64())])

    plan_write(target.table, target.schema, frame, request=request, locates=True)
    with pytest.raises(InvalidInputError) as caught:
        plan_write(target.table, target.schema, frame, request=request, locates=False)

    assert "the frame lacks region; add what is missing" in caught.value.message


@pytest.mark.parametrize(
    ("property_", "value"),
    [("base.file-index.hash-bucket", "3"), ("change.file-index.hash-bucket", "0")],
)
def test_buckets_that_are_no_power_of_two_are_refused(
    tmp_path: Path, property_: str, value: str
) -> None:
    """A mask of another shape would misplace rows."""
    table = replace(make_target(tmp_path).table, properties={property_: value})

    with pytest.raises(InvalidInputError, match=property_):
        WriteOptions.of({}, table)


def test_settings_come_from_the_call_the_table_and_the_defaults(tmp_path: Path) -> None:
    """In this order; buckets are the table's alone."""
    table = replace(
        make_target(tmp_path).table,
        properties={
            "change.file-index.hash-bucket": "8",
            "write.upsert.enabled": "false",
            "write.target-file-size-bytes": "1 MiB",
        },
    )

    found = WriteOptions.of({"write.target-file-size-bytes": "2 MiB"}, table)

    assert (found.change_mask, found.base_mask) == (7, 3)
    assert (found.upsert_inserts, found.target_file_bytes) == (False, 2**21)
    assert found.compression == "zstd"


def test_everything_that_a_task_needs_pickles(tmp_path: Path) -> None:
    """Target, request and plan go out, the result comes back."""
    target = make_target(tmp_path, partition_by=["region"])
    request = WriteRequest(mode=WriteMode.APPEND)
    rows = batch([{"id": 1, "region": "eu", "amount": 2, "note": None}])
    conform = plan_write(target.table, target.schema, rows.schema, request=request, locates=False)

    there = pickle.loads(pickle.dumps((target, request, conform, new_task())))
    writer = open_writer(there[0], there[3], request=there[1], conform=there[2], locate=None)
    writer.write(rows)
    result = pickle.loads(pickle.dumps(writer.close()))

    store = Store(target)
    store.commit(result)
    assert [row["id"] for row in store.merged()] == [1]
    assert (result.files[0].partition, result.files[0].kind) == (("eu",), FileKind.INSERT)
    assert "/change/data/region=eu/" in result.files[0].path


@pytest.mark.parametrize("mode", ["append", "upsert", "delete", "overwrite"])
def test_a_task_without_rows_leaves_no_file(tmp_path: Path, mode: str) -> None:
    """Spark runs such tasks all the time."""
    target = make_target(tmp_path)

    for batches in ([batch([])], [batch([]), batch([])]):
        assert write(target, batches, mode=mode).files == ()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("before", "environment", "after"),
    [
        pytest.param("mimalloc", {}, "jemalloc", id="nobody chose"),
        pytest.param("system", {}, "system", id="the program chose"),
        pytest.param("mimalloc", {"ARROW_DEFAULT_MEMORY_POOL": "mimalloc"}, "mimalloc", id="user"),
    ],
)
def test_who_writes_reuses_freed_pages_unless_somebody_chose(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    before: str,
    environment: dict[str, str],
    after: str,
) -> None:
    """Another write may find the allocator that this one left."""
    monkeypatch.delenv("ARROW_DEFAULT_MEMORY_POOL", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    usual = pa.default_memory_pool()
    pa.set_memory_pool(getattr(pa, f"{before}_memory_pool")())
    try:
        write(make_target(tmp_path), [batch([])], mode="upsert")
        assert pa.default_memory_pool().backend_name == after
    finally:
        pa.set_memory_pool(usual)
