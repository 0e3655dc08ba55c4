"""Programs on a cluster, each of which compares its tables with what they must hold.

Run as a process: ``python -m tests.spark.cluster.driver PROGRAM MASTER FOLDER [ARCHIVES]``, or this
file by itself or by ``spark-submit``; it prints what is done, a line each. The session speculates:
of a slow task a second one begins.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import arctic
from arctic.errors import StorageError
from arctic.spark.tasks.workers import DAEMON, DAEMON_SETTING

_HUNG_SECONDS = 120
PLAIN, MOVING = "db.plain", "db.moving"
SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "700m",
    "spark.executor.memory": "700m",
    # Executors live for seconds too: as the JVMs of tests do, so do theirs.
    "spark.executor.extraJavaOptions": os.environ.get("SPARK_SUBMIT_OPTS", ""),
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.showConsoleProgress": "false",
    # What runs is told when it begins: a task may end within the 100 ms of the default.
    "spark.ui.liveUpdate.period": "0ms",
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.3",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.minTaskRuntime": "500ms",
}


class Lake:
    """Two tables in one warehouse, and the rows that must be in them, by id."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.rows: dict[str, dict[int, tuple[str, int]]] = {PLAIN: {}, MOVING: {}}

    def frame(self, low: int, high: int, version: int) -> DataFrame:
        """Rows with these ids, over four tasks; the region of an id depends on the version."""
        region = F.concat(F.lit("r"), (F.col("id") + version) % 3)
        frame = self.spark.range(low, high, 1, 4)
        return frame.select("id", region.alias("region"), F.lit(version).cast("long").alias("v"))

    def know(self, table: str, low: int, high: int, version: int) -> None:
        """Expect these rows."""
        for number in range(low, high):
            self.rows[table][number] = (f"r{(number + version) % 3}", version)

    def put(self, table: str, low: int, high: int, version: int, *, slow: bool = False) -> None:
        """Upsert rows; their tasks take a while if told to."""
        frame = self.frame(low, high, version)
        if slow:
            frame = frame.mapInArrow(_slowly, frame.schema)
        writer = frame.write.format("arctic").option("warehouse", self.warehouse)
        if table == MOVING:
            writer = writer.option("partitionBy", "region")
        writer.option("primaryKey", "id").mode("upsert").save(table)
        self.know(table, low, high, version)

    def check(self) -> None:
        """Compare both tables, read by this cluster and without it."""
        for table, rows in self.rows.items():
            if not rows:
                continue
            read = self.spark.read.format("arctic").option("warehouse", self.warehouse)
            found = [tuple(row) for row in read.load(table).select("id", "region", "v").collect()]
            expected = sorted((number, *values) for number, values in rows.items())
            assert sorted(found) == expected, (table, len(found), len(expected))
            alone = arctic.read(table, warehouse=self.warehouse).read_all()
            assert sorted(zip(*alone.to_pydict().values(), strict=True)) == expected, table

    def optimize(self, table: str) -> None:
        """Put all of a table into new files, in tasks of the cluster."""
        arctic.optimize(table, type="full", spark=self.spark, warehouse=self.warehouse)

    def stream(self, table: str, low: int, high: int, version: int) -> None:
        """Upsert rows by a stream of files, in one batch."""
        source = self.folder / f"source-{version}"
        self.frame(low, high, version).write.parquet(str(source))
        events = self.spark.readStream.schema("id long, region string, v long")
        writer = events.parquet(str(source)).writeStream.format("arctic")
        writer = writer.option("checkpointLocation", str(self.folder / f"checkpoint-{version}"))
        writer = writer.option("warehouse", self.warehouse).option("write-mode", "upsert")
        writer.trigger(availableNow=True).start(table).awaitTermination()
        self.know(table, low, high, version)

    @property
    def warehouse(self) -> str:
        """The folder of the tables."""
        return str(self.folder / "warehouse")


def _slowly(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    time.sleep(1.0)
    yield from batches


def verbs(lake: Lake) -> None:
    """Write, change, optimize and follow tables by tasks of both workers."""
    spark = lake.spark
    assert spark.sparkContext.defaultParallelism == 2, "not both workers have come"
    forked = spark.sparkContext.parallelize([0], 1).map(lambda _: _forked_by()).collect()
    assert forked == [DAEMON], forked
    lake.put(PLAIN, 0, 5_000, 1)
    lake.put(PLAIN, 4_000, 6_000, 2)
    lake.put(MOVING, 0, 900, 1)
    lake.put(MOVING, 300, 1_200, 2)
    lake.check()
    print("upsert", flush=True)

    gone = spark.range(100, 300).write.format("arctic").option("warehouse", lake.warehouse)
    gone.mode("delete").save(PLAIN)
    for number in range(100, 300):
        del lake.rows[PLAIN][number]
    spark.conf.set("spark.sql.catalog.arctic.warehouse", lake.warehouse)
    lake.frame(5_000, 7_000, 3).createOrReplaceTempView("news")
    spark.sql(
        f"MERGE INTO arctic.{PLAIN} t USING news s ON t.id = s.id "
        "WHEN MATCHED AND s.id < 5500 THEN DELETE WHEN MATCHED THEN UPDATE SET v = t.v + s.v "
        "WHEN NOT MATCHED THEN INSERT *"
    )
    for number in range(5_000, 5_500):
        del lake.rows[PLAIN][number]
    for number in range(5_500, 6_000):
        region, version = lake.rows[PLAIN][number]
        lake.rows[PLAIN][number] = (region, version + 3)
    lake.know(PLAIN, 6_000, 7_000, 3)
    lake.check()
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    lake.check()
    spark.conf.unset("spark.sql.codegen.wholeStage")
    print("delete, merge", flush=True)

    lake.optimize(PLAIN)
    lake.optimize(MOVING)
    lake.stream(PLAIN, 6_500, 7_500, 4)
    lake.check()
    changes = spark.readStream.format("arctic").option("warehouse", lake.warehouse)
    query = changes.load(PLAIN).writeStream.format("memory").queryName("seen")
    query.trigger(availableNow=True).start().awaitTermination()
    seen = spark.sql("SELECT count(DISTINCT id) FROM seen WHERE v = 4").collect()
    assert seen[0][0] == 1_000, seen
    print("optimize, stream", flush=True)


def kills(lake: Lake) -> None:
    """Lose an executor in the middle of each kind of work."""
    lake.put(PLAIN, 0, 20_000, 1)
    lake.put(MOVING, 0, 3_000, 1)
    works: dict[str, Callable[[], None]] = {
        "save": lambda: lake.put(PLAIN, 10_000, 30_000, 2, slow=True),
        "look-up": lambda: lake.put(MOVING, 1_500, 4_500, 2, slow=True),
        "optimize": lambda: lake.optimize(PLAIN),
        "stream": lambda: lake.stream(PLAIN, 25_000, 45_000, 3),
    }
    for name, work in works.items():
        with _executor_killed(lake.spark):
            work()
        lake.check()
        print(name, flush=True)


def speculation(lake: Lake) -> None:
    """Let one task of a save hang, so that Spark begins it a second time and takes that one."""
    hung = lake.folder / "hung"

    def once(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches
        try:
            hung.touch(exist_ok=False)
        except FileExistsError:
            return
        time.sleep(_HUNG_SECONDS)

    for version, tasks in ((1, 2), (2, 4)):  # so few write themselves, more are shuffled first
        hung.unlink(missing_ok=True)
        frame = lake.frame(0, 4_000, version).coalesce(tasks)
        writer = frame.mapInArrow(once, frame.schema).write.format("arctic")
        writer = writer.option("warehouse", lake.warehouse).option("primaryKey", "id")
        began = time.monotonic()
        writer.mode("upsert").save(PLAIN)
        lake.know(PLAIN, 0, 4_000, version)
        assert hung.exists()
        assert time.monotonic() - began < _HUNG_SECONDS, "the task that hung was waited for"
        lake.check()
    print("second attempt", flush=True)


def bare(lake: Lake) -> None:
    """Have workers that lack the package: one error, until it is sent to them."""
    _refused(lambda: lake.put(PLAIN, 0, 100, 1))
    _refused(lambda: lake.spark.read.format("arctic").load(PLAIN))
    assert not Path(lake.warehouse).exists()

    sent = arctic.package_zip(lake.folder / "arctic.zip")
    lake.spark.sparkContext.addPyFile(sent)
    arctic.register(lake.spark)
    _done_with_what_was_sent(lake)
    print("sent", flush=True)


def submitted(lake: Lake) -> None:
    """Be sent along by ``spark-submit --py-files``: driver and workers import what was sent."""
    assert ".zip" in arctic.__file__, arctic.__file__
    _done_with_what_was_sent(lake)
    print("submitted", flush=True)


def archived(lake: Lake) -> None:
    """Have workers run the Python of an archive, with the package that is in it."""
    lake.put(PLAIN, 0, 1_000, 1)
    context = lake.spark.sparkContext
    found = context.parallelize(range(8), 8).map(lambda _: (sys.prefix, arctic.__file__)).collect()
    for prefix, package in found:
        assert package.startswith(f"{prefix}/lib/"), found
        assert "/work-" in prefix, found
    _done_with_what_was_sent(lake)
    print("archived", len(set(found)), flush=True)


def _forked_by() -> str:
    """Return the module that the worker's parent runs."""
    spec = sys.modules["__main__"].__spec__
    return spec.name if spec is not None else ""


def _done_with_what_was_sent(lake: Lake) -> None:
    lake.put(PLAIN, 0, 1_000, 1)
    lake.put(PLAIN, 500, 1_500, 2)
    lake.check()
    lake.optimize(PLAIN)
    lake.check()


def _refused(work: Callable[[], object]) -> None:
    try:
        work()
    except StorageError as error:
        print(error, flush=True)


@contextmanager
def _executor_killed(spark: SparkSession) -> Iterator[None]:
    """Kill an executor as soon as it has work."""
    application = str(spark.sparkContext.applicationId)
    killed, over = threading.Event(), threading.Event()

    def watch() -> None:
        tracker = spark.sparkContext.statusTracker()
        while not over.wait(0.02):
            stages = [tracker.getStageInfo(each) for each in tracker.getActiveStageIds()]
            if any(stage is not None and stage.numActiveTasks > 0 for stage in stages):
                os.kill(_executors(application)[0], signal.SIGKILL)
                killed.set()
                return

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
    assert killed.is_set(), "no task was seen"


def _executors(application: str) -> list[int]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        if "CoarseGrainedExecutorBackend" in command and application in command:
            found.append(int(process.name))
    return found


PROGRAMS: dict[str, Callable[[Lake], None]] = {
    "verbs": verbs,
    "kills": kills,
    "speculation": speculation,
    "bare": bare,
    "submitted": submitted,
    "archived": archived,
}


def main(names: str, master: str, folder: Path, archives: str = "") -> None:
    """Run programs one after the other, each with tables of its own."""
    sent = {"spark.archives": archives} if archives else {}
    if "verbs" in names.split(","):  # workers have the package
        sent[DAEMON_SETTING] = DAEMON
    spark = arctic.local_session(master=master, app_name=names, conf={**SETTINGS, **sent})
    for name in names.split(","):
        home = folder / name
        home.mkdir()
        PROGRAMS[name](Lake(spark, home))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), *sys.argv[4:])
