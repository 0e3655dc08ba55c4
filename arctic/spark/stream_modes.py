"""``writeStream`` in our format: every batch of a stream is written as ``save()`` writes a frame.

Spark gives the rows of a batch to a data source as they lie. Here they come as a frame, so they
are spread over tasks first, and committed under the id of the query and the number of the batch.

Rules:
    - Whatever can be refused is refused by ``start()``, not by the first batch.
    - Any other format, and ``foreach`` and ``foreachBatch`` of the user, stay Spark's own.
    - A stream without a checkpoint that outlives it is refused: it could not go on exactly where
      it stopped.

Must not know: tables.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from arctic.errors import InvalidInputError
from arctic.job.reference import placed
from arctic.job.stream_job import stream_write_options
from arctic.options import Scope, check_known
from arctic.spark.checkpoint_file import CheckpointFile
from arctic.spark.error_surface import named_errors
from arctic.spark.named_sink import start_named
from arctic.spark.patched_calls import given_names, names_of, patch_call, texts_of
from arctic.spark.reader_options import sealed_names
from arctic.spark.source import FORMAT
from arctic.spark.stream_batches import BatchSink
from arctic.spark.workers import check_workers

_INSTALLED = "_arctic_stream_modes"
_CHECKPOINT = "checkpointlocation"
_CHECKPOINT_CONF = "spark.sql.streaming.checkpointLocation"
_SHARES_FILE = "partition-shares.json"
_FOREACH = ("foreach", "foreachBatch")
_CALLS = (
    *("format", "option", "options", "outputMode", "queryName", "partitionBy", "clusterBy"),
    *_FOREACH,
    *("start", "toTable"),
)


@dataclass(slots=True)
class _Asked:
    """What was said to one writer so far."""

    format: str | None = None
    output_mode: str | None = None
    query_name: str | None = None
    options: dict[str, str] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    """Of the options, as the user spelt them."""
    partition_by: tuple[Any, ...] = ()
    """Not yet told to Spark, which takes none beside ``foreachBatch``."""
    is_clustered: bool = False
    has_own_sink: bool = False
    """``foreach`` or ``foreachBatch`` was called."""
    is_native: bool = False
    """Inside a call that belongs to Spark alone."""


def install_stream_modes() -> None:
    """Teach the DataStreamWriter of classic sessions; again is harmless.

    On Spark Connect a batch runs beside the server, where the data source's own writer serves.
    """
    if _INSTALLED in vars(DataStreamWriter):
        return
    native = {name: getattr(DataStreamWriter, name) for name in _CALLS}
    setattr(DataStreamWriter, _INSTALLED, True)
    for name, note in (
        ("format", _format),
        ("option", _option),
        ("options", _options),
        ("outputMode", _output_mode),
        ("queryName", _query_name),
        ("partitionBy", _partition_by),
        ("clusterBy", _cluster_by),
        ("foreach", _own_sink),
        ("foreachBatch", _own_sink),
        ("start", functools.partial(_start, native)),
        ("toTable", functools.partial(_to_table, native)),
    ):
        patch_call(DataStreamWriter, name, native[name], note, _Asked)


def _format(native: Callable[..., Any], self: Any, asked: _Asked, source: Any) -> Any:
    asked.format = source
    return native(source)


def _option(native: Callable[..., Any], self: Any, asked: _Asked, key: Any, value: Any) -> Any:
    asked.options |= texts_of({key: value})
    asked.names += given_names({key: value})
    return native(key, value)


def _options(native: Callable[..., Any], self: Any, asked: _Asked, **options: Any) -> Any:
    asked.options |= texts_of(options)
    asked.names += given_names(options)
    return _natively(asked, native, **options)


def _output_mode(native: Callable[..., Any], self: Any, asked: _Asked, outputMode: Any) -> Any:
    result = native(outputMode)
    asked.output_mode = str(outputMode).lower()
    return result


def _query_name(native: Callable[..., Any], self: Any, asked: _Asked, queryName: Any) -> Any:
    asked.query_name = queryName
    return native(queryName)


def _partition_by(native: Callable[..., Any], self: Any, asked: _Asked, *cols: Any) -> Any:
    asked.partition_by = cols
    return self


def _cluster_by(native: Callable[..., Any], self: Any, asked: _Asked, *cols: Any) -> Any:
    asked.is_clustered = True
    return native(*cols)


def _own_sink(native: Callable[..., Any], self: Any, asked: _Asked, function: Any) -> Any:
    asked.has_own_sink = True
    return native(function)


def _natively(asked: _Asked, native: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    asked.is_native = True
    try:
        return native(*args, **kwargs)
    finally:
        asked.is_native = False


def _start(
    natives: Mapping[str, Callable[..., Any]],
    native: Callable[..., Any],
    self: Any,
    asked: _Asked,
    /,
    path: str | None = None,
    format: str | None = None,
    outputMode: str | None = None,
    partitionBy: Any = None,
    queryName: str | None = None,
    **options: Any,
) -> StreamingQuery:
    if not _is_ours(asked, format):
        if asked.partition_by:
            natives["partitionBy"](self, *asked.partition_by)
        query: StreamingQuery = _natively(
            asked, native, path, format, outputMode, partitionBy, queryName, **options
        )
        return query
    self.options(**options)
    if outputMode is not None:
        self.outputMode(outputMode)
    if queryName is not None:
        self.queryName(queryName)
    if partitionBy is not None:
        self.partitionBy(partitionBy)
    if asked.is_clustered:
        raise InvalidInputError(
            f"clusterBy() with format {FORMAT!r}: the table decides where its rows go; "
            "leave the call out"
        )
    check_known([name for name in asked.names if name.lower() != _CHECKPOINT], Scope.WRITE)
    checkpoint = _checkpoint(self, asked)
    memory = CheckpointFile(self._spark, checkpoint, _SHARES_FILE)
    sink = BatchSink(_write_options(asked, path), memory=memory)
    check_workers(self._spark)
    with named_errors():
        sink.check(self._df)
    for name in sealed_names(asked.options):
        # Spark prints them with the plan of the query, and the sink has them already.
        natives["option"](self, name, "")
    natives["foreachBatch"](self, sink)
    query = start_named(self._spark, self._jwrite, f"{FORMAT} {sink.table}") or _natively(
        asked, natives["start"], self
    )
    sink.begin(str(query.id))
    return query


def _to_table(
    natives: Mapping[str, Callable[..., Any]],
    native: Callable[..., Any],
    self: Any,
    asked: _Asked,
    /,
    tableName: str,
    format: str | None = None,
    outputMode: str | None = None,
    partitionBy: Any = None,
    queryName: str | None = None,
    **options: Any,
) -> StreamingQuery:
    arguments = (tableName, format, outputMode, partitionBy, queryName)
    if _is_ours(asked, format):
        # Spark would ask its own catalogs, which do not know the table.
        return _start(natives, native, self, asked, *arguments, **options)
    if asked.partition_by:
        natives["partitionBy"](self, *asked.partition_by)
    query: StreamingQuery = _natively(asked, native, *arguments, **options)
    return query


def _is_ours(asked: _Asked, format: str | None) -> bool:
    source = format or asked.format
    return not asked.has_own_sink and isinstance(source, str) and source.lower() == FORMAT


def _checkpoint(self: Any, asked: _Asked) -> str:
    given = asked.options.get(_CHECKPOINT)
    if given:
        return given
    root = self._spark.conf.get(_CHECKPOINT_CONF, None)
    if root and asked.query_name:
        return f"{root}/{asked.query_name}"
    raise InvalidInputError(
        "a stream into a table needs a place to remember how far it came; add "
        ".option('checkpointLocation', '...')"
    )


def _write_options(asked: _Asked, path: str | None) -> dict[str, str]:
    """Return what each batch is written with."""
    given = {name: text for name, text in asked.options.items() if name != _CHECKPOINT}
    if path is not None:
        given["path"] = str(path)
    columns = names_of(*asked.partition_by)
    if columns:
        given["partitionby"] = ", ".join(columns)
    return stream_write_options(placed(given), output_mode=asked.output_mode or "append")
