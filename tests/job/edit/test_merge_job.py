"""A merge against the same on plain rows, with every clause, and without reading where it can."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.job.edit import commit_edit
from tests.job.edit.rows import ROWS, SCHEMA, ids_of, make, rows_of

KEYED = ["keyed", "moving", "in key"]
KEYLESS = ["no key", "no key, partitions"]
SOURCE = pa.Table.from_pylist(
    [
        {"id": 1, "city": "Bonn", "n": 10, "x": None},
        {"id": 4, "city": "Rome", "n": 40, "x": 0.5},
        {"id": 8, "city": "Rome", "n": 80, "x": 8.0},
    ],
    SCHEMA,
)


def by_id(table: arctic.Table) -> dict[int, dict[str, Any]]:
    """Return the rows by key."""
    return {row["id"]: row for row in rows_of(table)}


def expected(**changes: Any) -> dict[int, dict[str, Any]]:
    """Return the rows of the table, some replaced; None takes one away."""
    found: dict[int, Any] = {row["id"]: row for row in ROWS}
    for name, row in changes.items():
        found[int(name[1:])] = row
    return {key: row for key, row in sorted(found.items()) if row is not None}


@pytest.mark.parametrize("layout", KEYED)
def test_update_all_and_insert_all_are_an_upsert(tmp_path: Path, layout: str) -> None:
    """Where the key decides the partition, at the price of an append: no row is read."""
    table = make(tmp_path, layout, merged=True)

    report = (
        table.merge(SOURCE, on="id").when_matched_update_all().when_not_matched_insert_all()
    ).execute()

    one, four, eight = SOURCE.to_pylist()
    assert by_id(table) == expected(r1=one, r4=four, r8=eight)
    assert report.reads_table == (layout == "moving")
    table.optimize(type="full")
    assert by_id(table) == expected(r1=one, r4=four, r8=eight)


@pytest.mark.parametrize("layout", [*KEYED, *KEYLESS])
def test_every_clause_acts_on_its_rows(tmp_path: Path, layout: str) -> None:
    """In their order, by conditions on both sides."""
    table = make(tmp_path, layout, merged=True)

    report = (
        table.merge(SOURCE, on="target.id = source.id")
        .when_matched_delete(condition="target.city = source.city")
        .when_matched_update(set={"n": "target.n + source.n", "city": "source.city"})
        .when_not_matched_insert(values={"id": "source.id + 100", "n": "source.n"})
        .when_not_matched_by_source_delete(condition="target.n is null")
        .when_not_matched_by_source_update(set={"city": "'none'"}, condition="target.n = 5")
        .execute()
    )

    one = {**ROWS[0], "n": 11, "city": "Bonn"}
    new = {"id": 108, "city": None, "n": 80, "x": None}
    five = {**ROWS[4], "city": "none"}
    assert by_id(table) == expected(r1=one, r2=None, r4=None, r5=five, r108=new)
    assert (report.rows_deleted, report.rows_updated, report.rows_inserted) == (2, 2, 1)
    table.optimize(type="minor")
    assert by_id(table) == expected(r1=one, r2=None, r4=None, r5=five, r108=new)


@pytest.mark.parametrize("layout", ["moving", *KEYLESS])
def test_a_condition_that_is_no_key_reads_the_table(tmp_path: Path, layout: str) -> None:
    """And a key may be computed."""
    table = make(tmp_path, layout)
    source = pa.table({"town": ["rome", "none"], "add": [1, 1]})

    report = (
        table.merge(source, on="lower(target.city) = source.town")
        .when_matched_update(set={"n": "target.n + source.add"})
        .execute()
    )

    assert report.rows_updated == 2
    assert by_id(table) == expected(r1={**ROWS[0], "n": 2}, r4={**ROWS[3], "n": 5})


def test_deletes_and_inserts_alone(tmp_path: Path) -> None:
    """An insert of what is there does nothing, and doubles nothing."""
    table = make(tmp_path, "keyed", merged=True)

    report = table.merge(SOURCE, on=["id"]).when_not_matched_insert_all().execute()
    assert report.rows_inserted == 1
    assert by_id(table) == expected(r8=SOURCE.to_pylist()[2])
    report = table.merge(SOURCE.select(["id"]), on="id").when_matched_delete().execute()
    assert ids_of(table) == [2, 3, 5]


def test_several_rows_may_delete_one(tmp_path: Path) -> None:
    """Read or not, the stored row goes once; beside an update it is refused."""
    for number, condition in enumerate((None, "source.n > 0", "target.n > 0")):
        table = make(tmp_path / str(number), "keyed")
        twice = pa.concat_tables([SOURCE, SOURCE.slice(1)])

        report = table.merge(twice, on="id").when_matched_delete(condition=condition).execute()

        assert (report.reads_table, report.rows_written) == (number == 2, 3 if number < 2 else 2)
        assert ids_of(table) == [2, 3, 5]
    table = make(tmp_path / "both", "keyed")
    both = pa.concat_tables(
        [SOURCE, SOURCE.slice(0, 1).set_column(2, "n", pa.array([11], pa.int32()))]
    )
    merge = table.merge(both, on="id").when_matched_delete(condition="source.n = 11")
    merge = merge.when_matched_update_all().when_not_matched_insert_all(condition="source.n <> 11")
    with pytest.raises(arctic.InvalidInputError, match="cardinality violation"):
        merge.execute()
    assert by_id(table) == expected()


def test_two_zeros_are_two_values_and_two_keys(tmp_path: Path) -> None:
    """Where the one is written for the other a row would be doubled."""
    schema = pa.schema([pa.field("k", pa.float64(), nullable=False), ("x", pa.float32())])
    table = arctic.create_table("m.t", schema, primary_key="k", warehouse=str(tmp_path))
    table.write(pa.table({"k": [0.0], "x": [1.0]}, schema), mode="upsert")
    source = pa.table({"k": [0.0, 5.0], "x": [2.0, 0.0]}, schema)

    moved = {"k": "-source.k", "x": "source.x"}
    merge = table.merge(source.slice(0, 1), on="k").when_matched_update(moved)
    merge.when_not_matched_insert(moved).execute()
    assert str(table.read().read_all().to_pylist()) == "[{'k': -0.0, 'x': 2.0}]"

    merge = table.merge(source.slice(1), on="k").when_matched_update({"x": "source.x"})
    merge.when_not_matched_insert({"k": "source.k", "x": "-source.x"}).execute()
    assert str(table.read(filter="k = 5").read_all().to_pylist()) == "[{'k': 5.0, 'x': -0.0}]"


def test_what_would_double_or_choose_rows_is_refused(tmp_path: Path) -> None:
    """Two rows of the source for one stored row, or for one key; nothing is changed."""
    table = make(tmp_path, "keyed")
    twice = pa.concat_tables([SOURCE, SOURCE.slice(0, 1)])
    new_twice = pa.concat_tables([SOURCE.slice(2), SOURCE.slice(2)])
    merges = [
        table.merge(twice, on="id").when_matched_update_all().when_not_matched_insert_all(),
        table.merge(twice, on="id").when_matched_update(set={"n": "source.n + target.n"}),
        table.merge(new_twice, on="id").when_not_matched_insert_all(),
        table.merge(SOURCE, on="id").when_not_matched_insert(values={"id": "2"}),
        table.merge(SOURCE, on="id").when_matched_update(set={"id": "7"}),
    ]
    for merge in merges:
        with pytest.raises(arctic.InvalidInputError, match=r"cardinality violation|key"):
            merge.execute()
    assert by_id(table) == expected()
    report = table.merge(twice, on="id").when_matched_delete(condition="target.n > 0").execute()
    assert report.rows_deleted == 2
    assert ids_of(table) == [2, 3, 5]


def test_wrong_merges_are_refused(tmp_path: Path) -> None:
    """Before a row is read, or with what the engine says."""
    table = make(tmp_path, "keyed")
    some = SOURCE.select(["id", "n"])
    null_key = pa.table({"id": pa.array([None], pa.int64())})
    merges = [
        (table.merge(some, on="id"), "no clause"),
        (table.merge(some, on="id").when_matched_update_all(), "lacks column 'city'"),
        (table.merge(some, on="nothing").when_matched_delete(), "merge on"),
        (table.merge(some, on=["n", "no"]).when_matched_delete(), "a column of both"),
        (table.merge(null_key, on="id").when_matched_delete(), "is null in some row"),
        (
            table.merge(some, on="id").when_matched_delete().when_matched_update(set={"n": "1"}),
            "never act",
        ),
        (table.merge(some, on="id").when_matched_update(set={"n": "n"}), "mbiguous"),
        (table.merge(some, on="id").when_matched_update(set={"y": "1"}), "no such column"),
        (table.merge(some, on="id").when_not_matched_insert(values={"n": "1"}), "says nothing of"),
    ]
    for merge, said in merges:
        with pytest.raises(arctic.InvalidInputError, match=said):
            merge.execute()
    assert by_id(table) == expected()


def test_a_commit_in_between_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A merge that read rows is done again on those of now; one that read none need not be."""
    table = make(tmp_path, "keyed")
    commit = commit_edit.__dict__["commit_append"]
    others = [pa.Table.from_pylist([{**ROWS[0], "n": 100}], SCHEMA)]

    def late(*arguments: Any, **named: Any) -> Any:
        if others:
            other = arctic.open_table("m.t", warehouse=str(tmp_path))
            other.write(others.pop(), mode="upsert")
        return commit(*arguments, **named)

    monkeypatch.setattr(commit_edit, "commit_append", late)
    merge = table.merge(SOURCE, on="id").when_matched_update(set={"n": "target.n + source.n"})
    assert merge.execute().attempts == 2
    assert by_id(table)[1]["n"] == 110

    others.append(pa.Table.from_pylist([{**ROWS[1], "n": 100}], SCHEMA))
    blind = table.merge(SOURCE, on="id").when_matched_update_all().when_not_matched_insert_all()
    assert blind.execute().attempts == 1
    assert by_id(table)[2]["n"] == 100
    assert by_id(table)[1]["n"] == 10


def test_nan_is_one_key_and_no_zero_is_the_other(tmp_path: Path) -> None:
    """As keys of the table are compared: a row that is there is found, and none takes another."""
    schema = pa.schema([("k", pa.float64()), ("n", pa.int64())])
    table = arctic.create_table("m.f", schema, primary_key="k", warehouse=str(tmp_path))
    nan = float("nan")
    table.write(pa.table({"k": [nan, 1.0, -0.0, 0.0], "n": [1, 2, 3, 4]}, schema), mode="upsert")

    source = pa.table({"k": [nan, 1.0], "n": [5, 6]})
    by_key = table.merge(source, on="target.k = source.k AND source.k > 0")
    report = by_key.when_matched_update(set={"n": "source.n + target.n"}).execute()
    assert report.rows_updated == 2
    with pytest.raises(arctic.InvalidInputError, match="would get"):
        table.update("n = 4", set={"k": "-k"})
    table.merge(source, on="k").when_not_matched_by_source_delete().execute()

    left = table.read().read_all().to_pylist()
    assert sorted((str(row["k"]), row["n"]) for row in left) == [("1.0", 8), ("nan", 6)]


def test_what_would_be_rounded_or_cut_is_refused(tmp_path: Path) -> None:
    """As writes refuse it; Arrow's own check takes these."""
    schema = pa.schema(
        [("id", pa.int64()), ("d", pa.date32()), ("b", pa.bool_()), ("m", pa.decimal128(9, 2))]
    )
    schema = schema.append(pa.field("f", pa.float32()))
    table = arctic.create_table("m.e", schema, primary_key="id", warehouse=str(tmp_path))
    table.write(pa.table({"id": [1]}), mode="append")
    fits = {"d": "TIMESTAMP '2024-02-29'", "b": "1", "m": "1.25::double", "f": "0.1::double"}
    table.update(set=fits)
    before = table.read().read_all().to_pylist()
    wrong = {"d": "TIMESTAMP '2024-02-29 23:59'", "b": "2", "m": "1.005::double", "f": "1e300"}
    for name, text in wrong.items():
        with pytest.raises(arctic.InvalidInputError, match=r"fit|exactly"):
            table.update(set={name: text})
    assert table.read().read_all().to_pylist() == before


def test_a_condition_is_one_expression_over_two_rows(tmp_path: Path) -> None:
    """It is evaluated part by part, so it may not look at others; and it says something."""
    table = make(tmp_path, "keyed")
    for on in ("target.id IN (SELECT id FROM source)", "target.id = (FROM source)", [], [3]):
        with pytest.raises(arctic.InvalidInputError, match=r"single row|column"):
            table.merge(SOURCE, on=on).when_matched_delete().execute()  # type: ignore[arg-type]
