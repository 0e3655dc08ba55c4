"""The verbs a user calls, without Spark: tables, reads, writes and plans.

Every function takes ``warehouse=``, a folder with the embedded SQLite catalog, or ``catalog=``,
the name of a PyIceberg catalog or a mapping of its properties.
"""

from arctic.api.maintenance import expire, optimize, retire_writer, status, watermarks
from arctic.api.rows import explain, read, read_changes, write
from arctic.api.table import Table
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
    "Table",
    "WriteReport",
    "create_table",
    "drop_table",
    "evolve_schema",
    "expire",
    "explain",
    "list_tables",
    "open_table",
    "optimize",
    "read",
    "read_changes",
    "rename",
    "retire_writer",
    "set_properties",
    "status",
    "unset_properties",
    "watermarks",
    "write",
]
