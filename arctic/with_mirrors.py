"""The verbs that follow another database or topics, by this process or by a Spark session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from arctic.cdc.decode import Decoding
from arctic.cdc.envelopes import envelope_of
from arctic.job.mirror.mirror_settings import MirrorReport, MirrorSettings, names_of, target_of
from arctic.job.mirror.run_mirror import run_mirror
from arctic.job.mirror.topics.follow_topics import TopicReport, TopicSettings, follow_topics
from arctic.job.mirror.write_changes import WriteRows, write_here
from arctic.job.reference import Catalog, as_names, call_options, placed
from arctic.mysql.mysql_tables import parse_table
from arctic.mysql.server import server_of
from arctic.postgres.source_tables import parse_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
    settings = MirrorSettings(
        dsn=dsn,
        tables=as_names(tables),
        namespace=into,
        place=placed(call_options(None, warehouse, catalog)),
        slot=slot,
        max_changes=max_changes,
        watermark=watermark,
        partition_by={
            ".".join(parse_name(name)): as_names(fields)
            for name, fields in (partition_by or {}).items()
        },
    )
    return run_mirror(
        settings, write=_write_of(spark), once=once, interval_seconds=interval_seconds
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

    As ``mirror_postgres``, but from the binary log: each change is applied once, in the order of
    commits, and the columns are followed. Events that a table cannot hold exactly go to
    ``<into>.cdc_quarantine``.

    Args:
        dsn: ``mysql://user:password@host:port/database``; ``?unix_socket=/path`` for a socket.
        tables: names as ``schema.table``, or ``schema.table:name`` for a mirror of another name;
            each needs a primary key.
        into: the namespace that gets a table for each.
        slot: names the mirror at the server; only one process at a time can use a name.
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
    database = server_of(dsn)["database"]
    settings = MirrorSettings(
        dsn=dsn,
        tables=as_names(tables),
        namespace=into,
        place=placed(call_options(None, warehouse, catalog)),
        slot=slot,
        max_changes=max_changes,
        watermark=watermark,
        database="mysql",
        partition_by={
            ".".join(parse_table(name, database)): as_names(fields)
            for name, fields in (partition_by or {}).items()
        },
    )
    return run_mirror(
        settings, write=_write_of(spark), once=once, interval_seconds=interval_seconds
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
        config: settings of librdkafka, such as ``security.protocol``, and of a schema registry,
            such as ``schema.registry.url``: messages may be in Avro then.
        spark: the session whose cluster writes the rows; None: this process.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Memory: the messages of one batch, a few times.

    Raises:
        NotFoundError: a topic or a table that is not there.
        InvalidInputError: an unknown envelope, or a table without a key.
        ConflictError: another process uses the slot.
        StorageError: Kafka, the registry or the catalog cannot be reached, or messages are gone
            from Kafka.
        UnsupportedError: the extra ``kafka``, or ``kafka-avro`` for a registry, is not installed.
    """
    names = names_of(target_of(text) for text in as_names(tables))
    settings = TopicSettings(
        dsn=dsn,
        config=dict(config or {}),
        topics=as_names(topics),
        envelope=envelope_of(envelope),
        tables=names,
        namespace=into,
        place=placed(call_options(None, warehouse, catalog)),
        slot=slot,
        max_changes=max_changes,
        drops_columns=drops_columns,
        decodings=dict(decodings or {}),
    )
    return follow_topics(
        settings, write=_write_of(spark), once=once, interval_seconds=interval_seconds
    )


def _write_of(spark: SparkSession | None) -> WriteRows:
    if spark is None:
        return write_here
    # Late: following a database needs no Spark, and importing it takes a while.
    from arctic.spark.local_rows import write_with  # noqa: PLC0415

    return write_with(spark)
