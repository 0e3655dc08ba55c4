"""Many processes upsert the same keys at once: the table is the replay in commit order."""

from __future__ import annotations

import multiprocessing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic

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
    ("partition_by", "writers", "rounds"),
    [
        pytest.param([], 8, 20, id="any partition is right"),
        # Each of these looks its rows up again after every race that it loses.
        pytest.param(["region"], 4, 8, id="rows move between partitions"),
    ],
)
def test_nothing_is_lost_or_doubled(
    tmp_path: Path, partition_by: list[str], writers: int, rounds: int
) -> None:
    """Upserts of many processes over shared keys equal a dict that replays their snapshots."""
    warehouse = str(tmp_path)
    arctic.create_table(
        "c.t", SCHEMA, primary_key=["id"], partition_by=partition_by, warehouse=warehouse
    )
    with multiprocessing.get_context("spawn").Pool(writers) as pool:
        tasks = [(warehouse, writer, rounds) for writer in range(writers)]
        landed = [each for part in pool.starmap(upsert_many, tasks) for each in part]

    snapshots = arctic.read("c.t.snapshots", warehouse=warehouse).read_all().to_pylist()
    order = {row["snapshot_id"]: row["sequence_number"] for row in snapshots}
    assert len(snapshots) == writers * rounds
    model: dict[int, dict[str, Any]] = {}
    for _, writer, number in sorted(landed, key=lambda each: order[each[0]]):
        model.update({row["id"]: row for row in batch_of(writer, number)})

    rows = arctic.read("c.t", warehouse=warehouse).read_all().to_pylist()
    assert sorted(rows, key=lambda row: row["id"]) == [model[key] for key in sorted(model)]
