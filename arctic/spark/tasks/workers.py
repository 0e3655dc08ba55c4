"""The Python that Spark runs our tasks in: this one where it can be, else one that is looked at.

Spark takes the first ``python3`` of the PATH for its workers, which is another one than that of the
session wherever an environment is called by its path: from an editor, a notebook, a scheduler. What
follows is a page of Java and Python that ends with a module that is missing.

Rules:
    - A Python that the user names for the workers (PYSPARK_PYTHON) stays.
    - Nothing is written before the workers were found to have what our tasks import; they are
      looked at once for each session.
    - Nor are they forked from what imports first, before they were found to have it; what the user
      names for that stays too.
    - Workers of this machine alone are begun here as Spark begins them, and asked: a job of Spark,
      the first of a session, takes far longer. It is run where they do not tell that all is well,
      and says what is wrong.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from weakref import WeakSet

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from arctic.errors import StorageError
from arctic.spark.base.private_names import is_classic, jvm, jvm_context

WORKER_VARIABLE = "PYSPARK_PYTHON"
"""Names the Python of the workers; read when a session starts."""

DAEMON_SETTING = "spark.python.daemon.module"
"""Of Spark: which module forks the workers of an executor; read whenever one is to be forked."""
DAEMON = "arctic.spark.worker_daemon"
_LIMIT_SETTING = "spark.executor.pyspark.memory"

_NEEDED = ("arctic", "pyarrow", "pyiceberg")
_ASK = """
import sys
from importlib.util import find_spec
import arctic

version, *needed = sys.argv[1:]
sys.exit(arctic.__version__ != version or any(find_spec(name) is None for name in needed))
"""
_LONGEST_SECONDS = 30
_MOST_EXECUTORS = 64
"""So many are looked at; the others of a cluster are like them."""
_REASON = re.compile(r"\[PYTHON_VERSION_MISMATCH\].*|Cannot run program .*|No module named .*")

_good: WeakSet[Any] = WeakSet()
"""Whose workers were looked at: contexts of classic sessions, Connect sessions."""


def use_this_python(session: SparkSession) -> None:
    """Have the workers of a classic session on this machine run the Python of this process.

    Of functions that are given to Spark from now on; a worker takes its Python from them.
    """
    if not is_classic(session) or os.environ.get(WORKER_VARIABLE):
        return
    if is_local(session) and sys.executable:
        session.sparkContext.pythonExec = sys.executable


def use_ready_workers(session: SparkSession, *, before: str | None = None) -> None:
    """Have the workers of a classic session on this machine forked with all imported already.

    Where that was measured: on Linux. The workers of other functions are forked from it as well,
    so it must be found by each Python that runs them, and leave room where their memory is limited.

    Args:
        session: any; only of some the tasks run here.
        before: the Python of functions that were given to Spark so far.
    """
    if not _runs_tasks_here(session) or sys.platform != "linux":
        return
    # The one that the executor of this JVM reads; a session shows a copy of it.
    conf = jvm_context(session.sparkContext).conf()
    if conf.contains(DAEMON_SETTING) or conf.contains(_LIMIT_SETTING):
        return
    pythons = {session.sparkContext.pythonExec}
    if before is not None and shutil.which(before) is not None:
        pythons.add(before)
    if all(_tells_all_is_well(session, python) for python in pythons):
        _good.add(session.sparkContext)
        conf.set(DAEMON_SETTING, DAEMON)


def is_local(session: SparkSession) -> bool:
    """Say whether a classic session runs on this machine alone."""
    master: str | None = session.sparkContext.master
    return master is not None and re.match(r"local(\[|-cluster\[|$)", master) is not None


def check_workers(session: SparkSession) -> None:
    """Make sure that the workers of a session can run our tasks.

    Raises:
        StorageError: they cannot; the message says which Python that is, and what to do.
    """
    classic = is_classic(session)
    subject: Any = session.sparkContext if classic else session
    if subject in _good:
        return
    if _runs_tasks_here(session) and _tells_all_is_well(session, session.sparkContext.pythonExec):
        _good.add(subject)
        return
    count = _executors(session) if classic else 1
    look = _look(_NEEDED, _version())
    looked_at: Callable[..., Column] = F.udf(look, "string", useArrow=False)
    try:
        rows = session.range(0, count, 1, count).select(looked_at("id").alias("found")).collect()
    except (PySparkException, Py4JError) as error:
        raise StorageError(
            f"Spark's workers cannot run Python functions of this session: {_reason(str(error))}; "
            f"{_remedy(session)}"
        ) from error
    for row in rows:
        if row.found is not None:
            raise StorageError(f"Spark's workers {row.found}; {_remedy(session)}")
    _good.add(subject)


def check_cluster(session: SparkSession) -> None:
    """Do the same before a read where workers are processes of others, which no error tells better.

    Raises:
        StorageError: they cannot run our tasks.
    """
    if not is_classic(session) or is_local(session):
        return
    python = session.sparkContext.pythonExec
    if shutil.which(python) is None:
        raise StorageError(
            f"Spark's driver plans reads with the workers' Python, {python!r}, which is not there "
            f"on {socket.gethostname()!r}: begin the driver in a folder where that path leads to "
            f"one, or set {WORKER_VARIABLE} to a path that does so on every machine"
        )
    check_workers(session)


def _runs_tasks_here(session: SparkSession) -> bool:
    """Say whether the JVM beside this process runs the tasks of a session, and begins workers."""
    if not is_classic(session):
        return False
    return re.match(r"local(\[|$)", session.sparkContext.master or "") is not None


def _tells_all_is_well(session: SparkSession, python: str) -> bool:
    """Say whether a Python, begun here as workers are, has what our tasks import."""
    system = jvm(session).java.lang.System
    given = session.sparkContext.environment
    paths = (given.get("PYTHONPATH"), system.getenv("PYTHONPATH"))
    try:
        done = subprocess.run(
            [python, "-c", _ASK, _version(), *_NEEDED, DAEMON],
            cwd=system.getProperty("user.dir"),
            env={**os.environ, **given, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            capture_output=True,
            timeout=_LONGEST_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


def _version() -> str:
    version: str = import_module("arctic").__version__
    return version


def _look(needed: tuple[str, ...], version: str) -> Callable[[int], str | None]:
    """Return a function that tells what a worker lacks; None: nothing.

    One within another travels as it is, not as the name of a module that may not be there.
    """

    def look(_: int) -> str | None:
        missing = [name for name in needed if find_spec(name) is None]
        if missing:
            lacks = f"has no package {', '.join(missing)}"
        else:
            theirs = import_module("arctic").__version__
            if theirs == version:
                return None
            lacks = f"has arctic {theirs}, and this process {version}"
        return f"on {socket.gethostname()!r} run {sys.executable!r}, which {lacks}"

    return look


def _executors(session: SparkSession) -> int:
    others = int(jvm_context(session.sparkContext).getExecutorMemoryStatus().size()) - 1
    return max(1, min(others, _MOST_EXECUTORS))


def _reason(text: str) -> str:
    found = _REASON.search(text)
    return found.group(0) if found else text.strip().partition("\n")[0]


def _remedy(session: SparkSession) -> str:
    if is_classic(session) and is_local(session):
        use = f"set it to {sys.executable!r} before the session starts"
        return f"leave {WORKER_VARIABLE} out, or {use}"
    package = "arctic.package_zip('arctic.zip')"
    if is_classic(session):
        begins, sends = "session", f"sparkContext.addPyFile({package})"
    else:
        begins, sends = "server", f"addArtifacts({package}, pyfile=True)"
    return (
        "install arctic-lakehouse there, in the version of this process, or name a Python that has "
        f"it: set {WORKER_VARIABLE} before the {begins} starts; to workers that have all but "
        f"Arctic {sends} sends it, with a arctic.register(spark) after it"
    )
