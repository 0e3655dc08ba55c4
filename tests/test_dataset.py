"""Tables as engines scan them: their columns, their filters, and what NaN is to them."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arctic
from arctic.api.table_dataset import TableDataset
from arctic.iceberg.storage.table_io import TableIO

NAN = float("nan")
WITHOUT_KEY = {"primaryKey": ""}
CONDITIONS = (
    "id = 3", "id <> 3", "id in (1, 4, 7)", "id > 4", "id is null",
    "x > 5", "x >= 7", "x < 7", "x <= 0", "x = 0.0", "x <> 7", "x in (7, 0.0)", "x is null",
    "x is not null", "x = 'nan'::double", "x < 'nan'::double", "x >= 'nan'::double",
    "x > 'nan'::double", "x >= 'inf'::double", "f > 0.1", "f = 0.1::float", "f <> 0.1::float",
    "s like 'a%'", "s = 'b'", "s is null", "s > 'a'", "d >= 1.50", "day < date '2024-03-01'",
    "moment >= timestamptz '2024-01-01 00:00:00+00'", "st.a > 1", "st.y > 1", "st is null",
)  # fmt: skip
"""Not ``x <= 'nan'``: of whatever is Arrow, DuckDB then takes nulls too."""


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    """Every kind of value that engines compare in ways of their own."""
    days = pa.array([19_700, 19_800, None, 19_900, 0, 19_783, 19_784, 1, -1], pa.int32())
    return pa.table(
        {
            "id": pa.array(range(9), pa.int64()),
            "x": [1.0, NAN, 7.0, None, -0.0, 0.0, float("inf"), float("-inf"), NAN],
            "f": pa.array([0.1, NAN, 0.25, None, -0.0, 0.0, 7.0, 0.1, 1e30], pa.float32()),
            "s": ["a", "b", None, "ab", "", "a%", "B", "ba", "b"],
            "d": pa.array([1, 2, None, 1, 0, 0, 3, 1, 2], pa.int64()).cast(pa.decimal128(22, 2)),
            "day": days.cast(pa.date32()),
            "moment": days.cast(pa.date32()).cast(pa.timestamp("us", "UTC")),
            "st": [{"a": n, "y": y} for n, y in enumerate((1.0, NAN, None, 0.0, 3.0, -1.0, NAN))]
            + [None, {"a": None, "y": NAN}],
        }
    )


@pytest.fixture(scope="module")
def place(rows: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Give the rows by many changes: most are written twice, some come back after a delete."""
    warehouse = str(tmp_path_factory.mktemp("warehouse"))
    old = rows.set_column(1, "x", pa.array([NAN, 1.0] * 4 + [None], pa.float64()))
    arctic.write("shop.t", old, options={"primaryKey": "id"}, warehouse=warehouse)
    arctic.optimize("shop.t", type="full", warehouse=warehouse)
    arctic.write("shop.t", old.slice(3), mode="delete", warehouse=warehouse)
    arctic.write("shop.t", rows, warehouse=warehouse)
    return warehouse


@pytest.fixture
def table(place: str) -> ds.Dataset:
    """Return the table as engines scan it."""
    return arctic.dataset("shop.t", warehouse=place)


_joined = st.recursive(
    st.sampled_from(CONDITIONS),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(
            lambda three: f"({' '.join(three)})"
        ),
        inner.map("not ({})".format),
    ),
    max_leaves=5,
)


@settings(max_examples=50)
@given(condition=_joined, column=st.sampled_from(["id", "x", "s", "st"]))
def test_duckdb_finds_the_rows_that_it_finds_in_a_table_of_its_own(
    rows: pa.Table, place: str, condition: str, column: str
) -> None:
    """What it pushes down keeps the meaning that it has there."""
    table = arctic.dataset("shop.t", warehouse=place)
    with duckdb.connect() as connection:
        connection.register("given", rows)
        connection.execute("create table own as from given")
        connection.register("scanned", table)
        found, due = (
            connection.sql(f"select {column} from {name} where {condition} order by id").fetchall()
            for name in ("scanned", "own")
        )

    assert repr(found) == repr(due)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_each_condition_means_in_duckdb_what_it_means_there(
    rows: pa.Table, table: ds.Dataset, condition: str
) -> None:
    """Alone, each is pushed down as it stands."""
    with duckdb.connect() as connection:
        connection.register("scanned", table)
        found = connection.sql(f"select id from scanned where {condition} order by id").fetchall()
        connection.register("given", rows)
        connection.execute("create table own as from given")

        assert (
            found == connection.sql(f"select id from own where {condition} order by id").fetchall()
        )


@pytest.mark.parametrize(
    "condition",
    [
        pl.col("x") > 5,
        ~(pl.col("x") <= 5),
        pl.col("x") < NAN,
        pl.col("x").is_between(5, 9),
        pl.col("x").is_in([7.0, 0.0]),
        pl.col("x").is_nan() | pl.col("s").is_null(),
        pl.col("f") > 0.2,
        (pl.col("id") > 1) & (pl.col("s") == "b"),
        pl.col("s").str.starts_with("a"),
        pl.col("st").struct.field("a") > 1,
    ],
    ids=str,
)
def test_polars_finds_the_rows_that_it_finds_in_a_frame_of_its_own(
    rows: pa.Table, table: ds.Dataset, condition: pl.Expr
) -> None:
    """What it pushes down keeps the meaning that it has there."""
    found = pl.scan_pyarrow_dataset(table).filter(condition).select("id").collect()
    frame = pl.from_arrow(rows)

    assert isinstance(frame, pl.DataFrame)
    assert sorted(found["id"]) == sorted(frame.filter(condition)["id"])


def test_a_filter_leaves_out_files_and_a_scan_reads_its_columns_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A test of a plain column reaches the plan even beside one of a floating column."""
    for first in (0, 100):
        numbers = list(range(first, first + 50))
        rows = pa.table({"id": numbers, "x": [float(n) for n in numbers], "s": ["s"] * 50})
        arctic.write(
            "shop.plain", rows, mode="append", options=WITHOUT_KEY, warehouse=str(tmp_path)
        )
    table = arctic.dataset("shop.plain", warehouse=str(tmp_path))
    opened = []
    open_input = TableIO.open_input

    def counted(self: TableIO, path: str) -> Any:
        opened.append(path)
        return open_input(self, path)

    monkeypatch.setattr(TableIO, "open_input", counted)
    found = table.to_table(columns=["s"], filter=(pc.field("id") > 120) & (pc.field("x") < 124.0))

    assert found.to_pydict() == {"s": ["s"] * 3}
    assert len([path for path in opened if path.endswith(".parquet")]) == 1


def test_rows_come_as_they_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who takes one batch, as a LIMIT does, lets few more be read."""
    for first in range(12):
        rows = pa.table({"id": [first]})
        arctic.write("shop.many", rows, mode="append", options=WITHOUT_KEY, warehouse=str(tmp_path))
    table = arctic.dataset("shop.many", warehouse=str(tmp_path), options={"parallelism": "1"})
    read: list[int] = []
    whole = TableDataset.scanner.__globals__["reader"]

    def counted(job: Any) -> pa.RecordBatchReader:
        plain = whole(job)

        def batches() -> Iterator[pa.RecordBatch]:
            for batch in plain:
                read.append(batch.num_rows)
                yield batch

        return pa.RecordBatchReader.from_batches(plain.schema, batches())

    monkeypatch.setitem(TableDataset.scanner.__globals__, "reader", counted)

    assert table.head(1).num_rows == 1
    assert len(read) < 8


def test_a_dataset_stays_at_its_state(tmp_path: Path) -> None:
    """So two scans of one query see the same rows."""
    users = arctic.create_table(
        "shop.users", pa.schema([("id", pa.int64())]), primary_key="id", warehouse=str(tmp_path)
    )
    before = users.dataset()
    written = users.write(pa.table({"id": [1, 2]}))
    users.write(pa.table({"id": [3]}))

    assert before.count_rows() == 0
    assert users.dataset().count_rows() == 3
    assert users.dataset(as_of=written.snapshot_id).count_rows() == 2


def test_a_scan_counts_without_columns_and_computes_new_ones(table: ds.Dataset) -> None:
    """As any dataset of pyarrow does."""
    twice = {"twice": pc.field("id") * 2}

    assert table.to_table(columns=[]).num_rows == 9
    assert table.count_rows(filter=pc.field("x") > 5) == 4
    assert sum(table.to_table(columns=twice).column("twice").to_pylist()) == 72


@pytest.mark.parametrize(
    "call",
    [
        lambda table: list(table.get_fragments()),
        lambda table: table.replace_schema(table.schema),
        lambda table: table.filter(pc.field("id") > 1),
        lambda table: table.sort_by("id"),
        lambda table: table.join(table, "id"),
        lambda table: table.join_asof(table, "id", [], 0),
        lambda table: table.partition_expression,
        pickle.dumps,
    ],
    ids=[
        "get_fragments",
        "replace_schema",
        "filter",
        "sort_by",
        "join",
        "join_asof",
        "partition_expression",
        "pickle",
    ],
)
def test_what_is_no_scan_is_refused(table: ds.Dataset, call: Callable[[ds.Dataset], Any]) -> None:
    """Pyarrow's own would look into memory that is not there."""
    with pytest.raises(arctic.UnsupportedError, match=r"shop\.t"):
        call(table)


@pytest.mark.parametrize(
    "condition",
    [
        pc.field("x") > pc.field("f"),
        pc.add(pc.field("x"), 1.0) > 5.0,
        pc.round(pc.field("x")) == 7.0,
    ],
    ids=str,
)
def test_what_nan_is_in_it_is_not_known_is_refused(
    table: ds.Dataset, condition: pc.Expression
) -> None:
    """No engine is known to push such a test down."""
    with pytest.raises(arctic.UnsupportedError, match="of a floating column"):
        table.to_table(filter=condition)


def test_a_function_of_plain_columns_is_evaluated_on_the_rows(table: ds.Dataset) -> None:
    """Arctic has no form of it; pyarrow does."""
    found = table.to_table(columns=["id"], filter=pc.utf8_length(pc.field("s")) == 2)

    assert sorted(found.column("id").to_pylist()) == [3, 5, 7]


def test_metadata_tables_are_inspected(place: str) -> None:
    """They are small, and have no plan that a filter could change."""
    with pytest.raises(arctic.InvalidInputError, match=r"inspect\('files'\)"):
        arctic.dataset("shop.t.files", warehouse=place)
