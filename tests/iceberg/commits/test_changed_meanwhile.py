"""An overwrite replaces the rows that were there when it began, and never those of others."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from pyiceberg.table.snapshots import Operation

from arctic.errors import ConflictError
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.commits.commit import commit_overwrite
from arctic.iceberg.tables.open_table import OpenTable
from arctic.table.commit_plan import OverwriteBase
from arctic.table.files import FileKind
from tests.iceberg.stores import (
    append,
    commit_append_base,
    commit_files,
    foreign_file,
    make,
    overwrite,
    reopened,
    row,
    written,
)

Meanwhile = Callable[[OpenTable], object]


def _overwrite(opened: OpenTable, meanwhile: Meanwhile, *, dynamic: bool) -> OpenTable:
    """Overwrite with a row in us, while others do something; return the table after it."""
    began = refresh(opened.base).metadata.current_snapshot_id
    files = written(opened, [row(9, "us")], FileKind.BASE)
    meanwhile(reopened(opened))
    plan = OverwriteBase(
        files=files,
        dynamic=dynamic,
        planned_at=began,
        change_sequence_number=0 if opened.table.is_keyed else None,
    )
    commit_overwrite(opened, plan)
    return reopened(opened)


@pytest.mark.parametrize("key", [(), ("id",)], ids=["keyless", "keyed"])
@pytest.mark.parametrize("is_new", [False, True], ids=["rows", "empty"])
def test_rows_that_came_to_what_is_replaced_are_a_conflict(
    tmp_path: Path, key: tuple[str, ...], is_new: bool
) -> None:
    """Whether base had rows before or not; other partitions are no concern of a dynamic one."""
    opened = make(tmp_path, key=key)
    if not is_new:
        overwrite(opened, [row(1), row(2, "us")], up_to=0 if key else None)

    for region, dynamic in (("us", True), ("us", False), ("asia", False)):
        came = [row(5, region)]
        with pytest.raises(ConflictError, match=f"{region}.*write again"):
            _overwrite(opened, partial(commit_append_base, rows=came), dynamic=dynamic)
    after = _overwrite(opened, lambda other: commit_append_base(other, [row(6)]), dynamic=True)

    summary = after.base.current_snapshot()
    assert summary is not None
    assert summary.summary is not None
    assert summary.summary["total-records"] == ("3" if is_new else "4")


def test_rows_that_went_are_a_conflict_too(tmp_path: Path) -> None:
    """Rows made of them would bring them back."""
    opened = make(tmp_path, key=())
    append(opened, [row(1), row(2, "us")])

    with pytest.raises(ConflictError, match="write again"):
        _overwrite(opened, lambda other: overwrite(other, [], up_to=None), dynamic=False)


def test_files_in_the_place_of_others_are_no_conflict(tmp_path: Path) -> None:
    """Optimizing goes on beside overwrites."""
    opened = make(tmp_path, key=())
    append(opened, [row(1), row(2, "us")])

    def optimize(other: OpenTable) -> None:
        file = foreign_file(other.base, "moved.parquet", ("us",))
        commit_files(other.base, file, operation=Operation.REPLACE)

    after = _overwrite(opened, optimize, dynamic=False)

    assert len(list(after.base.snapshots())) == 3


def test_merged_changes_are_no_conflict_where_they_are_compared_themselves(tmp_path: Path) -> None:
    """Whoever merged more than the overwrite replaces is found by the sequence number."""
    keyed, keyless = make(tmp_path / "a"), make(tmp_path / "b", key=())

    def optimize(other: OpenTable) -> None:
        file = foreign_file(other.base, "merged.parquet", ("us",))
        commit_files(other.base, file, summary={"snapshot.producer": "OPTIMIZE"})

    after = _overwrite(keyed, optimize, dynamic=True)
    assert len(list(after.base.snapshots())) == 2
    with pytest.raises(ConflictError):
        _overwrite(keyless, optimize, dynamic=True)


def test_what_has_expired_meanwhile_counts_as_a_change(tmp_path: Path) -> None:
    """Nobody knows any more what it did."""
    opened = make(tmp_path, key=())
    append(opened, [row(1)])

    def forget(other: OpenTable) -> None:
        first = refresh(other.base).metadata.current_snapshot_id
        assert first is not None
        commit_files(
            other.base, foreign_file(other.base, "a.parquet", ("eu",)), operation=Operation.REPLACE
        )
        reopened(other).base.maintenance.expire_snapshots().by_id(first).commit()

    with pytest.raises(ConflictError, match="expired"):
        _overwrite(opened, forget, dynamic=True)
