"""What a write does."""

from __future__ import annotations

from arctic.options.option import Option, Scope
from arctic.options.option_values import (
    batch_number,
    column_names,
    key_names,
    moment_ms,
    one_of,
    optional,
    partition_fields,
    positive_int,
    truth,
)
from arctic.options.sort_terms import sort_terms

_WRITE = frozenset({Scope.WRITE})
_WRITE_TABLE = frozenset({Scope.WRITE, Scope.TABLE})

WRITE_MODE = Option(
    name="write-mode",
    parse=optional(one_of("append", "upsert", "delete", "overwrite")),
    default=None,
    scopes=_WRITE,
    doc="The save mode, for callers that cannot say .mode('upsert'). Where nobody says one, a "
    "keyed table upserts, unless write.insert-mode says otherwise, and one without a key appends.",
)
ACTION_COLUMN = Option(
    name="action-column",
    parse=optional(str),
    default=None,
    scopes=_WRITE,
    doc="Column that says what each row does: I/U/D, +I/-U/+U/-D or Debezium's c/r/u/d.",
)
ORDERING_COLUMN = Option(
    name="ordering-column",
    parse=optional(str),
    default=None,
    scopes=_WRITE,
    doc="Column by which the last event of a key in the batch wins.",
)
PRIMARY_KEY = Option(
    name="primaryKey",
    parse=optional(key_names),
    default=None,
    scopes=_WRITE,
    aliases=("primary-key", "primary.keys"),
    doc="Key columns of a table that the write creates; '' for a table without a key.",
)
PARTITION_BY = Option(
    name="partitionBy",
    parse=optional(partition_fields),
    default=None,
    scopes=_WRITE,
    aliases=("partition-by",),
    doc="Partition fields of a table that the write creates, as 'day(ts), region'.",
)
SORT_BY = Option(
    name="sortBy",
    parse=optional(sort_terms),
    default=None,
    scopes=_WRITE,
    aliases=("sort-by",),
    doc="What rows are sorted by in a table that the write creates, as 'day, hilbert(lat, lon)'.",
)
INDEX = Option(
    name="index",
    parse=optional(column_names),
    default=None,
    scopes=_WRITE,
    doc="Columns with bloom filters in a table that the write creates.",
)
MISSING_COLUMNS = Option(
    name="missing-columns",
    parse=optional(one_of("refuse", "null", "keep")),
    default=None,
    scopes=_WRITE,
    doc="What becomes of optional columns that the rows lack: the write is refused, they are null, "
    "or the stored values of the key stay. An upsert refuses if nothing is said, an append or "
    "overwrite takes null.",
)
MERGE_SCHEMA = Option(
    name="mergeSchema",
    parse=truth,
    default=False,
    scopes=_WRITE,
    aliases=("merge-schema",),
    doc="Whether the table gets the columns that the rows have more, and the wider types of those "
    "they have, before the write.",
)
PARTITION_OVERWRITE_MODE = Option(
    name="partitionOverwriteMode",
    parse=one_of("static", "dynamic"),
    default="static",
    scopes=_WRITE,
    aliases=("partition-overwrite-mode",),
    doc="An overwrite replaces the whole table (static) or the partitions it has rows for.",
)
OPTIMIZE = Option(
    name="optimize",
    parse=one_of("none", "auto"),
    default="none",
    scopes=_WRITE,
    doc="After the commit: leave the table alone, or optimize what has become slow to read (auto).",
)
OPTIMIZE_EVERY = Option(
    name="optimize-every-batches",
    parse=positive_int,
    default=1,
    scopes=_WRITE,
    doc="With optimize=auto a stream optimizes after so many batches.",
)
PUBLISH = Option(
    name="publish",
    parse=one_of(
        "none", "auto", hint="after how many commits is said by option publish-every-commits"
    ),
    default="none",
    scopes=_WRITE_TABLE,
    doc="After the commit: publish nothing, or show the rows of now to other engines (auto).",
)
PUBLISH_EVERY = Option(
    name="publish-every-commits",
    parse=positive_int,
    default=1,
    scopes=_WRITE_TABLE,
    doc="With publish=auto: only once so many commits, of whoever, are not published yet.",
)
MAX_TASKS = Option(
    name="max-write-tasks",
    parse=optional(positive_int),
    default=None,
    scopes=_WRITE,
    doc="The most tasks that a write through Spark is spread over; each makes its own files.",
)
STREAM_QUERY_ID = Option(
    name="stream-query-id",
    parse=optional(str),
    default=None,
    scopes=_WRITE,
    doc="Name of a sequence of batches; with stream-batch-id, a batch that the table holds is "
    "skipped. A stream sets both by itself.",
)
STREAM_BATCH_ID = Option(
    name="stream-batch-id",
    parse=optional(batch_number),
    default=None,
    scopes=_WRITE,
    doc="Number of this batch; the numbers of a sequence ascend.",
)
STREAM_POSITION = Option(
    name="stream-position",
    parse=optional(str),
    default=None,
    scopes=_WRITE,
    doc="Where the writer is in its source with this batch, such as offsets; the commit of the "
    "batch keeps it in the table property arctic.stream-position.<stream-query-id>.",
)
STREAM_FOLLOWS = Option(
    name="stream-follows",
    parse=optional(batch_number),
    default=None,
    scopes=_WRITE,
    doc="The last batch that the writer knows of; a table with a later one refuses the batch.",
)
WRITER_ID = Option(
    name="writer-id",
    parse=optional(str),
    default=None,
    scopes=_WRITE,
    doc="Name of the writer in the watermark of the table; a stream without one goes by its id.",
)
TOLD_WATERMARK = Option(
    name="watermark",
    parse=optional(moment_ms),
    default=None,
    scopes=_WRITE,
    doc="A moment before which the writer brings no row any more, in place of what the rows tell; "
    "a save without rows tells it too.",
)
SPREAD = Option(
    name="_arctic_spread",
    parse=optional(str),
    default=None,
    scopes=_WRITE,
    doc="Set by save() alone, for a write that another process begins: how its rows were spread.",
)
SAVE_MODE = Option(
    name="_arctic_save_mode",
    parse=optional(str),
    default=None,
    scopes=_WRITE,
    doc="Set by save() alone, for a write that the server of Spark Connect carries out: its mode.",
)
CROSS_PARTITION = Option(
    name="write.upsert.cross-partition",
    parse=one_of("lookup", "assume-stable"),
    default="lookup",
    scopes=_WRITE_TABLE,
    doc="Where the key does not decide the partition: look the stored row's partition up, or trust "
    "that it never changes.",
)
KEEP_ALL_CHANGES = Option(
    name="write.changes.keep-all",
    parse=truth,
    default=False,
    scopes=_WRITE_TABLE,
    doc="Whether a write keeps every event of a key in the change store; else one write keeps what "
    "they come to.",
)
UPSERT_INSERTS = Option(
    name="write.upsert.enabled",
    parse=truth,
    default=True,
    scopes=_WRITE_TABLE,
    doc="Whether an insert in an action column replaces a row of its key that is there already.",
)
