"""What cleaning removes."""

from __future__ import annotations

from arctic.options.option import Option, Scope
from arctic.options.option_values import count, duration_ms, positive_int, truth

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
