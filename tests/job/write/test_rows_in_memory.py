"""Overwrites of more rows than there is room for, by how they are given."""

from __future__ import annotations

from datetime import date, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import arctic
from arctic.writing.rows.key_runs import KeyRuns

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("note", pa.string())])


@pytest.mark.parametrize("given", ["table", "batch", "reader"])
def test_only_rows_that_are_not_in_memory_anyway_wait_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    """Those that are would be in memory besides; the table has the same rows each time."""
    waited: list[int] = []
    add = KeyRuns.add

    def counted(runs: KeyRuns, rows: pa.Table, blocks: Any) -> None:
        waited.append(rows.num_rows)
        add(runs, rows, blocks)

    monkeypatch.setattr(KeyRuns, "add", counted)
    numbers = np.random.default_rng(1).permutation(5_000)
    rows = pa.table([pa.array(numbers), pa.array(map(str, numbers.tolist()))], schema=SCHEMA)
    forms = {"table": rows, "batch": rows.combine_chunks().to_batches()[0]}
    place = str(tmp_path)
    table = arctic.create_table("shop.users", SCHEMA, primary_key=["id"], warehouse=place)

    table.write(
        forms.get(given, rows.to_reader(max_chunksize=500)),
        mode="overwrite",
        options={"write.buffer-bytes": str(2**16)},
    )

    assert (sum(waited) == 5_000) == (given == "reader")
    assert bool(waited) == (given == "reader")
    found = pa.Table.from_batches(table.read()).sort_by("id")
    assert found.equals(rows.sort_by("id").cast(found.schema))


@pytest.mark.parametrize(
    ("kind", "key_of"),
    [
        (pa.int32(), int),
        (pa.string(), "k{:05}".format),
        (pa.binary(4), lambda number: number.to_bytes(4, "big")),
        (pa.binary(), lambda number: number.to_bytes(3, "big")),
        (pa.decimal128(12, 2), lambda number: Decimal(number) / 4),
        (pa.date32(), lambda number: date(2000, 1, 1) + timedelta(number)),
        (pa.time64("us"), lambda number: time(number // 3_600, number // 60 % 60, number % 60)),
    ],
    # A function is written with its address, which is another one in each process of a run.
    ids=lambda given: str(given) if isinstance(given, pa.DataType) else "",
)
def test_the_last_row_of_each_key_comes_out_of_all_runs(
    tmp_path: Path, kind: pa.DataType, key_of: Any
) -> None:
    """Of any type that a key can have, beside columns that are no plain values."""
    numbers = np.random.default_rng(1).permutation(1_500).tolist()
    numbers += numbers[:300]
    keys = [key_of(number) for number in numbers]
    schema = pa.schema(
        [pa.field("k", kind, nullable=False), ("v", pa.int64()), ("tags", pa.list_(pa.string()))]
    )
    columns = [keys, range(len(keys)), [[str(key)] for key in keys]]
    rows = pa.table(
        [pa.array(each, field.type) for each, field in zip(columns, schema, strict=True)],
        schema=schema,
    )
    table = arctic.create_table("shop.t", schema, primary_key=["k"], warehouse=str(tmp_path))

    table.write(
        rows.to_reader(max_chunksize=100),
        mode="overwrite",
        options={"write.buffer-bytes": str(2**15)},
    )

    found = pa.Table.from_batches(table.read()).select(["k", "v"]).to_pylist()
    assert len(found) == 1_500
    assert {row["k"]: row["v"] for row in found} == dict(zip(keys, range(len(keys)), strict=True))
