"""What the plan of a frame tells: whether its rows come from few tasks, or cost little to read.

Rules:
    - Nothing is run to find out: a plan with an exchange in it, or one that Spark cannot tell the
      size of, is not few, and what is not known to cost little does not.
    - Rows never depend on the answer, so whatever goes wrong here means no.

Must not know: tables, how rows are spread.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from arctic.spark.base.private_names import is_classic, planned

_ADAPTIVE = "spark.sql.adaptive.enabled"
_GROWING_NODES = ("Generate", "Expand", "Map", "Python", "Pandas", "Arrow", "Script")
"""In the names of all nodes of a plan that may make any number of rows of one."""

_SCANS = ("Scan parquet", "Scan orc", "Scan In-memory", "InMemoryTableScan", "LocalTableScan")
_PASSING = ("Range", "Project", "Filter", "Union", "ColumnarToRow", "WholeStage", "InputAdapter")
_SCANNING_NODES = (*_SCANS, *_PASSING)
"""How the names of nodes begin that cost little where few columns are asked for."""
_ADAPTIVE_PLAN = "AdaptiveSparkPlanExec"


def is_narrow(frame: DataFrame, *, most_tasks: int, most_bytes: int, may_grow: bool = True) -> bool:
    """Say whether a frame's rows are few, and come from few tasks without an exchange.

    Args:
        frame: as for ``narrow_tasks``.
        most_tasks: inclusive.
        most_bytes: as for ``narrow_tasks``.
        may_grow: as for ``narrow_tasks``.
    """
    tasks = narrow_tasks(frame, most_bytes=most_bytes, may_grow=may_grow)
    return tasks is not None and tasks <= most_tasks


def narrow_tasks(frame: DataFrame, *, most_bytes: int, may_grow: bool = True) -> int | None:
    """Return from how many tasks a frame's rows come; None: with an exchange, or not few.

    Args:
        frame: of any session; one of Spark Connect tells nothing.
        most_bytes: by Spark's estimate, which for files is their size; inclusive.
        may_grow: they may be far more than that, as after ``explode``.
    """
    if not is_classic(frame.sparkSession):
        return None
    try:
        return _narrow_tasks(frame, most_bytes, may_grow)
    except (Py4JError, PySparkException):
        return None  # What Spark cannot plan it will say itself, when the rows are asked for.


def thought_bytes(frame: DataFrame) -> int | None:
    """Return the size of a frame by Spark's estimate; None: it tells none.

    Args:
        frame: of any session; one of Spark Connect tells nothing.
    """
    if not is_classic(frame.sparkSession):
        return None
    try:
        return int(planned(frame).optimizedPlan().stats().sizeInBytes())
    except (Py4JError, PySparkException):
        return None


def is_scan(frame: DataFrame) -> bool:
    """Say whether a frame only reads what Spark keeps, or files in which it finds single columns.

    Args:
        frame: of a classic session.
    """
    try:
        plan = planned(frame).executedPlan()
        if plan.getClass().getSimpleName() == _ADAPTIVE_PLAN:
            plan = plan.inputPlan()
        return all(name.startswith(_SCANNING_NODES) for name in _node_names(plan))
    except (Py4JError, PySparkException):
        return False


def _node_names(plan: Any) -> Iterator[str]:
    yield str(plan.nodeName())
    children = plan.children()
    for place in range(int(children.size())):
        yield from _node_names(children.apply(place))


def _narrow_tasks(frame: DataFrame, most_bytes: int, may_grow: bool) -> int | None:
    # With adaptive execution, and only then, one look tells whether anything is exchanged.
    if str(frame.sparkSession.conf.get(_ADAPTIVE)).lower() != "true":
        return None
    execution = planned(frame)
    plan = execution.optimizedPlan()
    if int(plan.stats().sizeInBytes()) > most_bytes:
        return None
    nodes = "" if may_grow else str(plan.toString())
    if any(word in nodes for word in _GROWING_NODES):
        return None
    if execution.executedPlan().getClass().getSimpleName() == _ADAPTIVE_PLAN:
        return None
    return int(execution.toRdd().getNumPartitions())
