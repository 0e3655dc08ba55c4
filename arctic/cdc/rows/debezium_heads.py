"""What a message of Debezium without a schema is of, before its values are read.

Strategy: Arrow's parser finds the few fields of an envelope in all messages at once. Where one of
them is no JSON, or has something else in these fields, DuckDB looks at each by itself.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from arctic.cdc.engine import engine, in_pieces
from arctic.cdc.rows.json_documents import documents, is_plain, parts
from arctic.cdc.rows.unread_messages import HEADS
from arctic.cdc.unavailable import may_be_unavailable

SIDES = ("after", "before")
_SOURCED = pa.schema([("source", pa.string()), *HEADS])
_ENVELOPE = pa.schema(
    [
        ("op", pa.string()),
        ("before", pa.struct([])),
        ("after", pa.struct([])),
        ("source", pa.struct([(name, pa.string()) for name in ("schema", "db", "table")])),
    ]
)
_OTHER = pa.table([[None], [False], ["I"], [False], [False]], schema=_SOURCED)
"""Of a message that is read at once."""
_WITH_NEW = pa.array(["c", "r", "u"])
_PATHS = "['$.op', '$.source.schema', '$.source.db', '$.source.table']"
_TYPES = "['$.before', '$.after', '$.source.table']"
# A message is read later if it has no schema beside it, and rows where its kind of change has them.
_HEADS = f"""
WITH looked AS (
  SELECT CASE WHEN json_valid(message) THEN json_extract_string(message, {_PATHS}) END AS told,
         CASE WHEN json_valid(message) THEN json_type(message, {_TYPES}) END AS kinds
  FROM messages
), placed AS (
  SELECT told[1] AS op, coalesce(kinds[1] = 'OBJECT', false) AS has_old,
         coalesce(kinds[2] = 'OBJECT', false) AS has_new, kinds[3] = 'VARCHAR' AS has_table,
         coalesce(told[2], told[3]) || '.' || told[4] AS source
  FROM looked
)
SELECT source, coalesce(source IS NOT NULL AND has_table
         AND ((op IN ('c', 'r', 'u') AND has_new) OR (op = 'd' AND has_old)), false) AS is_later,
       CASE op WHEN 'u' THEN 'U' WHEN 'd' THEN 'D' ELSE 'I' END AS kind, has_new, has_old
FROM placed
"""
_FIELDS = """
SELECT to_json([
         CASE WHEN json_type(message, '$.after') = 'OBJECT' THEN json_keys(message, '$.after') END,
         CASE WHEN json_type(message, '$.before') = 'OBJECT' THEN json_keys(message, '$.before') END
       ])::VARCHAR AS fields
FROM messages
"""


def message_heads(messages: pa.ChunkedArray) -> pa.Table:
    """Return ``HEADS`` of messages, and the ``source`` of those that are read later."""
    may_be = pc.fill_null(may_be_unavailable(messages), True)
    plain = pc.and_(is_plain(messages), pc.invert(may_be))
    if pc.all(plain).as_py():
        return _heads(messages.combine_chunks())
    at = np.flatnonzero(plain.to_numpy())
    number = np.full(len(messages), len(at))
    number[at] = np.arange(len(at))
    found = _heads(messages.take(pa.array(at)).combine_chunks())
    return pa.concat_tables([found, _OTHER]).take(pa.array(number))


def fields_of_rows(messages: pa.Array) -> pa.Array:
    """Return which fields the rows of messages have, as ``JsonMessages`` takes them."""
    with engine() as connection:
        connection.register("messages", in_pieces(pa.table({"message": messages})))
        return connection.sql(_FIELDS).to_arrow_table()["fields"].combine_chunks()


def _heads(messages: pa.Array) -> pa.Table:
    """Return the heads of plain messages."""
    try:
        whole = [messages.slice(start, stop - start) for start, stop in parts(messages)]
        return pa.concat_tables([_SOURCED.empty_table(), *map(_parsed, whole)])
    except pa.ArrowInvalid:
        pass
    with engine() as connection:
        connection.register("messages", in_pieces(pa.table({"message": messages})))
        return connection.sql(_HEADS).to_arrow_table().cast(_SOURCED)


def _parsed(messages: pa.Array) -> pa.Table:
    told = documents(messages, _ENVELOPE)
    told.validate(full=True)
    op, place = told["op"].combine_chunks(), told["source"].combine_chunks()
    schema, db, table = place.flatten()
    source = pc.binary_join_element_wise(pc.coalesce(schema, db), table, ".")
    has_new, has_old = told["after"].is_valid(), told["before"].is_valid()
    is_delete = pc.fill_null(pc.equal(op, "d"), False)
    has_rows = pc.or_(pc.and_(pc.is_in(op, _WITH_NEW), has_new), pc.and_(is_delete, has_old))
    is_update = pc.fill_null(pc.equal(op, "u"), False)
    kind = pc.if_else(is_update, "U", pc.if_else(is_delete, "D", "I"))
    is_later = pc.and_(source.is_valid(), has_rows)
    return pa.table([source, is_later, kind, has_new, has_old], schema=_SOURCED)
