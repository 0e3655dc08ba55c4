"""Hive's metastore, of several releases, each in a Java of its own, with its tables in memory.

The jars of the one that Spark is built with lie in PySpark; `make` puts those of others into the
environment, by the files for Maven beside this one. Each makes its tables in Derby by itself, as it
does where nobody has run `schematool`.
"""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pyspark
import pytest

from tests.java.plain_java import running_jars

_PYSPARK = Path(pyspark.__file__).parent / "jars"
_HIVE = "org.apache.hadoop.hive.metastore"
_SETTINGS = {
    "javax.jdo.option.ConnectionURL": "jdbc:derby:memory:hive;create=true",
    "datanucleus.schema.autoCreateAll": "true",
    "datanucleus.connectionPoolingType": "HikariCP",
    "hive.metastore.schema.verification": "false",
    # Others are of Hive itself, which is not here.
    "metastore.task.threads.always": f"{_HIVE}.events.EventCleanerTask",
    "metastore.expression.proxy": f"{_HIVE}.DefaultPartitionExpressionProxy",
}
"""Of every release; names that one does not know are nothing to it."""
_OF_PYSPARK = ("py4j-*", "hadoop-client-*", "derby*", "guava-*", "log4j-*", "slf4j-api-*")
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
        is_old, has_locks = release == "2.3", release != "4.0"
        of_server = (
            hive.conf.HiveConf() if is_old else hive.metastore.conf.MetastoreConf.newMetastoreConf()
        )
        of_server.set("hive.metastore.warehouse.dir", place)
        for name, text in _SETTINGS.items():
            of_server.set(name, text)
        if has_locks:
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


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True
