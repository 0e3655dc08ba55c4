"""A program that follows a stream until it is killed: one file for each micro-batch.

    python -m tests.spark.follow_stream WAREHOUSE FOLDER

A micro-batch that is run again must be the same again, or a file ``fault`` says so. When a file
``end`` is there, the program takes what is left and ends.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from pyspark.sql import DataFrame

import arctic
from tests.spark.lake import NAME


def main(warehouse: str, folder: Path) -> None:
    """Follow the table."""

    def take(frame: DataFrame, number: int) -> None:
        events = [tuple(row) for row in frame.collect()]
        path = folder / f"{number:05}.json"
        # By their texts: values of one column may be null.
        before = path.exists() and sorted(map(repr, map(tuple, json.loads(path.read_text()))))
        if before not in (False, sorted(map(repr, events))):
            (folder / "fault").write_text(f"{number}: {path.read_text()} became {events}")
        draft = path.with_suffix(".draft")
        draft.write_text(json.dumps(events))
        draft.rename(path)

    spark = arctic.local_session(master="local[1]", conf={"spark.log.level": "OFF"})
    stream = (
        spark.readStream.format("arctic")
        .option("warehouse", warehouse)
        .option("streaming-max-rows-per-micro-batch", "16")
        .load(NAME)
    )
    query = (
        stream.writeStream.foreachBatch(take)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .start()
    )
    while not (folder / "end").exists():
        time.sleep(0.05)
    query.processAllAvailable()
    query.stop()
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
