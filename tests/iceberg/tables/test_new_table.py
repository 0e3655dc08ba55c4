"""A write that makes its table, and fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.errors import CommitStateUnknownError, InvalidInputError
from arctic.iceberg.tables import create_table, new_table
from arctic.iceberg.tables.new_table import taken_back_on_failure
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.target_table import open_or_create

SCHEMA = pa.schema([pa.field("id", pa.int64()), pa.field("by", pa.string())])


def first_write(
    warehouse: Path, rows: Callable[[], Iterator[pa.RecordBatch]], **options: Any
) -> None:
    """Write rows to a table that the write makes."""
    arctic.write(
        "m.t",
        pa.RecordBatchReader.from_batches(SCHEMA, rows()),
        mode="upsert",
        options={"primaryKey": "id", **options},
        warehouse=str(warehouse),
    )


def one_row(by: str = "me") -> pa.RecordBatch:
    """Return a row that can be written."""
    return pa.RecordBatch.from_pylist([{"id": 1, "by": by}], schema=SCHEMA)


def rows_then_failure() -> Iterator[pa.RecordBatch]:
    """Break in the middle, as a source does."""
    yield one_row()
    raise RuntimeError("the source broke")


def files(warehouse: Path) -> list[str]:
    """Return what lies beside the catalog."""
    return [path.name for path in warehouse.rglob("*.*") if not path.name.startswith("catalog.db")]


def test_it_leaves_no_table_and_no_file(tmp_path: Path) -> None:
    """Neither of the two stores; the next write makes the table anew."""
    with pytest.raises(RuntimeError, match="the source broke"):
        first_write(tmp_path, rows_then_failure)

    assert arctic.list_tables(warehouse=str(tmp_path)) == []
    assert files(tmp_path) == []
    first_write(tmp_path, lambda: iter([one_row()]))
    assert arctic.read("m.t", warehouse=str(tmp_path)).read_all().num_rows == 1


def test_what_is_refused_before_the_first_row_leaves_none_either(tmp_path: Path) -> None:
    """The table is made before all that it is asked for has been looked at."""
    with pytest.raises(InvalidInputError, match="'nope'"):
        first_write(tmp_path, rows_then_failure, **{"ordering-column": "nope"})

    assert arctic.list_tables(warehouse=str(tmp_path)) == []
    assert files(tmp_path) == []


def test_a_table_that_was_there_stays(tmp_path: Path) -> None:
    """However empty: somebody made it on purpose."""
    arctic.create_table("m.t", SCHEMA, primary_key=["id"], warehouse=str(tmp_path))

    with pytest.raises(RuntimeError):
        first_write(tmp_path, rows_then_failure)

    assert arctic.list_tables(warehouse=str(tmp_path)) == ["m.t"]


def test_a_table_that_another_wrote_to_meanwhile_stays(tmp_path: Path) -> None:
    """With its rows."""

    def others_write() -> Iterator[pa.RecordBatch]:
        first_write(tmp_path, lambda: iter([one_row("another")]))
        yield from rows_then_failure()

    with pytest.raises(RuntimeError):
        first_write(tmp_path, others_write)

    rows = arctic.read("m.t", warehouse=str(tmp_path)).read_all().to_pylist()
    assert rows == [{"id": 1, "by": "another"}]


def test_a_commit_after_the_look_keeps_both_stores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pointers are compared again by the transaction that removes them."""
    look = new_table._untouched

    def late(*arguments: Any) -> Any:
        found = look(*arguments)
        first_write(tmp_path, lambda: iter([one_row("late")]))
        return found

    monkeypatch.setattr(new_table, "_untouched", late)
    with pytest.raises(RuntimeError):
        first_write(tmp_path, rows_then_failure)

    rows = arctic.read("m.t", warehouse=str(tmp_path)).read_all().to_pylist()
    assert rows == [{"id": 1, "by": "late"}]


def test_a_writer_that_comes_too_late_is_told(tmp_path: Path) -> None:
    """It began with the table that goes: its rows are refused, not lost in silence."""

    def fails_meanwhile() -> Iterator[pa.RecordBatch]:
        yield one_row()
        new = made[0]
        assert new_table.take_back(new) is None

    options = {"path": "m.t", "warehouse": str(tmp_path), "primaryKey": "id"}
    with new_table.new_tables() as made:
        open_or_create(AskedWrite.of(options), SCHEMA)
    with pytest.raises(arctic.ArcticError, match=r"'m\.t'"):
        first_write(tmp_path, fails_meanwhile)


def test_a_table_that_another_makes_in_the_same_folder_keeps_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It chose the folder before this one was there; the catalog need not know it yet."""
    folders = [f"file://{tmp_path}/m/{store}" for store in ("t", "t_change_")]
    catalog = {"type": "sql", "uri": f"sqlite:///{tmp_path}/b.db", "warehouse": str(tmp_path)}
    forget = new_table._forget

    def forget_late(*arguments: Any) -> bool:
        with monkeypatch.context() as patched:
            patched.setattr(create_table, "new_location", lambda *_: folders.pop(0))
            arctic.create_table("m.t", SCHEMA, primary_key=["id"], catalog=catalog)
        return forget(*arguments)

    monkeypatch.setattr(new_table, "_forget", forget_late)
    with pytest.raises(RuntimeError):
        first_write(tmp_path, rows_then_failure)

    assert not folders
    assert arctic.read("m.t", catalog=catalog).read_all().num_rows == 0


def test_a_catalog_that_cannot_compare_keeps_it_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit between a look and a drop would be lost."""
    monkeypatch.setattr(new_table, "SqlCatalog", int)

    with pytest.raises(InvalidInputError, match="was made for this write and stays, empty"):
        first_write(tmp_path, rows_then_failure, **{"ordering-column": "nope"})

    assert arctic.list_tables(warehouse=str(tmp_path)) == ["m.t"]


def test_a_commit_of_unknown_outcome_keeps_it(tmp_path: Path) -> None:
    """It may have landed."""
    options = {"path": "m.t", "warehouse": str(tmp_path), "primaryKey": "id"}

    def write() -> None:
        with taken_back_on_failure():
            open_or_create(AskedWrite.of(options), SCHEMA)
            raise CommitStateUnknownError("no answer")

    with pytest.raises(CommitStateUnknownError):
        write()

    assert arctic.list_tables(warehouse=str(tmp_path)) == ["m.t"]
