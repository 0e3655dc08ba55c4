"""The verbs a user calls, without Spark: tables, reads, writes and plans.

``arctic`` is their address for users; this package calls them here.

Every function takes ``warehouse=``, a folder with the embedded SQLite catalog, or ``catalog=``,
the name of a PyIceberg catalog or a mapping of its properties.
"""

from arctic.api.adopting import adopt, release, repair
from arctic.api.completing import ready, windows
from arctic.api.consuming import Consumer, consumer, consumers, drop_consumer
from arctic.api.maintenance import expire, retire_writer, status, watermarks
from arctic.api.rows import explain, read, read_changes, write
from arctic.api.sharing import clone, publish, unpublish
from arctic.api.table import Table
from arctic.api.table_dataset import dataset
from arctic.api.tables import (
    create_table,
    drop_table,
    evolve_schema,
    list_tables,
    open_table,
    rename,
    set_properties,
    unset_properties,
)
from arctic.api.write_data import WriteReport

__all__ = [
    "Consumer",
    "Table",
    "WriteReport",
    "adopt",
    "clone",
    "consumer",
    "consumers",
    "create_table",
    "dataset",
    "drop_consumer",
    "drop_table",
    "evolve_schema",
    "expire",
    "explain",
    "list_tables",
    "open_table",
    "publish",
    "read",
    "read_changes",
    "ready",
    "release",
    "rename",
    "repair",
    "retire_writer",
    "set_properties",
    "status",
    "unpublish",
    "unset_properties",
    "watermarks",
    "windows",
    "write",
]
