"""When a table is optimized, and how."""

from __future__ import annotations

from arctic.options.option import Option, Scope
from arctic.options.option_values import (
    byte_count,
    milliseconds_or_off,
    optional,
    positive_int,
    ratio,
    truth,
)
from arctic.options.sort_terms import sort_terms

_OPTIMIZE_TABLE = frozenset({Scope.OPTIMIZE, Scope.TABLE})

OPTIMIZE_ENABLED = Option(
    name="self-optimizing.enabled",
    parse=truth,
    default=True,
    scopes=_OPTIMIZE_TABLE,
    doc="Whether optimizing is ever due by itself; a type that is asked for runs in any case.",
)
OPTIMIZE_TARGET_SIZE = Option(
    name="self-optimizing.target-size",
    parse=byte_count,
    default=128 * 2**20,
    scopes=_OPTIMIZE_TABLE,
    doc="Size at which optimizing closes a base file and begins the next one.",
)
FRAGMENT_RATIO = Option(
    name="self-optimizing.fragment-ratio",
    parse=positive_int,
    default=8,
    scopes=_OPTIMIZE_TABLE,
    doc="A base file up to target-size / fragment-ratio is a fragment; a larger one a segment.",
)
MIN_TARGET_RATIO = Option(
    name="self-optimizing.min-target-size-ratio",
    parse=ratio,
    default=0.75,
    scopes=_OPTIMIZE_TABLE,
    doc="A segment up to target-size times this ratio is undersized.",
)
MINOR_FILE_COUNT = Option(
    name="self-optimizing.minor.trigger.file-count",
    parse=positive_int,
    default=12,
    scopes=_OPTIMIZE_TABLE,
    doc="Number of fragments and delete files in a partition that makes a minor due.",
)
MINOR_INTERVAL: Option[int | None] = Option(
    name="self-optimizing.minor.trigger.interval",
    parse=milliseconds_or_off,
    default=3_600_000,
    scopes=_OPTIMIZE_TABLE,
    doc="Milliseconds after which unmerged changes make a minor due; -1: only their number does.",
)
DUPLICATE_RATIO = Option(
    name="self-optimizing.major.trigger.duplicate-ratio",
    parse=ratio,
    default=0.1,
    scopes=_OPTIMIZE_TABLE,
    doc="A segment with more than this share of its rows deleted makes a major due.",
)
OVERLAP = Option(
    name="self-optimizing.major.trigger.overlap",
    parse=positive_int,
    default=4,
    scopes=_OPTIMIZE_TABLE,
    doc="Where more segments of a node than this can hold one value of the first sort column, a "
    "major is due that sorts these together.",
)
FULL_INTERVAL: Option[int | None] = Option(
    name="self-optimizing.full.trigger.interval",
    parse=milliseconds_or_off,
    default=None,
    scopes=_OPTIMIZE_TABLE,
    doc="Milliseconds after which a full is due; -1: never.",
)
FULL_REWRITE_ALL = Option(
    name="self-optimizing.full.rewrite-all-files",
    parse=truth,
    default=True,
    scopes=_OPTIMIZE_TABLE,
    doc="Whether a full also rewrites segments of the right size that nothing was deleted from.",
)
MAX_FILE_COUNT = Option(
    name="self-optimizing.max-file-count",
    parse=positive_int,
    default=10_000,
    scopes=_OPTIMIZE_TABLE,
    doc="The most change files that one run merges; newer ones wait for the next run.",
)
MAX_TASK_SIZE = Option(
    name="self-optimizing.max-task-size-bytes",
    parse=byte_count,
    default=128 * 2**20,
    scopes=_OPTIMIZE_TABLE,
    doc="Bytes that one task rewrites, where keys let a node be divided; at least target-size.",
)
MIN_PLAN_INTERVAL: Option[int | None] = Option(
    name="self-optimizing.min-plan-interval",
    parse=milliseconds_or_off,
    default=60_000,
    scopes=_OPTIMIZE_TABLE,
    doc="Milliseconds after an optimizing commit during which nothing is due again.",
)
SORT_COLUMNS = Option(
    name="self-optimizing.sort-columns",
    parse=optional(sort_terms),
    default=None,
    scopes=_OPTIMIZE_TABLE,
    doc="What the rows of a node are sorted by in base files: columns, or hilbert(a, b) or "
    "zorder(a, b) for two to four that count alike; without it files are only kept apart by key "
    "range.",
)
SORT_BUFFER_BYTES: Option[int | None] = Option(
    name="self-optimizing.sort-buffer-bytes",
    parse=optional(byte_count),
    default=None,
    scopes=_OPTIMIZE_TABLE,
    doc="Arrow bytes of unordered rows that one task holds; above it sorted runs go to local disk. "
    "Without it an eighth of the memory of the machine or container, divided by the tasks that run "
    "on it at once; at most 512 MiB.",
)
