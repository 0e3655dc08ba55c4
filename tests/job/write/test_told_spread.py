"""Writes that one process spreads and another one begins, as with Spark Connect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.commit_write import commit_write
from arctic.job.write.plan_shuffle import plan_shuffle
from arctic.job.write.shuffle import ARRIVAL_COLUMN, TASK_COLUMN
from arctic.job.write.told_spread import begin_told, told_spread
from arctic.job.write.write_job import begin_write
from arctic.job.write.write_task import write_task
from arctic.table.hot_partitions import PartitionShares

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("by", pa.string())])
SPREAD = pa.schema([*SCHEMA, (ARRIVAL_COLUMN, pa.int64()), (TASK_COLUMN, pa.int32())])
NAME = "_arctic_spread"


def create(warehouse: Path, **named: Any) -> dict[str, str]:
    """Create the table s.t, and return the options of an overwrite of it."""
    arctic.create_table("s.t", SCHEMA, warehouse=str(warehouse), **named)
    return {"path": "s.t", "warehouse": str(warehouse), "write-mode": "overwrite"}


def upsert(warehouse: Path, number: int, by: str) -> None:
    """Write one row from beginning to end."""
    rows = pa.table({"id": [number], "by": [by]}, schema=SCHEMA)
    arctic.write("s.t", rows, mode="upsert", warehouse=str(warehouse))


def test_what_an_overwrite_replaces_is_what_the_first_process_saw(tmp_path: Path) -> None:
    """Rows that were committed before the second one began stay, for nobody has read them."""
    options = create(tmp_path, primary_key=["id"])
    upsert(tmp_path, 1, "first")
    client = begin_write(AskedWrite.of(options), SCHEMA)
    plan = plan_shuffle(client, SCHEMA.names)
    assert plan is not None
    upsert(tmp_path, 2, "late")

    job = begin_told(AskedWrite.of({**options, **told_spread(client, plan)}), SPREAD)
    rows = pa.table({"id": [1], "by": ["new"], ARRIVAL_COLUMN: [0], TASK_COLUMN: [0]})
    batches = rows.cast(SPREAD).to_batches()
    commit_write(job, [write_task(job.work, batches, partition_id=0, task_id=0)])

    found = arctic.read("s.t", warehouse=str(tmp_path)).read_all().sort_by("id")
    assert found.to_pylist() == [{"id": 1, "by": "new"}, {"id": 2, "by": "late"}]


def test_hot_partitions_have_their_nodes_in_the_second_process(tmp_path: Path) -> None:
    """As many as the shuffle has tasks for them."""
    options = create(
        tmp_path,
        primary_key=["id", "by"],
        partition_by=["by"],
        properties={"change.file-index.hash-bucket": "1"},
    )
    client = begin_write(AskedWrite.of({**options, "write-mode": "upsert"}), SCHEMA)
    shares = PartitionShares(shares={"by=hot": 0.8, "by=r0": 0.2})
    plan = plan_shuffle(client, SCHEMA.names, shares=shares)
    assert plan is not None

    told = told_spread(client, plan.for_tasks(6))
    job = begin_told(AskedWrite.of({**options, "write-mode": "upsert", **told}), SPREAD)

    assert job.target.options.deep_masks == {"by=hot": 7, "by=r0": 1}


@pytest.mark.parametrize("spread_at", [-5, 3, 99])
def test_nobody_can_say_that_an_overwrite_replaces_the_future(
    tmp_path: Path, spread_at: int
) -> None:
    """A number that the change store has not reached would hide what is committed next."""
    options = create(tmp_path, primary_key=["id"])
    upsert(tmp_path, 1, "first")
    told = f'{{"replaces-up-to": {spread_at}, "deep-nodes": {{}}}}'

    with pytest.raises(arctic.InvalidInputError, match="leave the option out"):
        begin_told(AskedWrite.of({**options, NAME: told}), SPREAD)


@pytest.mark.parametrize("told", ["1", "x", "{}", "[]", '{"replaces-up-to": 0, "deep-nodes": 1}'])
def test_what_is_no_spread_is_refused(tmp_path: Path, told: str) -> None:
    """Only save() says how rows were spread."""
    options = {**create(tmp_path, primary_key=["id"]), NAME: told}

    with pytest.raises(arctic.InvalidInputError, match="leave the option out"):
        begin_told(AskedWrite.of(options), SPREAD)
    with pytest.raises(arctic.InvalidInputError, match="leave the option out"):
        begin_write(AskedWrite.of(options), SCHEMA)


def test_rows_that_were_not_spread_are_refused_as_such(tmp_path: Path) -> None:
    """Without the helper columns nobody knows their order; with them alone, neither."""
    options = create(tmp_path, primary_key=["id"])
    told = '{"replaces-up-to": 0, "deep-nodes": {}}'

    with pytest.raises(arctic.InvalidInputError, match="leave the option out"):
        begin_told(AskedWrite.of({**options, NAME: told}), SCHEMA)
    with pytest.raises(arctic.InvalidInputError, match="the name is reserved"):
        begin_told(AskedWrite.of(options), SPREAD)
