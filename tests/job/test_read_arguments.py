"""What a read without Spark may be asked for beside columns and a filter."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import arctic
from arctic.errors import InvalidInputError, NotFoundError

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.string())])


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> arctic.Table:
    """Return a table that nobody changes."""
    folder: Path = tmp_path_factory.mktemp("reads")
    made = arctic.create_table("t.t", SCHEMA, primary_key=["id"], warehouse=str(folder))
    made.write(pa.table({"id": range(10), "v": ["old"] * 10}, schema=SCHEMA), mode="upsert")
    return made


def test_the_past_is_named_by_a_snapshot_or_a_time(tmp_path: Path) -> None:
    """A number is a snapshot; a time comes as an object or as a text; explain takes them too."""
    table = arctic.create_table("t.t", SCHEMA, primary_key=["id"], warehouse=str(tmp_path))
    first = table.write(pa.table({"id": [1], "v": ["old"]}), mode="upsert")
    between = datetime.now(timezone.utc)
    time.sleep(0.002)
    table.write(pa.table({"id": [1], "v": ["new"]}), mode="upsert")

    by_numpy = np.int64(first.snapshot_id or 0)
    for moment in (first.snapshot_id, by_numpy, between, between.isoformat(" ")):
        assert table.read(as_of=moment).read_all()["v"].to_pylist() == ["old"]
        assert "snapshot" in table.explain(as_of=moment)
    assert table.read().read_all()["v"].to_pylist() == ["new"]
    changes = table.read_changes(start=between.isoformat()).read_all()
    assert changes["v"].to_pylist()[-1] == "new"
    with pytest.raises(NotFoundError):
        table.read(as_of="1999-01-01T00:00:00Z")


@pytest.mark.parametrize(
    "moment",
    [datetime(2026, 1, 1), "2026-01-01", "1764000000000", True, 1.5],  # noqa: DTZ001
)
def test_a_moment_that_may_mean_two_things_is_refused(table: arctic.Table, moment: Any) -> None:
    """A time without a zone, or a number that is no snapshot's."""
    with pytest.raises(InvalidInputError, match="zone"):
        table.read(as_of=moment)


@pytest.mark.parametrize(
    ("limit", "rows"), [(0, 0), (np.int64(1), 1), (10, 10), (11, 10), (None, 10)]
)
def test_a_limit_ends_a_read(table: arctic.Table, limit: int | None, rows: int) -> None:
    """With as many rows as there are, at most."""
    assert table.read(limit=limit).read_all().num_rows == rows
    assert table.read(limit=limit, filter="id >= 9").read_all().num_rows == min(rows, 1)


@pytest.mark.parametrize("limit", [-1, True, "1", 1.0])
def test_a_limit_that_is_no_count_is_refused(table: arctic.Table, limit: Any) -> None:
    """Before anything is read."""
    with pytest.raises(InvalidInputError, match="limit"):
        table.read(limit=limit)


def test_a_result_without_rows_has_a_batch(table: arctic.Table) -> None:
    """It carries the schema for readers that look at batches alone, as Polars does."""
    for reader in (table.read(filter="id > 100", columns=["v"]), table.read(limit=0)):
        batches = list(reader)

        assert [batch.num_rows for batch in batches] == [0]
        assert batches[0].schema == reader.schema


@pytest.mark.parametrize(
    ("properties", "column", "values", "message"),
    [
        ({}, pa.string(), ["2024-01-01 00:00:00", "not a time"], "'not a time' in .*id=1"),
        ({}, pa.string(), [None, "2024-02-30 00:00:00"], "'2024-02-30 00:00:00' in .*id=1"),
        ({}, pa.string(), ["2024-01-01", "2024-01-01 00:00:00"], "'2024-01-01' in .*id=0"),
        (
            {"table.event-time-field.datetime-number-format": "TIMESTAMP_S"},
            pa.int64(),
            [5, -(2**63)],
            "-9223372036854775808 in .*id=1.*seconds",
        ),
    ],
)
@pytest.mark.parametrize("mode", ["upsert", "overwrite"])
def test_an_event_time_that_is_none_is_refused_before_any_file(
    tmp_path: Path,
    properties: dict[str, str],
    column: pa.DataType,
    values: list[Any],
    message: str,
    mode: str,
) -> None:
    """Ignored, it would leave somebody waiting for a watermark that never comes."""
    schema = pa.schema([SCHEMA.field("id"), ("at", column)])
    table = arctic.create_table(
        "t.t",
        schema,
        primary_key=["id"],
        properties={"table.event-time-field": "at", **properties},
        warehouse=str(tmp_path),
    )

    with pytest.raises(InvalidInputError, match=f"column 'at' is {message}"):
        table.write(pa.table({"id": [0, 1], "at": values}, schema=schema), mode=mode)

    assert not list(tmp_path.rglob("*.parquet"))


def test_a_property_that_forbids_cleaning_is_true_or_false(tmp_path: Path) -> None:
    """What is neither would be taken for permission."""
    with pytest.raises(InvalidInputError, match=r"gc\.enabled = 'maybe': expected true or false"):
        arctic.create_table(
            "t.t", SCHEMA, properties={"gc.enabled": "maybe"}, warehouse=str(tmp_path)
        )
