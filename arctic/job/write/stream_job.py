"""What a stream says of its batches, and whether the table of one holds it already."""

from __future__ import annotations

import json
from collections.abc import Mapping

from arctic import options as opt
from arctic.errors import FormatError, InvalidInputError
from arctic.iceberg.tables.open_table import OpenTable, open_table
from arctic.job.reference import parse_reference
from arctic.table.streams.stream_batch import StreamBatch
from arctic.table.streams.watermark import check_writer


def stream_write_options(options: Mapping[str, str], *, output_mode: str) -> dict[str, str]:
    """Return what the batches of a stream are written with.

    Where neither the options nor the output mode say it, the table decides about the mode.

    Args:
        options: write options of the stream.
        output_mode: Spark's: append, update or complete.

    Raises:
        InvalidInputError: what the two say cannot be done batch by batch.
    """
    mode = opt.WRITE_MODE.value(options)
    if output_mode == "complete":
        raise InvalidInputError(
            "output mode 'complete' would replace the table in every batch; expected "
            "outputMode('update') on a table with the grouping columns as its key"
        )
    if mode == "overwrite":
        raise InvalidInputError(
            "option write-mode = 'overwrite' in a stream: every batch would replace the ones "
            "before; expected append, upsert or delete"
        )
    if output_mode == "update" and mode == "append":
        raise InvalidInputError(
            "output mode 'update' with write-mode = 'append': every row that changes would be "
            "added again; expected write-mode upsert"
        )
    if output_mode == "update" and mode is None:
        return {**options, opt.WRITE_MODE.name: "upsert"}
    return dict(options)


def batch_of(options: Mapping[str, str]) -> StreamBatch | None:
    """Return which batch a write is; None: a write of its own.

    Raises:
        InvalidInputError: one of the two options without the other, or a value that is none.
    """
    query_id = opt.STREAM_QUERY_ID.value(options)
    batch_id = opt.STREAM_BATCH_ID.value(options)
    if query_id is None and batch_id is None:
        return None
    if query_id is None or batch_id is None:
        given, missing = opt.STREAM_QUERY_ID.name, opt.STREAM_BATCH_ID.name
        if query_id is None:
            given, missing = missing, given
        raise InvalidInputError(f"option {given} without {missing}; a batch is named by both")
    return StreamBatch(query_id=query_id, batch_id=batch_id)


def writer_of(options: Mapping[str, str]) -> str | None:
    """Return who feeds a table with a write: the writer that is named, else the stream.

    Raises:
        InvalidInputError: a name that is none.
    """
    writer = opt.WRITER_ID.value(options) or opt.STREAM_QUERY_ID.value(options)
    return None if writer is None else check_writer(writer)


def has_landed(opened: OpenTable, batch: StreamBatch | None) -> bool:
    """Say whether either store of a table holds a batch, as of when it was opened.

    Raises:
        FormatError: what a store remembers is not readable.
    """
    stores = [opened.base] if opened.change is None else [opened.base, opened.change]
    return batch is not None and any(batch.has_landed(store.properties) for store in stores)


def checkpoint_query_id(options: Mapping[str, str], checkpoint: str) -> str:
    """Return the id of a streaming query from its checkpoint.

    Args:
        options: ``path`` and catalog options of the table; its access to files is used.
        checkpoint: the folder, as a URI that says where it is unless it is on this machine.

    Raises:
        StorageError: there is no such file, or it cannot be read.
        FormatError: it is not what Spark writes.
    """
    reference = parse_reference(options)
    opened = open_table(reference.config, reference.identifier)
    path = f"{checkpoint.rstrip('/')}/metadata"
    with opened.io.open_input(path) as source:
        text = source.read()
    try:
        return str(json.loads(text)["id"])
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(
            f"checkpoint file {path!r} holds no query id; expected what Spark writes there"
        ) from error
