"""Rows as plain JSON objects, one topic for each table: whatever is not wrapped in an envelope.

Rules:
    - A message is its row as it is now: it takes the place of the one with its key.
    - A tombstone removes the row of its message key, an object with the columns of the table's key.
    - Nothing says what values mean: as with Debezium without a schema, they are plain.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from arctic.cdc.engine import engine, in_pieces
from arctic.cdc.events import BROKEN, EVENTS, Events, complete
from arctic.cdc.json_numbers import fields_of, has_mark, marked, numbered_fields, plain_fields
from arctic.cdc.rows.json_documents import is_plain
from arctic.cdc.rows.unread_messages import HEADS, listed_and_unread, message_table
from arctic.errors import InvalidInputError

_PARSE = f"""
CREATE TEMP TABLE parsed AS
WITH documents AS (
  SELECT seq, message, source, message IS NULL AS is_tombstone,
         coalesce(message, key) AS document
  FROM messages
), taken AS (
  SELECT *, CASE WHEN json_valid(document) AND json_type(document) = 'OBJECT'
                      AND NOT {has_mark("document")} THEN {marked("document")}::JSON END AS v
  FROM documents
), read AS (
  SELECT *, {fields_of("v")} AS fields FROM taken
)
SELECT seq, message, source, is_tombstone, {plain_fields("fields")} AS fields,
       {numbered_fields("fields")} AS numbers,
       CASE WHEN fields IS NOT NULL THEN NULL
            WHEN is_tombstone THEN 'a tombstone whose key is no JSON object'
            WHEN {has_mark("document")} THEN 'it holds U+FDD0, which is no character'
            ELSE 'no JSON object' END AS reason
FROM read
"""
_EVENTS = """
SELECT seq, 0::BIGINT AS ends, source, CASE WHEN is_tombstone THEN 'D' ELSE 'I' END AS kind,
       CASE WHEN NOT is_tombstone THEN map_keys(fields) END AS names,
       CASE WHEN NOT is_tombstone THEN map_values(fields) END AS vals,
       CASE WHEN is_tombstone THEN map_keys(fields) END AS old_names,
       CASE WHEN is_tombstone THEN map_values(fields) END AS old_vals,
       numbers, NULL::VARCHAR AS shape, message, NULL::BIGINT AS place
FROM parsed WHERE reason IS NULL ORDER BY seq
"""
_BROKEN = """
SELECT seq, 0::BIGINT AS ends, source, reason, message
FROM parsed WHERE reason IS NOT NULL ORDER BY seq
"""


# Of each message, its fields as ``JsonMessages`` takes them.
_FIELDS = """
SELECT CASE WHEN json_valid(message) AND json_type(message) = 'OBJECT'
            THEN to_json([json_keys(message), NULL])::VARCHAR END AS fields
FROM messages
"""


def json_events(
    values: pa.Array | pa.ChunkedArray,
    keys: pa.Array | pa.ChunkedArray | None,
    topics: pa.Array | pa.ChunkedArray | None,
) -> Events:
    """Parse messages, in the order of their offsets.

    Args:
        values: texts of the messages; null is a tombstone.
        keys: texts of their keys; None: not known.
        topics: the topic of each, which is its source.

    Memory: a few times the messages.

    Raises:
        InvalidInputError: topics are not known.
    """
    if topics is None:
        raise InvalidInputError(
            "envelope 'json': rows are known by their topics; expected them to come from Kafka"
        )
    given = message_table(values, keys, topics)
    count = given.num_rows
    every, none = np.ones(count, np.bool_), np.zeros(count, np.bool_)
    inserts = pa.repeat("I", count)
    heads = pa.table([is_plain(given["message"]), inserts, every, none], schema=HEADS)
    found = listed_and_unread(given, heads, sides=None, fields=_fields, read=json_listed)
    return complete(found, of=len(values))


def _fields(messages: pa.Array) -> pa.Array:
    with engine() as connection:
        connection.register("messages", in_pieces(pa.table({"message": messages})))
        return connection.sql(_FIELDS).to_arrow_table()["fields"].combine_chunks()


def json_listed(given: pa.Table) -> Events:
    """Parse messages of a ``message_table`` at once, their values into lists."""
    with engine() as connection:
        connection.register("messages", in_pieces(given))
        connection.execute(_PARSE)
        events = connection.sql(_EVENTS).to_arrow_table().cast(EVENTS)
        broken = connection.sql(_BROKEN).to_arrow_table().cast(BROKEN)
    return Events(events=events, broken=broken, ignored=0, ends=0)
