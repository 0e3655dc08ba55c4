"""A table that nobody has given a number of nodes: it takes as many as its rows are worth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import arctic
from arctic.table.node_trees import NodeTrees

SCHEMA = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), ("day", pa.int64()), ("noise", pa.int64())]
)
SMALL = {
    # Nothing is tiny, nor written as if it were.
    "read.split.open-file-cost": "1",
    "change.file-index.hash-bucket": "4",
    "self-optimizing.target-size": "10000",
    "self-optimizing.min-plan-interval": "0",
    "self-optimizing.minor.trigger.file-count": "1",
}


def create(folder: Path, **properties: str) -> arctic.Table:
    """Create a table with nodes of forty thousand bytes."""
    given = {**SMALL, **{name.replace("__", "."): text for name, text in properties.items()}}
    return arctic.create_table(
        "g.t",
        SCHEMA,
        primary_key=["day", "id"],
        partition_by=["day"],
        properties=given,
        warehouse=str(folder),
    )


def rows(ids: range, *, by: int, day: int = 0) -> pa.Table:
    """Return one row for each id, of values that cannot be compressed."""
    noise = np.random.default_rng(by).integers(2**62, size=len(ids))
    return pa.table({"id": list(ids), "day": [day] * len(ids), "noise": noise}, schema=SCHEMA)


def leaves(table: arctic.Table, day: int = 0) -> int:
    """Return how many nodes a partition is remembered to have."""
    found = NodeTrees.of(table.refresh().properties, is_keyed=True)
    return len(found.tree(f"day={day}").leaves)


def held(table: arctic.Table, kind: str = "B") -> set[int]:
    """Return the nodes of files that are not merged."""
    files = table.inspect("files").to_pylist()
    return {each["node_id"] for each in files if each["kind"] == kind and not each["merged"]}


def test_a_table_grows_by_itself(tmp_path: Path) -> None:
    """From a thousand rows on by upserts, each row once; no file is far beyond the target."""
    table = create(tmp_path)
    model: dict[int, int] = {}
    seen = []
    for by, end in enumerate((1_000, 4_000, 16_000, 40_000, 80_000, 80_000)):
        ids = range(end // 2, end) if by % 2 else range(end)
        batch = rows(ids, by=by)
        table.write(batch, mode="upsert")
        model.update(zip(ids, batch["noise"].to_pylist(), strict=True))
        table.optimize()
        seen.append(leaves(table))
        found = table.read().read_all()
        ids_now, noise = (found.column(name).to_pylist() for name in ("id", "noise"))
        assert len(ids_now) == len(model)
        assert dict(zip(ids_now, noise, strict=True)) == model

    assert seen[0] == 4
    assert seen == sorted(seen)
    assert seen[-1] >= 16
    assert max(held(table)) >= 16
    runs = [table.optimize().type for _ in range(4)]
    assert runs[-1] is None, "what is due comes to an end"
    assert table.count() == len(model)

    table.write(rows(range(16 * 65_536), by=9), mode="overwrite")
    assert min(held(table)) >= 8, "a load goes to the nodes that there are"
    table.write(rows(range(80_000), by=9), mode="overwrite")
    assert max(held(table)) < 8, "few rows to the least"
    many = rows(range(8 * 16_384), by=9)
    table.write(many, mode="upsert")
    assert min(held(table, "I") | held(table, "ED")) >= 8, "as many nodes as so many rows are worth"
    found = table.read().read_all().sort_by("id")
    assert [found[name].to_pylist() for name in ("id", "noise")] == [
        many[name].to_pylist() for name in ("id", "noise")
    ]


def test_a_table_shrinks_again(tmp_path: Path) -> None:
    """When most of its rows are gone; and other partitions keep what they have."""
    table = create(tmp_path)
    for day in (1, 2):
        table.write(rows(range(60_000), by=1, day=day), mode="upsert")
        table.optimize()
        table.optimize(type="full", where=f"day = {day}")
    many = leaves(table, 1)
    assert many == leaves(table, 2) >= 8

    table.write(rows(range(1_000, 60_000), by=1, day=1).drop(["noise"]), mode="delete")
    table.optimize(type="full", where="day = 1")
    table.optimize(type="full", where="day = 1")

    assert (leaves(table, 1), leaves(table, 2)) == (4, many)
    assert table.count() == 61_000
    reasons = {each.partition: each.nodes for each in table.status().partitions}
    assert reasons["day=1"].startswith("4 nodes: node ")
    assert reasons["day=2"].startswith(f"{many} nodes: node ")


def test_changes_that_wait_divide_nodes_once_and_for_all(tmp_path: Path) -> None:
    """Base hovers about three quarters of what nodes hold, and all of it is upserted each time."""
    table = create(tmp_path)
    table.write(rows(range(14_000), by=0), mode="upsert")
    table.optimize(type="full")
    assert leaves(table) == 4

    seen: list[int] = []
    for by, end in enumerate((14_000, 12_600, 14_500, 13_000, 14_000), start=1):
        table.write(rows(range(end, 14_500), by=0).drop(["noise"]), mode="delete")
        batch = rows(range(end), by=by)
        table.write(batch, mode="upsert")
        reason = table.status().partitions[0].nodes
        assert "and changes that weigh as much as" in reason
        (line,) = (line for line in table.explain().splitlines() if "partition day=0, " in line)
        assert ("the next run divides it" in line) == (not seen)
        table.optimize(type="minor" if by % 2 else "full")
        table.optimize(type="full")
        seen.append(leaves(table))
        assert table.read().read_all().sort_by("id")["noise"].to_pylist() == (
            batch["noise"].to_pylist()
        )

    assert seen == [16] * 5
    nodes = table.refresh().inspect("nodes").to_pylist()
    assert {each["node_id"] for each in nodes} == set(range(16, 32))
    assert all("more divides it, and it is joined with node" in each["why"] for each in nodes)
    assert "nodes of new base files" not in table.explain(filter="id = 1")


@pytest.mark.parametrize("count", ["1", "4"])
def test_a_number_that_is_stated_stays(tmp_path: Path, count: str) -> None:
    """However much there is."""
    table = create(tmp_path, **{"base.file-index.hash-bucket": count})
    for by in range(2):
        table.write(rows(range(40_000), by=by), mode="upsert")
        table.optimize(type="full")

    assert held(table) == set(range(int(count), 2 * int(count)))
    assert "arctic.tree" not in table.refresh().properties
    assert table.status().partitions[0].nodes == f"{count} node{'' if count == '1' else 's'}"
    assert set(table.inspect("nodes")["why"].to_pylist()) == {None}
    assert "nodes of new base files" not in table.explain()
