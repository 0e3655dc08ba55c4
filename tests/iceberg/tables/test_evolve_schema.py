"""Changing the columns of both stores in step, on real catalogs and files."""

from __future__ import annotations

import re
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.partitioning import validate_partition_name
from pyiceberg.table import Table as IcebergTable
from pyiceberg.table.update import RemoveSchemasUpdate
from pyiceberg.types import StringType
from sqlalchemy.exc import OperationalError

import arctic
from arctic.errors import (
    ArcticError,
    CommitStateUnknownError,
    InvalidInputError,
    NotFoundError,
)
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog
from arctic.iceberg.catalogs.over_http.timed_rest import TimedRestCatalog
from arctic.iceberg.tables import evolve_schema as evolve
from arctic.iceberg.tables.open_table import open_table
from tests.iceberg.catalogs.over_http.rest_server import rest_server

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int32(), nullable=False),
        pa.field("region", pa.string()),
        pa.field("n", pa.int32()),
        pa.field("x", pa.float32()),
        pa.field("price", pa.decimal128(6, 2)),
    ]
)


@pytest.fixture
def place(tmp_path: Path) -> dict[str, Any]:
    """Make ``db.t`` with a row in base and one in change; return where it is."""
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    table = arctic.create_table(
        "db.t", SCHEMA, primary_key=["id"], partition_by=["region"], **place
    )
    table.write(pa.Table.from_pylist([row(1)], SCHEMA), mode="upsert")
    table.optimize(type="full")
    table.write(pa.Table.from_pylist([row(2)], SCHEMA), mode="upsert")
    return place


def row(number: int) -> dict[str, Any]:
    """Return a row that no two numbers share."""
    return {
        "id": number,
        "region": "eu",
        "n": -number,
        "x": number / 2,
        "price": Decimal(number) / 4,
    }


def rows(place: dict[str, Any]) -> list[dict[str, Any]]:
    """Read the table, by id."""
    return sorted(arctic.read("db.t", **place).read_all().to_pylist(), key=lambda each: each["id"])


def store(place: dict[str, Any], name: str) -> IcebergTable:
    """Load one of the two Iceberg tables."""
    config = CatalogConfig.from_options(place)
    return open_catalog(config).load_table(("db", name))


def test_added_columns_are_null_in_older_rows_of_both_stores(place: dict[str, Any]) -> None:
    """And take values from then on, nested ones too, before and after optimizing."""
    nested = pa.struct([("a", pa.int64()), ("b", pa.list_(pa.string()))])

    table = arctic.evolve_schema("db.t", add={"note": pa.string(), "deep": nested}, **place)

    assert table.schema.names == [*SCHEMA.names, "note", "deep"]
    value = {**row(3), "note": "new", "deep": {"a": 1, "b": ["x"]}}
    table.write(pa.Table.from_pylist([value], table.schema), mode="upsert")
    expected = [{**row(1), "note": None, "deep": None}, {**row(2), "note": None, "deep": None}]
    assert rows(place) == [*expected, value]
    table.optimize(type="full")
    assert rows(place) == [*expected, value]


def test_every_change_at_once_is_one_version_with_the_same_ids(place: dict[str, Any]) -> None:
    """Names mean the columns before the call, so two columns may even change places."""
    table = arctic.open_table("db.t", **place).evolve_schema(
        rename={"n": "x", "x": "n"},
        widen={"n": pa.int64(), "x": pa.float64(), "price": pa.decimal128(12, 2)},
        add={"extra": pa.field("ignored", pa.date32(), metadata={"doc": "why"})},
    )

    assert [str(field.type) for field in table.schema] == [
        "int32", "string", "int64", "double", "decimal128(12, 2)", "date32[day]",
    ]  # fmt: skip
    assert table.schema.names == ["id", "region", "x", "n", "price", "extra"]
    base, change = store(place, "t"), store(place, "t_change_")
    assert base.schema() == change.schema()
    assert len(base.metadata.schemas) == len(change.metadata.schemas) == 2
    assert base.metadata.last_column_id == change.metadata.last_column_id == 6
    assert rows(place) == [
        {"id": n, "region": "eu", "x": -n, "n": n / 2, "price": Decimal(n) / 4, "extra": None}
        for n in (1, 2)
    ]
    assert arctic.read("db.t", filter="x = -2", **place).read_all().num_rows == 1
    assert arctic.read("db.t", filter="n = 0.5", **place).read_all().num_rows == 1


def test_a_dropped_column_comes_back_empty(place: dict[str, Any]) -> None:
    """It has another id, in both stores, however often that happens."""
    for _ in range(3):
        arctic.evolve_schema("db.t", drop=["n"], **place)
        assert rows(place)[0].keys() == {"id", "region", "x", "price"}
        arctic.evolve_schema("db.t", add={"n": pa.int32()}, **place)

    assert [each["n"] for each in rows(place)] == [None, None]
    base, change = store(place, "t"), store(place, "t_change_")
    assert base.schema() == change.schema()
    arctic.evolve_schema("db.t", drop=["n"], add={"n": pa.string()}, **place)
    assert [each["n"] for each in rows(place)] == [None, None]


def test_a_crash_between_the_stores_is_read_right_and_completed_by_the_next_call(
    place: dict[str, Any],
) -> None:
    """Base is ahead by one version then; the next call lets change follow before it moves on."""
    with store(place, "t").update_schema() as update:  # what the call does, up to the crash
        update.add_column("note", StringType())
        update.rename_column("n", "count")

    assert [(each["count"], each["note"]) for each in rows(place)] == [(-1, None), (-2, None)]
    arctic.evolve_schema("db.t", add={"more": pa.int64()}, **place)

    base, change = store(place, "t"), store(place, "t_change_")
    assert len(base.metadata.schemas) == len(change.metadata.schemas) == 3
    assert base.schema() == change.schema()
    assert base.schema().column_names[-2:] == ["note", "more"]


def test_a_crash_is_completed_by_a_write_too(place: dict[str, Any]) -> None:
    """With the new columns in it."""
    with store(place, "t").update_schema() as update:
        update.add_column("note", StringType())

    table = arctic.open_table("db.t", **place)
    table.write(pa.Table.from_pylist([{**row(2), "note": "x"}], table.schema), mode="upsert")

    assert [each["note"] for each in rows(place)] == [None, "x"]
    assert len(store(place, "t_change_").metadata.schemas) == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"drop": ["id"]}, "'id' is part of its key"),
        ({"widen": {"id": pa.int64()}}, "'id' is part of its key"),
        ({"rename": {"id": "key"}}, "'id' is part of its key"),
        ({"drop": ["region"]}, "'region' decides its partitions"),
        ({"drop": ["nope"]}, "drop 'nope': no such column"),
        ({"drop": ["n", "n"]}, "'n' is dropped twice"),
        ({"drop": ["n"], "rename": {"n": "m"}}, "'n' is both dropped and changed"),
        ({"rename": {"n": "x"}}, "'x'"),
        ({"rename": {"n": "X"}}, "differs only in case"),
        ({"add": {"n": pa.int32()}}, "add 'n': it has such a column already; .*widen="),
        ({"add": {"N": pa.int32()}}, "differs only in case"),
        ({"add": {"_file_offset": pa.int64()}}, "reserved"),
        ({"add": {"a.b": pa.int64()}}, "separates nested names"),
        ({"add": {"u": pa.uint8()}}, "no sign"),
        ({"add": {"u": pa.field("u", pa.int8(), nullable=False)}}, "make it nullable"),
        ({"widen": {"n": pa.string()}}, "cannot become string"),
        ({"widen": {"price": pa.decimal128(12, 3)}}, "cannot become decimal"),
        ({"widen": {"price": pa.decimal128(5, 2)}}, "cannot become decimal"),
    ],
    ids=str,
)
def test_a_change_that_would_lose_rows_or_values_is_refused(
    place: dict[str, Any], changes: dict[str, Any], message: str
) -> None:
    """Before anything is committed, naming the column."""
    with pytest.raises(InvalidInputError, match=message):
        arctic.evolve_schema("db.t", **changes, **place)

    assert len(store(place, "t").metadata.schemas) == 1


def test_a_table_goes_on_after_an_engine_removed_versions_of_its_schema(
    place: dict[str, Any],
) -> None:
    """Iceberg's ``expireSnapshots().cleanExpiredMetadata(true)`` does, in one of the stores."""
    table = arctic.evolve_schema("db.t", add={"z": pa.string()}, **place)
    table.write(pa.Table.from_pylist([{**row(3), "z": "new"}], table.schema), mode="upsert")
    removal = RemoveSchemasUpdate.model_validate({"schema-ids": [0]})
    catalog = open_catalog(CatalogConfig.from_options(place))
    catalog.commit_table(catalog.load_table("db.t"), (), (removal,))

    assert [each["z"] for each in rows(place)] == [None, None, "new"]
    table.set_properties({"self-optimizing.enabled": "false"})
    arctic.evolve_schema("db.t", rename={"z": "note"}, **place)
    table = arctic.open_table("db.t", **place)
    table.write(pa.Table.from_pylist([{**row(4), "note": "newer"}], table.schema), mode="upsert")
    table.optimize(type="full")
    table.expire()

    assert [each["note"] for each in rows(place)] == [None, None, "new", "newer"]
    arctic.release("db.t", **place)
    assert store(place, "t").scan().to_arrow().num_rows == 4


def test_nothing_to_change_makes_no_version(place: dict[str, Any]) -> None:
    """A widening to the type that is there is nothing."""
    arctic.evolve_schema("db.t", widen={"n": pa.int32()}, **place)

    assert len(store(place, "t").metadata.schemas) == 1


def test_a_partition_column_may_be_renamed(place: dict[str, Any]) -> None:
    """Partition fields know it by id; upserts still find the older rows."""
    table = arctic.evolve_schema("db.t", rename={"region": "area"}, **place)
    value = {**row(2), "area": "us"}
    del value["region"]
    table.write(pa.Table.from_pylist([value], table.schema), mode="upsert")

    assert [(each["id"], each["area"]) for each in rows(place)] == [(1, "eu"), (2, "us")]


def refusal_of_names(table: IcebergTable) -> str:
    """Say what an engine that checks names as Java does has against them."""
    schema = table.schema()
    try:
        for field in table.spec().fields:
            validate_partition_name(field.name, field.transform, field.source_id, schema, set())
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("partition_by", "before", "changes"),
    [
        ("bucket(4, n)", {}, {"add": {"n_bucket": pa.string()}}),
        ("bucket(4, n)", {}, {"rename": {"x": "n_bucket"}}),
        ("bucket(4, n)", {}, {"rename": {"n": "n_bucket"}}),
        ("region", {}, {"rename": {"region": "zone"}, "add": {"region": pa.string()}}),
        ("region", {"rename": {"region": "zone"}}, {"add": {"region": pa.string()}}),
        ("region", {"rename": {"region": "zone"}}, {"rename": {"x": "region"}}),
    ],
    ids=str,
)
def test_no_column_takes_the_name_of_a_partition_field(
    tmp_path: Path, partition_by: str, before: dict[str, Any], changes: dict[str, Any]
) -> None:
    """Other engines would not open the table; the column that it is made of may have it back."""
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    arctic.create_table("db.t", SCHEMA, primary_key=["id"], partition_by=[partition_by], **place)
    if before:
        arctic.evolve_schema("db.t", **before, **place)

    with pytest.raises(InvalidInputError, match=r"a partition field made of column '\w+' has this"):
        arctic.evolve_schema("db.t", **changes, **place)

    assert refusal_of_names(store(place, "t")) == ""
    if before:
        table = arctic.evolve_schema("db.t", rename={"zone": "region"}, **place)
        assert table.schema.names == SCHEMA.names
        assert refusal_of_names(store(place, "t")) == ""


def test_a_writer_that_still_brings_a_renamed_partition_column_is_refused(
    place: dict[str, Any],
) -> None:
    """Its name is that of the partition field; rows and columns stay as they are."""
    table = arctic.evolve_schema("db.t", rename={"region": "zone"}, **place)

    options = {"mergeSchema": "true", "missing-columns": "null"}
    with pytest.raises(InvalidInputError, match="'region': a partition field made of"):
        table.write(pa.Table.from_pylist([row(3)], SCHEMA), mode="upsert", options=options)

    assert [each["id"] for each in rows(place)] == [1, 2]
    assert refusal_of_names(store(place, "t")) == ""


def test_a_table_without_a_key_and_one_that_is_missing(tmp_path: Path) -> None:
    """The one has a single store, the other none."""
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    arctic.create_table("db.u", SCHEMA, **place)

    assert arctic.evolve_schema("db.u", drop=["n"], **place).schema.names == [
        "id", "region", "x", "price",
    ]  # fmt: skip
    with pytest.raises(NotFoundError):
        arctic.evolve_schema("db.missing", drop=["n"], **place)


def test_writers_and_evolvers_at_once_lose_nothing(place: dict[str, Any]) -> None:
    """Rows that were begun with fewer columns land with nulls; every column arrives."""
    failures: list[BaseException] = []

    def guarded(step: Any) -> None:
        try:
            step()
        except BaseException as error:  # noqa: BLE001 - shown by the main thread
            failures.append(error)

    def evolve(name: str) -> None:
        for number in range(4):
            arctic.evolve_schema("db.t", add={f"{name}{number}": pa.int64()}, **place)

    def write(first: int) -> None:
        for number in range(first, first + 6):
            rows = pa.Table.from_pylist([row(number)], SCHEMA)
            options = {"missing-columns": "null"}
            arctic.write("db.t", rows, mode="upsert", options=options, **place)

    steps = [lambda: evolve("a"), lambda: evolve("b"), lambda: write(10), lambda: write(20)]
    threads = [threading.Thread(target=guarded, args=(step,)) for step in steps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not [error for error in failures if not isinstance(error, ArcticError)], failures
    assert not failures
    base, change = store(place, "t"), store(place, "t_change_")
    assert base.schema() == change.schema()
    assert {f"{name}{n}" for name in "ab" for n in range(4)} < set(base.schema().column_names)
    assert [each["id"] for each in rows(place)] == [1, 2, *range(10, 16), *range(20, 26)]
    assert [each["n"] for each in rows(place)][2:8] == [-n for n in range(10, 16)]


NAMING = {"table.event-time-field": "at", "self-optimizing.sort-columns": "by, at"}
TIMED = pa.schema([("id", pa.int64()), ("at", pa.timestamp("us")), ("by", pa.string())])


def timed(place: dict[str, Any]) -> arctic.Table:
    """Make ``db.e``, whose properties name columns in both stores, with one row."""
    table = arctic.create_table(
        "db.e", TIMED, primary_key=["id"], properties={**NAMING, "keep": "at"}, **place
    )
    with store(place, "e_change_").transaction() as changes:
        changes.set_properties(NAMING)
    table.write(pa.table([[1], [0], ["a"]], schema=TIMED), mode="append")
    return table


@pytest.mark.parametrize("stops", [False, True], ids=["whole", "stopped between the stores"])
def test_properties_that_name_columns_follow_a_rename(tmp_path: Path, stops: bool) -> None:
    """In the same commit, in both stores, so that writes and optimizing go on."""
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    table = timed(place)
    opened = open_table(CatalogConfig.from_options(place), "db.e")
    metadata = store(place, "e_change_").metadata_location

    table.evolve_schema(rename={"at": "by", "by": "at"})

    expected = {"table.event-time-field": "by", "self-optimizing.sort-columns": "at,by"}
    if stops:
        restore(opened.config, "e_change_", metadata)
    else:
        assert expected.items() <= store(place, "e_change_").properties.items()
    assert {**expected, "keep": "at"}.items() <= store(place, "e").properties.items()
    schema = pa.schema([("id", pa.int64()), ("by", pa.timestamp("us")), ("at", pa.string())])
    arctic.write("db.e", pa.table([[2], [7_000_000], ["b"]], schema=schema), mode="upsert", **place)
    assert expected.items() <= store(place, "e_change_").properties.items()
    assert arctic.open_table("db.e", **place).properties["watermark.table"] == "7000"
    arctic.optimize("db.e", type="full", **place)
    assert sorted(arctic.read("db.e", **place).read_all()["at"].to_pylist()) == ["a", "b"]


def test_a_column_that_comes_with_its_order_is_declared_in_it(tmp_path: Path) -> None:
    """As one commit, for which the column has a number but is not there yet."""
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    config = CatalogConfig.from_options(place)
    arctic.create_table("db.e", TIMED, primary_key=["id"], sort_by="at", **place)
    change = evolve.SchemaChange(
        add={"x": pa.int64()}, properties={"self-optimizing.sort-columns": "x, zorder(at, by)"}
    )

    evolve.evolve_schema(config, "db.e", change)

    assert [each.source_id for each in store(place, "e").sort_order().fields] == [4]
    wrong = evolve.SchemaChange(properties={"self-optimizing.sort-columns": "zorder(at, nope)"})
    with pytest.raises(InvalidInputError, match="no column 'nope'"):
        evolve.evolve_schema(config, "db.e", wrong)


def test_columns_that_count_alike_follow_a_rename(tmp_path: Path) -> None:
    """And so do indexed ones, and Iceberg's order, which knows columns by their numbers."""
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    table = arctic.create_table(
        "db.e", TIMED, primary_key=["id"], sort_by=["id", "hilbert(at, by)"], index="by", **place
    )
    order = store(place, "e").sort_order()

    table.evolve_schema(rename={"at": "t", "by": "who"})

    properties = store(place, "e").properties
    assert properties["self-optimizing.sort-columns"] == "id,hilbert(t,who)"
    assert properties["write.index-columns"] == "who"
    assert store(place, "e").sort_order() == order
    assert [each.source_id for each in order.fields] == [1]


def test_properties_of_one_column_go_with_it(tmp_path: Path) -> None:
    """In both stores, also where names are swapped; a column of the old name is another one."""
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    enabled, metrics = (
        "write.parquet.bloom-filter-enabled.column.",
        "write.metadata.metrics.column.",
    )
    given = {f"{enabled}by": "true", f"{metrics}at": "counts", f"{metrics}by": "full"}
    table = arctic.create_table("db.e", TIMED, primary_key=["id"], properties=given, **place)

    def of_columns() -> dict[str, str]:
        ours, theirs = (
            {key: text for key, text in store(place, name).properties.items() if ".column." in key}
            for name in ("e", "e_change_")
        )
        assert ours == theirs
        return ours

    table.evolve_schema(rename={"by": "at", "at": "by"})
    swapped = {f"{enabled}at": "true", f"{metrics}by": "counts", f"{metrics}at": "full"}
    assert of_columns() == swapped

    table.evolve_schema(rename={"at": "who"}, drop=["by"], add={"at": pa.string()})
    assert of_columns() == {f"{enabled}who": "true", f"{metrics}who": "full"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"drop": ["at"]}, "property table.event-time-field = 'at' names column 'at'"),
        ({"drop": ["by"]}, "property self-optimizing.sort-columns = 'by, at' names column 'by'"),
        ({"rename": {"by": "a,b"}}, "'a,b,at' would mean something else"),
        ({"rename": {"at": "_ingest_time"}}, "'_ingest_time' would mean something else"),
    ],
    ids=str,
)
def test_what_would_leave_a_property_without_its_column_is_refused(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    """Every write would be refused from then on; the error says what to do first."""
    table = timed({"warehouse": str(tmp_path)})

    with pytest.raises(InvalidInputError, match=re.escape(message)):
        table.evolve_schema(**changes)

    assert table.schema.names == TIMED.names


def restore(config: CatalogConfig, name: str, metadata: str) -> None:
    """Take a store back to an earlier state, as if what came after had not happened."""
    catalog = open_catalog(config)
    catalog.drop_table(("db", name))
    catalog.register_table(("db", name), metadata)


def test_a_change_planned_before_others_went_and_came_back_is_planned_anew(
    place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The current schema is the same then, but the next free id is not."""
    plan = evolve.evolved_schema
    overtaken: list[bool] = []

    def plan_then_be_overtaken(*arguments: Any) -> Any:
        planned = plan(*arguments)
        if not overtaken:
            overtaken.append(True)
            arctic.evolve_schema("db.t", rename={"n": "m"}, **place)
            arctic.evolve_schema("db.t", rename={"m": "n"}, **place)
        return planned

    monkeypatch.setattr(evolve, "evolved_schema", plan_then_be_overtaken)

    table = arctic.evolve_schema("db.t", rename={"x": "y"}, **place)

    assert table.schema.names == ["id", "region", "n", "y", "price"]
    for name in ("t", "t_change_"):
        ids = [schema.schema_id for schema in store(place, name).metadata.schemas]
        assert ids == [0, 1, 2]
    assert [each["y"] for each in rows(place)] == [0.5, 1.0]


SWAP = {"n": "x", "x": "n"}


def test_a_swap_of_names_that_landed_is_not_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that asks twice is told that its own commit was faster."""
    with rest_server(tmp_path) as server:
        place: dict[str, Any] = {"catalog": server.properties}
        arctic.create_table("db.t", SCHEMA, primary_key=["id"], **place)
        arctic.write("db.t", pa.Table.from_pylist([row(1)], SCHEMA), mode="upsert", **place)
        commit, told = TimedRestCatalog.commit_table, list[bool]()

        def twice(*arguments: Any) -> Any:
            answer = commit(*arguments)
            if not told:
                told.append(True)
                raise CommitFailedException("409 after a repeated request")
            return answer

        monkeypatch.setattr(TimedRestCatalog, "commit_table", twice)
        arctic.evolve_schema("db.t", rename=SWAP, **place)

        found = rows(place)
        assert [(each["x"], each["n"]) for each in found] == [(-1, 0.5)]


def test_a_swap_that_was_refused_is_done_once(
    place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database is believed, also where others have made the same change: that makes two."""
    commit, told = SqlCatalog.commit_table, list[bool]()

    def beaten(*arguments: Any) -> Any:
        if not told:
            told.append(True)
            arctic.evolve_schema("db.t", rename=SWAP, **place)
            raise CommitFailedException("has been updated by another process")
        return commit(*arguments)

    monkeypatch.setattr(SqlCatalog, "commit_table", beaten)
    arctic.evolve_schema("db.t", rename=SWAP, **place)

    assert [(each["x"], each["n"]) for each in rows(place)] == [(0.5, -1), (1.0, -2)]


@pytest.mark.parametrize("step", ["columns", "properties"])
def test_an_answer_of_a_database_that_is_lost_leaves_the_outcome_open(
    place: dict[str, Any], monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Who is told to try again would swap the names back."""
    commit = SqlCatalog.commit_table

    def lost(*arguments: Any) -> Any:
        commit(*arguments)
        raise OperationalError("COMMIT", {}, Exception("server closed the connection"))

    table = arctic.open_table("db.t", **place)
    change = {
        "columns": lambda: arctic.evolve_schema("db.t", rename=SWAP, **place),
        "properties": lambda: table.set_properties({"keep": "this"}),
    }
    with monkeypatch.context() as patched:
        patched.setattr(SqlCatalog, "commit_table", lost)
        with pytest.raises(CommitStateUnknownError, match="server closed the connection"):
            change[step]()

    assert arctic.open_table("db.t", **place).schema.names[2:4] == (
        ["x", "n"] if step == "columns" else ["n", "x"]
    )


def test_what_may_be_null_goes_back_with_its_columns(tmp_path: Path) -> None:
    """Of two earlier versions with the same columns the change store takes the one of base."""
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    number = pa.field("n", pa.int64(), nullable=False)
    schema = pa.schema([SCHEMA.field("id"), number])
    arctic.create_table("db.t", schema, primary_key=["id"], **place)
    nullable = evolve.SchemaChange(optional=("n",))
    evolve.evolve_schema(CatalogConfig.from_options(place), "db.t", nullable)
    arctic.evolve_schema("db.t", add={"c": pa.int64()}, **place)

    arctic.evolve_schema("db.t", drop=["c"], **place)
    rows_without = pa.table({"id": [1], "n": [None]}, schema.set(1, number.with_nullable(True)))
    arctic.write("db.t", rows_without, mode="upsert", **place)

    base, change = store(place, "t"), store(place, "t_change_")
    assert len(base.metadata.schemas) == len(change.metadata.schemas) == 3
    assert base.schema() == change.schema()
    assert not change.schema().find_field("n").required
    assert [each["n"] for each in rows(place)] == [None]
