"""The jar with this package's classes: made once for each Spark, of the sources in this package.

The compiler is Janino, which Spark compiles queries with: no JDK is needed, no binary is in the
repository, and what differs between releases of Spark is settled where the package is installed.

Rules:
    - The compiler knows no generics and no lambdas.
    - Executors never see these classes: what is sent to them is Spark's own.
    - A jar is named after all that it depends on and put in its place whole, so it is never wrong
      or half there, whoever else makes it at the same time.
    - A jar without the catalog is never kept: it serves the process that made it, and the next one
      tries again.
    - Jars that nobody has used for long go when another one is made.

Must not know: sessions.
"""

from __future__ import annotations

import hashlib
import io
import logging
import os
import tempfile
import time
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyspark
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.java_gateway import launch_gateway

from arctic.errors import UnsupportedError
from arctic.spark.jvm.java import ensure_java

_ATTEMPTS: tuple[frozenset[str], ...] = (
    frozenset({"no_changes"}),
    frozenset({"changes"}),
    frozenset({"NamedSink", "no_changes"}),
    frozenset({"NamedSink", "changes"}),
    frozenset({"Extensions", "KnownFormat", "NamedSink", "catalog", "changes", "no_changes"}),
)
"""What is left out, one after the other, where a Spark has other names: the changes of a catalog's
tables, which Spark 4.1 does not ask for, the name of a stream's sink, then the catalog, with what a
configuration installs."""

_CATALOG = "arctic/spark/catalog/ArcticCatalog.class"
_ANY_JAR = "*arctic-spark-*.jar*"
_DAY_SECONDS = 86_400
_NOTED_SECONDS, _UNUSED_SECONDS = 7 * _DAY_SECONDS, 180 * _DAY_SECONDS
"""A configuration that somebody wrote down names a jar, and is used seldom."""
_ours: dict[str, Path] = {}
"""Jars that this process has made for itself alone, by name."""

_SPARKS_OWN = "org.apache.spark.SparkBuildInfo"
_RESOURCE = "org.codehaus.commons.compiler.util.resource.Resource"
_JAVA_LEVEL = 8
"""The least that calls static methods of Spark's interfaces."""

_log = logging.getLogger(__name__)


def jar_of(jvm: Any) -> Path:
    """Return the jar for the Spark of a JVM; made, if it is not there yet.

    Raises:
        Py4JError: this Spark is another one than the sources are written for.
    """
    name = f"arctic-spark-{_fingerprint(jvm)}.jar"
    with suppress(OSError):
        known = cache_folder() / name
        if known.is_file():
            _use(known)
            return known
    mine = _ours.get(name)
    if mine is not None and mine.is_file():
        return mine
    classes = _compiled(jvm)
    if _CATALOG in classes:
        with suppress(OSError):
            made = _written(cache_folder(), name, _jar(classes))
            _drop_unused(made.parent)
            return made
        _log.info("the classes are compiled in each session, %s cannot be kept", name)
    _ours[name] = _written(Path(tempfile.mkdtemp(prefix="arctic-jar-")), name, _jar(classes))
    return _ours[name]


def make_jar() -> Path:
    """Return the jar for the Spark that is installed, without a session: ``spark.jars`` takes it.

    Raises:
        StorageError: there is no Java to ask.
        UnsupportedError: the catalog cannot be compiled for this Spark.
        Py4JError: nothing can be.
    """
    ensure_java()
    # Without types.
    gateway: Any = launch_gateway()  # type: ignore[no-untyped-call]
    try:
        made = jar_of(gateway.jvm)
        if made in _ours.values() and not _has_catalog(made):
            raise UnsupportedError(
                f"PySpark {pyspark.__version__}: its classes are not those that the catalog is "
                "written for; install a release that this package supports"
            )
        return made
    finally:
        if gateway.proc is not None:  # None: the JVM was there before, and is another's
            gateway.shutdown()
            gateway.proc.stdin.close()
            gateway.proc.wait()


def cache_folder() -> Path:
    """Return where a user's jars are kept.

    Raises:
        OSError: the user has no home.
    """
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "arctic"
    except RuntimeError as error:
        raise OSError(str(error)) from error


@cache
def sources() -> Mapping[str, str]:
    """Return the sources by their place: ``Protocol`` or ``catalog/CatalogTable``."""
    root = files("arctic.spark.jvm").joinpath("sources")
    found: dict[str, str] = {}
    for folder in ("", "catalog", "changes", "no_changes"):
        for each in root.joinpath(folder).iterdir() if folder else root.iterdir():
            if each.name.endswith(".java"):
                place = f"{folder}/{each.name}" if folder else each.name
                found[place.removesuffix(".java")] = each.read_text(encoding="utf-8")
    return dict(sorted(found.items()))


def _fingerprint(jvm: Any) -> str:
    build = jvm.org.apache.spark.SparkBuildInfo
    digest = hashlib.sha256(f"{build.spark_version()} {build.spark_revision()}".encode())
    digest.update(files("arctic.spark.jvm").joinpath("jar.py").read_bytes())
    for name, text in sources().items():
        digest.update(f"\n{name}\n{text}".encode())
    return digest.hexdigest()[:16]


def _compiled(jvm: Any) -> Mapping[str, bytes]:
    """Return the class files by their paths."""
    for left_out in _ATTEMPTS:
        wanted = {
            name: text
            for name, text in sources().items()
            if name not in left_out and name.partition("/")[0] not in left_out
        }
        try:
            return _compile(jvm, wanted)
        except Py4JJavaError as error:
            if left_out == _ATTEMPTS[-1]:
                raise
            left = _ATTEMPTS[_ATTEMPTS.index(left_out) + 1] - {"changes", "no_changes"}
            _log.log(
                logging.WARNING if left else logging.INFO,
                "%s cannot be compiled for this Spark: %s",
                " and ".join(sorted(left)) or "changes",
                error.java_exception.getMessage(),
            )
    raise AssertionError("unreachable")


def _compile(jvm: Any, wanted: Mapping[str, str]) -> Mapping[str, bytes]:
    resources = jvm.org.codehaus.commons.compiler.util.resource
    arrays = jvm.java.lang.reflect.Array
    named = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    # That of Spark alone: classes that a jar of ours has put beside it are not to be seen.
    loader = named.loadClass(_SPARKS_OWN).getClassLoader()
    given = arrays.newInstance(loader.loadClass(_RESOURCE), len(wanted))
    for place, (name, text) in enumerate(wanted.items()):
        arrays.set(given, place, resources.StringResource(f"{name}.java", text))
    made = resources.MapResourceCreator()
    compiler = jvm.org.codehaus.janino.Compiler()
    compiler.setIClassLoader(jvm.org.codehaus.janino.ClassLoaderIClassLoader(loader))
    compiler.setSourceVersion(_JAVA_LEVEL)
    compiler.setTargetVersion(_JAVA_LEVEL)
    compiler.setClassFileCreator(made)
    compiler.compile(given)
    return {entry.getKey(): bytes(entry.getValue()) for entry in made.getMap().entrySet()}


def _jar(classes: Mapping[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as jar:
        for path, content in sorted(classes.items()):
            jar.writestr(zipfile.ZipInfo(path), content)
    return data.getvalue()


def _has_catalog(jar: Path) -> bool:
    with zipfile.ZipFile(jar) as content:
        return _CATALOG in content.namelist()


def _use(jar: Path) -> None:
    """Note that a jar is needed, at most once in a while."""
    with suppress(OSError):
        if time.time() - jar.stat().st_mtime > _NOTED_SECONDS:
            os.utime(jar)


def _drop_unused(folder: Path) -> None:
    """Remove what other releases and processes that died have left; who has it open keeps it."""
    for each in folder.glob(_ANY_JAR):
        with suppress(OSError):
            if time.time() - each.stat().st_mtime > _UNUSED_SECONDS:
                each.unlink()


def _written(folder: Path, name: str, content: bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    handle, path = tempfile.mkstemp(dir=folder, prefix=f".{name}.")
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    Path(path).chmod(0o644)  # who prints the settings of a driver may be another user than it
    return Path(path).replace(folder / name)
