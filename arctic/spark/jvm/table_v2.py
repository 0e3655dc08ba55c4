"""A session's queries, made to plan their own scans of our tables.

PySpark has its own filter push-down for Python data sources, and this package does not use it:
up to Spark 4.3 a relation keeps one read plan for all queries, so the filter of one query decides
the rows of the next, and both sides of a self-join read with the filter of one of them. A frame or
view also never sees a commit made after its first use. ``ArcticTable.java`` gives each scan a plan
of its own, with the columns it needs and the filters it may use; ``OwnScans.java`` is the rule that
puts it into queries, also of each ``newSession()``. A second rule, ``ReadWithSpark.java``, which
the first installs, has Spark's own Parquet scan read the data files (see ``ParquetFiles.java``); a
scan that this rule does not come by reads them itself. Where a join or a group-by can do without a
shuffle, it has scans planned in groups of keys (``WantedGroups.java``), which ``GroupedReads.java``
tells Spark of. ``FilteredAggregates.java`` runs before scans are planned, and has those asked for
aggregates whose filters tasks decide. The catalog ``arctic`` comes with them.

A driver that is configured with ``arctic.spark.Extensions`` has the rules before any Python asks,
and so have the sessions of a Spark Connect server; here its questions are only answered.

Where that cannot be had (a Connect server without that setting, a Spark whose classes moved) every
query reads all columns of all files, rightly but slowly; ``.schema(...)`` and option ``columns``
still narrow it.
"""

from __future__ import annotations

import logging
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from arctic.spark.base.private_names import (
    add_early_rule,
    add_optimizer_rule,
    is_classic,
    jvm,
    python_sources,
)
from arctic.spark.jvm.compiled import compiled, named_classes
from arctic.spark.jvm.driver_planner import driver_planner
from arctic.spark.jvm.extension import CONF, has_extension
from arctic.spark.jvm.install_catalog import install_catalog, name_catalog
from arctic.spark.source import FORMAT, NO_ENTRIES

SPARK_READS_CONF = "spark.arctic.readWithSpark"
"""Whether Spark's own Parquet scan reads data files; true unless a user sets false."""

_log = logging.getLogger(__name__)


def install_own_scans(session: SparkSession) -> bool:
    """Give the scans of a classic session their own plans; again is harmless.

    Whether it gets them or not: this process answers the catalogs that Spark's configuration names,
    if no other does.

    Returns:
        Whether the session has them now.
    """
    known = session.conf.get(CONF, None)
    if known is not None:
        if is_classic(session):
            _answer_catalogs(session)
        return known == "true"
    if not is_classic(session):
        if has_extension(session):
            return True
        _log.info(
            "this server of Spark Connect reads all columns of all files for each query: begin it "
            "with the settings that `arctic spark-conf` prints, or name columns in .schema(...)"
        )
        return False
    if has_extension(session):
        _answer(session, compiled(jvm(session)))
        session.conf.set(CONF, "true")
        name_catalog(session)
        return True
    try:
        classes = compiled(jvm(session))
        # What is asked is answered by whoever registered last.
        _answer(session, classes)
        add_optimizer_rule(session, _rule(session, classes, "OwnScans", FORMAT, NO_ENTRIES))
        add_early_rule(session, _rule(session, classes, "FilteredAggregates"))
    except Py4JError as error:
        _log.warning("queries read all columns of all files, this Spark is unknown: %s", error)
        return False
    session.conf.set(CONF, "true")
    if session.conf.get(SPARK_READS_CONF, None) is None:
        session.conf.set(SPARK_READS_CONF, "true")
    install_catalog(session)
    return True


def plans_here(session: SparkSession) -> bool:
    """Say whether scans of a session are planned in this process, as far as it can."""
    return is_classic(session) and session.conf.get(CONF, None) == "true"


def _rule(session: SparkSession, classes: Any, name: str, *given: str) -> Any:
    install = classes.loadClass(f"arctic.spark.{name}$Install")
    arguments = jvm(session).java.util.ArrayList()
    for each in given:
        arguments.add(each)
    return install.getConstructors()[0].newInstance(arguments.toArray())


def _answer_catalogs(session: SparkSession) -> None:
    classes = named_classes(jvm(session))
    if classes is not None and _callback(classes).getField("function").get(None) is None:
        _answer(session, classes)


def _answer(session: SparkSession, classes: Any) -> None:
    callback = _callback(classes)
    callback.getField("source").set(None, python_sources(session).lookupDataSource(FORMAT))
    callback.getField("function").set(None, driver_planner(session))


def _callback(classes: Any) -> Any:
    return classes.loadClass("arctic.spark.Callback")
