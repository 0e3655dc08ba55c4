"""A Python for Spark's workers that starts at once: forked from one that has imported everything.

Spark starts a Python for every kind of work of every session, and forks it before it imports
anything; to import Arctic and what it is built on takes seconds of a core, each time. A run of
tests has one process here that imports it once. ``PYSPARK_PYTHON`` is a script that sends it the
arguments, the variables and the streams of a worker that Spark starts, and lives as long as it.

Rules:
    - What is asked for is run as ``python -m`` would: with the same arguments, variables, folders.
    - Only modules of PySpark and our daemon are run this way. What else is asked for is done by the
      real Python, and so is all where no server answers.
    - Tests of what a user's shell does clear that variable, so the real way is tried too.

``python -m tests.warm_python FILE`` serves at the socket of this name until its input ends.
"""

from __future__ import annotations

import array
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import stat
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any, NoReturn

_PRELOADED = (
    "arctic.spark.source",
    "arctic.spark.read.partition_reader",
    "arctic.spark.stream.stream_source",
    "arctic.spark.tasks.spark_tasks",
    "arctic.spark.worker_daemon",
    "arctic.spark.write.task_writer",
    "pandas",
    "pyarrow.parquet",
    "pyspark.daemon",
    "pyspark.sql.worker.create_data_source",
    "pyspark.sql.worker.data_source_pushdown_filters",
    "pyspark.sql.worker.plan_data_source_read",
    "pyspark.sql.worker.write_into_data_source",
    "pyspark.worker",
)
_LONGEST_MESSAGE = 1 << 20
# Without what a site adds, so that it starts in hundredths of a second; it needs only the library.
_SCRIPT = """#!{python} -ISs
import array, json, os, socket, sys
real = {python!r}
arguments = sys.argv[1:]
modules = ("pyspark.", "arctic.spark.worker_daemon")
if len(arguments) < 2 or arguments[0] != "-m" or not arguments[1].startswith(modules):
    os.execv(real, [real, *arguments])
server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
try:
    server.connect({address!r})
except OSError:
    os.execv(real, [real, *arguments])
told = json.dumps({{"arguments": arguments, "folder": os.getcwd(), "variables": dict(os.environ)}})
text = told.encode() + b"\\n"
streams = array.array("i", [0, 1, 2])
sent = server.sendmsg([text], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)])
server.sendall(text[sent:])
server.recv(1)
"""


def serve_python(folder: Path) -> tuple[Path, subprocess.Popen[bytes]]:
    """Begin to serve, and return the script that stands for Python, and the server."""
    address = folder / "python.socket"
    server = subprocess.Popen(
        [sys.executable, "-m", __name__, str(address)],
        stdin=subprocess.PIPE,
        cwd=Path(__file__).parents[1],
        # As Spark has it for its workers: the order of a set must not depend on who has made it.
        env={**os.environ, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"},
    )
    script = folder / "python"
    script.write_text(_SCRIPT.format(python=sys.executable, address=str(address)))
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return script, server


def _serve(address: str) -> None:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(address)
    listening.listen(64)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if os.fork() == 0:
        sys.stdin.buffer.read()  # Ends when the tests have ended, whatever ended them.
        os.kill(os.getppid(), signal.SIGTERM)
        os._exit(0)
    is_ready = False
    while True:
        asking, _ = listening.accept()
        if not is_ready:
            for name in _PRELOADED:
                importlib.import_module(name)
            gc.freeze()  # Or the first collection of each worker would copy all of it.
            is_ready = True
        if os.fork() == 0:
            listening.close()
            _run(asking)
        asking.close()


def _run(asking: socket.socket) -> NoReturn:
    """Become the Python that was asked for."""
    code = 1
    try:
        told, streams = _received(asking)
        os.register_at_fork(after_in_child=asking.close)  # It says how long this one lives.
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.environ.clear()
        os.environ.update(told["variables"])
        os.chdir(told["folder"])
        places = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        sys.path[:0] = [told["folder"], *(place for place in places if place)]
        _, name, *rest = told["arguments"]
        sys.argv = [name, *rest]
        warnings.simplefilter("ignore", RuntimeWarning)  # The module was imported, it says.
        runpy.run_module(name, run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as exit_:
        code = exit_.code if isinstance(exit_.code, int) else 1
    except BaseException:  # noqa: BLE001 - it is the last that sees it
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)


def _received(asking: socket.socket) -> tuple[dict[str, Any], list[int]]:
    streams = array.array("i")
    size = socket.CMSG_SPACE(3 * streams.itemsize)
    text, beside, _, _ = asking.recvmsg(_LONGEST_MESSAGE, size)
    for _, _, sent in beside:
        streams.frombytes(sent[: len(sent) - len(sent) % streams.itemsize])
    while not text.endswith(b"\n"):
        text += asking.recv(_LONGEST_MESSAGE)
    told: dict[str, Any] = json.loads(text)
    return told, list(streams)


if __name__ == "__main__":
    _serve(sys.argv[1])
