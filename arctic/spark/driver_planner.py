"""Scans that are planned in the driver's own Python, where everything is imported and warm.

Spark plans each scan of a Python data source in a worker that it starts and ends for it. Here the
scan calls back into the process of the session instead, as ``foreachBatch`` does, and gets the
same: the pickled function that reads a partition, and the pickled partitions.

A scan that Spark carries out itself asks once more, when it begins: which rows of its files are
dead.

Rules:
    - Whatever fails while planning is answered with None. Then a worker plans, and a fault of the
      call, the data or the table becomes an error of the query there, in Spark's own form.
    - Where a relation does not say its warehouse whole, a worker told its columns, by the variables
      and the folder that Spark's workers have. Then a worker plans too.

Must not know: how a read is planned.
"""

from __future__ import annotations

import base64
import json
import logging
import pickle
from decimal import Decimal
from typing import Any

from pyspark import cloudpickle
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from arctic.errors import ArcticError
from arctic.job.deletion_vectors import DeletionVectors
from arctic.job.reference import placed
from arctic.spark.known_aggregates import known_aggregates
from arctic.spark.question import pin_text, pinned_snapshot, texts_of, work_of
from arctic.spark.reader import ArcticReader
from arctic.spark.run_tasks import SparkRunner
from arctic.spark.source import READS, plan_batch, relevant_options

_log = logging.getLogger(__name__)


class DriverPlanner:
    """What the JVM calls: a text goes in, a text comes back."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._vectors = DeletionVectors()

    def apply(self, question: str) -> str | None:
        """Plan one scan.

        Args:
            question: JSON of the options of a view, as ``place``; or of ``options``, the ``schema``
                that is asked for, and in the metadata of its first column what
                ``arctic.spark.question`` reads; or of ``options``, the ``schema`` of the relation,
                a ``pin`` and ``aggregates``; or of the ``work`` that a plan told of.

        Returns:
            JSON of these options with their warehouse written out; or of ``function`` and
            ``partitions``, each pickled and in base64, and of what the
            scan is told; or of the ``values`` of the aggregates and the ``pin`` they are of; or
            of the ``bits`` of all files of the work, in base64, each file's in whole bytes. None:
            let a worker plan, or let Spark read the rows. An ``error`` in the place of bits.
        """
        asked = json.loads(question)
        if "work" in asked:
            return self._dead_rows(asked["work"])
        if "place" in asked:
            return _place(asked["place"])
        try:
            if placed(asked["options"]) != asked["options"]:
                return None
            return _aggregated(asked) if "aggregates" in asked else _planned(asked)
        except ArcticError:
            return None
        except Exception as error:  # noqa: BLE001 - a worker plans instead, at the cost of time
            _log.warning("a worker plans instead: %s: %s", type(error).__name__, error)
            return None

    def _dead_rows(self, work: list[str]) -> str:
        try:
            dead = self._vectors.dead_rows(work_of(work), SparkRunner(self._session))
        except Exception as error:  # noqa: BLE001 - it becomes an error of the query
            return json.dumps({"error": f"{type(error).__name__}: {error}"})
        return json.dumps({"bits": texts_of(b"".join(rows.to_bytes() for rows in dead))})

    class Java:
        """The interface that Py4J gives it."""

        implements = ("java.util.function.Function",)


def driver_planner(session: SparkSession) -> DriverPlanner:
    """Return a planner that the JVM of a classic session can call from now on."""
    context = session.sparkContext
    # Without types.
    ensure_callback_server_started(context._gateway)  # type: ignore[no-untyped-call]
    return DriverPlanner(session)


def _place(options: dict[str, str]) -> str | None:
    try:
        return json.dumps(placed(options))
    except ArcticError:
        return None


def _planned(question: dict[str, Any]) -> str | None:
    schema = StructType.fromJson(question["schema"])
    reader = plan_batch(question["options"], schema)
    if reader.answer is None:
        return None
    return json.dumps(
        {
            "function": _text(_pickled_function(reader, schema)),
            "partitions": [_text(pickle.dumps(group)) for group in reader.groups],
            **reader.answer.parts(),
        }
    )


def _aggregated(question: dict[str, Any]) -> str | None:
    options = relevant_options(question["options"], *READS)
    answer = known_aggregates(
        options,
        question["aggregates"],
        relation=StructType.fromJson(question["schema"]),
        snapshot=pinned_snapshot(question["pin"]),
    )
    if answer is None:
        return None
    values = [str(value) if isinstance(value, Decimal) else value for value in answer.values]
    return json.dumps({"values": values, "pin": pin_text(answer.snapshot)})


def _pickled_function(reader: ArcticReader, schema: StructType) -> bytes:
    """Return what a worker unpickles: the function, and the type of what it yields."""
    executed, arguments = reader.__reduce__()
    # Its package has no types.
    pickled: bytes = cloudpickle.dumps(  # type: ignore[no-untyped-call]
        (executed(*arguments).read_pickled, schema)
    )
    return pickled


def _text(pickled: bytes) -> str:
    return base64.b64encode(pickled).decode()
