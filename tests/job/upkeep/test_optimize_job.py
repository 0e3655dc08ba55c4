"""Whole runs of optimizing on real tables: rows, files, conflicts, and other engines."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.typedef import Record
from pyiceberg.types import LongType

import arctic
from arctic.errors import ConflictError, InvalidInputError
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.snapshots import pin as pins
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.tasks.progress import SilentProgress
from arctic.job.tasks.run_tasks import LocalRunner
from arctic.job.upkeep import optimize_job
from arctic.job.upkeep.asked_upkeep import AskedOptimize
from arctic.job.upkeep.optimize_job import optimize_table
from arctic.optimizing.sorting import ordered_rows
from arctic.retry import RetryPolicy
from arctic.writing import position_marks
from tests.iceberg import stores
from tests.iceberg.stores import commit_files, position_delete, reopened
from tests.iceberg.test_interop import by_duckdb, by_pyiceberg

TYPES = ("minor", "major", "full")
UTC = timezone.utc
Row = dict[str, Any]
SEGMENTS = {"self-optimizing.target-size": "800", "self-optimizing.max-task-size-bytes": "1"}
"""Every file with a row is a segment: Parquet needs more than a hundred bytes. Nodes are divided by
key as far as they can be."""


def write(folder: Path, rows: Sequence[Row], mode: str = "upsert", **options: str) -> None:
    """Write rows of ``stores.SCHEMA``."""
    data = pa.Table.from_pylist(list(rows), schema=stores.SCHEMA)
    arctic.write("db.t", data, mode=mode, options=options, warehouse=str(folder))


def read(folder: Path, **options: str) -> list[Row]:
    """Read the merged view, or one store, by key."""
    found = arctic.read("db.t", options=options, warehouse=str(folder)).read_all()
    rows: list[Row] = found.select(stores.SCHEMA.names).to_pylist()
    return sorted(rows, key=lambda each: (each["id"], each["region"] or ""))


def optimize(folder: Path, type: str | None, **options: Any) -> arctic.OptimizeReport:
    """Run one type of optimizing."""
    given = options.pop("options", {})
    return arctic.optimize("db.t", type=type, options=given, warehouse=str(folder), **options)


def files(folder: Path, kind: str) -> list[Row]:
    """Return the live files of a kind; of the change store, those that are not merged."""
    table = arctic.open_table("db.t", warehouse=str(folder))
    found: list[Row] = table.inspect("files").to_pylist()
    return [each for each in found if each["kind"] == kind and not each["merged"]]


def on_disk(folder: Path) -> set[str]:
    """Return the Parquet files of the base store."""
    return {str(each) for each in (folder / "db" / "t").rglob("*.parquet")}


def path_of(file: Mapping[str, Any]) -> str:
    """Return the local path of a file."""
    return unquote(urlparse(file["path"]).path)


def full(number: int, region: str | None = "eu", score: float | None = None) -> Row:
    """Return a row with every column."""
    return {"id": number, "region": region, "price": None, "day": None, "score": score}


def ids(rows: Sequence[Row]) -> list[int]:
    """Return the keys."""
    return [each["id"] for each in rows]


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(
    ("partition_by", "settings"),
    [((), SEGMENTS), (("region",), SEGMENTS), (("region",), {})],
    ids=["whole", "partitioned", "fragments"],
)
def test_a_history_is_the_same_with_runs_in_between(
    tmp_path: Path,
    kind: str,
    partition_by: tuple[str, ...],
    settings: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Upserts and deletes drive a dictionary; base alone is the merged view after each run."""
    monkeypatch.setattr(position_marks, "_MARKED_ROWS", 2)
    opened = stores.make(tmp_path, partition_by=partition_by)
    draw = random.Random(f"{kind} {partition_by}")
    model: dict[int, Row] = {}
    for number in range(3):
        keys = draw.sample(range(40), 15)
        upserts = [full(key, draw.choice(["eu", "us", None]), number) for key in keys]
        write(tmp_path, upserts)
        model |= {each["id"]: each for each in upserts}
        gone = draw.sample(sorted(model), 4)
        write(tmp_path, [model.pop(key) for key in gone], "delete")

        optimize(tmp_path, kind, options=settings)

        expected = [model[key] for key in sorted(model)]
        assert read(tmp_path) == expected
        assert read(tmp_path, store="base") == expected
        assert not files(tmp_path, "I")
        deletes = Counter(each["referenced_path"] for each in files(tmp_path, "PD"))
        assert set(deletes.values()) <= {1}, "one position-delete file for each data file"
        assert set(deletes) <= {each["path"] for each in files(tmp_path, "B")}
        assert kind != "full" or not deletes
    assert by_pyiceberg(opened) == by_duckdb(opened) == expected
    assert kind != "minor" or not settings or deletes, "segments are marked, not rewritten"


KEYS: list[tuple[pa.DataType, list[Any]]] = [
    (pa.string(), ["", "a", "\u00e9" * 20, "\u00e9" * 20 + "x", "zz", "\U0001f600"]),
    (pa.binary(), [b"", b"\x00", b"\xff" * 17, b"\xff" * 17 + b"\x01", b"a"]),
    (pa.binary(2), [b"aa", b"ab", b"\xff\xff"]),
    (pa.bool_(), [False, True]),
    (pa.decimal128(20, 2), [Decimal("-1.50"), Decimal(0), Decimal("123456789012.25")]),
    (pa.date32(), [date(1969, 12, 31), date(1970, 1, 1), date(2026, 1, 31)]),
    (pa.time64("us"), [time(0), time(12, 30, 0, 1), time(23, 59)]),
    (
        pa.timestamp("us", "UTC"),
        [datetime(year, 1, 1, tzinfo=UTC) for year in (1960, 2026)],
    ),
    (pa.float64(), [float("-inf"), -0.5, 1.5, float("inf")]),
]


@pytest.mark.parametrize(("kind", "keys"), KEYS, ids=[str(kind) for kind, _ in KEYS])
def test_keys_of_every_type_are_divided_and_put_in_order(
    tmp_path: Path, kind: pa.DataType, keys: list[Any]
) -> None:
    """Tasks by key range, of base files and changes over all of them: each row comes out once."""
    schema = pa.schema([pa.field("id", kind, nullable=False), ("n", pa.int64())])
    stores.make(tmp_path, schema=schema, partition_by=(), base__file_index__hash_bucket="1")
    expected: dict[Any, int] = {}
    for number, some in enumerate([*([key] for key in keys), keys[1:]]):
        data = pa.table({"id": pa.array(some, kind), "n": [number] * len(some)}, schema=schema)
        arctic.write("db.t", data, mode="upsert", warehouse=str(tmp_path))
        expected |= dict.fromkeys(some, number)
        if number < len(keys):
            optimize(tmp_path, "minor", options=SEGMENTS)
    report = optimize(tmp_path, "full", options=SEGMENTS)

    options = {"store": "base"}
    found = arctic.read("db.t", columns=["id", "n"], options=options, warehouse=str(tmp_path))
    rows = [tuple(row.values()) for row in found.read_all().to_pylist()]
    assert sorted(rows) == sorted(expected.items())
    assert report.tasks > 1 or pa.types.is_floating(kind), "float keys may be NaN: never divided"


@pytest.mark.parametrize("kind", TYPES)
def test_a_table_without_a_key_keeps_every_row(tmp_path: Path, kind: str) -> None:
    """Also equal ones; a second run of the same type finds nothing to do, except a full."""
    stores.make(tmp_path, key=())
    for number in range(5):
        write(tmp_path, [full(1, "eu"), full(number, "us")], "append")

    report = optimize(tmp_path, kind)

    assert ids(read(tmp_path)) == [0, 1, 1, 1, 1, 1, 1, 2, 3, 4]
    assert len(files(tmp_path, "B")) == 2
    assert (report.before.base.files, report.after.base.files) == (10, 2)
    again = optimize(tmp_path, kind)
    assert (again.snapshot_id is None) == (kind != "full")


def test_foreign_position_deletes_of_several_files_are_taken_apart(tmp_path: Path) -> None:
    """One delete file for each data file replaces them, in the same snapshot."""
    opened = stores.make(tmp_path, partition_by=())
    for start in (0, 10):
        stores.commit_append_base(opened, [full(start + each) for each in range(10)])
    paths = [each["path"] for each in files(tmp_path, "B")]
    for number in range(2):
        pairs = [(path, position + number) for path in sorted(paths) for position in (2, 5)]
        commit_files(opened.base, position_delete(opened, pairs, (), f"foreign{number}.parquet"))
    expected = read(tmp_path)
    assert len(expected) == 12

    report = optimize(tmp_path, "minor", options=SEGMENTS)

    assert read(tmp_path) == by_pyiceberg(opened) == expected
    assert sorted(each["referenced_path"] for each in files(tmp_path, "PD")) == sorted(paths)
    assert (report.before.position_deletes.files, report.after.position_deletes.files) == (2, 2)
    assert report.rows_deleted == 8


def test_foreign_base_files_at_the_root_are_dealt_out_to_nodes(tmp_path: Path) -> None:
    """Their names say nothing, so they are of the root; a full writes to the nodes of keys.

    All of a tiny partition would stay together.
    """
    opened = stores.make(tmp_path, partition_by=(), read__split__open_file_cost="1")
    stores.commit_append_base(
        opened, [full(each) for each in range(50)], name="part-0-of-1.parquet"
    )
    write(tmp_path, [full(3, score=1.0)])
    expected = read(tmp_path)

    optimize(tmp_path, "full")

    assert read(tmp_path) == expected
    assert ids(expected) == list(range(50))
    assert {each["node_id"] for each in files(tmp_path, "B")} == {4, 5, 6, 7}


def test_deletes_of_nothing_count_as_merged(tmp_path: Path) -> None:
    """There is no row to write; only the optimized sequence advances, in a snapshot of its own."""
    stores.make(tmp_path)
    write(tmp_path, [full(1)], "delete")
    assert len(files(tmp_path, "ED")) == 1

    report = optimize(tmp_path, "minor")

    assert report.snapshot_id is not None
    assert files(tmp_path, "ED") == []
    write(tmp_path, [full(1)])
    assert ids(read(tmp_path)) == [1]


@pytest.mark.parametrize("kind", TYPES)
def test_files_of_a_node_hold_keys_of_their_own(tmp_path: Path, kind: str) -> None:
    """A run writes files near the target size, whose key ranges and row groups do not overlap."""
    payload = pa.schema([pa.field("id", pa.int64(), nullable=False), ("load", pa.binary())])
    stores.make(
        tmp_path,
        schema=payload,
        partition_by=(),
        base__file_index__hash_bucket="1",
        write__parquet__row_group_size_bytes="1 MiB",
    )
    noise = np.random.default_rng(1)
    order = noise.permutation(30_000)
    for part in np.array_split(order, 3):
        data = pa.table({"id": part, "load": [noise.bytes(180) for _ in part]}, schema=payload)
        arctic.write("db.t", data, mode="upsert", warehouse=str(tmp_path))

    optimize(tmp_path, kind, options={"self-optimizing.target-size": "1 MiB"})

    found = files(tmp_path, "B")
    groups = sorted(_key_ranges(found))
    assert len(found) in (5, 6, 7)
    assert all(0.5 * 2**20 < each["size_bytes"] < 1.6 * 2**20 for each in found)
    assert all(before[1] < later[0] for before, later in itertools.pairwise(groups))
    assert sum(each["record_count"] for each in found) == 30_000


def _key_ranges(found: Sequence[Row]) -> list[tuple[int, int]]:
    """Return the least and greatest id of each row group."""
    ranges = []
    for file in found:
        metadata = pq.read_metadata(path_of(file))
        for number in range(metadata.num_row_groups):
            statistics = metadata.row_group(number).column(0).statistics
            ranges.append((statistics.min, statistics.max))
    return ranges


def test_many_files_that_overlap_are_merged_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the files that are read side by side, the rest is sorted; here also on disk."""
    monkeypatch.setattr(ordered_rows, "MAX_FILE_RUNS", 2)
    opened = stores.make(tmp_path, partition_by=(), base__file_index__hash_bucket="1")
    for number in range(6):
        stores.commit_append_base(opened, [full(each) for each in range(number, 60, 6)])

    optimize(
        tmp_path,
        "full",
        options={**SEGMENTS, "self-optimizing.sort-buffer-bytes": "1"},
    )

    assert ids(read(tmp_path)) == list(range(60))
    groups = sorted(_key_ranges(files(tmp_path, "B")))
    assert all(before[1] < later[0] for before, later in itertools.pairwise(groups))


@pytest.mark.parametrize("key", [("id",), ()], ids=["keyed", "unkeyed"])
def test_sort_columns_sort(tmp_path: Path, key: tuple[str, ...]) -> None:
    """Within each file, and so for every row group: nulls last, then by the key."""
    stores.make(tmp_path, key=key, partition_by=(), base__file_index__hash_bucket="1")
    draw = random.Random(1)
    rows = [full(each, score=draw.choice([None, 1.0, 2.5, float("inf")])) for each in range(200)]
    for part in (rows[:80], rows[80:]):
        write(tmp_path, part, "upsert" if key else "append")

    optimize(tmp_path, "full", options={"self-optimizing.sort-columns": "score"})

    (file,) = files(tmp_path, "B")
    scores = pq.read_table(path_of(file))["score"].to_pylist()
    assert scores == sorted(scores, key=lambda each: (each is None, each))
    assert read(tmp_path) == rows


@pytest.mark.parametrize("key", [("id",), ()], ids=["keyed", "unkeyed"])
@pytest.mark.parametrize("text", ["{}", "a name of many characters {}"], ids=["short", "long"])
def test_a_node_of_many_tasks_is_sorted_as_one(
    tmp_path: Path, key: tuple[str, ...], text: str
) -> None:
    """Whatever tasks there are, files follow one another, equal values and nulls included."""
    payload = pa.schema(
        [pa.field("id", pa.int64(), nullable=False), ("status", pa.string()), ("load", pa.binary())]
    )
    stores.make(
        tmp_path,
        schema=payload,
        key=key,
        partition_by=(),
        base__file_index__hash_bucket="1",
        write__parquet__row_group_size_bytes="1 MiB",
    )
    noise = np.random.default_rng(1)
    states = [None, *(text.format(chr(ord("a") + number)) for number in range(9))]
    drawn = [states[number] for number in noise.integers(0, len(states), 20_000)]
    loads = [noise.bytes(200) for _ in drawn]
    data = pa.table({"id": range(20_000), "status": drawn, "load": loads}, schema=payload)
    for part in (data.slice(0, 9_000), data.slice(9_000)):
        arctic.write("db.t", part, mode="append", warehouse=str(tmp_path))
    options = {
        "self-optimizing.sort-columns": "status",
        "self-optimizing.target-size": "1 MiB",
        "self-optimizing.max-task-size-bytes": "1",
    }

    reports = [optimize(tmp_path, "full", options=options) for _ in range(2)]

    # Bounds of long texts are cut to what these have in common, so they tell of no place to cut.
    assert [report.tasks > 1 for report in reports] == [False, text == "{}"]
    found = [
        pq.read_table(path_of(file), columns=["status", "id"]) for file in files(tmp_path, "B")
    ]
    sorted_files = sorted(found, key=lambda rows: _order(rows, 0))
    assert all(
        _order(before, -1) <= _order(after, 0) for before, after in itertools.pairwise(sorted_files)
    )
    assert all(rows.num_rows > 2_000 for rows in found)
    assert sum(rows.num_rows for rows in found) == 20_000
    assert sorted(each for rows in found for each in rows["id"].to_pylist()) == list(range(20_000))


def _order(rows: pa.Table, place: int) -> tuple[bool, str]:
    """Return where a row stands by its status: nulls last."""
    status = rows["status"][place].as_py()
    return status is None, status or ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"type": "huge"}, "optimize type 'huge'; expected one of minor, major, full"),
        ({"where": "unknown = 1"}, "unknown"),
        ({"options": {"self-optimizing.target-size": "x"}}, "self-optimizing.target-size"),
        ({"options": {"self-optimizing.sort-columns": "nope"}}, "'nope' is no column"),
        ({"options": {"merge.max-delete": "1"}}, "merge.max-delete"),
    ],
)
def test_what_cannot_be_understood_is_refused(
    tmp_path: Path, arguments: dict[str, Any], message: str
) -> None:
    """Naming it; nothing is written."""
    stores.make(tmp_path)
    write(tmp_path, [full(1)])
    with pytest.raises(arctic.ArcticError, match=message):
        optimize(tmp_path, **{"type": "full", **arguments})

    assert on_disk(tmp_path) == set()


def test_a_metadata_table_cannot_be_optimized(tmp_path: Path) -> None:
    """The table can."""
    stores.make(tmp_path)
    with pytest.raises(InvalidInputError, match="name the table"):
        arctic.optimize("db.t.files", warehouse=str(tmp_path))


def test_where_leaves_other_partitions_alone(tmp_path: Path) -> None:
    """A partition is optimized whole or not at all."""
    stores.make(tmp_path)
    write(tmp_path, [full(1, "eu"), full(2, "us")])

    report = optimize(tmp_path, "full", where="region = 'eu'")

    assert [each.partition for each in report.partitions] == ["region=eu"]
    assert [each["region"] for each in read(tmp_path, store="base")] == ["eu"]
    assert ids(read(tmp_path)) == [1, 2]


@pytest.mark.parametrize("kind", TYPES)
def test_a_schema_that_moved_on_is_carried_along(tmp_path: Path, kind: str) -> None:
    """Old files have no value of a new column, and know a renamed one by its id."""
    opened = stores.make(tmp_path)
    write(tmp_path, [full(1, score=1.0), full(2, score=2.0)])
    optimize(tmp_path, kind)
    with refresh(opened.base).update_schema() as update:
        update.rename_column("score", "points")
        update.add_column("extra", LongType())
    schema = pa.schema(
        [*stores.SCHEMA.remove(4), pa.field("points", pa.float64()), pa.field("extra", pa.int64())]
    )
    new = {"id": 2, "region": "eu", "points": 2.5, "extra": 7}
    data = pa.Table.from_pylist([new], schema=schema)
    arctic.write("db.t", data, mode="upsert", warehouse=str(tmp_path))

    optimize(tmp_path, kind, options=SEGMENTS)

    found = arctic.read("db.t", options={"store": "base"}, warehouse=str(tmp_path)).read_all()
    rows = sorted(found.select(["id", "points", "extra"]).to_pylist(), key=lambda r: r["id"])
    assert [list(each.values()) for each in rows] == [[1, 1.0, None], [2, 2.5, 7]]


def test_more_changes_than_a_run_may_take_are_merged_by_several(tmp_path: Path) -> None:
    """In the order in which they were written; each run advances."""
    stores.make(tmp_path, partition_by=())
    for number in range(5):
        write(tmp_path, [full(1, score=number), full(10 + number)])
    write(tmp_path, [full(10)], "delete")
    expected = read(tmp_path)
    reached = []
    while files(tmp_path, "I") or files(tmp_path, "ED"):
        report = optimize(tmp_path, "minor", options={"self-optimizing.max-file-count": "5"})
        reached.append(report.partitions[0].merged_up_to)
        left = len([*files(tmp_path, "I"), *files(tmp_path, "ED")])

        assert read(tmp_path) == expected
        assert report.files_waiting == left
        assert ("waiting  " in str(report)) == bool(left)

    assert reached == sorted(set(reached))
    assert len(reached) > 1
    assert expected[0]["score"] == 4


def test_what_is_due_is_done_and_is_then_not_due(tmp_path: Path) -> None:
    """Status says what and why before, and when it was done after."""
    stores.make(tmp_path, partition_by=(), base__file_index__hash_bucket="4")
    for number in range(3):
        write(tmp_path, [full(each, score=number) for each in range(20)])
    before = arctic.status("db.t", warehouse=str(tmp_path))
    report = optimize(tmp_path, None)
    after = arctic.status("db.t", warehouse=str(tmp_path))

    assert before.due is not None
    assert before.reason == "minor: 12 fragments + 12 change delete files >= 12"
    assert report.type is before.due
    assert report.partitions[0].reason == before.partitions[0].verdict.reason
    assert (after.due, after.score) == (None, 100)
    assert after.reason.startswith("nothing due: optimized ")
    assert optimize(tmp_path, None).snapshot_id is None


def test_status_completes_nothing(tmp_path: Path) -> None:
    """A schema change that reached base only stays as it is: looking is not writing."""
    opened = stores.make(tmp_path)
    with refresh(opened.base).update_schema() as update:
        update.add_column("extra", LongType())

    arctic.status("db.t", warehouse=str(tmp_path))

    assert opened.change is not None
    assert len(refresh(opened.change).metadata.schemas) == 1


def test_a_snapshot_says_who_made_it(tmp_path: Path) -> None:
    """As Amoro's readers ask."""
    stores.make(tmp_path)
    write(tmp_path, [full(1)])
    optimize(tmp_path, "major")

    snapshots = arctic.open_table("db.t", warehouse=str(tmp_path)).inspect("snapshots")
    (summary,) = [
        dict(each["summary"]) for each in snapshots.to_pylist() if each["store"] == "base"
    ]
    assert summary["snapshot.producer"] == "OPTIMIZE"
    assert summary["arctic.optimize-type"] == "major"


# Other writers, between the plan and the commit


class Interrupted:
    """Runs tasks, then lets another writer come first, as often as it is told."""

    def __init__(self, other: Callable[[], object], times: int) -> None:
        self.parallelism = 2
        self._left = [other] * times

    def run(self, *arguments: Any, **named: Any) -> Any:
        """Run the tasks, then the other writer."""
        results = LocalRunner(self.parallelism).run(*arguments, **named)
        if self._left:
            self._left.pop()()
        return results


def interrupted(
    folder: Path, other: Callable[[], object], kind: str = "full", times: int = 1
) -> arctic.OptimizeReport:
    """Optimize while another writer commits first."""
    return optimize_table(
        AskedOptimize.of({"path": "db.t", "warehouse": str(folder)}),
        type=kind,
        where=None,
        runner=Interrupted(other, times),
        progress=SilentProgress(),
    )


def prepared(folder: Path) -> OpenTable:
    """Return a table with base files, position deletes and changes."""
    opened = stores.make(folder, partition_by=())
    write(folder, [full(each) for each in range(12)], "overwrite")
    write(folder, [full(3, score=1.0)])
    optimize(folder, "minor", options=SEGMENTS)
    write(folder, [full(4, score=1.0), full(20)])
    return reopened(opened)


def overwritten(folder: Path) -> Callable[[], object]:
    """Return an overwrite of the whole table."""
    return lambda: write(folder, [full(100), full(101)], "overwrite")


def test_a_concurrent_upsert_does_not_conflict(tmp_path: Path) -> None:
    """It is in the change store, after everything that was merged."""
    prepared(tmp_path)

    report = interrupted(tmp_path, lambda: write(tmp_path, [full(4, score=9.0), full(30)]))

    assert report.attempts == 1
    assert ids(read(tmp_path)) == [*range(12), 20, 30]
    assert read(tmp_path)[4]["score"] == 9.0


def test_who_overwrites_wins_and_the_run_is_planned_again(tmp_path: Path) -> None:
    """What was optimized is gone, and leaves no file behind."""
    prepared(tmp_path)
    before = on_disk(tmp_path)

    report = interrupted(tmp_path, overwritten(tmp_path))

    assert report.attempts == 2
    assert ids(read(tmp_path)) == [100, 101]
    written = on_disk(tmp_path) - before
    live = {path_of(each) for each in files(tmp_path, "B")}
    assert live <= written
    assert len(written - live) <= 2, "only the files of the overwrite, which were rewritten"


def test_of_two_runs_the_first_wins(tmp_path: Path) -> None:
    """The other one finds nothing left to merge, and no row twice."""
    prepared(tmp_path)
    expected = read(tmp_path)

    report = interrupted(tmp_path, lambda: optimize(tmp_path, "full"), kind="minor")

    assert report.attempts == 2
    assert read(tmp_path) == read(tmp_path, store="base") == expected


def test_rows_that_others_append_to_base_stay(tmp_path: Path) -> None:
    """The partition is not as it was planned on, so the run is planned again."""
    opened = prepared(tmp_path)

    report = interrupted(
        tmp_path, lambda: stores.commit_append_base(opened, [full(50)], name="f.parquet")
    )

    assert report.attempts == 2
    assert ids(read(tmp_path)) == [*range(12), 20, 50]


@pytest.mark.parametrize("key", [("id",), ()], ids=["keyed", "unkeyed"])
def test_rows_that_others_delete_meanwhile_stay_deleted(
    tmp_path: Path, key: tuple[str, ...]
) -> None:
    """A position delete of a file that was being rewritten is not lost with it."""
    opened = stores.make(tmp_path, key=key, partition_by=())
    stores.commit_append_base(opened, [full(each) for each in range(5)])
    stores.commit_append_base(opened, [full(each) for each in range(5, 10)])
    path = min(each["path"] for each in files(tmp_path, "B"))
    gone = pq.read_table(unquote(urlparse(path).path))["id"][1].as_py()

    report = interrupted(
        tmp_path,
        lambda: commit_files(opened.base, position_delete(opened, [(path, 1)], (), "d.parquet")),
    )

    assert report.attempts == 2
    assert ids(read(tmp_path)) == [each for each in range(10) if each != gone]
    assert files(tmp_path, "PD") == []


def test_an_append_to_a_table_without_a_key_does_not_conflict(tmp_path: Path) -> None:
    """Nothing of it was planned on."""
    stores.make(tmp_path, key=(), partition_by=())
    for number in range(3):
        write(tmp_path, [full(number)], "append")

    report = interrupted(tmp_path, lambda: write(tmp_path, [full(9)], "append"))

    assert report.attempts == 1
    assert ids(read(tmp_path)) == [0, 1, 2, 9]
    assert len(files(tmp_path, "B")) == 2


def test_a_run_that_never_wins_gives_up_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After its attempts; the table is what the others made of it."""
    monkeypatch.setattr(optimize_job, "WHERE_OUTRUN", RetryPolicy(retries=1))
    prepared(tmp_path)
    with pytest.raises(ConflictError, match="plan it again"):
        interrupted(tmp_path, overwritten(tmp_path), times=2)

    assert ids(read(tmp_path)) == [100, 101]
    live = {path_of(each) for each in files(tmp_path, "B")}
    assert live <= on_disk(tmp_path)


def test_a_column_that_is_added_while_the_table_is_opened_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pinned state may be newer than the columns that were read before it: open again then."""
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("v", pa.int64())])
    wider = schema.append(pa.field("extra", pa.int64()))
    arctic.create_table("db.t", schema, primary_key=["id"], warehouse=str(tmp_path))
    first = pa.table({"id": [1, 2], "v": [10, 20]}, schema=schema)
    arctic.write("db.t", first, mode="upsert", warehouse=str(tmp_path))
    real_pin = pins.pin
    events = iter([None])

    def pin(opened: OpenTable) -> Any:
        for _ in events:
            with arctic.open_table(
                "db.t", warehouse=str(tmp_path)
            )._opened.base.update_schema() as u:
                u.add_column("extra", LongType())
            rows = pa.table({"id": [1, 3], "v": [11, 30], "extra": [111, 333]}, schema=wider)
            arctic.write("db.t", rows, mode="upsert", warehouse=str(tmp_path))
        return real_pin(opened.refreshed())

    monkeypatch.setattr("arctic.job.upkeep.survey.pin", pin)
    arctic.optimize("db.t", type="full", warehouse=str(tmp_path))

    rows = arctic.read("db.t", warehouse=str(tmp_path)).read_all().sort_by("id")
    assert rows["extra"].to_pylist() == [111, None, 333]


def test_an_imported_file_has_the_column_that_only_its_partition_tells(tmp_path: Path) -> None:
    """Hive keeps partition columns in folder names; rewriting must not make them null."""
    schema = pa.schema([pa.field("id", pa.int64()), ("region", pa.string()), ("day", pa.date32())])
    table = arctic.create_table(
        "db.t", schema, partition_by=["region", "day"], warehouse=str(tmp_path)
    )
    base = table._opened.base
    path = tmp_path / "imported.parquet"
    pq.write_table(pa.table({"id": pa.array([1, 2])}), path)
    imported = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=str(path),
        file_format=FileFormat.PARQUET,
        partition=Record("eu", 19782),
        record_count=2,
        file_size_in_bytes=path.stat().st_size,
    )
    imported.spec_id = 0
    with base.transaction() as transaction:
        mapping = base.schema().name_mapping.model_dump_json()
        transaction.set_properties({"schema.name-mapping.default": mapping})
        with transaction.update_snapshot().fast_append() as added:
            added.append_data_file(imported)
    expected = [{"id": n, "region": "eu", "day": date(2024, 2, 29)} for n in (1, 2)]

    def rows(**arguments: Any) -> list[Row]:
        found: list[Row] = (
            arctic.read("db.t", warehouse=str(tmp_path), **arguments).read_all().to_pylist()
        )
        return found

    assert rows() == rows(filter="region = 'eu' and day = '2024-02-29'") == expected
    assert rows(filter="day > '2024-02-29' or region is null") == []
    arctic.optimize("db.t", type="full", warehouse=str(tmp_path))
    assert rows() == refresh(base).scan().to_arrow().to_pylist() == expected


def test_changes_stay_for_base_snapshots_that_can_be_rolled_back_to(tmp_path: Path) -> None:
    """What a retained base snapshot has not merged is still there after a cleaning."""
    opened = stores.make(tmp_path)
    write(tmp_path, [stores.row(1)], "overwrite")
    before = refresh(opened.base).metadata.current_snapshot_id
    assert before is not None
    write(tmp_path, [stores.row(2)])
    optimize(tmp_path, "full")

    arctic.expire("db.t", options={"change.data.ttl.minutes": "0"}, warehouse=str(tmp_path))
    opened.base.refresh().manage_snapshots().rollback_to_snapshot(before).commit()

    assert [row["id"] for row in read(tmp_path)] == [1, 2]


def test_what_the_properties_say_is_not_believed_of_an_older_snapshot(tmp_path: Path) -> None:
    """They outlive a rollback, even when a stranger expires every snapshot that told more."""
    opened = stores.make(tmp_path)
    foreign = pa.Table.from_pylist([stores.row(1)], schema=stores.SCHEMA)
    refresh(opened.base).append(foreign)
    before = opened.base.metadata.current_snapshot_id
    assert before is not None
    write(tmp_path, [stores.row(2)])
    report = optimize(tmp_path, "full")
    assert report.snapshot_id is not None
    opened.base.refresh().manage_snapshots().rollback_to_snapshot(before).commit()

    opened.base.refresh().maintenance.expire_snapshots().by_id(report.snapshot_id).commit()

    assert [row["id"] for row in read(tmp_path)] == [1, 2]
    optimize(tmp_path, "full")
    assert [row["id"] for row in read(tmp_path)] == [1, 2]
