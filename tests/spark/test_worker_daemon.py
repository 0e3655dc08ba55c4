"""Workers of Spark begin with all imported, and are never forked beside another thread."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from arctic.spark.tasks.workers import DAEMON

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it is used on Linux alone")

VARIABLES = {"PYTHON_WORKER_FACTORY_SECRET": "a", "OMP_NUM_THREADS": "1"}
"""What Spark tells the daemon: the second keeps NumPy's library of matrices to one thread."""
BEGUN = """
import os
import sys
from pathlib import Path

import arctic

def found(batches):
    had = set(sys.modules)
    import pyarrow as pa
    for _ in batches:
        parent = Path("/proc", str(os.getppid()), "cmdline").read_text().split("\\0")
        is_ready = {"arctic.spark.write.task_writer", "pandas", "pyarrow.lib"} <= had
        yield pa.RecordBatch.from_pydict({"parent": [parent[2]], "is_ready": [is_ready]})

spark = arctic.local_session(master="local[1]", conf={"spark.log.level": "OFF"})
rows = spark.range(1).mapInArrow(found, "parent string, is_ready boolean").collect()
frame = spark.createDataFrame([(1, "a"), (2, "b")], "id long, name string")
options = {"warehouse": sys.argv[1], "primaryKey": "id"}
frame.write.format("arctic").mode("upsert").options(**options).save("db.t")
frame.limit(1).write.format("arctic").mode("delete").options(**options).save("db.t")
read = spark.read.format("arctic").option("warehouse", sys.argv[1]).load("db.t").collect()
print(*rows[0], *read[0])
"""


@contextmanager
def daemon(**variables: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Begin the daemon as Spark does, in the Python of a user; yield it, and its port."""
    with subprocess.Popen(
        [sys.executable, "-m", DAEMON, "pyspark.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **VARIABLES, **variables},
    ) as process:
        assert process.stdout is not None
        yield process, struct.unpack("!i", process.stdout.read(4))[0]


def command(process: int) -> list[str]:
    """Return what a process was begun with."""
    return Path(f"/proc/{process}/cmdline").read_text(encoding="utf-8").split("\0")


def test_a_worker_is_forked_with_the_library_in_it() -> None:
    """From a process of one thread, whose children keep no variable that a user has not set."""
    with daemon() as (process, port), socket.create_connection(("127.0.0.1", port)) as worker:
        forked = struct.unpack("!i", worker.recv(4, socket.MSG_WAITALL))[0]

        assert "libarrow" in Path(f"/proc/{forked}/maps").read_text(encoding="utf-8")
        assert len(os.listdir(f"/proc/{process.pid}/task")) == 1
        assert command(process.pid)[2] == DAEMON


def test_with_another_thread_it_becomes_the_daemon_that_spark_has() -> None:
    """Here one of PyArrow's, which a user's variable asks for; its arguments stay."""
    with daemon(JE_ARROW_MALLOC_CONF="background_thread:true") as (process, port):
        assert port > 0
        assert command(process.pid)[1:4] == ["-m", "pyspark.daemon", "pyspark.worker"]


@pytest.mark.spark
def test_a_session_of_a_user_has_such_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those of functions that are not ours, and they write and read."""
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    done = subprocess.run(
        [sys.executable, "-c", BEGUN, str(tmp_path / "lake")],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr[-4_000:]
    assert done.stdout.split() == [DAEMON, "True", "2", "b"]
