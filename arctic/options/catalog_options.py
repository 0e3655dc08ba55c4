"""Where a table is."""

from __future__ import annotations

from arctic.options.option import Option, Scope
from arctic.options.option_values import optional

_CATALOG = frozenset({Scope.CATALOG})

CATALOG_PREFIX = "catalog."
"""Options that start so are PyIceberg catalog properties, passed on without the prefix."""

SEALED_PREFIX = f"{CATALOG_PREFIX}secret."
"""The same, under names that Spark hides wherever it prints options."""

PATH = Option(
    name="path",
    parse=optional(str),
    default=None,
    scopes=_CATALOG,
    doc="The table: 'namespace.table', or 'namespace.table.snapshots' for a metadata table.",
)
WAREHOUSE = Option(
    name="warehouse",
    parse=optional(str),
    default=None,
    scopes=_CATALOG,
    doc="Folder of the embedded SQLite catalog; else ARCTIC_WAREHOUSE, else ./warehouse.",
)
CATALOG = Option(
    name="catalog",
    parse=optional(str),
    default=None,
    scopes=_CATALOG,
    doc="Name of a PyIceberg catalog; 'catalog.uri' and the like set its properties.",
)
WAP_BRANCH = Option(
    name="wap-branch",
    parse=optional(str),
    default=None,
    scopes=_CATALOG,
    doc="The branch on which tables with 'write.wap.enabled' are read and written.",
)
