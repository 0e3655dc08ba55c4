"""Arctic: a keyed streaming lakehouse table for PySpark, on Iceberg, without a jar.

>>> import arctic
>>> sorted(name for name in arctic.__all__ if name.endswith("_table"))
['create_table', 'drop_table', 'open_table']
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from arctic.api import (
    Table,
    WriteReport,
    create_table,
    drop_table,
    expire,
    explain,
    list_tables,
    open_table,
    read,
    write,
)
from arctic.errors import (
    AlreadyExistsError,
    ArcticError,
    CommitStateUnknownError,
    ConflictError,
    FormatError,
    InternalError,
    InvalidInputError,
    NotFoundError,
    StorageError,
    UnsupportedError,
)
from arctic.table.expire_report import ExpireReport

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__version__ = "0.1.0"

__all__ = [
    "AlreadyExistsError",
    "ArcticError",
    "CommitStateUnknownError",
    "ConflictError",
    "ExpireReport",
    "FormatError",
    "InternalError",
    "InvalidInputError",
    "NotFoundError",
    "StorageError",
    "Table",
    "UnsupportedError",
    "WriteReport",
    "create_table",
    "drop_table",
    "expire",
    "explain",
    "list_tables",
    "open_table",
    "read",
    "register",
    "write",
]


def register(spark: SparkSession) -> None:
    """Teach a Spark session ``format("arctic")`` with filter push-down and ``mode("upsert")``.

    May be called again, for the same session or another one. Reading and plain appends work
    without it; see ``docs/spark.md``.
    """
    # The only import of Spark outside its folder, and late: reading and writing Arrow data needs
    # no Spark, and importing it takes longer than a small read.
    from arctic.spark.session import register as register_session  # noqa: PLC0415

    register_session(spark)
