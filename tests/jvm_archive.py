"""An archive of the classes that Spark loads, with which the sessions of tests start much faster.

``python -m tests.jvm_archive FILE`` takes a session through what most tests do, and has its JVM
write the classes that it loaded when it ends (dynamic class data sharing, JEP 350). A JVM that is
given the file maps some 20,000 classes instead of reading and verifying each; one of another Spark
or another Java does without.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

import arctic
from arctic.spark.base.private_names import gateway

_CONF = {"spark.log.level": "OFF", "spark.ui.showConsoleProgress": "false"}
_TABLE = "archive.orders"


def main(archive: Path) -> None:
    """Run the session, and put the file in its place when the JVM has ended.

    A Java that cannot write one leaves an empty file, which every JVM passes over.
    """
    new = archive.with_suffix(".new")
    given = os.environ.get("SPARK_SUBMIT_OPTS", "")
    os.environ["SPARK_SUBMIT_OPTS"] = f"{given} -XX:ArchiveClassesAtExit={new} -Xlog:disable"
    session = arctic.local_session(master="local[2]", conf=_CONF)
    jvm = gateway(session).proc
    with tempfile.TemporaryDirectory() as folder:
        _use(session, Path(folder))
        session.stop()
    jvm.stdin.close()
    jvm.wait()
    if not new.exists():
        print("this Java writes no archive; sessions of tests start slowly", file=sys.stderr)
        new.touch()
    new.replace(archive)


def _use(session: SparkSession, folder: Path) -> None:
    """Write, read, join, stream: each brings classes of its own."""
    place = {"warehouse": str(folder / "warehouse")}
    orders = session.range(200).selectExpr("id", "cast(id % 7 AS string) AS city", "id / 2 AS paid")
    for _ in range(2):
        writer = orders.write.format("arctic").mode("upsert").options(**place)
        writer.option("primaryKey", "id").save(_TABLE)
    orders.repartition(2).write.parquet(str(folder / "source"))
    table = session.read.format("arctic").options(**place).load(_TABLE)
    table.filter("id > 20 AND city LIKE '3%'").groupBy("city").sum("paid").orderBy("city").collect()
    table.join(orders.select("id"), "id").selectExpr("max(paid)", "count(DISTINCT city)").toArrow()
    events = session.readStream.schema(orders.schema).parquet(str(folder / "source"))
    stream = events.writeStream.format("arctic").options(**place)
    stream = stream.option("checkpointLocation", str(folder / "checkpoint"))
    stream.trigger(availableNow=True).start(_TABLE).awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
