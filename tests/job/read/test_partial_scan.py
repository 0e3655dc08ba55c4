"""Aggregates that tasks make: which are left to the engine, and that the parts are of live rows."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.columns.integers.row_set import RowSet
from arctic.errors import InvalidInputError
from arctic.job.read import partial_scan
from arctic.job.read.asked_read import AskedRead
from arctic.job.read.partial_scan import AskedPartial, PartialScan, plan_partial
from arctic.job.vectors.vector_work import look_up
from arctic.mor.partial_aggregates import PartialAggregate
from arctic.scan.aggregate import AggregateKind as Kind
from arctic.table.filters.predicate import And, ColumnTest, Op, Or, Predicate
from arctic.table.snapshot import TableSnapshot
from arctic.table.table_description import TableDescription

NAME = "db.t"
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("region", pa.string()),
        pa.field("n", pa.int32()),
        pa.field("price", pa.decimal128(14, 2)),
        pa.field("ratio", pa.float64()),
        pa.field("tags", pa.list_(pa.string())),
    ]
)
ROWS = 20_000
VECTORS = "read.deletion-vector.min-rows"
SUMS = {Kind.SUM: pa.int64(), Kind.COUNT: pa.int64(), Kind.COUNT_ROWS: pa.int64()}


@pytest.fixture
def warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A table of merged rows, some of them replaced since, and some deleted."""
    monkeypatch.setattr(partial_scan, "LEAST_ROWS", 1)
    folder = str(tmp_path)
    create(folder)
    return folder


def create(
    folder: str, *, ordering: tuple[str, ...] = (), properties: Mapping[str, str] | None = None
) -> None:
    """Make the table, without deletes where only events that say more can be."""
    arctic.create_table(
        NAME,
        SCHEMA,
        primary_key=["id"],
        ordering_columns=ordering,
        properties=properties,
        warehouse=folder,
    )
    put(folder, range(ROWS), "overwrite")
    put(folder, range(0, ROWS, 10), "upsert")
    if not ordering and not properties:
        gone = pa.table({"id": pa.array(range(0, ROWS, 40))})
        arctic.write(NAME, gone, mode="delete", warehouse=folder)


def put(folder: str, ids: range, mode: str) -> None:
    """Write rows that say how they were written."""
    rows: list[dict[str, Any]] = [
        {
            "id": id_,
            "region": None if id_ % 7 == 0 else mode,
            "n": (id_ + len(mode)) % 6 or None,
            "price": Decimal((id_ + len(mode)) % 7 * id_) / 4,
            "ratio": id_ / 2,
            "tags": [],
        }
        for id_ in ids
    ]
    arctic.write(NAME, pa.Table.from_pylist(rows, SCHEMA), mode=mode, warehouse=folder)


def planned(
    warehouse: str,
    *aggregates: tuple[Kind, str | None],
    keys: tuple[str, ...] = ("region",),
    takes_floats: bool = False,
    averaged: tuple[str, ...] = (),
    yields: pa.Schema | None = None,
    path: str = NAME,
    options: Mapping[str, str] | None = None,
    relation: pa.Schema = SCHEMA,
    snapshot: TableSnapshot | None = None,
    filter_for: Callable[[TableDescription], Predicate | None] = lambda table: None,
) -> PartialScan | None:
    """Plan as Spark asks for it: on a snapshot, what it was told of before."""
    types = {name: SCHEMA.field(name).type for name in SCHEMA.names}
    fields = [pa.field(key, types[key]) for key in keys]
    for kind, column in aggregates:
        of_column = types.get(str(column), pa.int64())
        made = pa.types.is_decimal(of_column) or pa.types.is_floating(of_column)
        is_count = kind in (Kind.COUNT, Kind.COUNT_ROWS)
        plain = of_column if made and not is_count else SUMS.get(kind, of_column)
        fields.append(pa.field(f"{kind.value}({column})", plain))
    wanted = AskedPartial(
        keys=keys,
        aggregates=tuple(PartialAggregate(kind=kind, column=name) for kind, name in aggregates),
        averaged=averaged,
        takes_floats=takes_floats,
        yields=yields or pa.schema(fields),
        relation=relation,
    )
    asked = AskedRead.of({"path": path, "warehouse": warehouse, **(options or {})})
    return plan_partial(asked, wanted, filter_for=filter_for, snapshot=snapshot, parallelism=2)


def parts_of(scan: PartialScan, *, looked_up: bool = True) -> list[dict[str, Any]]:
    """Return what the tasks yield, each as if it ran elsewhere."""
    dead = [] if scan.work is None else look_up(scan.work)
    groups = scan.told(dead) if looked_up else [(group, {}) for group in scan.groups]
    reader = pickle.loads(pickle.dumps(scan.reader))
    found = [
        row
        for group in groups
        for batch in reader.read(pickle.loads(pickle.dumps(group)))
        for row in batch.to_pylist()
    ]
    return sorted(found, key=str)


ASKED = (
    (Kind.COUNT_ROWS, None),
    (Kind.SUM, "n"),
    (Kind.SUM, "price"),
    (Kind.MIN, "price"),
    (Kind.MAX, "region"),
)


@pytest.mark.parametrize("vectors", ["1", "1000000"], ids=["by row numbers", "merged"])
def test_the_parts_are_of_the_rows_that_live(warehouse: str, vectors: str) -> None:
    """Whether their dead rows are known or found by a merge."""
    scan = planned(warehouse, *ASKED, options={VECTORS: vectors})
    assert scan is not None
    rows = arctic.read(NAME, warehouse=warehouse).read_all()
    groups = rows.group_by("region").aggregate([("id", "count"), ("n", "sum"), ("price", "sum")])

    parts = parts_of(scan)

    together: dict[Any, list[Any]] = {}
    for part in parts:
        region, count, n, price, *_ = part.values()
        known = together.setdefault(region, [0, 0, Decimal(0)])
        together[region] = [known[0] + count, known[1] + n, known[2] + price]
    assert together == {
        row["region"]: [row["id_count"], row["n_sum"], row["price_sum"]]
        for row in groups.to_pylist()
    }
    assert parts == parts_of(scan, looked_up=False)


def is_of(column: str, *values: str) -> Callable[[TableDescription], Predicate]:
    """Return what says of which rows aggregates are wanted."""
    return lambda table: ColumnTest.of(
        Op.IN, next(each for each in table.columns if each.name == column), values
    )


@pytest.mark.parametrize("filtered", [None, "region", "few"])
@pytest.mark.parametrize("vectors", ["1", "1000000"], ids=["by row numbers", "merged"])
def test_texts_to_group_by_are_read_as_dictionaries(
    warehouse: str, vectors: str, filtered: str | None
) -> None:
    """Of the same rows, also where somebody looks into them; a column that is added up is not."""
    put(warehouse, range(ROWS + 1_000, ROWS + 1_010), "upsert")  # a small file
    keep = {None: lambda table: None, "region": is_of("region", "upsert"), "few": few_ids}[filtered]
    scan = planned(warehouse, (Kind.COUNT_ROWS, None), filter_for=keep, options={VECTORS: vectors})
    assert scan is not None
    dead = look_up(scan.work) if scan.work is not None else []
    reader = scan.reader.reader
    text = reader.request.schema.field("region").with_type(pa.string())
    plain = replace(reader, request=replace(reader.request, schema=pa.schema([text])))
    found = [
        [
            batch
            for group, known in scan.told(dead)
            for batch in replace(
                each, dead={path: RowSet.unpacked(rows) for path, rows in known.items()}
            ).read(group)
        ]
        for each in (reader, plain)
    ]

    assert {batch.schema.field("region").type for batch in found[0]} == {
        pa.dictionary(pa.int32(), pa.string())
    }
    values = [[row for batch in each for row in batch.to_pylist()] for each in found]
    assert values[0] == values[1]
    assert len(values[0]) > 10
    looked_into = planned(warehouse, (Kind.MAX, "region"))
    assert looked_into is not None
    assert looked_into.reader.reader.request.schema.field("region").type == pa.string()


def few_ids(table: TableDescription) -> Predicate:
    """Want few rows of each file."""
    return Or(
        tuple(
            ColumnTest.of(op, column, bound)
            for column in table.columns
            if column.name == "id"
            for op, bound in ((Op.LT, 50), (Op.GT, ROWS - 50))
        )
    )


@pytest.mark.parametrize("vectors", ["1", "1000000"], ids=["by row numbers", "merged"])
def test_the_parts_are_of_the_rows_that_a_filter_leaves(warehouse: str, vectors: str) -> None:
    """Of columns that nobody adds up, too; dead rows stay dead."""
    text = "region is null or id < 9000 and price > 7"

    def filtered(table: TableDescription) -> Predicate:
        columns = {column.name: column for column in table.columns}
        either = Or(
            (
                ColumnTest.of(Op.IS_NULL, columns["region"]),
                And(
                    (
                        ColumnTest.of(Op.LT, columns["id"], 9_000),
                        ColumnTest.of(Op.GT, columns["price"], Decimal(7)),
                    )
                ),
            )
        )
        assert str(either) == "region is null or (id < 9000 and price > Decimal('7'))"
        return either

    asked = ((Kind.COUNT_ROWS, None), (Kind.SUM, "n"))
    scan = planned(warehouse, *asked, keys=(), filter_for=filtered, options={VECTORS: vectors})

    assert scan is not None
    rows = arctic.read(NAME, columns=["n"], filter=text, warehouse=warehouse).read_all()
    assert 0 < len(rows) < ROWS // 2
    assert [
        sum(each) for each in zip(*(part.values() for part in parts_of(scan)), strict=True)
    ] == [
        len(rows),
        sum(rows["n"].drop_null().to_pylist()),
    ]


@pytest.mark.parametrize(
    "asked",
    [
        {"aggregates": [(Kind.SUM, "ratio")]},
        {"aggregates": [(Kind.MIN, "ratio")]},
        {"aggregates": [(Kind.MAX, "ratio")], "takes_floats": True},
        {"aggregates": [(Kind.COUNT_ROWS, None)], "keys": ("ratio",)},
        {"aggregates": [(Kind.COUNT_ROWS, None)], "keys": ("tags",)},
        {"aggregates": [(Kind.MIN, "tags")]},
        {"aggregates": [(Kind.COUNT_ROWS, None)], "yields": pa.schema({"r": pa.int32()})},
        {"aggregates": [(Kind.COUNT_ROWS, None)], "options": {"store": "base"}},
        {"aggregates": [(Kind.COUNT_ROWS, None)], "path": f"{NAME}.snapshots"},
    ],
    ids=str,
)
def test_what_the_engine_would_say_otherwise_is_left_to_it(
    warehouse: str, asked: dict[str, Any]
) -> None:
    """Floating-point numbers, what is nested, and rows of another kind."""
    aggregates = asked.pop("aggregates")

    assert planned(warehouse, *aggregates, **asked) is None


def test_floating_point_sums_are_made_for_who_takes_them_in_any_order(warehouse: str) -> None:
    """Who asks for them knows that their last digits are those of some order."""
    scan = planned(warehouse, (Kind.SUM, "ratio"), keys=(), takes_floats=True)

    assert scan is not None
    rows = arctic.read(NAME, warehouse=warehouse).read_all()
    assert sum(part["sum(ratio)"] for part in parts_of(scan)) == sum(rows["ratio"].to_pylist())


def test_groups_that_are_nearly_as_many_as_the_rows_are_left_to_the_engine(
    warehouse: str,
) -> None:
    """Every row of them would cross by itself."""
    assert planned(warehouse, (Kind.COUNT_ROWS, None), keys=("id",)) is None
    assert planned(warehouse, (Kind.COUNT_ROWS, None)) is not None


def test_one_group_of_rows_that_need_no_merge_is_left_to_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads files as fast as a task here."""
    monkeypatch.setattr(partial_scan, "LEAST_ROWS", 1)
    arctic.create_table(NAME, SCHEMA, primary_key=["id"], warehouse=str(tmp_path))
    put(str(tmp_path), range(ROWS), "overwrite")

    assert planned(str(tmp_path), (Kind.SUM, "n"), keys=()) is None
    assert planned(str(tmp_path), (Kind.SUM, "n")) is not None


def test_averages_that_the_engine_divides_as_doubles_are_left_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their last digits may be others; a sum of the same column is what it is."""
    monkeypatch.setattr(partial_scan, "LEAST_ROWS", 1)
    short = SCHEMA.set(3, pa.field("price", pa.decimal128(11, 2)))
    rows = [{"id": id_, "region": "a", "price": Decimal(id_ % 7)} for id_ in range(ROWS)]
    arctic.create_table(NAME, short, primary_key=["id"], warehouse=str(tmp_path))
    table = pa.Table.from_pylist(rows, short)
    arctic.write(NAME, table, mode="overwrite", warehouse=str(tmp_path))
    yields = pa.schema({"region": pa.string(), "sum(price)": pa.decimal128(11, 2)})

    def of_sums(*averaged: str) -> PartialScan | None:
        asked = (Kind.SUM, "price")
        return planned(str(tmp_path), asked, averaged=averaged, yields=yields, relation=short)

    assert of_sums("price") is None
    assert of_sums() is not None


def test_columns_of_a_filter_have_the_types_that_the_query_knows(warehouse: str) -> None:
    """As those of aggregates do: days are no numbers, though either is compared as a number."""

    def late(table: TableDescription) -> Predicate:
        n = next(column for column in table.columns if column.name == "n")
        return ColumnTest.of(Op.GT, n, 3)

    assert planned(warehouse, (Kind.COUNT_ROWS, None), filter_for=late) is not None
    arctic.evolve_schema(NAME, drop="n", warehouse=warehouse)
    arctic.evolve_schema(NAME, add={"n": pa.date32()}, warehouse=warehouse)

    with pytest.raises(InvalidInputError, match="column 'n' is date32"):
        planned(warehouse, (Kind.COUNT_ROWS, None), filter_for=late)


def test_what_was_agreed_on_is_made_of_a_table_that_others_change(warehouse: str) -> None:
    """It has lost its rows, and a used column: the engine has a plan and reads no rows by then."""
    scan = planned(warehouse, *ASKED)
    assert scan is not None
    before = parts_of(scan)
    kept = pickle.dumps(scan)
    put(warehouse, range(1), "overwrite")
    arctic.evolve_schema(NAME, drop="price", warehouse=warehouse)

    assert parts_of(pickle.loads(kept)) == before


def test_a_query_sees_the_state_that_another_scan_of_it_was_told(warehouse: str) -> None:
    """Whatever was written since."""
    first = planned(warehouse, (Kind.COUNT_ROWS, None))
    assert first is not None
    put(warehouse, range(5_000), "upsert")

    second = planned(warehouse, (Kind.COUNT_ROWS, None), snapshot=first.snapshot)

    assert second is not None
    assert parts_of(second) == parts_of(first)


def test_small_tables_are_left_to_the_engine(
    warehouse: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To begin a task takes longer than it saves."""
    monkeypatch.setattr(partial_scan, "LEAST_ROWS", 100_000)

    assert planned(warehouse, (Kind.COUNT_ROWS, None)) is None


ADDS_UP = {
    "write.merge-engine": "aggregate",
    "write.merge-engine.aggregate-functions": "n: sum",
}


@pytest.mark.parametrize(
    ("ordering", "properties"),
    [(("price",), {}), ((), {"write.merge-engine": "first-row"}), ((), ADDS_UP)],
    ids=["ordered", "first rows", "added up"],
)
@pytest.mark.parametrize("vectors", ["1", "1000000"], ids=["by row numbers", "merged"])
def test_every_kind_of_table_is_aggregated_as_it_is_read(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ordering: tuple[str, ...],
    properties: dict[str, str],
    vectors: str,
) -> None:
    """Where more than a later delete decides which row of a key is read."""
    monkeypatch.setattr(partial_scan, "LEAST_ROWS", 1)
    create(str(tmp_path), ordering=ordering, properties=properties)
    asked = ((Kind.COUNT_ROWS, None), (Kind.SUM, "n"), (Kind.COUNT, "n"))

    scan = planned(str(tmp_path), *asked, keys=(), options={VECTORS: vectors})

    assert scan is not None
    parts = [[each or 0 for each in part.values()] for part in parts_of(scan)]
    rows = arctic.read(NAME, warehouse=str(tmp_path)).read_all()
    numbers = rows["n"].drop_null().to_pylist()
    found = [sum(column) for column in zip(*parts, strict=True)]
    assert found == [len(rows), sum(numbers), len(numbers)]


def test_sums_that_bounds_do_not_hold_are_left_to_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table that adds rows up has values that no file has."""
    monkeypatch.setattr(partial_scan, "LEAST_ROWS", 1)
    create(str(tmp_path), properties=ADDS_UP)

    assert planned(str(tmp_path), (Kind.SUM, "price")) is None
    assert planned(str(tmp_path), (Kind.SUM, "n"), averaged=("n",)) is None
    assert planned(str(tmp_path), (Kind.SUM, "n")) is not None
