"""A query whose sink has the name of its table: see ``NamedSink.java``.

Must not know: tables, batches.
"""

from __future__ import annotations

import logging
from importlib.resources import files
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

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
            starter = vars(context)[_STARTER] = _compiled(context._jvm)
        except Py4JError as error:
            _log.info("streams are named after foreachBatch, this Spark is unknown: %s", error)
            return None
    query = starter.start(writer, description)
    return None if query is None else StreamingQuery(query)


def _compiled(jvm: Any) -> Any:
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook(files("arctic.spark").joinpath("NamedSink.java").read_text(encoding="utf-8"))
    found = compiler.getClassLoader().loadClass("arctic.spark.NamedSink$Starter")
    return found.getConstructors()[0].newInstance(jvm.java.util.ArrayList().toArray())
