"""The stream of a soak as a query of Spark: one file, one batch, one operation."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import arctic
from soak.model import operation
from soak.report import Reporter
from soak.workers import Place

_MOST_WAITING = 5
_PAUSE_SECONDS = 0.05
_TRIES = 20
_COLUMNS = "id long, region string, operation long, note string"


class _Query:
    """One query, started again where it says to try again."""

    def __init__(self, session: SparkSession, table: str, place: Place, reporter: Reporter) -> None:
        folder = Path(place.warehouse).parent / "stream" / table
        self._files, self._checkpoint = folder / "files", folder / "checkpoint"
        self._files.mkdir(parents=True)
        self._session, self._table = session, table
        self._place, self._reporter = place, reporter
        self._dropped = 0
        self._query = self._started()

    def _started(self) -> StreamingQuery:
        frame: DataFrame = (
            self._session.readStream.schema(_COLUMNS)
            .option("maxFilesPerTrigger", "1")
            .parquet(str(self._files))
        )
        return (
            frame.writeStream.format("arctic")
            .option("warehouse", self._place.warehouse)
            .option("checkpointLocation", str(self._checkpoint))
            .option("write-mode", "upsert")
            .start(self._table)
        )

    def look(self) -> None:
        """Start the query again if it has ended."""
        if self._query.isActive:
            return
        error = self._query.exception()
        if error is not None and "arctic.errors.ConflictError" in str(error):
            self._reporter.retried += 1
        else:
            self._reporter.failures.append(f"a stream into {self._table} ended: {error}")
        self._query = self._started()

    def drop(self) -> bool:
        """Give it the next operation, unless too many wait already."""
        progress = self._query.lastProgress
        done = 0 if progress is None else int(progress["batchId"]) + 1
        if self._dropped - done > _MOST_WAITING:
            return False
        next_one = operation(self._place.seed, self._table, "stream", self._dropped)
        path = self._files / f"{self._dropped:08}.parquet"
        hidden = path.with_name(f".{path.name}")
        pq.write_table(next_one.data(), hidden)
        hidden.rename(path)
        self._dropped += 1
        return True

    def finish(self) -> int:
        """Wait until every file is in the table; return how many there were."""
        for _ in range(_TRIES):
            self.look()
            try:
                self._query.processAllAvailable()
                break
            except StreamingQueryException:
                continue
        self._query.stop()
        return self._dropped


def stream_by_spark(place: Place, reporter: Reporter) -> None:
    """Feed each table by a query of its own."""
    session = arctic.local_session(master="local[2]")
    queries = {table: _Query(session, table, place, reporter) for table in place.tables}
    while not place.is_over:
        for query in queries.values():
            query.look()
            reporter.operations += query.drop()
        reporter.tell()
        time.sleep(_PAUSE_SECONDS)
    for table, query in queries.items():
        reporter.counts[table] = query.finish()
        reporter.tell()
    session.stop()
