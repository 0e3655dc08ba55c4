"""The verb that applies change messages, wherever they come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from arctic.cdc.decode import Decoding
from arctic.cdc.envelopes import envelope_of
from arctic.job.mirror.apply_messages import ApplyReport, ApplySettings, apply_messages
from arctic.job.mirror.write_changes import WriteRows, write_here
from arctic.job.reference import Catalog, call_options, placed
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
        tables: source -> table of its events: ``{"schema.table": "namespace.table"}``. No two
            sources share a table, and each table must exist.
        quarantine: ``namespace.table`` for events that cannot be applied; a missing one is created.
        writer: name of the sequence of batches, such as a topic or the id of a streaming query.
        batch_id: number of this batch; numbers ascend. A table that has the batch leaves it out.
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
