"""A Spark session that knows Arctic.

>>> start_local.__name__, register.__name__
('start_local', 'register')
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from arctic.spark.base.private_names import is_classic, python_includes, python_sources
from arctic.spark.edge.reader_options import install_reader_options
from arctic.spark.edge.save_modes import install_save_modes
from arctic.spark.edge.stream_modes import install_stream_modes
from arctic.spark.edge.table_writes import install_table_writes
from arctic.spark.jvm.extension import has_extension
from arctic.spark.jvm.java import ensure_java
from arctic.spark.jvm.table_v2 import install_own_scans
from arctic.spark.source import FORMAT, ArcticDataSource
from arctic.spark.tasks.workers import is_local, use_ready_workers, use_this_python

_LOCAL_SETTINGS = {
    "spark.ui.enabled": "false",
    # Where a statement fails, Spark interrupts its other tasks. One that waits for its worker then
    # takes the daemon of all Python workers for hung and ends it, and them. Here a task is tried
    # once: what others run in those workers fails with "Python worker exited unexpectedly".
    "spark.sql.execution.interruptOnCancel": "false",
}
"""Of a session that is begun here, where its caller says nothing else."""


def register(session: SparkSession) -> None:
    """Teach a session ``format("arctic")``, ``mode("upsert")`` and scans that prune.

    May be called again, for the same session or another one, classic or Connect. Reading, plain
    appends and overwrites, and SQL on temporary views work without it.
    """
    before = session.sparkContext.pythonExec if is_classic(session) else None
    use_this_python(session)
    use_ready_workers(session, before=before)
    if not _is_found(session):
        session.dataSource.register(ArcticDataSource)
    install_save_modes(type(session.range(0).write))
    install_reader_options(type(session.read), is_stream=False)
    install_reader_options(type(session.readStream), is_stream=True)
    install_stream_modes()
    install_table_writes()
    install_own_scans(session)


def _is_found(session: SparkSession) -> bool:
    """Say whether Spark found the format by itself: by its settings, or ``pyspark_arctic``.

    Registered again it would be the same, and Spark would warn of a data source that is replaced.
    """
    if has_extension(session):
        return True
    if not is_classic(session):
        try:
            session.read.format(FORMAT).load("arctic.is_found").schema  # noqa: B018
        except PySparkException as error:
            # It may be there, and its package not yet where workers are: a client is to send it.
            lacks = "ModuleNotFoundError: No module named 'arctic'" in str(error)
            return error.getCondition() != "DATA_SOURCE_NOT_FOUND" and not lacks
        return True
    manager = python_sources(session)
    if not manager.dataSourceExists(FORMAT):
        return False
    function = manager.lookupDataSource(FORMAT).dataSourceCls()
    if function.pythonExec() != session.sparkContext.pythonExec:
        return False
    # A package that came by addPyFile is only seen by what is given to Spark after it.
    return is_local(session) or list(function.pythonIncludes()) == python_includes(session)


def start_local(*, master: str, app_name: str, conf: Mapping[str, str] | None) -> SparkSession:
    """Start Spark, or return the session that runs, and register it: ``arctic.local_session``."""
    ensure_java()
    builder = SparkSession.builder.master(master).appName(app_name)
    settings = {**_LOCAL_SETTINGS, **(conf or {})}
    for name, value in settings.items():
        builder = builder.config(name, value)
    began = time.time()
    session = builder.getOrCreate()
    if session.sparkContext.startTime >= int(began * 1_000):  # nobody has made a function yet
        use_this_python(session)
    register(session)
    return session
