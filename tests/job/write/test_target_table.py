"""Writes that bring columns along: option ``mergeSchema`` without Spark."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

import arctic
from arctic.errors import InvalidInputError
from arctic.iceberg.tables.create_table import create_table
from arctic.job.write import target_table
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.write_job import begin_write
from arctic.table.files import FileKind
from arctic.table.filters.predicate import ColumnTest, Op

MERGE = {"mergeSchema": "true"}
SCHEMA = pa.schema([("id", pa.int32()), ("n", pa.int32()), ("city", pa.string())])


@pytest.fixture
def table(tmp_path: Path) -> arctic.Table:
    """One row of three columns."""
    made = arctic.create_table("shop.t", SCHEMA, primary_key="id", warehouse=str(tmp_path))
    made.write(pa.table({"id": [1], "n": [1], "city": ["Rome"]}), mode="upsert")
    return made


def rows(table: arctic.Table) -> list[tuple[object, ...]]:
    """Return the rows, in one order."""
    found = (tuple(row.values()) for row in table.read().read_all().to_pylist())
    return sorted(found, key=repr)


def test_columns_are_added_at_the_end_and_widened(table: arctic.Table) -> None:
    """In one schema version; rows that are there have null in a new column."""
    more = pa.table({"zip": ["00184"], "id": [2], "n": [2**40], "city": ["Oslo"]})
    with pytest.raises(InvalidInputError, match="'zip' is not in table"):
        table.write(more, mode="upsert")
    table.write(more, mode="upsert", options=MERGE)
    table.write(more.drop(["zip"]), mode="append", options={"merge-schema": "true"})

    assert table.refresh().schema == pa.schema(
        [
            pa.field("id", pa.int32(), nullable=False),
            ("n", pa.int64()),
            ("city", pa.string()),
            ("zip", pa.string()),
        ]
    )
    assert rows(table) == [
        (1, 1, "Rome", None),
        (2, 2**40, "Oslo", "00184"),
        (2, 2**40, "Oslo", None),
    ]


def test_a_write_that_is_refused_changes_no_column(table: arctic.Table) -> None:
    """Whatever is known before the first row; and a delete brings no columns at all."""
    good = {"id": [1], "n": [1], "city": ["Rome"], "new": [1]}
    for wrong, said in (
        ({**good, "n": ["x"]}, "'n' is string"),
        ({**good, "City": ["x"]}, "'City' is not added"),
        ({"id": [1], "new": [1]}, "missing-columns"),
        ({**good, "none": pa.nulls(1)}, "'none'"),
    ):
        with pytest.raises(InvalidInputError, match=said):
            table.write(pa.table(wrong), mode="upsert", options=MERGE)
    for name in ("_arctic_file", "_ARCTIC_new", "_arctic_action"):
        with pytest.raises(InvalidInputError, match="are reserved; rename the column"):
            table.write(pa.table({**good, name: ["x"]}), mode="upsert", options=MERGE)
    with pytest.raises(InvalidInputError, match="mergeSchema with mode 'delete'"):
        table.write(pa.table(good), mode="delete", options=MERGE)
    keeps = {**MERGE, "missing-columns": "keep", "action-column": "op"}
    events = pa.table({"id": [1], "n": [1], "op": ["U"], "new": [1]})
    with pytest.raises(InvalidInputError, match="look for the row whose values"):
        table.write(events, mode="upsert", options={**keeps, "write.upsert.enabled": "false"})
    with pytest.raises(InvalidInputError, match="file-size"):
        table.write(
            pa.table(good), mode="upsert", options={**MERGE, "write.target-file-size-bytes": "x"}
        )

    assert table.refresh().schema.names == SCHEMA.names
    assert rows(table) == [(1, 1, "Rome")]


def test_what_the_write_reads_for_itself_is_no_column(table: arctic.Table) -> None:
    """Neither the action nor an order that the table does not have."""
    events = pa.table(
        {"id": [1, 1], "n": [7, 8], "city": ["a", "b"], "zip": ["x", "y"], "op": ["U", "U"]}
    ).append_column("seq", pa.array([2, 1]))
    options = {**MERGE, "action-column": "op", "ordering-column": "seq"}
    table.write(events, mode="upsert", options=options)

    assert table.refresh().schema.names == [*SCHEMA.names, "zip"]
    assert rows(table) == [(1, 7, "a", "x")]


def test_writers_that_bring_columns_at_a_time_all_find_them(
    table: arctic.Table, tmp_path: Path
) -> None:
    """The same column twice is one, and no row is lost."""

    def write(number: int) -> None:
        data = {"id": [10 + number], "n": [2**40], "city": ["c"], f"new{number % 2}": [number]}
        found = arctic.open_table("shop.t", warehouse=str(tmp_path))
        found.write(pa.table(data), mode="append", options=MERGE)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, range(6)))

    names = table.refresh().schema.names
    assert names[:3] == SCHEMA.names
    assert sorted(names[3:]) == ["new0", "new1"]
    assert table.count() == 7
    found = table.read(columns=["id", "new0", "new1"]).read_all().to_pylist()
    told = {row["id"]: row["new0"] if row["new1"] is None else row["new1"] for row in found}
    assert told == {1: None} | {10 + number: number for number in range(6)}


def test_an_overwrite_of_partitions_that_is_refused_changes_no_column(tmp_path: Path) -> None:
    """As where keys move between them, or a condition is of no partition."""
    made = arctic.create_table(
        "shop.t", SCHEMA, primary_key="id", partition_by="city", warehouse=str(tmp_path)
    )
    made.write(pa.table({"id": [1], "n": [1], "city": ["Rome"]}), mode="upsert")
    more = pa.table({"id": [2], "n": [1], "city": ["Rome"], "new": [1]})
    options = {**MERGE, "partitionOverwriteMode": "dynamic"}
    with pytest.raises(InvalidInputError, match="does not decide the partition"):
        made.write(more, mode="overwrite", options=options)
    asked = AskedWrite.of({"path": "shop.t", "warehouse": str(tmp_path), **MERGE})
    n = ColumnTest(op=Op.EQ, field_id=2, column="n", literal=1)
    with pytest.raises(InvalidInputError, match="only whole partitions"):
        begin_write(asked.replacing(n), more.schema)

    assert made.refresh().schema.names == SCHEMA.names
    assert rows(made) == [(1, 1, "Rome")]


def test_first_writes_at_a_time_make_one_table_of_all_their_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever comes second finds a table that was not there before, and brings its columns."""
    place = {"warehouse": str(tmp_path), "primaryKey": "id", "missing-columns": "null", **MERGE}

    def write(**columns: list[object]) -> None:
        arctic.write("shop.t", pa.table(columns), mode="upsert", options=place)

    def create(*args: object, **kwargs: object) -> object:
        monkeypatch.undo()
        write(id=[1], a=["x"])
        return create_table(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(target_table, "create_table", create)
    write(id=[2], b=[2.0])

    table = arctic.open_table("shop.t", warehouse=str(tmp_path))
    assert table.schema.names == ["id", "a", "b"]
    assert rows(table) == [(1, "x", None), (2, None, 2.0)]


@pytest.mark.parametrize(
    ("target_bytes", "many", "nodes"),
    [
        ("134217728", 64, {4, 5, 6, 7}),
        ("134217728", 16, {1, 4, 5, 6, 7}),
        ("10000", 16, {4, 5, 6, 7}),
    ],
)
def test_few_changes_go_to_one_node_of_a_small_table_of_many_files(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    target_bytes: str,
    many: int,
    nodes: set[int],
) -> None:
    """Rows are those of the last write of each key, and so they are once base has them.

    The table is small and not tiny: it is divided again then.
    """
    monkeypatch.setattr(target_table, "_MANY_FILES", many)
    properties = {"write.target-file-size-bytes": target_bytes, "read.split.open-file-cost": "1"}
    made = arctic.create_table(
        "shop.t", SCHEMA, primary_key="id", warehouse=str(tmp_path), properties=properties
    )
    made.write(pa.table({"id": range(900), "n": range(900), "city": ["x"] * 900}), mode="overwrite")
    for number in range(6):
        ids = range(10 * number, 10 * number + 15)
        made.write(pa.table({"id": ids, "n": [number] * 15, "city": ["y"] * 15}), mode="upsert")
    expected = {number: (number, "x") for number in range(900)}
    for number in range(6):
        expected.update(dict.fromkeys(range(10 * number, 10 * number + 15), (number, "y")))
    merged = [(key, *expected[key]) for key in sorted(expected)]

    files = made.refresh().inspect("files").to_pylist()
    assert {file["node_id"] for file in files if file["store"] == "change"} == nodes
    assert sorted(rows(made)) == merged
    made.optimize(type="minor")
    files = made.refresh().inspect("files").to_pylist()
    found = {file["node_id"] for file in files if file["kind"] == FileKind.BASE.value}
    assert found == {4, 5, 6, 7}
    assert sorted(rows(made)) == merged
