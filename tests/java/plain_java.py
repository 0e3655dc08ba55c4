"""A Java of its own with plain Iceberg, driven from here: no Spark runs in it.

The jars are those of ``pom.xml`` beside this file, which ``make`` puts into the environment. Of
PySpark there are only Hadoop, the compiler and what carries calls. Where the jars are missing,
tests are skipped, and a skipped test fails in CI.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark
import pytest
from py4j.java_gateway import (  # type: ignore[import-untyped]
    GatewayParameters,
    JavaGateway,
    launch_gateway,
)

from arctic.errors import StorageError
from arctic.spark.jvm.java import ensure_java

_FOLDER = Path(sys.prefix) / "iceberg-java"
_PYSPARK = Path(pyspark.__file__).parent / "jars"
_OF_PYSPARK = ("py4j-*.jar", "hadoop-client-*.jar", "janino-*.jar", "commons-compiler-*.jar")
_SOURCES = Path(__file__).parent / "sources"
_OPTIONS = [
    # It lives for seconds: the second compiler would cost more than it gives.
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Xshare:auto",
    "-Xmx512m",
]


def _jars() -> list[Path]:
    jars = sorted(_FOLDER.glob("*.jar"))
    if not jars:
        pytest.skip(f"needs Maven: `make test-servers` puts Iceberg's Java into {_FOLDER}")
    return [*jars, *(jar for pattern in _OF_PYSPARK for jar in sorted(_PYSPARK.glob(pattern)))]


@contextmanager
def running_java(more: Sequence[Path] = ()) -> Iterator[Any]:
    """Start a Java, with more jars if told; yield its classes by their names, as attributes."""
    # Those first: Iceberg's own tests replace a class of s3a.
    with running_jars([*more, *_jars()]) as jvm:
        yield jvm


@contextmanager
def running_jars(jars: Sequence[Path], options: Sequence[str] = ()) -> Iterator[Any]:
    """Start a Java with these jars, py4j's among them; yield its classes as ``running_java``."""
    try:
        ensure_java()
    except StorageError as error:
        pytest.skip(error.message)
    home = os.environ.get("JAVA_HOME")
    port, token, process = launch_gateway(
        jarpath=str(next(jar for jar in jars if jar.name.startswith("py4j-"))),
        classpath=os.pathsep.join(map(str, jars)),
        javaopts=[*_OPTIONS, *options],
        java_path=f"{home}/bin/java" if home else "java",
        die_on_exit=True,
        enable_auth=True,
        return_proc=True,
    )
    parameters = GatewayParameters(port=port, auth_token=token, auto_convert=True)
    gateway = JavaGateway(gateway_parameters=parameters)
    try:
        yield gateway.jvm
    finally:
        gateway.shutdown()
        process.stdin.close()
        process.wait()


class PlainIceberg:
    """Iceberg's Java library, with what ``sources`` add to it."""

    def __init__(self, jvm: Any) -> None:
        self._jvm = jvm
        self.rows, self.files = _compiled(jvm, "PlainRows"), _compiled(jvm, "PlainFiles")
        self.identifier = jvm.org.apache.iceberg.catalog.TableIdentifier.parse
        self.expressions = jvm.org.apache.iceberg.expressions.Expressions
        self.itself = jvm.java.util.function.Function.identity

    def static_table(self, metadata_file: str) -> Any:
        """Return the table that a metadata file describes."""
        io = self._jvm.org.apache.iceberg.hadoop.HadoopFileIO(
            self._jvm.org.apache.hadoop.conf.Configuration()
        )
        operations = self._jvm.org.apache.iceberg.StaticTableOperations(metadata_file, io)
        return self._jvm.org.apache.iceberg.BaseTable(operations, metadata_file)

    @contextmanager
    def opened(self, warehouse: Path) -> Iterator[Any]:
        """Open the embedded catalog of a folder."""
        catalog = self._jvm.org.apache.iceberg.jdbc.JdbcCatalog()
        catalog.setConf(self._jvm.org.apache.hadoop.conf.Configuration())
        place = {"uri": f"jdbc:sqlite:{warehouse}/catalog.db", "warehouse": f"file://{warehouse}"}
        catalog.initialize("arctic", place)
        try:
            yield catalog
        finally:
            catalog.close()


def _compiled(jvm: Any, name: str) -> Any:
    """Return an object of the class that a file has; once for each Java, which remembers names."""
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    # The least that calls static methods of Iceberg's interfaces.
    compiler.setSourceVersion(8)
    compiler.setTargetVersion(8)
    compiler.cook((_SOURCES / f"{name}.java").read_text(encoding="utf-8"))
    return compiler.getClassLoader().loadClass(f"arctic.tests.{name}").newInstance()
