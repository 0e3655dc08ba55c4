"""A session that writes an event log, and uses a table in every way with secrets in its options.

Arguments: a folder, and the text that stands in each secret. Prints what Spark shows of the plans.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from urllib.request import urlopen

from pyspark.errors import PySparkException

import arctic
from arctic.errors import ArcticError


def _fails(call: Callable[[], object]) -> None:
    try:
        call()
    except (ArcticError, PySparkException) as error:
        print(error)
    else:
        raise AssertionError("expected an error")


def main(folder: str, mark: str) -> None:
    """Write, read, view, stream and fail."""
    spark = arctic.local_session(
        master="local[1]",
        conf={
            "spark.ui.enabled": "true",
            "spark.ui.port": "0",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": f"file://{folder}/events",
            "spark.sql.shuffle.partitions": "1",
            "spark.ui.showConsoleProgress": "false",
        },
    )
    secrets = {
        "catalog.uri": f"sqlite:///{folder}/c.db",
        "catalog.warehouse": f"{folder}/lake",
        "catalog.s3.secret-access-key": mark,
        "catalog.header.X-Auth": mark,
        "catalog.adls.account-key": mark,
        "catalog.adls.connection-string": f"AccountKey={mark};x",
        "catalog.other": f"postgresql://u:{mark}@h/db",
    }
    frame = spark.createDataFrame([(1, "a"), (2, "b")], "id long, v string")
    writer = frame.write.format("arctic").options(**secrets)
    writer.option("primaryKey", "id").mode("upsert").save("s.t")
    frame.write.format("arctic").options(**secrets).mode("overwrite").save("s.t")

    reader = spark.read.format("arctic").options(**secrets)
    read = reader.load("s.t").filter("id > 0")
    assert len(read.collect()) == 2
    for mode in ("extended", "formatted", "cost", "codegen"):
        read.explain(mode=mode)
    reader.load("s.t").createOrReplaceTempView("x")
    spark.sql("INSERT INTO x VALUES (3, 'c')")
    assert spark.sql("SELECT sum(id) FROM x").first() == (6,)
    spark.sql("EXPLAIN EXTENDED SELECT * FROM x").show(truncate=False)
    _fails(lambda: reader.load("s.nope").count())
    wider = frame.selectExpr("*", "1 AS more").write.format("arctic").options(**secrets)
    _fails(lambda: wider.mode("upsert").save("s.t"))
    query = (
        spark.readStream.format("arctic")
        .options(**secrets)
        .load("s.t")
        .select("id", "v")
        .writeStream.format("arctic")
        .options(**secrets)
        .option("primaryKey", "id")
        .option("checkpointLocation", f"{folder}/checkpoint")
        .trigger(availableNow=True)
        .start("s.copy")
    )
    query.awaitTermination()
    query.explain(extended=True)
    print(query.lastProgress)
    page = spark.sparkContext.uiWebUrl
    application = spark.sparkContext.applicationId
    for part in (
        "SQL/",
        "environment/",
        "StreamingQuery/",
        f"api/v1/applications/{application}/sql",
    ):
        with urlopen(f"{page}/{part}?details=true&planDescription=true") as answer:
            print(answer.read().decode())
    spark.stop()
    print("done")


if __name__ == "__main__":
    main(*sys.argv[1:])
