"""What no call takes: properties of a table alone."""

from __future__ import annotations

from arctic.options.option import Option, Scope
from arctic.options.option_values import (
    column_groups,
    column_names,
    column_words,
    count,
    one_of,
    optional,
    positive_int,
    truth,
)

_TABLE = frozenset({Scope.TABLE})

BASE_BUCKETS = Option(
    name="base.file-index.hash-bucket",
    parse=positive_int,
    default=4,
    scopes=_TABLE,
    doc="Nodes that base files are written to; a power of two. Where a table does not state it, "
    "partitions get more as they grow, and tiny ones are one file.",
)
CHANGE_BUCKETS = Option(
    name="change.file-index.hash-bucket",
    parse=positive_int,
    default=4,
    scopes=_TABLE,
    doc="Nodes that change files are written to; a power of two.",
)

MAY_DELETE = Option(
    name="gc.enabled",
    parse=truth,
    default=True,
    scopes=_TABLE,
    doc="Whether cleaning may delete files; false where they belong to other tables too.",
)

INSERT_MODE = Option(
    name="write.insert-mode",
    parse=one_of("upsert", "append"),
    default="upsert",
    scopes=_TABLE,
    doc="What a write into a keyed table does that says no mode, such as INSERT INTO: replace the "
    "rows of its keys, or append, for those who know that their keys are new.",
)

ISOLATION = Option(
    name="write.isolation-level",
    parse=one_of("serializable", "snapshot"),
    default="serializable",
    scopes=_TABLE,
    doc="What must not have changed since a DELETE, UPDATE or MERGE read it, beside the rows that "
    "the command writes: serializable, all that it looked at, as if it ran alone; snapshot, "
    "nothing else.",
)
SCHEMA_EVOLUTION = Option(
    name="write.spark.auto-schema-evolution.enabled",
    parse=truth,
    default=True,
    scopes=_TABLE,
    doc="Whether the words WITH SCHEMA EVOLUTION change columns; with false a statement is as if "
    "it had not said them.",
)

ORDERING_COLUMNS = Option(
    name="write.ordering-columns",
    parse=optional(column_names),
    default=None,
    scopes=_TABLE,
    doc="Columns by which the greatest row of a key wins for ever, however late the others come; "
    "given when the table is created, and lasting.",
)

INDEX_COLUMNS = Option(
    name="write.index-columns",
    parse=optional(column_names),
    default=None,
    scopes=_TABLE,
    doc="Columns of which new files have a bloom filter, so that a search for a value skips files "
    "that do not have it.",
)

MERGE_ENGINE = Option(
    name="write.merge-engine",
    parse=one_of("last-row", "first-row", "partial-update", "aggregate"),
    default="last-row",
    scopes=_TABLE,
    doc="What becomes of the rows of a key: the last one stays, or the first; each column keeps "
    "its last value, or is what a function makes of all values. Given when the table is created, "
    "and lasting.",
)

AGGREGATE_FUNCTIONS = Option(
    name="write.merge-engine.aggregate-functions",
    parse=optional(column_words),
    default=None,
    scopes=_TABLE,
    doc="With the merge engine aggregate: what becomes of columns, such as 'total: sum, seen: "
    "max'; of another one the last value stays that is not null. Lasting.",
)

SEQUENCE_GROUPS = Option(
    name="write.merge-engine.sequence-groups",
    parse=optional(column_groups),
    default=None,
    scopes=_TABLE,
    doc="With the merge engine partial-update: columns that are taken together from the row with "
    "the greatest ordering columns, such as 'at: city, zip; day, hour: total'. Lasting.",
)

INGEST_TIME = "_ingest_time"
"""In place of a column: the moment of the commit is the event time."""

EVENT_TIME_FIELD = Option(
    name="table.event-time-field",
    parse=optional(str),
    default=None,
    scopes=_TABLE,
    doc="Column with the event time of a row, from which a commit computes the watermark; "
    "_ingest_time is the moment of the commit.",
)
WATERMARK_LATENESS = Option(
    name="table.watermark-allowed-lateness-second",
    parse=count,
    default=0,
    scopes=_TABLE,
    doc="Seconds by which the watermark stays behind the latest event time.",
)
EVENT_TIME_NUMBERS = Option(
    name="table.event-time-field.datetime-number-format",
    parse=one_of("timestamp_ms", "timestamp_s"),
    default="timestamp_ms",
    scopes=_TABLE,
    doc="Unit of an event time that is a number: what it counts since 1970-01-01 UTC.",
)
EVENT_TIME_TEXTS = Option(
    name="table.event-time-field.datetime-string-format",
    parse=str,
    default="yyyy-MM-dd HH:mm:ss",
    scopes=_TABLE,
    doc="How an event time that is a text is written, in UTC; only the default can be read.",
)
