"""Where Spark's Python workers are forked from, with all imported that tasks of ours import.

Spark forks its workers before they import anything, and ends those that were idle for a minute. So
each upsert after a longer pause would wait for a second and more until others have imported it all
again. Spark runs this in place of ``pyspark.daemon``, where ``spark.python.daemon.module`` says so.

Rules:
    - A process of more than one thread is not forked: a child may find a lock held by a thread that
      it does not have. Where an import began one, this becomes the daemon that Spark has. (Spark
      keeps OpenBLAS, which NumPy brings, to one thread for each CPU of a task.)
    - Each worker draws other random numbers: NumPy's generator, imported here, begins anew in it.
      What a worker forks in its turn is left as it is.
    - What is not there is left to the workers, whose errors reach the caller. Where an import fails
      in another way, Spark has its own daemon.
    - Spark reads the place of the daemon from its output, so nothing else may write there.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from pyspark import daemon

from arctic.late_import import imported

_STANDARD = "pyspark.daemon"
_IMPORTED = (
    "arctic.spark.write.task_writer",
    "arctic.spark.read.partition_reader",
    "arctic.spark.tasks.spark_tasks",
    "arctic.iceberg.values.transforms",
    "pandas",  # by PyArrow, when it makes the first array of Python's values
    "pyarrow.pandas_compat",
    "pyspark.sql.session",
    "pyspark.worker",
)
_ALLOCATOR = "JE_ARROW_MALLOC_CONF"
"""Of one of PyArrow's allocators, which begins a thread when it is loaded, even if never used."""
_THREADS = Path("/proc/self/task")


def main() -> None:
    """Import all, then fork a worker whenever Spark asks for one, until it ends."""
    try:
        with _output_elsewhere(), _without_its_thread():
            for name in _IMPORTED:
                with suppress(ImportError):
                    imported(name)
        is_alone = len(list(_THREADS.iterdir())) == 1
    except Exception:  # noqa: BLE001 - functions of others run in these workers too
        is_alone = False
    if not is_alone:
        flags = sys.orig_argv[1 : sys.orig_argv.index("-m")]
        os.execv(sys.executable, [sys.executable, *flags, "-m", _STANDARD, *sys.argv[1:]])
    os.register_at_fork(after_in_child=partial(_seed, os.getpid()))  # Python's own does by itself.
    # No worker's collector goes through it, and no page is copied for that.
    gc.collect()
    gc.freeze()
    daemon.manager()


def _seed(parent: int) -> None:
    numbers = sys.modules.get("numpy.random")
    if numbers is not None and os.getppid() == parent:
        numbers.seed()


@contextmanager
def _output_elsewhere() -> Iterator[None]:
    """Send what Python or a library in C writes to the output to where errors go."""
    output = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(output, 1)
        os.close(output)


@contextmanager
def _without_its_thread() -> Iterator[None]:
    """Load the allocator as it is in a child of a fork anyway; what a user has set stays."""
    if _ALLOCATOR in os.environ:
        yield
        return
    os.environ[_ALLOCATOR] = "background_thread:false"
    try:
        yield
    finally:
        del os.environ[_ALLOCATOR]


if __name__ == "__main__":
    main()
