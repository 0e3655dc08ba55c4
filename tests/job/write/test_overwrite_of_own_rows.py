"""A table is overwritten by rows made of its own, and others commit in between."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import arctic
from arctic.errors import ConflictError
from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.snapshots.pin import pin
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.command_write import check_seen
from arctic.job.write.commit_write import commit_write
from arctic.job.write.replace_table import find_replaced, replace_table, staged_name
from arctic.job.write.write_job import begin_write, work_here
from arctic.job.write.write_task import write_task

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("region", pa.string())])
NAME = "shop.orders"
Meanwhile = Callable[[], object]


@pytest.fixture(autouse=True)
def warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A lake of its own, for every call."""
    monkeypatch.setenv("ARCTIC_WAREHOUSE", str(tmp_path))
    return str(tmp_path)


def _rows(*ids: int) -> pa.Table:
    regions = ["eu" if number % 2 else "us" for number in ids]
    return pa.table({"id": list(ids), "region": regions}, schema=SCHEMA)


def _make(*, keyed: bool, partition_by: tuple[str, ...] = ()) -> None:
    key = ["id", *partition_by] if keyed else []
    arctic.create_table(NAME, SCHEMA, primary_key=key, partition_by=list(partition_by))
    arctic.write(NAME, _rows(1, 2, 3))


def _ids() -> list[int]:
    return sorted(arctic.read(NAME).read_all().column("id").to_pylist())


def _nothing() -> None:
    pass


def _overwritten(*, before: Meanwhile = _nothing, after: Meanwhile = _nothing) -> None:
    """Begin, read, write and commit, with something before and after the read."""
    job = begin_write(AskedWrite.of({"path": NAME, "write-mode": "overwrite"}), SCHEMA)
    before()
    batches = arctic.read(NAME).read_all().to_batches()
    result = write_task(work_here(job), batches, partition_id=0, task_id=0, threads=1)
    after()
    commit_write(job, [result])


REMOVALS = {
    "all": lambda: arctic.open_table(NAME).delete(None),
    "partition": lambda: arctic.open_table(NAME).delete("region = 'eu'"),
    "overwrite": lambda: arctic.write(NAME, _rows(), mode="overwrite"),
}


@pytest.mark.parametrize("removal", REMOVALS)
def test_rows_that_only_the_change_store_had_do_not_come_back(removal: str) -> None:
    """To remove them changes no file of base, only up to where changes are hidden."""
    _make(keyed=True, partition_by=("region",))

    with pytest.raises(ConflictError, match="write again"):
        _overwritten(after=REMOVALS[removal])

    assert _ids() == ([2] if removal == "partition" else [])


def test_a_replacement_brings_no_removed_row_back(warehouse: str) -> None:
    """As an overwrite does not."""
    _make(keyed=True)
    config = CatalogConfig.from_options({"warehouse": warehouse})
    found, staged = find_replaced(config, NAME), staged_name(NAME)
    arctic.create_table(staged, SCHEMA)
    arctic.write(staged, arctic.read(NAME).read_all())
    arctic.open_table(NAME).delete(None)

    with pytest.raises(ConflictError):
        replace_table(config, staged, NAME, found)

    assert _ids() == []


def test_a_row_that_came_and_went_does_not_stay() -> None:
    """The rows were made while it was there."""
    _make(keyed=False)

    with pytest.raises(ConflictError, match="write again"):
        _overwritten(
            before=lambda: arctic.write(NAME, _rows(9)),
            after=lambda: arctic.open_table(NAME).delete("id = 9"),
        )

    assert _ids() == [1, 2, 3]


@pytest.mark.parametrize("keyed", [False, True], ids=["keyless", "keyed"])
def test_a_subquery_that_saw_an_empty_table_is_compared(keyed: bool) -> None:
    """No snapshot of its own says that it read this table."""
    arctic.create_table(NAME, SCHEMA, primary_key=["id"] if keyed else [])
    asked = AskedWrite.of({"path": NAME})
    empty = pin(asked.reference.open())
    arctic.write(NAME, _rows(1))

    with pytest.raises(ConflictError, match="run it again"):
        check_seen([empty], begin_write(asked, SCHEMA), what="MERGE")
