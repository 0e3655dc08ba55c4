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
_MOST_BYTES = 64 << 20
"""By Spark's estimate, which for files is their size. Above this, more tasks pay."""


def is_narrow(frame: DataFrame, *, most_tasks: int) -> bool:
    """Say whether a frame's rows are few, and come from few tasks without an exchange.

    Args:
        frame: of any session; one of Spark Connect tells nothing.
        most_tasks: inclusive.
    """
    if not is_classic(frame.sparkSession):
        return False
    try:
        return _is_narrow(frame, most_tasks)
    except (Py4JError, PySparkException):
        return False  # What Spark cannot plan it will say itself, when the rows are asked for.


def _is_narrow(frame: DataFrame, most_tasks: int) -> bool:
    # With adaptive execution, and only then, one look tells whether anything is exchanged.
    if str(frame.sparkSession.conf.get(_ADAPTIVE)).lower() != "true":
        return False
    execution = planned(frame)
    if int(execution.optimizedPlan().stats().sizeInBytes()) > _MOST_BYTES:
        return False
    if execution.executedPlan().getClass().getSimpleName() == "AdaptiveSparkPlanExec":
        return False
    return bool(execution.toRdd().getNumPartitions() <= most_tasks)
