"""Many processes upsert the same keys at once: the table is the replay in commit order."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from tests.processes import forked

SHARED_KEYS = 10
SCHEMA = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), ("region", pa.string()), ("by", pa.string())]
)


def batch_of(writer: int, number: int) -> list[dict[str, Any]]:
    """Return three keys that everybody writes, in ever other regions, and one of its own."""
    by = f"{writer}/{number}"
    shared = [(number * 3 + step + writer) % SHARED_KEYS for step in range(3)]
    region = f"r{(writer + number) % 3}"
    own = SHARED_KEYS + writer * 1_000 + number
    return [{"id": key, "region": region, "by": by} for key in [*shared, own]]


def upsert_many(warehouse: str, writer: int, rounds: int) -> list[tuple[int, int, int]]:
    """Upsert every batch of one writer; return (snapshot id, writer, number) of each."""
    landed = []
    for number in range(rounds):
        rows = pa.Table.from_pylist(batch_of(writer, number), schema=SCHEMA)
        report = arctic.write("c.t", rows, mode="upsert", warehouse=warehouse)
        assert report.snapshot_id is not None
        landed.append((report.snapshot_id, writer, number))
    return landed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("partition_by", "writers", "rounds", "optimizes"),
    [
        pytest.param([], 8, 20, False, id="any partition is right"),
        # Each of these looks its rows up again after every race that it loses.
        pytest.param(["region"], 4, 8, False, id="rows move between partitions"),
        pytest.param(["region"], 2, 5, True, id="and the table is optimized meanwhile"),
    ],
)
def test_nothing_is_lost_or_doubled(
    tmp_path: Path, partition_by: list[str], writers: int, rounds: int, optimizes: bool
) -> None:
    """Upserts of many processes over shared keys equal a dict that replays their snapshots."""
    warehouse = str(tmp_path)
    arctic.create_table(
        "c.t", SCHEMA, primary_key=["id"], partition_by=partition_by, warehouse=warehouse
    )
    with forked().Pool(writers) as pool:
        tasks = [(warehouse, writer, rounds) for writer in range(writers)]
        writing = pool.starmap_async(upsert_many, tasks)
        kinds = itertools.cycle(["minor", "major", "full"])
        while not writing.ready():
            if optimizes:
                arctic.optimize("c.t", type=next(kinds), warehouse=warehouse)
            writing.wait(0.1)
        landed = [each for part in writing.get() for each in part]

    snapshots = arctic.read("c.t.snapshots", warehouse=warehouse).read_all().to_pylist()
    order = {
        row["snapshot_id"]: row["sequence_number"] for row in snapshots if row["store"] == "change"
    }
    assert len(order) == writers * rounds
    assert (len(snapshots) > len(order)) == optimizes
    model: dict[int, dict[str, Any]] = {}
    for _, writer, number in sorted(landed, key=lambda each: order[each[0]]):
        model.update({row["id"]: row for row in batch_of(writer, number)})

    rows = arctic.read("c.t", warehouse=warehouse).read_all().to_pylist()
    assert sorted(rows, key=lambda row: row["id"]) == [model[key] for key in sorted(model)]
