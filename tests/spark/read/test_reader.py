"""What a scan asks and how its reader answers, without a session."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.job.read.asked_read import AskedRead
from arctic.spark.base.protocol import ScanQuestion
from arctic.spark.base.spark_types import spark_schema
from arctic.spark.read.partition_reader import PartitionReader
from arctic.spark.read.reader import ArcticReader, plan_reader

SCHEMA = pa.schema({"id": pa.int64(), "region": pa.string()})


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A table, and readers of it as a scan of Spark's makes them."""

    warehouse: str

    def put(self, *rows: tuple[int, str]) -> None:
        """Upsert rows."""
        data = pa.table(list(map(list, zip(*rows, strict=True))), schema=SCHEMA)
        arctic.write("db.t", data, mode="upsert", warehouse=self.warehouse)

    def plan(
        self,
        *,
        hints: tuple[Any, ...] = (),
        pin: str | None = None,
        clean: bool = False,
        limit: int | None = None,
        groups: bool = False,
        name: str = "db.t",
        options: Mapping[str, str] | None = None,
    ) -> ArcticReader:
        """Plan a read of all columns."""
        source = {"path": name, "warehouse": self.warehouse, **(options or {})}
        schema = spark_schema(arctic.read(name, warehouse=self.warehouse).schema)
        question = ScanQuestion(
            hints=hints,
            parallelism=3,
            query=None,
            pin=pin,
            spark_reads=clean,
            takes_vectors=False,
            takes_groups=groups,
            limit=limit,
            groups=None,
            required=[],
        )
        return plan_reader(AskedRead.of(source), schema, question)


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    """A table with two partitions in two snapshots."""
    asked = Asked(warehouse=str(tmp_path))
    arctic.create_table(
        "db.t",
        SCHEMA,
        primary_key=["id", "region"],
        partition_by=["region"],
        properties={"base.file-index.hash-bucket": "4"},
        warehouse=asked.warehouse,
    )
    asked.put((1, "eu"), (2, "us"))
    asked.put((3, "eu"), (4, "us"))
    return asked


def _pin(reader: ArcticReader) -> str:
    assert reader.answer is not None
    return reader.answer.pin


def _ids(reader: ArcticReader) -> list[int]:
    executor: ArcticReader = pickle.loads(pickle.dumps(reader))
    batches = [batch for part in reader.partitions()[1:] for batch in executor.read(part)]
    return sorted(value for batch in batches for value in batch.column("id").to_pylist())


def test_a_scan_reads_what_another_scan_of_its_query_has_pinned(asked: Asked) -> None:
    """A commit between the two is not seen by the second."""
    first = asked.plan()
    asked.put((1, "eu"), (5, "eu"))

    assert _ids(asked.plan(pin=_pin(first))) == _ids(first) == [1, 2, 3, 4]
    assert _pin(asked.plan(pin=_pin(first))) == _pin(first)
    assert _ids(asked.plan()) == [1, 2, 3, 4, 5]


def test_hints_leave_out_files(asked: Asked) -> None:
    """Those of the other partition here."""
    reader = asked.plan(hints=(["=", {"column": "region"}, {"value": "eu"}],))
    tasks = [task for part in reader.partitions()[1:] for task in part.value.tasks]

    assert {task.partition for task in tasks} == {("eu",)}
    assert _ids(reader) == [1, 3]


def test_nothing_to_read_is_only_an_answer(asked: Asked) -> None:
    """Spark then runs no task."""
    reader = asked.plan(hints=(["=", {"column": "region"}, {"value": "ap"}],))

    assert len(reader.partitions()) == 1


def test_metadata_tables_answer_too_and_take_no_hints(asked: Asked) -> None:
    """Nothing is pinned for them."""
    reader = asked.plan(name="db.t.snapshots", hints=(["IS_NULL", {"column": "store"}],))

    assert _pin(reader) == ""
    assert sum(batch.num_rows for batch in reader.read(reader.partitions()[1])) == 2


@pytest.mark.parametrize(("options", "groups"), [({}, 6), ({"parallelism": "1"}, 2)])
def test_tasks_follow_the_cores_of_spark_unless_the_user_says_a_number(
    asked: Asked, options: dict[str, str], groups: int
) -> None:
    """Not the cores of the machine that plans: two groups for each core."""
    asked.put(*[(number, region) for number in range(10, 60) for region in ("eu", "us")])

    assert len(asked.plan(options=options).partitions()[1:]) == groups


@pytest.mark.parametrize(("limit", "rows"), [(0, 0), (1, 2), (2, 4), (9, 4), (None, 4)])
def test_a_limit_ends_each_partition(asked: Asked, limit: int | None, rows: int) -> None:
    """Two partitions of two rows each."""
    options = {"parallelism": "2", "parallel-multiple": "1"}

    assert len(_ids(asked.plan(limit=limit, options=options))) == rows


def test_who_takes_no_groups_is_told_of_none(asked: Asked) -> None:
    """They are worked out from all files of the plan."""
    asked.put(*[(number, region) for number in range(10, 60) for region in ("eu", "us")])
    taken, untaken = (asked.plan(groups=taken).answer for taken in (True, False))
    assert taken is not None
    assert untaken is not None

    assert [(name, tuple(columns), len(sizes)) for name, columns, sizes in taken.groupings] == [
        ("node(long, string)", ("id", "region"), 4)
    ]
    assert untaken.groupings == []


def test_a_limit_beside_a_filter_is_not_counted(asked: Asked) -> None:
    """Rows that Spark would drop must not take the place of others."""
    reader = asked.plan(limit=1, hints=([">", {"column": "id"}, {"value": 0}],))

    assert _ids(reader) == [1, 2, 3, 4]


def test_a_reader_travels_without_its_groups(asked: Asked) -> None:
    """It goes along with every task."""
    travelled = pickle.loads(pickle.dumps(asked.plan()))

    assert type(travelled) is PartitionReader
    assert not hasattr(travelled, "groups")
