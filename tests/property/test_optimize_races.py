"""Optimizing while others upsert, delete and overwrite: the table is the replay of their commits.

Commits of the two stores have no common order. But each overwrite carries up to which sequence
number of the change store it replaces changes, for each partition: its rows come first, and the
changes after that number on top. Optimizing changes no rows, so it has no place in the replay.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.pool import Pool
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.metadata.sequence_file import read_state
from arctic.iceberg.tables.open_table import open_table
from arctic.iceberg.values.partition_key import partition_keys
from arctic.table.node_trees import NodeTrees
from tests.processes import forked

KEYS = 16
REGIONS = ["eu", "us", "asia"]
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("region", pa.string()),
        pa.field("by", pa.string()),
    ]
)
# Every base file is a segment, so that it gets position deletes, and everything is due at once.
PROPERTIES = {
    "change.file-index.hash-bucket": "2",
    "self-optimizing.fragment-ratio": "1000000",
    "self-optimizing.minor.trigger.file-count": "1",
    "self-optimizing.min-plan-interval": "0",
}
OPTIMIZE_OPTIONS: list[dict[str, str]] = [
    # Nodes are divided, a file being more than one holds, and joined again by whoever takes files
    # of the usual size.
    {"self-optimizing.target-size": "100", "self-optimizing.sort-columns": "zorder(by, region)"},
    {},
    {"self-optimizing.max-file-count": "4"},
    # A file is less than a node holds, and is more with the changes that are to be merged into it.
    {"self-optimizing.target-size": "250"},
    {"self-optimizing.target-size": "250", "self-optimizing.max-file-count": "4"},
]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    """A commit that the table must show."""

    snapshot_id: int
    mode: str
    rows: list[Row]
    dynamic: bool = False

    def covers(self, region: str | None) -> bool:
        """Say whether an overwrite replaces this region; None is the whole table."""
        return not self.dynamic or any(row["region"] == region for row in self.rows)


@dataclass(slots=True, kw_only=True)
class Share:
    """What one process did."""

    landed: list[Landed]
    conflicts: int = 0
    """How often it gave up."""
    attempts: int = 0
    commits: int = 0
    leaves: set[int] = field(default_factory=set)
    """Of all trees together, after each run."""


def rows_of(writer: int, number: int, count: int) -> list[Row]:
    """Return rows of keys that everybody writes, each key once, in ever other regions."""
    return [
        {
            "id": (number * 3 + step * 5 + writer) % KEYS,
            "region": REGIONS[(writer + number + step) % len(REGIONS)],
            "by": f"{writer}/{number}",
        }
        for step in range(count)
    ]


def write_many(warehouse: str, key: list[str], writer: int, rounds: int, moves: bool) -> Share:
    """Upsert, and delete every third time.

    Raises:
        ConflictError: where no row can move to another partition, none is allowed.
    """
    share = Share(landed=[])
    schema = pa.schema([SCHEMA.field(name) for name in key])
    for number in range(rounds):
        mode = "delete" if number % 3 == 2 else "upsert"
        rows = rows_of(writer, number, 4)
        data = pa.Table.from_pylist(rows, schema=SCHEMA if mode == "upsert" else schema)
        try:
            report = arctic.write("c.t", data, mode=mode, warehouse=warehouse)
        except arctic.ConflictError:
            if not moves:
                raise
            share.conflicts += 1
            continue
        if report.snapshot_id is not None:
            share.landed.append(Landed(snapshot_id=report.snapshot_id, mode=mode, rows=rows))
    return share


def overwrite_many(warehouse: str, writer: int, rounds: int, dynamic: bool) -> Share:
    """Overwrite the whole table or, every other time where it is possible, some partitions."""
    share = Share(landed=[])
    for number in range(rounds):
        some = dynamic and number % 2 == 0
        rows = rows_of(writer, number, 2 if some else 12)
        data = pa.Table.from_pylist(rows, schema=SCHEMA)
        options = {"partitionOverwriteMode": "dynamic"} if some else {}
        try:
            report = arctic.write(
                "c.t", data, mode="overwrite", options=options, warehouse=warehouse
            )
        except arctic.ConflictError:
            share.conflicts += 1
            continue
        assert report.snapshot_id is not None
        share.landed.append(
            Landed(snapshot_id=report.snapshot_id, mode="overwrite", rows=rows, dynamic=some)
        )
    return share


def optimize_until_done(warehouse: str, offset: int) -> Share:
    """Run every type in turn until the writers have come to their end."""
    share = Share(landed=[])
    kinds = ["minor", "major", "full", None]
    for number in itertools.count(offset):
        if done_file(warehouse).exists():
            break
        try:
            report = arctic.optimize(
                "c.t",
                type=kinds[number % len(kinds)],
                options=OPTIMIZE_OPTIONS[number % len(OPTIMIZE_OPTIONS)],
                warehouse=warehouse,
            )
        except arctic.ConflictError:
            share.conflicts += 1
            continue
        share.attempts += report.attempts
        share.commits += report.snapshot_id is not None
        share.leaves.add(leaves_of(warehouse))
    return share


def leaves_of(warehouse: str) -> int:
    """Return how many leaves the trees have that the table remembers."""
    properties = arctic.open_table("c.t", warehouse=warehouse).properties
    trees = NodeTrees.of(properties, is_keyed=True)
    return sum(len(trees.tree(path).leaves) for path in trees.by_path)


def done_file(warehouse: str) -> Path:
    """Return the file that says that no writer is left."""
    return Path(warehouse, "done")


class Replay:
    """The rows that a table must have, from what landed in it."""

    def __init__(self, warehouse: str, key: list[str], landed: list[Landed]) -> None:
        self._key = key
        config = CatalogConfig.from_options({"warehouse": warehouse})
        self._opened = open_table(config, "c.t")
        snapshots = arctic.read("c.t.snapshots", warehouse=warehouse).read_all().to_pylist()
        self._order = {row["snapshot_id"]: row["sequence_number"] for row in snapshots}
        in_order = sorted(landed, key=lambda each: self._order[each.snapshot_id])
        self._overwrites = [each for each in in_order if each.mode == "overwrite"]
        self._changes = [each for each in in_order if each.mode != "overwrite"]

    def rows(self) -> list[Row]:
        """Replay region by region where the key decides it, else the table as a whole."""
        regions = REGIONS if "region" in self._key else [None]
        return [row for region in regions for row in self._rows(region)]

    def _rows(self, region: str | None) -> Iterator[Row]:
        model: dict[tuple[Any, ...], Row] = {}
        replaced_up_to = 0
        covering = [each for each in self._overwrites if each.covers(region)]
        if covering:
            replaced_up_to = self._replaced_up_to(covering[-1], region)
            model = {self._key_of(row): row for row in covering[-1].rows}
        for change in self._changes:
            if self._order[change.snapshot_id] <= replaced_up_to:
                continue
            for row in change.rows:
                if change.mode == "upsert":
                    model[self._key_of(row)] = row
                else:
                    model.pop(self._key_of(row), None)
        yield from (row for row in model.values() if region in (None, row["region"]))

    def _replaced_up_to(self, overwrite: Landed, region: str | None) -> int:
        """Return the sequence number that the snapshot of an overwrite names for a region."""
        base = self._opened.base
        keys = partition_keys(self._opened.table)
        found = read_state(base.metadata, base.io, overwrite.snapshot_id, keys).sequence
        if region is not None:
            return found.get((region,), 0)
        assert len(set(found.values())) <= 1, "a static overwrite replaces all alike"
        return max(found.values(), default=0)

    def _key_of(self, row: Row) -> tuple[Any, ...]:
        return tuple(row[name] for name in self._key)


def rows_in_order(warehouse: str, **options: str) -> list[Row]:
    """Read the rows in a defined order."""
    reader = arctic.read("c.t", columns=SCHEMA.names, options=options, warehouse=warehouse)
    return in_order(reader.read_all().to_pylist())


def in_order(rows: list[Row]) -> list[Row]:
    """Sort rows."""
    return sorted(rows, key=lambda row: (row["id"], row["region"]))


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    """Five processes for all tests: starting them takes as long as a test."""
    with forked().Pool(5) as processes:
        yield processes


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "partition_by", "rounds"),
    [
        pytest.param(["id"], [], 20, id="one partition"),
        pytest.param(["id", "region"], ["region"], 20, id="the key decides the partition"),
        # Each of these looks its rows up again after every race that it loses.
        pytest.param(["id"], ["region"], 8, id="rows move between partitions"),
    ],
)
def test_nothing_is_lost_or_doubled(
    tmp_path: Path, pool: Pool, key: list[str], partition_by: list[str], rounds: int
) -> None:
    """The merged view is the replay; after a last full, base alone is the merged view."""
    warehouse = str(tmp_path)
    arctic.create_table(
        "c.t",
        SCHEMA,
        primary_key=key,
        partition_by=partition_by,
        properties=PROPERTIES,
        warehouse=warehouse,
    )
    moves = bool(partition_by) and "region" not in key
    optimizers = [pool.apply_async(optimize_until_done, (warehouse, each)) for each in (0, 1)]
    writers = [
        pool.apply_async(write_many, (warehouse, key, writer, rounds, moves)) for writer in (0, 1)
    ]
    overwriter = pool.apply_async(
        overwrite_many, (warehouse, 2, rounds // 3, "region" in key and bool(partition_by))
    )
    try:
        written = [each.get() for each in (*writers, overwriter)]
    finally:
        done_file(warehouse).touch()
    optimized = [each.get() for each in optimizers]
    print(
        f"races: {sum(len(each.landed) for each in written)} writes, "
        f"{sum(each.commits for each in optimized)} optimizings in "
        f"{sum(each.attempts for each in optimized)} attempts; gave up: "
        f"{sum(each.conflicts for each in optimized)} optimizings, {written[-1].conflicts} "
        f"overwrites, {sum(each.conflicts for each in written[:-1])} upserts"
    )

    landed = [each for share in written for each in share.landed]
    expected = in_order(Replay(warehouse, key, landed).rows())
    assert rows_in_order(warehouse) == expected
    assert arctic.status("c.t", warehouse=warehouse).table == "c.t"
    assert any(each.commits for each in optimized)
    seen = set[int]().union(*(each.leaves for each in optimized))
    assert len(seen) > 1, f"no run has divided a node, or none has joined any: {seen}"
    arctic.optimize("c.t", type="full", warehouse=warehouse)
    assert rows_in_order(warehouse) == expected
    assert rows_in_order(warehouse, store="base") == expected
