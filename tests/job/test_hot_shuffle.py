"""Rows of hot partitions on their way to tasks."""

from __future__ import annotations

import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import arctic
from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.tables.open_table import open_table
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.plan_shuffle import learnt_shares, plan_shuffle, shares_of, spread_job
from arctic.job.write.shuffle import (
    ARRIVAL_COLUMN,
    ROW_HASH_COLUMN,
    TASK_COLUMN,
    ShufflePlan,
)
from arctic.job.write.write_job import begin_write
from arctic.table.hot_partitions import PartitionShares
from arctic.table.property_names import TREES
from arctic.writing.route import base_places, change_places, find_partitions, hash_keys

SCHEMA = pa.schema([("id", pa.int64()), ("region", pa.string())])
ROWS = pa.table(
    {
        "id": list(range(1000)),
        "region": ["hot" if number % 5 else f"r{number % 7}" for number in range(1000)],
    },
    schema=SCHEMA,
)


def plan_of(warehouse: Path, key: list[str], shares: dict[str, float]) -> ShufflePlan:
    """Plan an upsert, or an append without a key, of a new table with a single node."""
    arctic.create_table(
        "h.t",
        SCHEMA,
        primary_key=key,
        partition_by=["region"],
        properties={"change.file-index.hash-bucket": "1"},
        warehouse=str(warehouse),
    )
    options = {"path": "h.t", "warehouse": str(warehouse)}
    options["write-mode"] = "upsert" if key else "append"
    job = begin_write(AskedWrite.of(options), SCHEMA)
    plan = plan_shuffle(job, SCHEMA.names, shares=PartitionShares(shares=shares))
    assert plan is not None
    return plan


def tasks_of(plan: ShufflePlan, rows: pa.Table, count: int) -> list[int]:
    """Return the task of each row."""
    hashes = [zlib.crc32(repr(row).encode()) - 2**31 for row in rows.to_pylist()]
    rows = rows.append_column(ROW_HASH_COLUMN, pa.array(hashes, pa.int64()))
    columns = [rows.column(name).combine_chunks() for name in plan.columns]
    tasks: list[int] = plan.task_ids(columns, count).to_pylist()
    return tasks


@pytest.mark.parametrize("key", [[], ["id", "region"]])
def test_a_hot_partition_is_even_over_its_tasks(tmp_path: Path, key: list[str]) -> None:
    """And its rows are on one task as long as nobody knows."""
    plan = plan_of(tmp_path, key, {"region=hot": 0.8})
    hot = [place for place, region in enumerate(ROWS["region"].to_pylist()) if region == "hot"]
    before, after = tasks_of(plan, ROWS, 8), tasks_of(plan.for_tasks(8), ROWS, 8)
    counts = Counter(after[place] for place in hot)

    assert len({before[place] for place in hot}) == 1
    assert max(counts.values()) <= 1.3 * 800 / 7
    assert max(Counter(after).values()) <= 2 * 1000 / 8
    assert [a for a, b in zip(after, before, strict=True) if a == b] != []


@pytest.mark.parametrize("key", [[], ["id", "region"]])
def test_the_order_of_rows_decides_nothing(tmp_path: Path, key: list[str]) -> None:
    """A stage that is run again may see them in another one, whatever else is in the batch."""
    plan = plan_of(tmp_path, key, {"region=hot": 0.8, "region=r0": 0.2}).for_tasks(6)
    forward = tasks_of(plan, ROWS, 6)
    backward = tasks_of(plan, ROWS.take(list(reversed(range(1000)))), 6)

    assert forward == backward[::-1]


def test_a_hot_partition_has_deeper_nodes_where_the_key_decides_it(tmp_path: Path) -> None:
    """As many as it has tasks."""
    plan = plan_of(tmp_path, ["id", "region"], {"region=hot": 0.8, "region=r0": 0.2})
    plan = plan.for_tasks(6)

    assert plan.deep_nodes == {"region=hot": 8, "region=r0": 2}


def learnt(warehouse: Path, mode: str) -> PartitionShares | None:
    """Return what a write of the table learns from its commits."""
    options = {"path": "h.t", "warehouse": str(warehouse)}
    if mode != "overwrite":
        options["write-mode"] = mode
    return learnt_shares(begin_write(AskedWrite.of(options, overwrite=mode == "overwrite"), SCHEMA))


@pytest.mark.parametrize("key", [[], ["id", "region"]])
def test_a_write_learns_from_commits_of_its_own_store(tmp_path: Path, key: list[str]) -> None:
    """An overwrite from what lies in base; before the first commit there is nothing to learn."""
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    mode = "upsert" if key else "append"
    table = arctic.create_table("h.t", SCHEMA, primary_key=key, partition_by=["region"], **place)
    assert (learnt(tmp_path, mode), learnt(tmp_path, "overwrite")) == (None, None)

    table.write(ROWS.filter(pc.equal(ROWS["region"], "hot")), mode="overwrite")
    whole = PartitionShares(shares={"region=hot": 1.0})
    assert learnt(tmp_path, "overwrite") == whole
    assert learnt(tmp_path, mode) == (None if key else whole)

    table.write(ROWS, mode=mode)
    after = learnt(tmp_path, mode)
    assert after is not None
    assert after.shares["region=hot"] == pytest.approx(0.8 if key else 1600 / 1800)
    assert (learnt(tmp_path, "overwrite") == whole) == bool(key)


def test_rows_tell_the_shares_of_partitions(tmp_path: Path) -> None:
    """In the types of the table, nulls too; no rows tell nothing."""
    plan_of(tmp_path, [], {})
    target = begin_write(
        AskedWrite.of({"path": "h.t", "warehouse": str(tmp_path), "write-mode": "append"}), SCHEMA
    ).target
    regions = pa.array(["a", None, "a", "b"], pa.large_string())

    found = shares_of(pa.table({"region": regions}), target)
    assert found.shares == {"region=a": 0.5, "region=null": 0.25, "region=b": 0.25}
    assert shares_of(pa.table({"region": regions[:0]}), target).shares == {}


def test_where_keys_move_nodes_stay_as_they_are(tmp_path: Path) -> None:
    """The shuffle does not go by partition then, so no partition is hot to it."""
    plan = plan_of(tmp_path, ["id"], {"region=hot": 0.8})

    assert plan.for_tasks(8) == plan


@pytest.mark.parametrize(
    ("tree", "tasks", "nodes"),
    [
        (None, 6, 4),
        ("4:6", 6, 4),
        ("64", 6, 8),
        ("8:10,14", 6, 8),
        ("64", 200, 64),
    ],
)
@pytest.mark.parametrize("overwrites", [True, False])
def test_a_grown_table_is_written_by_as_many_tasks_as_it_has_nodes(
    tmp_path: Path, tree: str | None, tasks: int, nodes: int, overwrites: bool
) -> None:
    """No leaf of the tree is on two tasks, and each task's rows are in nodes of its own."""
    arctic.create_table("h.t", SCHEMA, primary_key=["id"], warehouse=str(tmp_path))
    if tree is not None:
        config = CatalogConfig.from_options({"warehouse": str(tmp_path)})
        store = open_table(config, "h.t").base
        with store.transaction() as transaction:
            transaction.set_properties({TREES: f'{{"":"{tree}"}}'})
    options = {"path": "h.t", "warehouse": str(tmp_path)}
    if not overwrites:
        options["write-mode"] = "upsert"
    job = begin_write(AskedWrite.of(options, overwrite=overwrites), SCHEMA)
    plan = plan_shuffle(job, SCHEMA.names)
    assert plan is not None
    count = min(tasks, plan.max_tasks or tasks)
    plan = plan.for_tasks(count)
    found = tasks_of(plan, ROWS, count)

    assert len(set(found)) == min(count, nodes)
    assert plan.deep_nodes == ({"": nodes} if nodes > 4 else {})
    helpers = [pa.field(TASK_COLUMN, pa.int32()), pa.field(ARRIVAL_COLUMN, pa.int64())]
    incoming = pa.schema([*SCHEMA, *helpers])
    spread = spread_job(job, incoming, deep_nodes=plan.deep_nodes).target
    places = base_places if overwrites else change_places
    at = places(find_partitions(ROWS, spread), hash_keys(ROWS, spread), spread).node_ids
    assert len(set(at.tolist())) == nodes
    assert len(set(zip(at.tolist(), found, strict=True))) == nodes
