"""Partition fields: their texts, values, paths and refusals."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import Transform, parse_transform
from pyiceberg.types import NestedField

from arctic.errors import InvalidInputError, UnsupportedError
from arctic.iceberg.values.partitioning import (
    Partitioner,
    PartitionStep,
    PartitionText,
    parse_partition_field,
    partition_spec,
    partition_text,
)
from arctic.iceberg.values.schema import arrow_type
from tests.factories.numbers import MICROS

INTS = st.integers(-(2**31) + 100, 2**31 - 1)
LONGS = st.integers(-(2**63) + 100, 2**63 - 1)
# Transforms of dates outside the years 1 to 9999 have no text, because Python has no such date.
DAYS = st.integers(-719_162, 2_932_896)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
DECIMALS = st.integers(-(10**10) + 100, 10**10 - 1).map(
    lambda unscaled: Decimal(unscaled).scaleb(-2)
)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "int": INTS,
    "long": LONGS,
    "date": DAYS,
    "time": st.integers(0, 86_399_999_999),
    "timestamp": MICROS,
    "timestamptz": MICROS,
    "string": TEXTS,
    "decimal(10, 2)": DECIMALS,
    "binary": st.binary(max_size=12),
    "fixed[4]": st.binary(min_size=4, max_size=4),
}
STORED = {
    "date": pa.int32(),
    "time": pa.int64(),
    "timestamp": pa.int64(),
    "timestamptz": pa.int64(),
}
TRANSFORMS = ("identity", "bucket[16]", "truncate[3]", "year", "month", "day", "hour")


def iceberg_type(text: str) -> Any:
    """PyIceberg's type of this text."""
    return NestedField(field_id=1, name="x", field_type=text).field_type


COMBINATIONS = [
    (transform, text)
    for transform in TRANSFORMS
    for text in VALUES
    if parse_transform(transform).can_transform(iceberg_type(text))
]


def partitioner(transform: str, text: str, name: str = "p") -> Partitioner:
    """One field over column ``x``."""
    step = PartitionStep(column="x", column_type=text, transform=transform, name=name)
    return Partitioner(steps=(step,))


def column(values: Sequence[Any], text: str) -> pa.Array:
    """Internal values as an Arrow column of the table's type."""
    wanted = arrow_type(iceberg_type(text))
    return pa.array(values, STORED.get(text, wanted)).cast(wanted)


def spec_of(transform: str, text: str, name: str = "p") -> tuple[PartitionSpec, Schema]:
    """The same field in PyIceberg's form."""
    parsed: Transform[Any, Any] = parse_transform(transform)
    field = PartitionField(source_id=1, field_id=1000, transform=parsed, name=name)
    schema = Schema(NestedField(1, "x", iceberg_type(text), required=False))
    return PartitionSpec(field), schema


@pytest.mark.parametrize(("transform", "text"), COMBINATIONS)
@settings(max_examples=settings().max_examples // 4)
@given(data=st.data())
def test_columns_and_paths_agree_with_pyicebergs_rows(
    transform: str, text: str, data: st.DataObject
) -> None:
    """Every transform of every type, nulls and slices included."""
    values = data.draw(st.lists(st.none() | VALUES[text], max_size=8))
    steps = partitioner(transform, text)
    batch = pa.record_batch([column([None, *values], text).slice(1)], names=["x"])

    [found] = steps.arrays(batch)

    row_wise = parse_transform(transform).transform(iceberg_type(text))
    expected = [row_wise(value) for value in values]
    assert found.to_pylist() == expected
    assert len(found) == batch.num_rows
    spec, schema = spec_of(transform, text)
    for value in found.to_pylist():
        record = steps.record((value,))
        assert steps.path((value,)) == spec.partition_to_path(record, schema)


def test_a_table_of_several_chunks_gives_one_array_per_field() -> None:
    """Chunks are an accident of how the rows arrived."""
    chunks = pa.chunked_array([pa.array([1, None]), pa.array([17])], type=pa.int64())
    steps = Partitioner(
        steps=(
            PartitionStep(column="id", column_type="long", transform="truncate[10]", name="a"),
            PartitionStep(column="id", column_type="long", transform="identity", name="b"),
        )
    )

    first, second = steps.arrays(pa.table({"other": ["x", "y", "z"], "id": chunks}))

    assert first.to_pylist() == [0, None, 10]
    assert second.to_pylist() == [1, None, 17]


def test_no_rows_and_no_fields_are_fine() -> None:
    """An unpartitioned table has the empty path."""
    empty = pa.table({"x": pa.array([], pa.date32())})

    assert [len(values) for values in partitioner("month", "date").arrays(empty)] == [0]
    assert Partitioner(steps=()).arrays(empty) == []
    assert Partitioner(steps=()).path(()) == ""


def test_dates_and_times_leave_as_integers() -> None:
    """Partition values are Iceberg's internal ones."""
    batch = pa.table({"x": column([-1, None], "timestamptz")})

    [values] = partitioner("identity", "timestamptz").arrays(batch)

    assert values.type == pa.int64()
    assert values.to_pylist() == [-1, None]


def test_paths_are_encoded_as_iceberg_does() -> None:
    """Names and values both."""
    steps = partitioner("identity", "string", name="größe/1")

    assert steps.path(("a b=ü/%",)) == "gr%C3%B6%C3%9Fe%2F1=a+b%3D%C3%BC%2F%25"
    assert steps.path((None,)) == "gr%C3%B6%C3%9Fe%2F1=null"


def test_a_partitioner_pickles_small_and_still_works() -> None:
    """It goes to every write task."""
    steps = partitioner("bucket[16]", "string")
    sent = pickle.dumps(steps)

    assert len(sent) < 400
    batch = pa.table({"x": ["a", None]})
    assert pickle.loads(sent).arrays(batch)[0].equals(steps.arrays(batch)[0])


@pytest.mark.parametrize(
    ("text", "name", "transform"),
    [
        ("region", "region", "identity"),
        ("  region ", "region", "identity"),
        ("identity(region)", "region", "identity"),
        ("bucket(16, id)", "id", "bucket[16]"),
        ("BUCKET( 016 ,id )", "id", "bucket[16]"),
        ("truncate(4, name)", "name", "truncate[4]"),
        ("day(ts)", "ts", "day"),
        ("days(ts)", "ts", "day"),
        ("Months( ts )", "ts", "month"),
        ("hours(ts)", "ts", "hour"),
        ("years(ts)", "ts", "year"),
        ("my column", "my column", "identity"),
    ],
)
def test_partition_texts_are_read(text: str, name: str, transform: str) -> None:
    """As Spark and Iceberg's own documents write them; writing it back gives the same field."""
    parsed = parse_partition_field(text)

    assert parsed == PartitionText(column=name, transform=transform)
    assert parse_partition_field(partition_text(transform, name)) == parsed


@pytest.mark.parametrize(
    "text",
    [
        "", "()", "day()", "day(ts", "ts)", "week(ts)", "bucket(id)", "bucket(id, 16)",
        "day(3, ts)", "bucket(0, id)", "bucket(-1, id)", "truncate(4)", "day(hour(ts))", "void(x)",
        "bucket(99999999999, id)",
    ],
)  # fmt: skip
def test_other_texts_are_refused(text: str) -> None:
    """With what is expected."""
    with pytest.raises(InvalidInputError, match="expected"):
        parse_partition_field(text)


def columns(**types: str) -> Schema:
    """Optional columns, numbered from 1."""
    return Schema(
        *[
            NestedField(position, name, iceberg_type(text), required=False)
            for position, (name, text) in enumerate(types.items(), start=1)
        ]
    )


def test_a_spec_has_icebergs_names_and_ids() -> None:
    """The names that Iceberg's own builders choose."""
    schema = columns(id="long", name="string", ts="timestamptz", d="date", region="string")
    texts = ["bucket(16, id)", "truncate(4, name)", "hour(ts)", "month(d)", "region"]

    spec = partition_spec(schema, texts, keyed=True)

    assert [field.name for field in spec.fields] == [
        "id_bucket", "name_trunc", "ts_hour", "d_month", "region",
    ]  # fmt: skip
    assert [field.field_id for field in spec.fields] == [1000, 1001, 1002, 1003, 1004]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["nope"], "no top-level column 'nope'"),
        (["s.x"], "no top-level column"),
        (["day(id)"], "day does not apply to type long"),
        (["hour(d)"], "hour does not apply to type date"),
        (["s"], "does not apply"),
        (["bucket(4, flag)"], "does not apply to type boolean"),
        (["day(ts)"], "'ts_day' is taken"),
        (["bucket(4, id)", "bucket(8, id)"], "'id_bucket' is taken"),
    ],
)
@pytest.mark.parametrize("keyed", [True, False])
def test_fields_that_make_no_sense_are_refused(texts: list[str], message: str, keyed: bool) -> None:
    """Naming the field and what is wrong with it."""
    fields = [*columns(id="long", ts="timestamp", ts_day="date", d="date", flag="boolean").fields]
    nested = NestedField(9, "s", columns(x="long").as_struct(), required=False)

    with pytest.raises(InvalidInputError, match=message):
        partition_spec(Schema(*fields, nested), texts, keyed=keyed)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["year(ts)"], "year"),
        (["raw"], "binary partition keys"),
        (["four"], "binary partition keys"),
        (["truncate(2, raw)"], "binary partition keys"),
        (["t"], "time partition keys"),
        (["my col"], "needs a name of"),
        (["day(ts)", "bucket(4, ts)"], "one partition field only"),
    ],
)
def test_what_the_partition_keys_of_the_format_cannot_carry_is_refused_for_keyed_tables(
    texts: list[str], message: str
) -> None:
    """Their optimized sequence would never be found again; unkeyed tables have none."""
    schema = columns(
        ts="timestamp", raw="binary", four="fixed[4]", t="time", **{"my col": "string"}
    )

    with pytest.raises(UnsupportedError, match=message):
        partition_spec(schema, texts, keyed=True)
    assert len(partition_spec(schema, texts, keyed=False).fields) == len(texts)


@pytest.mark.parametrize("text", ["float", "double"])
def test_floats_are_refused_for_every_table(text: str) -> None:
    """A NaN is not equal to itself, so its rows would never meet."""
    with pytest.raises(UnsupportedError, match="NaN"):
        partition_spec(columns(x=text), ["x"], keyed=False)
