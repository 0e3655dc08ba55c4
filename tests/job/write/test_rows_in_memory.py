"""Overwrites of more rows than there is room for, by how they are given."""

from __future__ import annotations

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
