"""Columns of rows are set by expressions, and keys stay unique."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import arctic
from tests.job.edit.rows import LAYOUTS, make, rows_of


@pytest.mark.parametrize("layout", LAYOUTS)
def test_exactly_the_columns_are_set_of_the_rows_that_match(tmp_path: Path, layout: str) -> None:
    """By the values before the update, also of the partition column."""
    table = make(tmp_path, layout, merged=True)
    expected = rows_of(table)

    report = table.update("n >= 3", set={"N": "n * 10", "city": "coalesce(city, '?') || n"})

    for row in expected:
        if row["n"] in (3, 4, 5):
            row["city"] = f"{row['city'] or '?'}{row['n']}"
            row["n"] *= 10
    assert rows_of(table) == expected
    assert report.rows_updated == 3
    table.optimize(type="full")
    assert rows_of(table) == expected
    table.update("upper(city) = 'ROME'", set={"x": None, "n": 7})
    assert [row["x"] for row in rows_of(table) if row["city"] == "Rome"] == [None]


def test_keys_may_change_places_but_never_meet(tmp_path: Path) -> None:
    """Each row keeps its columns; a key that two rows would get is refused."""
    for layout in ("keyed", "moving", "in key"):
        table = make(tmp_path / layout, layout)
        before = rows_of(table)

        table.update(set={"id": "id + 1"})
        expected = [{**row, "id": row["id"] + 1} for row in before]
        assert rows_of(table) == expected
        table.update("id in (2, 3)", set={"id": "5 - id"})
        assert {row["id"]: row["city"] for row in rows_of(table)}[3] == "Rome"
        now = rows_of(table)
        for where, new in (("id = 2", "3"), ("id > 3", "9"), ("id = 2", "NULL")):
            with pytest.raises(arctic.InvalidInputError, match=r"key|null"):
                table.update(where, set={"id": new})
        assert rows_of(table) == now


def test_updates_are_read_as_updates(tmp_path: Path) -> None:
    """With both images of the row."""
    table = make(tmp_path, "keyed")
    start = table.versions()["change_snapshot_id"][-1].as_py()
    table.update("id = 1", set={"n": "n + 1"})

    changes = table.read_changes(start=start).read_all().to_pylist()

    assert [(row["_change_action"], row["n"]) for row in changes] == [("-U", 1), ("+U", 2)]


def test_a_key_that_is_zero_gets_the_other_sign(tmp_path: Path) -> None:
    """They are two keys, which Arrow takes for equal: the row of the first is gone."""
    schema = pa.schema([pa.field("id", pa.float64(), nullable=False), ("n", pa.int32())])
    table = arctic.create_table("m.t", schema, primary_key="id", warehouse=str(tmp_path))
    table.write(pa.table([[0.0, float("nan")], pa.array([1, 2], pa.int32())], schema=schema))

    table.update(set={"id": "-id", "n": "n + 1"})

    assert sorted(map(str, table.read().read_all().to_pylist())) == [
        "{'id': -0.0, 'n': 2}",
        "{'id': nan, 'n': 3}",
    ]


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    """A value, a column, an expression; the table stays as it is."""
    table = make(tmp_path, "keyed")
    before = rows_of(table)
    for new in (
        {"n": "n / 2"},
        {"n": "'many'"},
        {"nothing": "1"},
        {"n": "nothing"},
        {"n": "1, 2"},
        {"n": "sum(n)"},
        {"n": "COLUMNS(*)"},
        {"n": object()},
        {},
    ):
        with pytest.raises(arctic.InvalidInputError):
            table.update("id = 1", set=new)
    assert rows_of(table) == before


def test_an_edit_has_one_time(tmp_path: Path) -> None:
    """Whatever clock an expression asks, and however many batches there are."""
    table = make(tmp_path, "keyed")
    clocks = (
        "now() || current_timestamp || transaction_timestamp() || current_date || today() || "
        "current_time || localtimestamp || localtime"
    )

    table.update(set={"city": clocks})
    assert len({row["city"] for row in rows_of(table)}) == 1
    assert table.delete("now() < TIMESTAMPTZ '2020-01-01 00:00:00+00'").rows_deleted == 0


def test_expressions_see_columns_only(tmp_path: Path) -> None:
    """Nothing of the statements that they stand in, and every name is free for a column."""
    table = make(tmp_path, "keyed")

    for name in ("_arctic_row", "e0", "i", "_pairs", "r_target", "t"):
        with pytest.raises(arctic.InvalidInputError, match=name):
            table.update(set={"n": "7", "x": f'"{name}"'})
        merge = table.merge(pa.table({"id": [1]}), on="id")
        with pytest.raises(arctic.InvalidInputError, match=name):
            merge.when_matched_update(set={"n": "7", "x": f'"{name}" + 0'}).execute()
    table.evolve_schema(rename={"n": "_arctic_row", "x": "e0", "city": "t"})
    table.update("e0 > 4.5", set={"_arctic_row": "_arctic_row + 1", "e0": "e0 + _arctic_row"})
    assert [row["e0"] for row in rows_of(table)][3:] == [4.0, 10.0]
    merged = table.merge(pa.table({"id": [4], "_arctic_row": [9]}), on="id")
    merged.when_matched_update(set={"e0": "target.e0 + source._arctic_row"}).execute()
    assert [row["e0"] for row in rows_of(table)][3:] == [13.0, 10.0]


def test_a_column_may_be_named_as_that_of_what_rows_do(tmp_path: Path) -> None:
    """Events then say it in a column of another name."""
    table, name = make(tmp_path, "keyed"), "_arctic_edit_action"
    table.evolve_schema(rename={"x": name}, add={f"{name}_": pa.string()})

    table.update("id = 4", set={name: f'"{name}" + 1'})
    table.delete("id in (1, 2)")
    table.update("id = 5", set={"id": "6"})
    merged = table.merge(pa.table({"id": [6, 7], "more": [0.5, 0.5]}), on="id")
    merged = merged.when_matched_update(set={name: f'target."{name}" + source.more'})
    merged.when_not_matched_insert({"id": "source.id", name: "source.more"}).execute()

    assert {row["id"]: row[name] for row in rows_of(table)} == {3: None, 4: 5.0, 6: 5.5, 7: 0.5}
