"""Many that write to the tables of a catalog at once, and what must come of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from multiprocessing.pool import ThreadPool
from typing import Any

import pyarrow as pa

import arctic
from tests.processes import forked

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("by", pa.string())])
_SHARED_KEYS = 10
Landed = tuple[str, int, int, int]
"""Table, snapshot id, writer, round."""


def batch_of(writer: int, number: int) -> list[dict[str, Any]]:
    """Return three keys that everybody writes, and one of its own."""
    shared = [(number * 3 + step + writer) % _SHARED_KEYS for step in range(3)]
    own = _SHARED_KEYS + writer * 1_000 + number
    return [{"id": key, "by": f"{writer}/{number}"} for key in [*shared, own]]


def write_all(
    catalog: Mapping[str, str], tables: Sequence[str], writer: int, rounds: int
) -> list[Landed]:
    """Upsert every batch of one writer, to each table in turn."""
    landed = []
    for number in range(rounds):
        name = tables[(writer + number) % len(tables)]
        rows = pa.Table.from_pylist(batch_of(writer, number), schema=SCHEMA)
        report = arctic.write(name, rows, mode="upsert", catalog=catalog)
        assert report.snapshot_id is not None
        landed.append((name, report.snapshot_id, writer, number))
    return landed


def check_writers(
    catalog: Mapping[str, str],
    tables: Sequence[str],
    *,
    writers: int,
    rounds: int,
    are_threads: bool = False,
) -> None:
    """Let writers upsert shared keys; each table must be a dict that replays its snapshots.

    Each is a process of its own, or a thread of this one.
    """
    for name in tables:
        arctic.create_table(name, SCHEMA, primary_key=["id"], catalog=catalog)
    with ThreadPool(writers) if are_threads else forked().Pool(writers) as pool:
        tasks = [(dict(catalog), tables, writer, rounds) for writer in range(writers)]
        landed = [each for part in pool.starmap(write_all, tasks) for each in part]
    for name in tables:
        snapshots = arctic.read(f"{name}.snapshots", catalog=catalog).read_all().to_pylist()
        order = {row["snapshot_id"]: row["sequence_number"] for row in snapshots}
        mine = sorted((each for each in landed if each[0] == name), key=lambda it: order[it[1]])
        assert len(snapshots) == len(mine)
        model: dict[int, dict[str, Any]] = {}
        for _, _, writer, number in mine:
            model.update({row["id"]: row for row in batch_of(writer, number)})
        rows = arctic.read(name, catalog=catalog).read_all().to_pylist()
        assert sorted(rows, key=lambda row: row["id"]) == [model[key] for key in sorted(model)]
