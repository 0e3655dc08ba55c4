"""Hive's metastore, of several releases, each in a Java of its own, with its tables in memory.

The jars of the one that Spark is built with lie in PySpark; `make` puts those of others into the
environment, by the files for Maven beside this one. Tables are in Derby. Those of 3.1 are made by
Hive's `schematool`, with the scripts among its sources, and the metastore looks whether they are
those of its release. The others make them by themselves, as they do where nobody has run that tool.
"""

from __future__ import annotations

import socket
import sys
import tarfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pyspark
import pytest

from tests.java.plain_java import running_jars

_PYSPARK = Path(pyspark.__file__).parent / "jars"
_HIVE = "org.apache.hadoop.hive.metastore"
_DATABASE = "jdbc:derby:memory:hive;create=true"
_SETTINGS = {
    "javax.jdo.option.ConnectionURL": _DATABASE,
    "datanucleus.schema.autoCreateAll": "true",
    "datanucleus.connectionPoolingType": "HikariCP",
    "hive.metastore.schema.verification": "false",
    # Others are of Hive itself, which is not here.
    "metastore.task.threads.always": f"{_HIVE}.events.EventCleanerTask",
    "metastore.expression.proxy": f"{_HIVE}.DefaultPartitionExpressionProxy",
}
"""Of every release; names that one does not know are nothing to it."""
_BY_SCHEMATOOL = {
    "datanucleus.schema.autoCreateAll": "false",
    "hive.metastore.schema.verification": "true",
}
_OF_PYSPARK = (
    "py4j-*",
    "hadoop-client-*",
    "derby*",
    "guava-*",
    "log4j-*",
    "slf4j-api-*",
    "commons-io-*",
    "commons-cli-*",
)
"""What those from Maven lack, or have in a release that Java 17 does not take."""


def jars_of(release: str) -> list[Path]:
    """Return the jars of a release; the test is skipped where Maven was not there to fetch them."""
    if release == "2.3":
        return sorted(_PYSPARK.glob("*.jar"))
    folder = Path(sys.prefix) / f"hive-{release}"
    jars = sorted(folder.glob("*.jar"))
    if not jars:
        pytest.skip(f"needs Maven: `make test-servers` puts Hive {release} into {folder}")
    return [*jars, *(jar for name in _OF_PYSPARK for jar in sorted(_PYSPARK.glob(f"{name}.jar")))]


@contextmanager
def running_metastore(release: str, folder: Path) -> Iterator[dict[str, str]]:
    """Start a metastore of release 2.3, 3.1 or 4.0; yield what a client is to be configured with.

    That of 4.0 is made without tables for locks, so nothing can be committed to it.
    """
    place = f"file://{folder}/hive"
    with running_jars(jars_of(release), (f"-Dderby.stream.error.file={folder}/derby.log",)) as jvm:
        hive = jvm.org.apache.hadoop.hive
        is_old = release == "2.3"
        of_server = (
            hive.conf.HiveConf() if is_old else hive.metastore.conf.MetastoreConf.newMetastoreConf()
        )
        of_server.set("hive.metastore.warehouse.dir", place)
        for name, text in _SETTINGS.items():
            of_server.set(name, text)
        if release == "3.1":
            _run_schematool(jvm, release, folder / "schematool")
            for name, text in _BY_SCHEMATOOL.items():
                of_server.set(name, text)
        elif is_old:
            # What DataNucleus does not make: the tables of locks.
            hive.metastore.txn.TxnDbUtil.setConfValues(of_server)
            hive.metastore.txn.TxnDbUtil.prepDb(of_server)
        with closing(socket.socket()) as found:
            found.bind(("127.0.0.1", 0))
            port = found.getsockname()[1]
        thread = ThreadPoolExecutor(1)
        serving = thread.submit(hive.metastore.HiveMetaStore.startMetaStore, port, None, of_server)
        thread.shutdown(wait=False)  # it ends with its Java
        while not _answers(port):
            if serving.done():
                serving.result()
            time.sleep(0.05)
        yield {"type": "hive", "uri": f"thrift://127.0.0.1:{port}", "warehouse": place}


def _run_schematool(jvm: Any, release: str, home: Path) -> None:
    """Make the tables of a metastore by the scripts of its release."""
    scripts = home / "scripts" / "metastore" / "upgrade" / "derby"
    scripts.mkdir(parents=True)
    (sources,) = (Path(sys.prefix) / f"hive-{release}").glob("*-src.tar.gz")
    with tarfile.open(sources) as archive:
        for member in archive:
            if "/sql/derby/" in member.name and (content := archive.extractfile(member)):
                (scripts / Path(member.name).name).write_bytes(content.read())
    kind = jvm.java.lang.Class.forName(f"{_HIVE}.tools.MetastoreSchemaTool")
    kind.getField("homeDir").set(None, str(home))
    words = ("-dbType", "derby", "-initSchema", "-url", _DATABASE)
    arguments = jvm.java.lang.reflect.Array.newInstance(
        jvm.java.lang.Class.forName("java.lang.String"), len(words)
    )
    for place, word in enumerate(words):
        arguments[place] = word
    assert jvm.org.apache.hadoop.hive.metastore.tools.MetastoreSchemaTool.run(arguments) == 0


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True
