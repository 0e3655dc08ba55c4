"""The verbs that follow another database, without Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from arctic.cdc.decode import Decoding
from arctic.cdc.envelopes import envelope_of
from arctic.job.mirror.apply_messages import ApplyReport, ApplySettings, apply_messages
from arctic.job.mirror.mirror_settings import check_names, target_of
from arctic.job.mirror.run_mirror import MirrorReport, MirrorSettings, run_mirror
from arctic.job.mirror.topics.follow_topics import TopicReport, TopicSettings, follow_topics
from arctic.job.mirror.write_changes import WriteRows, write_here
from arctic.job.reference import Catalog, as_names, call_options, placed
from arctic.mysql.mysql_tables import parse_table
from arctic.mysql.server import server_of
from arctic.postgres.source_tables import parse_name
from arctic.table.streams.stream_batch import StreamBatch


def apply_changes(
    messages: Any,
    *,
    envelope: str,
    tables: Mapping[str, str],
    quarantine: str,
    writer: str,
    batch_id: int,
    keys: Any = None,
    drops_columns: bool = False,
    decodings: Mapping[str, Mapping[str, Decoding]] | None = None,
    write: WriteRows | None = None,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> ApplyReport:
    """Apply a batch of change messages to their tables, once.

    Args:
        messages: an Arrow array or a sequence of texts, in the order of the source.
        envelope: ``debezium`` or ``wal2json``.
        tables: source, as ``schema.table``, -> ``namespace.table``, which must exist; each its own.
        quarantine: ``namespace.table`` for events that cannot be applied; a missing one is created.
        writer: name of the sequence of batches, such as a topic or the id of a streaming query.
        batch_id: number of this batch; numbers ascend. A table that holds the batch skips it.
        keys: the keys of the messages, in their order; needed for deletes of Debezium that carry no
            row.
        drops_columns: drop columns that no message of the batch describes.
        decodings: source -> column -> how its values are written, where no schema says so.
        write: writes the rows, such as ``spark_writer(spark)``; None: this process does.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Memory: the messages, a few times.

    Raises:
        NotFoundError: a table that events go to.
        InvalidInputError: an unknown envelope, a table named twice, or columns that cannot be
            changed as the messages describe them.
        UnsupportedError: the extra ``cdc`` is not installed.
    """
    settings = ApplySettings(
        envelope=envelope_of(envelope),
        tables=dict(tables),
        quarantine=quarantine,
        place=placed(call_options(None, warehouse, catalog)),
        batch=StreamBatch(query_id=writer, batch_id=batch_id),
        drops_columns=drops_columns,
        decodings=dict(decodings or {}),
    )
    return apply_messages(settings, _texts(messages), _texts(keys), write=write or write_here)


def _texts(messages: Any) -> Any:
    if messages is None or isinstance(messages, pa.Array | pa.ChunkedArray):
        return None if messages is None else messages.cast(pa.string())
    return pa.array(messages, pa.string())


def follow_postgres(
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
    write: WriteRows | None = None,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> MirrorReport:
    """Mirror tables as ``arctic.mirror_postgres`` does, wherever ``write`` writes the rows.

    Arguments are those of ``arctic.mirror_postgres``; without ``write`` this process writes them.
    """
    return _follow(
        MirrorSettings(
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
        ),
        write,
        once=once,
        interval_seconds=interval_seconds,
    )


def follow_mysql(
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
    write: WriteRows | None = None,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> MirrorReport:
    """Mirror tables as ``arctic.mirror_mysql`` does, wherever ``write`` writes the rows.

    Arguments are those of ``arctic.mirror_mysql``; without ``write`` this process writes them.
    """
    database = server_of(dsn)["database"]
    return _follow(
        MirrorSettings(
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
        ),
        write,
        once=once,
        interval_seconds=interval_seconds,
    )


def follow_kafka(
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
    write: WriteRows | None = None,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> TopicReport:
    """Follow topics as ``arctic.mirror_kafka`` does, wherever ``write`` writes the rows.

    Arguments are those of ``arctic.mirror_kafka``; without ``write`` this process writes them.
    """
    names = dict(target_of(text) for text in as_names(tables))
    check_names(names)
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
        settings, write=write or write_here, once=once, interval_seconds=interval_seconds
    )


def _follow(
    settings: MirrorSettings, write: WriteRows | None, *, once: bool, interval_seconds: float
) -> MirrorReport:
    return run_mirror(
        settings, write=write or write_here, once=once, interval_seconds=interval_seconds
    )
