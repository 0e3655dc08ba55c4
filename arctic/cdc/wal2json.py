"""PostgreSQL's logical decoding by wal2json, format version 2: one JSON document for each change.

Rules:
    - A JSON parser would round numbers, so they are turned into texts before it sees them. Inside
      a JSON string every quote is escaped, so ``"value":`` only ever begins a value.
    - A value that an update left untouched outside of the row (TOAST) is not in the message; it
      is taken from the old row where that is there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import pyarrow as pa

from arctic.cdc.engine import engine, in_pieces
from arctic.cdc.events import BROKEN, EVENTS, Events, SourceColumn, complete
from arctic.cdc.postgres_types import source_column

OPTIONS: Mapping[str, str] = {
    "format-version": "2",
    "include-lsn": "true",
    "include-transaction": "true",
    "include-column-positions": "true",
}
"""What the decoding is asked for; ``include-types`` and ``include-typmod`` are on by default."""

_NUMBER = r'"value":(-?[0-9][-+.eE0-9]*|true|false)'
_STRUCTURE = json.dumps(
    {
        "action": "VARCHAR",
        "nextlsn": "VARCHAR",
        "schema": "VARCHAR",
        "table": "VARCHAR",
        "columns": [{"name": "VARCHAR", "type": "VARCHAR", "value": "VARCHAR", "position": "INT"}],
        "identity": [{"name": "VARCHAR", "value": "VARCHAR"}],
    }
)
_LSN = (
    "('0x' || split_part({0}, '/', 1))::UBIGINT::BIGINT * 4294967296 "
    "+ ('0x' || split_part({0}, '/', 2))::UBIGINT::BIGINT"
)
_PARSE = f"""
CREATE TEMP TABLE parsed AS
WITH documents AS (
  SELECT seq, message, CASE WHEN json_valid(message) THEN
      TRY(json_transform(regexp_replace(message, '{_NUMBER}', '"value":"\\1"', 'g'),
                         '{_STRUCTURE}')) END AS d
  FROM lines
), placed AS (
  SELECT *, CASE WHEN regexp_full_match(d.nextlsn, '[0-9A-F]+/[0-9A-F]+')
                 THEN {_LSN.format("d.nextlsn")} END AS mark
  FROM documents
)
SELECT seq, message, d.action AS action, d.schema || '.' || d."table" AS source,
       CASE WHEN len(d.columns) > 0 THEN d.columns END AS new,
       CASE WHEN len(d.identity) > 0 THEN d.identity END AS old,
       coalesce(last_value(CASE WHEN d.action = 'B' THEN mark END IGNORE NULLS)
                OVER (ORDER BY seq), 0) AS ends,
       CASE WHEN d IS NULL THEN 'no JSON object'
            WHEN d.action IS NULL THEN 'no action'
            WHEN d.action NOT IN ('B', 'C', 'M', 'I', 'U', 'D', 'T')
              THEN 'unknown action ' || d.action
            WHEN d.action IN ('B', 'C', 'M') THEN NULL
            WHEN d."table" IS NULL OR d.schema IS NULL THEN 'no table named'
            WHEN d.action IN ('I', 'U') AND coalesce(len(d.columns), 0) = 0 THEN 'no columns'
            WHEN d.action = 'D' AND coalesce(len(d.identity), 0) = 0
              THEN 'no identity: set REPLICA IDENTITY of the table'
       END AS reason
FROM placed
"""
_EVENTS = """
SELECT seq, ends, source, action AS kind,
       list_transform(new, lambda c: c.name) AS names,
       list_transform(new, lambda c: c.value) AS vals,
       list_transform(old, lambda c: c.name) AS old_names,
       list_transform(old, lambda c: c.value) AS old_vals,
       NULL::VARCHAR[] AS numbers,
       CASE WHEN new IS NOT NULL THEN to_json(list_transform(
         new, lambda c: [c.name, c.type, c.position::VARCHAR]))::VARCHAR END AS shape,
       message, NULL::BIGINT AS place
FROM parsed WHERE reason IS NULL AND action IN ('I', 'U', 'D', 'T') ORDER BY seq
"""
_BROKEN = "SELECT seq, ends, source, reason, message FROM parsed WHERE reason IS NOT NULL"

_REST = """
SELECT count(*) FILTER (reason IS NULL AND action IN ('B', 'C', 'M')), max(ends) FROM parsed
"""


def wal2json_events(lines: pa.Array | pa.ChunkedArray) -> Events:
    """Parse the messages of whole transactions, in the order of their commits.

    Args:
        lines: texts, one message each.

    Memory: a few times the messages.
    """
    if not len(lines):  # as most often, where a log is looked at many times a second
        return Events(events=EVENTS.empty_table(), broken=BROKEN.empty_table(), ignored=0, ends=0)
    numbers = pa.array(range(len(lines)), pa.int64())
    with engine() as connection:
        connection.register("lines", in_pieces(pa.table({"seq": numbers, "message": lines})))
        connection.execute(_PARSE)
        events = connection.sql(_EVENTS).to_arrow_table().cast(EVENTS)
        broken = connection.sql(_BROKEN).to_arrow_table().cast(BROKEN)
        ignored, ends = connection.sql(_REST).fetchone()
    found = Events(events=events, broken=broken, ignored=ignored, ends=ends or 0)
    return complete(found, of=len(lines))


def columns_of(shape: str) -> tuple[SourceColumn, ...]:
    """Return the columns that a message describes."""
    return tuple(
        source_column(name, type_, position=None if position is None else int(position))
        for name, type_, position in json.loads(shape)
    )
