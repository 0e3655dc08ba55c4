"""Edits beside one another: the result is that of running one after the other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest

import arctic
from tests.job.edit.rows import ROWS, SCHEMA, make, rows_of


@pytest.mark.parametrize("layout", ["keyed", "moving", "no key"])
def test_no_update_is_lost(tmp_path: Path, layout: str) -> None:
    """Each adds one to a number that all of them read, beside upserts and optimizing."""
    table = make(tmp_path, layout)

    def add(by_merge: int) -> int:
        mine = arctic.open_table("m.t", warehouse=str(tmp_path))
        done: int = 0
        source = pa.table({"id": [1], "more": [1]})
        for _ in range(4):
            with suppress(arctic.ConflictError):
                if by_merge:
                    merge = mine.merge(source, on="id")
                    merge.when_matched_update(set={"n": "target.n + source.more"}).execute()
                else:
                    mine.update("id = 1", set={"n": "n + 1"})
                done += 1
        return done

    def beside(_: int) -> int:
        mine = arctic.open_table("m.t", warehouse=str(tmp_path))
        for _ in range(2):
            mine.write(pa.Table.from_pylist([ROWS[4]], SCHEMA))
            mine.optimize(type="minor")
        return 0

    tasks = [(add, 0), (add, int(table.is_keyed)), (beside, 0)]
    with ThreadPoolExecutor(3) as threads:
        done = sum(threads.map(lambda task: task[0](task[1]), tasks))

    assert done >= 4
    assert [row["n"] for row in rows_of(table) if row["id"] == 1] == [1 + done]
