"""Tables that say how their rows lie: sorted, in several columns alike, with filters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyiceberg.transforms import IdentityTransform

import arctic
from arctic.errors import InvalidInputError
from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.tables.open_table import open_table
from arctic.writing.files.bloom_filters import can_write_blooms

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("a", pa.int64()),
        ("b", pa.float64()),
        ("email", pa.string()),
    ]
)
COUNT = 20_000
ONE_NODE = {
    "base.file-index.hash-bucket": "1",
    "self-optimizing.target-size": "40000",
    "write.parquet.row-group-size-bytes": "100000",
}


def rows(by: int = 0, start: int = 0, count: int = COUNT) -> pa.Table:
    """Return rows whose columns know nothing of one another."""
    noise = np.random.default_rng(by)
    return pa.table(
        {
            "id": np.arange(start, start + count),
            "a": noise.integers(1_000_000, size=count),
            "b": noise.random(count),
            "email": [f"u{number}@x.org" for number in noise.permutation(count) + start],
        },
        schema=SCHEMA,
    )


def create(folder: Path, key: str | tuple[str, ...] = "id", **layout: Any) -> arctic.Table:
    """Create a table with files of some forty thousand bytes."""
    return arctic.create_table(
        "s.t", SCHEMA, primary_key=key, properties=ONE_NODE, warehouse=str(folder), **layout
    )


def store(folder: Path) -> Any:
    """Return the base store, as PyIceberg loads it."""
    return open_table(CatalogConfig.from_options({"warehouse": str(folder)}), "s.t").base


def data_files(folder: Path) -> list[Any]:
    """Return the base files, as PyIceberg lists them."""
    return [task.file for task in store(folder).scan().plan_files()]


def contents(file: Any) -> pa.Table:
    """Return the rows of a file as they lie."""
    return pq.read_table(file.file_path.removeprefix("file://"))


def metadata(file: Any) -> Any:
    """Return the footer of a file."""
    return pq.read_metadata(file.file_path.removeprefix("file://"))


def share_that_may_hold(folder: Path, name: str, value: Any) -> float:
    """Return the share of files whose bounds let a value of a column be there."""
    found = data_files(folder)
    ends = [pc.min_max(contents(file).column(name)).as_py() for file in found]
    there = sum(bool(each["min"] <= value <= each["max"]) for each in ends)
    return there / len(found)


@pytest.mark.parametrize("key", ["id", ()], ids=["keyed", "unkeyed"])
def test_two_columns_that_count_alike_both_skip_files(
    tmp_path: Path, key: str | tuple[str, ...]
) -> None:
    """After a full; every row is there once, and after upserts too."""
    table = create(tmp_path, key, sort_by="zorder(a, b)")
    data = rows(count=250_000)  # A row group has a megabyte at least, and a file a row group.
    table.write(data.slice(0, 100_000), mode="append")
    table.write(data.slice(100_000), mode="append")
    table.optimize(type="full")
    table.refresh()

    assert len(data_files(tmp_path)) >= 8
    assert share_that_may_hold(tmp_path, "a", 333_333) <= 0.7
    assert share_that_may_hold(tmp_path, "b", 0.33) <= 0.7
    assert table.read().read_all().sort_by("id").equals(data)
    assert table.read(filter="a < 10000 and b < 0.5").read_all().num_rows == sum(
        a < 10_000 and b < 0.5
        for a, b in zip(data["a"].to_pylist(), data["b"].to_pylist(), strict=True)
    )
    if key:
        later = rows(by=1, count=500)
        table.write(later, mode="upsert")
        table.optimize(type="minor")
        table.optimize(type="full")
        found = table.refresh().read().read_all().sort_by("id")
        assert found.slice(0, 500).equals(later)
        assert found.slice(500).equals(data.slice(500))


@pytest.mark.parametrize("curve", ["zorder", "hilbert"])
@pytest.mark.parametrize(
    ("engine", "rows_then"),
    [
        ({"write.merge-engine": "partial-update"}, [(1, 1, 3), (2, 2, 1)]),
        (
            {
                "write.merge-engine": "aggregate",
                "write.merge-engine.aggregate-functions": "a: sum",
            },
            [(1, 1, 3), (2, 4, 1)],
        ),
    ],
)
def test_a_table_that_folds_its_rows_is_sorted_on_a_curve(
    tmp_path: Path, curve: str, engine: dict[str, str], rows_then: list[tuple[int, int, int]]
) -> None:
    """Inserts are looked at as they are stored, and leave as one row of each key."""
    schema = pa.schema([("id", pa.int64()), ("a", pa.int64()), ("b", pa.int64())])
    table = arctic.create_table(
        "s.t",
        schema,
        primary_key="id",
        sort_by=[f"{curve}(a, b)"],
        properties=engine,
        warehouse=str(tmp_path),
    )
    for n in range(2):
        given = pa.table({"id": [1, 2], "a": [n, 2], "b": [3, n]}, schema=schema)
        table.write(given, mode="upsert")
    for kind in ("minor", "full"):
        table.optimize(type=kind)
        found = table.refresh().read().read_all().sort_by("id").to_pylist()
        assert [tuple(row.values()) for row in found] == rows_then


@pytest.mark.parametrize("kept", ["_arctic_curve_0", "_arctic_curve_1"])
def test_columns_that_count_alike_leave_every_name_to_the_table(tmp_path: Path, kept: str) -> None:
    """What is made of them has names that no column has, and goes alone."""
    schema = pa.schema([("id", pa.int64()), *((name, pa.int64()) for name in "abcd")])
    schema = schema.append(pa.field(kept, pa.int64()))
    sorting = ["zorder(a, b)", "hilbert(c, d)"]
    folder = str(tmp_path)
    table = arctic.create_table("s.t", schema, primary_key="id", sort_by=sorting, warehouse=folder)
    data = pa.table([pa.array(range(8), pa.int64())] * 6, schema=schema)
    for kind in ("minor", "full"):
        table.write(data, mode="upsert")
        table.optimize(type=kind)
        assert table.refresh().read().read_all().sort_by("id").equals(data.cast(table.schema))


def test_iceberg_is_told_of_an_order_and_of_the_files_in_it(tmp_path: Path) -> None:
    """By the table from its creation on, and by each file that optimizing has sorted."""
    table = create(tmp_path, sort_by=["a", "email"])
    orders = store(tmp_path).metadata.sort_orders
    assert [[field.source_id for field in each.fields] for each in orders] == [[2, 4]]
    number = orders[0].order_id
    table.write(rows(), mode="upsert")
    table.optimize(type="full")
    assert {file.sort_order_id for file in data_files(tmp_path)} == {number}

    for file in data_files(tmp_path):
        found = contents(file).column("a").to_pylist()
        assert found == sorted(found)
    options = {"self-optimizing.sort-columns": "b"}
    table.optimize(type="full", options=options)
    assert {file.sort_order_id for file in data_files(tmp_path)} == {None}

    arctic.set_properties(
        "s.t", {"self-optimizing.sort-columns": "b, zorder(a, email)"}, warehouse=str(tmp_path)
    )
    assert [field.source_id for field in store(tmp_path).sort_order().fields] == [3]
    arctic.unset_properties("s.t", "self-optimizing.sort-columns", warehouse=str(tmp_path))
    assert store(tmp_path).sort_order().fields == []
    assert store(tmp_path).sort_order().order_id == 0, "as the format has it"
    arctic.set_properties(
        "s.t", {"self-optimizing.sort-columns": "a, email"}, warehouse=str(tmp_path)
    )
    assert store(tmp_path).sort_order().order_id == number, "it was known before"


@pytest.mark.parametrize("key", ["id", ()], ids=["keyed", "unkeyed"])
@pytest.mark.parametrize("terms", ["a", "zorder(a, b)", "zorder(a, id)", "hilbert(a, b)"])
def test_an_overwrite_lays_rows_as_optimizing_would(
    tmp_path: Path, key: str | tuple[str, ...], terms: str
) -> None:
    """What a task holds anyway is sorted before it is written; the last row of a key stays."""
    table = create(tmp_path, key, sort_by=terms)
    old, data = rows(by=5, count=100), rows()
    table.write(pa.concat_tables([old, data]) if key else data, mode="overwrite")

    (file,) = data_files(tmp_path)
    found = contents(file)
    groups = [
        metadata(file).row_group(number).column(SCHEMA.get_field_index("a")).statistics
        for number in range(metadata(file).num_row_groups)
    ]
    assert found.sort_by("id").equals(data.cast(found.schema))
    assert len(groups) >= 4
    narrow = [each for each in groups if each.max - each.min <= 600_000]
    assert len(narrow) >= len(groups) // 2
    if terms == "a":
        assert found["a"].to_pylist() == sorted(found["a"].to_pylist())
    table.optimize(type="full")
    assert table.refresh().read().read_all().sort_by("id").equals(data)


def test_files_have_page_indexes_and_filters_of_indexed_columns(tmp_path: Path) -> None:
    """Of base and inserts alike, and none where Iceberg's own property takes one away."""
    table = create(tmp_path, index=["email"])
    assert can_write_blooms()
    table.write(rows(), mode="upsert")
    table.optimize(type="full")
    table.write(rows(by=1, count=500), mode="upsert")

    paths = [path for path in tmp_path.rglob("*.parquet") if "-ED-" not in path.name]
    assert len(paths) > 4
    for path in paths:
        group = pq.read_metadata(path).row_group(0)
        found = {}
        for place in range(group.num_columns):
            column = group.column(place)
            assert column.has_column_index
            assert column.has_offset_index
            found[column.path_in_schema] = column.bloom_filter_length
        assert {name for name, length in found.items() if length} == {"email"}

    off = {"write.parquet.bloom-filter-enabled.column.email": "false"}
    on = {"write.parquet.bloom-filter-enabled.column.a": "true"}
    share = {"write.parquet.bloom-filter-fpp.column.email": "0"}
    with pytest.raises(InvalidInputError, match=r"column\.email = '0': expected a number between"):
        arctic.set_properties("s.t", share, warehouse=str(tmp_path))
    arctic.set_properties("s.t", {**off, **on}, warehouse=str(tmp_path))
    table.refresh()
    table.optimize(type="full")
    group = metadata(data_files(tmp_path)[0]).row_group(0)
    assert [bool(group.column(place).bloom_filter_length) for place in range(4)] == [
        False, True, False, False,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        ({"sort_by": "nope"}, "no column 'nope'"),
        ({"sort_by": ["a", "zorder(a, b)"]}, "each column once"),
        ({"index": "nope"}, "no column 'nope'"),
        (
            {"sort_by": "a", "properties": {"self-optimizing.sort-columns": "b"}},
            "give one of the two",
        ),
        ({"index": "a", "properties": {"write.index-columns": "a"}}, "give one of the two"),
        (
            {"index": "a", "properties": {"write.parquet.bloom-filter-fpp.column.a": "2"}},
            "a number between 0 and 1",
        ),
    ],
    ids=str,
)
def test_a_layout_that_no_table_can_have_is_refused(
    tmp_path: Path, layout: dict[str, Any], message: str
) -> None:
    """Before anything is made."""
    with pytest.raises(InvalidInputError, match=message):
        arctic.create_table("s.t", SCHEMA, primary_key="id", warehouse=str(tmp_path), **layout)

    assert list(tmp_path.iterdir()) == []


def test_columns_without_an_order_or_a_hash_are_refused(tmp_path: Path) -> None:
    """Naming the type."""
    schema = pa.schema([("id", pa.int64()), ("tags", pa.list_(pa.string())), ("f", pa.bool_())])
    layouts: list[dict[str, Any]] = [{"sort_by": "tags"}, {"index": "tags"}, {"index": "f"}]
    for layout in layouts:
        with pytest.raises(InvalidInputError, match=r"tags|'f' of type boolean cannot be indexed"):
            arctic.create_table("s.t", schema, primary_key="id", warehouse=str(tmp_path), **layout)


def test_a_first_write_says_how_rows_lie(tmp_path: Path) -> None:
    """As options, beside the key."""
    options = {"primaryKey": "id", "sortBy": "zorder(a, b)", "index": "email, a"}
    arctic.write("s.t", rows(count=10), mode="upsert", options=options, warehouse=str(tmp_path))

    properties = arctic.open_table("s.t", warehouse=str(tmp_path)).properties
    assert properties["self-optimizing.sort-columns"] == "zorder(a,b)"
    assert properties["write.index-columns"] == "email,a"


def test_majors_sort_what_lies_over_one_another_and_come_to_rest(tmp_path: Path) -> None:
    """Of many loads of the same range; a full has nothing left to do for a filter then."""
    table = create(tmp_path, sort_by="a")
    arctic.set_properties(
        "s.t", {"self-optimizing.min-plan-interval": "0"}, warehouse=str(tmp_path)
    )
    parts = [rows(by=by, start=by * 5_000, count=5_000) for by in range(8)]
    for part in parts:
        table.write(part, mode="upsert")
        table.optimize(type="minor")
    assert share_that_may_hold(tmp_path, "a", 333_333) == 1
    (before,) = table.refresh().status().partitions
    assert "that can hold one value of the first sort column > 4" in before.verdict.reason

    kinds = []
    while (kind := table.optimize().type) is not None:
        kinds.append(kind.value)
        assert len(kinds) < 5
    assert kinds
    assert set(kinds) == {"major"}
    assert share_that_may_hold(tmp_path, "a", 333_333) <= 0.5
    assert table.refresh().read().read_all().sort_by("id").equals(pa.concat_tables(parts))
    kept = {file.file_path for file in data_files(tmp_path)}
    table.optimize(type="major")
    assert {file.file_path for file in data_files(tmp_path)} == kept


def test_a_write_passes_over_what_another_engine_named_wrongly(tmp_path: Path) -> None:
    """Rows may lie in any order; optimizing says what is wrong."""
    table = create(tmp_path)
    with store(tmp_path).transaction() as transaction:
        transaction.set_properties({"self-optimizing.sort-columns": "gone, a"})
    table = arctic.open_table("s.t", warehouse=str(tmp_path))

    table.write(rows(count=100), mode="overwrite")

    assert table.read().read_all().sort_by("id").equals(rows(count=100))
    with pytest.raises(InvalidInputError, match="'gone' is no column"):
        table.optimize(type="full")
    arctic.set_properties("s.t", {"owner": "me"}, warehouse=str(tmp_path))


def test_an_order_that_another_engine_declared_stays(tmp_path: Path) -> None:
    """Whatever else is set, until the table is told by what its rows are sorted."""
    create(tmp_path)
    with store(tmp_path).update_sort_order() as update:
        update.asc("b", IdentityTransform())
    arctic.set_properties("s.t", {"owner": "me"}, warehouse=str(tmp_path))
    assert [field.source_id for field in store(tmp_path).sort_order().fields] == [3]
    with pytest.raises(InvalidInputError, match="'b' is in the sort order that another engine"):
        arctic.open_table("s.t", warehouse=str(tmp_path)).evolve_schema(drop=["b"])

    arctic.set_properties("s.t", {"self-optimizing.sort-columns": "a"}, warehouse=str(tmp_path))

    assert [field.source_id for field in store(tmp_path).sort_order().fields] == [2]
    arctic.open_table("s.t", warehouse=str(tmp_path)).evolve_schema(drop=["b"])
