"""Servers of Spark's in processes of their own, which only their settings tell of Arctic."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyspark

BIN = Path(pyspark.__file__).parent / "bin"
PATIENCE_SECONDS = 240
QUIET = {"spark.master": "local[2]", "spark.ui.enabled": "false", "spark.log.level": "ERROR"}
CONNECT_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def without_python() -> dict[str, str]:
    """Return the variables of a shell in which nothing says which Python there is."""
    return {name: text for name, text in os.environ.items() if not name.startswith("PYSPARK_")}


def flags(settings: Mapping[str, str]) -> list[str]:
    """Return settings as arguments."""
    return [part for name, text in settings.items() for part in ("--conf", f"{name}={text}")]


@contextmanager
def spark_server(
    folder: Path,
    main: str,
    settings: Mapping[str, str],
    ports: Sequence[int],
    *,
    python: str | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a class of Spark's until the block ends, once it listens at these ports.

    Args:
        folder: where it begins, with its output.
        main: the class.
        settings: of Spark.
        ports: that it is to listen at.
        python: what its variables say of a Python for workers.
    """
    named = {} if python is None else {"PYSPARK_PYTHON": python}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [str(BIN / "spark-submit"), *flags(settings), "--class", main, "spark-internal"],
            cwd=folder,
            env=without_python() | named,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        for port in ports:
            _wait_for(port, process, folder / "log")
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def connect_server(
    folder: Path, settings: Mapping[str, str], *, python: str | None = None
) -> Iterator[str]:
    """Run a server of Spark Connect; yield its address.

    Its workers run the Python that those of all tests run, which starts at once, unless another
    one is named.
    """
    port = free_port()
    warm = os.environ.get("PYSPARK_PYTHON", sys.executable)
    given = {**QUIET, **settings, "spark.connect.grpc.binding.port": str(port)}
    if given.get("spark.pyspark.python") == sys.executable:
        given |= {"spark.pyspark.python": warm, "spark.pyspark.driver.python": sys.executable}
    with spark_server(folder, CONNECT_CLASS, given, [port], python=python or warm):
        yield f"sc://localhost:{port}"


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not _listens(port):
        assert process.poll() is None, log.read_text()[-4_000:]
        assert time.monotonic() < deadline, log.read_text()[-4_000:]
        time.sleep(0.2)


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("localhost", port)).close()
    except OSError:
        return False
    return True
