"""What a table asks of the service that looks after it."""

from __future__ import annotations

from arctic.options.option import Option, Scope
from arctic.options.option_values import duration_ms, group_name, one_of, optional, ratio, truth

_TABLE = frozenset({Scope.TABLE})

OPTIMIZE_GROUP = Option(
    name="self-optimizing.group",
    parse=group_name,
    default="default",
    scopes=_TABLE,
    doc="Group of a service that optimizes the table; a service without it leaves the table alone.",
)
OPTIMIZE_QUOTA = Option(
    name="self-optimizing.quota",
    parse=ratio,
    default=0.5,
    scopes=_TABLE,
    doc="The table's share of its group's slots, beside the quotas of tables that wait as well.",
)
TABLE_EXPIRE = Option(
    name="table-expire.enabled",
    parse=truth,
    default=True,
    scopes=_TABLE,
    doc="Whether a service cleans the table; a cleaning that is asked for runs in any case.",
)
SELF_PUBLISHING = Option(
    name="self-publishing.enabled",
    parse=truth,
    default=False,
    scopes=_TABLE,
    doc="Whether a service publishes the table for other engines whenever it finds it changed.",
)
PUBLISHED_OUTPUT = Option(
    name="publish.output",
    parse=one_of("v2", "v3", "clean"),
    default="v2",
    scopes=_TABLE,
    doc="How a published table leaves dead rows out, for one that is made without saying so: "
    "position deletes (v2), deletion vectors (v3), or copies of files (clean).",
)
SELF_REFRESHING_MS = Option(
    name="self-refreshing.interval",
    parse=optional(duration_ms),
    default=None,
    scopes=_TABLE,
    doc="Time between two refreshes of a view by a service, where a source changed, such as 10m; "
    "0: as soon as it finds one changed; not set: it refreshes none.",
)
