"""What cleaning removes."""

from __future__ import annotations

from arctic.options.option import Option, Scope
from arctic.options.option_values import (
    count,
    duration_ms,
    one_of,
    optional,
    positive_int,
    truth,
)

_EXPIRE_TABLE = frozenset({Scope.EXPIRE, Scope.TABLE})

CHANGE_TTL_MINUTES = Option(
    name="change.data.ttl.minutes",
    parse=count,
    default=10_080,
    scopes=_EXPIRE_TABLE,
    doc="Minutes that a change file stays after its commit once it is merged, and that snapshots "
    "of the change store stay.",
)
SNAPSHOT_KEEP_MS = Option(
    name="snapshot.keep.duration",
    parse=duration_ms,
    default=720 * 60_000,
    scopes=_EXPIRE_TABLE,
    doc="How long snapshots of the base store stay: milliseconds, or '720min', '12h', '1d'.",
)
SNAPSHOT_KEEP_COUNT = Option(
    name="snapshot.keep.min-count",
    parse=positive_int,
    default=1,
    scopes=_EXPIRE_TABLE,
    doc="Newest snapshots of each store that stay whatever their age.",
)
CONSUMER_EXPIRATION_MS = Option(
    name="consumer.expiration-time",
    parse=duration_ms,
    default=30 * 24 * 3_600_000,
    scopes=_EXPIRE_TABLE,
    doc="How long a consumer of changes that does not move keeps snapshots from being removed.",
)
CLEAN_ORPHANS = Option(
    name="clean-orphan-file.enabled",
    parse=truth,
    default=True,
    scopes=_EXPIRE_TABLE,
    doc="Whether cleaning looks for files that no snapshot refers to.",
)
ORPHAN_AGE_MINUTES = Option(
    name="clean-orphan-file.min-existing-time-minutes",
    parse=count,
    default=2_880,
    scopes=_EXPIRE_TABLE,
    doc="Minutes that an unreferenced file stays: a write that has not committed may need it.",
)
DELETE_OUTSIDE_FILES = Option(
    name="delete-outside-files",
    parse=truth,
    default=False,
    scopes=frozenset({Scope.EXPIRE}),
    doc="Whether cleaning also deletes files of expired snapshots that lie outside the folders of "
    "this table and of every other.",
)
DATA_EXPIRE_ENABLED = Option(
    name="data-expire.enabled",
    parse=truth,
    default=False,
    scopes=_EXPIRE_TABLE,
    doc="Whether cleaning also removes rows that have become too old.",
)
DATA_EXPIRE_FIELD = Option(
    name="data-expire.field",
    parse=optional(str),
    default=None,
    scopes=_EXPIRE_TABLE,
    doc="Column that says how old a row is: timestamp, timestamptz, date, number or text.",
)
DATA_EXPIRE_LEVEL = Option(
    name="data-expire.level",
    parse=one_of("partition", "file"),
    default="partition",
    scopes=_EXPIRE_TABLE,
    doc="Rows go with whole partitions, or with whole files too, in which all are too old.",
)
DATA_EXPIRE_RETENTION = Option(
    name="data-expire.retention-time",
    parse=optional(duration_ms),
    default=None,
    scopes=_EXPIRE_TABLE,
    doc="Age from which a row is too old: '30d', '12h', or milliseconds.",
)
DATA_EXPIRE_RULE = Option(
    name="data-expire.base-on-rule",
    parse=one_of("last_commit_time", "current_time"),
    default="last_commit_time",
    scopes=_EXPIRE_TABLE,
    doc="Age is counted back from the last write (LAST_COMMIT_TIME), or from now (CURRENT_TIME).",
)
DATA_EXPIRE_NUMBERS = Option(
    name="data-expire.datetime-number-format",
    parse=one_of("timestamp_ms", "timestamp_s"),
    default="timestamp_ms",
    scopes=_EXPIRE_TABLE,
    doc="What a number in the column counts since 1970-01-01 UTC: TIMESTAMP_MS or TIMESTAMP_S.",
)
DATA_EXPIRE_TEXTS = Option(
    name="data-expire.datetime-string-pattern",
    parse=str,
    default="yyyy-MM-dd",
    scopes=_EXPIRE_TABLE,
    doc="How a text in the column says a time, the greatest unit first: yyyy, MM, dd, HH, mm, ss.",
)
