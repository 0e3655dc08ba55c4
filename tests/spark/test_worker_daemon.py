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
from tests.other_python import printed, write_bare_python

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it is used on Linux alone")

VARIABLES = {"PYTHON_WORKER_FACTORY_SECRET": "a", "OMP_NUM_THREADS": "1"}
"""What Spark tells the daemon: the second keeps NumPy's library of matrices to one thread."""
STANDARD = ["-m", "pyspark.daemon", "pyspark.worker"]
BEGUN = """
import os
import sys
from pathlib import Path

import arctic

def found(_):
    is_ready = {"arctic.spark.write.task_writer", "pandas", "pyarrow.lib"} <= set(sys.modules)
    import numpy, random
    parent = Path("/proc", str(os.getppid()), "cmdline").read_text().split("\\0")
    is_set = "JE_ARROW_MALLOC_CONF" in os.environ
    drawn = numpy.random.random(), random.random()
    numpy.random.seed(42)
    reads, writes = os.pipe()
    if os.fork() == 0:
        os.write(writes, str(numpy.random.random()).encode())
        os._exit(0)
    below = os.read(reads, 100)
    return parent[2], is_ready, is_set, below, os.getpid(), *drawn

conf = {"spark.log.level": "OFF", "spark.python.worker.reuse": "false"}
spark = arctic.local_session(master="local[1]", conf=conf)
rows = spark.sparkContext.parallelize(range(3), 3).map(found).collect()
frame = spark.createDataFrame([(1, "a"), (2, "b")], "id long, name string")
options = {"warehouse": sys.argv[1], "primaryKey": "id"}
frame.write.format("arctic").mode("upsert").options(**options).save("db.t")
frame.limit(1).write.format("arctic").mode("delete").options(**options).save("db.t")
read = spark.read.format("arctic").option("warehouse", sys.argv[1]).load("db.t").collect()
print(*rows[0][:3], *(len(set(each)) for each in zip(*rows)), *read[0])
"""
EARLIER = """
import arctic
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.log.level", "OFF").getOrCreate()
spark.udf.register("next", lambda number: number + 1, "long")
arctic.register(spark)
print(spark.sql("SELECT next(41)").collect()[0][0])
"""


@contextmanager
def daemon(**variables: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Begin the daemon as Spark does, in the Python of a user; yield it, and its port."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    with subprocess.Popen(
        [sys.executable, "-m", DAEMON, "pyspark.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**kept, **VARIABLES, **variables},
    ) as process:
        assert process.stdout is not None
        yield process, struct.unpack("!i", process.stdout.read(4))[0]


def command(process: int) -> list[str]:
    """Return what a process was begun with."""
    return Path(f"/proc/{process}/cmdline").read_text(encoding="utf-8").split("\0")


@contextmanager
def worker(port: int) -> Iterator[int]:
    """Have a daemon fork a worker, which ends with the connection; yield its process."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        yield struct.unpack("!i", connection.recv(4, socket.MSG_WAITALL))[0]


def instead_of_pandas(folder: Path, text: str) -> str:
    """Have a module found in place of the real one; return the path for it."""
    (folder / "pandas.py").write_text(text)
    return os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))


def test_a_worker_is_forked_with_the_library_in_it() -> None:
    """From a process of one thread."""
    with daemon() as (process, port), worker(port) as forked:
        assert "libarrow" in Path(f"/proc/{forked}/maps").read_text(encoding="utf-8")
        assert len(os.listdir(f"/proc/{process.pid}/task")) == 1
        assert command(process.pid)[2] == DAEMON


@pytest.mark.parametrize(
    "variables",
    [{"JE_ARROW_MALLOC_CONF": "background_thread:true"}, {"OPENBLAS_NUM_THREADS": "2"}],
)
def test_with_another_thread_it_becomes_the_daemon_that_spark_has(
    variables: dict[str, str],
) -> None:
    """Here one that a user's variable asks for; its arguments stay."""
    with daemon(**variables) as (process, port), worker(port) as forked:
        assert command(process.pid)[1:4] == STANDARD
        assert forked > 0


def test_a_package_that_is_not_there_or_writes_is_borne(tmp_path: Path) -> None:
    """Spark would take what it writes for the port."""
    text = "import os\nos.write(1, b'from C')\nprint('from Python')\nraise ImportError"
    with (
        daemon(PYTHONPATH=instead_of_pandas(tmp_path, text)) as (process, port),
        worker(port) as forked,
    ):
        assert command(process.pid)[2] == DAEMON
        assert forked > 0


def test_an_import_that_fails_otherwise_leaves_spark_its_own_daemon(tmp_path: Path) -> None:
    """Functions that do not need it run as ever."""
    text = "raise ValueError('made for another NumPy')"
    with (
        daemon(PYTHONPATH=instead_of_pandas(tmp_path, text)) as (process, port),
        worker(port) as forked,
    ):
        assert command(process.pid)[1:4] == STANDARD
        assert forked > 0


@pytest.mark.spark
def test_a_session_of_a_user_has_such_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also for functions that are not ours: three draw different numbers, their children do not."""
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)

    found = printed(BEGUN, tmp_path).split()

    assert found == [DAEMON, "True", "False", *"1111", *"333", "2", "b"]


@pytest.mark.spark
def test_a_function_that_was_made_before_runs_in_a_python_without_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of the PATH, as long as nobody had named another one."""
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    write_bare_python(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    assert printed(EARLIER, tmp_path) == "42\n"
