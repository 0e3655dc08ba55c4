"""Writers whose clocks differ: what replaced the rows of a change came after it all the same."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.errors import UnsupportedError
from arctic.iceberg.commits.together import other_store

SCHEMA = pa.schema([pa.field("id", pa.int64()), pa.field("v", pa.string())])
Skew = Callable[[float], Any]


@pytest.fixture
def skewed(monkeypatch: pytest.MonkeyPatch) -> Skew:
    """A clock that is ahead by some seconds for a while, or behind."""
    now, now_ns = time.time, time.time_ns

    @contextmanager
    def skewed(seconds: float) -> Iterator[None]:
        with monkeypatch.context() as patch:
            patch.setattr(time, "time", lambda: now() + seconds)
            patch.setattr(time, "time_ns", lambda: now_ns() + int(seconds * 10**9))
            yield

    return skewed


@pytest.fixture(params=["now", "before"])
def dated(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Who writes: versions before this one dated commits by the times of their own store alone."""
    if request.param == "before":
        monkeypatch.setattr(other_store, "dated_beside", lambda staged, *_, **__: staged)
    return str(request.param)


class Table:
    """A small table with a key."""

    def __init__(self, folder: Path) -> None:
        self.table = arctic.create_table("db.t", SCHEMA, primary_key="id", warehouse=str(folder))

    def put(self, *ids: int, mode: str = "upsert") -> int:
        """Write rows; return the snapshot."""
        data = pa.table({"id": ids, "v": ["x"] * len(ids)}, schema=SCHEMA)
        snapshot_id = self.table.write(data, mode=mode).snapshot_id
        assert snapshot_id is not None
        return snapshot_id

    def ids(self, as_of: int) -> list[int]:
        """Return the keys right after a commit."""
        return sorted(self.table.read(as_of=as_of).read_all()["id"].to_pylist())

    def told(self, rows: str, start: int, end: int | None = None) -> list[tuple[str, int]]:
        """Return what became of rows between two commits."""
        given = {"change-rows": rows, "start-snapshot-id": str(start)}
        ends = {} if end is None else {"end-snapshot-id": str(end)}
        found = self.table.read_changes(options={**given, **ends}).read_all().to_pylist()
        return sorted((row["_change_type"], row["id"]) for row in found)


@pytest.mark.parametrize("rows", ["commits", "net"])
@pytest.mark.parametrize("how", ["overwrite", "restore", "optimized since"])
def test_an_overwrite_whose_clock_is_behind_is_not_passed_over(
    tmp_path: Path, skewed: Skew, dated: str, rows: str, how: str
) -> None:
    """It has hidden the change, so it came after it."""
    table = Table(tmp_path)
    table.put(9)
    table.table.delete("id = 9")
    first = table.put(1, 2)
    with skewed(-0.3):
        if how == "restore":
            table.table.restore(version=1)
        else:
            table.put(9, mode="overwrite")
        if how == "optimized since":
            table.table.optimize(type="full")
    last = table.put(3)

    with pytest.raises(UnsupportedError, match="replaced or removed rows in the base store"):
        table.table.read_changes(start=first, end=last)
    told = [("delete", 1), ("delete", 2), ("insert", 3), ("insert", 9)]
    assert table.told(rows, first, last) == told
    assert table.told(rows, first) == told
    assert table.told(rows, last) == []
    assert table.ids(first) == [1, 2]
    assert table.ids(last) == [3, 9]


def test_a_change_whose_clock_is_behind_lies_on_what_was_there(
    tmp_path: Path, skewed: Skew
) -> None:
    """Its writer has seen the overwrite, so it came after that."""
    table = Table(tmp_path)
    with skewed(0.3):
        first = table.put(1, 2)
        table.put(9, mode="overwrite")
    last = table.put(3)

    assert table.ids(first) == [1, 2]
    assert table.ids(last) == [3, 9]
    told = [("delete", 1), ("delete", 2), ("insert", 3), ("insert", 9)]
    assert table.told("net", first, last) == told
