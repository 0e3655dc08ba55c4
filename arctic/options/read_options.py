"""How rows are read."""

from __future__ import annotations

import os

from arctic.options.option import Option, Scope
from arctic.options.option_values import (
    byte_count,
    column_names,
    duration_ms,
    integer,
    moment_ms,
    one_of,
    optional,
    positive_int,
    ratio,
    truth,
)

_READ = frozenset({Scope.READ})
_ANY_READ = frozenset({Scope.READ, Scope.CHANGES, Scope.STREAM})
_READ_TABLE = _ANY_READ | {Scope.TABLE}
_OPTIMIZE_TABLE = frozenset({Scope.OPTIMIZE, Scope.TABLE})

COLUMNS = Option(
    name="columns",
    parse=optional(column_names),
    default=None,
    scopes=_ANY_READ,
    doc="Columns to read, in this order; the others are never opened.",
)
STORE = Option(
    name="store",
    parse=one_of("merged", "base", "change"),
    default="merged",
    scopes=_ANY_READ,
    doc="What is read: the merged view, or one store alone with its transaction columns.",
)
SNAPSHOT_ID = Option(
    name="snapshot-id",
    parse=optional(integer),
    default=None,
    scopes=_READ,
    doc="Read the table as it was right after this snapshot of either store.",
)
AS_OF_TIMESTAMP = Option(
    name="as-of-timestamp",
    parse=optional(moment_ms),
    default=None,
    scopes=_READ,
    doc="Read the table as it was at this time: milliseconds since 1970-01-01 UTC, or ISO 8601 "
    "with a zone, such as `2024-02-29T12:00:00Z`.",
)
VERSION = Option(
    name="version",
    parse=optional(str),
    default=None,
    scopes=_READ,
    aliases=("versionAsOf",),
    doc="Read the table as it was at this version: a number as `versions` lists them, the name of "
    "a tag, or a snapshot of either store.",
)
WEIGHT_RATIO = Option(
    name="weight-ratio",
    parse=ratio,
    default=2.0,
    scopes=_READ_TABLE,
    doc="A node is split only while its data weighs more than this many times its deletes.",
)
PARALLEL_MULTIPLE = Option(
    name="parallel-multiple",
    parse=positive_int,
    default=2,
    scopes=_READ_TABLE,
    doc="Task groups for each core of the parallelism.",
)
PARALLELISM = Option(
    name="parallelism",
    parse=optional(positive_int),
    default=None,
    scopes=_READ_TABLE,
    doc="Cores that a read plans for; the cores of the planning machine if not set.",
)
TARGET_SIZE = Option(
    name="target-size",
    parse=byte_count,
    default=128 * 2**20,
    scopes=_READ_TABLE,
    aliases=("read.split.target-size",),
    doc="Upper bound for the cost of one task, unless a single file is larger.",
)
OPEN_FILE_COST = Option(
    name="open-file-cost",
    parse=byte_count,
    default=4 * 2**20,
    scopes=_READ_TABLE,
    aliases=("read.split.open-file-cost",),
    doc="The least that a file weighs in planning, in bytes, since opening it takes time too.",
)
VECTOR_MIN_ROWS = Option(
    name="read.deletion-vector.min-rows",
    parse=optional(positive_int),
    default=None,
    scopes=_READ_TABLE,
    doc="If files with deletes hold at least so many rows, Spark reads them, dead rows left out; "
    "if not set, all of them, the large ones or none, as costs least.",
)
VERIFY_CHECKSUMS = Option(
    name="read.verify-checksums",
    parse=truth,
    default=False,
    scopes=_READ_TABLE,
    doc="Compare pages of data files with their checksums; a rewrite of rows always does.",
)
READ_CACHE = Option(
    name="read.cache",
    parse=one_of("off", "memory", "disk"),
    default="off",
    scopes=_READ_TABLE,
    doc="Keep parts of data files that were fetched or written: in each process, or in a folder "
    "that all processes of a machine share.",
)
READ_CACHE_MAX_BYTES = Option(
    name="read.cache.max-bytes",
    parse=optional(byte_count),
    default=None,
    scopes=_READ_TABLE,
    doc="Bound of what is kept, of the process or of the folder; 256 MiB or 10 GiB if not set.",
)
READ_CACHE_MAX_AGE = Option(
    name="read.cache.max-age",
    parse=optional(duration_ms),
    default=None,
    scopes=_READ_TABLE,
    doc="Keep only files of partitions whose time began no longer ago, such as `7d`; of all "
    "partitions if not set.",
)
READ_CACHE_PATH = Option(
    name="read.cache.path",
    parse=optional(str),
    default=None,
    scopes=_ANY_READ,
    doc="The folder; if not set, the variable ARCTIC_CACHE_PATH of the machine that reads, or a "
    "folder of the user's among its temporary files.",
)
READ_CACHE_LOCAL = Option(
    name="read.cache.local-files",
    parse=truth,
    default=False,
    scopes=_READ_TABLE,
    doc="Keep also what is reached by a plain path, as where a network is mounted.",
)
MAX_DELETE_BYTES = Option(
    name="merge.max-delete-bytes",
    parse=byte_count,
    default=512 * 2**20,
    scopes=_ANY_READ | _OPTIMIZE_TABLE,
    doc="Memory for the change deletes of one task; above it the reader works in several passes.",
)


def default_parallelism() -> int:
    """Return the cores of this machine: the edges use it where nobody said a parallelism."""
    return os.cpu_count() or 1
