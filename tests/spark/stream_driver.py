"""A driver whose life may end at any moment: it writes the files of a folder into a table.

Run as a process: ``python -m tests.spark.stream_driver FOLDER MODE``; it prints a line when the
query runs and ends when everything is written.
"""

from __future__ import annotations

import sys
from pathlib import Path

import arctic
from tests.spark.lake import NAME

FIELDS = "id long, region string, amount double"


def main(folder: Path, mode: str) -> None:
    """Write what is not written yet."""
    conf = {"spark.sql.shuffle.partitions": "2", "spark.log.level": "OFF"}
    session = arctic.local_session(master="local[2]", app_name="arctic-stream-driver", conf=conf)
    events = session.readStream.schema(FIELDS).option("maxFilesPerTrigger", "1")
    writer = events.parquet(str(folder / "source")).writeStream.format("arctic")
    writer = writer.options(
        warehouse=str(folder / "warehouse"), checkpointLocation=str(folder / "checkpoint")
    )
    query = writer.option("write-mode", mode).trigger(availableNow=True).start(NAME)
    print("started", flush=True)
    query.awaitTermination()
    print("done", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
