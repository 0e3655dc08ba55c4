"""A merge into a table without a key: each stored row is itself, whatever others equal it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.job.edit import commit_places
from tests.job.edit.rows import LAYOUTS, ROWS, SCHEMA, make, rows_of

KEYLESS = [name for name in LAYOUTS if name.startswith("no key")]
SOURCE = pa.Table.from_pylist([{"id": 1, "n": 10}, {"id": 4, "n": 40}, {"id": 8, "n": 80}])


def doubled(folder: Path, layout: str) -> arctic.Table:
    """Return a table that holds every row twice, in files of three commits."""
    table = make(folder, layout)
    table.write(pa.Table.from_pylist(ROWS, SCHEMA))
    return table


def files_of(table: arctic.Table) -> set[str]:
    """Return the data files."""
    rows = table.inspect("files").to_pylist()
    return {row["path"] for row in rows if row["kind"] == "B"}


@pytest.mark.parametrize("layout", KEYLESS)
def test_rows_that_are_equal_are_changed_one_by_one(tmp_path: Path, layout: str) -> None:
    """By one row of the source, which they all match; the others stay in their files."""
    table = doubled(tmp_path, layout)
    files = files_of(table)

    report = (
        table.merge(SOURCE, on="id")
        .when_matched_update(set={"n": "target.n + source.n"}, condition="source.id = 1")
        .when_matched_delete()
        .when_not_matched_insert(values={"id": "source.id", "city": "'new'"})
        .execute()
    )

    one = {**ROWS[0], "n": 11}
    new = {"id": 8, "city": "new", "n": None, "x": None}
    expected = [*[one] * 2, *[ROWS[1]] * 2, *[ROWS[2]] * 2, *[ROWS[4]] * 2, new]
    assert rows_of(table) == expected
    counts = (report.rows_updated, report.rows_deleted, report.rows_inserted, report.rows_written)
    assert counts == (2, 2, 1, 3)
    assert len(table.history()) == 4
    assert files & files_of(table)  # what holds rows that stay was not written anew
    table.merge(SOURCE, on="id").when_matched_delete(condition="target.id = 1").execute()
    assert rows_of(table) == expected[2:]
    table.optimize(type="full")
    assert rows_of(table) == expected[2:]


def test_null_equals_nothing_and_the_source_may_come_twice(tmp_path: Path) -> None:
    """Each of its rows that matches none is a row; several that act on one are refused."""
    table = make(tmp_path, "no key")
    source = pa.table({"n": pa.array([None, None, 1, 1], pa.int32()), "id": [20, 20, 21, 21]})
    merge = table.merge(source, on="n").when_not_matched_insert(values={"id": "source.id"})

    with pytest.raises(
        arctic.InvalidInputError, match=r"cardinality violation.*'id': 1, .*at most one"
    ):
        merge.when_matched_update(set={"city": "'x'"}).execute()
    assert rows_of(table) == ROWS
    merge = table.merge(source, on="n").when_not_matched_insert(values={"id": "source.id"})
    report = merge.when_matched_delete().execute()

    new = {"id": 20, "city": None, "n": None, "x": None}
    assert rows_of(table) == [*ROWS[1:], new, new]
    assert (report.rows_deleted, report.rows_inserted) == (1, 2)


def test_nothing_to_do_is_no_commit(tmp_path: Path) -> None:
    """In a table with rows, and in one that never had any."""
    table = make(tmp_path, "no key")
    none = table.merge(SOURCE, on="id").when_matched_delete(condition="source.n > 1000").execute()
    assert (none.snapshot_id, none.rows_written) == (None, 0)
    assert rows_of(table) == ROWS

    empty = arctic.create_table("m.e", SCHEMA, warehouse=str(tmp_path))
    assert empty.merge(SOURCE, on="id").when_matched_delete().execute().snapshot_id is None
    merge = empty.merge(SOURCE, on="id").when_not_matched_insert(values={"id": "source.id"})
    assert merge.execute().rows_inserted == 3
    gone = empty.merge(SOURCE.slice(0, 0), on="id").when_not_matched_by_source_delete().execute()
    assert gone.rows_deleted == 3
    assert files_of(empty) == set()  # files of which no row is left go as a whole


@pytest.mark.parametrize("meanwhile", ["append", "delete", "optimize", "column"])
def test_what_others_commit_meanwhile_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    """The merge is done again on what is there then, unless the rows were only moved."""
    table = make(tmp_path, "no key")
    commit = commit_places.__dict__["commit_write"]
    left = [meanwhile]

    def late(*arguments: Any, **named: Any) -> Any:
        other = arctic.open_table("m.t", warehouse=str(tmp_path))
        match left.pop() if left else None:
            case "append":
                other.write(pa.Table.from_pylist(ROWS[:1], SCHEMA))
            case "delete":
                other.delete("id = 4")
            case "optimize":
                other.optimize(type="full")
            case "column":
                other.evolve_schema(rename={"city": "town"})
                other.write(pa.table({"id": [9]}, pa.schema([SCHEMA.field("id")])))
        return commit(*arguments, **named)

    monkeypatch.setattr(commit_places, "commit_write", late)
    merge = table.merge(SOURCE, on="id").when_matched_update(set={"n": "target.n + source.n"})
    report = merge.execute()

    assert report.attempts == (1 if meanwhile == "optimize" else 2)
    found = [(row["id"], row["n"]) for row in rows_of(table)]
    fours = [] if meanwhile == "delete" else [(4, 44)]
    ones = [(1, 11)] * (1 + (meanwhile == "append"))
    nines = [(9, None)] if meanwhile == "column" else []
    assert found == [*ones, (2, None), (3, 3), *fours, (5, 5), *nines]


def test_a_table_whose_column_has_a_name_of_ours_is_refused(tmp_path: Path) -> None:
    """It could not be told from the place of a row."""
    schema = pa.schema([("id", pa.int64()), ("_arctic_position", pa.int64())])
    table = arctic.create_table("m.p", schema, warehouse=str(tmp_path))

    with pytest.raises(arctic.UnsupportedError, match="'_arctic_position' has a name"):
        table.merge(SOURCE, on="id").when_matched_delete().execute()
