"""Arrow types and Iceberg types, one to one or refused."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.types import (
    IntegerType,
    ListType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestampNanoType,
    UUIDType,
)

from arctic.errors import InvalidInputError, UnsupportedError
from arctic.iceberg.values.schema import FIELD_ID, arrow_schema, iceberg_schema, with_required

PRIMITIVES: dict[str, Any] = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", tz="UTC"),
    "string": pa.string(),
    "binary": pa.binary(),
    "fixed[4]": pa.binary(4),
    "decimal(10, 2)": pa.decimal128(10, 2),
    "decimal(38, 38)": pa.decimal128(38, 38),
}


def ids(arrow: Any) -> list[int]:
    """Field ids in depth-first order."""
    found: list[int] = []
    for field in arrow:
        found.append(int(field.metadata[FIELD_ID]))
        found.extend(ids(children(field.type)))
    return found


def children(arrow: pa.DataType) -> list[pa.Field]:
    """Fields right inside a type."""
    if pa.types.is_map(arrow):
        return [arrow.key_field, arrow.item_field]
    return [arrow.field(index) for index in range(arrow.num_fields)]


@pytest.mark.parametrize("text", PRIMITIVES)
def test_a_primitive_survives_the_way_there_and_back(text: str) -> None:
    """What a reader gets has the type that was given at creation."""
    given = pa.schema([pa.field("x", PRIMITIVES[text], nullable=False)])

    schema = iceberg_schema(given)

    assert str(schema.find_field("x").field_type) == text
    assert arrow_schema(schema).equals(given)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (pa.int8(), "int"),
        (pa.int16(), "int"),
        (pa.large_string(), "string"),
        (pa.string_view(), "string"),
        (pa.large_binary(), "binary"),
        (pa.binary_view(), "binary"),
        (pa.timestamp("s"), "timestamp"),
        (pa.timestamp("ms", tz="+00:00"), "timestamptz"),
        (pa.large_list(pa.int32()), "list<int>"),
    ],
    ids=str,
)
def test_a_narrower_or_larger_form_becomes_the_iceberg_type(given: Any, text: str) -> None:
    """These forms hold the same values."""
    schema = iceberg_schema(pa.schema([pa.field("x", given)]))

    assert str(schema.find_field("x").field_type) == text


@pytest.mark.parametrize(
    "given",
    [
        pa.uint8(),
        pa.uint16(),
        pa.uint32(),
        pa.uint64(),
        pa.float16(),
        pa.timestamp("ns"),
        pa.timestamp("ns", tz="UTC"),
        pa.timestamp("us", tz="Europe/Berlin"),
        pa.time32("s"),
        pa.time64("ns"),
        pa.date64(),
        pa.duration("us"),
        pa.decimal256(50, 2),
        pa.decimal128(4, 6),
        pa.decimal128(4, -2),
        pa.null(),
        pa.uuid(),
        pa.dictionary(pa.int32(), pa.string()),
        pa.list_(pa.int32(), 3),
        pa.month_day_nano_interval(),
    ],
    ids=str,
)
@pytest.mark.parametrize("nesting", ["column", "struct", "list", "map"])
def test_what_would_not_survive_is_refused_with_the_column(given: Any, nesting: str) -> None:
    """uint64 would overflow, nanoseconds would be cut, a zone would be forgotten."""
    wrapped, path = {
        "column": (given, "bad"),
        "struct": (pa.struct([pa.field("inner", given)]), r"bad\.inner"),
        "list": (pa.list_(given), r"bad\.element"),
        "map": (pa.map_(pa.string(), given), r"bad\.value"),
    }[nesting]

    with pytest.raises(InvalidInputError, match=f"column '{path}'"):
        iceberg_schema(pa.schema([("good", pa.int32()), ("bad", wrapped)]))


def test_ids_are_numbered_as_iceberg_does_and_stand_in_every_field() -> None:
    """Columns first, then nested: PyIceberg's own conversion is the oracle."""
    given = pa.schema(
        [
            pa.field("s", pa.struct([("a", pa.int32()), ("b", pa.list_(pa.string()))])),
            pa.field("m", pa.map_(pa.string(), pa.struct([("x", pa.int64())]))),
            pa.field("last", pa.bool_(), nullable=False),
        ]
    )

    schema = iceberg_schema(given)
    arrow = arrow_schema(schema)

    assert ids(arrow) == ids(schema_to_pyarrow(schema))
    assert [int(field.metadata[FIELD_ID]) for field in arrow] == [1, 2, 3]
    assert sorted(ids(arrow)) == list(range(1, 10))
    assert assign_fresh_schema_ids(schema) == schema


def test_nullability_and_comments_are_kept() -> None:
    """Nested ones too."""
    given = pa.schema(
        [
            pa.field("a", pa.list_(pa.field("element", pa.int32(), nullable=False))),
            pa.field("b", pa.int32(), nullable=False, metadata={"doc": "a note"}),
            pa.field("c", pa.struct([pa.field("x", pa.int32(), nullable=False)])),
        ]
    )

    schema = iceberg_schema(given)

    assert schema.find_field("b").doc == "a note"
    assert arrow_schema(schema).equals(given)


def test_a_pyiceberg_schema_is_taken_and_numbered_anew() -> None:
    """Both stores must number alike, so ids start from one."""
    given = Schema(
        NestedField(70, "b", StringType(), required=False, doc="note"),
        NestedField(10, "a", ListType(20, LongType(), element_required=True), required=True),
    )

    schema = iceberg_schema(given)

    assert [(column.field_id, column.name) for column in schema.columns] == [(1, "b"), (2, "a")]
    assert schema.find_field("a").required
    assert schema.find_field("b").doc == "note"


@pytest.mark.parametrize("iceberg_type", [TimestampNanoType(), UUIDType()], ids=str)
def test_a_pyiceberg_type_that_spark_or_format_2_lacks_is_refused(iceberg_type: Any) -> None:
    """Also inside another type."""
    nested = StructType(NestedField(2, "x", iceberg_type, required=False))

    with pytest.raises(InvalidInputError, match=r"column 'bad\.x'"):
        iceberg_schema(Schema(NestedField(1, "bad", nested, required=False)))


@pytest.mark.parametrize("nested", [False, True])
def test_a_default_value_is_refused_instead_of_forgotten(nested: bool) -> None:
    """Only format version 3 can store it."""
    column = NestedField(2, "x", LongType(), required=False, initial_default=1, write_default=1)
    outer = NestedField(1, "x", StructType(column), required=False) if nested else column

    with pytest.raises(InvalidInputError, match="default values"):
        iceberg_schema(Schema(outer))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", "a"], "differs only in case"),
        (["Id", "iD"], "differs only in case"),
        (["a.b"], "must not be empty or contain"),
        ([""], "must not be empty or contain"),
        (["_transaction_id"], "reserved"),
        (["_FILE_OFFSET"], "reserved"),
        ([], "no columns"),
    ],
)
def test_names_that_cannot_be_told_apart_are_refused(names: list[str], message: str) -> None:
    """Spark does not see case, and a dot separates nested names."""
    with pytest.raises(InvalidInputError, match=message):
        iceberg_schema(pa.schema([pa.field(name, pa.int32()) for name in names]))


def test_nested_names_are_checked_too() -> None:
    """In structs, at any depth."""
    twice = pa.list_(pa.struct([("a", pa.int32()), ("A", pa.int32())]))

    with pytest.raises(InvalidInputError, match=r"column 'x\.element\.A'"):
        iceberg_schema(pa.schema([("x", twice)]))


def test_something_else_than_a_schema_is_refused() -> None:
    """Such as a mapping."""
    with pytest.raises(InvalidInputError, match="'dict'"):
        iceberg_schema({"a": "int"})


def test_key_columns_become_required_and_keep_their_ids() -> None:
    """An unknown one is named together with those that exist."""
    schema = iceberg_schema(pa.schema([("a", pa.int32()), ("b", pa.int32())]))

    required = with_required(schema, ("b",))

    assert [column.required for column in required.columns] == [False, True]
    assert [column.field_id for column in required.columns] == [1, 2]
    with pytest.raises(InvalidInputError, match=r"'c' is no column; .* a, b"):
        with_required(schema, ("c",))


def test_a_foreign_table_with_uuids_reads_them_as_bytes() -> None:
    """Neither Spark nor the merging kernels know Arrow's uuid extension."""
    schema = Schema(NestedField(1, "u", UUIDType(), required=False))

    assert arrow_schema(schema).field("u").type == pa.binary(16)


def test_a_foreign_table_with_a_newer_type_is_unsupported() -> None:
    """It would be read wrongly."""
    schema = Schema(
        NestedField(1, "i", IntegerType(), required=False),
        NestedField(2, "t", TimestampNanoType(), required=False),
    )

    with pytest.raises(UnsupportedError, match="timestamp_ns"):
        arrow_schema(schema)
