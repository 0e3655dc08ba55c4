"""Arctic: a keyed streaming lakehouse table for PySpark, on Iceberg, without a jar.

>>> import arctic
>>> sorted(name for name in arctic.__all__ if name.endswith("_table"))
['create_table', 'drop_table', 'open_table']

A name is loaded when it is first used: Spark's workers import this package too, and need little of
what a user calls.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from arctic.api import (
        Consumer,
        Table,
        WriteReport,
        adopt,
        clone,
        consumer,
        consumers,
        create_table,
        dataset,
        drop_consumer,
        drop_table,
        evolve_schema,
        expire,
        explain,
        list_tables,
        open_table,
        publish,
        read,
        read_changes,
        ready,
        release,
        rename,
        repair,
        retire_writer,
        set_properties,
        status,
        unpublish,
        unset_properties,
        watermarks,
        windows,
        write,
    )
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
    "ApplyReport": "arctic.job.mirror.apply_messages",
    "CloneReport": "arctic.job.past.clone_job",
    "Decoding": "arctic.cdc.decode",
    "Encoding": "arctic.cdc.decode",
    "ExpireReport": "arctic.table.expire_report",
    "MirrorReport": "arctic.job.mirror.mirror_settings",
    "TopicReport": "arctic.job.mirror.topics.follow_topics",
    "OptimizeReport": "arctic.optimizing.report",
    "PublishReport": "arctic.job.publish.publish_report",
    "Readiness": "arctic.job.complete.readiness",
    "RefreshReport": "arctic.job.views.refresh_report",
    "RepairReport": "arctic.job.adopt.repair_job",
    "TableStatus": "arctic.optimizing.report",
    "Window": "arctic.job.complete.window_job",
    "apply_changes": "arctic.change_messages",
    "list_views": "arctic.materialized",
    "local_session": "arctic.with_spark",
    "materialize": "arctic.materialized",
    "mirror_kafka": "arctic.with_mirrors",
    "mirror_mysql": "arctic.with_mirrors",
    "mirror_postgres": "arctic.with_mirrors",
    "optimize": "arctic.with_spark",
    "package_zip": "arctic.with_spark",
    "refresh": "arctic.materialized",
    "register": "arctic.with_spark",
    "serve": "arctic.with_service",
    "spark_conf": "arctic.with_spark",
    "spark_writer": "arctic.with_spark",
}
"""The module of a name that is neither an error nor a verb of ``arctic.api``."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'arctic' has no attribute {name!r}")
    home = _HOMES.get(name) or ("arctic.errors" if name.endswith("Error") else "arctic.api")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
