"""Spark's and Arrow's column types."""

from __future__ import annotations

import inspect
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as st
from pyspark.sql.pandas.types import to_arrow_schema

from arctic.errors import UnsupportedError
from arctic.spark.base.spark_types import arrow_schema, spark_schema

# What both sides know, nested and not, nullable and not.
KNOWN = st.StructType(
    [
        st.StructField("flag", st.BooleanType()),
        st.StructField("whole", st.IntegerType(), nullable=False),
        st.StructField("long", st.LongType()),
        st.StructField("single", st.FloatType()),
        st.StructField("double", st.DoubleType()),
        st.StructField("money", st.DecimalType(38, 18)),
        st.StructField("text", st.StringType()),
        st.StructField("bytes", st.BinaryType()),
        st.StructField("day", st.DateType()),
        st.StructField("instant", st.TimestampType()),
        st.StructField("wall", st.TimestampNTZType()),
        st.StructField("tags", st.ArrayType(st.StringType(), containsNull=False)),
        st.StructField("counts", st.MapType(st.StringType(), st.LongType(), False)),
        st.StructField(
            "place",
            st.StructType(
                [
                    st.StructField("lat", st.DoubleType(), nullable=False),
                    st.StructField(
                        "path", st.ArrayType(st.MapType(st.IntegerType(), st.DateType()))
                    ),
                ]
            ),
        ),
    ]
)
NARROW = st.StructType(
    [
        st.StructField("tiny", st.ByteType()),
        st.StructField("small", st.ShortType()),
        st.StructField("code", st.CharType(3)),
        st.StructField("name", st.VarcharType(10)),
    ]
)
ABSENT = [
    st.NullType(),
    st.VariantType(),
    st.DayTimeIntervalType(),
    st.YearMonthIntervalType(),
    st.CalendarIntervalType(),
]


def test_a_schema_survives_the_way_to_arrow_and_back() -> None:
    """Every type that a table can have keeps its precision and nullability, nested ones too."""
    assert spark_schema(arrow_schema(KNOWN)) == KNOWN


def test_batches_have_the_schema_that_spark_compares_them_with() -> None:
    """The Arrow form is the one that this PySpark makes for the same columns."""
    # Its signature differs between the supported versions.
    parameters = inspect.signature(to_arrow_schema).parameters
    zone: dict[str, Any] = {"timezone": "UTC"} if "timezone" in parameters else {}

    assert to_arrow_schema(KNOWN, **zone).equals(arrow_schema(KNOWN))


def test_types_that_tables_lack_but_can_hold_are_told_as_they_are() -> None:
    """Short integers stay short, for the writer to widen; a declared length is no type."""
    assert [pa.int8(), pa.int16(), pa.string(), pa.string()] == arrow_schema(NARROW).types


@pytest.mark.parametrize("absent", ABSENT, ids=lambda kind: type(kind).__name__)
def test_a_type_without_an_iceberg_form_is_refused_by_the_name_of_its_column(
    absent: st.DataType,
) -> None:
    """The message names the column, also deep inside another."""
    inner = st.StructType([st.StructField("odd", absent)])

    with pytest.raises(UnsupportedError, match=r"column 'outer\.element\.odd': Spark type"):
        arrow_schema(st.StructType([st.StructField("outer", st.ArrayType(inner))]))


def test_fixed_bytes_become_plain_ones() -> None:
    """Spark has one type for bytes of any length."""
    schema = spark_schema(pa.schema([pa.field("id", pa.binary(16))]))

    assert st.StructType([st.StructField("id", st.BinaryType())]) == schema


def test_a_table_type_that_spark_lacks_is_refused_with_the_way_around() -> None:
    """A time of day is one; the other columns can still be read."""
    with pytest.raises(UnsupportedError, match=r"column 'at': .* name the other columns"):
        spark_schema(pa.schema([pa.field("at", pa.time64("us"))]))
