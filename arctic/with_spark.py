"""The verbs that may need a Spark session, which is imported when they are given one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from arctic import api
from arctic.api import Catalog
from arctic.optimize.report import OptimizeReport

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Teach a Spark session ``format("arctic")`` with filter push-down and ``mode("upsert")``.

    May be called again, for the same session or another one. Reading and plain appends work
    without it; see ``docs/spark.md``.
    """
    # The only import of Spark outside its folder, and late: reading and writing Arrow data needs
    # no Spark, and importing it takes longer than a small read.
    from arctic.spark.session import register as register_session  # noqa: PLC0415

    register_session(spark)


def optimize(
    identifier: str,
    *,
    type: str | None = None,
    where: Any = None,
    spark: SparkSession | None = None,
    options: Mapping[str, str] | None = None,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> OptimizeReport:
    """Fold changes into base files and small files into large ones, in one base snapshot.

    Args:
        identifier: ``namespace.table``.
        type: ``minor``, ``major`` or ``full`` for every partition; None: what is due in each.
        where: only the partitions that can hold such rows, as ``"day = '2026-01-31'"``.
        spark: the session whose cluster runs the tasks; None: threads of this process.
        options: ``self-optimizing.*``, for this run.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Raises:
        NotFoundError: no such table.
        InvalidInputError: a type, filter or option that cannot be understood.
        UnsupportedError: content that would be read wrongly.
        ConflictError: other writers overwrote what was optimized, in every attempt.
        CommitStateUnknownError: the catalog did not answer; look before running again.
    """
    runner = None
    if spark is not None:
        from arctic.spark.run_tasks import SparkRunner  # noqa: PLC0415 - late, as in register

        runner = SparkRunner(spark)
    return api.optimize(
        identifier,
        type=type,
        where=where,
        options=options,
        runner=runner,
        warehouse=warehouse,
        catalog=catalog,
    )
