"""A Spark session that knows Arctic.

>>> local_session.__name__, register.__name__
('local_session', 'register')
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from arctic.spark.java import ensure_java
from arctic.spark.reader_options import install_reader_options
from arctic.spark.save_modes import install_save_modes
from arctic.spark.source import FORMAT, ArcticDataSource
from arctic.spark.stream_modes import install_stream_modes
from arctic.spark.table_v2 import install_own_scans
from arctic.spark.workers import use_this_python


def register(session: SparkSession) -> None:
    """Teach a session ``format("arctic")``, ``mode("upsert")`` and scans that prune.

    May be called again, for the same session or another one, classic or Connect. Reading, plain
    appends and overwrites, and SQL on temporary views work without it.
    """
    use_this_python(session)
    if not _is_found(session):
        session.dataSource.register(ArcticDataSource)
    install_save_modes(type(session.range(0).write))
    install_reader_options(type(session.read), is_stream=False)
    install_reader_options(type(session.readStream), is_stream=True)
    install_stream_modes()
    install_own_scans(session)


def _is_found(session: SparkSession) -> bool:
    """Say whether Spark found the format by itself, through the module ``pyspark_arctic``.

    Registered again it would be the same, and Spark would warn of a data source that is replaced.
    """
    if not hasattr(session, "_jsparkSession"):
        try:
            session.read.format(FORMAT).load("arctic.is_found").schema  # noqa: B018
        except PySparkException as error:
            return error.getCondition() != "DATA_SOURCE_NOT_FOUND"
        return True
    manager: Any = session._jsparkSession.sessionState().dataSourceManager()
    if not manager.dataSourceExists(FORMAT):
        return False
    python = manager.lookupDataSource(FORMAT).dataSourceCls().pythonExec()
    return bool(python == session.sparkContext.pythonExec)


def local_session(
    *, master: str = "local[*]", app_name: str = "arctic", conf: Mapping[str, str] | None = None
) -> SparkSession:
    """Start Spark on this machine, or return the session that runs, and register Arctic.

    Args:
        master: where tasks run.
        app_name: how the session calls itself.
        conf: further settings; the web interface is off unless they turn it on.

    Raises:
        StorageError: there is no Java that Spark can run on.
    """
    ensure_java()
    builder = SparkSession.builder.master(master).appName(app_name)
    settings = {"spark.ui.enabled": "false", **(conf or {})}
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    register(session)
    return session
