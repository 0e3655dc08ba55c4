"""A query whose sink has the name of its table: see ``NamedSink.java``.

Must not know: tables, batches.
"""

from __future__ import annotations

import logging
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from arctic.spark.base.private_names import jvm
from arctic.spark.jvm.compiled import compiled

_STARTER = "_arctic_named_sink"
"""The attribute of a Spark context that holds what was compiled for it."""

_log = logging.getLogger(__name__)


def start_named(session: SparkSession, writer: Any, description: str) -> StreamingQuery | None:
    """Start the query of a classic writer that was given a function for its batches.

    Args:
        session: of the writer.
        writer: Spark's own, in the JVM.
        description: of the sink, in progress reports and plans.

    Returns:
        None where this Spark has other private names; nothing was started then.
    """
    context = session.sparkContext
    starter = vars(context).get(_STARTER)
    if starter is None:
        try:
            starter = vars(context)[_STARTER] = _compiled(jvm(session))
        except Py4JError as error:
            _log.info("streams are named after foreachBatch, this Spark is unknown: %s", error)
            return None
    query = starter.start(writer, description)
    return None if query is None else StreamingQuery(query)


def _compiled(java: Any) -> Any:
    found = compiled(java).loadClass("arctic.spark.NamedSink$Starter")
    return found.getConstructors()[0].newInstance(java.java.util.ArrayList().toArray())
