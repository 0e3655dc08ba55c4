"""Column types: Spark's and Arrow's.

Rules:
    - Both directions are written out here, because PySpark's own converters change their
      signatures between the supported versions; a test holds them together.
    - A type that Iceberg does not have is refused by the name of its column.
    - Rows come with any collation: it says how Spark compares a text, not what it is. The columns
      of a table have none, so a definition that names one is refused.

Must not know: tables, options.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.types as pt
from pyspark.sql import types as st

from arctic.errors import UnsupportedError

_TO_ARROW: dict[type[st.DataType], pa.DataType] = {
    st.BooleanType: pa.bool_(),
    st.ByteType: pa.int8(),
    st.ShortType: pa.int16(),
    st.IntegerType: pa.int32(),
    st.LongType: pa.int64(),
    st.FloatType: pa.float32(),
    st.DoubleType: pa.float64(),
    # A length says how Spark checks a text, not what it is.
    st.StringType: pa.string(),
    st.CharType: pa.string(),
    st.VarcharType: pa.string(),
    st.BinaryType: pa.binary(),
    st.DateType: pa.date32(),
    st.TimestampType: pa.timestamp("us", tz="UTC"),
    st.TimestampNTZType: pa.timestamp("us"),
}
_FROM_ARROW: dict[pa.DataType, st.DataType] = {
    pa.bool_(): st.BooleanType(),
    pa.int32(): st.IntegerType(),
    pa.int64(): st.LongType(),
    pa.float32(): st.FloatType(),
    pa.float64(): st.DoubleType(),
    pa.string(): st.StringType(),
    pa.binary(): st.BinaryType(),
    pa.date32(): st.DateType(),
    pa.timestamp("us", tz="UTC"): st.TimestampType(),
    pa.timestamp("us"): st.TimestampNTZType(),
}


def arrow_schema(schema: st.StructType) -> pa.Schema:
    """Return the Arrow form of a frame's schema, as batches have it on their way to and from Spark.

    Raises:
        UnsupportedError: a type that no table can hold; the message names the column.
    """
    return pa.schema([_arrow_field(column, column.name) for column in schema.fields])


def spark_schema(schema: pa.Schema) -> st.StructType:
    """Return the Spark form of a table's schema.

    Raises:
        UnsupportedError: a type that Spark does not have; the message names the column.
    """
    return st.StructType([_spark_field(field, field.name) for field in schema])


def refuse_collations(schema: st.StructType) -> None:
    """Refuse columns whose texts Spark would compare otherwise than by their bytes, at any depth.

    >>> refuse_collations(st.StructType([st.StructField("s", st.StringType())]))

    Raises:
        UnsupportedError: the message names the column and its collation.
    """
    for column in schema.fields:
        _refuse_collation(column.dataType, column.name)


def _refuse_collation(spark: st.DataType, path: str) -> None:
    if isinstance(spark, st.StructType):
        for child in spark.fields:
            _refuse_collation(child.dataType, f"{path}.{child.name}")
    elif isinstance(spark, st.ArrayType):
        _refuse_collation(spark.elementType, f"{path}.element")
    elif isinstance(spark, st.MapType):
        _refuse_collation(spark.keyType, f"{path}.key")
        _refuse_collation(spark.valueType, f"{path}.value")
    elif isinstance(spark, st.StringType) and spark != st.StringType():
        raise UnsupportedError(
            f"column {path!r}: collation {spark.collation} is not stored; leave COLLATE out of the "
            "definition, cast to plain STRING in a query, and compare with COLLATE when reading"
        )


def _arrow_field(column: st.StructField, path: str) -> pa.Field:
    return pa.field(column.name, _arrow_type(column.dataType, path), nullable=column.nullable)


def _arrow_type(spark: st.DataType, path: str) -> pa.DataType:
    if isinstance(spark, st.DecimalType):
        return pa.decimal128(spark.precision, spark.scale)
    if isinstance(spark, st.StructType):
        return pa.struct([_arrow_field(child, f"{path}.{child.name}") for child in spark.fields])
    if isinstance(spark, st.ArrayType):
        element = _arrow_type(spark.elementType, f"{path}.element")
        return pa.list_(pa.field("element", element, nullable=spark.containsNull))
    if isinstance(spark, st.MapType):
        key = pa.field("key", _arrow_type(spark.keyType, f"{path}.key"), nullable=False)
        value = _arrow_type(spark.valueType, f"{path}.value")
        return pa.map_(key, pa.field("value", value, nullable=spark.valueContainsNull))
    arrow = _TO_ARROW.get(type(spark))
    if arrow is None:
        raise UnsupportedError(
            f"column {path!r}: Spark type {spark.simpleString()} has no Iceberg type; "
            "cast it or leave it out"
        )
    return arrow


def _spark_field(field: pa.Field, path: str) -> st.StructField:
    return st.StructField(field.name, _spark_type(field.type, path), field.nullable)


def _spark_type(arrow: pa.DataType, path: str) -> st.DataType:
    if pt.is_decimal128(arrow):
        return st.DecimalType(arrow.precision, arrow.scale)
    if pt.is_fixed_size_binary(arrow):
        return st.BinaryType()
    if pt.is_struct(arrow):
        return st.StructType([_spark_field(child, f"{path}.{child.name}") for child in arrow])
    if pt.is_list(arrow):
        element = _spark_type(arrow.value_type, f"{path}.element")
        return st.ArrayType(element, arrow.value_field.nullable)
    if pt.is_map(arrow):
        key = _spark_type(arrow.key_type, f"{path}.key")
        value = _spark_type(arrow.item_type, f"{path}.value")
        return st.MapType(key, value, arrow.item_field.nullable)
    spark = _FROM_ARROW.get(arrow)
    if spark is None:
        raise UnsupportedError(
            f"column {path!r}: type {arrow} is unknown to Spark; name the other columns in option "
            "'columns'"
        )
    return spark
