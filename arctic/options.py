"""Every option and table property, once: wire name, type, default, one sentence.

Rules:
    - Defaults are written here only; inner functions take required keyword arguments.
    - Names are compared without case, because Spark lowers them.
    - A value in the call wins over the table property, which wins over the default.
    - An option that nobody knows is refused with the nearest known name.
"""

from __future__ import annotations

import difflib
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from enum import Enum
from typing import Generic, TypeVar

from arctic.errors import InvalidInputError

T = TypeVar("T")

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Scope(Enum):
    """Where an option may be given."""

    CATALOG = "catalog"
    READ = "read"
    CHANGES = "changes"
    STREAM = "stream"
    WRITE = "write"
    OPTIMIZE = "optimize"
    EXPIRE = "expire"
    TABLE = "table"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option(Generic[T]):
    """One setting."""

    name: str
    parse: Callable[[str], T]
    """Turns the text into a value, or raises ValueError with what was expected."""
    default: T
    scopes: frozenset[Scope]
    doc: str
    aliases: tuple[str, ...] = ()
    """Other names that mean the same, for example Iceberg's."""

    @property
    def names(self) -> tuple[str, ...]:
        """The name and its aliases."""
        return (self.name, *self.aliases)

    def value(self, options: Mapping[str, str], properties: Mapping[str, str] | None = None) -> T:
        """Return the setting in force.

        Args:
            options: what the call gave.
            properties: the table's properties; only read when the option is also a property.

        Raises:
            InvalidInputError: a text that is not a value of this option.
        """
        sources = [("option", options)]
        if Scope.TABLE in self.scopes and properties is not None:
            sources.append(("table property", properties))
        for where, mapping in sources:
            given = {name.lower(): (name, text) for name, text in mapping.items()}
            for name in self.names:
                if name.lower() in given:
                    return self._parsed(where, *given[name.lower()])
        return self.default

    def _parsed(self, where: str, name: str, text: str) -> T:
        try:
            return self.parse(str(text))
        except ValueError as error:
            raise InvalidInputError(f"{where} {name} = {text!r}: {error}") from error


def check_known(options: Iterable[str], scope: Scope) -> None:
    """Refuse options that mean nothing in this place, so that a typo is never ignored.

    Where ``options`` has values, they are looked at too: some are read by Spark alone.

    Raises:
        InvalidInputError: naming the option and the nearest known one, or what its value may be.
    """
    known = {
        name.lower(): name
        for option in OPTIONS
        if scope in option.scopes or Scope.CATALOG in option.scopes
        for name in option.names
    }
    for name in options:
        if name.lower() in known or name.lower().startswith(CATALOG_PREFIX):
            continue
        foreign = _ELSEWHERE.get(name.lower())
        if foreign is not None:
            raise InvalidInputError(f"unknown {scope.value} option {foreign!r}; {_EVOLVE}")
        public = {name.lower(): name for name in known.values() if not name.startswith("_")}
        hint = nearest(name, public) or f"known: {', '.join(public.values())}"
        raise InvalidInputError(f"unknown {scope.value} option {name!r}; {hint}")
    if isinstance(options, Mapping):
        for option in OPTIONS:
            if scope in option.scopes or Scope.CATALOG in option.scopes:
                option.value(options)


def nearest(name: str, known: Mapping[str, str]) -> str | None:
    """Return the question whether another name was meant; None where none comes near.

    Args:
        name: what is unknown.
        known: names in lower case -> as they are spelt.
    """
    near = difflib.get_close_matches(name.lower(), known, n=1)
    return f"did you mean {known[near[0]]!r}?" if near else None


_ELSEWHERE = {
    name.lower(): name
    for name in (
        *("mergeSchema", "merge-schema", "write.merge-schema", "overwriteSchema"),
        *("autoMerge", "schemaEvolution"),
    )
}
"""What other formats call this; Spark lowers names, so the usual spelling is kept here."""
_EVOLVE = "the columns of a table are changed by arctic.evolve_schema, before the write"


def default_parallelism() -> int:
    """Return the cores of this machine: the edges use it where nobody said a parallelism."""
    return os.cpu_count() or 1


_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def _bytes(text: str) -> int:
    match = re.fullmatch(r"\s*(\d+)\s*([kmgt]?)(i?b)?\s*", text.lower())
    if match is None or int(match.group(1)) == 0:
        raise ValueError("expected bytes above 0, for example 134217728 or '128 MiB'")
    return int(match.group(1)) * _UNITS[match.group(2)]


def _positive_int(text: str) -> int:
    if not re.fullmatch(r"\s*\d+\s*", text) or int(text) == 0:
        raise ValueError("expected a whole number above 0")
    return int(text)


def _milliseconds_or_off(text: str) -> int | None:
    if not re.fullmatch(r"\s*(-1|\d+)\s*", text):
        raise ValueError("expected milliseconds, or -1 for never")
    return None if int(text) < 0 else int(text)


def _count(text: str) -> int:
    if not re.fullmatch(r"\s*\d+\s*", text):
        raise ValueError("expected a whole number, 0 or more")
    return int(text)


def _batch_number(text: str) -> int:
    if not re.fullmatch(r"\s*\d+\s*", text) or int(text) >= 2**63:
        raise ValueError("expected a whole number from 0 to 2**63 - 1")
    return int(text)


def _moment_ms(text: str) -> int:
    if re.fullmatch(r"\s*-?\d+\s*", text):
        number = int(text)
        if abs(number) >= 2**63:
            raise ValueError("it is beyond every time")
        return number
    # Python 3.10 reads neither a Z nor a fraction of other than three or six digits.
    padded = re.sub(r"\.(\d{1,6})\d*", lambda match: f".{match.group(1):0<6}", text.strip())
    try:
        moment = datetime.fromisoformat(re.sub("[zZ]$", "+00:00", padded))
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise ValueError(
            "expected milliseconds since 1970-01-01 UTC, or a time with a zone such as "
            "'2024-02-29T12:00:00Z'"
        )
    return (moment - _EPOCH) // timedelta(milliseconds=1)


_DURATIONS_MS = {
    **dict.fromkeys(("", "ms", "milli", "millisecond"), 1),
    **dict.fromkeys(("s", "sec", "second"), 1_000),
    **dict.fromkeys(("m", "min", "minute"), 60_000),
    **dict.fromkeys(("h", "hour"), 3_600_000),
    **dict.fromkeys(("d", "day"), 86_400_000),
}


def _duration_ms(text: str) -> int:
    match = re.fullmatch(r"\s*(\d+)\s*([a-z]*)\s*", text.lower())
    if match is not None:
        count, unit = int(match.group(1)), match.group(2)
        for name in (unit, unit.removesuffix("s")):
            if name in _DURATIONS_MS:
                return count * _DURATIONS_MS[name]
    raise ValueError("expected milliseconds or a duration such as '720min', '12h', '1d'")


def _int(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError("expected a whole number") from None


def _ratio(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number > 0):
        raise ValueError("expected a number above 0")
    return number


def _bool(text: str) -> bool:
    if text.strip().lower() not in ("true", "false"):
        raise ValueError("expected true or false")
    return text.strip().lower() == "true"


def _one_of(*choices: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.strip().lower() not in choices:
            raise ValueError(f"expected one of {', '.join(choices)}")
        return text.strip().lower()

    return parse


def _names(text: str) -> tuple[str, ...]:
    names = tuple(part.strip() for part in text.split(",") if part.strip())
    if not names:
        raise ValueError("expected names separated by commas")
    return names


def _key_names(text: str) -> tuple[str, ...]:
    return _names(text) if text.strip() else ()


def _split_outside_brackets(text: str) -> tuple[str, ...]:
    parts = tuple(part.strip() for part in re.split(r",(?![^(]*\))", text) if part.strip())
    if not parts:
        raise ValueError("expected partition fields such as 'day(ts), bucket(16, id)'")
    return parts


def _optional(parse: Callable[[str], T]) -> Callable[[str], T | None]:
    return parse


_CATALOG = frozenset({Scope.CATALOG})
_READ = frozenset({Scope.READ})
_ANY_READ = frozenset({Scope.READ, Scope.CHANGES, Scope.STREAM})
_READ_TABLE = _ANY_READ | {Scope.TABLE}
_STREAM = frozenset({Scope.STREAM})
_CHANGES = frozenset({Scope.CHANGES})
_EVENTS = frozenset({Scope.CHANGES, Scope.STREAM})
_WRITE = frozenset({Scope.WRITE})
_WRITE_TABLE = frozenset({Scope.WRITE, Scope.TABLE})
_OPTIMIZE_TABLE = frozenset({Scope.OPTIMIZE, Scope.TABLE})
_EXPIRE_TABLE = frozenset({Scope.EXPIRE, Scope.TABLE})
_TABLE = frozenset({Scope.TABLE})

CATALOG_PREFIX = "catalog."
"""Options that start so are PyIceberg catalog properties, passed on without the prefix."""

SEALED_PREFIX = f"{CATALOG_PREFIX}secret."
"""The same, under names that Spark hides wherever it prints options."""

PATH = Option(
    name="path",
    parse=_optional(str),
    default=None,
    scopes=_CATALOG,
    doc="The table: 'namespace.table', or 'namespace.table.snapshots' for a metadata table.",
)
WAREHOUSE = Option(
    name="warehouse",
    parse=_optional(str),
    default=None,
    scopes=_CATALOG,
    doc="Folder of the embedded SQLite catalog; else ARCTIC_WAREHOUSE, else ./warehouse.",
)
CATALOG = Option(
    name="catalog",
    parse=_optional(str),
    default=None,
    scopes=_CATALOG,
    doc="Name of a PyIceberg catalog; 'catalog.uri' and the like set its properties.",
)

COLUMNS = Option(
    name="columns",
    parse=_optional(_names),
    default=None,
    scopes=_ANY_READ,
    doc="Columns to read, in this order; the others are never opened.",
)
STORE = Option(
    name="store",
    parse=_one_of("merged", "base", "change"),
    default="merged",
    scopes=_ANY_READ,
    doc="Look at the merged view, or at one store with its transaction columns.",
)
SNAPSHOT_ID = Option(
    name="snapshot-id",
    parse=_optional(_int),
    default=None,
    scopes=_READ,
    doc="Read the table as it was right after this snapshot of either store.",
)
AS_OF_TIMESTAMP = Option(
    name="as-of-timestamp",
    parse=_optional(_moment_ms),
    default=None,
    scopes=_READ,
    doc="Read the table as it was at this time: milliseconds since 1970-01-01 UTC, or ISO 8601 "
    "with a zone, such as `2024-02-29T12:00:00Z`.",
)
WEIGHT_RATIO = Option(
    name="weight-ratio",
    parse=_ratio,
    default=2.0,
    scopes=_READ_TABLE,
    doc="A node is split only while its data weighs more than this many times its deletes.",
)
PARALLEL_MULTIPLE = Option(
    name="parallel-multiple",
    parse=_positive_int,
    default=2,
    scopes=_READ_TABLE,
    doc="Task groups for each core of the parallelism.",
)
PARALLELISM = Option(
    name="parallelism",
    parse=_optional(_positive_int),
    default=None,
    scopes=_READ_TABLE,
    doc="Cores that a read plans for; the cores of the planning machine if not set.",
)
TARGET_SIZE = Option(
    name="target-size",
    parse=_bytes,
    default=128 * 2**20,
    scopes=_READ_TABLE,
    aliases=("read.split.target-size",),
    doc="Upper bound for the cost of one task, unless a single file is larger.",
)
OPEN_FILE_COST = Option(
    name="open-file-cost",
    parse=_bytes,
    default=4 * 2**20,
    scopes=_READ_TABLE,
    aliases=("read.split.open-file-cost",),
    doc="What opening a file weighs in planning, as bytes.",
)
VECTOR_MIN_ROWS = Option(
    name="read.deletion-vector.min-rows",
    parse=_positive_int,
    default=500_000,
    scopes=_READ_TABLE,
    doc="From so many rows in files with deletes on, Spark reads them by row numbers.",
)
VERIFY_CHECKSUMS = Option(
    name="read.verify-checksums",
    parse=_bool,
    default=False,
    scopes=_READ_TABLE,
    doc="Compare pages of data files with their checksums; what rewrites rows always does.",
)
MAX_DELETE_BYTES = Option(
    name="merge.max-delete-bytes",
    parse=_bytes,
    default=512 * 2**20,
    scopes=_ANY_READ | _OPTIMIZE_TABLE,
    doc="Memory for the deletes of one task; above it the reader works in several passes.",
)

START_SNAPSHOT_ID = Option(
    name="start-snapshot-id",
    parse=_optional(_int),
    default=None,
    scopes=_EVENTS,
    doc="Changes that were committed after this snapshot of the change store.",
)
START_TIMESTAMP = Option(
    name="start-timestamp",
    parse=_optional(_moment_ms),
    default=None,
    scopes=_EVENTS,
    doc="Changes that were committed after this time; as for as-of-timestamp.",
)
END_SNAPSHOT_ID = Option(
    name="end-snapshot-id",
    parse=_optional(_int),
    default=None,
    scopes=_CHANGES,
    doc="Changes up to this snapshot of the change store, inclusive; the newest if not set.",
)
END_TIMESTAMP = Option(
    name="end-timestamp",
    parse=_optional(_moment_ms),
    default=None,
    scopes=_CHANGES,
    doc="Changes up to this time, inclusive; as for as-of-timestamp.",
)
SKIP_OVERWRITES = Option(
    name="streaming-skip-overwrite-snapshots",
    parse=_bool,
    default=False,
    scopes=_EVENTS,
    doc="Go on where rows were replaced or removed without a change that says so; else refuse.",
)
STREAM_FROM = Option(
    name="stream-from",
    parse=_one_of("earliest", "latest"),
    default="earliest",
    scopes=_STREAM,
    aliases=("startingOffsets", "scan.startup.mode"),
    doc="A new stream begins with the rows that are there, or with what is committed from now on.",
)
STREAM_FROM_TIMESTAMP = Option(
    name="stream-from-timestamp",
    parse=_optional(_moment_ms),
    default=None,
    scopes=_STREAM,
    doc="A new stream begins with what was committed at this time or later; as for "
    "as-of-timestamp.",
)
MAX_FILES = Option(
    name="streaming-max-files-per-micro-batch",
    parse=_optional(_positive_int),
    default=None,
    scopes=_STREAM,
    aliases=("maxFilesPerTrigger",),
    doc="Files of a micro-batch, unless a single commit has more.",
)
MAX_BYTES = Option(
    name="streaming-max-bytes-per-micro-batch",
    parse=_optional(_bytes),
    default=None,
    scopes=_STREAM,
    aliases=("maxBytesPerTrigger",),
    doc="Bytes of the files of a micro-batch, unless a single commit has more.",
)
MAX_ROWS = Option(
    name="streaming-max-rows-per-micro-batch",
    parse=_optional(_positive_int),
    default=None,
    scopes=_STREAM,
    aliases=("maxRowsPerTrigger",),
    doc="Rows of a micro-batch, unless a single commit has more.",
)
STREAMING = Option(
    name="_arctic_stream",
    parse=_bool,
    default=False,
    scopes=_STREAM,
    doc="Set by readStream.load() alone: rows leave with the columns that tell what they do.",
)

WRITE_MODE = Option(
    name="write-mode",
    parse=_optional(_one_of("append", "upsert", "delete", "overwrite")),
    default=None,
    scopes=_WRITE,
    doc="The save mode, for callers that cannot say .mode('upsert'). Where nobody says one, a "
    "keyed table upserts and a table without a key appends.",
)
ACTION_COLUMN = Option(
    name="action-column",
    parse=_optional(str),
    default=None,
    scopes=_WRITE,
    doc="Column that says what each row does: I/U/D, +I/-U/+U/-D or Debezium's c/r/u/d.",
)
ORDERING_COLUMN = Option(
    name="ordering-column",
    parse=_optional(str),
    default=None,
    scopes=_WRITE,
    doc="Column by which the last event of a key in the batch wins.",
)
PRIMARY_KEY = Option(
    name="primaryKey",
    parse=_optional(_key_names),
    default=None,
    scopes=_WRITE,
    aliases=("primary-key", "primary.keys"),
    doc="Key columns of a table that the write creates; '' for a table without a key.",
)
PARTITION_BY = Option(
    name="partitionBy",
    parse=_optional(_split_outside_brackets),
    default=None,
    scopes=_WRITE,
    aliases=("partition-by",),
    doc="Partition fields of a table that the write creates, as 'day(ts), region'.",
)
MISSING_COLUMNS = Option(
    name="missing-columns",
    parse=_optional(_one_of("refuse", "null", "keep")),
    default=None,
    scopes=_WRITE,
    doc="What becomes of optional columns that the rows lack: the write is refused, they are null, "
    "or the stored values of the key stay. An upsert refuses if nothing is said, an append or "
    "overwrite takes null.",
)
PARTITION_OVERWRITE_MODE = Option(
    name="partitionOverwriteMode",
    parse=_one_of("static", "dynamic"),
    default="static",
    scopes=_WRITE,
    aliases=("partition-overwrite-mode",),
    doc="An overwrite replaces the whole table (static) or the partitions it has rows for.",
)
OPTIMIZE = Option(
    name="optimize",
    parse=_one_of("none", "auto"),
    default="none",
    scopes=_WRITE,
    doc="After the commit: leave the table alone, or optimize what has become slow to read (auto).",
)
OPTIMIZE_EVERY = Option(
    name="optimize-every-batches",
    parse=_positive_int,
    default=1,
    scopes=_WRITE,
    doc="With optimize=auto a stream optimizes after so many batches.",
)
MAX_TASKS = Option(
    name="max-write-tasks",
    parse=_optional(_positive_int),
    default=None,
    scopes=_WRITE,
    doc="Tasks that a write through Spark is spread over at most; each makes its own files.",
)
STREAM_QUERY_ID = Option(
    name="stream-query-id",
    parse=_optional(str),
    default=None,
    scopes=_WRITE,
    doc="Who writes batches: with stream-batch-id, a batch that is in the table already is "
    "skipped. A stream sets both by itself.",
)
STREAM_BATCH_ID = Option(
    name="stream-batch-id",
    parse=_optional(_batch_number),
    default=None,
    scopes=_WRITE,
    doc="Number of this batch; those of a writer ascend.",
)
WRITER_ID = Option(
    name="writer-id",
    parse=_optional(str),
    default=None,
    scopes=_WRITE,
    doc="Who feeds the table with this write, for its watermark; by default the stream, if it is "
    "one.",
)
SHARES = Option(
    name="_arctic_shares",
    parse=_optional(str),
    default=None,
    scopes=_WRITE,
    doc="Set by a stream alone: what part of its rows each of the largest partitions had lately.",
)
DEEP_NODES = Option(
    name="_arctic_deep_nodes",
    parse=_optional(str),
    default=None,
    scopes=_WRITE,
    doc="Set by the shuffle alone: partitions whose change files go to more nodes than others'.",
)
SPREAD = Option(
    name="_arctic_spread",
    parse=_optional(_int),
    default=None,
    scopes=_WRITE,
    doc="Set by save() alone: it sent the rows to their tasks when changes were at this number.",
)
CROSS_PARTITION = Option(
    name="write.upsert.cross-partition",
    parse=_one_of("lookup", "assume-stable"),
    default="lookup",
    scopes=_WRITE_TABLE,
    doc="Where the key does not decide the partition: look the old one up, or trust that it "
    "never changes.",
)
UPSERT_INSERTS = Option(
    name="write.upsert.enabled",
    parse=_bool,
    default=True,
    scopes=_WRITE_TABLE,
    doc="Whether an insert in an action column replaces a row of its key that is there already.",
)
TARGET_FILE_SIZE = Option(
    name="write.target-file-size-bytes",
    parse=_bytes,
    default=128 * 2**20,
    scopes=_WRITE_TABLE,
    doc="A file is closed and a next one begun when it has grown to this size.",
)
COMPRESSION = Option(
    name="write.parquet.compression-codec",
    parse=_one_of("zstd", "snappy", "gzip", "lz4", "brotli", "uncompressed"),
    default="zstd",
    scopes=_WRITE_TABLE,
    doc="Parquet compression.",
)
COMPRESSION_LEVEL = Option(
    name="write.parquet.compression-level",
    parse=_optional(_int),
    default=None,
    scopes=_WRITE_TABLE,
    doc="Level of the codec; its own default (1 for zstd) if not set.",
)
DICTIONARY_BYTES = Option(
    name="write.parquet.dict-size-bytes",
    parse=_bytes,
    default=2**20,
    scopes=_WRITE_TABLE,
    doc="A column that would need a larger dictionary in a row group is written without one.",
)
DELTA_ENCODING = Option(
    name="write.parquet.delta-encoding",
    parse=_bool,
    default=False,
    scopes=_WRITE_TABLE,
    doc="Write integers and times that do not repeat as differences: smaller and faster, but "
    "Iceberg before 1.10 cannot read them vectorised.",
)
ROW_GROUP_BYTES = Option(
    name="write.parquet.row-group-size-bytes",
    parse=_bytes,
    default=8 * 2**20,
    scopes=_WRITE_TABLE,
    doc="Arrow bytes that are gathered for one file before a row group is written.",
)
ROW_GROUP_ROWS = Option(
    name="write.parquet.row-group-limit",
    parse=_positive_int,
    default=1_000_000,
    scopes=_WRITE_TABLE,
    doc="Rows of a row group at most, however few bytes they have.",
)
WRITE_BUFFER_BYTES = Option(
    name="write.buffer-bytes",
    parse=_bytes,
    default=256 * 2**20,
    scopes=_WRITE_TABLE,
    doc="Arrow bytes that one write task gathers over all its files before it writes the largest.",
)
CHANGE_TTL_MINUTES = Option(
    name="change.data.ttl.minutes",
    parse=_count,
    default=10_080,
    scopes=_EXPIRE_TABLE,
    doc="Minutes that a change file stays after its commit once it is merged, and that snapshots "
    "of the change store stay.",
)
SNAPSHOT_KEEP_MS = Option(
    name="snapshot.keep.duration",
    parse=_duration_ms,
    default=720 * 60_000,
    scopes=_EXPIRE_TABLE,
    doc="How long snapshots of the base store stay: milliseconds, or '720min', '12h', '1d'.",
)
SNAPSHOT_KEEP_COUNT = Option(
    name="snapshot.keep.min-count",
    parse=_positive_int,
    default=1,
    scopes=_EXPIRE_TABLE,
    doc="Newest snapshots of each store that stay whatever their age.",
)
CLEAN_ORPHANS = Option(
    name="clean-orphan-file.enabled",
    parse=_bool,
    default=True,
    scopes=_EXPIRE_TABLE,
    doc="Whether cleaning looks for files that no snapshot refers to.",
)
ORPHAN_AGE_MINUTES = Option(
    name="clean-orphan-file.min-existing-time-minutes",
    parse=_count,
    default=2_880,
    scopes=_EXPIRE_TABLE,
    doc="Minutes that such a file stays: it may belong to a write that has not committed yet.",
)
DELETE_OUTSIDE_FILES = Option(
    name="delete-outside-files",
    parse=_bool,
    default=False,
    scopes=frozenset({Scope.EXPIRE}),
    doc="Whether cleaning also deletes files of expired snapshots that lie outside the table's "
    "folders, in no other table's.",
)
BASE_BUCKETS = Option(
    name="base.file-index.hash-bucket",
    parse=_positive_int,
    default=4,
    scopes=_TABLE,
    doc="Nodes that base files are written to; a power of two.",
)
CHANGE_BUCKETS = Option(
    name="change.file-index.hash-bucket",
    parse=_positive_int,
    default=4,
    scopes=_TABLE,
    doc="Nodes that change files are written to; a power of two.",
)

MAY_DELETE = Option(
    name="gc.enabled",
    parse=_bool,
    default=True,
    scopes=_TABLE,
    doc="Whether cleaning may delete files; false where they belong to other tables too.",
)

INGEST_TIME = "_ingest_time"
"""In place of a column: the moment of the commit is the event time."""

EVENT_TIME_FIELD = Option(
    name="table.event-time-field",
    parse=_optional(str),
    default=None,
    scopes=_TABLE,
    doc="Column with the event time of a row, from which commits compute the watermark; "
    "_ingest_time is the moment of the commit.",
)
WATERMARK_LATENESS = Option(
    name="table.watermark-allowed-lateness-second",
    parse=_count,
    default=0,
    scopes=_TABLE,
    doc="Seconds by which the watermark stays behind the latest event time.",
)
EVENT_TIME_NUMBERS = Option(
    name="table.event-time-field.datetime-number-format",
    parse=_one_of("timestamp_ms", "timestamp_s"),
    default="timestamp_ms",
    scopes=_TABLE,
    doc="What an event time that is a number counts since 1970-01-01 UTC.",
)
EVENT_TIME_TEXTS = Option(
    name="table.event-time-field.datetime-string-format",
    parse=str,
    default="yyyy-MM-dd HH:mm:ss",
    scopes=_TABLE,
    doc="How an event time that is a text is written, in UTC; only the default can be read.",
)

OPTIMIZE_ENABLED = Option(
    name="self-optimizing.enabled",
    parse=_bool,
    default=True,
    scopes=_OPTIMIZE_TABLE,
    doc="Whether anything is ever due; a type that is asked for runs all the same.",
)
OPTIMIZE_TARGET_SIZE = Option(
    name="self-optimizing.target-size",
    parse=_bytes,
    default=128 * 2**20,
    scopes=_OPTIMIZE_TABLE,
    doc="Size at which optimizing closes a base file and begins the next one.",
)
FRAGMENT_RATIO = Option(
    name="self-optimizing.fragment-ratio",
    parse=_positive_int,
    default=8,
    scopes=_OPTIMIZE_TABLE,
    doc="A base file up to target-size / fragment-ratio is a fragment; a larger one a segment.",
)
MIN_TARGET_RATIO = Option(
    name="self-optimizing.min-target-size-ratio",
    parse=_ratio,
    default=0.75,
    scopes=_OPTIMIZE_TABLE,
    doc="A segment up to target-size times this is undersized.",
)
MINOR_FILE_COUNT = Option(
    name="self-optimizing.minor.trigger.file-count",
    parse=_positive_int,
    default=12,
    scopes=_OPTIMIZE_TABLE,
    doc="So many fragments and delete files in a partition make a minor due.",
)
MINOR_INTERVAL: Option[int | None] = Option(
    name="self-optimizing.minor.trigger.interval",
    parse=_milliseconds_or_off,
    default=3_600_000,
    scopes=_OPTIMIZE_TABLE,
    doc="Milliseconds after which unmerged changes make a minor due; -1: only their number does.",
)
DUPLICATE_RATIO = Option(
    name="self-optimizing.major.trigger.duplicate-ratio",
    parse=_ratio,
    default=0.1,
    scopes=_OPTIMIZE_TABLE,
    doc="A segment with more than this share of its rows deleted makes a major due.",
)
FULL_INTERVAL: Option[int | None] = Option(
    name="self-optimizing.full.trigger.interval",
    parse=_milliseconds_or_off,
    default=None,
    scopes=_OPTIMIZE_TABLE,
    doc="Milliseconds after which a full is due; -1: never.",
)
FULL_REWRITE_ALL = Option(
    name="self-optimizing.full.rewrite-all-files",
    parse=_bool,
    default=True,
    scopes=_OPTIMIZE_TABLE,
    doc="Whether a full also rewrites segments of the right size that nothing was deleted from.",
)
MAX_FILE_COUNT = Option(
    name="self-optimizing.max-file-count",
    parse=_positive_int,
    default=10_000,
    scopes=_OPTIMIZE_TABLE,
    doc="Change files that one run merges at most; the newer ones wait for the next run.",
)
MAX_TASK_SIZE = Option(
    name="self-optimizing.max-task-size-bytes",
    parse=_bytes,
    default=128 * 2**20,
    scopes=_OPTIMIZE_TABLE,
    doc="Bytes that one task rewrites, where keys let a node be divided; at least target-size.",
)
MIN_PLAN_INTERVAL: Option[int | None] = Option(
    name="self-optimizing.min-plan-interval",
    parse=_milliseconds_or_off,
    default=60_000,
    scopes=_OPTIMIZE_TABLE,
    doc="Milliseconds after an optimizing commit during which nothing is due again.",
)
SORT_COLUMNS = Option(
    name="self-optimizing.sort-columns",
    parse=_optional(_names),
    default=None,
    scopes=_OPTIMIZE_TABLE,
    doc="Columns by which optimizing sorts the rows of a node; without them files are only kept "
    "apart by key range.",
)
SORT_BUFFER_BYTES = Option(
    name="self-optimizing.sort-buffer-bytes",
    parse=_bytes,
    default=512 * 2**20,
    scopes=_OPTIMIZE_TABLE,
    doc="Arrow bytes of unordered rows that one task holds; above it sorted runs go to local disk.",
)

OPTIONS: tuple[Option[object], ...] = tuple(
    value for value in list(globals().values()) if isinstance(value, Option)
)
"""All of them, in the order of this file."""
