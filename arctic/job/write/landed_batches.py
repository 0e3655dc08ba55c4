"""The batches of a stream: which query they are of, and whether a table holds one already."""

from __future__ import annotations

import json

from arctic.errors import ConflictError, FormatError
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.reference import TableReference
from arctic.table.streams.stream_batch import StreamBatch


def has_landed(opened: OpenTable, batch: StreamBatch | None) -> bool:
    """Say whether either store of a table holds a batch, as of when it was opened.

    Raises:
        ConflictError: a store holds a batch that the writer does not know of.
        FormatError: what a store remembers is not readable.
    """
    stores = [opened.base] if opened.change is None else [opened.base, opened.change]
    if batch is not None and any(batch.is_overtaken(store.properties) for store in stores):
        raise ConflictError(
            f"table {opened.table.name!r} got another batch of {batch.query_id!r} than "
            f"{batch.batch_id}: another process writes under that name; stop one of them"
        )
    return batch is not None and any(batch.has_landed(store.properties) for store in stores)


def checkpoint_query_id(reference: TableReference, checkpoint: str) -> str:
    """Return the id of a streaming query from its checkpoint.

    Args:
        reference: the table; its access to files is used.
        checkpoint: the folder, as a URI that says where it is unless it is on this machine.

    Raises:
        StorageError: there is no such file, or it cannot be read.
        FormatError: it is not what Spark writes.
    """
    opened = reference.open()
    path = f"{checkpoint.rstrip('/')}/metadata"
    with opened.io.open_input(path) as source:
        text = source.read()
    try:
        return str(json.loads(text)["id"])
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(
            f"checkpoint file {path!r} holds no query id; expected what Spark writes there"
        ) from error
