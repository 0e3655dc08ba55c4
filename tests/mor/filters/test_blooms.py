"""Row groups that are left out because their bloom filters do not have a value."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import arctic
from arctic.errors import FormatError
from arctic.mor.filters.blooms import is_set
from arctic.mor.filters.xxhash64 import xxhash64

COUNT = 4_000
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("long", pa.int64()),
        ("int", pa.int32()),
        ("text", pa.string()),
        ("day", pa.date32()),
        ("double", pa.float64()),
        ("at", pa.timestamp("us")),
    ]
)
DAY = dt.date(2024, 1, 1)


def rows() -> pa.Table:
    """Return rows of which every second whole number is there, in no order."""
    numbers = 2 * np.random.default_rng(1).permutation(COUNT)
    return pa.table(
        {
            "id": np.arange(COUNT),
            "long": numbers + 2**40,
            "int": numbers - COUNT,
            "text": [f"{'ein ärgerlich langer Text ' * (each % 3)}{each}" for each in numbers],
            "day": [DAY + dt.timedelta(days=int(each)) for each in numbers],
            "double": numbers.astype(float),
            "at": pa.array(numbers * 10**9, pa.timestamp("us")),
        },
        schema=SCHEMA,
    )


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> arctic.Table:
    """A table of one node, all of whose columns are indexed, in many row groups."""
    made = arctic.create_table(
        "b.t",
        SCHEMA,
        primary_key="id",
        index=SCHEMA.names,
        properties={
            "base.file-index.hash-bucket": "1",
            "write.parquet.row-group-size-bytes": "20000",
        },
        warehouse=str(tmp_path_factory.mktemp("blooms")),
    )
    made.write(rows(), mode="overwrite")
    return made


def left_out(table: arctic.Table, condition: str) -> tuple[int, int]:
    """Return how many row groups a read has left out by their filters, and how many there are."""
    text = table.explain(filter=condition, options={"parallelism": "1"}, analyze=True)
    there = re.search(r"with (\d+) row groups?", text)
    blooms = re.search(r"(\d+) row groups? by their bloom filters", text)
    assert there is not None
    return 0 if blooms is None else int(blooms[1]), int(there[1])


def sql(value: Any) -> str:
    """Return a value as a filter has it."""
    if isinstance(value, dt.date):
        return f"date '{value}'"
    return f"'{value}'" if isinstance(value, str) else str(value)


@pytest.mark.parametrize("name", ["long", "int", "text", "day"])
def test_what_is_there_is_found_and_what_is_not_opens_nothing(
    table: arctic.Table, name: str
) -> None:
    """Every value that was written has its bits; of those between them hardly one has."""
    values = rows()[name].to_pylist()
    for place in range(0, COUNT, 97):
        found = table.read(filter=f"{name} = {sql(values[place])}", columns=["id"]).read_all()
        assert found["id"].to_pylist() == [place]

    middle = sorted(values)[COUNT // 2]
    step: Any = {"text": "!", "day": dt.timedelta(days=1)}.get(name, 1)
    left, there = left_out(table, f"{name} = {sql(middle + step)}")
    assert there >= 10
    assert left >= there - 2


def test_filters_are_asked_only_where_every_row_must_pass(table: arctic.Table) -> None:
    """Of several values at once, beside other tests; never of types that have other bytes."""
    data = rows()
    one, other = data["long"][7].as_py(), data["long"][8].as_py()
    for condition, ids, is_asked in (
        (f"long in ({one}, {other + 1}) and id >= 0", [7], True),
        (f"long = {one} or id = 3", [3, 7], False),
        (f"long = {one} and text = {sql(data['text'][8].as_py())}", [], True),
        (f"double = {data['double'][7].as_py()}", [7], False),
        (f"at = timestamp '{data['at'][7].as_py()}'", [7], False),
        (f"long = {one + 1} and id >= 0", [], True),
    ):
        found = table.read(filter=condition, columns=["id"]).read_all()["id"].to_pylist()
        assert (sorted(found), condition) == (ids, condition)
        assert (left_out(table, condition)[0] > 0) is is_asked, condition


def test_changes_that_are_not_merged_have_filters_too(table: arctic.Table) -> None:
    """And what a look-up finds is the newest row, or none where it was deleted."""
    data = rows()
    gone, stays = data["text"][11].as_py(), data["text"][12].as_py()
    changed = data.slice(10, 3).set_column(3, "text", pa.array(["new", "news", stays]))
    table.write(changed.select(data.schema.names), mode="upsert")

    assert table.read(filter=f"text = {sql(gone)}").read_all().num_rows == 0
    assert table.read(filter="text = 'news'").read_all()["id"].to_pylist() == [11]
    assert table.read(filter=f"text = {sql(stays)}").read_all()["id"].to_pylist() == [12]
    left, there = left_out(table, "text = 'news'")
    assert left >= there - 2


def test_a_damaged_filter_is_named(table: arctic.Table) -> None:
    """By it rows would be left out; whoever does not ask it reads on."""
    path = next(
        Path(row["path"].removeprefix("file://"))
        for row in table.inspect("files").to_pylist()
        if row["kind"] == "B"
    )
    content = path.read_bytes()
    place = pq.read_metadata(path).row_group(0).column(3).bloom_filter_offset + 40
    value = rows()["text"][0].as_py()
    damaged = bytes([content[place] ^ 1])
    try:
        path.write_bytes(content[:place] + damaged + content[place + 1 :])
        with pytest.raises(FormatError, match="the checksum of its indexes does not match"):
            table.read(filter=f"text = {sql(value)}").read_all()
        assert table.read(filter="id < 1").read_all()["text"].to_pylist() == [value]
    finally:
        path.write_bytes(content)


@pytest.mark.parametrize("size", range(70))
def test_the_hash_is_that_of_filters_that_pyarrow_writes(tmp_path: Path, size: int) -> None:
    """Of bytes of every length: whole stripes, words, and what is left."""
    value = bytes(range(100, 100 + size))
    path = tmp_path / "one.parquet"
    pq.write_table(
        pa.table({"v": [value]}), path, bloom_filter_options={"v": {"ndv": 1, "fpp": 0.01}}
    )
    column = pq.read_metadata(path).row_group(0).column(0)
    start = column.bloom_filter_offset
    bits = path.read_bytes()[start : start + column.bloom_filter_length][-32:]

    assert is_set(bits, xxhash64(value))
    assert not is_set(bits, xxhash64(value + b"!"))
