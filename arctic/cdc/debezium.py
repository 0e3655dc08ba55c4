"""Debezium's JSON, with and without a schema beside each payload.

Rules:
    - With a schema the source says what every value means. Without one, numbers, texts and truth
      values are plain, and what could mean several things (dates as numbers, decimals as Base64)
      needs a ``Decoding`` from the caller; else its events are broken.
    - A value that Debezium did not have (``__debezium_unavailable_value``, in whatever form) is
      taken from the row before, as if the event had not mentioned it.
    - Numbers keep the digits that the message has.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from arctic.cdc.decode import Decoding, Encoding
from arctic.cdc.engine import engine, in_pieces
from arctic.cdc.events import BROKEN, EVENTS, Events, SourceColumn, complete
from arctic.cdc.json_numbers import (
    fields_of,
    has_mark,
    marked,
    numbered_fields,
    plain_fields,
    unmarked,
)
from arctic.cdc.rows.debezium_heads import SIDES, fields_of_rows, message_heads
from arctic.cdc.rows.unread_messages import HEADS, listed_and_unread, message_table
from arctic.cdc.unavailable import is_doubtful, is_unavailable


def _available(fields: str) -> str:
    """Return the expression of the fields that have a value."""
    return (
        f"map_from_entries(list_filter(map_entries({fields}), "
        f"lambda e: NOT {is_unavailable('e.value')}))"
    )


_PARSE = f"""
CREATE TEMP TABLE parsed AS
WITH documents AS (
  SELECT seq, message,
         CASE WHEN json_valid(message) AND json_type(message) = 'OBJECT'
                   AND NOT {has_mark("message")}
              THEN {marked("message")}::JSON END AS v,
         CASE WHEN json_valid(key) AND json_type(key) = 'OBJECT' AND NOT {has_mark("key")}
              THEN {marked("key")}::JSON END AS k
  FROM messages
), payloads AS (
  SELECT seq, message, v,
         CASE WHEN json_type(v, '$.payload') = 'OBJECT' AND (v -> 'op') IS NULL
              THEN v -> 'payload' WHEN json_exists(v, '$.payload') AND (v -> 'op') IS NULL
              THEN NULL ELSE v END AS p,
         (v -> '$.schema.fields') AS fields,
         CASE WHEN json_type(k, '$.payload') = 'OBJECT' THEN k -> 'payload' ELSE k END AS key
  FROM documents
), taken AS (
  SELECT seq, message, v, p, p ->> 'op' AS op, key,
         {fields_of("(p -> 'after')")} AS after,
         {fields_of("(p -> 'before')")} AS before,
         coalesce(p ->> '$.source.schema', p ->> '$.source.db') || '.'
           || (p ->> '$.source.table') AS source,
         list_filter(CASE WHEN json_type(fields) = 'ARRAY' THEN fields::JSON[] END,
                     lambda f: (f ->> 'field') = 'after')[1] -> 'fields' AS shape
  FROM payloads
), rows AS (
  SELECT * REPLACE (CASE WHEN before IS NULL AND op = 'd' AND key IS NOT NULL
                         THEN {fields_of("key")} ELSE before END AS before)
  FROM taken
), plain AS (
  SELECT * REPLACE ({plain_fields("after")} AS after, {plain_fields("before")} AS before),
         list_concat({numbered_fields("after")}, {numbered_fields("before")}) AS numbers
  FROM rows
), cleaned AS (
  SELECT *, {_available("after")} AS new, {_available("before")} AS old,
         list_filter(map_entries(after), lambda e: {is_doubtful("e.value")}) AS doubtful
  FROM plain
), compared AS (
  SELECT *, coalesce(
           list_filter(map_keys(after), lambda k: NOT map_contains(new, k)
             AND NOT coalesce(map_contains(old, k), false))[1],
           CASE WHEN op = 'u' AND len(doubtful) > 0 THEN list_filter(doubtful,
             lambda e: NOT coalesce(list_contains(map_entries(old), e), false))[1].key END
         ) AS lost
  FROM cleaned
)
SELECT seq, message, source, op, {unmarked("shape::VARCHAR")} AS shape, numbers, new, old,
       coalesce(message IS NULL OR (v IS NOT NULL AND (p IS NULL OR op = 'm' OR (op IS NULL AND (
         json_keys(p) = ['ts_ms'] OR json_exists(p, '$.ddl') OR json_exists(p, '$.tableChanges')
         OR (json_exists(p, '$.status') AND json_exists(p, '$.id')))))), false) AS ignored,
       CASE WHEN {has_mark("message")} THEN 'it holds U+FDD0, which is no character'
            WHEN v IS NULL THEN 'no JSON object'
            WHEN op IS NULL THEN 'no op: not an envelope of Debezium'
            WHEN op NOT IN ('c', 'r', 'u', 'd', 't') THEN 'unknown op ' || op
            WHEN source IS NULL THEN 'no table named in its source'
            WHEN op IN ('c', 'r', 'u') AND after IS NULL THEN 'no row after'
            WHEN op = 'd' AND old IS NULL THEN 'neither a row before nor a key'
            WHEN lost IS NOT NULL
              THEN 'column ' || lost || ': its value is unavailable, and so is the row before'
       END AS reason
FROM compared
"""
_EVENTS = """
SELECT seq, 0::BIGINT AS ends, source,
       CASE op WHEN 'u' THEN 'U' WHEN 'd' THEN 'D' WHEN 't' THEN 'T' ELSE 'I' END AS kind,
       map_keys(new) AS names, map_values(new) AS vals,
       map_keys(old) AS old_names, map_values(old) AS old_vals, numbers,
       shape, message, NULL::BIGINT AS place
FROM parsed WHERE NOT ignored AND reason IS NULL ORDER BY seq
"""
_BROKEN = """
SELECT seq, 0::BIGINT AS ends, source, reason, message
FROM parsed WHERE NOT ignored AND reason IS NOT NULL ORDER BY seq
"""


def debezium_events(
    values: pa.Array | pa.ChunkedArray, keys: pa.Array | pa.ChunkedArray | None = None
) -> Events:
    """Parse messages, in the order of their offsets.

    Args:
        values: texts of the messages; null is a tombstone.
        keys: texts of their keys, for deletes without a row before; None: not known.

    Memory: a few times the messages.
    """
    given = message_table(values, keys, None)
    heads = message_heads(given["message"])
    given = given.set_column(given.column_names.index("source"), "source", heads["source"])
    found = listed_and_unread(
        given, heads.select(HEADS.names), sides=SIDES, fields=fields_of_rows, read=_listed
    )
    return complete(found, of=len(values))


def _listed(given: pa.Table) -> Events:
    with engine() as connection:
        connection.register("messages", in_pieces(given))
        connection.execute(_PARSE)
        events = connection.sql(_EVENTS).to_arrow_table().cast(EVENTS)
        broken = connection.sql(_BROKEN).to_arrow_table().cast(BROKEN)
        ignored = connection.sql("SELECT count(*) FROM parsed WHERE ignored").fetchone()[0]
    return Events(events=events, broken=broken, ignored=ignored, ends=0)


def columns_of(shape: str) -> tuple[SourceColumn, ...]:
    """Return the columns that the schema beside a payload describes."""
    return tuple(_column(field) for field in json.loads(shape))


_SEMANTIC: Mapping[str, tuple[pa.DataType, Encoding]] = {
    "org.apache.kafka.connect.data.Date": (pa.date32(), Encoding.DAYS),
    "org.apache.kafka.connect.data.Time": (pa.string(), Encoding.TIME_MILLISECONDS),
    "org.apache.kafka.connect.data.Timestamp": (pa.timestamp("us"), Encoding.MILLISECONDS),
    "io.debezium.time.Date": (pa.date32(), Encoding.DAYS),
    "io.debezium.time.Time": (pa.string(), Encoding.TIME_MILLISECONDS),
    "io.debezium.time.MicroTime": (pa.string(), Encoding.TIME_MICROSECONDS),
    "io.debezium.time.NanoTime": (pa.string(), Encoding.TIME_NANOSECONDS),
    "io.debezium.time.Timestamp": (pa.timestamp("us"), Encoding.MILLISECONDS),
    "io.debezium.time.MicroTimestamp": (pa.timestamp("us"), Encoding.MICROSECONDS),
    "io.debezium.time.NanoTimestamp": (pa.timestamp("us"), Encoding.NANOSECONDS),
    "io.debezium.time.ZonedTimestamp": (pa.timestamp("us", tz="UTC"), Encoding.TEXT),
    "io.debezium.time.Year": (pa.int32(), Encoding.TEXT),
    "io.debezium.time.MicroDuration": (pa.int64(), Encoding.TEXT),
    "io.debezium.data.Bits": (pa.binary(), Encoding.BASE64),
    # Avro's own, where no converter of Connect's gave another.
    "timestamp-millis": (pa.timestamp("us", tz="UTC"), Encoding.INSTANT_MILLISECONDS),
    "timestamp-micros": (pa.timestamp("us", tz="UTC"), Encoding.INSTANT_MICROSECONDS),
    "timestamp-nanos": (pa.timestamp("us", tz="UTC"), Encoding.INSTANT_NANOSECONDS),
    "local-timestamp-millis": (pa.timestamp("us"), Encoding.MILLISECONDS),
    "local-timestamp-micros": (pa.timestamp("us"), Encoding.MICROSECONDS),
    "local-timestamp-nanos": (pa.timestamp("us"), Encoding.NANOSECONDS),
}
_PRIMITIVE: Mapping[str, tuple[pa.DataType, Encoding]] = {
    "boolean": (pa.bool_(), Encoding.TEXT),
    "int8": (pa.int32(), Encoding.TEXT),
    "int16": (pa.int32(), Encoding.TEXT),
    "int32": (pa.int32(), Encoding.TEXT),
    "int64": (pa.int64(), Encoding.TEXT),
    "float": (pa.float32(), Encoding.TEXT),
    "float32": (pa.float32(), Encoding.TEXT),
    "double": (pa.float64(), Encoding.TEXT),
    "float64": (pa.float64(), Encoding.TEXT),
    "bytes": (pa.binary(), Encoding.BASE64),
}
_DECIMAL = "org.apache.kafka.connect.data.Decimal"


def _column(field: Mapping[str, Any]) -> SourceColumn:
    """Texts, and whatever has no type of ours, such as a nested value, stay text."""
    name, semantic, parameters = field["field"], field.get("name"), field.get("parameters") or {}
    if semantic == _DECIMAL:
        scale = int(parameters.get("scale", 0))
        precision = int(parameters.get("connect.decimal.precision", 38))
        decoding = Decoding(encoding=Encoding.UNSCALED, scale=scale)
        return SourceColumn(name=name, type=pa.decimal128(precision, scale), decoding=decoding)
    found = _SEMANTIC.get(semantic or "") or _PRIMITIVE.get(field.get("type", ""))
    type_, encoding = found or (pa.string(), Encoding.TEXT)
    return SourceColumn(name=name, type=type_, decoding=Decoding(encoding=encoding))
