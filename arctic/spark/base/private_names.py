"""Names of Spark that Spark does not promise: each stands here alone, with what it is needed for.

A release of Spark may move any of them. A test looks for each in the Spark that is installed, and
another one that no other module of this edge has such a name.

Must not know: what is done with what is behind a name.
"""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkConf, SparkContext
from pyspark.sql import Column, DataFrame, SparkSession

_SESSION = "_jsparkSession"

ROW_INDEX_COLUMN = "_tmp_metadata_row_index"
"""A column that Spark's Parquet reader fills with the places of rows in their file; a column of
this name in a file would not be read. ``ParquetFileFormat.ROW_INDEX_TEMPORARY_COLUMN_NAME``."""


def is_classic(session: SparkSession) -> bool:
    """Say whether a session has its JVM beside it; one of Spark Connect has not."""
    return hasattr(session, _SESSION)


def has_ended(session: SparkSession) -> bool:
    """Say whether a session was stopped, or has lost its JVM: it runs nothing any more."""
    if not is_classic(session):
        remote: Any = session
        return bool(remote.is_stopped)
    context = session.sparkContext
    try:
        return context._jsc is None or bool(jvm_context(context).isStopped())
    except (Py4JError, OSError):  # nobody answers
        return True


def add_optimizer_rule(session: SparkSession, install: Any) -> None:
    """Have a classic session optimize its queries by one more rule, which ``install`` makes."""
    getattr(session, _SESSION).extensions().injectOptimizerRule(install)


def add_early_rule(session: SparkSession, install: Any) -> None:
    """Have a classic session rewrite queries by one more rule before it plans their scans."""
    getattr(session, _SESSION).extensions().injectPreCBORule(install)


def python_sources(session: SparkSession) -> Any:
    """Return the data sources of Python's that a classic session knows, in the JVM."""
    return _state(session).dataSourceManager()


def parsed_name(session: SparkSession, name: str) -> list[str]:
    """Return the parts of a name as SQL has them."""
    parsed = _state(session).sqlParser().parseMultipartIdentifier(name)
    return [parsed.apply(place) for place in range(parsed.length())]


def has_cached(session: SparkSession) -> bool:
    """Say whether the driver of a classic session has cached the rows of anything."""
    return not getattr(session, _SESSION).sharedState().cacheManager().isEmpty()


def hadoop_settings(session: SparkSession) -> Any:
    """Return what opens files in the JVM of a classic session."""
    return _state(session).newHadoopConf()


def _state(session: SparkSession) -> Any:
    return getattr(session, _SESSION).sessionState()


def jvm(session: SparkSession) -> Any:
    """Return the view of Java's packages: to compile our classes and to open files."""
    return session.sparkContext._jvm


def gateway(session: SparkSession) -> Any:
    """Return the connection to the JVM: to make arrays, and to let the JVM call Python."""
    return session.sparkContext._gateway


def jvm_context(context: SparkContext) -> Any:
    """Return a context in the JVM, for what PySpark does not show: executors and the bar."""
    java: Any = context._jsc
    return java.sc()


def python_includes(session: SparkSession) -> list[str]:
    """Return the names of the files that ``addPyFile`` gave to a classic session."""
    return list(session.sparkContext._python_includes or ())


def jvm_frame(frame: DataFrame) -> Any:
    """Return a frame of a classic session in the JVM, for functions on Arrow data."""
    return frame._jdf


def planned(frame: DataFrame) -> Any:
    """Return how a frame of a classic session would be carried out now.

    The frame itself would keep the plan, and never see what is committed later: this is a copy's.
    """
    return jvm_frame(frame).alias("rows").queryExecution()


def context_of_jvm(connection: Any, java_session: Any) -> SparkContext:
    """Return the context of a session that a JVM began without Python.

    Args:
        connection: to that JVM, as ``launch_gateway`` returns it.
        java_session: there.
    """
    context = connection.jvm.JavaSparkContext(java_session.sparkContext())
    conf = SparkConf(_jvm=connection.jvm, _jconf=context.getConf())
    return SparkContext(gateway=connection, jsc=context, conf=conf)


def frame_of_jvm(java_frame: Any) -> DataFrame:
    """Return a frame that is in the JVM, in its own session."""
    context: Any = SparkContext._active_spark_context
    return DataFrame(java_frame, SparkSession(context, java_frame.sparkSession()))


def java_error(error: Exception) -> Any | None:
    """Return the error of the JVM that PySpark has made this one of; None: it is Python's own."""
    return getattr(error, "_origin", None) or getattr(error, "java_exception", None)


def jvm_column(column: Column) -> Any:
    """Return a column of a classic session in the JVM, such as a call of a function."""
    return column._jc


def jvm_stream_writer(writer: Any) -> Any:
    """Return a classic ``DataStreamWriter`` in the JVM, which starts the query."""
    return writer._jwrite


def frame_of(writer: Any) -> DataFrame:
    """Return what a ``DataFrameWriter`` or ``DataStreamWriter`` writes."""
    if isinstance(writer._df, DataFrame):
        return writer._df
    # A Connect writer holds the plan of its frame. Its module needs packages that classic Spark
    # does not, so it is imported only where it is there already.
    from pyspark.sql.connect.dataframe import DataFrame as ConnectFrame  # noqa: PLC0415

    return ConnectFrame(writer._df, writer._spark)


def has_schema(reader: Any) -> bool:
    """Say whether a classic ``DataFrameReader`` was told the columns."""
    return bool(reader._jreader.userSpecifiedSchema().isDefined())


def forget_schema(reader: Any) -> None:
    """Have a classic ``DataFrameReader`` ask for the columns again, as if it was told none."""
    forget = getattr(reader._jreader, "userSpecifiedSchema_$eq")
    forget(jvm(session_of(reader)).scala.Option.empty())


def session_of(builder: Any) -> SparkSession:
    """Return the session of a reader, or of a ``DataStreamWriter``.

    A reader of Connect calls its session a client.
    """
    session: SparkSession = getattr(builder, "_spark", None) or builder._client
    return session
