"""Spark's words for how much a micro-batch may take; Spark 4.1 has none.

Must not know: streams.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from arctic.scan.changes.change_limit import ChangeLimit

HAS_LIMITS = importlib.util.find_spec("pyspark.sql.streaming.datasource") is not None
"""Whether Spark says where a query stands and how much it wants, as from 4.2 on."""

if TYPE_CHECKING or HAS_LIMITS:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxBytes,
        ReadMaxFiles,
        ReadMaxRows,
        SupportsTriggerAvailableNow,
    )
else:

    class SupportsTriggerAvailableNow:
        """Stands where later versions say that a source knows the trigger AvailableNow."""


__all__ = ["HAS_LIMITS", "SupportsTriggerAvailableNow", "is_unlimited", "spark_limit"]


def is_unlimited(limit: Any) -> bool:
    """Say whether Spark wants everything, whatever the options say."""
    return HAS_LIMITS and isinstance(limit, ReadAllAvailable)


def spark_limit(limit: ChangeLimit) -> ReadLimit:
    """Return one of the bounds as Spark knows it; Spark has no word for several at once."""
    if limit.max_files is not None:
        return ReadMaxFiles(limit.max_files)
    if limit.max_bytes is not None:
        return ReadMaxBytes(limit.max_bytes)
    if limit.max_rows is not None:
        return ReadMaxRows(limit.max_rows)
    return ReadAllAvailable()
