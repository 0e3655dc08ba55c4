"""Arctic: a keyed streaming lakehouse table for PySpark, on Iceberg, without a jar.

>>> import arctic
>>> sorted(name for name in arctic.__all__ if name.endswith("_table"))
['create_table', 'drop_table', 'open_table']

A name is loaded when it is first used: Spark's workers import this package too, and need little of
what a user calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arctic.late_import import imported

if TYPE_CHECKING:
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
    from arctic.cdc.decode import Decoding, Encoding
    from arctic.change_messages import apply_changes
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
    from arctic.job.adopt.repair_job import RepairReport
    from arctic.job.complete.readiness import Readiness
    from arctic.job.complete.window_job import Window
    from arctic.job.mirror.apply_messages import ApplyReport
    from arctic.job.mirror.mirror_settings import MirrorReport
    from arctic.job.mirror.topics.follow_topics import TopicReport
    from arctic.job.past.clone_job import CloneReport
    from arctic.job.publish.publish_report import PublishReport
    from arctic.job.views.refresh_report import RefreshReport
    from arctic.materialized import list_views, materialize, refresh
    from arctic.optimizing.report import OptimizeReport, TableStatus
    from arctic.table.expire_report import ExpireReport
    from arctic.with_mirrors import mirror_kafka, mirror_mysql, mirror_postgres
    from arctic.with_service import serve
    from arctic.with_spark import (
        local_session,
        optimize,
        package_zip,
        register,
        spark_conf,
        spark_writer,
    )

__version__ = "0.1.0"

__all__ = [
    "AlreadyExistsError",
    "ApplyReport",
    "ArcticError",
    "CloneReport",
    "CommitStateUnknownError",
    "ConflictError",
    "Consumer",
    "Decoding",
    "Encoding",
    "ExpireReport",
    "FormatError",
    "InternalError",
    "InvalidInputError",
    "MirrorReport",
    "NotFoundError",
    "OptimizeReport",
    "PublishReport",
    "Readiness",
    "RefreshReport",
    "RepairReport",
    "StorageError",
    "Table",
    "TableStatus",
    "TopicReport",
    "UnsupportedError",
    "Window",
    "WriteReport",
    "adopt",
    "apply_changes",
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
    "list_views",
    "local_session",
    "materialize",
    "mirror_kafka",
    "mirror_mysql",
    "mirror_postgres",
    "open_table",
    "optimize",
    "package_zip",
    "publish",
    "read",
    "read_changes",
    "ready",
    "refresh",
    "register",
    "release",
    "rename",
    "repair",
    "retire_writer",
    "serve",
    "set_properties",
    "spark_conf",
    "spark_writer",
    "status",
    "unpublish",
    "unset_properties",
    "watermarks",
    "windows",
    "write",
]

_HOMES = {
    "arctic.api.adopting": ("adopt", "release", "repair"),
    "arctic.api.completing": ("ready", "windows"),
    "arctic.api.consuming": ("Consumer", "consumer", "consumers", "drop_consumer"),
    "arctic.api.maintenance": ("expire", "retire_writer", "status", "watermarks"),
    "arctic.api.rows": ("explain", "read", "read_changes", "write"),
    "arctic.api.sharing": ("clone", "publish", "unpublish"),
    "arctic.api.table": ("Table",),
    "arctic.api.table_dataset": ("dataset",),
    "arctic.api.tables": (
        "create_table",
        "drop_table",
        "evolve_schema",
        "list_tables",
        "open_table",
        "rename",
        "set_properties",
        "unset_properties",
    ),
    "arctic.api.write_data": ("WriteReport",),
    "arctic.cdc.decode": ("Decoding", "Encoding"),
    "arctic.change_messages": ("apply_changes",),
    "arctic.job.adopt.repair_job": ("RepairReport",),
    "arctic.job.complete.readiness": ("Readiness",),
    "arctic.job.complete.window_job": ("Window",),
    "arctic.job.mirror.apply_messages": ("ApplyReport",),
    "arctic.job.mirror.mirror_settings": ("MirrorReport",),
    "arctic.job.mirror.topics.follow_topics": ("TopicReport",),
    "arctic.job.past.clone_job": ("CloneReport",),
    "arctic.job.publish.publish_report": ("PublishReport",),
    "arctic.job.views.refresh_report": ("RefreshReport",),
    "arctic.materialized": ("list_views", "materialize", "refresh"),
    "arctic.optimizing.report": ("OptimizeReport", "TableStatus"),
    "arctic.table.expire_report": ("ExpireReport",),
    "arctic.with_mirrors": ("mirror_kafka", "mirror_mysql", "mirror_postgres"),
    "arctic.with_service": ("serve",),
    "arctic.with_spark": (
        "local_session",
        "optimize",
        "package_zip",
        "register",
        "spark_conf",
        "spark_writer",
    ),
}
"""What each module defines; errors are of ``arctic.errors``."""
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'arctic' has no attribute {name!r}")
    home = _HOME_OF.get(name, "arctic.errors")
    value = getattr(imported(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
