"""Where changes and streams of them begin and end, and how much of them is read at once."""

from __future__ import annotations

from arctic.options.option import Option, Scope
from arctic.options.option_values import (
    byte_count,
    integer,
    moment_ms,
    one_of,
    optional,
    positive_int,
    truth,
)

_STREAM = frozenset({Scope.STREAM})
_CHANGES = frozenset({Scope.CHANGES})
_EVENTS = frozenset({Scope.CHANGES, Scope.STREAM})

START_SNAPSHOT_ID = Option(
    name="start-snapshot-id",
    parse=optional(integer),
    default=None,
    scopes=_EVENTS,
    doc="Changes that were committed after this snapshot of the change store.",
)
START_TIMESTAMP = Option(
    name="start-timestamp",
    parse=optional(moment_ms),
    default=None,
    scopes=_EVENTS,
    doc="Changes that were committed after this time, written as for as-of-timestamp.",
)
END_SNAPSHOT_ID = Option(
    name="end-snapshot-id",
    parse=optional(integer),
    default=None,
    scopes=_CHANGES,
    doc="Changes up to this snapshot of the change store, inclusive; the newest if not set.",
)
END_TIMESTAMP = Option(
    name="end-timestamp",
    parse=optional(moment_ms),
    default=None,
    scopes=_CHANGES,
    doc="Changes up to this time, inclusive, written as for as-of-timestamp.",
)
START_VERSION = Option(
    name="start-version",
    parse=optional(str),
    default=None,
    scopes=_EVENTS,
    doc="Changes that were committed after this version, tag or snapshot; 0: from the first commit "
    "on.",
)
END_VERSION = Option(
    name="end-version",
    parse=optional(str),
    default=None,
    scopes=_CHANGES,
    doc="Changes up to this version, tag or snapshot, inclusive.",
)
CHANGE_ROWS = Option(
    name="change-rows",
    parse=one_of("events", "commits", "net"),
    default="events",
    scopes=_EVENTS,
    doc="Changes as they are stored (events); or whole rows with those that they replaced: what "
    "each commit did to them (commits), or the range as if it were one commit (net).",
)
CHANGE_UPDATES = Option(
    name="change-updates",
    parse=truth,
    default=True,
    scopes=_EVENTS,
    doc="Whether change-rows other than events tell updates from deletes and inserts, as "
    "update_preimage and update_postimage.",
)
CHANGE_COMPARES = Option(
    name="change-compares",
    parse=one_of("rows", "columns"),
    default="rows",
    scopes=_EVENTS,
    doc="When change-rows other than events take a row for the same as before: where all of its "
    "columns are (rows), or those that are read (columns), so that the others stay unread.",
)
SKIP_OVERWRITES = Option(
    name="streaming-skip-overwrite-snapshots",
    parse=truth,
    default=False,
    scopes=_EVENTS,
    doc="Pass over commits that replaced or removed rows without recording changes; else they are "
    "refused.",
)
STREAM_FROM = Option(
    name="stream-from",
    parse=one_of("earliest", "latest"),
    default="earliest",
    scopes=_STREAM,
    aliases=("startingOffsets", "scan.startup.mode"),
    doc="Whether a new stream begins with the rows that are there (earliest), or with what is "
    "committed from now on (latest).",
)
STREAM_FROM_TIMESTAMP = Option(
    name="stream-from-timestamp",
    parse=optional(moment_ms),
    default=None,
    scopes=_STREAM,
    doc="A new stream begins with what was committed at this time or later, written as for "
    "as-of-timestamp.",
)
MAX_FILES = Option(
    name="streaming-max-files-per-micro-batch",
    parse=optional(positive_int),
    default=None,
    scopes=_STREAM,
    aliases=("maxFilesPerTrigger",),
    doc="The most files of a micro-batch, unless a single commit has more.",
)
MAX_BYTES = Option(
    name="streaming-max-bytes-per-micro-batch",
    parse=optional(byte_count),
    default=None,
    scopes=_STREAM,
    aliases=("maxBytesPerTrigger",),
    doc="The most bytes of files of a micro-batch, unless a single commit has more.",
)
MAX_ROWS = Option(
    name="streaming-max-rows-per-micro-batch",
    parse=optional(positive_int),
    default=None,
    scopes=_STREAM,
    aliases=("maxRowsPerTrigger",),
    doc="The most rows of a micro-batch, unless a single commit has more.",
)
CONSUMER_ID = Option(
    name="consumer-id",
    parse=optional(str),
    default=None,
    scopes=_STREAM,
    doc="A new stream begins where the consumer of this name stands, and moves it with each batch; "
    "see arctic.consumer.",
)
STREAMING = Option(
    name="_arctic_stream",
    parse=truth,
    default=False,
    scopes=_STREAM,
    doc="Set by readStream.load() alone: rows leave with the columns that tell what they do.",
)
