"""Whether the rows of a frame come from so few tasks that a write may leave them there.

Rules:
    - Nothing is run to find out: a plan with an exchange in it, or one that Spark cannot tell the
      size of, is not few.
    - Rows never depend on the answer, so whatever goes wrong here means no.

Must not know: tables, how rows are spread.
"""

from __future__ import annotations

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from arctic.spark.base.private_names import is_classic, planned

_ADAPTIVE = "spark.sql.adaptive.enabled"
_GROWING_NODES = ("Generate", "Expand", "Map", "Python", "Pandas", "Arrow", "Script")
"""In the names of all nodes of a plan that may make any number of rows of one."""


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
    if execution.executedPlan().getClass().getSimpleName() == "AdaptiveSparkPlanExec":
        return None
    return int(execution.toRdd().getNumPartitions())
