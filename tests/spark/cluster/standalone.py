"""A real cluster of Spark's own: a master and two workers of one core each, on this machine."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from arctic.spark.jvm.java import ensure_java

PATIENCE_SECONDS = 60
_HOME = Path(pyspark.__file__).parent
_DAEMONS = "org.apache.spark.deploy"


@contextmanager
def running_standalone(folder: Path) -> Iterator[str]:
    """Start a cluster; yield the address of its master, which has its workers.

    Args:
        folder: for logs, and of the workers.
    """
    ensure_java()
    running: list[subprocess.Popen[bytes]] = []
    try:
        running.append(_started(folder / "master.log", "master.Master", *_at(1)))
        address = _told(folder / "master.log", r"Starting Spark master at (spark://\S+)", times=1)
        for number in range(2):
            work = folder / f"work-{number}"
            size = ("--cores", "1", "--memory", "1g", "--work-dir", str(work))
            log = folder / f"worker-{number}.log"
            # Of a task that is slow Spark begins a second one on another host only.
            running.append(_started(log, "worker.Worker", *_at(number + 1), *size, address))
        _told(folder / "master.log", r"Registering worker (\S+)", times=2)
        yield address
    finally:
        for process in running:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _at(host: int) -> tuple[str, ...]:
    return "--host", f"127.0.0.{host}", "--webui-port", "0"


def _started(log: Path, name: str, *arguments: str) -> subprocess.Popen[bytes]:
    environment = {
        **{name: text for name, text in os.environ.items() if not name.startswith("PYSPARK_")},
        "SPARK_HOME": str(_HOME),
        "SPARK_DAEMON_MEMORY": "128m",
        "SPARK_DAEMON_JAVA_OPTS": os.environ.get("SPARK_SUBMIT_OPTS", ""),
    }
    command = [str(_HOME / "bin" / "spark-class"), f"{_DAEMONS}.{name}", *arguments]
    with log.open("wb") as file:
        return subprocess.Popen(
            command, stdout=file, stderr=file, env=environment, start_new_session=True
        )


def _told(log: Path, pattern: str, *, times: int) -> str:
    """Wait until a daemon has told something so many times; return the last of it."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(found := re.findall(pattern, log.read_text(encoding="utf-8"))) < times:
        assert time.monotonic() < deadline, log.read_text(encoding="utf-8")[-4_000:]
        time.sleep(0.1)
    return str(found[-1])
