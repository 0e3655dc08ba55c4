"""The Python of a driver that has none: ``Companion.java`` starts it as a process.

It connects to that JVM as PySpark does, registers with its session, says so in one line, and ends
when its standard input does.
"""

from __future__ import annotations

import sys
from typing import Any

import pyspark
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from arctic.errors import UnsupportedError
from arctic.spark.base.private_names import context_of_jvm
from arctic.spark.jvm.extension import has_extension
from arctic.spark.session import register
from arctic.spark.source import ArcticDataSource
from arctic.spark.tasks.workers import use_this_python

READY = "arctic: ready"


def main() -> None:
    """Answer for the session that asked, until its JVM ends."""
    # Without types; the JVM that is there already, by two variables that it has set.
    gateway: Any = launch_gateway()  # type: ignore[no-untyped-call]
    asked = gateway.jvm.arctic.spark.Companion.session
    session = SparkSession(context_of_jvm(gateway, asked), asked)
    check_release(pyspark.__version__, session.version)
    use_this_python(session)
    if not has_extension(session):
        # Tasks of a format send counts to the process that registered it, which may have died.
        session.dataSource.register(ArcticDataSource)
    register(session)
    print(READY, flush=True)
    sys.stdin.read()


def check_release(ours: str, of_driver: str) -> None:
    """Refuse a PySpark of another release than the driver's, whose calls fail in strange ways.

    Raises:
        UnsupportedError: naming both.
    """
    if ours.split(".")[:2] != of_driver.split(".")[:2]:
        raise UnsupportedError(
            f"PySpark {ours} of {sys.executable}: the driver runs Spark {of_driver}; name a Python "
            "with that release by spark.pyspark.python, or see what PYTHONPATH has it find"
        )


if __name__ == "__main__":
    main()
